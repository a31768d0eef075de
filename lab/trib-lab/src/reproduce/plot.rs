//! Draws a figure as SVG: stacked bars, or curves.

use svg::node::element::{Circle, Polyline};
use svg::{Document, Node};
use trib::Failure;
use trib::numbers::tick;
use trib::picture::axis::Axis;
use trib::picture::ink::{DARK, GREY, at, block, line, of_rank, words};
use tributary_lab::papers::{self, Drawing};

use super::findings::Drawn;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 520.0;
/// Edges in pixels: left edge of the drawing, left edge of the names at the right, upper and lower edge of the drawing.
const LEFT: f64 = 186.0;
const NAMES: f64 = 792.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 456.0;
const GRID: &str = "#d0d7de";

type Nodes = Vec<Box<dyn Node>>;

/// Returns the figure as SVG, in the size of a slide.
///
/// # Errors
/// The figure is empty.
pub fn svg(drawn: &Drawn<'_>) -> Result<String, Failure> {
    let figure = drawn.figure;
    draw(&figure.title, &drawn.drawing).map_err(|problem| Failure::new(format!("{}: {problem}", figure.id)))
}

/// Returns a drawing with a title above it.
///
/// # Errors
/// The drawing is empty.
pub fn draw(title: &str, drawing: &Drawing) -> Result<String, String> {
    let mut nodes: Nodes = vec![Box::new(words(WIDTH / 2.0, 26.0, 18, "middle", DARK, title))];
    match drawing {
        Drawing::Bars { unit, parts, bars } => {
            names(&mut nodes, parts.iter());
            stacks(&mut nodes, unit, parts.len(), bars)?;
        }
        Drawing::Curves { x, y, curves } => {
            names(&mut nodes, curves.iter().map(|(name, _)| name));
            lines(&mut nodes, (x, y), curves)?;
        }
    }
    let back = block(0.0, 0.0, WIDTH, HEIGHT, "#ffffff", 1.0);
    let whole = Document::new().set("viewBox", (0, 0, WIDTH, HEIGHT)).set("width", WIDTH).set("height", HEIGHT);
    let whole = whole.set("font-family", "Helvetica, Arial, sans-serif").add(back);
    Ok(nodes.into_iter().fold(whole, Document::add).to_string())
}

/// Draws the names beside the picture, so that they cover nothing.
fn names<'a>(nodes: &mut Nodes, names: impl Iterator<Item = &'a String>) {
    for (index, name) in names.enumerate() {
        let y = TOP + 38.0 + 22.0 * index as f64;
        nodes.push(Box::new(block(NAMES, y, 14.0, 12.0, of_rank(index), 1.0)));
        // A long name is drawn narrower.
        let text = words(NAMES + 20.0, y + 11.0, 13, "start", DARK, name);
        nodes.push(Box::new(if name.len() > 22 {
            text.set("textLength", 144).set("lengthAdjust", "spacingAndGlyphs")
        } else {
            text
        }));
    }
}

/// Draws the horizontal axis, below everything.
fn across(nodes: &mut Nodes, axis: &Axis, left: f64, label: &str) {
    for value in axis.ticks() {
        let x = axis.at(value);
        nodes.push(Box::new(line((x, TOP), (x, BOTTOM), GRID)));
        nodes.push(Box::new(words(x, BOTTOM + 20.0, 13, "middle", DARK, tick(value))));
    }
    nodes.push(Box::new(line((left, BOTTOM), (NAMES - 20.0, BOTTOM), GREY)));
    nodes.push(Box::new(words((left + NAMES - 20.0) / 2.0, BOTTOM + 46.0, 13, "middle", DARK, label)));
}

/// Draws bars horizontally, so that their names are horizontal too.
fn stacks(nodes: &mut Nodes, unit: &str, parts: usize, bars: &[(String, Vec<f64>)]) -> Result<(), String> {
    let longest = bars.iter().map(|(_, values)| values.iter().sum::<f64>()).fold(0.0, f64::max);
    if longest <= 0.0 {
        return Err("no bar is longer than 0".to_string());
    }
    let axis = Axis::linear((0.0, longest * 1.02), (LEFT, NAMES - 20.0));
    across(nodes, &axis, LEFT, unit);
    let row = (BOTTOM - TOP) / bars.len() as f64;
    let gap = (row / 8.0).min(6.0);
    for (index, (name, values)) in bars.iter().enumerate() {
        let (y, mut begin) = (TOP + row * index as f64, 0.0);
        nodes.push(Box::new(words(LEFT - 10.0, y + row / 2.0 + 4.0, 13, "end", DARK, name)));
        for (part, value) in values.iter().take(parts).enumerate().filter(|(_, value)| **value > 0.0) {
            let (x, end) = (axis.at(begin), axis.at(begin + value));
            nodes.push(Box::new(block(x, y + gap, end - x, row - 2.0 * gap, of_rank(part), 1.0)));
            begin += value;
        }
    }
    nodes.push(Box::new(line((LEFT, TOP), (LEFT, BOTTOM), GREY)));
    Ok(())
}

fn lines(
    nodes: &mut Nodes,
    (x, y): (&papers::Axis, &papers::Axis),
    curves: &[(String, Vec<(f64, f64)>)],
) -> Result<(), String> {
    const LEFT: f64 = 96.0;
    let points = || curves.iter().flat_map(|(_, points)| points);
    let xs = Axis::around(points().map(|point| point.0), x.log, (LEFT, NAMES - 20.0)).ok_or("no points")?;
    let ys = Axis::around(points().map(|point| point.1), y.log, (BOTTOM, TOP)).ok_or("no points")?;
    across(nodes, &xs, LEFT, &x.label);
    for value in ys.ticks() {
        let y = ys.at(value);
        nodes.push(Box::new(line((LEFT, y), (NAMES - 20.0, y), GRID)));
        nodes.push(Box::new(words(LEFT - 8.0, y + 4.0, 13, "end", DARK, tick(value))));
    }
    nodes.push(Box::new(line((LEFT, TOP), (LEFT, BOTTOM), GREY)));
    let middle = at((TOP + BOTTOM) / 2.0);
    let label = words(24.0, (TOP + BOTTOM) / 2.0, 13, "middle", DARK, &y.label);
    nodes.push(Box::new(label.set("transform", format!("rotate(-90 24 {middle})"))));
    for (index, (_, points)) in curves.iter().enumerate() {
        let color = of_rank(index);
        let places = points.iter().map(|(x, y)| (xs.at(*x), ys.at(*y)));
        let path: Vec<_> = places.clone().map(|(x, y)| format!("{},{}", at(x), at(y))).collect();
        nodes.push(Box::new(
            Polyline::new()
                .set("points", path.join(" "))
                .set("fill", "none")
                .set("stroke", color)
                .set("stroke-width", 2),
        ));
        for (x, y) in places {
            nodes.push(Box::new(Circle::new().set("cx", at(x)).set("cy", at(y)).set("r", 3.5).set("fill", color)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tributary_lab::papers::{Axis, Drawing};

    use super::draw;

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
    fn an_empty_figure_is_an_error() {
        let bars = Drawing::Bars { unit: String::new(), parts: Vec::new(), bars: Vec::new() };
        assert!(draw("", &bars).is_err());
        let curves = vec![("a".to_string(), vec![(0.0, 1.0)])];
        assert!(draw("", &Drawing::Curves { x: Axis::log(""), y: Axis::log(""), curves }).is_err());
    }
}
