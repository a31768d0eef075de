//! Algorithms 1 and 2 with an allgather round a ring inside the groups.
//!
//! The library's end with a dissemination, whose startups are logarithmic. The paper calls `MPI_Allgather`, which in
//! MPICH goes round a ring where the gathered message has 512 KiB or more (Thakur et al. 2005, section 3.3), a step
//! after the other. The transfer time is the same with one port a rank, but of the ranks of a node one only sends to
//! another node.

use crate::sim::{Chains, Message, Side, WorkPart, Workload};
use tributary::Rank;
use tributary::schedule::{Action, Builder, Schedule, SendMode, Throttle};

use super::setting::World;
use crate::papers::PapersError;

/// Size in bytes of the gathered message from which on MPICH gathers round a ring.
pub(super) const LONG: u64 = 512 * 1024;

/// Workload: the library's exchange between the groups, then the steps of a ring in each group.
pub(super) struct RingInside<'a> {
    world: &'a World,
    exchange: Vec<Schedule>,
    /// Number of bytes that each rank has after the exchange.
    parts: Vec<u64>,
}

impl<'a> RingInside<'a> {
    /// Creates the workload with the exchange of an algorithm of the library. O(schedules).
    pub(super) fn new(world: &'a World, name: &str) -> Result<Self, PapersError> {
        let exchange = |rank| Ok(between(world, rank, &world.schedule(name, rank)?));
        let exchange = (0..world.sizes.len()).map(exchange).collect::<Result<Vec<_>, PapersError>>()?;
        let part = |schedule: &Schedule| -> u64 {
            let receives = schedule.ops().iter().filter(|op| matches!(op.action, Action::Receive { .. }));
            receives.map(|op| op.span.len).sum()
        };
        let parts = exchange.iter().map(part).collect();
        Ok(Self { world, exchange, parts })
    }

    /// Returns the schedule of a rank's messages between the groups.
    pub(super) fn exchange(&self, rank: Rank) -> &Schedule {
        &self.exchange[rank]
    }

    /// Returns the rank that is `places` after another in the ring of its group.
    pub(super) fn along(&self, rank: Rank, places: usize) -> Rank {
        let members = self.members(rank);
        members[(rank - members[0] + places) % members.len()]
    }

    fn members(&self, rank: Rank) -> &[Rank] {
        let groups = &self.world.groups;
        if rank < groups.a().len() { groups.a() } else { groups.b() }
    }

    /// Returns the number of bytes that `rank` passes on in a step: the part of the rank `step` positions before it in
    /// the ring.
    fn passed(&self, rank: Rank, step: usize) -> u64 {
        let size = self.members(rank).len();
        self.parts[self.along(rank, size - step)]
    }
}

impl Workload for RingInside<'_> {
    fn part(&self, rank: Rank, part: u32) -> Option<WorkPart> {
        let Some(step) = part.checked_sub(1) else { return Some(WorkPart::Schedule(self.exchange[rank].clone())) };
        let size = self.members(rank).len();
        let count = |bytes: u64| u32::from(bytes > 0);
        let before = self.along(rank, size - 1);
        (step as usize + 1 < size).then(|| {
            WorkPart::Chains(Chains {
                own: None,
                receives: count(self.passed(before, step as usize)),
                sends: count(self.passed(rank, step as usize)),
                throttle: Throttle::NONE,
            })
        })
    }

    fn message(&self, rank: Rank, part: u32, side: Side, _: u32) -> Message {
        let (step, before) = (part as usize - 1, self.along(rank, self.members(rank).len() - 1));
        let (peer, bytes) = match side {
            Side::Send => (self.along(rank, 1), self.passed(rank, step)),
            Side::Receive => (before, self.passed(before, step)),
        };
        Message { peer, bytes, mode: SendMode::Standard }
    }
}

/// Returns the part of a rank's schedule that is between the groups: a chain of sends and a chain of receives, as the
/// library has them.
fn between(world: &World, rank: Rank, schedule: &Schedule) -> Schedule {
    let p = world.groups.a().len();
    let is_other = |peer: Rank| (peer < p) != (rank < p);
    let chain = |is_wanted: &dyn Fn(&Action) -> bool| -> Vec<_> {
        let wanted = schedule.ops().iter().filter(|op| is_wanted(&op.action));
        wanted.map(|op| (op.action, op.span)).collect()
    };
    let mut builder = Builder::default();
    let sends = chain(&|action| matches!(*action, Action::Send { to, .. } if is_other(to)));
    builder.chain(&sends, Throttle::sliding(1), &[]);
    let receives = chain(&|action| matches!(*action, Action::Receive { from } if is_other(from)));
    builder.chain(&receives, Throttle::sliding(1), &[]);
    builder.finish()
}

#[cfg(test)]
mod tests {
    use crate::sim::{Machine, run};
    use tributary::Topology;

    use super::*;

    /// Checks the time on a machine where a byte costs one unit and nothing else costs: the exchange, and p - 1 steps
    /// of the greatest part.
    #[test]
    fn a_ring_takes_the_transfer_time_of_algorithm_1() {
        let mut machine = Machine::free();
        machine.node.inject_byte = 1000.0;
        machine.node.eject_byte = 1000.0;
        let (p, q, k) = (12, 4, 300);
        let world = World::of_sizes(vec![k; p], vec![k; q], 1).unwrap();
        let rings = RingInside::new(&world, "allgather").unwrap();
        let outcome = run(&machine, &Topology::blocks(p + q, 1).unwrap(), &rings, 0, |_| ()).unwrap();
        // B has 3 k of each subgroup, and the longer ring.
        assert_eq!(outcome.end(), (3 * k + 3 * (3 * k)) * 1000);
        assert_eq!(outcome.messages, (2 * p + p * (p - 1) + q * (q - 1)) as u64);
    }
}
