//! Section 5 on Cori: one rank on each of 64 or 256 nodes, or 32 ranks on each of 64.
//!
//! The paper does not say which of Cori's two partitions; 32 ranks that use all cores of a node say Haswell.
//! Connections, request objects and registered memory are there before: the paper fills its buffers once and measures
//! eight times, and its program leaves out the slowest. Group A is the first ranks, as in that program.

use std::sync::Arc;

use crate::collectives::intergroup::root_gathering;
use crate::sim::{self, Machine, WorkPart, Workload};
use serde::Deserialize;
use tributary::Rank;

use super::inside::{LONG, RingInside};
use super::setting::{World, algorithm_of};
use crate::papers::{Context, CurveAxis, Drawing, PapersError, Parameters, Values};

/// Name of the baseline algorithm: what MPI libraries do.
const BASELINE: &str = "root_gathering";

/// Place on Cori where a setting runs: nodes, ranks a node, and algorithm inside the groups.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct CoriPlace {
    nodes: usize,
    ranks_per_node: usize,
    /// Allgather that runs inside the groups.
    #[serde(default)]
    inside: Inside,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Inside {
    /// Allgather of MPICH: a ring for long messages, dissemination for short ones.
    #[default]
    Mpich,
    /// Allgather of our library: dissemination, whatever the size.
    Dissemination,
}

/// Algorithm of our library as a workload; a rank's schedule is made when the rank starts.
struct Whole<'a> {
    world: &'a World,
    name: &'a str,
}

impl Workload for Whole<'_> {
    fn part(&self, rank: Rank, part: u32) -> Option<WorkPart> {
        let schedule = if part == 0 { self.world.schedule(self.name, rank).ok() } else { None };
        schedule.map(WorkPart::Schedule)
    }
}

/// Returns the simulated seconds of an algorithm in a setting; the largest message of a node has `bytes` bytes.
/// O(ranks^2) messages at most.
fn seconds(context: &Context, place: CoriPlace, setting: u32, name: &str, bytes: u64) -> Result<f64, PapersError> {
    let is_fixed = name == BASELINE || name == "two_step";
    // Settings 5 and 7 have the blocks of 1 and 2.
    let setting = match setting {
        5 if name == BASELINE => 1,
        7 if name == BASELINE => 2,
        other => other,
    };
    let inside = if is_fixed { Inside::Dissemination } else { place.inside };
    let key = format!("intergroup {} x {} {inside:?} {setting} {name} {bytes}", place.nodes, place.ranks_per_node);
    let made = context.once(&key, || {
        let mut machine = Machine::clone(&*context.machine("cori-haswell")?);
        (machine.host.first_use, machine.host.rendezvous) = (0.0, 0.0);
        machine.connection = None;
        let ranks = place.nodes * place.ranks_per_node;
        let world = World::setting(setting, ranks, place.ranks_per_node, bytes / place.ranks_per_node as u64)?;
        let pair = world.pair();
        let is_long = (pair.p * pair.k_a).max(pair.q * pair.k_b) >= LONG as f64;
        let outcome = if inside == Inside::Mpich && is_long {
            sim::run(&machine, &world.topology, &RingInside::new(&world, name)?, 0, |_| ())?
        } else {
            sim::run(&machine, &world.topology, &Whole { world: &world, name }, 0, |_| ())?
        };
        Ok(outcome.seconds().total)
    });
    made.map(|seconds: Arc<f64>| *seconds)
}

/// Returns the improvement: the time of root gathering divided by the time of the setting's algorithm.
fn improved(context: &Context, place: CoriPlace, setting: u32, bytes: u64) -> Result<f64, PapersError> {
    let old = seconds(context, place, setting, BASELINE, bytes)?;
    Ok(old / seconds(context, place, setting, algorithm_of(setting), bytes)?)
}

fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CoriCase {
    place: CoriPlace,
    setting: u32,
    /// Size in bytes of the largest message of a node.
    bytes: u64,
}

/// Measures the improvement in one setting at one size.
pub(super) fn improvement(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let CoriCase { place, setting, bytes } = with.read()?;
    Ok(vec![(size(bytes), improved(context, place, setting, bytes)?)])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    place: CoriPlace,
    settings: Vec<u32>,
    bytes: Vec<u64>,
}

