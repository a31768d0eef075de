//! Dedicated I/O ranks: right bytes with every kernel and driver, calls that do not wait for the file system, and errors
//! that are reported later, on every rank.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::interleaved::Interleaved;
use crate::settings::{DRIVERS, KERNELS, hints};
use crate::watchdog::Watchdog;
use tributary::drivers::hostile::{Fault, Hostile};
use tributary::engine::storage::{OpenStorage, Storage, SystemFiles};
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Error, Extents, File, Hints, Mode};

const COMMON: &str = "trib_tiny_call=0;trib_ranks_per_node=3;nc_num_aggrs_per_node=1;striping_unit=512;striping_factor=3;\
                      cb_buffer_size=1024";

fn on_threads(test: &str, ranks: usize, program: impl Fn(Endpoint, &Path) + Sync) {
    let _watchdog = Watchdog::new(test, 120);
    let directory = tempfile::tempdir().unwrap();
    threads::run(ranks, |transport| program(Endpoint::new(transport), directory.path())).unwrap();
}

/// This rank's part of `all`, which has parts of compute ranks only.
fn part(file: &mut File, all: &Interleaved, seed: u64) -> (Extents, Vec<u8>) {
    let rank = file.endpoint().rank();
    match file.io_ranks().binary_search(&rank) {
        Ok(_) => (Extents::empty(), Vec::new()),
        Err(below) => all.part(rank - below, seed),
    }
}

#[test]
fn the_right_bytes_with_every_kernel_and_driver() {
    for (ranks, io_ranks) in [(2, 1), (3, 2), (5, 1), (8, 3), (13, 4)] {
        for (name, kernels) in KERNELS.iter() {
            let driver = DRIVERS[(ranks + name.len()) % DRIVERS.len()];
            let all = Interleaved::with_holes(ranks - io_ranks, 24, 150);
            let text = format!("trib_io_ranks={io_ranks};trib_driver={driver}");
            let settings = hints(&[COMMON, kernels, &text]);
            let what = format!("{ranks} ranks, {io_ranks} for I/O, {name}, {driver}");
            on_threads(&what, ranks, |endpoint, directory| {
                let path = directory.join("f");
                let mut file = File::open(endpoint, &path, Mode::Create, settings.clone()).unwrap();
                assert_eq!(file.aggregators(), file.io_ranks(), "{what}");
                for seed in 0..3 {
                    let (extents, buffer) = part(&mut file, &all, seed);
                    let handed = file.write_all(&extents, &BufferLayout::Contiguous, &buffer).unwrap();
                    assert_eq!((handed.bytes, handed.bytes_written), (all.bytes(), 0), "{what}: {}", handed.why);
                    if seed == 1 {
                        let done = file.complete_write().unwrap().unwrap();
                        assert_eq!((done.bytes, done.bytes_written), (all.bytes(), all.bytes()), "{what}");
                        assert!(file.complete_write().unwrap().is_none(), "{what}");
                    }
                    let mut back = vec![0; buffer.len()];
                    let read = file.read_all(&extents, &BufferLayout::Contiguous, &mut back).unwrap();
                    assert_eq!((read.bytes, back), (buffer.len() as u64, buffer), "{what}");
                }
                let (extents, buffer) = part(&mut file, &all, 3);
                file.write_all(&extents, &BufferLayout::Contiguous, &buffer).unwrap();
                file.close().unwrap();
                all.check_whole(&path, 3, &what);
            });
        }
    }
}

/// Files whose writes wait until every compute rank has returned from its call.
struct Gated {
    back: Arc<AtomicUsize>,
    compute: usize,
}

struct GatedFile(Box<dyn Storage>, Arc<AtomicUsize>, usize);

impl OpenStorage for Gated {
    fn open(&self, path: &Path, mode: Mode) -> std::io::Result<Box<dyn Storage>> {
        Ok(Box::new(GatedFile(SystemFiles.open(path, mode)?, self.back.clone(), self.compute)))
    }

    fn create(&self, path: &Path) -> std::io::Result<Box<dyn Storage>> {
        SystemFiles.create(path)
    }
}

