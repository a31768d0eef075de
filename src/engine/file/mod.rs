//! An open shared file: the calls that a program makes on it. `impl File` stands only in this folder.
//!
//! Each call has one body, an `async` function. A caller waits for it in one of three ways: it blocks, polls the future
//! itself, or starts an [`Operation`].
//!
//! | module | holds |
//! |---|---|
//! | `without_data` | the bodies of the opening, sync, the size, agreements and the close; the settings in force for a file |
//! | `transfer` | the body of collective writes, reads and refusals, and the ways to wait for it; independent calls |
//! | `call` | a collective call from begin to end, over a team of ranks |
//! | `through_windows` | a call through windows in shared memory, between its agreements; `staging`: a call from device memory |
//! | `setup`, `opening` | the settings that are fixed when a file is opened; the agreement on them |
//! | `predicted` | the path that a planned write would take |
//! | [`binding`] | what bindings need and programs do not; calls in which another library uses the same file |
//! | `capturing` | stores the capture at the close |

pub mod binding;
mod call;
mod capturing;
pub(in crate::engine) mod opening;
pub(in crate::engine) mod predicted;
pub(in crate::engine) mod setup;
mod staging;
mod through_windows;
mod transfer;
mod without_data;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use crate::access::{BufferLayout, Direction, Extents, Sink, Source};
use crate::drivers::Mode;
use crate::engine::agree::calls::{CallForm, CallKind};
use crate::engine::choose::learned::Learned;
use crate::engine::choose::rules::EarlyWrites;
use crate::engine::exchange::kept_plans::Plans;
use crate::engine::file::setup::Setup;
use crate::engine::io::handle::FileHandle;
use crate::engine::io::{OpenStorage, SystemFiles};
use crate::engine::shared::window_writer::WindowHelper;
use crate::engine::trace::Observers;
use crate::engine::trace::capture::target::CaptureTarget;
use crate::engine::trace::report::{CallReport, FanIn};
use crate::engine::trace::watchdog::StallWatchdog;
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::hints::{Hints, Switch};
use crate::topology::Rank;

pub use transfer::{Operation, ReadReport};
pub use without_data::Settings;

use transfer::Asked;
use without_data::Opening;

/// An open file. If a method is collective, all ranks must call it, in the same order, and all get the same error or
/// none. Other methods are local.
pub struct File {
    endpoint: Endpoint,
    /// Settings that are fixed when the file is opened.
    setup: Setup,
    /// This rank's handle of the file, which it opens when it first needs it.
    handle: FileHandle,
    /// The thread beside this rank that writes windows of a slow file.
    window_helper: WindowHelper,
    /// State that calls keep for the next calls.
    calls: FileCalls,
    /// Observers of the calls: clock, stall watchdog, capture.
    observers: Observers,
}

/// State that the calls on a file keep for the next calls, and settings of the caller for the next calls.
#[derive(Default)]
struct FileCalls {
    /// Plans of earlier calls.
    plans: Plans,
    /// Rates and shares learned from exchanges, for the next ones.
    learned: Learned,
    /// True if ranks may have written the same bytes in an earlier call.
    may_overlap: bool,
    /// True if, in the last read, ranks certainly wanted different bytes and may read by themselves.
    reads_disjoint: bool,
    /// Decides if this rank may write before all ranks are in the call.
    early: EarlyWrites,
    /// The value of [`File::set_sole_writer`]; `None` if nobody set it.
    sole_writer: Option<bool>,
    /// Name of the next calls in messages, if the caller set one (for example the MPI function).
    name: Option<&'static str>,
    /// Form of the next writes and reads.
    form: CallForm,
    /// The state, which determines the possible calls.
    state: FileState,
    /// True while a write runs whose future is polled to its end before the program can use or free its memory
    /// ([`Asked::polled_to_end`]).
    returns_at_end: bool,
}

/// The state of a file. A file can be closed in every state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum FileState {
    /// All calls are possible.
    #[default]
    Ready,
    /// An operation is running, or was dropped before its end.
    Running,
    /// A call failed with an error that the other ranks do not know.
    Failed,
    /// The given rank closed the file while other ranks made other calls.
    ClosedBy(Rank),
}

