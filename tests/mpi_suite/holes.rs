//! Tests that an aggregator, or a rank that shares windows, reads the holes of a window only where the file has data.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use tributary::drivers::OpenStorage;
use tributary::engine::storage::SystemFiles;
use tributary::{BufferLayout, Endpoint, Extent, Extents, File, Hints, Mode};
use tributary_testing::mpiexec::{directory, under_mpiexec, world};
use tributary_testing::trial::all_gather;

use crate::counted::{Asked, Counted};

const RANKS: usize = 4;
/// Ways to write windows.
const WAYS: [&str; 3] = [
    "trib_shared_memory=disable;cb_nodes=1;cb_buffer_size=65536",
    "trib_shared_memory=disable;trib_ranks_per_node=2;cb_nodes=2;cb_config_list=*:1;cb_buffer_size=65536",
    "trib_shared_memory=enable",
];
/// Bytes of the file for each run, and bytes of a run that each rank writes.
const PITCH: usize = 1024;
const PART: usize = 64;
/// Number of bytes of the file that one call reaches over.
const REACH: usize = 2 << 20;

/// The part of a rank of a call that begins at `start`.
fn part(rank: usize, start: usize) -> Extents {
    let piece = |run| Extent { offset: (start + run * PITCH + rank * PART) as u64, len: PART as u64 };
    Extents::from_extents((0..REACH / PITCH).map(piece).collect::<Vec<_>>()).unwrap()
}

/// Writes a call that begins at `start`. Returns the sums of the counts of all ranks.
fn write(file: &mut File, counted: &Counted, start: usize) -> Asked {
    let own = part(file.endpoint().rank(), start);
    counted.take();
    file.write_all(&own, &BufferLayout::Contiguous, &vec![255; own.bytes() as usize]).unwrap();
    let Asked { reads, read, .. } = counted.take();
    let all = all_gather(file.endpoint(), &[reads, read].map(u64::to_le_bytes).concat());
    let sum = |at: usize| all.iter().map(|one| u64::from_le_bytes(one[at..at + 8].try_into().unwrap())).sum();
    Asked { reads: sum(0), read: sum(8), ..Asked::default() }
}

/// Sets the bytes of a call that begins at `start` in `bytes`.
fn expect(bytes: &mut Vec<u8>, start: usize) {
    let end = start + REACH - PITCH + RANKS * PART;
    bytes.resize(end.max(bytes.len()), 0);
    for run in (start..end).step_by(PITCH) {
        bytes[run..run + RANKS * PART].fill(255);
    }
}

/// Makes a file of `REACH` bytes with two parts that have data. Returns its bytes.
fn make_old(path: &Path) -> Vec<u8> {
    let mut file = std::fs::File::create(path).unwrap();
    file.set_len(REACH as u64).unwrap();
    let mut bytes = vec![0; REACH];
    for data in [100_000..300_000, (1 << 20)..(1 << 20) + 300] {
        bytes[data.clone()].fill(7);
        file.seek(SeekFrom::Start(data.start as u64)).unwrap();
        file.write_all(&bytes[data]).unwrap();
    }
    bytes
}

#[test]
fn holes_without_data_are_not_read() {
    under_mpiexec("holes::holes_without_data_are_not_read", &[RANKS], || {
        let (_world, endpoint) = world();
        let mut endpoint = Endpoint::new(Box::new(endpoint));
        let (rank, path, counted) = (endpoint.rank(), directory().join("file"), Counted::default());
        let knows_data = SystemFiles.file_system(&path).is_some_and(|found| found.knows_data());
        for (way, sieving) in WAYS.into_iter().flat_map(|way| ["", "romio_ds_write=enable"].map(|hint| (way, hint))) {
            let what = format!("{way}, {sieving}");
            let hints = Hints::parse(&format!("{way};{sieving};romio_cb_write=enable;trib_tiny_call=0")).unwrap();
            let files = Arc::new(counted.clone());
            let mut file = File::open_on(endpoint, &path, Mode::Create, hints.clone(), files.clone()).unwrap();
            file.set_sole_writer(true);
            let (asked, mut expected) = (write(&mut file, &counted, 0), Vec::new());
            expect(&mut expected, 0);
            if knows_data || !way.contains("cb_nodes=2") {
                assert_eq!(asked.reads, 0, "a new file, {what}");
            }
            // Where the file was made longer and nobody has written.
            file.set_len(3 * REACH as u64).unwrap();
            let asked = write(&mut file, &counted, 2 * REACH);
            expect(&mut expected, 2 * REACH);
            expected.resize(3 * REACH, 0);
            assert!(!knows_data || asked.reads == 0, "a longer file, {what}: {asked:?}");
            endpoint = file.close().unwrap();
            if rank == 0 {
                assert!(std::fs::read(&path).unwrap() == expected, "bytes of a new file, {what}");
                std::fs::remove_file(&path).unwrap();
                expected = make_old(&path);
            }
            all_gather(&mut endpoint, &[]);
            let mut file = File::open_on(endpoint, &path, Mode::Update, hints, files).unwrap();
            file.set_sole_writer(true);
            let Asked { read, .. } = write(&mut file, &counted, 0);
            // Three quarters of the bytes with data lie in holes. A shared window of 1 MiB is read to its end.
            assert!(read >= 150_000, "{read} bytes of an old file read, {what}");
            let most = if way.contains("memory=enable") { 1_100_000 } else { 400_000 };
            assert!(!knows_data || read <= most, "{read} bytes of an old file read, {what}");
            endpoint = file.close().unwrap();
            if rank == 0 {
                expect(&mut expected, 0);
                assert!(std::fs::read(&path).unwrap() == expected, "bytes of an old file, {what}");
                std::fs::remove_file(&path).unwrap();
            }
            all_gather(&mut endpoint, &[]);
        }
    });
}
