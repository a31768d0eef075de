//! Draws medians as the main paper does: communication by throttle (figure 4), and phases by kernel (figure 5).

use tributary_lab::papers::{Axis, Drawing};

use super::summary::Median;

/// Throttle of the paper's figure 5, in requests.
const USUAL: u64 = 32;

/// Figure of a machine.
pub struct Figure {
    /// Name of the figure's file.
    pub name: String,
    /// Title of the figure.
    pub title: String,
    /// Data of the figure.
    pub drawing: Drawing,
}

/// Returns all figures of a machine: for each pattern and number of nodes, the figures for which there are enough
/// medians. `medians` is sorted.
pub fn of(machine: &str, medians: &[Median]) -> Vec<Figure> {
    let panels = || medians.chunk_by(|a, b| (&a.code, a.nodes, a.ranks) == (&b.code, b.nodes, b.ranks));
    let fourth = panels().filter_map(|panel| figure(4, machine, panel, by_throttle(panel)?));
    let fifth = panels().filter_map(|panel| figure(5, machine, panel, by_kernel(panel)?));
    fourth.chain(fifth).collect()
}

fn figure(number: u32, machine: &str, panel: &[Median], drawing: Drawing) -> Option<Figure> {
    let Median { code, nodes, ranks, .. } = panel.first()?;
    let what = if number == 4 { "communication by throttle" } else { "time by kernel" };
    Some(Figure {
        name: format!("figure-{number}-{code}-{nodes}-nodes-{ranks}-ranks"),
        title: format!("{code} on {nodes} nodes of {machine} ({ranks} ranks): {what}"),
        drawing,
    })
}

/// Returns a curve for each column that ran under several throttles.
fn by_throttle(panel: &[Median]) -> Option<Drawing> {
    let curves: Vec<_> = panel.chunk_by(|a, b| a.column == b.column).filter_map(curve).collect();
    (!curves.is_empty()).then(|| Drawing::Curves {
        x: Axis::log("throttle: receives at a time"),
        y: Axis::linear("communication, s"),
        curves,
    })
}

fn curve(column: &[Median]) -> Option<(String, Vec<(f64, f64)>)> {
    let point = |median: &Median| Some((median.throttle? as f64, median.seconds.communication()?));
    let points: Vec<_> = column.iter().filter_map(point).collect();
    (points.len() > 1).then(|| (column[0].column.clone(), points))
}

/// Returns a bar for each column.
fn by_kernel(panel: &[Median]) -> Option<Drawing> {
    let chosen: Vec<_> = panel.chunk_by(|a, b| a.column == b.column).filter_map(usual).collect();
    chosen.iter().any(|median| median.seconds.total() > 0.0).then(|| Drawing::Bars {
        unit: "seconds".to_string(),
        parts: ["metadata", "data", "other", "not divided"].map(str::to_string).to_vec(),
        bars: chosen.iter().map(|median| (name(median), median.seconds.parts().to_vec())).collect(),
    })
}

/// Returns the median of a column with the kernel's own throttle; without one, with the paper's throttle, or else the
/// nearest.
pub fn usual(column: &[Median]) -> Option<&Median> {
    column.iter().min_by_key(|median| median.throttle.map_or(0, |throttle| 1 + throttle.abs_diff(USUAL)))
}

/// Returns the label of a bar.
pub fn name(median: &Median) -> String {
    match (median.column.as_str(), median.throttle) {
        ("mpi", _) => "the MPI's own".to_string(),
        ("preload", _) => "the same, preloaded".to_string(),
        (column, Some(throttle)) if throttle != USUAL => format!("{column}, {throttle}"),
        (column, _) => column.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::summary::{medians, tests::row};
    use super::*;

    #[test]
    fn curves_need_throttles_and_bars_take_the_usual_one() {
        let rows = [
            row("e3sm-f", "mpi", None, 3.0),
            row("e3sm-f", "balanced", Some(4), 8.0),
            row("e3sm-f", "balanced", Some(32), 4.0),
            row("e3sm-f", "balanced", Some(16), 6.0),
            row("e3sm-f", "pairwise", None, 5.0),
            row("btio", "spread_out", Some(30), 2.0),
        ];
        let figures = of("m", &medians(&rows));
        let names: Vec<_> = figures.iter().map(|figure| figure.name.as_str()).collect();
        let expected =
            ["figure-4-e3sm-f-2-nodes-16-ranks", "figure-5-e3sm-f-2-nodes-16-ranks", "figure-5-btio-2-nodes-16-ranks"];
        assert_eq!(names, expected);
        let Drawing::Curves { curves, .. } = &figures[0].drawing else { panic!("no curves") };
        assert_eq!(curves, &[("balanced".to_string(), vec![(4.0, 6.0), (16.0, 4.5), (32.0, 3.0)])]);
        let Drawing::Bars { bars, .. } = &figures[1].drawing else { panic!("no bars") };
        let expected = [
            ("the MPI's own".to_string(), vec![0.0, 0.0, 0.0, 3.0]),
            ("balanced".to_string(), vec![1.0, 2.0, 1.0, 0.0]),
            ("pairwise".to_string(), vec![1.25, 2.5, 1.25, 0.0]),
        ];
        assert_eq!(bars, &expected);
        let Drawing::Bars { bars, .. } = &figures[2].drawing else { panic!("no bars") };
        assert_eq!(bars[0].0, "spread_out, 30");
    }
}
