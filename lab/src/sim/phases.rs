//! Time that each rank spends in each phase of the workload.

use super::Time;
use tributary::topology::Rank;

/// Maximum number of phases of a workload.
pub const PHASES: usize = 6;

/// Time of every rank in every phase, in picoseconds; empty if the workload has no phases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phases(Vec<Ledger>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ledger {
    since: Time,
    spent: [Time; PHASES],
}

impl Phases {
    /// Records that a rank ends a part of `phase` at `now`. The time since the end of the rank's previous part counts
    /// for `phase`.
    pub(super) fn count(&mut self, rank: Rank, phase: usize, now: Time) {
        if self.0.len() <= rank {
            self.0.resize(rank + 1, Ledger::default());
        }
        let ledger = &mut self.0[rank];
        ledger.spent[phase] += now - ledger.since;
        ledger.since = now;
    }

    /// Returns the time of each rank, from rank 0 on, in each phase.
    pub fn ranks(&self) -> impl Iterator<Item = &[Time; PHASES]> {
        self.0.iter().map(|ledger| &ledger.spent)
    }
}
