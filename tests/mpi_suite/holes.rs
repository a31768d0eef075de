//! Tests that an aggregator, or a rank that shares windows, reads the holes of a window only where the file has data, and
//! that no byte of them is lost.

use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use memmap2::MmapOptions;
use nix::fcntl::FallocateFlags;
use tributary::drivers::OpenStorage;
use tributary::storage::SystemFiles;
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

/// Returns the ways to write windows, with data sieving by cost and always, and their names. The costs of calls are stated: beside
/// other programs, measured ones would be any. Collective.
fn cases(endpoint: &mut Endpoint) -> impl Iterator<Item = (String, Hints)> + use<> {
    let machine = directory().join("machine.json");
    if endpoint.rank() == 0 {
        std::fs::write(&machine, r#"{"version": 1, "files": {"call_seconds": 2e-6, "byte_seconds": 5e-10}}"#).unwrap();
    }
    all_gather(endpoint, &[]);
    let sieving = |way| ["automatic", "enable"].map(|switch| format!("{way};romio_ds_write={switch}"));
    let more = move |what| format!("{what};romio_cb_write=enable;trib_tiny_call=0;trib_machine={}", machine.display());
    WAYS.into_iter().flat_map(sieving).map(move |what| (what.clone(), Hints::parse(&more(what)).unwrap()))
}

/// The parts of the holes of a call that begins at `start` into which a rank writes by itself.
fn in_holes(rank: usize, start: usize) -> impl Iterator<Item = Range<usize>> {
    (5 + rank..REACH / PITCH).step_by(173).map(move |run| start + run * PITCH + RANKS * PART..start + (run + 1) * PITCH)
}

#[test]
fn holes_without_data_are_not_read() {
    under_mpiexec("holes::holes_without_data_are_not_read", &[RANKS], || {
        let (_world, endpoint) = world();
        let mut endpoint = Endpoint::new(Box::new(endpoint));
        let (rank, path, counted) = (endpoint.rank(), directory().join("file"), Counted::default());
        let found = SystemFiles.file_system(&path).unwrap();
        let (knows_size, knows_data) = (found.knows_size(), found.knows_data());
        for (what, hints) in cases(&mut endpoint) {
            let files = Arc::new(counted.clone());
            let mut file = File::open_on(endpoint, &path, Mode::Create, hints.clone(), files.clone()).unwrap();
            file.set_sole_writer(true);
            let (asked, mut expected) = (write(&mut file, &counted, 0), Vec::new());
            expect(&mut expected, 0);
            if knows_data || knows_size && !what.contains("cb_nodes=2") {
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
            let most = if what.contains("memory=enable") { 1_100_000 } else { 400_000 };
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

/// Each rank writes into holes in its own way: through another descriptor, by itself through the file, through memory, and
/// behind the end. Parts of the file are preallocated, and later cut off.
#[test]
fn what_ranks_wrote_into_holes_before_the_call_stays() {
    under_mpiexec("holes::what_ranks_wrote_into_holes_before_the_call_stays", &[RANKS], || {
        let (_world, endpoint) = world();
        let mut endpoint = Endpoint::new(Box::new(endpoint));
        let (rank, path, counted) = (endpoint.rank(), directory().join("file"), Counted::default());
        let starts = [0, 2 * REACH, 3 * REACH];
        for (what, hints) in cases(&mut endpoint) {
            let mut file = File::open_on(endpoint, &path, Mode::Create, hints, Arc::new(counted.clone())).unwrap();
            file.set_sole_writer(true);
            write(&mut file, &counted, 0);
            let other = std::fs::File::options().read(true).write(true).open(&path).unwrap();
            if rank == 0 {
                other.set_len(3 * REACH as u64).unwrap();
                // Not every file system can.
                let _ = nix::fcntl::fallocate(&other, FallocateFlags::empty(), 2 * REACH as i64, REACH as i64);
            }
            all_gather(file.endpoint(), &[]);
            // SAFETY: the file is not shorter while it is mapped.
            let mut memory = (rank == 2).then(|| unsafe { MmapOptions::new().len(3 * REACH).map_mut(&other) }.unwrap());
            for (start, part) in starts.iter().flat_map(|&start| in_holes(rank, start).map(move |part| (start, part))) {
                let bytes = vec![rank as u8 + 1; part.len()];
                match &mut memory {
                    Some(memory) if start < 3 * REACH => memory[part].copy_from_slice(&bytes),
                    _ if rank == 1 => drop(file.write_at(part.start as u64, &bytes).unwrap()),
                    _ => other.write_all_at(&bytes, part.start as u64).unwrap(),
                }
            }
            all_gather(file.endpoint(), &[]);
            for start in starts {
                write(&mut file, &counted, start);
            }
            drop(memory);
            // The bytes that are cut off must not come back.
            let cut = 2 * REACH + REACH / 2;
            file.set_len(cut as u64).unwrap();
            write(&mut file, &counted, cut - REACH / 4);
            endpoint = file.close().unwrap();
            if rank == 0 {
                let mut expected = vec![0; 4 * REACH];
                for (writer, start) in (0..RANKS).flat_map(|writer| starts.map(|start| (writer, start))) {
                    in_holes(writer, start).for_each(|part| expected[part].fill(writer as u8 + 1));
                }
                starts.iter().for_each(|&start| expect(&mut expected, start));
                expected.truncate(cut);
                expect(&mut expected, cut - REACH / 4);
                let bytes = std::fs::read(&path).unwrap();
                let wrong = bytes.iter().zip(&expected).position(|(found, right)| found != right);
                assert_eq!((wrong, bytes.len()), (None, expected.len()), "first wrong byte and length, {what}");
                std::fs::remove_file(&path).unwrap();
            }
            all_gather(&mut endpoint, &[]);
        }
    });
}
