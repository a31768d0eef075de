//! A collective write through windows in shared memory, after the first agreement.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::access::{BufferLayout, Extent, Extents, Walk, WriteAccess};
use crate::collectives::broadcast_error;
use crate::engine::agreement::footprint::Footprint;
use crate::engine::agreement::held;
use crate::engine::direction::Direction;
use crate::engine::facts::agreed::Agreed;
use crate::engine::facts::words::{get, put, words};
use crate::engine::file::File;
use crate::engine::lists::flatten::{in_order, overlap};
use crate::engine::policy::FOOTPRINT_GAP;
use crate::engine::policy::call_windows::CallWindows;
use crate::engine::policy::paths::Way;
use crate::engine::record::report::{CallReport, Clock, Lap, Seconds};
use crate::engine::shared::arena::TURN;
use crate::engine::shared::window_writer::{DataKnown, WindowWriter};
use crate::engine::shared::{ordered, placing};
use crate::engine::storage::sieve::Sieve;
use crate::engine::storage::window_queue::Outcome;
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::fabric::shared::Slots;
use crate::topology::Rank;

words! {
    /// The outcome of a write through windows, the same on all ranks that share them.
    #[derive(Debug, Clone, Copy)]
    struct WindowsOutcome {
        /// Rank whose error all ranks return; `None` without an error.
        failed: Option<Rank>,
        /// Number of bytes written by all ranks.
        transferred: u64,
        /// Time of writing the file, of all ranks, in microseconds.
        busy: u64,
        /// Maximum times over ranks in microseconds: copying, agreements, the whole call.
        most: [u64; 3],
        /// True if the call must be repeated with one rank after the other.
        again: bool,
        /// Value of the signal that counts turns of ranks.
        turn: u32,
    }
}

impl File {
    /// Writes the rest of an access through windows. Collective.
    ///
    /// # Errors
    /// The error of the lowest rank, on every rank; errors of the message transport.
    pub(in crate::engine) async fn write_windows(
        &mut self,
        access: WriteAccess<'_>,
        agreed: &Agreed,
        clock: &Clock,
    ) -> Result<CallReport> {
        let (windows, left) = (agreed.decision.windows, &agreed.left);
        let sieve = self.setup.write_sieve(agreed.is_sole);
        let whole = [Extent { offset: left.start, len: left.span() }];
        let runs = (left.bytes == left.span()).then_some(&whole[..]);
        let (closing, error) = self.fill_windows(access, windows, sieve, runs, clock).await?;
        if let Some(failed) = closing.failed {
            return Err(broadcast_error(&mut self.endpoint, failed, error.as_ref()).await?);
        }
        let [placement, agreement, total] = closing.most.map(|micros| micros as f64 / 1e6);
        let io = closing.busy as f64 / 1e6;
        Ok(CallReport {
            aggregators: 1,
            rounds: windows.count(),
            seconds: Seconds { placement, io, agreement, total, ..Seconds::default() },
            ..CallReport::from_amounts(Direction::Write, agreed.decision, &agreed.all, closing.transferred)
        })
    }

    /// Copies this rank's bytes into the windows, and writes complete windows. `runs` is the extents of the file with
    /// data, if ranks may tile them. Returns the outcome on all ranks that share the windows, and this rank's error.
    /// Collective over these ranks.
    async fn fill_windows(
        &mut self,
        WriteAccess { file, layout, source }: WriteAccess<'_>,
        windows: CallWindows,
        sieve: Sieve,
        runs: Option<&[Extent]>,
        clock: &Clock,
    ) -> Result<(WindowsOutcome, Option<Error>)> {
        let (storage, arena) = (self.storage(), self.arena()?);
        let mut writer = WindowWriter {
            arena: &arena,
            windows,
            known: runs.map_or(DataKnown::ByBits, |runs| DataKnown::BySum(arena.tiling(), runs)),
            storage: &storage,
            sieve,
            rank: self.endpoint.rank(),
            path: &self.setup.path,
            error: None.into(),
        };
        // Do not touch the memory of a rank that has nothing left to write.
        let layout = if file.count() == 0 { &BufferLayout::Contiguous } else { layout };
        let mut placed = Instant::now();
        placing::place(&mut self.endpoint, &writer, Walk::new(file, layout), source).await?;
        let mut spent = placed.elapsed();
        let mut closing = close_windows(&mut self.endpoint, &writer, spent, clock).await?;
        if closing.failed.is_none() && closing.again {
            writer.known = DataKnown::ByBits;
            placed = Instant::now();
            ordered::place(&mut self.endpoint, &writer, Walk::new(file, layout), source, closing.turn).await?;
            spent += placed.elapsed();
            closing = close_windows(&mut self.endpoint, &writer, spent, clock).await?;
        }
        let error = writer.error.take();
        self.spent(Seconds { placement: spent.as_secs_f64(), ..Seconds::default() });
        Ok((closing, error))
    }

