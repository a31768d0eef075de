//! Broadcasts by scatter-ring-allgather on BlueGene/P, in one level and in two (section 3.1.2.1), one rank a node.

use std::sync::Arc;

use crate::sim;
use serde::Deserialize;
use tributary::Topology;

use super::broadcasts::{Broadcast, BroadcastAlgorithm, Broadcasts, RankLine};
use super::{best, named};
use crate::papers::{Axis, Context, Drawing, PapersError, Parameters, Values};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlueGeneCase {
    ranks: usize,
    bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grouped {
    ranks: usize,
    bytes: u64,
    groups: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Growing {
    ranks: Vec<usize>,
    bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    ranks: usize,
    bytes: Vec<u64>,
}

/// Measures the time without groups divided by the time with the best number of groups.
pub(super) fn speedup(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let BlueGeneCase { ranks, bytes } = with.read()?;
    Ok(vec![("speedup".to_string(), gain(context, ranks, bytes)?)])
}

/// Measures this speedup for several numbers of ranks.
pub(super) fn speedups(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let Growing { ranks, bytes } = with.read()?;
    named(&ranks, |ranks| gain(context, ranks, bytes))
}

/// Measures the time among the leaders alone, by the number of groups.
pub(super) fn between(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let Grouped { bytes, groups, .. } = with.read()?;
    named(&groups, |groups| Ok(1e6 * *seconds(context, groups, bytes, 1)?))
}

/// Measures the time inside a group alone, by the number of groups.
pub(super) fn inside(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let Grouped { ranks, bytes, groups } = with.read()?;
    named(&groups, |groups| Ok(1e6 * *seconds(context, ranks / groups, bytes, 1)?))
}

/// Draws the time over the number of groups, a curve for each message size.
pub(super) fn draw(with: &Parameters, context: &Context) -> Result<Drawing, PapersError> {
    let Shown { ranks, bytes } = with.read()?;
    let mut curves = Vec::new();
    for bytes in bytes {
        let mut curve = Vec::new();
        for groups in [vec![1], counts(ranks), vec![ranks]].concat() {
            let groups_run = if groups == ranks { 1 } else { groups };
            curve.push((groups as f64, 1e3 * *seconds(context, ranks, bytes, groups_run)?));
        }
        curves.push((format!("{} KiB", bytes / 1024), curve));
    }
    Ok(Drawing::Curves { x: Axis::log("groups"), y: Axis::linear("milliseconds"), curves })
}

/// Returns the numbers of groups to try: the divisors from 8 to p / 8. With fewer or more groups, one of the two levels
/// takes nearly as long as no groups.
fn counts(ranks: usize) -> Vec<usize> {
    (8..=ranks / 8).filter(|groups| ranks.is_multiple_of(*groups)).collect()
}

fn gain(context: &Context, ranks: usize, bytes: u64) -> Result<f64, PapersError> {
    let plain = *seconds(context, ranks, bytes, 1)?;
    Ok(plain / best(counts(ranks), |groups| Ok(*seconds(context, ranks, bytes, groups)?))?)
}

/// Returns the simulated seconds of the broadcast from rank 0 in `groups` groups of neighbours.
fn seconds(context: &Context, ranks: usize, bytes: u64, groups: usize) -> Result<Arc<f64>, PapersError> {
    context.once(&format!("thesis broadcast {ranks} {bytes} {groups}"), || {
        let machine = context.machine("bluegene-p")?;
        let each = ranks / groups;
        let of = |rank: usize| {
            let across = RankLine { first: 0, stride: each, size: groups, me: rank / each };
            let inside = RankLine { first: rank - rank % each, stride: 1, size: each, me: rank % each };
            let broadcast = |line| Broadcast { line, bytes, way: BroadcastAlgorithm::ScatterRing };
            let across = rank.is_multiple_of(each).then(|| broadcast(across));
            across.into_iter().chain([broadcast(inside)]).collect()
        };
        let all = Broadcasts((0..ranks).map(of).collect());
        Ok(sim::run(&machine, &Topology::blocks(ranks, 1)?, &all, 0, |_| {})?.seconds().total)
    })
}
