//! Counts what schedules send between regions: example 2.1 and its extension, and the counts in front of equations 3
//! and 4.

use serde::Deserialize;
use tributary::Topology;
use tributary::schedule::Action;

use super::measured::schedule;
use crate::papers::{Context, PapersError, Parameters, Values};

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    /// Number of messages to other regions.
    Messages,
    /// Number of values in messages to other regions; a rank contributes one value.
    Values,
    /// Number of messages inside the region.
    Local,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Counted {
    what: What,
    algorithms: Vec<String>,
    ranks: usize,
    ranks_per_region: usize,
    /// Rank whose messages are counted; without it, the maximum over all ranks.
    rank: Option<usize>,
}

/// Counts, for each algorithm, the maximum over the ranks. O(ranks x length of a schedule).
pub(super) fn most(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let Counted { what, algorithms, ranks, ranks_per_region, rank } = with.read()?;
    let topology = Topology::blocks(ranks, ranks_per_region)?;
    let sizes = vec![1; ranks];
    let sent = |name: &str, rank: usize| -> Result<u64, PapersError> {
        let is_far = |to: usize| topology.node_of(to) != topology.node_of(rank);
        let schedule = schedule(name, rank, &topology, &sizes)?;
        let count = schedule.ops().iter().map(|op| match (op.action, &what) {
            (Action::Send { to, .. }, What::Messages) => u64::from(is_far(to)),
            (Action::Send { to, .. }, What::Values) if is_far(to) => op.span.len,
            (Action::Send { to, .. }, What::Local) => u64::from(!is_far(to)),
            _ => 0,
        });
        Ok(count.sum())
    };
    let of = |name: String| {
        let ranks = rank.map_or(0..ranks, |rank| rank..rank + 1);
        let counts = ranks.map(|rank| sent(&name, rank)).collect::<Result<Vec<_>, _>>()?;
        Ok((name, counts.into_iter().max().unwrap_or(0) as f64))
    };
    algorithms.into_iter().map(of).collect()
}
