//! Multi-lane allgather: every node is cut into lanes, each lane gathers over all nodes, then each node gathers its
//! lanes.
//!
//! Träff and Hunold, Decomposing MPI Collectives for Exploiting Multi-lane Communication (2020), as Bienz et al. 2022
//! compare with it (sections 2.2 and 5). There are as many lanes as the smallest node has ranks. On larger nodes, a
//! lane has several neighbouring ranks, which gather to the first of them (binomial). With q ranks on each of N nodes:
//! ceil(log2 N) messages and (N - 1) m bytes a rank leave the node, ceil(log2 q) messages and (q - 1) N m bytes stay:
//! (ceil(log2 N) + ceil(log2 q)) t_s + (p - 1) m t_w. Blocks lie by lane, so up to p copies; O(p) memory.

use super::bruck;
use super::staged::{Circle, Staged, part};
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use std::ops::Range;
use tributary::schedule::{Buffer, Schedule, Span};
use tributary::topology::{Node, Rank, Topology};

/// Multi-lane allgather (see the module).
pub static MULTI_LANE: Algorithm = Algorithm {
    operation: Operation::Allgather,
    name: "multi_lane",
    about: "each rank of a node gathers over all nodes with its like on them, then every node gathers among its ranks",
    source: "Bienz et al. 2022, sections 2.2 and 5; Träff and Hunold 2020",
    cost: "N nodes of q ranks: (ceil(log2 N) + ceil(log2 q)) t_s + (p - 1) m t_w",
    irregular: true,
    schedule,
};

fn schedule(problem: &Problem<'_>) -> Schedule {
    let topology = problem.topology;
    let lanes = (0..topology.nodes()).map(|node| topology.ranks_on(node)).min().unwrap_or(1);
    through(problem, &Lanes { topology, lanes })
}

/// The ranks of every node, divided into the same number of lanes.
pub struct Lanes<'a> {
    /// Topology: the ranks of every node.
    pub topology: &'a Topology,
    /// Number of lanes: 1 to the number of ranks of the smallest node.
    pub lanes: usize,
}

impl Lanes<'_> {
    /// Returns the indices of the ranks of `node` that belong to `lane`; the first is the lane's leader.
    fn part(&self, node: Node, lane: usize) -> Range<usize> {
        let ranks = self.topology.ranks_on(node);
        lane * ranks / self.lanes..(lane + 1) * ranks / self.lanes
    }

    /// Returns the ranks of `lane` on `node`.
    fn ranks(&self, node: Node, lane: usize) -> impl Iterator<Item = Rank> {
        self.part(node, lane).map(move |index| self.topology.rank_at(node, index))
    }
}

/// Returns one rank's schedule of the allgather through `lanes`.
pub fn through(problem: &Problem<'_>, lanes: &Lanes<'_>) -> Schedule {
    let topology = lanes.topology;
    let (node, nodes) = (topology.node_of(problem.rank), topology.nodes());
    let members: Vec<Rank> = (0..topology.ranks_on(node)).map(|index| topology.rank_at(node, index)).collect();
    let me = members.partition_point(|&member| member < problem.rank);
    let bytes = |node, lane| lanes.ranks(node, lane).map(|rank| problem.sizes[rank]).sum::<u64>();
    let circles: Vec<Circle> =
        (0..lanes.lanes).map(|lane| Circle::new((0..nodes).map(|node| bytes(node, lane)))).collect();
    let mut staged = Staged::default();

    let lane = ((me + 1) * lanes.lanes - 1) / members.len();
    let part = lanes.part(node, lane);
    let mut contribution = gather(&mut staged, problem, &members[part.clone()], me - part.start);
    if me == part.start {
        let leaders: Vec<Rank> = (0..nodes).filter_map(|node| lanes.ranks(node, lane).next()).collect();
        contribution = bruck::among(&mut staged, &leaders, &circles[lane], node, contribution).span;
    }

    // Ranks that are not the leader of a lane contribute nothing.
    let mut lane_of = vec![None; members.len()];
    (0..lanes.lanes).for_each(|lane| lane_of[lanes.part(node, lane).start] = Some(lane));
    let inside = Circle::new(lane_of.iter().map(|lane| lane.map_or(0, |lane| circles[lane].total())));
    let gathered = bruck::among(&mut staged, &members, &inside, me, contribution);
    // A lane's blocks lie in the order in which its leader received them: from this node on.
    let around = |lane| (node..nodes).chain(0..node).flat_map(move |node| lanes.ranks(node, lane));
    let order = lane_of[me..].iter().chain(&lane_of[..me]).copied().flatten().flat_map(around);
    staged.place(problem.sizes, order, gathered.span)
}

/// Adds a binomial gather of the blocks of `ranks` to the first of them; this rank is `ranks[me]`. Returns the gathered
/// blocks in order on the first rank, and an empty span on the others. With b the lowest bit of i, index i sends the
/// blocks i..i + b to i - b.
fn gather(staged: &mut Staged, problem: &Problem<'_>, ranks: &[Rank], me: usize) -> Span {
    let own = problem.own(Buffer::Send);
    if ranks.len() == 1 {
        return own;
    }
    let circle = Circle::new(ranks.iter().map(|&rank| problem.sizes[rank]));
    let reach = if me == 0 { ranks.len() } else { me & me.wrapping_neg() }.min(ranks.len() - me);
    let all = staged.scratch(circle.bytes(me, reach));
    staged.copy([(own, part(all, 0, own.len))]);
    let mut held = 1;
    while held < reach {
        let more = held.min(reach - held);
        staged.receive(ranks[me + held], part(all, circle.bytes(me, held), circle.bytes(me + held, more)));
        held += more;
    }
    if me == 0 {
        return all;
    }
    staged.send(ranks[me - (me & me.wrapping_neg())], all);
    Span::new(Buffer::Send, 0, 0)
}