/// Measures the improvements in settings at several sizes.
pub(super) fn shape(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let Settings { place, settings, bytes } = with.read()?;
    let of = |setting, &bytes: &u64| Ok((size(bytes), improved(context, place, setting, bytes)?));
    settings.iter().flat_map(|&setting| bytes.iter().map(move |bytes| of(setting, bytes))).collect()
}

/// Measures, for each setting, the improvement divided by the value of equation 5.
pub(super) fn over_equation_5(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let Settings { place, settings, bytes } = with.read()?;
    let of = |setting: u32, &bytes: &u64| {
        let world = World::setting(setting, place.nodes * place.ranks_per_node, place.ranks_per_node, bytes)?;
        let expected = root_gathering::improvement(&world.pair());
        Ok((format!("setting {setting}"), improved(context, place, setting, bytes)? / expected))
    };
    settings.iter().flat_map(|&setting| bytes.iter().map(move |bytes| of(setting, bytes))).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Which {
    Greatest,
    Least,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Extreme {
    which: Which,
    places: Vec<CoriPlace>,
    settings: Vec<u32>,
    bytes: Vec<u64>,
}

/// Measures all improvements and returns the greatest or the least, with its place, setting and size.
pub(super) fn extreme(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let Extreme { which, places, settings, bytes } = with.read()?;
    let mut all = Values::new();
    for place in places {
        for &setting in &settings {
            for &bytes in &bytes {
                let name = format!("{} x {}, setting {setting}, {}", place.nodes, place.ranks_per_node, size(bytes));
                all.push((name, improved(context, place, setting, bytes)?));
            }
        }
    }
    let by_value = |a: &&(String, f64), b: &&(String, f64)| a.1.total_cmp(&b.1);
    let found = match which {
        Which::Greatest => all.iter().max_by(by_value),
        Which::Least => all.iter().min_by(by_value),
    };
    Ok(found.cloned().into_iter().collect())
}

/// Measures the time of Algorithm 1 divided by the time of the algorithm of Kang et al. 2018.
pub(super) fn one_step_over_two(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let Settings { place, settings, bytes } = with.read()?;
    let of = |setting: u32, &bytes: &u64| {
        let taken = |name| seconds(context, CoriPlace { inside: Inside::Dissemination, ..place }, setting, name, bytes);
        Ok((format!("setting {setting}, {}", size(bytes)), taken("allgather")? / taken("two_step")?))
    };
    settings.iter().flat_map(|&setting| bytes.iter().map(move |bytes| of(setting, bytes))).collect()
}

/// Draws figures 4 and 5: the times of one setting, by message size.
pub(super) fn times(with: &Parameters, context: &Context) -> Result<Drawing, PapersError> {
    let Settings { place, settings, bytes } = with.read()?;
    let mut curves = Vec::new();
    for setting in settings {
        let own = algorithm_of(setting);
        let two_step = (own == "allgather").then_some(("two_step", "in two steps"));
        for (name, shown) in [(own, "the paper's"), (BASELINE, "root gathering")].into_iter().chain(two_step) {
            let point = |&bytes: &u64| Ok((bytes as f64, seconds(context, place, setting, name, bytes)? * 1e3));
            curves.push((shown.to_string(), bytes.iter().map(point).collect::<Result<_, PapersError>>()?));
        }
    }
    Ok(Drawing::Curves {
        x: CurveAxis::log("greatest message of a node, bytes"),
        y: CurveAxis::log("milliseconds"),
        curves,
    })
}

/// Draws figure 6: the improvements of the settings, by message size.
pub(super) fn improvements(with: &Parameters, context: &Context) -> Result<Drawing, PapersError> {
    let Settings { place, settings, bytes } = with.read()?;
    let curve = |setting: u32| {
        let point = |&bytes: &u64| Ok((bytes as f64, improved(context, place, setting, bytes)?));
        Ok((format!("setting {setting}"), bytes.iter().map(point).collect::<Result<_, PapersError>>()?))
    };
    let curves = settings.into_iter().map(curve).collect::<Result<_, PapersError>>()?;
    Ok(Drawing::Curves {
        x: CurveAxis::log("greatest message of a node, bytes"),
        y: CurveAxis::linear("times"),
        curves,
    })
}
