//! Tests what later calls learn of late writes: every error, and whether the file is fast.

use std::sync::Arc;
use std::time::Duration;

use tributary::drivers::hostile::{Fault, Hostile};
use tributary::error::FileOperation;
use tributary::{BufferLayout, Endpoint, Error, Extents, File, Hints, Mode};
use tributary_testing::trial::same_error;
use tributary_testing::watchdog::on_threads;

const RANKS: usize = 3;
const LAYOUT: BufferLayout = BufferLayout::Contiguous;
const LEN: u64 = 40_000;

/// Opens a file on which each rank writes by itself.
fn open(endpoint: Endpoint, path: &std::path::Path, budget: &str, storage: &Hostile) -> File {
    let hints = Hints::parse(&format!("romio_cb_write=disable; trib_write_behind={budget}")).unwrap();
    File::open_on(endpoint, path, Mode::Create, hints, Arc::new(storage.clone())).unwrap()
}

/// Writes a block of each rank in the call `number`, and waits until it is written or has failed.
fn write_late(file: &mut File, number: u64) {
    let rank = file.endpoint().rank() as u64;
    let extents = Extents::contiguous((number * RANKS as u64 + rank) * LEN, LEN).unwrap();
    file.write_all(&extents, &LAYOUT, &vec![1; LEN as usize]).unwrap();
}

/// Returns the rank and the number of the call of a late error.
fn late(error: &Error) -> (usize, u64) {
    let Error::Io { rank, operation: FileOperation::DeferredWrite(write), .. } = error else { panic!("{error}") };
    (*rank, write.number)
}

/// Two calls have failed on all ranks: six calls later, each error was returned, and a seventh call finds none.
#[test]
fn calls_return_every_error() {
    on_threads("every error of late writes", RANKS, |endpoint, directory| {
        let storage = Hostile::new(Fault::Stuck);
        let mut file = open(endpoint, &directory.join("file"), "4M", &storage);
        (0..2).for_each(|number| write_late(&mut file, number));
        storage.set(Fault::Write(0, libc::ENOSPC));
        file.size().unwrap();
        storage.set(Fault::None);
        let due = [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)];
        for (number, due) in due.into_iter().enumerate() {
            let outcome = if number % 2 == 0 { file.sync() } else { file.agree(Ok(())) };
            assert_eq!(late(&same_error(file.endpoint(), outcome, "a late error")), due);
        }
        file.sync().unwrap();
        file.close().unwrap();
    });
}

/// The close returns the first error, and lists the others, also that of a sync which a late error has displaced.
#[test]
fn the_close_lists_what_is_left() {
    let errors = on_threads("the close lists errors", RANKS, |endpoint, directory| {
        let storage = Hostile::new(Fault::Stuck);
        let mut file = open(endpoint, &directory.join("file"), "4M", &storage);
        (0..2).for_each(|number| write_late(&mut file, number));
        storage.set(Fault::Write(0, libc::ENOSPC));
        file.size().unwrap();
        storage.set(Fault::Close(libc::EIO));
        file.close().map(drop).unwrap_err()
    });
    let text = errors[0].to_string();
    assert_eq!(late(&errors[0]), (0, 1), "{text}");
    assert_eq!(
        (text.matches("collective write 1").count(), text.matches("collective write 2").count()),
        (3, 3),
        "{text}"
    );
    assert_eq!(text.matches(": close of ").count(), RANKS, "{text}");
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
}

/// Calls on a file in memory write at once after the first calls; if it becomes slow, they return to buffering.
#[test]
fn a_fast_file_is_left_alone() {
    on_threads("a fast file", 1, |endpoint, directory| {
        let memory = std::path::Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir_in(directory) }.unwrap();
        let storage = Hostile::new(Fault::None);
        let mut file = open(endpoint, &folder.path().join("file"), "auto", &storage);
        for number in 0..8 {
            write_late(&mut file, number);
            // Waits for what is buffered.
            file.size().unwrap();
        }
        storage.take();
        storage.set(Fault::Slow(Duration::from_millis(30)));
        for number in 8..10 {
            write_late(&mut file, number);
            let written: u64 = storage.take().0.iter().map(|range| range.end - range.start).sum();
            assert_eq!(written, LEN, "call {number}: written before it returned");
        }
        storage.set(Fault::Stuck);
        write_late(&mut file, 10);
        assert_eq!(storage.take().0, [], "buffered: this call would not have returned");
        storage.set(Fault::None);
        file.close().unwrap();
    });
}