    /// Writes the bytes of this host's ranks, if no other host has bytes in the same ranges. `is_sole` is true if
    /// nobody else can be writing the file. Returns this rank's outcome, on which all ranks still have to agree.
    /// Collective over the ranks of the host.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub(in crate::engine) async fn write_on_host(
        &mut self,
        access: WriteAccess<'_>,
        is_sole: bool,
        clock: &Clock,
    ) -> Result<Outcome> {
        let WriteAccess { file: asked, layout, source } = access;
        if !self.has_arena() {
            return Ok(self.write_directly(access));
        }
        let (sorted, checked) = sorted(asked, layout);
        let (file, layout) = sorted.as_ref().map_or((asked, layout), |(file, layout)| (file, layout));
        let access = WriteAccess { file, layout, source };
        let footprint = Footprint::from_extents(0, file, 1);
        let (agreed, error) = self.agree_on_host_to_write(access, asked, checked, None, Some(&footprint)).await?;
        if agreed.failed.is_some() {
            return Ok(Outcome { error, ..Outcome::default() });
        }
        let (bytes, micros, error) = match agreed.decision.way {
            Way::Direct => return Ok(self.write_directly(access)),
            Way::Windows => {
                let sieve = self.setup.write_sieve(is_sole).within(FOOTPRINT_GAP);
                let runs = held::filled(self.arena()?.team().combined().decision(), agreed.left.bytes);
                let (closing, error) =
                    self.fill_windows(access, agreed.decision.windows, sieve, runs.as_deref(), clock).await?;
                (closing.transferred, closing.busy, error)
            }
            _ => (agreed.transferred, agreed.micros, None),
        };
        // The first rank of the host reports the counts of all its ranks.
        let (bytes, micros) = if self.arena()?.team().place() == 0 { (bytes, micros) } else { (0, 0) };
        Ok(Outcome { bytes, error, busy: Duration::from_micros(micros), ..Outcome::default() })
    }
}

/// Ends the copying into windows: the last rank to arrive writes the remaining windows. If the call must be repeated,
/// it resets the state. Collective.
async fn close_windows(
    endpoint: &mut Endpoint,
    writer: &WindowWriter<'_>,
    placed: Duration,
    clock: &Clock,
) -> Result<WindowsOutcome> {
    let arena = writer.arena;
    let own = [placed, clock.spent(Lap::Agreement), clock.total()].map(|time| time.as_micros() as u64);
    let decide = |slots: Slots<'_>, decision: &mut [u8]| {
        writer.try_write();
        let failed = arena.failed().load(Ordering::Acquire);
        let times = (0..slots.ranks()).map(|place| get::<[u64; 3]>(slots.slot(place)));
        let closing = WindowsOutcome {
            failed: (failed != 0).then(|| failed as usize - 1),
            transferred: arena.written().load(Ordering::Acquire),
            busy: arena.busy().load(Ordering::Acquire),
            most: times.fold([0; 3], |most, own| std::array::from_fn(|of| most[of].max(own[of]))),
            again: arena.again().load(Ordering::SeqCst) != 0,
            turn: arena.signal(TURN).get(),
        };
        if closing.again {
            // The memory is reserved already, so this cannot fail.
            let _ = arena.prepare(&writer.windows);
        }
        put(&closing, decision);
    };
    endpoint.combine_in(arena.team(), |slot| put(&own, slot), decide).await?;
    Ok(get(arena.team().combined().decision()))
}

/// Returns the access in ascending order, if it does not ascend already; an error if it cannot be sorted.
pub fn sorted(file: &Extents, layout: &BufferLayout) -> (Option<(Extents, BufferLayout)>, Result<()>) {
    match file.is_ascending() {
        true => (None, Ok(())),
        false => ascending(file, layout).map_or_else(|error| (None, Err(error)), |sorted| (Some(sorted), Ok(()))),
    }
}

/// Returns the access in ascending order, without bytes that an earlier extent has. 64 bytes of memory a piece.
fn ascending(file: &Extents, layout: &BufferLayout) -> Result<(Extents, BufferLayout)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_that_does_not_ascend_is_sorted() {
        let file = Extents::from_list([(20, 5), (0, 4), (2, 4)].map(|(offset, len)| Extent { offset, len })).unwrap();
        let (to, from) = ascending(&file, &BufferLayout::Contiguous).unwrap();
        assert_eq!(to.iter().map(|e| (e.offset, e.len)).collect::<Vec<_>>(), [(0, 6), (20, 5)]);
        let BufferLayout::Extents(from) = from else { panic!("a list") };
        assert_eq!(from.iter().map(|e| (e.offset, e.len)).collect::<Vec<_>>(), [(5, 4), (11, 2), (0, 5)]);
    }
}
