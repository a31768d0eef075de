//! The time of ranks by phase of the workload.

use super::Time;
use tributary::topology::Rank;

/// The most phases of a workload.
pub const PHASES: usize = 6;

/// The time of every rank in every phase; empty if the workload has no phases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phases(Vec<Ledger>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ledger {
    since: Time,
    spent: [Time; PHASES],
}

impl Phases {
    /// Records that a rank ends a part of `phase` at `now`. The time since the end of its previous part counts for that phase.
    pub(super) fn count(&mut self, rank: Rank, phase: usize, now: Time) {
        if self.0.len() <= rank {
            self.0.resize(rank + 1, Ledger::default());
        }
        let ledger = &mut self.0[rank];
        ledger.spent[phase] += now - ledger.since;
        ledger.since = now;
    }

    /// The time of each rank, from rank 0 on, in each phase.
    pub fn ranks(&self) -> impl Iterator<Item = &[Time; PHASES]> {
        self.0.iter().map(|ledger| &ledger.spent)
    }
}
