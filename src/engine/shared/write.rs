//! A collective write of ranks that share memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::arena::{Arena, TURN, Windows};
use super::closing::{Closed, Closing, Known, report};
use super::opening::{Opening, Total, lanes, put};
use super::window_writer::{self, WindowWriter};
use super::{held, ordered, placing, small};
use crate::access::{BufferLayout, Extent, Extents, Source, Walk};
use crate::collectives::broadcast_error;
use crate::engine::api::file::File;
use crate::engine::api::report::{CallReport, Path, Seconds};
use crate::engine::opening::cover::Cover;
use crate::engine::plan::Direction;
use crate::engine::plan::flatten::{in_order, overlap};
use crate::engine::policy::COVER_GAP;
use crate::engine::policy::paths::{NO_MEMORY, Way, number, of_number};
use crate::engine::policy::reason::Reason;
use crate::engine::storage::sieve::Sieve;
use crate::engine::storage::window_queue::Outcome;
use crate::engine::storage::{Failure, Storage, guarded, without_size_signal};
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::fabric::shared::Slots;
use crate::topology::Rank;

/// The decision of the last rank to arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Verdict {
    /// The rank whose error all ranks return.
    failed: Option<Rank>,
    /// The path and its reason.
    chosen: (Way, Reason),
    count: u64,
    bytes: u64,
    windows: Windows,
    /// Whether there are as many bytes as in the range.
    may_tile: bool,
    /// Whether certainly no two ranks have the same byte.
    disjoint: bool,
    /// Bytes written so far.
    written: u64,
    /// Microseconds that the last rank took to write.
    micros: u64,
}

/// An access: extents of the file, layout of the memory, the memory.
type Access<'a> = (&'a Extents, &'a BufferLayout, Source<'a>);

impl File {
    /// Writes an access whose arguments were `checked`. Collective; only where the ranks share memory.
    pub(in crate::engine) async fn write_shared(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        source: Source<'_>,
        checked: Result<()>,
    ) -> Result<CallReport> {
        let begin = Instant::now();
        let asked = file;
        let (sorted, checked) = match checked {
            Ok(()) if !file.is_ascending() => split(ascending(file, layout)),
            checked => (None, checked),
        };
        let (file, layout) = sorted.as_ref().map_or((file, layout), |(file, layout)| (file, layout));
        let storage = self.storage();
        let arena = self.arena()?;
        // Each rank writes its large pieces before the meeting, so that it need not wait. If ranks overlap, the bytes are
        // written again, in order.
        let early = (checked.is_ok() && self.writes_itself(file)).then(|| self.write_directly(file, layout, source));
        let (early, checked) = match early {
            Some(Outcome { error: Some(error), .. }) => (None, Err(error)),
            early => (early, checked),
        };
        let served = early.as_ref().map(|outcome| outcome.bytes);
        let access = (file, layout, source);
        let (verdict, own_error) = self.open_write(access, asked, &checked, served, &storage, &arena, None).await?;
        if let Some(failed) = verdict.failed {
            let own = own_error.or(checked.err());
            return Err(broadcast_error(&mut self.endpoint, failed, own.as_ref()).await?);
        }
        self.may_overlap |= !verdict.disjoint;
        let (way, reason) = verdict.chosen;
        let path = match way {
            Way::Nothing => Path::Nothing,
            Way::Slots | Way::Windows => Path::Shared,
            Way::Direct | Way::AlreadyDone => Path::Direct,
        };
        let Verdict { count, bytes, .. } = verdict;
        let known = Known { direction: Direction::Write, path, reason, count, bytes, rounds: 0 };
        match way {
            Way::Nothing | Way::Slots | Way::AlreadyDone => {
                let busy = early.map_or(verdict.micros, |outcome| outcome.busy.as_micros() as u64);
                let micros = [0, busy, 0, begin.elapsed().as_micros() as u64];
                let closed = Closed { failed: None, transferred: verdict.written, micros, again: false, turn: 0 };
                report(&mut self.endpoint, known, closed, None).await
            }
            Way::Direct => {
                let outcome = match early {
                    Some(outcome) if verdict.disjoint => outcome,
                    _ => self.write_directly(file, layout, source),
                };
                self.spent(Seconds { io: outcome.busy.as_secs_f64(), ..Seconds::default() });
                close_own(&mut self.endpoint, known, outcome, begin).await
            }
            Way::Windows => {
                let known = Known { rounds: verdict.windows.count(), ..known };
                let (none, contiguous) = (Extents::empty(), BufferLayout::Contiguous);
                let access = if early.is_some() && verdict.disjoint { (&none, &contiguous, source) } else { access };
                self.write_windows(access, &storage, &arena, verdict, known, begin).await
            }
        }
    }