impl Storage for GatedFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> std::io::Result<usize> {
        while self.1.load(Ordering::Acquire) < self.2 {
            std::thread::yield_now();
        }
        self.0.write_at(bytes, offset)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> std::io::Result<usize> {
        self.0.read_at(bytes, offset)
    }

    fn size(&self) -> std::io::Result<u64> {
        self.0.size()
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> std::io::Result<()> {
        self.0.sync()
    }

    fn settle(&self) -> std::io::Result<()> {
        self.0.settle()
    }
}

/// If a compute rank's call waited for the file, this would hang, and the watchdog would end it.
#[test]
fn compute_ranks_do_not_wait_for_the_file() {
    let back = Arc::new(AtomicUsize::new(0));
    on_threads("hand over", 6, |endpoint, directory| {
        let path = directory.join("f");
        let gated = Arc::new(Gated { back: back.clone(), compute: 4 });
        let settings = hints(&[COMMON, "trib_io_ranks=2;cb_buffer_size=1MiB"]);
        let mut file = File::open_on(endpoint, &path, Mode::Create, settings, gated).unwrap();
        let all = Interleaved::full(4, 24, 100);
        let (extents, buffer) = part(&mut file, &all, 7);
        file.write_all(&extents, &BufferLayout::Contiguous, &buffer).unwrap();
        if extents.count() > 0 {
            back.fetch_add(1, Ordering::Release);
        }
        file.sync().unwrap();
        all.check_whole(&path, 7, "after sync");
        file.close().unwrap();
    });
}

#[test]
fn an_error_is_told_later_to_every_rank_and_the_file_goes_on() {
    for later in ["write", "read", "sync", "complete", "close"] {
        on_threads(later, 5, |endpoint, directory| {
            let path = directory.join("f");
            let storage = Hostile::new(Fault::Write(1000, libc::ENOSPC));
            let settings = hints(&[COMMON, "trib_io_ranks=1"]);
            let mut file = File::open_on(endpoint, &path, Mode::Create, settings, Arc::new(storage.clone())).unwrap();
            let all = Interleaved::full(4, 24, 100);
            let (extents, buffer) = part(&mut file, &all, 1);
            file.write_all(&extents, &BufferLayout::Contiguous, &buffer).unwrap();
            let mut back = vec![0; buffer.len()];
            let layout = BufferLayout::Contiguous;
            let told = match later {
                "write" => file.write_all(&extents, &layout, &buffer).unwrap_err(),
                "read" => file.read_all(&extents, &layout, &mut back).unwrap_err(),
                "sync" => file.sync().unwrap_err(),
                "complete" => file.complete_write().unwrap_err(),
                _ => return assert!(is_full(&file.close().map(drop).unwrap_err())),
            };
            assert!(is_full(&told), "{later}: {told}");
            storage.set(Fault::None);
            file.write_all(&extents, &layout, &buffer).unwrap();
            file.close().unwrap();
            all.check_whole(&path, 1, later);
        });
    }
}

/// The error of the I/O rank: the last of the first node.
fn is_full(error: &Error) -> bool {
    matches!(error, Error::Io { rank: 2, class: tributary::error::IoClass::NoSpace, .. })
}

#[test]
fn what_cannot_be() {
    on_threads("bad input", 4, |endpoint, directory| {
        let rank = endpoint.rank();
        let settings = Hints::parse("trib_io_ranks=1").unwrap();
        let mut file = File::open(endpoint, directory.join("f"), Mode::Create, settings).unwrap();
        let own = Extents::contiguous(rank as u64 * 10, 10).unwrap();
        let error = file.write_all(&own, &BufferLayout::Contiguous, &[1; 10]).unwrap_err();
        let says = "access: 10 bytes on rank 3, one of the trib_io_ranks=1; allowed: no data on I/O ranks";
        assert_eq!(error.to_string(), says);
        let endpoint = file.close().unwrap();
        let settings = Hints::parse("trib_io_ranks=4").unwrap();
        let error = File::open(endpoint, directory.join("f"), Mode::Create, settings).map(drop).unwrap_err();
        assert_eq!(error.to_string(), "hint trib_io_ranks: `4` is not allowed; allowed: fewer than the 4 ranks");
    });
}
