//! A collective read of ranks that share memory.

use std::time::Instant;

use super::arena::{Arena, Windows};
use super::closing::{Closed, Closing, Known, report};
use super::opening::{Opening, Total, lanes, put};
use super::window_reader::WindowReader;
use super::write::close_own;
use crate::access::{BufferLayout, Extents, Sink, Walk};
use crate::collectives::broadcast_error;
use crate::engine::api::file::File;
use crate::engine::api::read::ReadReport;
use crate::engine::api::report::{CallReport, Path, Seconds};
use crate::engine::api::staging::Target;
use crate::engine::plan::Direction;
use crate::engine::policy::paths::{NO_MEMORY, Way, number, of_number};
use crate::engine::policy::reason::Reason;
use crate::engine::policy::{WANTED_PART, WINDOW};
use crate::engine::storage::window_queue::Outcome;
use crate::engine::storage::{Failure, guarded};
use crate::error::{Error, Result};
use crate::fabric::shared::Slots;
use crate::topology::Rank;

/// The decision of the last rank to arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Verdict {
    failed: Option<Rank>,
    chosen: (Way, Reason),
    count: u64,
    bytes: u64,
    /// Whether all ranks have read their bytes.
    served: bool,
    transferred: u64,
    windows: Windows,
    /// Whether most bytes of the windows are wanted.
    is_dense: bool,
}

impl File {
    /// Reads an access whose arguments were `checked`. Collective; only where the ranks share memory.
    pub(in crate::engine) async fn read_shared(
        &mut self,
        file: &Extents,
        mut target: Target<'_>,
        checked: Result<()>,
    ) -> Result<ReadReport> {
        let begin = Instant::now();
        let arena = self.arena()?;
        let (layout, sink) = target.memory();
        let mut own = match checked {
            Ok(()) if self.setup.rules(Direction::Read).reads_itself(file) => self.read_directly(file, layout, sink),
            Ok(()) => Outcome { bytes: u64::MAX, ..Outcome::default() },
            Err(error) => Outcome { error: Some(error), ..Outcome::default() },
        };
        let served = own.bytes != u64::MAX;
        if served {
            self.deliver(&mut target, file, &mut own);
        }
        let got = if served { own.bytes } else { 0 };
        let (verdict, own_error) = self.open_read(file, served, got, own.error, &arena).await?;
        if let Some(failed) = verdict.failed {
            return Err(broadcast_error(&mut self.endpoint, failed, own_error.as_ref()).await?);
        }
        let Verdict { count, bytes, .. } = verdict;
        let known = |path, reason| Known { direction: Direction::Read, path, reason, count, bytes, rounds: 0 };
        let (way, reason) = verdict.chosen;
        if bytes == 0 || verdict.served {
            let (path, reason) = if bytes == 0 { (Path::Nothing, reason) } else { (Path::Direct, Reason::ReadItself) };
            let micros = [0, own.busy.as_micros() as u64, 0, begin.elapsed().as_micros() as u64];
            let closed = Closed { failed: None, transferred: verdict.transferred, micros, again: false, turn: 0 };
            let call = report(&mut self.endpoint, known(path, reason), closed, None).await?;
            return Ok(ReadReport { bytes: got, call });
        }
        match way {
            Way::Windows => {
                let known = Known { rounds: verdict.windows.count(), ..known(Path::Shared, reason) };
                let rest = (!served).then_some(file);
                let (taken, call) = self.take_windows(rest, &mut target, got, &arena, &verdict, known, begin).await?;
                Ok(ReadReport { bytes: taken, call })
            }
            Way::Nothing | Way::Slots | Way::Direct | Way::AlreadyDone => {
                let mut outcome = Outcome { bytes: got, ..Outcome::default() };
                if !served {
                    let (layout, sink) = target.memory();
                    outcome = self.read_directly(file, layout, sink);
                    self.deliver(&mut target, file, &mut outcome);
                }
                let bytes = outcome.bytes;
                self.spent(Seconds { io: outcome.busy.as_secs_f64(), ..Seconds::default() });
                let call = close_own(&mut self.endpoint, known(Path::Direct, reason), outcome, begin).await?;
                Ok(ReadReport { bytes, call })
            }
        }
    }