    /// The first meeting: arguments, small data, and `cover`, which is what this rank holds where this is not one range. The last
    /// rank to arrive decides, and writes small data.
    #[allow(clippy::too_many_arguments)]
    async fn open_write(
        &mut self,
        (file, layout, source): Access<'_>,
        asked: &Extents,
        checked: &Result<()>,
        served: Option<u64>,
        storage: &Result<Arc<dyn Storage>>,
        arena: &Arena,
        cover: Option<&Cover>,
    ) -> Result<(Verdict, Option<Error>)> {
        let tiling = arena.tiling();
        let mut opening = Opening::new(file, asked, checked.is_err());
        (opening.served, opening.transferred) = (served.is_some(), served.unwrap_or_default());
        if checked.is_ok() && served.is_none() && small::fits(file) {
            opening.inline = file.count();
        } else {
            opening = opening.with_tiles(file, tiling);
        }
        let (rank, setup) = (self.endpoint.rank(), &self.setup);
        let mut own_error = None;
        let leave = |slot: &mut [u8]| {
            opening.put(slot);
            if opening.inline != u64::MAX {
                small::put(slot, file, layout, source);
            } else if let Some(cover) = cover {
                held::put(slot, cover);
            }
        };
        let decide = |slots: Slots<'_>, verdict: &mut [u8]| {
            let total = Total::of(slots, Direction::Write, tiling);
            let chosen = setup.rules(Direction::Write).in_memory(&total);
            let mut all = Verdict::of(&total, chosen, setup.window_terms());
            let failure = match (all.failed, all.chosen.0) {
                (Some(_), _) | (None, Way::Nothing | Way::Direct | Way::AlreadyDone) => Ok(()),
                (None, Way::Slots) => write_slots(storage, slots, &mut all, rank, &setup.path),
                (None, Way::Windows) => match arena.prepare(&all.windows) {
                    Ok(()) => {
                        // Bytes that ranks wrote directly count too.
                        arena.written().store(total.transferred, Ordering::Release);
                        Ok(())
                    }
                    Err(_) if total.disjoint => {
                        all.chosen = NO_MEMORY;
                        Ok(())
                    }
                    Err(cause) => Err(Error::io(rank, "take shared memory for", &setup.path, total.start, &cause)),
                },
            };
            if let Err(error) = failure {
                (all.failed, own_error) = (Some(rank), Some(error));
            }
            if cover.is_some() && all.chosen.0 == Way::Windows {
                all.may_tile = held::unite(slots, total.bytes, verdict);
            }
            all.put(verdict);
        };
        self.endpoint.meet_in(arena.team(), leave, decide).await?;
        Ok((Verdict::get(arena.team().met().verdict()), own_error))
    }

    /// Whether this rank writes its access directly, before it meets the others.
    fn writes_itself(&self, file: &Extents) -> bool {
        let alone = self.endpoint.shared().is_some_and(|shared| shared.spins());
        !self.may_overlap && self.setup.rules(Direction::Write).writes_itself(file, alone)
    }

    async fn write_windows(
        &mut self,
        access: Access<'_>,
        storage: &Result<Arc<dyn Storage>>,
        arena: &Arena,
        verdict: Verdict,
        known: Known,
        begin: Instant,
    ) -> Result<CallReport> {
        let sieve = self.setup.sieve(self.setup.hints.ds_write);
        let Windows { start, end, .. } = verdict.windows;
        let whole = [Extent { offset: start, len: end.saturating_sub(start) }];
        let (closed, error) = self.fill_windows(access, storage, arena, &verdict, (sieve, &whole), begin).await?;
        report(&mut self.endpoint, known, closed, error.as_ref()).await
    }

    /// Places this rank's bytes in the windows, and writes windows that are complete. `runs` is where there is data, if the verdict
    /// says that ranks may tile it. Returns the outcome on all ranks that
    /// share the windows, and the error of this rank. Collective over these ranks.
    async fn fill_windows(
        &mut self,
        (file, layout, source): Access<'_>,
        storage: &Result<Arc<dyn Storage>>,
        arena: &Arena,
        verdict: &Verdict,
        (sieve, runs): (Sieve, &[Extent]),
        begin: Instant,
    ) -> Result<(Closed, Option<Error>)> {
        let mut writer = WindowWriter {
            arena,
            windows: verdict.windows,
            runs,
            known: if verdict.may_tile {
                window_writer::DataKnown::BySum(arena.tiling())
            } else {
                window_writer::DataKnown::ByBits
            },
            storage,
            sieve,
            rank: self.endpoint.rank(),
            path: &self.setup.path,
            error: None.into(),
        };
        let mut placed = Instant::now();
        placing::place(&mut self.endpoint, &writer, Walk::new(file, layout), source).await?;
        let mut spent = placed.elapsed();
        let mut closed = close_windows(&mut self.endpoint, &writer, spent, begin).await?;
        if closed.failed.is_none() && closed.again {
            writer.known = window_writer::DataKnown::ByBits;
            placed = Instant::now();
            ordered::place(&mut self.endpoint, &writer, Walk::new(file, layout), source, closed.turn).await?;
            spent += placed.elapsed();
            closed = close_windows(&mut self.endpoint, &writer, spent, begin).await?;
        }
        let error = writer.error.take();
        self.spent(Seconds { placement: spent.as_secs_f64(), ..Seconds::default() });
        Ok((closed, error))
    }

    /// Writes what the ranks of this host hold, where no other host holds any of it. Collective over the ranks of the host; the
    /// outcome is this rank's, which all ranks still have to agree on.
    ///
    /// # Errors
    /// Those of the fabric.
    pub(in crate::engine) async fn write_on_host(&mut self, access: Access<'_>) -> Result<Outcome> {
        let begin = Instant::now();
        let (asked, layout, source) = access;
        if !self.has_arena() {
            return Ok(self.write_directly(asked, layout, source));
        }
        let (sorted, checked) = if asked.is_ascending() { (None, Ok(())) } else { split(ascending(asked, layout)) };
        let (file, layout) = sorted.as_ref().map_or((asked, layout), |(file, layout)| (file, layout));
        let (storage, arena) = (self.storage(), self.arena()?);
        let access = (file, layout, source);
        let cover = Cover::of(0, file, 1);
        let (verdict, own_error) =
            self.open_write(access, asked, &checked, None, &storage, &arena, Some(&cover)).await?;
        if verdict.failed.is_some() {
            return Ok(Outcome { error: own_error.or(checked.err()), ..Outcome::default() });
        }
        let (bytes, micros, error) = match verdict.chosen.0 {
            Way::Nothing | Way::AlreadyDone => return Ok(Outcome::default()),
            Way::Direct => return Ok(self.write_directly(file, layout, source)),
            Way::Slots => (verdict.written, verdict.micros, None),
            Way::Windows => {
                let sieve = self.setup.sieve(self.setup.hints.ds_write).within(COVER_GAP);
                let runs = held::get(arena.team().met().verdict());
                let (closed, error) =
                    self.fill_windows(access, &storage, &arena, &verdict, (sieve, &runs), begin).await?;
                (closed.transferred, closed.micros[1], error)
            }
        };
        // What is counted for all ranks of the host, its first rank reports.
        let (bytes, micros) = if arena.team().place() == 0 { (bytes, micros) } else { (0, 0) };
        Ok(Outcome { bytes, error, busy: Duration::from_micros(micros), ..Outcome::default() })
    }
}

