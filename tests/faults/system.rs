//! Tests errors of the operating system, and bad arguments, with ranks as threads: all ranks get the same error and
//! continue.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use tributary::drivers::hostile::{Fault, Hostile, PANIC};
use tributary::error::{FileOperation, IoClass};
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Error, Extent, Extents, File, Hints, Mode};
use tributary_testing::interleaved::Interleaved;
use tributary_testing::mounted::Mounted;
use tributary_testing::settings::{DRIVERS, KERNELS};
use tributary_testing::trial;
use tributary_testing::trial::{RANKS, same_error, trial_hints};
use tributary_testing::watchdog::on_threads;

/// Returns the error that all ranks get from opening `path`.
fn opening(test: &str, path: &Path, mode: Mode) -> Error {
    let outcomes = on_threads(test, 5, |endpoint, _| File::open(endpoint, path, mode, Hints::default()).map(drop));
    let error = outcomes[0].clone().unwrap_err();
    assert!(outcomes.iter().all(|outcome| outcome.as_ref() == Err(&error)), "{outcomes:?}");
    error
}

fn assert_open_fails(test: &str, path: &Path, expected: IoClass) {
    for mode in [Mode::Create, Mode::Update] {
        let error = opening(test, path, mode);
        let Error::Io { rank: 0, path: named, offset: None, class, cause, .. } = &error else { panic!("{error}") };
        assert_eq!((named.as_str(), *class), (path.to_str().unwrap(), expected), "{error}");
        assert!(!cause.text().is_empty());
    }
}

#[test]
fn a_directory_that_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("missing/file");
    assert_open_fails("a_directory_that_is_missing", &path, IoClass::NoSuchFile);
}

#[test]
fn a_directory_as_the_file() {
    let directory = tempfile::tempdir().unwrap();
    assert_open_fails("a_directory_as_the_file", directory.path(), IoClass::BadFile);
}

#[test]
fn a_file_as_a_directory() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_open_fails("a_file_as_a_directory", &file.path().join("file"), IoClass::NoSuchFile);
}

/// Creating the file fails on rank 0, with an error or a panic. All ranks must get the error: in the first agreement,
/// in the tree reduction of ranks that have had a file before, and in shared memory.
#[test]
fn a_file_that_cannot_be_made() {
    let test = "a_file_that_cannot_be_made";
    let directory = tempfile::tempdir().unwrap();
    for way in
        ["trib_shared_memory=disable", "trib_shared_memory=enable", "trib_ranks_per_node=2;trib_shared_memory=enable"]
    {
        for driver in DRIVERS {
            let path = directory.path().join(format!("{way} {driver}"));
            let hints = Hints::parse(&format!("{way};trib_driver={driver}")).unwrap();
            for (fault, mode, is_first) in [
                (Fault::Create(libc::EDQUOT), Mode::Create, true),
                (Fault::Create(libc::EDQUOT), Mode::Update, false),
                (Fault::Panic(0), Mode::Create, true),
                (Fault::Panic(0), Mode::Create, false),
            ] {
                making(test, &path, &hints, (fault, mode, is_first));
            }
        }
    }
}

/// Tests one of these failures, with or without an earlier file.
fn making(test: &str, path: &Path, hints: &Hints, (fault, mode, is_first): (Fault, Mode, bool)) {
    let open = |endpoint: Endpoint, fault| {
        // Only rank 0 creates the file.
        let fault = if endpoint.rank() == 0 { fault } else { Fault::None };
        File::open_on(endpoint, path, mode, hints.clone(), Arc::new(Hostile::new(fault)))
    };
    let outcomes = on_threads(test, 5, |mut endpoint, _| {
        if !is_first {
            endpoint = open(endpoint, Fault::None).unwrap().close().unwrap();
            if endpoint.rank() == 0 {
                std::fs::remove_file(path).unwrap();
            }
        }
        open(endpoint, fault).map(drop)
    });
    let error = outcomes[0].clone().unwrap_err();
    assert!(outcomes.iter().all(|outcome| outcome.as_ref() == Err(&error)), "{fault:?}: {outcomes:?}");
    let Error::Io { rank: 0, operation, offset: None, class, cause, .. } = &error else { panic!("{error}") };
    let (expected, says) = match fault {
        Fault::Create(_) => (IoClass::Quota, "quota"),
        _ => (IoClass::Other, PANIC),
    };
    assert_eq!((operation, *class), (&FileOperation::Open, expected), "{error}");
    assert!(cause.text().contains(says), "{error}");
    assert!(!path.exists(), "{fault:?}");
}