impl File {
    /// Opens `path` on all ranks of `endpoint`, which the file owns until [`File::close`]. Collective, with the same
    /// path, mode and hints.
    ///
    /// # Errors
    /// Bad or different arguments, or the file cannot be created or opened: the same on all ranks.
    pub fn open(endpoint: Endpoint, path: impl Into<PathBuf>, mode: Mode, hints: Hints) -> Result<Self> {
        Self::open_on(endpoint, path, mode, hints, Arc::new(SystemFiles))
    }

    /// Opens like [`File::open`], with another storage instead of the operating system's files. Collective.
    ///
    /// # Errors
    /// The same errors as [`File::open`].
    pub fn open_on(
        endpoint: Endpoint,
        path: impl Into<PathBuf>,
        mode: Mode,
        hints: Hints,
        files: Arc<dyn OpenStorage>,
    ) -> Result<Self> {
        let waiting = endpoint.waiting().clone();
        waiting.wait(pin!(Self::opened(endpoint, Opening { path: path.into(), mode, hints, files })))
    }

    /// Writes `buffer` to `extents` of the file, together with all ranks. `layout` is the layout of `buffer`; the call
    /// accesses only its bytes. Collective; a rank without data passes no extents. The hint `trib_overlap` decides
    /// whose bytes stay if ranks overlap.
    ///
    /// # Errors
    /// The argument or I/O error of the lowest rank, on every rank. Bytes of other ranks and windows may then be in the
    /// file.
    pub fn write_all<'a>(
        &mut self,
        extents: &'a Extents,
        layout: &'a BufferLayout,
        buffer: impl Into<Source<'a>>,
    ) -> Result<CallReport> {
        self.transfer(&mut Asked::write(extents, layout, buffer.into()))
    }

    /// Reads `extents` of the file into `buffer`, together with all ranks. `layout` is the layout of `buffer`; the call
    /// accesses only its bytes. Collective; a rank that wants nothing passes no extents. Ranks may read the same bytes.
    /// Holes of the file read as zeros. Bytes of the buffer for offsets past the end of the file are unchanged. Costs
    /// as much as a write of the same access.
    ///
    /// # Errors
    /// The argument or I/O error of the lowest rank, on every rank. The contents of the buffers are then undefined.
    pub fn read_all<'a>(
        &mut self,
        extents: &'a Extents,
        layout: &'a BufferLayout,
        buffer: impl Into<Sink<'a>>,
    ) -> Result<ReadReport> {
        let mut asked = Asked::read(extents, layout, buffer.into());
        let call = self.transfer(&mut asked)?;
        Ok(ReadReport { bytes: asked.moved(), call })
    }

    /// Starts a non-blocking [`File::write_all`]. Collective.
    pub fn start_write_all<'a>(
        &'a mut self,
        extents: &'a Extents,
        layout: &'a BufferLayout,
        buffer: impl Into<Source<'a>>,
    ) -> Operation<'a, CallReport> {
        self.start(Asked::write(extents, layout, buffer.into()), |_, call| call)
    }

    /// Starts a non-blocking [`File::read_all`]. Collective.
    pub fn start_read_all<'a>(
        &'a mut self,
        extents: &'a Extents,
        layout: &'a BufferLayout,
        buffer: impl Into<Sink<'a>>,
    ) -> Operation<'a, ReadReport> {
        self.start(Asked::read(extents, layout, buffer.into()), |bytes, call| ReadReport { bytes, call })
    }

    /// Writes `bytes`, host or device memory, at byte `offset` of the file and returns their number. Local: no message is
    /// sent, and the calling thread does the I/O. Every later call of any rank sees the bytes, if the caller orders the two
    /// calls (by a barrier or a collective call); on file systems whose clients cache independently, a rank of another host
    /// sees them after a collective call or [`File::sync`].
    ///
    /// # Errors
    /// An end beyond 2^63 - 1, a file opened for reading, an error of the system, device memory that cannot be copied; an
    /// operation was dropped before its end. Some of the bytes may then be in the file.
    pub fn write_at<'a>(&mut self, offset: u64, bytes: impl Into<Source<'a>>) -> Result<u64> {
        self.write_independent(offset, bytes.into())
    }

    /// Reads into `bytes`, host or device memory, from byte `offset` of the file on. Returns the number of bytes before the
    /// end of the file; the rest of `bytes` is unchanged. Local, like [`File::write_at`].
    ///
    /// # Errors
    /// The same errors as [`File::write_at`]; the contents of `bytes` are then undefined.
    pub fn read_at<'a>(&mut self, offset: u64, bytes: impl Into<Sink<'a>>) -> Result<u64> {
        self.read_independent(offset, bytes.into())
    }

    /// Writes all bytes written so far to stable storage (fsync), and returns when this is done. Collective. Costs one
    /// agreement.
    ///
    /// # Errors
    /// The error of the lowest rank, on every rank; an operation was dropped before its end.
    pub fn sync(&mut self) -> Result<()> {
        self.complete(Self::synced)
    }

    /// Returns the size of the file in bytes, as the system reports it to this rank now. Local.
    ///
    /// # Errors
    /// A device or a pipe, which has no size; an error of the system; an operation was dropped before its end.
    pub fn size(&mut self) -> Result<u64> {
        self.usable()?;
        match self.handle.size()? {
            u64::MAX => Err(Error::state("the file is a device or a pipe, which has no size; use a regular file")),
            size => Ok(size),
        }
    }

    /// Sets the size of the file to `len` bytes: truncates a longer file, extends a shorter file with zeros.
    /// Collective, with the same length on all ranks: rank 0 sets it when all ranks have called, and all ranks return
    /// after that. Costs two agreements.
    ///
    /// # Errors
    /// The same on every rank: different lengths, a length beyond 2^63 - 1, a file opened for reading, an error of the
    /// system on rank 0; an operation was dropped before its end.
    pub fn set_len(&mut self, len: u64) -> Result<()> {
        binding::set_len_after(self, Ok(len))
    }

    /// Agrees on an outcome: if a rank has an error, all ranks return the error of the lowest such rank. Collective.
    ///
    /// # Errors
    /// The agreed error.
    pub fn agree<T>(&mut self, outcome: Result<T>) -> Result<T> {
        let (value, own) = outcome.map_or_else(|error| (None, Err(error)), |value| (Some(value), Ok(())));
        self.complete(async |file| file.agreed(own).await)?;
        let rank = self.endpoint.rank();
        value.ok_or_else(|| Error::internal(rank, "an error was not agreed on"))
    }

    /// Returns the fan-in of the aggregators over all rounds of all calls so far, the same on all ranks. Collective.
    ///
    /// # Errors
    /// Errors of the message transport; an operation was dropped before its end.
    pub fn fan_in(&mut self) -> Result<FanIn> {
        self.complete(Self::added_fan_in)
    }

    /// Sets whether this file has no other writer during a blocking call on it: no other program, rank, thread or call
    /// in flight, through this handle or another. If it is true on all ranks, a blocking write may read the gaps
    /// between its pieces and write them back with the pieces (`romio_ds_write`); otherwise it writes its pieces only.
    /// Without this call, the value is true only if the hint `romio_ds_write` is `enable`. Local.
    pub fn set_sole_writer(&mut self, is_sole: bool) {
        self.calls.sole_writer = Some(is_sole);
    }

    /// Returns the settings in force for the file, such as hints, driver, layout and aggregators. O(1).
    pub fn settings(&self) -> Settings<'_> {
        Settings::of(&self.setup)
    }

    /// Returns the file's endpoint, for collectives between calls on the file.
    pub fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// Closes the file and returns the endpoint. Collective: no rank returns before all have written and closed their
    /// handles, so the file may be removed or its file system unmounted at once.
    ///
    /// # Errors
    /// An error of the close on any rank, returned on every rank; errors of the message transport. If an operation was
    /// dropped before its end, this rank closes the file at once, without the other ranks, and the endpoint is lost.
    pub fn close(self) -> Result<Endpoint> {
        let waiting = self.endpoint.waiting().clone();
        waiting.wait(pin!(self.closed(Ok(()))))
    }
}

