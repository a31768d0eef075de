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
    /// Throttles in ascending order; the last, which the functions add, is the number of ranks.
    throttles: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DrawnThrottles {
    site: Site,
    nodes: usize,
    throttles: Vec<u32>,
    /// True if the engine's curve is drawn too.
    #[serde(default)]
    engine: bool,
}

/// Times of an experiment under a throttle.
type Throttled = fn(Experiment, u32, &Context) -> Result<Parts, PapersError>;

impl Throttles {
    /// Returns pairs of a throttle and the seconds of communication under it.
    fn curve(&self, throttled: Throttled, context: &Context) -> Result<Vec<(u32, f64)>, PapersError> {
        let setting = Experiment { code: Code::E3sm, site: self.site, nodes: self.nodes };
        let point = |throttle| {
            let parts = throttled(setting, throttle, context)?;
            Ok((throttle, parts.metadata + parts.data))
        };
        self.throttles.iter().copied().chain([setting.ranks() as u32]).map(point).collect()
    }
}

/// Measures the seconds of communication under each throttle.
pub(super) fn throttles(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let points = with.read::<Throttles>()?.curve(Experiment::throttled, context)?;
    Ok(points.into_iter().map(|(throttle, seconds)| (format!("throttle {throttle}"), seconds)).collect())
}

/// Draws the seconds of communication over the throttle.
pub(super) fn draw(with: &Parameters, context: &Context) -> Result<Drawing, PapersError> {
    let DrawnThrottles { site, nodes, throttles, engine } = with.read()?;
    let all = Throttles { site, nodes, throttles };
    let curve = |name: &str, throttled: Throttled| {
        let points = all.curve(throttled, context)?;
        let points = points.into_iter().map(|(throttle, seconds)| (f64::from(throttle), seconds)).collect();
        Ok::<_, PapersError>((name.to_string(), points))
    };
    let mut curves = vec![curve(if engine { "schedules" } else { "balanced" }, Experiment::throttled)?];
    if engine {
        curves.push(curve("engine", Experiment::engine_throttled)?);
    }
    Ok(Drawing::Curves { x: CurveAxis::log("throttle"), y: CurveAxis::linear("communication, s"), curves })
}
