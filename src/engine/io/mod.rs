//! File I/O through the trait [`Storage`]: complete writes and reads, windows, and failures of one rank. Every call on
//! the file goes through `calls`.

pub(in crate::engine) mod call_cost;
pub(in crate::engine) mod calls;
pub(in crate::engine) mod direct;
pub(in crate::engine) mod handle;
pub(in crate::engine) mod present;
pub(in crate::engine) mod sieve;
pub(in crate::engine) mod terms;
pub(in crate::engine) mod window_queue;
pub(in crate::engine) mod worker;
pub(in crate::engine) mod write_behind;

use std::any::Any;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::access::{Access, BufferLayout, Extents, Sink, Source, Walk};
use crate::engine::choose::PROBED;
use crate::engine::choose::cost::FileWork;
use crate::engine::io::call_cost::CallCost;
use crate::engine::io::sieve::Sieve;
use crate::engine::io::window_queue::PieceOfWindow;
use crate::error::{Error, FileOperation};
use crate::hints::Switch;
use crate::topology::Rank;
use crate::world::clock;
use crate::world::process::per_process;
use crate::world::waits::SleepCount;

pub use crate::drivers::{FileControl, OpenStorage, Storage, SystemFiles, block_size_signal, without_size_signal};

/// Maximum number of parts of one vectored write (`IOV_MAX` of Linux).
const MOST_PARTS: usize = 1024;

/// A call on the storage that failed.
#[derive(Debug)]
pub struct StorageFailure {
    /// The call that failed.
    pub operation: FileOperation,
    /// Offset in the file at which the call failed; `None` if the call has no offset.
    pub offset: Option<u64>,
    /// Error of the operating system.
    pub cause: io::Error,
}

impl StorageFailure {
    /// Turns the failure into an error of `rank` on the file at `path`.
    pub fn into_error(self, rank: Rank, path: &Path) -> Error {
        Error::io(rank, self.operation, path, self.offset, &self.cause)
    }
}

/// Calls a storage that may panic. A panic becomes a failure, because the rank must go on, or all others would wait for
/// it.
pub fn guarded<T>(
    operation: FileOperation,
    offset: impl Into<Option<u64>>,
    call: impl FnOnce() -> Result<T, StorageFailure>,
) -> Result<T, StorageFailure> {
    // After a failure, nobody uses the state that the call has changed.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        Err(StorageFailure { operation, offset: offset.into(), cause: io::Error::other(panic_message(&*panic)) })
    })
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the storage panicked: {}", said.unwrap_or("it did not say why"))
}

/// Returns the size of the file in bytes, as the system reports it to `rank` now; `u64::MAX` if the file has no size.
pub fn size(storage: &Result<Arc<dyn Storage>, Error>, rank: Rank, path: &Path) -> Result<u64, Error> {
    asked(storage, (rank, path), calls::size)
}

/// Returns the end of the file in bytes, also if bytes before it are not in the file yet.
pub fn end(storage: &Result<Arc<dyn Storage>, Error>, rank: Rank, path: &Path) -> Result<u64, Error> {
    asked(storage, (rank, path), calls::end)
}

fn asked(
    storage: &Result<Arc<dyn Storage>, Error>,
    (rank, path): (Rank, &Path),
    ask: impl Fn(&dyn Storage) -> io::Result<u64>,
) -> Result<u64, Error> {
    let storage = storage.as_ref().map_err(Clone::clone)?;
    let ask =
        || ask(&**storage).map_err(|cause| StorageFailure { operation: FileOperation::Stat, offset: None, cause });
    guarded(FileOperation::Stat, None, ask).map_err(|failure| failure.into_error(rank, path))
}

