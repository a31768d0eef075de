//! What is done with the shared file behind the trait [`Storage`]: whole writes and reads, and failures of one rank.

pub(in crate::engine) mod copy;
pub(in crate::engine) mod direct;
pub(in crate::engine) mod direct_read;
pub(in crate::engine) mod scratch;
pub(in crate::engine) mod sieve;
pub(in crate::engine) mod window_queue;
pub(in crate::engine) mod worker;

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::error::Error;
use crate::topology::Rank;

pub use crate::drivers::size_limit::{block_size_signal, without_size_signal};
pub use crate::drivers::{OpenStorage, Storage, SystemFiles};

/// A call on the storage that did not do all it should.
#[derive(Debug)]
pub struct Failure {
    /// `write` or `read`.
    pub operation: &'static str,
    /// Where in the file it failed.
    pub offset: u64,
    /// Why.
    pub cause: io::Error,
}

impl Failure {
    /// As the error of a rank.
    pub fn of(self, rank: Rank, path: &Path) -> Error {
        Error::io(rank, self.operation, path, self.offset, &self.cause)
    }
}

/// Calls a storage that may panic; a panic is a failure like any other: the rank must go on, or all others wait for it.
pub fn guarded<T>(
    operation: &'static str,
    offset: u64,
    call: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    // What the call leaves behind is not looked at after a failure.
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|panic| Err(Failure { operation, offset, cause: io::Error::other(words(&*panic)) }))
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the storage panicked: {}", said.unwrap_or("it did not say why"))
}

/// Writes all of `bytes`; `written` counts those that got there, also when it fails.
pub fn write_all(storage: &dyn Storage, bytes: &[u8], offset: u64, written: &mut u64) -> Result<(), Failure> {
    let mut done = 0;
    while done < bytes.len() {
        let at = offset + done as u64;
        let failure = |cause| Failure { operation: "write", offset: at, cause };
        match storage.write_at(&bytes[done..], at) {
            Ok(0) => return Err(failure(io::ErrorKind::WriteZero.into())),
            Ok(count) => {
                done += count;
                *written += count as u64;
            }
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(failure(cause)),
        }
    }
    Ok(())
}

/// Reads all of `bytes` that the file has; what lies beyond its end stays as it is. Returns how many bytes the file had.
pub fn read_present(storage: &dyn Storage, bytes: &mut [u8], offset: u64) -> Result<u64, Failure> {
    let mut done = 0;
    while done < bytes.len() {
        let at = offset + done as u64;
        match storage.read_at(&mut bytes[done..], at) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(Failure { operation: "read", offset: at, cause }),
        }
    }
    Ok(done as u64)
}

/// As [`read_present`], with zeros beyond the end of the file.
pub fn read_all(storage: &dyn Storage, bytes: &mut [u8], offset: u64) -> Result<u64, Failure> {
    let present = read_present(storage, bytes, offset)?;
    bytes[present as usize..].fill(0);
    Ok(present)
}
