//! A figure as SVG: stacked bars, or curves.

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use trib::Failure;
use trib::picture::ink;
use tributary_lab::papers::{Axis, Drawing};

use super::findings::Drawn;

const WIDTH: u32 = 960;
const HEIGHT: u32 = 520;
/// Width of the names at the right.
const LEGEND: u32 = 170;
const FONT: &str = "Helvetica, Arial, sans-serif";

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// The figure as SVG, in the size of a slide.
///
/// # Errors
/// The figure is empty.
pub fn svg(drawn: &Drawn<'_>) -> Result<String, Failure> {
    let figure = drawn.figure;
    draw(&figure.title, &drawn.drawing).map_err(|problem| Failure::new(format!("{}: {problem}", figure.id)))
}

/// A drawing with a title above it.
///
/// # Errors
/// One that has nothing to draw.
pub fn draw(title: &str, drawing: &Drawing) -> Result<String, String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, HEIGHT)).into_drawing_area();
        area.fill(&WHITE).map_err(said)?;
        let area = area.titled(title, (FONT, 20)).map_err(said)?;
        let (picture, names) = area.split_horizontally(WIDTH - LEGEND);
        match drawing {
            Drawing::Bars { unit, parts, bars } => {
                legend(&names, parts.iter())?;
                stacks(&picture, unit, parts, bars)?;
            }
            Drawing::Curves { x, y, curves } => {
                legend(&names, curves.iter().map(|(name, _)| name))?;
                lines(&picture, (x, y), curves)?;
            }
        }
        area.present().map_err(said)?;
    }
    Ok(text)
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn color(index: usize) -> RGBColor {
    let (red, green, blue) = ink::rgb(index);
    RGBColor(red, green, blue)
}

/// Draws horizontal bars, so that their names are horizontal too.
fn stacks(area: &Area<'_>, unit: &str, parts: &[String], bars: &[(String, Vec<f64>)]) -> Result<(), String> {
    let longest = bars.iter().map(|(_, values)| values.iter().sum::<f64>()).fold(0.0, f64::max);
    if longest <= 0.0 {
        return Err("no bar is longer than 0".to_string());
    }
    let rows = bars.len() as u32;
    let names = |place: &SegmentValue<u32>| match place {
        SegmentValue::CenterOf(row) => {
            bars.iter().rev().nth(*row as usize).map_or(String::new(), |(name, _)| name.clone())
        }
        _ => String::new(),
    };
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(170)
        .build_cartesian_2d(0.0..longest * 1.02, (0..rows.saturating_sub(1)).into_segmented())
        .map_err(said)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(unit)
        .y_labels(bars.len())
        .y_label_formatter(&names)
        .label_style((FONT, 15))
        .draw()
        .map_err(said)?;
    for index in 0..parts.len() {
        let boxes = bars.iter().rev().enumerate().map(|(row, (_, values))| {
            let begin: f64 = values[..index].iter().sum();
            let (row, end) = (row as u32, begin + values[index]);
            let mut block = Rectangle::new(
                [(begin, SegmentValue::Exact(row)), (end, SegmentValue::Exact(row + 1))],
                color(index).filled(),
            );
            block.set_margin(6, 6, 0, 0);
            block
        });
        chart.draw_series(boxes).map_err(said)?;
    }
    Ok(())
}

fn lines(area: &Area<'_>, (x, y): (&Axis, &Axis), curves: &[(String, Vec<(f64, f64)>)]) -> Result<(), String> {
    let points = || curves.iter().flat_map(|(_, points)| points);
    let xs = range(points().map(|point| point.0), x.log).ok_or("no points")?;
    let ys = range(points().map(|point| point.1), y.log).ok_or("no points")?;
    match (x.log, y.log) {
        (true, true) => curves_on(area, (x, y), curves, xs.log_scale(), ys.log_scale()),
        (true, false) => curves_on(area, (x, y), curves, xs.log_scale(), ys),
        (false, true) => curves_on(area, (x, y), curves, xs, ys.log_scale()),
        (false, false) => curves_on(area, (x, y), curves, xs, ys),
    }
}

