//! Tests the order of bytes that write-behind has, and of others in the same file: a later write wins, on whatever rank.

use std::sync::Arc;
use std::time::Duration;

use tributary::drivers::hostile::{Fault, Hostile};
use tributary::{BufferLayout, Endpoint, Extents, File, Hints, Mode};
use tributary_testing::watchdog::on_threads;

const LAYOUT: BufferLayout = BufferLayout::Contiguous;
/// Each rank by itself, windows in shared memory, hosts of one rank and of two, one aggregator.
const WAYS: [&str; 5] = [
    "romio_cb_write=disable",
    "trib_shared_memory=enable; romio_cb_write=disable",
    "trib_shared_memory=enable; trib_ranks_per_node=1; romio_cb_write=disable",
    "trib_shared_memory=enable; trib_ranks_per_node=2",
    "trib_shared_memory=disable; romio_cb_write=enable; trib_tiny_call=0; cb_nodes=1",
];

fn open(endpoint: Endpoint, path: &std::path::Path, hints: &str, storage: &Hostile) -> File {
    let hints = Hints::parse(&format!("trib_write_behind=4M; {hints}")).unwrap();
    File::open_on(endpoint, path, Mode::Create, hints, Arc::new(storage.clone())).unwrap()
}

/// All ranks write the same bytes, one of them slowly; then a single rank writes them, in a collective call and in an
/// independent one.
#[test]
fn a_later_write_wins_over_bytes_of_ranks_that_overlap() {
    const LEN: u64 = 50_000;
    on_threads("ranks overlap, then one writes", 3, |mut endpoint, directory| {
        for (number, way) in WAYS.into_iter().enumerate() {
            let (path, rank) = (directory.join(format!("{number}")), endpoint.rank());
            let slow = if rank == 1 { Fault::Slow(Duration::from_millis(40)) } else { Fault::None };
            let mut file = open(endpoint, &path, way, &Hostile::new(slow));
            let all = Extents::contiguous(0, LEN).unwrap();
            for value in 1..=6 {
                let later = vec![value; LEN as usize];
                file.write_all(&all, &LAYOUT, &vec![100 + rank as u8; LEN as usize]).unwrap();
                file.agree(Ok(())).unwrap();
                match (value % 2, rank == 2) {
                    (0, true) => drop(file.write_all(&all, &LAYOUT, &later).unwrap()),
                    (0, false) => drop(file.write_all(&Extents::empty(), &LAYOUT, &[][..]).unwrap()),
                    (_, true) => drop(file.write_at(0, &later).unwrap()),
                    (_, false) => {}
                }
                file.sync().unwrap();
                assert!(std::fs::read(&path).unwrap() == later, "{way}: write {value}");
                file.agree(Ok(())).unwrap();
            }
            endpoint = file.close().unwrap();
        }
    });
}

/// One rank has written a piece of a call before the ranks agree, and its thread has not: whoever fills the holes of the
/// others' pieces in the same call does not write zeros over it.
#[test]
fn filled_holes_leave_what_another_rank_has_written_in_the_call() {
    const PIECE: u64 = 4096;
    const RUNS: u64 = 25;
    let ways = ["trib_shared_memory=enable", "trib_shared_memory=disable; trib_tiny_call=0"];
    on_threads("a piece in the holes of others", 2, |mut endpoint, directory| {
        for (number, way) in ways.into_iter().enumerate() {
            let (path, rank) = (directory.join(format!("{number}")), endpoint.rank());
            let slow = Duration::from_millis(if rank == 0 { 40 } else { 150 });
            let hints = format!("{way}; trib_direct_min=1000");
            let mut file = open(endpoint, &path, &hints, &Hostile::new(Fault::Slow(slow)));
            file.set_sole_writer(true);
            // Rank 0: one piece. Rank 1: runs of 8 bytes with holes of 8, on both sides of it.
            let side = 16 * RUNS - 8;
            let runs = (0..2 * RUNS).map(|run| 16 * run + if run < RUNS { 0 } else { PIECE - 8 });
            let extents = match rank {
                0 => Extents::contiguous(side, PIECE).unwrap(),
                _ => Extents::from_extents(runs.clone().map(|offset| tributary::Extent { offset, len: 8 })).unwrap(),
            };
            file.write_all(&extents, &LAYOUT, &vec![rank as u8 + 1; extents.bytes() as usize]).unwrap();
            file.sync().unwrap();
            let mut image = vec![0; (2 * side + PIECE) as usize];
            image[side as usize..][..PIECE as usize].fill(1);
            runs.for_each(|offset| image[offset as usize..][..8].fill(2));
            let written = std::fs::read(&path).unwrap();
            let wrong = written.iter().zip(&image).filter(|(is, due)| is != due).count();
            assert!(written.len() == image.len() && wrong == 0, "{way}: {wrong} of {} bytes", written.len());
            endpoint = file.close().unwrap();
        }
    });
}
