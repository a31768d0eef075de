//! Figure 4: the balanced algorithm under throttles from 1 to the number of ranks.

use serde::Deserialize;

use super::setting::{Code, Experiment, Site};
use crate::forecast::Parts;
use crate::papers::{Context, CurveAxis, Drawing, PapersError, Parameters, Values};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Throttles {
    site: Site,
    nodes: usize,
    /// Throttles in ascending order; the last, which the function adds, is the number of ranks.
    throttles: Vec<u32>,
    /// True if the engine's curve is drawn too.
    #[serde(default)]
    engine: bool,
}

/// Times under a throttle.
type Throttled = fn(Experiment, u32, &Context) -> Result<Parts, PapersError>;

/// Returns pairs of a throttle and the seconds of communication under it: a curve of the schedules' simulation, and the engine's if
/// it is asked for.
fn curves(with: &Parameters, context: &Context) -> Result<Vec<Vec<(u32, f64)>>, PapersError> {
    let Throttles { site, nodes, mut throttles, engine } = with.read()?;
    let setting = Experiment { code: Code::E3sm, site, nodes };
    throttles.push(setting.ranks() as u32);
    let ways: &[Throttled] = &[Experiment::throttled, Experiment::engine_throttled];
    let curve = |way: &Throttled| {
        let point = |&throttle| {
            let parts = way(setting, throttle, context)?;
            Ok((throttle, parts.metadata + parts.data))
        };
        throttles.iter().map(point).collect()
    };
    ways[..1 + usize::from(engine)].iter().map(curve).collect()
}

/// Measures the seconds of communication under each throttle.
pub(super) fn throttles(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let points = curves(with, context)?.into_iter().flatten();
    Ok(points.map(|(throttle, seconds)| (format!("throttle {throttle}"), seconds)).collect())
}

/// Draws the seconds of communication over the throttle.
pub(super) fn draw(with: &Parameters, context: &Context) -> Result<Drawing, PapersError> {
    let named = curves(with, context)?.into_iter().zip(["balanced", "engine"]).map(|(points, name)| {
        (name.to_string(), points.into_iter().map(|(throttle, seconds)| (f64::from(throttle), seconds)).collect())
    });
    Ok(Drawing::Curves {
        x: CurveAxis::log("throttle"),
        y: CurveAxis::linear("communication, s"),
        curves: named.collect(),
    })
}
