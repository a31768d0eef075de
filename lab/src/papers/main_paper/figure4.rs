//! Figure 4: the balanced algorithm under throttles from 1 to the number of ranks.

use serde::Deserialize;

use super::setting::{Code, Setting, Site};
use crate::papers::{Axis, Context, Drawing, PapersError, Parameters, Values};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Throttles {
    site: Site,
    nodes: usize,
    /// Throttles in ascending order; the last, which the function adds, is the number of ranks.
    throttles: Vec<u32>,
}

/// Returns pairs of a throttle and the seconds of communication under it.
fn curve(with: &Parameters, context: &Context) -> Result<Vec<(u32, f64)>, PapersError> {
    let Throttles { site, nodes, mut throttles } = with.read()?;
    let setting = Setting { code: Code::E3sm, site, nodes };
    throttles.push(setting.ranks() as u32);
    let point = |throttle| {
        let parts = setting.throttled(throttle, context)?;
        Ok((throttle, parts.metadata + parts.data))
    };
    throttles.into_iter().map(point).collect()
}

/// Measures the seconds of communication under each throttle.
pub(super) fn throttles(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    Ok(curve(with, context)?.into_iter().map(|(throttle, seconds)| (format!("throttle {throttle}"), seconds)).collect())
}

/// Draws the seconds of communication over the throttle.
pub(super) fn draw(with: &Parameters, context: &Context) -> Result<Drawing, PapersError> {
    let points = curve(with, context)?.into_iter().map(|(throttle, seconds)| (f64::from(throttle), seconds)).collect();
    Ok(Drawing::Curves {
        x: Axis::log("throttle"),
        y: Axis::linear("communication, s"),
        curves: vec![("balanced".to_string(), points)],
    })
}