/// A range with a margin around all values; a linear axis begins at 0.
fn range(values: impl Iterator<Item = f64>, log: bool) -> Option<std::ops::Range<f64>> {
    let (least, most) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
    if !(least.is_finite() && most.is_finite()) || (log && least <= 0.0) {
        return None;
    }
    Some(if log { least / 1.2..most * 1.2 } else { least.min(0.0)..most * 1.05 + f64::MIN_POSITIVE })
}

fn curves_on<X, Y>(
    area: &Area<'_>,
    (x, y): (&Axis, &Axis),
    curves: &[(String, Vec<(f64, f64)>)],
    xs: X,
    ys: Y,
) -> Result<(), String>
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(80)
        .build_cartesian_2d(xs, ys)
        .map_err(said)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(&x.label)
        .y_desc(&y.label)
        .x_label_formatter(&number)
        .y_label_formatter(&number)
        .label_style((FONT, 15))
        .draw()
        .map_err(said)?;
    for (index, (_, points)) in curves.iter().enumerate() {
        chart
            .draw_series(LineSeries::new(points.iter().copied(), color(index).stroke_width(2)).point_size(3))
            .map_err(said)?;
    }
    Ok(())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "plotters asks for a function of a reference")]
fn number(value: &f64) -> String {
    match *value {
        value if value != 0.0 && (value.abs() < 1e-3 || value.abs() >= 1e6) => format!("{value:.0e}"),
        // Ticks are multiples of their distance, and 9 * 0.002 is 0.018000000000000002.
        value => ((value * 1e9).round() / 1e9).to_string(),
    }
}

/// Draws the names beside the picture, so that they cover nothing.
fn legend<'a>(area: &Area<'_>, names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    for (index, name) in names.enumerate() {
        let y = 52 + 22 * index as i32;
        area.draw(&Rectangle::new([(4, y), (18, y + 12)], color(index).filled())).map_err(said)?;
        area.draw(&Text::new(name.clone(), (26, y + 1), (FONT, 14))).map_err(said)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_and_curves_show_their_names() {
        let names = |count| (0..count).map(|index| format!("name {index}")).collect::<Vec<_>>();
        let bars = names(5).into_iter().enumerate().map(|(at, name)| (name, vec![at as f64, 2.0, 0.5])).collect();
        let parts = ["meta", "data", "other"].map(String::from).to_vec();
        let bars = draw("A title", &Drawing::Bars { unit: "seconds".to_string(), parts, bars }).unwrap();
        let curve = |name: String| (name, vec![(1.0, 2.0), (10.0, 20.0), (100.0, 400.0)]);
        let curves = names(3).into_iter().map(curve).collect();
        let (x, y) = (Axis::log("ranks"), Axis::linear("seconds"));
        let curves = draw("A title", &Drawing::Curves { x, y, curves }).unwrap();
        for (svg, words) in [(bars, ["A title", "name 4", "meta"]), (curves, ["A title", "name 2", "ranks"])] {
            assert!(words.iter().all(|words| svg.contains(words)), "{svg}");
        }
    }

    #[test]
    fn ticks_have_no_noise() {
        let texts = [9.0 * 0.002, 0.0, 1e-4, 2e6, 12.5].map(|value: f64| number(&value));
        assert_eq!(texts, ["0.018", "0", "1e-4", "2e6", "12.5"]);
    }

    #[test]
    fn an_empty_figure_is_an_error() {
        let bars = Drawing::Bars { unit: String::new(), parts: Vec::new(), bars: Vec::new() };
        assert!(draw("", &bars).is_err());
        let curves = vec![("a".to_string(), vec![(0.0, 1.0)])];
        assert!(draw("", &Drawing::Curves { x: Axis::log(""), y: Axis::log(""), curves }).is_err());
    }
}