    /// The first meeting. Where not all were served, the last to arrive looks where the file ends, and decides.
    async fn open_read(
        &mut self,
        file: &Extents,
        served: bool,
        got: u64,
        mut error: Option<Error>,
        arena: &Arena,
    ) -> Result<(Verdict, Option<Error>)> {
        let tiling = arena.tiling();
        let storage = self.storage();
        let (rank, setup) = (self.endpoint.rank(), &self.setup);
        let opening = Opening { served, transferred: got, ..Opening::new(file, file, error.is_some()) };
        let mut late = None;
        let decide = |slots: Slots<'_>, verdict: &mut [u8]| {
            let mut total = Total::of(slots, Direction::Read, tiling);
            let mut all = Verdict::of(&total);
            if all.failed.is_none() && !total.served {
                let ready = storage.clone().and_then(|storage| {
                    let size = || storage.size().map_err(|cause| Failure { operation: "stat", offset: 0, cause });
                    let size = guarded("stat", 0, size).map_err(|failure| failure.of(rank, &setup.path))?;
                    total.end = total.end.min(size);
                    let (memory, unit) = setup.window_terms();
                    all.chosen = setup.rules(Direction::Read).in_memory(&total);
                    all.windows = Windows::over(total.start.min(total.end), total.end, memory, unit);
                    all.is_dense = total.bytes >= total.span() / WANTED_PART;
                    if arena.prepare(&all.windows).is_err() {
                        all.chosen = NO_MEMORY;
                    }
                    Ok(())
                });
                if let Err(error) = ready {
                    (all.failed, late) = (Some(rank), Some(error));
                }
            }
            all.put(verdict);
        };
        self.endpoint.meet_in(arena.team(), |slot| opening.put(slot), decide).await?;
        error = late.or(error);
        Ok((Verdict::get(arena.team().met().verdict()), error))
    }

    #[allow(clippy::too_many_arguments)]
    async fn take_windows(
        &mut self,
        rest: Option<&Extents>,
        target: &mut Target<'_>,
        got: u64,
        arena: &Arena,
        verdict: &Verdict,
        known: Known,
        begin: Instant,
    ) -> Result<(u64, CallReport)> {
        let (layout, sink) = target.memory();
        let mut outcome = self.empty_windows(rest.unwrap_or(&Extents::empty()), layout, sink, arena, verdict).await?;
        outcome.bytes += got;
        if let Some(file) = rest {
            self.deliver(target, file, &mut outcome);
        }
        let Outcome { bytes, error, busy, .. } = outcome;
        let total = begin.elapsed();
        let micros = [total.saturating_sub(busy), busy, Default::default(), total];
        let micros = micros.map(|time: std::time::Duration| time.as_micros() as u64);
        let closing = Closing { failed: error.is_some(), transferred: bytes, micros };
        self.endpoint.meet(|slot| closing.put(slot), |slots, verdict| Closed::of(slots).put(verdict)).await?;
        let closed = Closed::get(self.endpoint.met().map_or(&[], |met| met.verdict()));
        Ok((bytes, report(&mut self.endpoint, known, closed, error.as_ref()).await?))
    }

    /// Takes this rank's bytes out of the windows, which the ranks that share them read. Collective over these ranks; the outcome
    /// is this rank's.
    async fn empty_windows(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        sink: Sink<'_>,
        arena: &Arena,
        verdict: &Verdict,
    ) -> Result<Outcome> {
        let (begin, storage) = (Instant::now(), self.storage());
        let taking = WindowReader {
            arena,
            windows: verdict.windows,
            reads_ahead: verdict.is_dense,
            rank: self.endpoint.rank(),
            path: &self.setup.path,
            storage: &storage,
            error: None.into(),
            busy: Default::default(),
        };
        // Of a rank that has nothing left to read, no memory is looked at.
        let layout = if file.count() == 0 { &BufferLayout::Contiguous } else { layout };
        let bytes = taking.take(&mut self.endpoint, Walk::new(file, layout), sink).await?;
        let (error, busy) = (taking.error.take(), taking.busy.get());
        let (placement, io) = (begin.elapsed().saturating_sub(busy).as_secs_f64(), busy.as_secs_f64());
        self.spent(Seconds { placement, io, ..Seconds::default() });
        Ok(Outcome { bytes, error, busy, ..Outcome::default() })
    }

    /// Reads what the ranks of this host want, where other hosts want other bytes. Collective over the ranks of the host; the
    /// outcome is this rank's, which all ranks still have to agree on.
    ///
    /// # Errors
    /// Those of the fabric.
    pub(in crate::engine) async fn read_on_host(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        mut sink: Sink<'_>,
    ) -> Result<Outcome> {
        if !self.has_arena() {
            return Ok(self.read_directly(file, layout, sink));
        }
        let arena = self.arena()?;
        let itself = self.setup.rules(Direction::Read).reads_itself(file);
        let own = itself.then(|| self.read_directly(file, layout, sink.reborrow()));
        let served = own.is_some();
        let Outcome { bytes, error, busy, .. } = own.unwrap_or_default();
        let (verdict, error) = self.open_read(file, served, bytes, error, &arena).await?;
        if verdict.failed.is_some() || verdict.bytes == 0 || verdict.served {
            return Ok(Outcome { bytes, error, busy, ..Outcome::default() });
        }
        let rest = if served { &Extents::empty() } else { file };
        let outcome = match verdict.chosen.0 {
            Way::Windows => self.empty_windows(rest, layout, sink, &arena, &verdict).await?,
            _ => self.read_directly(rest, layout, sink),
        };
        Ok(Outcome { bytes: outcome.bytes + bytes, busy: outcome.busy + busy, ..outcome })
    }
}

impl Verdict {
    fn of(total: &Total) -> Self {
        Self {
            failed: total.failed,
            chosen: (Way::Nothing, Reason::NoData),
            count: total.count,
            bytes: total.asked,
            served: total.served,
            transferred: total.transferred,
            windows: Windows::over(0, 0, WINDOW, 1),
            is_dense: false,
        }
    }

    fn put(&self, verdict: &mut [u8]) {
        let Windows { base, start, end, window, ring } = self.windows;
        let flags = u64::from(number(self.chosen)) | u64::from(self.served) << 8 | u64::from(self.is_dense) << 9;
        let failed = self.failed.map_or(u64::MAX, |rank| rank as u64);
        put(verdict, &[flags, failed, self.count, self.bytes, self.transferred, base, start, end, window, ring]);
    }

    fn get(verdict: &[u8]) -> Self {
        let [flags, failed, count, bytes, transferred, base, start, end, window, ring, ..] = lanes(verdict);
        Self {
            failed: (failed != u64::MAX).then_some(failed as Rank),
            chosen: of_number(flags as u8),
            count,
            bytes,
            served: flags & 1 << 8 != 0,
            transferred,
            windows: Windows { base, start, end, window, ring },
            is_dense: flags & 1 << 9 != 0,
        }
    }
}
