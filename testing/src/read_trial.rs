//! Tests in which one aggregator cannot read, on any fabric. All ranks must return the same error, which names the
//! rank, the operation, the offset and the cause; and the same call must succeed when the fault is gone.

use std::path::Path;

use tributary::error::{FileOperation, IoClass};
use tributary::{BufferLayout, Endpoint, Error, File};

use crate::interleaved::Interleaved;
use crate::settings::{DRIVERS, KERNELS};
use crate::trial::{RANKS, RecordedRank, same_error, trial_hints};
use tributary::drivers::hostile::{Fault, PANIC};

/// Returns the pattern that is read, in many rounds.
pub fn pattern() -> Interleaved {
    Interleaved::full(RANKS, 24, 150)
}

/// Reads this rank's part and checks it. Collective.
pub fn read(file: &mut File, what: &str) -> Result<(), Error> {
    let (extents, expected) = pattern().part(file.endpoint().rank(), 1);
    let mut buffer = vec![0; expected.len()];
    let report = file.read_all(&extents, &BufferLayout::Contiguous, &mut buffer)?;
    assert!(buffer == expected, "{what}: other bytes than were written");
    assert_eq!((report.bytes, report.call.bytes_read), (expected.len() as u64, pattern().bytes()), "{what}");
    Ok(())
}

/// Tests every kernel setting and driver, each time with another fault on another aggregator. Collective.
pub fn run(mut endpoint: Endpoint, directory: &Path) -> Endpoint {
    let path = directory.join("file");
    for (k, (name, kernels)) in KERNELS.iter().copied().enumerate() {
        for (d, driver) in DRIVERS.into_iter().enumerate() {
            let faults = [
                (Fault::Read(9000, libc::EIO), "os error", IoClass::Other),
                (Fault::Panic(9000), PANIC, IoClass::Other),
                (Fault::Read(0, libc::ESTALE), "os error", IoClass::Other),
            ];
            let fault = &faults[(k + d) % 3];
            let what = format!("{name}, {driver}, {fault:?}");
            let hints = trial_hints(kernels, driver, &format!("trib_write_buffers={}", 1 + k % 3));
            endpoint = one(endpoint, &path, &hints, k + d, fault, &what);
        }
    }
    endpoint
}

fn one(
    endpoint: Endpoint,
    path: &Path,
    hints: &tributary::Hints,
    victim: usize,
    fault: &(Fault, &str, IoClass),
    what: &str,
) -> Endpoint {
    let RecordedRank { storage, mut file } = RecordedRank::create(endpoint, path, hints);
    pattern().write(&mut file, 1).unwrap();
    read(&mut file, what).unwrap();
    let culprit = file.settings().aggregators[victim % 3];
    if file.endpoint().rank() == culprit {
        storage.set(fault.0);
    }
    for _ in 0..2 {
        let outcome = read(&mut file, what);
        let error = same_error(file.endpoint(), outcome, what);
        let Error::Io { rank, operation, class, cause, .. } = &error else { panic!("{what}: {error}") };
        assert_eq!((*rank, operation, *class), (culprit, &FileOperation::Read, fault.2), "{what}: {error}");
        assert!(cause.text().contains(fault.1), "{what}: {error}");
    }
    storage.set(Fault::None);
    read(&mut file, what).unwrap();
    pattern().write(&mut file, 1).unwrap();
    file.close().unwrap()
}
