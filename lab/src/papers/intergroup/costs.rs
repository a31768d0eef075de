//! Compares the paper's equations and theorems with the times of the schedules in the one-port model.

use std::collections::BTreeSet;

use crate::collectives::Rates;
use crate::collectives::intergroup::{allgather, allgatherv, root_gathering};
use crate::timing::one_port;
use serde::Deserialize;
use tributary::Rank;
use tributary::schedule::{Action, Schedule};

use super::inside::RingInside;
use super::setting::{World, algorithm_of};
use crate::papers::{Context, PapersError, Parameters, Values};

/// Rates that count only the transfer, one unit of time a byte.
const TRANSFER: Rates = Rates { startup: 0.0, byte: 1.0, combine: 0.0 };
/// Rates that count only the startups of messages, one unit of time each.
const STARTUPS: Rates = Rates { startup: 1.0, byte: 0.0, combine: 0.0 };

fn time(schedules: Vec<Schedule>, rates: &Rates) -> Result<f64, PapersError> {
    one_port(schedules, rates).ok_or_else(|| PapersError::new("schedules that cannot end"))
}

fn one(name: impl ToString, value: f64) -> Result<Values, PapersError> {
    Ok(vec![(name.to_string(), value)])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    setting: u32,
    /// Number of ranks in both groups together.
    ranks: usize,
}

/// Computes equation 5: (M + 3 p k_A + 3 q k_B) / M.
pub(super) fn equation_5(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let Setting { setting, ranks } = with.read()?;
    one("equation 5", root_gathering::improvement(&World::setting(setting, ranks, 1, 1 << 20)?.pair()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ratio {
    setting: u32,
    ranks: usize,
    /// Number of the algorithm, 1 or 2; by default the setting's algorithm.
    algorithm: Option<u32>,
}

/// Computes the time of root gathering divided by the time of Algorithm 1 or 2, for blocks of up to 48 KiB: segments of
/// 3 and of 4 are whole. O(ranks^2) messages.
pub(super) fn ratio(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let Ratio { setting, ranks, algorithm } = with.read()?;
    let world = World::setting(setting, ranks, 1, 48 << 10)?;
    let name = match algorithm {
        None => algorithm_of(setting),
        Some(1) => "allgather",
        Some(2) => "allgatherv",
        Some(other) => return Err(PapersError::new(format!("algorithm {other}; allowed: 1 or 2"))),
    };
    let taken = |name| time(world.schedules(name)?, &TRANSFER);
    one("improvement", taken("root_gathering")? / taken(name)?)
}

/// Bound of the paper on a transfer time.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Bound {
    /// Equation 2 without startups, for root gathering as libraries have it.
    Equation2,
    /// M + k_B, for Algorithm 1.
    Theorem1,
    /// First expression of equation 4, each direction for itself, for Algorithm 2.
    Theorem3First,
    /// Second expression of equation 4, for Algorithm 2.
    Theorem3,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OverBound {
    bound: Bound,
    /// Number of ranks of the first group in each case; `q` holds the second group's, in pairs with `p`.
    p: Vec<usize>,
    q: Vec<usize>,
    /// Size in bytes of the greatest block of group A.
    k_a: u64,
    /// Size in bytes of the greatest block of group B.
    k_b: u64,
    /// True if one rank of B has all bytes of its group.
    #[serde(default)]
    one_has_all: bool,
}

/// Computes, for each pair of p and q, the time divided by the bound. O((p + q)^2) messages for root gathering, O((p +
/// q) log) for the others.
pub(super) fn over_bound(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let OverBound { bound, p, q, k_a, k_b, one_has_all } = with.read()?;
    let over = |(p, q): (usize, usize)| {
        let mut b = vec![k_b; q];
        if one_has_all {
            b = vec![0; q];
            b[0] = k_b * q as u64;
        }
        let world = World::of_sizes(vec![k_a; p], b, 1)?;
        let (pair, largest) = (world.pair(), world.largest());
        let of_b = if one_has_all { largest } else { k_b as f64 };
        let (name, most) = match bound {
            Bound::Equation2 => {
                let (a, b) = (pair.p * pair.k_a, pair.q * pair.k_b);
                ("root_gathering", pair.least(&TRANSFER) + 3.0 * (a + b))
            }
            Bound::Theorem1 => ("allgather", allgather::bound(&TRANSFER, &pair)),
            Bound::Theorem3First => {
                let directions = (pair.p * pair.k_a + k_a as f64).max(pair.q * pair.k_b + of_b);
                ("allgatherv", directions + (pair.p * pair.q).log2())
            }
            Bound::Theorem3 => ("allgatherv", allgatherv::bound(&TRANSFER, &pair, largest)),
        };
        Ok((format!("{p} and {q} ranks"), time(world.schedules(name)?, &TRANSFER)? / most))
    };
    p.into_iter().zip(q).map(over).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Equal {
    p: usize,
    q: usize,
    k_a: u64,
    k_b: u64,
}

impl Equal {
    fn world(&self) -> Result<World, PapersError> {
        World::of_sizes(vec![self.k_a; self.p], vec![self.k_b; self.q], 1)
    }
}

/// Computes equation 1 divided by M: the longer gather, the exchange both ways at once and the longer broadcast, all of
/// optimal time.
pub(super) fn best_root_gathering(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let pair = with.read::<Equal>()?.world()?.pair();
    let gather = ((pair.p - 1.0) * pair.k_a).max((pair.q - 1.0) * pair.k_b);
    let least = pair.least(&TRANSFER);
    one("equation 1", (gather + 2.0 * least) / least)
}

/// Computes the number of rounds of Algorithm 1's schedule divided by p/q + ceil(log2 p).
pub(super) fn startups(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let equal = with.read::<Equal>()?;
    let taken = time(equal.world()?.schedules("allgather")?, &STARTUPS)?;
    let paper = (equal.p / equal.q) as f64 + f64::from(equal.p.next_power_of_two().ilog2());
    one("rounds", taken / paper)
}

/// Counts, for each rank of B, the ranks of A that it exchanges messages with in Algorithm 1.
pub(super) fn subgroups(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let equal = with.read::<Equal>()?;
    let world = equal.world()?;
    let of = |b: usize| {
        let rank = equal.p + b;
        let schedule = world.schedule("allgather", rank)?;
        let senders: BTreeSet<Rank> = peers(&schedule).filter(|&peer| peer < equal.p).collect();
        Ok((format!("b{b}"), senders.len() as f64))
    };
    (0..equal.q).map(of).collect()
}

/// Counts the links of Algorithm 1 with rings inside the groups, divided by p + q + p/q. A link is a pair of ranks that
/// exchange messages.
pub(super) fn links(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let equal = with.read::<Equal>()?;
    let world = equal.world()?;
    let rings = RingInside::new(&world, "allgather")?;
    let pairs = |rank: Rank| {
        let others = peers(rings.exchange(rank)).chain([rings.along(rank, 1)]);
        others.map(|peer| (rank.min(peer), rank.max(peer))).collect::<Vec<_>>()
    };
    let links: BTreeSet<_> = (0..world.sizes.len()).flat_map(pairs).collect();
    one("links", links.len() as f64 / (equal.p + equal.q + equal.p / equal.q) as f64)
}

/// Returns the ranks that a schedule sends to or receives from, with repeats.
fn peers(schedule: &Schedule) -> impl Iterator<Item = Rank> + '_ {
    schedule.ops().iter().filter_map(|op| match op.action {
        Action::Send { to, .. } => Some(to),
        Action::Receive { from } => Some(from),
        _ => None,
    })
}