/// Writes all of `bytes` at `offset`. Adds the number of bytes written to `written`, also after a failure.
pub fn write_all(storage: &dyn Storage, bytes: &[u8], offset: u64, written: &mut Moved) -> Result<(), StorageFailure> {
    let mut done = 0;
    while done < bytes.len() {
        let at = offset + done as u64;
        let failure = |cause| StorageFailure { operation: FileOperation::Write, offset: Some(at), cause };
        match calls::write(storage, &bytes[done..], at) {
            Ok(0) => return Err(failure(io::ErrorKind::WriteZero.into())),
            Ok(count) => {
                done += count;
                written.add(count);
            }
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(failure(cause)),
        }
    }
    Ok(())
}

/// Bytes that calls on a file have moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Number of bytes.
    pub bytes: u64,
    /// Number of calls.
    pub calls: u64,
}

impl Moved {
    /// Adds what other calls have moved.
    pub fn add_all(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.calls += other.calls;
    }

    /// Adds a call that moved `bytes` bytes.
    #[inline]
    fn add(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.calls += 1;
    }
}

/// Writes pieces that follow one another in the file, like [`write_all`].
pub fn write_all_pieces(
    storage: &dyn Storage,
    pieces: &[PieceOfWindow],
    mut offset: u64,
    written: &mut Moved,
) -> Result<(), StorageFailure> {
    for pieces in pieces.chunks(MOST_PARTS) {
        let mut parts: Vec<_> = pieces.iter().map(|piece| IoSlice::new(&piece.bytes)).collect();
        let mut rest = &mut parts[..];
        while !rest.is_empty() {
            let failure = |cause| StorageFailure { operation: FileOperation::Write, offset: Some(offset), cause };
            match calls::write_parts(storage, rest, offset) {
                Ok(0) => return Err(failure(io::ErrorKind::WriteZero.into())),
                Ok(count) => {
                    IoSlice::advance_slices(&mut rest, count);
                    offset += count as u64;
                    written.add(count);
                }
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(failure(cause)),
            }
        }
    }
    Ok(())
}

/// Reads from `offset` into `bytes` up to the end of the file; the rest of `bytes` is unchanged. Returns the number of
/// bytes read.
pub fn read_present(storage: &dyn Storage, bytes: &mut [u8], offset: u64) -> Result<u64, StorageFailure> {
    let mut done = 0;
    while done < bytes.len() {
        let at = offset + done as u64;
        match calls::read(storage, &mut bytes[done..], at) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(StorageFailure { operation: FileOperation::Read, offset: Some(at), cause }),
        }
    }
    Ok(done as u64)
}

/// Writes an access without other ranks and returns the number of its bytes. `place` is this rank and the path of the file, for
/// errors. Local.
///
/// # Errors
/// An error of the system. Some of the bytes may then be in the file.
pub fn write_independent(
    storage: &dyn Storage,
    file: &Extents,
    layout: &BufferLayout,
    source: Source<'_>,
    (rank, path): (Rank, &Path),
) -> Result<u64, Error> {
    let outcome = direct::write(storage, Access { file, layout, memory: source }, rank, path);
    outcome.error.map_or(Ok(outcome.bytes), Err)
}

/// Writes like [`write_independent`], under a lock of the range that keeps out others who lock what they write: MPI's data
/// sieving, which writes back the bytes between its pieces. Takes no lock if the file system has none. Local.
///
/// # Errors
/// The errors of [`write_independent`].
pub fn write_locked(
    storage: &dyn Storage,
    file: &Extents,
    layout: &BufferLayout,
    source: Source<'_>,
    place: (Rank, &Path),
) -> Result<u64, Error> {
    struct Locked<'a>(&'a dyn Storage, Range<u64>);

    impl Drop for Locked<'_> {
        fn drop(&mut self) {
            // A lock that is not released here ends when the handle is closed.
            let _ = calls::lock_range(self.0, self.1.clone(), false);
        }
    }

    let range = file.span().map(|(start, end)| start..end);
    let locked = range.filter(|range| calls::lock_range(storage, range.clone(), true).is_ok());
    let _locked = locked.map(|range| Locked(storage, range));
    write_independent(storage, file, layout, source, place)
}

