//! Runs schedules one after the other, as a workload of the simulator.

use crate::sim::{WorkPart, Workload};
use tributary::Rank;
use tributary::schedule::Schedule;

/// Schedules that every rank runs one after the other, without a barrier between.
#[derive(Debug, Default)]
pub(super) struct Sequence(Vec<Vec<Schedule>>);

impl Sequence {
    /// Creates a sequence with one schedule a rank.
    pub(super) fn of(schedules: Vec<Schedule>) -> Self {
        Self(vec![schedules])
    }

    /// Adds a schedule for each rank, to run after the earlier ones.
    pub(super) fn then(&mut self, schedules: Vec<Schedule>) {
        self.0.push(schedules);
    }
}

impl Workload for Sequence {
    fn part(&self, rank: Rank, part: u32) -> Option<WorkPart> {
        self.0.get(part as usize).map(|schedules| WorkPart::Schedule(schedules[rank].clone()))
    }
}
