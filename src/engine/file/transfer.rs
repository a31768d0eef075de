//! Moves bytes between memory and file. Collective: the request of a rank ([`Asked`]), the body of such a call, and the
//! ways to wait for it, for example an [`Operation`]. Independent: the writes and reads of one rank.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::access::{Access, BufferLayout, Direction, Extents, Memory, Sink, Source};
use crate::device;
use crate::drivers::Mode;
use crate::engine::exchange::plan;
use crate::engine::file::File;
use crate::engine::file::call::CallAccess;
use crate::engine::file::staging::{copy_to_device, stage_read, stage_write};
use crate::engine::file::through_windows::sorted;
use crate::engine::trace::counts::Outcome;
use crate::engine::trace::report::CallReport;
use crate::error::{Error, FileOperation, Result};
use crate::fabric::Waiting;

/// The result of a collective read on one rank.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadReport {
    /// Number of this rank's bytes before the end of the file. The rest of the buffer is unchanged.
    pub bytes: u64,
    /// The report of the call; the same on all ranks.
    pub call: CallReport,
}

/// The request of one rank in a collective write or read: its access, or an error instead. With an error, the rank takes part
/// without data, and the call fails on all ranks.
pub struct Asked<'a> {
    access: Access<'a>,
    /// The error that the rank has instead of an access.
    refused: Option<Error>,
    is_polled_to_end: bool,
    moved: u64,
}

/// The extents of a rank that has nothing to move.
pub(super) static NO_EXTENTS: Extents = Extents::empty();

impl<'a> Asked<'a> {
    /// Asks to write the bytes of `source` that `layout` lists to `extents` of the file.
    #[inline]
    pub fn write(extents: &'a Extents, layout: &'a BufferLayout, source: Source<'a>) -> Self {
        Self::new(Access { file: extents, layout, memory: Memory::Source(source) })
    }

    /// Asks to read `extents` of the file to the places in `sink` that `layout` lists.
    #[inline]
    pub fn read(extents: &'a Extents, layout: &'a BufferLayout, sink: Sink<'a>) -> Self {
        Self::new(Access { file: extents, layout, memory: Memory::Sink(sink) })
    }

    /// Takes part with an error instead of an access.
    pub fn refusal(direction: Direction, error: Error) -> Self {
        let memory = match direction {
            Direction::Write => Memory::Source(Source::from(&[])),
            Direction::Read => Memory::Sink(Sink::from(&mut [])),
        };
        let access = Access { file: &NO_EXTENTS, layout: &BufferLayout::Contiguous, memory };
        Self { refused: Some(error), ..Self::new(access) }
    }

    /// Asks to write or to read, as the memory of the access says.
    #[inline(always)]
    pub fn new(access: Access<'a>) -> Self {
        Self { access, refused: None, is_polled_to_end: false, moved: 0 }
    }

    /// Lets a write send and write the caller's memory without a copy.
    ///
    /// # Safety
    /// After the first poll of the call's future, the caller polls it to its end, or the process ends before the memory is
    /// freed.
    pub unsafe fn polled_to_end(self) -> Self {
        Self { is_polled_to_end: true, ..self }
    }

    /// Returns the direction of the call.
    #[inline]
    pub fn direction(&self) -> Direction {
        self.access.direction()
    }

    /// Returns, after the call, the number of this rank's bytes that were written, or that were read before the end of the
    /// file.
    #[inline]
    pub fn moved(&self) -> u64 {
        match self.direction() {
            Direction::Write => self.access.file.bytes(),
            Direction::Read => self.moved,
        }
    }
}

impl File {
    /// Makes the call that is asked for, and blocks until it has ended. Collective.
    ///
    /// # Errors
    /// The same on every rank: ranks are in different calls, or the error of the lowest rank that has one.
    pub(super) fn transfer(&mut self, asked: &mut Asked<'_>) -> Result<CallReport> {
        self.begin()?;
        asked.is_polled_to_end = true;
        let (waiting, started) = (self.endpoint.waiting().clone(), self.observers.starts());
        let outcome = waiting.complete(pin!(self.moved(asked)));
        self.end_transfer(asked, started, &outcome);
        outcome
    }

