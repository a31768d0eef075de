//! Multi-lane allgather: every node is cut into lanes, each lane gathers over all nodes, then each node gathers its lanes.
//!
//! Träff and Hunold, Decomposing MPI Collectives for Exploiting Multi-lane Communication (2020), as Bienz et al. 2022
//! compare with it (sections 2.2 and 5). There are as many lanes as the smallest node has ranks. On nodes with more, a lane
//! is several neighbours, who gather to the first of them (binomial). With q ranks on each of N nodes: ceil(log2 N) messages
//! and (N - 1) m bytes a rank leave the node, ceil(log2 q) messages and (q - 1) N m bytes stay:
//! (ceil(log2 N) + ceil(log2 q)) t_s + (p - 1) m t_w. Blocks lie by lane, so up to p copies; O(p) memory.

use super::bruck;
use super::staged::{Circle, Staged, part};
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::schedule::{Buffer, Schedule, Span};
use crate::topology::{Node, Rank, Topology};
use std::ops::Range;

/// See the module.
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

/// The ranks of every node, cut into equally many lanes.
pub struct Lanes<'a> {
    /// The nodes.
    pub topology: &'a Topology,
    /// At most as many as the smallest node has ranks, at least one.
    pub lanes: usize,
}

impl Lanes<'_> {
    /// The indices on `node` that belong to `lane`; its first leads.
    fn part(&self, node: Node, lane: usize) -> Range<usize> {
        let ranks = self.topology.ranks_on(node);
        lane * ranks / self.lanes..(lane + 1) * ranks / self.lanes
    }

    /// The ranks of `lane` on `node`.
    fn ranks(&self, node: Node, lane: usize) -> impl Iterator<Item = Rank> {
        self.part(node, lane).map(move |index| self.topology.rank_at(node, index))
    }
}

/// The allgather through `lanes`.
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
    let mut brought = gather(&mut staged, problem, &members[part.clone()], me - part.start);
    if me == part.start {
        let leaders: Vec<Rank> = (0..nodes).filter_map(|node| lanes.ranks(node, lane).next()).collect();
        brought = bruck::among(&mut staged, &leaders, &circles[lane], node, brought).span;
    }

    // Who leads no lane brings nothing to its node.
    let mut led = vec![None; members.len()];
    (0..lanes.lanes).for_each(|lane| led[lanes.part(node, lane).start] = Some(lane));
    let inside = Circle::new(led.iter().map(|lane| lane.map_or(0, |lane| circles[lane].total())));
    let gathered = bruck::among(&mut staged, &members, &inside, me, brought);
    // A lane's blocks lie as its leader got them: from this node on.
    let around = |lane| (node..nodes).chain(0..node).flat_map(move |node| lanes.ranks(node, lane));
    let order = led[me..].iter().chain(&led[..me]).copied().flatten().flat_map(around);
    staged.place(problem, order, gathered.span)
}

/// Binomial gather of the blocks of `ranks` to the first of them; this rank is `ranks[me]`. What the first has in the end,
/// in order; nothing for the others. Index i hands i..i + lowest bit of i down to i - lowest bit.
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
