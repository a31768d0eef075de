//! Colours, rectangles and text of a picture.

use svg::node::element::{Definitions, Line, Path, Pattern, Polygon, Rectangle, Text};

/// Colour of text.
pub const DARK: &str = "#1f2328";
/// Colour of secondary text and lines.
pub const GREY: &str = "#57606a";
/// Colour of bytes that no rank writes.
pub const NOBODY: &str = "#eaeef2";
/// Fill of bytes that several ranks write, in a picture with [`hatching`].
pub const SEVERAL: &str = "url(#several)";
/// Colours of ranks: the palette of Okabe and Ito (2008), for people of any colour vision, without its black and with a
/// grey. The flag is true if text on the colour is white.
const RANKS: [(&str, bool); 8] = [
    ("#0072b2", true),
    ("#e69f00", false),
    ("#009e73", true),
    ("#cc79a7", false),
    ("#56b4e9", false),
    ("#d55e00", true),
    ("#f0e442", false),
    ("#8c959f", false),
];

/// Returns the colour of a rank. Colours repeat after eight ranks; a picture also shows the numbers of the ranks.
pub fn of_rank(rank: usize) -> &'static str {
    RANKS[rank % RANKS.len()].0
}

/// Returns the colour of text on the colour of a rank.
pub fn on_rank(rank: usize) -> &'static str {
    if RANKS[rank % RANKS.len()].1 { "#ffffff" } else { DARK }
}

/// Returns the SVG definition that the fill [`SEVERAL`] needs in a picture.
pub fn hatching() -> Definitions {
    let stroke = Path::new().set("d", "M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2").set("stroke", "#afb8c1");
    let back = Rectangle::new().set("width", 6).set("height", 6).set("fill", "#ffffff");
    let tile = Pattern::new().set("id", "several").set("patternUnits", "userSpaceOnUse");
    Definitions::new().add(tile.set("width", 6).set("height", 6).add(back).add(stroke.set("stroke-width", 1.5)))
}

/// Returns a coordinate as text, rounded to a tenth, so that it is the same on every machine.
pub fn at(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), ToString::to_string)
}

/// Returns a filled rectangle with a thin white edge.
pub fn block(x: f64, y: f64, width: f64, height: f64, fill: &str, opacity: f64) -> Rectangle {
    let block = Rectangle::new().set("x", at(x)).set("y", at(y)).set("width", at(width)).set("height", at(height));
    let block = block.set("fill", fill).set("stroke", "#ffffff").set("stroke-width", "0.7");
    if opacity < 1.0 { block.set("fill-opacity", at(opacity)) } else { block }
}

/// Returns a line from one point to another.
pub fn line(from: (f64, f64), to: (f64, f64), stroke: &str) -> Line {
    let line = Line::new().set("x1", at(from.0)).set("y1", at(from.1)).set("x2", at(to.0)).set("y2", at(to.1));
    line.set("stroke", stroke)
}

/// Returns a ribbon between an upper and a lower edge.
pub fn ribbon(upper: (f64, f64), lower: (f64, f64), y: (f64, f64), fill: &str) -> Polygon {
    let points = [(upper.0, y.0), (upper.1, y.0), (lower.1, y.1), (lower.0, y.1)];
    let points = points.map(|(x, y)| format!("{},{}", at(x), at(y))).join(" ");
    Polygon::new().set("points", points).set("fill", fill).set("fill-opacity", "0.3")
}

/// Returns a text element; `anchor` is `start`, `middle` or `end`.
pub fn words(x: f64, y: f64, size: u32, anchor: &str, fill: &str, text: impl Into<String>) -> Text {
    let words = Text::new(text.into()).set("x", at(x)).set("y", at(y)).set("font-size", size).set("fill", fill);
    if anchor == "start" { words } else { words.set("text-anchor", anchor) }
}
