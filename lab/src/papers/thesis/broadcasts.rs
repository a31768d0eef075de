//! Broadcasts among ranks at equal distances, step by step, as a workload of the simulator.
//!
//! The scatter-ring-allgather is made as MPICH does it: the binomial scatter, then p - 1 steps, in each of which a rank
//! sends a block to the next rank, receives one from the rank before, and waits for both. A step is made when it is
//! due, so that the p^2 messages of thousands of ranks take no memory.

use std::cell::Cell;

use crate::collectives::gatherv::gathering::backwards;
use crate::collectives::gatherv::{BINOMIAL as TREE, Gathering};
use crate::collectives::in_place::{self, WordOps};
use crate::collectives::{Group, broadcast};
use crate::sim::{Chains, Message, Side, WorkPart, Workload};
use tributary::Rank;
use tributary::schedule::{Buffer, Builder, ReduceOp, Schedule, SendMode, Span, Throttle};

/// Ranks at equal distances that take part in a broadcast; member 0 is the root.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankLine {
    /// Rank of member 0.
    pub(super) first: Rank,
    /// Difference between the ranks of a member and the next.
    pub(super) stride: usize,
    /// Number of members.
    pub(super) size: usize,
    /// Member number of the rank that holds this value.
    pub(super) me: usize,
}

impl RankLine {
    fn rank(&self, member: usize) -> Rank {
        self.first + member % self.size * self.stride
    }

    fn group(self) -> Group {
        Group::world(self.me, self.size).part(self.size, self.me, move |member| self.rank(member))
    }
}

impl From<&Group> for RankLine {
    /// Returns the members of a group that are at equal distances.
    fn from(group: &Group) -> Self {
        let first = group.rank_of(0);
        let stride = if group.size() > 1 { group.rank_of(1) - first } else { 0 };
        Self { first, stride, size: group.size(), me: group.me() }
    }
}

/// Algorithm of a broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BroadcastAlgorithm {
    /// Broadcast by a binomial tree.
    Binomial,
    /// Broadcast by a binomial scatter and a ring allgather.
    ScatterRing,
}

/// One rank's view of one broadcast.
#[derive(Debug, Clone, Copy)]
pub(super) struct Broadcast {
    pub(super) line: RankLine,
    pub(super) bytes: u64,
    pub(super) way: BroadcastAlgorithm,
}

impl Broadcast {
    /// Returns the number of workload parts (steps) of the broadcast.
    fn parts(&self) -> usize {
        match self.way {
            _ if self.line.size < 2 => 0,
            BroadcastAlgorithm::Binomial => 1,
            BroadcastAlgorithm::ScatterRing => self.line.size,
        }
    }

    fn part(&self, index: usize) -> WorkPart {
        match self.way {
            BroadcastAlgorithm::Binomial => WorkPart::Schedule(self.binomial()),
            BroadcastAlgorithm::ScatterRing if index == 0 => WorkPart::Schedule(self.scatter()),
            BroadcastAlgorithm::ScatterRing => {
                WorkPart::Chains(Chains { own: None, receives: 1, sends: 1, throttle: Throttle::NONE })
            }
        }
    }

    /// Returns the message that the rank sends or receives in step `index` of the ring, from 1 on.
    fn message(&self, index: usize, side: Side) -> Message {
        let RankLine { size, me, .. } = self.line;
        let (peer, block) = match side {
            Side::Send => (me + 1, me + size + 1 - index),
            Side::Receive => (me + size - 1, me + size - index),
        };
        Message { peer: self.line.rank(peer), bytes: self.block(block % size), mode: SendMode::Standard }
    }

    fn block(&self, index: usize) -> u64 {
        let size = self.line.size as u64;
        (index as u64 + 1) * self.bytes / size - index as u64 * self.bytes / size
    }

    fn binomial(&self) -> Schedule {
        let mut builder = Builder::default();
        let message = Span::new(Buffer::Receive, 0, self.bytes);
        let words = WordOps::All(ReduceOp::Max);
        let part = in_place::Part { group: self.line.group(), root: 0, message, words, segment: u64::MAX };
        (broadcast::BINOMIAL.append)(&part, &mut builder, &[]);
        builder.finish()
    }

    fn scatter(&self) -> Schedule {
        let sizes: Vec<u64> = (0..self.line.size).map(|index| self.block(index)).collect();
        let me = self.line.me;
        let gathering = Gathering {
            group: self.line.group(),
            root: 0,
            sizes: &sizes,
            own: Span::new(Buffer::Receive, 0, sizes[me]),
            into: Span::new(Buffer::Receive, 0, if me == 0 { self.bytes } else { 0 }),
            segment: u64::MAX,
            free: &Cell::new(0),
        };
        let mut builder = Builder::default();
        (TREE.append_backwards)(&gathering, &mut builder, &[]);
        backwards(builder.finish())
    }
}

/// Workload: the broadcasts that every rank takes part in, one after the other, without a barrier between.
#[derive(Debug)]
pub(super) struct Broadcasts(pub(super) Vec<Vec<Broadcast>>);

impl Broadcasts {
    /// Returns the broadcast to which part number `part` of a rank belongs, and the number of the part in the
    /// broadcast.
    fn find(&self, rank: Rank, part: u32) -> Option<(&Broadcast, usize)> {
        let mut index = part as usize;
        for broadcast in &self.0[rank] {
            if index < broadcast.parts() {
                return Some((broadcast, index));
            }
            index -= broadcast.parts();
        }
        None
    }
}

impl Workload for Broadcasts {
    fn part(&self, rank: Rank, part: u32) -> Option<WorkPart> {
        self.find(rank, part).map(|(broadcast, index)| broadcast.part(index))
    }

    fn message(&self, rank: Rank, part: u32, side: Side, _: u32) -> Message {
        match self.find(rank, part) {
            Some((broadcast, index)) => broadcast.message(index, side),
            None => Message { peer: rank, bytes: 0, mode: SendMode::Standard },
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::collectives::Rates;
    use crate::sim::machine::CostLine as Cost;
    use crate::sim::{self, Machine};
    use tributary::Topology;

    use super::*;

    /// Checks that the ring takes the time of equation 2.8 on a machine where a message costs t_s + m t_w and nothing
    /// else costs.
    #[test]
    fn takes_the_time_of_its_equation() {
        let cost = Cost { latency: 1000.0, byte: 2.0 };
        let path = sim::machine::Path { short: cost, eager: cost, rendezvous: cost, short_limit: 0 };
        let machine = Machine { paths: [path; 3], ..Machine::free() };
        for (size, bytes) in [(2, 64), (8, 4096), (32, 32_768)] {
            let line = |me| RankLine { first: 0, stride: 1, size, me };
            let broadcast = |me| Broadcast { line: line(me), bytes, way: BroadcastAlgorithm::ScatterRing };
            let all = Broadcasts((0..size).map(|me| vec![broadcast(me)]).collect());
            let end = sim::run(&machine, &Topology::blocks(size, 1).unwrap(), &all, 0, |_| {}).unwrap().end() as f64;
            let rates = Rates { startup: 1000.0, byte: 2.0, combine: 0.0 };
            let theory = (broadcast::SCATTER_RING_ALLGATHER.time)(&rates, size as f64, bytes as f64, 1.0);
            assert!((end - theory).abs() < 1e-9 * theory, "{size} ranks: {end} is not {theory}");
        }
    }
}