    /// Makes the call that is asked for, as a future that the caller polls. Collective.
    ///
    /// # Errors
    /// The same errors as [`File::transfer`].
    pub(super) async fn transfer_async(&mut self, asked: &mut Asked<'_>) -> Result<CallReport> {
        self.begin()?;
        self.transfer_begun(asked).await
    }

    /// Starts the call that is asked for. `report` makes its outcome of this rank's bytes and the report. Collective.
    pub(super) fn start<'a, T: 'a>(
        &'a mut self,
        mut asked: Asked<'a>,
        report: fn(u64, CallReport) -> T,
    ) -> Operation<'a, T> {
        let waiting = self.endpoint.waiting().clone();
        // Begin here and not in the first test: an operation dropped before its first test counts as dropped too.
        let begun = self.begin();
        let future = Box::pin(async move {
            begun?;
            let call = self.transfer_begun(&mut asked).await?;
            Ok(report(asked.moved(), call))
        });
        Operation::new(future, waiting)
    }

    async fn transfer_begun(&mut self, asked: &mut Asked<'_>) -> Result<CallReport> {
        let (waiting, started) = (self.endpoint.waiting().clone(), self.observers.starts());
        let outcome = waiting.call(pin!(self.moved(asked))).await;
        self.end_transfer(asked, started, &outcome);
        outcome
    }

    fn end_transfer(&mut self, asked: &Asked<'_>, started: Option<Instant>, outcome: &Result<CallReport>) {
        self.end(outcome);
        self.observers.record(asked.direction(), (asked.access.file, asked.access.layout), started, outcome.as_ref());
    }

    /// Checks the request, and runs the call: the body of every collective write and read.
    async fn moved(&mut self, asked: &mut Asked<'_>) -> Result<CallReport> {
        self.calls.returns_at_end = asked.is_polled_to_end && asked.direction() == Direction::Write;
        let mut staged = Vec::new();
        let checked = self.check(asked, &mut staged);
        let (is_sole, moved) = (self.is_sole_writer(), &mut asked.moved);
        let Access { file: extents, mut layout, ref mut memory } = asked.access;
        let (mut file, mut device) = (extents, None);
        let mut memory = match memory {
            Memory::Source(source) => Memory::Source(*source),
            Memory::Sink(sink) => Memory::Sink(sink.reborrow()),
        };
        if !staged.is_empty() {
            let host = match &memory {
                Memory::Source(_) => Memory::Source(Source::from(&staged[..])),
                Memory::Sink(_) => Memory::Sink(Sink::from(&mut staged[..])),
            };
            if let Memory::Sink(sink) = std::mem::replace(&mut memory, host) {
                device = Some(Access { file, layout, memory: sink });
            }
            layout = &BufferLayout::Contiguous;
        }
        let (ascending, checked) = match (&memory, checked) {
            // Windows in shared memory are filled in ascending order.
            (Memory::Source(_), Ok(())) if self.setup.shares_memory => sorted(file, layout),
            (_, checked) => (None, checked),
        };
        if let Some((extents, places)) = &ascending {
            (file, layout) = (extents, places);
        }
        let access = Access { file, layout, memory };
        self.call(&mut CallAccess { asked: extents, access, device, is_sole, moved }, checked).await
    }

    /// Returns the error in this rank's request. Copies device memory to `staged`.
    #[inline]
    fn check(&self, asked: &mut Asked<'_>, staged: &mut Vec<u8>) -> Result<()> {
        let Access { file, layout, memory } = &asked.access;
        let span = match memory {
            _ if asked.refused.is_some() => return asked.refused.take().map_or(Ok(()), Err),
            Memory::Source(_) if self.setup.file.mode == Mode::Read => {
                return Err(Error::state("the file was opened for reading only; open it with Mode::Update to write"));
            }
            Memory::Source(source) => source.span(),
            Memory::Sink(sink) => sink.span(),
        };
        let checked = plan::check_access(file, layout, span);
        if checked.is_ok() && device::may_be() { self.stage(&asked.access, staged) } else { checked }
    }

    /// Makes `staged` the host memory of the call instead of device memory, if the caller's memory is there.
    #[cold]
    fn stage(&self, Access { file, layout, memory }: &Access<'_>, staged: &mut Vec<u8>) -> Result<()> {
        let (rank, len) = (self.endpoint.rank(), file.bytes());
        match memory {
            Memory::Source(source) => stage_write((rank, &self.setup.file.path), layout, len, *source, staged),
            Memory::Sink(sink) => stage_read(rank, layout, len, sink, staged),
        }
    }

    /// Writes the bytes of `source` at byte `offset` of the file. Returns their number. Local.
    ///
    /// # Errors
    /// The errors of [`File::write_at`].
    pub(super) fn write_independent(&mut self, offset: u64, source: Source<'_>) -> Result<u64> {
        self.usable()?;
        self.handle.check_writable(FileOperation::Write, offset)?;
        let len = source.span() as u64;
        Extents::contiguous(offset, len)?;
        if len == 0 {
            return Ok(0);
        }
        let mut staged = Vec::new();
        if device::may_be() {
            let file = (self.endpoint.rank(), &*self.setup.file.path);
            stage_write(file, &BufferLayout::Contiguous, len, source, &mut staged)?;
        }
        let bytes = if staged.is_empty() { source.piece(0, len) } else { &staged };
        self.handle.write_bytes(bytes, offset)
    }

    /// Reads into `sink` from byte `offset` of the file on. Returns the number of bytes before the end of the file. Local.
    ///
    /// # Errors
    /// The errors of [`File::read_at`].
    pub(super) fn read_independent(&mut self, offset: u64, mut sink: Sink<'_>) -> Result<u64> {
        self.usable()?;
        let len = sink.span() as u64;
        let file = Extents::contiguous(offset, len)?;
        if len == 0 {
            return Ok(0);
        }
        let mut staged = Vec::new();
        if device::may_be() {
            stage_read(self.endpoint.rank(), &BufferLayout::Contiguous, len, &sink, &mut staged)?;
        }
        if staged.is_empty() {
            return self.handle.read_bytes(sink.piece(0, len), offset);
        }
        let bytes = self.handle.read_bytes(&mut staged, offset)?;
        let (mut outcome, layout) = (Outcome { bytes, ..Outcome::default() }, &BufferLayout::Contiguous);
        let (place, mut to) =
            ((self.endpoint.rank(), &*self.setup.file.path), Access { file: &file, layout, memory: sink });
        copy_to_device(place, &mut Sink::from(&mut staged[..]), &mut to, &mut outcome);
        outcome.error.map_or(Ok(outcome.bytes), Err)
    }
}