/// Opens a file without permission; for root, who may open every file, a file on a read-only file system instead.
#[test]
fn a_file_or_directory_that_is_read_only() {
    let test = "a_file_or_directory_that_is_read_only";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, b"kept").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o444)).unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o555)).unwrap();
    if std::fs::OpenOptions::new().write(true).open(&file).is_err() {
        assert_open_fails(test, &file, IoClass::Access);
        assert_open_fails(test, &directory.path().join("new"), IoClass::Access);
        assert_eq!(std::fs::read(&file).unwrap(), b"kept");
    } else if let Some(mounted) = Mounted::tmpfs(test, "1m") {
        let file = mounted.path().join("file");
        std::fs::write(&file, b"kept").unwrap();
        mounted.make_read_only();
        assert_open_fails(test, &file, IoClass::ReadOnly);
        assert_open_fails(test, &mounted.path().join("new"), IoClass::ReadOnly);
        assert_eq!(std::fs::read(&file).unwrap(), b"kept");
    }
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_full_file_system() {
    let test = "a_full_file_system";
    if let Some(mounted) = Mounted::tmpfs(test, trial::TMPFS) {
        on_threads(test, RANKS, |endpoint, _| trial::fill_up(endpoint, &mounted.path()));
    }
}

#[test]
fn a_device_without_space() {
    on_threads("a_device_without_space", RANKS, |mut endpoint, _| {
        for (name, kernels) in KERNELS.iter().copied() {
            for driver in DRIVERS {
                let hints = trial_hints(kernels, driver, "");
                let mut file = File::open(endpoint, "/dev/full", Mode::Create, hints).unwrap();
                let lowest = file.settings().aggregators[0];
                let outcome = Interleaved::full(RANKS, 24, 150).write(&mut file, 1);
                let error = same_error(file.endpoint(), outcome, name);
                let Error::Io { rank, class: IoClass::NoSpace, offset: Some(0), .. } = error else { panic!("{error}") };
                assert_eq!(rank, lowest);
                endpoint = file.close().unwrap();
            }
        }
    });
}

#[test]
fn no_ranks_at_all() {
    let error = threads::run(0, |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "ranks: 0; allowed: 1 or more");
}

/// Bad arguments on one rank only: all ranks get an error that describes them, and the file can still be used.
#[test]
fn arguments_that_are_bad_on_one_rank() {
    let pattern = Interleaved::full(RANKS, 24, 150);
    let list = |extents: &[(u64, u64)]| {
        Extents::from_list(extents.iter().map(|&(offset, len)| Extent { offset, len })).unwrap()
    };
    let bad: [(&str, Extents, BufferLayout, usize); 3] = [
        ("a buffer that is too short", list(&[(0, 100)]), BufferLayout::Contiguous, 99),
        ("a layout beyond the buffer", list(&[(0, 100)]), BufferLayout::Extents(list(&[(5, 100)])), 100),
        ("a layout of fewer bytes", list(&[(0, 100)]), BufferLayout::Extents(list(&[(0, 99)])), 100),
    ];
    on_threads("arguments_that_are_bad_on_one_rank", RANKS, |mut endpoint, directory| {
        let (rank, path) = (endpoint.rank(), directory.join("file"));
        for (c, (what, extents, layout, len)) in bad.iter().enumerate() {
            for culprit in [0, 4, RANKS - 1] {
                let (name, kernels) = KERNELS[(c + culprit) % KERNELS.len()];
                let hints = trial_hints(kernels, DRIVERS[culprit % DRIVERS.len()], "");
                let mut file = File::open(endpoint, &path, Mode::Create, hints).unwrap();
                let outcome = if rank == culprit {
                    file.write_all(extents, layout, &vec![9; *len])
                } else {
                    pattern.write(&mut file, 1)
                };
                let error = same_error(file.endpoint(), outcome, what);
                assert!(matches!(error, Error::Argument { .. }), "{what}: {error}");
                assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "{what}: nothing was written");
                // No rank writes before all have checked the file.
                file.sync().unwrap();
                pattern.write(&mut file, 2).unwrap();
                endpoint = file.close().unwrap();
                if rank == 0 {
                    pattern.check_whole(&path, 2, &format!("{what}, {name}"));
                }
            }
        }
    });
}

/// Hints are bad on one rank only: all ranks get an error.
#[test]
fn hints_that_are_bad_on_one_rank() {
    let outcomes = on_threads("hints_that_are_bad_on_one_rank", 5, |endpoint, directory| {
        let text = if endpoint.rank() == 3 { "cb_nodes=3;trib_placement=list:1" } else { "" };
        File::open(endpoint, directory.join("file"), Mode::Create, Hints::parse(text).unwrap()).map(drop)
    });
    let error = outcomes[3].clone().unwrap_err();
    assert!(matches!(error, Error::Hint { .. }), "{error}");
    assert!(outcomes.iter().all(|outcome| outcome.as_ref() == Err(&error)), "{outcomes:?}");
}