/// Ends a call in which every rank wrote or read its own bytes directly. Collective.
pub async fn close_own(endpoint: &mut Endpoint, known: Known, outcome: Outcome, begin: Instant) -> Result<CallReport> {
    let micros = [0, outcome.busy.as_micros() as u64, 0, begin.elapsed().as_micros() as u64];
    let closing = Closing { failed: outcome.error.is_some(), transferred: outcome.bytes, micros };
    endpoint.meet(|slot| closing.put(slot), |slots, verdict| Closed::of(slots).put(verdict)).await?;
    let closed = Closed::get(endpoint.met().map_or(&[], |met| met.verdict()));
    report(endpoint, known, closed, outcome.error.as_ref()).await
}

/// Ends the placing: the last rank to arrive writes the remaining windows. If the call must be repeated, it resets the state.
/// Collective.
async fn close_windows(
    endpoint: &mut Endpoint,
    writer: &WindowWriter<'_>,
    placed: std::time::Duration,
    begin: Instant,
) -> Result<Closed> {
    let arena = writer.arena;
    let micros = [placed.as_micros() as u64, 0, 0, begin.elapsed().as_micros() as u64];
    let closing = Closing { failed: false, transferred: 0, micros };
    let decide = |slots: Slots<'_>, verdict: &mut [u8]| {
        writer.try_write();
        let mut all = Closed::of(slots);
        let failed = arena.failed().load(Ordering::Acquire);
        all.failed = (failed != 0).then(|| failed as usize - 1);
        all.transferred = arena.written().load(Ordering::Acquire);
        all.micros[1] = arena.busy().load(Ordering::Acquire);
        all.again = arena.again().load(Ordering::SeqCst) != 0;
        all.turn = arena.signal(TURN).get();
        if all.again {
            // The memory is reserved already, so this cannot fail.
            let _ = arena.prepare(&writer.windows);
        }
        all.put(verdict);
    };
    endpoint.meet_in(arena.team(), |slot| closing.put(slot), decide).await?;
    Ok(Closed::get(arena.team().met().verdict()))
}