/// Reads an access without other ranks and returns the number of its bytes before the end of the file. `place` is this rank and
/// the path of the file, for errors. Local.
///
/// # Errors
/// An error of the system.
pub fn read_independent(
    storage: &dyn Storage,
    file: &Extents,
    layout: &BufferLayout,
    sink: Sink<'_>,
    (rank, path): (Rank, &Path),
) -> Result<u64, Error> {
    per_process! {
        static COST: LazyLock<Sieve> = LazyLock::new(|| Sieve::new(Switch::Automatic, CallCost::fixed(1).into()));
    }
    let read = guarded(FileOperation::Read, None, || direct::read(storage, file, layout, sink, &COST));
    read.map(|outcome| outcome.bytes).map_err(|failure| failure.into_error(rank, path))
}

/// Writes the first piece of an access, which its call then writes, too, and returns what that took; `None` without data. Local.
///
/// # Errors
/// The write fails, and its call must fail, too.
pub fn probe(
    storage: &dyn Storage,
    Access { file, layout, memory }: &Access<'_, Source<'_>>,
) -> Result<Option<FileWork>, StorageFailure> {
    let mut first = None;
    let end = file.span().map_or(0, |(start, _)| start.saturating_add(PROBED));
    Walk::new(file, layout).visit_before(end, |piece| {
        first.get_or_insert(piece);
    });
    let Some(piece) = first else { return Ok(None) };
    let bytes = memory.piece(piece.memory, piece.len);
    let (begin, sleeps, _quiet) = (clock::now(), SleepCount::begin(), without_size_signal());
    let write = || write_all(storage, bytes, piece.offset, &mut Moved::default());
    guarded(FileOperation::Write, piece.offset, write)?;
    let took = sleeps.without_waits_for_cores(clock::since(begin));
    Ok(Some(FileWork { rounds: 1.0, bytes: bytes.len() as f64, nanos: took.as_nanos() as f64 }))
}

/// Reads like [`read_present`], and fills the rest of `bytes` with zeros.
pub fn read_all(storage: &dyn Storage, bytes: &mut [u8], offset: u64) -> Result<u64, StorageFailure> {
    let present = read_present(storage, bytes, offset)?;
    bytes[present as usize..].fill(0);
    Ok(present)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// A storage that takes at most 7 bytes a call, interrupts every third call, and fails from byte 2000 on.
    #[derive(Default)]
    struct Short(Mutex<(Vec<u8>, u64)>);

    impl Storage for Short {
        fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
            let mut state = self.0.lock().unwrap();
            state.1 += 1;
            if state.1.is_multiple_of(3) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            assert_eq!(offset, 100 + state.0.len() as u64);
            let count = bytes.len().min(7).min(2000 - state.0.len());
            state.0.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
            Ok(0)
        }

        fn size(&self) -> io::Result<u64> {
            Ok(0)
        }

        fn set_len(&self, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn pieces_are_written_whatever_a_call_takes() {
        let bytes: Vec<u8> = (0..2500).map(|at| at as u8).collect();
        let pieces = |from: &[u8]| {
            let piece = |bytes: &[u8]| PieceOfWindow { position: 0, bytes: bytes.to_vec().into() };
            from.chunks(1).take(1100).chain(from[1100..].chunks(20)).map(piece).collect::<Vec<_>>()
        };
        let (short, mut written) = (Short::default(), Moved::default());
        write_all_pieces(&short, &pieces(&bytes[..1999]), 100, &mut written).unwrap();
        assert_eq!((&short.0.lock().unwrap().0[..], written.bytes), (&bytes[..1999], 1999));
        assert!(written.calls >= 1999 / 7, "{written:?}");
        let (short, mut written) = (Short::default(), Moved::default());
        let failure = write_all_pieces(&short, &pieces(&bytes), 100, &mut written).unwrap_err();
        assert_eq!((failure.offset, failure.cause.kind(), written.bytes), (Some(2100), io::ErrorKind::WriteZero, 2000));
    }
}