impl File {
    /// Returns the open file of a setup. With a `target`, the file records its calls for a capture.
    fn from_setup(
        endpoint: Endpoint,
        mut setup: Setup,
        files: Arc<dyn OpenStorage>,
        target: Option<&'static CaptureTarget>,
    ) -> Self {
        let rank = endpoint.rank();
        let (opened, limits) = (setup.opened.take(), setup.write_behind_limits(rank));
        let handle = FileHandle::new(files, (rank, opened), setup.file.clone(), limits);
        let seconds = stall_timeout_of(&endpoint, &setup.file.hints);
        let known = (setup.groups.host().cloned(), Some(endpoint.waiting().clone()));
        let watchdog = StallWatchdog::new(&setup.file.path, endpoint.rank(), seconds, known);
        let observers = Observers::new(watchdog, target, (endpoint.rank(), endpoint.ranks()));
        let calls = FileCalls { learned: setup.learned.clone(), ..FileCalls::default() };
        Self { endpoint, setup, handle, window_helper: WindowHelper::default(), calls, observers }
    }

    /// Returns the kind of a write or read, in the form that the caller has set.
    fn kind(&self, direction: Direction) -> CallKind {
        (direction, self.calls.form).into()
    }

    /// Returns the name of a call in messages: the caller's own name for it (for example the MPI function), or the name
    /// of `kind`.
    fn name(&self, kind: CallKind) -> &'static str {
        self.calls.name.unwrap_or_else(|| kind.name())
    }

    /// Returns true if no one else can write the file during the current call, as far as this rank knows.
    fn is_sole_writer(&self) -> bool {
        self.calls.returns_at_end && self.calls.sole_writer.unwrap_or(self.setup.file.hints.ds_write == Switch::Enable)
    }

    /// Checks that calls are possible: no operation was dropped before its end (its messages may still be in flight),
    /// and no rank has closed the file.
    #[inline(always)]
    fn usable(&self) -> Result<()> {
        if matches!(self.calls.state, FileState::Ready) { Ok(()) } else { Err(self.unusable()) }
    }

    /// Returns why no call is possible.
    #[cold]
    fn unusable(&self) -> Error {
        let why = match self.calls.state {
            FileState::Ready | FileState::Running => "an operation on the file was dropped before its end".to_string(),
            FileState::Failed => "an earlier call on the file failed before its end".to_string(),
            FileState::ClosedBy(rank) => format!("rank {rank} closed the file while other ranks made other calls"),
        };
        Error::state(format!("{why}; close the file, no other call is possible"))
    }

    /// Begins a call: marks the file as running. Fails if no call is possible.
    fn begin(&mut self) -> Result<()> {
        self.usable()?;
        self.calls.state = FileState::Running;
        Ok(())
    }

    /// Ends a call. After an error that other ranks do not know, messages may be in flight, and the file is not usable.
    fn end<T>(&mut self, outcome: &Result<T>) {
        self.observers.left(outcome.is_err());
        self.calls.state = match self.calls.state {
            closed @ FileState::ClosedBy(_) => closed,
            _ if outcome.as_ref().is_err_and(Error::is_unagreed) => FileState::Failed,
            _ => FileState::Ready,
        };
    }

    /// Runs `call`, the body of a call, and blocks until it has ended.
    ///
    /// # Errors
    /// The errors of the call; no call is possible.
    fn complete<T>(&mut self, call: impl AsyncFnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.usable()?;
        let waiting = self.endpoint.waiting().clone();
        waiting.complete(pin!(call(self)))
    }
}

/// Returns the value of the hint `trib_stall_timeout` in seconds, or 0 (no warning) if there is no other rank.
fn stall_timeout_of(endpoint: &Endpoint, hints: &Hints) -> usize {
    if endpoint.ranks() > 1 { hints.stall_timeout } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::shared::Arena;
    use crate::fabric::{Waiting, shared};

    fn goes_to_another_thread<T: Send>() {}

    /// All parts of a file can be sent to another thread, except the transport: MPI decides which threads may call it.
    #[test]
    fn the_shared_parts_of_a_file_are_send() {
        goes_to_another_thread::<(Setup, FileHandle, Plans)>();
        goes_to_another_thread::<Arc<Arena>>();
        goes_to_another_thread::<(Waiting, Arc<shared::Shared>, Arc<shared::GroupMemory>)>();
    }
}
