//! The first agreement of ranks that share memory. Each rank puts its facts into its slot; the last rank to arrive
//! merges them and, if it can, does the work of the call at once.

use std::sync::atomic::Ordering;

use super::{held, slots};
use crate::access::{Extents, WriteAccess};
use crate::engine::agreement::footprint::Footprint;
use crate::engine::direction::Direction;
use crate::engine::facts::Facts;
use crate::engine::facts::agreed::Agreed;
use crate::engine::facts::calls::{CallFault, CallKind, CallKinds};
use crate::engine::facts::ranges::RankRanges;
use crate::engine::facts::reuse::AccessShift;
use crate::engine::facts::tiling::Tiling;
use crate::engine::facts::words::{Words, get, put};
use crate::engine::file::File;
use crate::engine::policy::paths::Way;
use crate::engine::storage::size;
use crate::engine::storage::window_queue::Outcome;
use crate::error::{Error, Result};
use crate::fabric::shared::Slots;

/// Offset of the small data or of the footprint in a slot, in bytes: behind the facts.
pub const BEHIND_FACTS: usize = 8 * Facts::COUNT;
/// Offset of the host's footprint in the decision, in bytes: behind the [`Agreed`] words.
pub const BEHIND_AGREED: usize = 8 * Agreed::COUNT;

/// Merges the facts in the slots of all ranks. For a read whose ranks have something left to do, calls `end`, which
/// finds the end of the file. O(ranks log ranks).
pub(super) fn agreed(slots: Slots<'_>, tiling: Tiling, direction: Direction, end: impl FnOnce(&mut Facts)) -> Agreed {
    let mut all = Facts::NONE;
    let ranges = RankRanges::from_ranges((0..slots.ranks()).filter_map(|place| {
        let facts: Facts = get(slots.slot(place));
        all.merge(&facts);
        facts.range()
    }));
    if all.failed.is_none() && !all.calls.are_mixed() && all.left.bytes > 0 {
        end(&mut all);
    }
    Agreed::from_facts(&all, &ranges, tiling, false, direction)
}

impl File {
    /// Makes the first agreement of a write in shared memory. `asked` is the extents that the program passed; the
    /// access has the same bytes in ascending order. `footprint` is the ranges that this rank accesses, if they are not
    /// one range. `early` is the outcome if this rank has written its bytes already. The last rank to arrive writes
    /// small data of all ranks. Also returns this rank's own error. Collective over the ranks that share the memory.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub(in crate::engine) async fn agree_on_host_to_write(
        &mut self,
        WriteAccess { file, layout, source }: WriteAccess<'_>,
        asked: &Extents,
        checked: Result<()>,
        early: Option<&Outcome>,
        footprint: Option<&Footprint>,
    ) -> Result<(Agreed, Option<Error>)> {
        let (storage, arena) = (self.handle.storage(&self.setup), self.arena()?);
        let (rank, setup, tiling) = (self.endpoint.rank(), &self.setup, arena.tiling());
        let fits = checked.is_ok() && early.is_none() && slots::fits(file);
        let mut facts = Facts::from_access((asked, file), (AccessShift::No, 0), early, (!fits).then_some(tiling));
        facts.calls = CallKinds::new(CallKind::Write, rank);
        facts.comes_along |= fits;
        facts.is_sole = self.is_sole_writer();
        let mut error = checked.err();
        if error.is_some() {
            facts.fail(rank);
        }
        let leave = |slot: &mut [u8]| {
            put(&facts, slot);
            match footprint {
                _ if fits => slots::put(slot, file, layout, source),
                Some(footprint) => held::put(&mut slot[BEHIND_FACTS..], footprint),
                None => {}
            }
        };
        let decide = |slots: Slots<'_>, decision: &mut [u8]| {
            let mut agreed = agreed(slots, tiling, Direction::Write, |_| {});
            let rules = setup.rules(Direction::Write).in_memory();
            setup.decide(&mut agreed, rules);
            let done = match agreed.decision.way {
                _ if agreed.failed.is_some() => Ok(()),
                Way::Slots => {
                    agreed.write_along(&storage, (rank, &setup.path), |storage, all| slots::write(storage, slots, all))
                }
                Way::Windows => {
                    if footprint.is_some() {
                        held::unite(slots, &mut decision[BEHIND_AGREED..]);
                    }
                    match arena.prepare(&agreed.decision.windows) {
                        Ok(()) => {
                            // Bytes that ranks wrote before the agreement count too.
                            arena.written().store(agreed.transferred, Ordering::Release);
                            Ok(())
                        }
                        Err(_) if agreed.disjoint == Some(true) => {
                            agreed.no_memory = true;
                            setup.decide(&mut agreed, rules);
                            Ok(())
                        }
                        Err(cause) => {
                            agreed.failed = Some(CallFault::OfRank(rank));
                            Err(Error::io(rank, "take shared memory for", &setup.path, agreed.left.start, &cause))
                        }
                    }
                }
                _ => Ok(()),
            };
            error = done.err().or(error.take());
            put(&agreed, decision);
        };
        self.endpoint.combine_in(arena.team(), leave, decide).await?;
        Ok((get(arena.team().combined().decision()), error))
    }

    /// Makes the first agreement of a read in shared memory, like [`File::agree_on_host_to_write`]. If ranks have
    /// something left to read, the last rank to arrive finds the end of the file.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub(in crate::engine) async fn agree_on_host_to_read(
        &mut self,
        file: &Extents,
        checked: Result<()>,
        early: Option<&Outcome>,
    ) -> Result<(Agreed, Option<Error>)> {
        let (storage, arena) = (self.handle.storage(&self.setup), self.arena()?);
        let (rank, setup, tiling) = (self.endpoint.rank(), &self.setup, arena.tiling());
        let mut facts = Facts::from_access((file, file), (AccessShift::No, 0), early, None);
        facts.calls = CallKinds::new(CallKind::Read, rank);
        let mut error = checked.err();
        if error.is_some() {
            facts.fail(rank);
        }
        let decide = |slots: Slots<'_>, decision: &mut [u8]| {
            let mut agreed = agreed(slots, tiling, Direction::Read, |all| match size(&storage, rank, &setup.path) {
                Ok(end) => all.limit = end,
                Err(cause) => {
                    all.fail(rank);
                    error = Some(cause);
                }
            });
            let rules = setup.rules(Direction::Read).in_memory();
            setup.decide(&mut agreed, rules);
            let is_through_windows = agreed.failed.is_none() && agreed.decision.way == Way::Windows;
            if is_through_windows && arena.prepare(&agreed.decision.windows).is_err() {
                agreed.no_memory = true;
                setup.decide(&mut agreed, rules);
            }
            put(&agreed, decision);
        };
        self.endpoint.combine_in(arena.team(), |slot| put(&facts, slot), decide).await?;
        Ok((get(arena.team().combined().decision()), error))
    }
}
