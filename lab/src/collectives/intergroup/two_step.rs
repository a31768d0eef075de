//! Intergroup allgather with segments and an allgather in two steps: inside the subgroups, then across them.
//!
//! Kang, Träff, Al-Bahrani, Agrawal, Choudhary, Liao, Full-Duplex Inter-Group All-to-All Broadcast Algorithms with
//! Optimal Bandwidth (EuroMPI 2018), as Kang et al. 2019 (see `allgather`) describe it in section 4. The exchange is as
//! in `allgather`. A subgroup of the larger group then has one block in segments. The first allgather, inside
//! subgroups, assembles the block; the second, among the ranks with the same number in all subgroups, collects the
//! blocks. If subgroups are nodes, the first stays inside nodes. The smaller group's allgather has one step.
//!
//! At most ceil(p/q) + 2 (ceil(log2 p/q) + ceil(log2 q)) rounds, and the transfer time of Algorithm 1. If q does not
//! divide p, the larger subgroups have one rank more than the others. Their first rank sends it the other blocks at the
//! end, (q - 1) k_B t_w in at most two messages. Otherwise there are at most as many messages as in Algorithm 1. Every
//! rank gets every byte of the other group once. O(p + q) memory.

use std::rc::Rc;

use super::allgather::{ALLGATHER, by_subgroups};
use super::exchange::Side;
use crate::collectives::Group;
use crate::collectives::algorithm::{Algorithm, Problem};
use crate::collectives::allgather::{Circle, disseminate};
use crate::collectives::division::Division;
use tributary::schedule::{Buffer, Builder, OpId, Schedule, Span};

/// Intergroup allgather with an allgather in two steps (see the module).
pub static TWO_STEP: Algorithm = Algorithm {
    name: "two_step",
    about: "as allgather, and the larger group's allgather inside the subgroups first, then across them",
    source: "Kang et al. 2018, Algorithm 2; Kang et al. 2019, section 4",
    cost: "at most (p/q + 2 ceil(log2 p/q) + 2 ceil(log2 q)) t_s + (max(p k_A, q k_B) + k_B) t_w, if q divides p",
    schedule,
    ..ALLGATHER
};

fn schedule(problem: &Problem<'_>) -> Schedule {
    let Some(side) = Side::of(problem) else { return Schedule::default() };
    let mut builder = Builder::default();
    let (parts, done) = side.exchange(by_subgroups, &mut builder);
    if side.group.size() < side.other.len() {
        disseminate(&side.group, &parts, 0, &mut builder, done);
    } else {
        in_two_steps(&side, &parts, &mut builder, done);
    }
    builder.finish()
}

fn in_two_steps(side: &Side<'_>, parts: &Circle, builder: &mut Builder, done: Vec<OpId>) {
    let division = Rc::new(Division::Even { members: side.group.size(), groups: side.other.len() });
    let (subgroup, number) = division.locate(side.group.me());
    let (first, size, smallest) = (division.member(subgroup, 0), division.size(subgroup), division.smallest());
    let inside = division.inside(&side.group, subgroup, number);
    let segments = Circle::new((first..first + size).map(|member| parts.bytes(member, 1)));
    let mut here = disseminate(&inside, &segments, parts.begin(first), builder, done);
    if number < smallest {
        let across = division.across(&side.group, subgroup, move |_| number);
        here = disseminate(&across, &side.others, 0, builder, here);
    }
    if size > smallest {
        send_missing_blocks(&inside, smallest, &side.others, subgroup, builder, &here);
    }
}

/// Sends all other blocks from the first rank of a subgroup to the rank `last`, which has only the subgroup's own
/// block.
fn send_missing_blocks(inside: &Group, last: usize, blocks: &Circle, own: usize, builder: &mut Builder, here: &[OpId]) {
    let span = |from: u64, end: u64| Span::new(Buffer::Receive, from, end - from);
    for span in [span(0, blocks.begin(own)), span(blocks.begin(own + 1), blocks.total())] {
        if inside.me() == 0 {
            inside.send(builder, last, span, here);
        } else if inside.me() == last {
            inside.receive(builder, 0, span, here);
        }
    }
}
