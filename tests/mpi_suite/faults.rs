//! Tests faults on the MPI fabric. ROMIO hangs when one aggregator reaches its file-size limit; here all ranks get
//! the error.

use std::path::Path;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use tributary::drivers::hostile::{Fault, Hostile, PANIC};
use tributary::error::{FileOperation, IoClass};
use tributary::{BufferLayout, Endpoint, File, Mode};
use tributary_testing::interleaved::Interleaved;
use tributary_testing::mounted::Mounted;
use tributary_testing::mpiexec::{directory, must_fail_under_mpiexec, under_mpiexec, under_mpiexec_with, world};
use tributary_testing::read_trial;
use tributary_testing::settings::{DRIVERS, KERNELS};
use tributary_testing::trial;
use tributary_testing::trial::{Expected, Offset, RANKS, trial_hints};

/// Environment variable with the path at which the small file system is mounted.
const TMPFS: &str = "TRIB_TEST_TMPFS";

fn full() -> Interleaved {
    Interleaved::full(RANKS, 24, 150)
}

/// Limits the size of files that this process writes.
fn limit_files(limit: Option<u64>) {
    let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, limit.unwrap_or(hard), hard).unwrap();
}

/// Makes reaching the limit an error of the call, not the end of the process.
fn ignore_sigxfsz() {
    // SAFETY: no handler is installed, so none can do anything that a handler may not.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn).unwrap() };
}

/// Runs one trial for each kernel setting and driver, each with another failing aggregator.
fn with_all_settings(mut endpoint: Endpoint, expected: &Expected, inject: &dyn Fn(&Hostile, Option<u64>)) -> Endpoint {
    let path = directory().join("file");
    for (k, (name, kernels)) in KERNELS.iter().copied().enumerate() {
        for (d, driver) in DRIVERS.into_iter().enumerate() {
            let hints = trial_hints(kernels, driver, &format!("trib_write_buffers={}", 1 + k % 3));
            endpoint = trial::run(endpoint, expected, &hints, k + d, &path, &format!("{name}, {driver}"), inject);
        }
    }
    endpoint
}

#[test]
fn a_file_size_limit_on_one_aggregator() {
    under_mpiexec("faults::a_file_size_limit_on_one_aggregator", &[RANKS], || {
        ignore_sigxfsz();
        let (_world, endpoint) = world();
        let expected = Expected {
            name: "RLIMIT_FSIZE",
            pattern: full(),
            operation: FileOperation::Write,
            class: IoClass::TooLarge,
            cause: "File too large",
            offset: Offset::AtFault,
        };
        with_all_settings(Endpoint::new(Box::new(endpoint)), &expected, &|_, limit| limit_files(limit));
    });
}

#[test]
fn a_file_size_limit_on_a_rank_that_writes_nothing() {
    under_mpiexec("faults::a_file_size_limit_on_a_rank_that_writes_nothing", &[RANKS], || {
        ignore_sigxfsz();
        let (_world, endpoint) = world();
        let mut endpoint = Endpoint::new(Box::new(endpoint));
        let (rank, path) = (endpoint.rank(), directory().join("file"));
        for (name, kernels) in KERNELS.iter().copied() {
            let mut file = File::open(endpoint, &path, Mode::Create, trial_hints(kernels, "lustre", "")).unwrap();
            let bystander = (0..RANKS).find(|rank| !file.settings().aggregators.contains(rank)).unwrap();
            if rank == bystander {
                limit_files(Some(100));
            }
            full().write(&mut file, 1).unwrap();
            limit_files(None);
            endpoint = file.close().unwrap();
            if rank == 0 {
                full().check_whole(&path, 1, name);
            }
        }
    });
}

#[test]
fn a_file_that_does_not_open_and_a_writer_that_panics() {
    under_mpiexec("faults::a_file_that_does_not_open_and_a_writer_that_panics", &[RANKS], || {
        let (_world, endpoint) = world();
        let expected = Expected {
            name: "open",
            pattern: full(),
            operation: FileOperation::Open,
            class: IoClass::Access,
            cause: "denied",
            offset: Offset::Absent,
        };
        let endpoint = with_all_settings(Endpoint::new(Box::new(endpoint)), &expected, &|storage, at| {
            storage.set(at.map_or(Fault::None, |_| Fault::Open(libc::EACCES)));
        });
        let offset = Offset::OfWindow;
        let expected = Expected {
            name: "panic",
            operation: FileOperation::Write,
            class: IoClass::Other,
            cause: PANIC,
            offset,
            ..expected
        };
        with_all_settings(endpoint, &expected, &|storage, at| storage.set(at.map_or(Fault::None, Fault::Panic)));
    });
}

#[test]
fn a_full_file_system() {
    let test = "faults::a_full_file_system";
    // The ranks are given the one that was mounted for them.
    if let Some(mounted) = std::env::var_os(TMPFS) {
        return under_mpiexec_with(test, &[RANKS], &[(TMPFS, mounted.to_str().unwrap())], fill_up);
    }
    if let Some(mounted) = Mounted::tmpfs(test, trial::TMPFS) {
        under_mpiexec_with(test, &[RANKS], &[(TMPFS, mounted.path().to_str().unwrap())], fill_up);
    }
}

fn fill_up() {
    let (_world, endpoint) = world();
    trial::fill_up(Endpoint::new(Box::new(endpoint)), Path::new(&std::env::var_os(TMPFS).unwrap()));
}

#[test]
fn a_rank_that_panics_in_the_middle_ends_all() {
    must_fail_under_mpiexec(
        "faults::a_rank_that_panics_in_the_middle_ends_all",
        RANKS,
        "rank 3 dies on purpose",
        || {
            let (_world, endpoint) = world();
            let mut file = File::open(
                Endpoint::new(Box::new(endpoint)),
                directory().join("file"),
                Mode::Create,
                trial_hints("", "lustre", ""),
            )
            .unwrap();
            let rank = file.endpoint().rank();
            let (extents, buffer) = full().part(rank, 1);
            let mut operation = file.start_write_all(&extents, &BufferLayout::Contiguous, &buffer);
            for _ in 0..3 {
                if operation.test().is_some() {
                    break;
                }
            }
            assert_ne!(rank, 3, "rank 3 dies on purpose");
            operation.wait().unwrap();
        },
    );
}

#[test]
fn one_aggregator_cannot_read() {
    under_mpiexec("faults::one_aggregator_cannot_read", &[RANKS], || {
        let (_world, endpoint) = world();
        read_trial::run(Endpoint::new(Box::new(endpoint)), &directory());
    });
}