/// Writes the data of all ranks from their slots.
fn write_slots(
    storage: &Result<Arc<dyn Storage>>,
    slots: Slots<'_>,
    all: &mut Verdict,
    rank: Rank,
    path: &std::path::Path,
) -> Result<()> {
    let begin = Instant::now();
    let storage = storage.as_ref().map_err(Clone::clone)?;
    let _quiet = without_size_signal();
    let wrote = guarded("write", all.windows.start, || small::write(&**storage, slots, &mut all.written));
    wrote.map_err(|failure: Failure| failure.of(rank, path))?;
    all.micros = begin.elapsed().as_micros() as u64;
    Ok(())
}

/// The access in ascending order, without bytes that an earlier extent has. 64 bytes a piece.
pub fn ascending(file: &Extents, layout: &BufferLayout) -> Result<(Extents, BufferLayout)> {
    let (mut to, mut from, mut covered) = (Vec::new(), Vec::new(), 0);
    for piece in in_order(file, layout) {
        let piece = piece.behind(overlap(&piece, covered));
        if piece.len > 0 {
            covered = covered.max(piece.offset + piece.len);
            to.push(Extent { offset: piece.offset, len: piece.len });
            from.push(Extent { offset: piece.memory, len: piece.len });
        }
    }
    Ok((Extents::from_extents(to)?, BufferLayout::Extents(Extents::from_extents(from)?)))
}

fn split<T>(outcome: Result<T>) -> (Option<T>, Result<()>) {
    match outcome {
        Ok(value) => (Some(value), Ok(())),
        Err(error) => (None, Err(error)),
    }
}

impl Verdict {
    /// `memory` and `unit` as [`Windows::over`] has them.
    fn of(total: &Total, chosen: (Way, Reason), (memory, unit): (u64, u64)) -> Self {
        Self {
            failed: total.failed,
            chosen,
            count: total.count,
            bytes: total.asked,
            windows: Windows::over(total.start.min(total.end), total.end, memory, unit),
            may_tile: total.bytes == total.span(),
            disjoint: total.disjoint,
            written: total.transferred,
            micros: 0,
        }
    }

    fn put(&self, verdict: &mut [u8]) {
        let Windows { base, start, end, window, ring } = self.windows;
        let flags = u64::from(number(self.chosen)) | u64::from(self.may_tile) << 8 | u64::from(self.disjoint) << 9;
        let failed = self.failed.map_or(u64::MAX, |rank| rank as u64);
        let lanes = [flags, failed, self.count, self.bytes, base, start, end, window, ring, self.written, self.micros];
        put(verdict, &lanes);
    }

    fn get(verdict: &[u8]) -> Self {
        let [flags, failed, count, bytes, base, start, end, window, ring, written, micros, ..] = lanes(verdict);
        Self {
            failed: (failed != u64::MAX).then_some(failed as Rank),
            chosen: of_number(flags as u8),
            count,
            bytes,
            windows: Windows { base, start, end, window, ring },
            may_tile: flags & 1 << 8 != 0,
            disjoint: flags & 1 << 9 != 0,
            written,
            micros,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_survives_encoding() {
        let windows = Windows::over(5, 9 << 20, 4 << 20, 1);
        let (count, bytes, written, micros) = (1, 2, 4, 5);
        let (failed, chosen) = (Some(3), (Way::Windows, Reason::SmallPieces));
        let (may_tile, disjoint) = (true, false);
        let all = Verdict { failed, chosen, count, bytes, windows, may_tile, disjoint, written, micros };
        let mut slot = vec![0u8; 4096];
        for one in [all, Verdict { failed: None, may_tile: false, disjoint: true, ..all }] {
            one.put(&mut slot);
            assert_eq!(Verdict::get(&slot), one);
        }
    }

    #[test]
    fn an_access_that_does_not_ascend_is_sorted() {
        let file = Extents::from_list([(20, 5), (0, 4), (2, 4)].map(|(offset, len)| Extent { offset, len })).unwrap();
        let (to, from) = ascending(&file, &BufferLayout::Contiguous).unwrap();
        assert_eq!(to.iter().map(|e| (e.offset, e.len)).collect::<Vec<_>>(), [(0, 6), (20, 5)]);
        let BufferLayout::Extents(from) = from else { panic!("a list") };
        assert_eq!(from.iter().map(|e| (e.offset, e.len)).collect::<Vec<_>>(), [(5, 4), (11, 2), (0, 5)]);
    }
}