/// A non-blocking collective operation. It makes progress only inside [`Operation::test`] and [`Operation::wait`].
///
/// With operations in flight on several files, wait for them in the same order on every rank, or test all of them: a
/// wait for one operation does not advance the others.
///
/// If an operation is dropped before its end, the file can only be closed: every later call on this rank is an error.
/// Other ranks do not know this, and may wait for ever for this rank's part. Complete windows may be in the file.
#[must_use = "an operation makes progress only when it is tested or waited for"]
pub struct Operation<'a, T> {
    /// The running call; `None` after its end.
    future: Option<Pin<Box<dyn Future<Output = Result<T>> + 'a>>>,
    waiting: Waiting,
}

impl<'a, T> Operation<'a, T> {
    /// Returns the operation that runs `future` ([`Waiting::call`]).
    fn new(future: Pin<Box<dyn Future<Output = Result<T>> + 'a>>, waiting: Waiting) -> Self {
        Self { future: Some(future), waiting }
    }

    /// Makes all progress that is possible without waiting for other ranks or buffers. Returns the outcome once, at the
    /// end of the operation; otherwise `None`.
    pub fn test(&mut self) -> Option<Result<T>> {
        match self.future.as_mut()?.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => {
                self.future = None;
                Some(outcome)
            }
            Poll::Pending => None,
        }
    }

    /// Waits for the end of the operation; yields the core or sleeps while there is nothing to do.
    ///
    /// # Errors
    /// The error of the operation; an error of state if [`Operation::test`] has already returned the outcome.
    pub fn wait(mut self) -> Result<T> {
        match &mut self.future {
            Some(future) => self.waiting.wait(future.as_mut()),
            None => Err(Error::state("the operation has ended already; do not test it again")),
        }
    }
}
