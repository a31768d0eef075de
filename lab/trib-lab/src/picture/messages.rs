//! Draws the picture of an algorithm: ranks as rows, on their nodes; rounds as columns; messages as arrows; and, as
//! bars between the rounds, the data of every rank.

use svg::node::element::{Circle, Line, Path, Rectangle};
use tributary::{Rank, Topology};

use super::grid::{Grid, LEFT};
use super::sheet::Sheet;
use trib::numbers::counted;
use trib::picture::ink::{self, DARK, GREY, NOBODY, at, block, words};

/// Colours of messages inside a node and between nodes.
const INSIDE: &str = "#8c959f";
const BETWEEN: &str = "#cf222e";
/// Colours of combined data, and of a node's background.
const COMBINED: &str = "#009e73";
const NODE: &str = "#f6f8fa";
/// Height of a bar in pixels.
const BAR: f64 = 14.0;

/// Contents of an algorithm's picture.
pub struct Diagram<'a> {
    /// Operation and name of the algorithm.
    pub title: String,
    /// Description, case and cost of the algorithm.
    pub subject: String,
    /// Ranks and nodes.
    pub topology: &'a Topology,
    /// Number of rounds.
    pub rounds: usize,
    /// All messages of the algorithm.
    pub messages: Vec<Message>,
    /// The bars of all ranks before the first round and after each round.
    pub bars: Vec<Vec<Bar>>,
    /// Number of bytes that a whole bar stands for.
    pub length: u64,
    /// m: the number of bytes of a block or message, the unit of sizes in the picture.
    pub unit: u64,
    /// Ranks that are marked, for example the root.
    pub marked: Vec<Rank>,
    /// Role of the marked ranks.
    pub mark: &'static str,
    /// Text that says what the bars mean.
    pub meaning: &'static str,
}

/// Message in the picture.
pub struct Message {
    /// Round of the message, from 0 on.
    pub round: usize,
    /// Rank that sends.
    pub from: Rank,
    /// Rank that receives.
    pub to: Rank,
    /// Number of bytes of the message.
    pub bytes: u64,
}

/// Cells of a rank's bar; none if the rank has no bar.
pub type Bar = Option<Vec<Cell>>;

/// Painted part of a bar.
pub struct Cell {
    /// First byte of the cell.
    pub first: u64,
    /// One past the last byte of the cell.
    pub end: u64,
    /// Colour of the cell.
    pub paint: Paint,
}

/// Colour of a part of a bar.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Colour of a rank.
    Rank(Rank),
    /// Shade for the number of ranks whose data is combined.
    Combined(usize),
}

/// Returns the picture of an algorithm as SVG.
pub fn card(diagram: &Diagram<'_>) -> String {
    let mut sheet = Sheet::new(diagram.title.clone(), &diagram.subject);
    sheet.y += 28.0;
    let grid = Grid::new(diagram.topology, diagram.rounds, sheet.y + 8.0);
    rounds(&mut sheet, diagram, &grid);
    nodes(&mut sheet, diagram, &grid);
    let mut messages: Vec<_> = diagram.messages.iter().collect();
    messages.sort_by_key(|message| (diagram.apart(message), message.round, message.from));
    messages.into_iter().for_each(|message| arrow(&mut sheet, diagram, &grid, message));
    bars(&mut sheet, diagram, &grid);
    sheet.y = grid.bottom() + 18.0;
    sums(&mut sheet, diagram, &grid);
    legend(&mut sheet, diagram);
    sheet.finish()
}

impl Diagram<'_> {
    /// Returns true if a message is between nodes.
    fn apart(&self, message: &Message) -> bool {
        self.topology.node_of(message.from) != self.topology.node_of(message.to)
    }

    /// Returns the messages of a round.
    fn of(&self, round: usize) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(move |message| message.round == round)
    }

    /// Returns the number of bytes of the shortest message that is not empty.
    fn least(&self) -> u64 {
        self.messages.iter().map(|message| message.bytes).filter(|&bytes| bytes > 0).min().unwrap_or(1)
    }
}

/// Draws the numbers of the rounds.
fn rounds(sheet: &mut Sheet, diagram: &Diagram<'_>, grid: &Grid) {
    if diagram.rounds > 0 {
        sheet.add(words(LEFT - 10.0, sheet.y, 11, "end", GREY, "round"));
    }
    for round in 0..diagram.rounds {
        let (from, to) = grid.span(round);
        let number = words((from + to) / 2.0, sheet.y, 12, "middle", DARK, (round + 1).to_string());
        sheet.add(number.set("font-weight", "bold"));
    }
}

/// Draws the nodes, and the ranks on them.
fn nodes(sheet: &mut Sheet, diagram: &Diagram<'_>, grid: &Grid) {
    let right = grid.bars(diagram.rounds) + grid.bar;
    for (node, &(top, bottom)) in grid.nodes.iter().enumerate() {
        let paper = Rectangle::new().set("x", 24).set("y", at(top)).set("width", at(right + 12.0 - 24.0));
        let paper = paper.set("height", at(bottom - top)).set("rx", 8).set("fill", NODE).set("stroke", "#d8dee4");
        sheet.add(paper);
        sheet.add(words(34.0, (top + bottom) / 2.0 + 4.0, 11, "start", GREY, format!("node {node}")));
    }
    for (rank, &y) in grid.rows.iter().enumerate() {
        let line = Line::new().set("x1", at(LEFT)).set("x2", at(right)).set("y1", at(y)).set("y2", at(y));
        sheet.add(line.set("stroke", "#d8dee4").set("stroke-width", "1"));
        let chip =
            Circle::new().set("cx", at(LEFT - 18.0)).set("cy", at(y)).set("r", 9).set("fill", ink::of_rank(rank));
        let marked = diagram.marked.contains(&rank);
        sheet.add(if marked { chip.set("stroke", DARK).set("stroke-width", "2.5") } else { chip });
        let number = words(LEFT - 18.0, y + 3.5, 10, "middle", ink::on_rank(rank), rank.to_string());
        sheet.add(number.set("font-weight", "bold"));
    }
}

/// Draws the data of ranks before the first round and after each round.
fn bars(sheet: &mut Sheet, diagram: &Diagram<'_>, grid: &Grid) {
    let scale = grid.bar / diagram.length.max(1) as f64;
    for (round, ranks) in diagram.bars.iter().enumerate() {
        let x = grid.bars(round);
        for (cells, &y) in ranks.iter().zip(&grid.rows) {
            let (top, Some(cells)) = (y - BAR / 2.0, cells) else { continue };
            sheet.add(block(x, top, grid.bar, BAR, NOBODY, 1.0).set("stroke", "#d0d7de"));
            for cell in cells {
                let (left, width) = (x + cell.first as f64 * scale, (cell.end - cell.first) as f64 * scale);
                let (fill, opacity) = match cell.paint {
                    Paint::Rank(rank) => (ink::of_rank(rank), 1.0),
                    Paint::Combined(ranks) => (COMBINED, shade(ranks, diagram.topology.ranks())),
                };
                // A hairline separates neighbours. There are few attributes, because there are thousands of cells.
                let width = if width > 2.0 { width - 0.4 } else { width };
                let cell = Rectangle::new().set("x", at(left)).set("y", at(top)).set("width", at(width));
                let cell = cell.set("height", at(BAR)).set("fill", fill);
                sheet.add(if opacity < 1.0 { cell.set("fill-opacity", format!("{opacity:.2}")) } else { cell });
            }
        }
    }
}

/// Returns the opacity of combined data: from a fifth for one rank's data to 1 for all ranks' data.
fn shade(ranks: usize, all: usize) -> f64 {
    if all < 2 { 1.0 } else { 0.2 + 0.8 * (ranks - 1) as f64 / (all - 1) as f64 }
}

/// Draws one message; longer messages are thicker.
fn arrow(sheet: &mut Sheet, diagram: &Diagram<'_>, grid: &Grid, message: &Message) {
    let (x, end) = grid.span(message.round);
    let (y, to) = (grid.rows[message.from], grid.rows[message.to]);
    let narrow = (grid.arrows / 90.0).clamp(0.6, 1.0);
    let width =
        (1.7 + 0.55 * (message.bytes.max(diagram.least()) as f64 / diagram.least() as f64).log2()).min(4.5) * narrow;
    let (head, half) = ((5.0 + 2.0 * width) * narrow, 2.0 + 1.3 * width * narrow);
    let colour = if diagram.apart(message) { BETWEEN } else { INSIDE };
    let (neck, bend) = (end - head, (end - head - x) * 0.5);
    let curve = format!(
        "M{},{} C{},{} {},{} {},{}",
        at(x),
        at(y),
        at(x + bend),
        at(y),
        at(neck - bend),
        at(to),
        at(neck + 0.5),
        at(to)
    );
    let path = Path::new().set("d", curve).set("fill", "none").set("stroke", colour);
    sheet.add(path.set("stroke-width", at(width)));
    let tip = format!("M{},{} L{},{} L{},{} Z", at(end), at(to), at(neck), at(to - half), at(neck), at(to + half));
    sheet.add(Path::new().set("d", tip).set("fill", colour));
}

/// Draws, below the rounds, the number of messages, their sizes, and how many leave their node.
fn sums(sheet: &mut Sheet, diagram: &Diagram<'_>, grid: &Grid) {
    let mut lines: Vec<(&str, &str, Vec<String>)> = Vec::new();
    let each = |of: &dyn Fn(Vec<&Message>) -> String| -> Vec<String> {
        (0..diagram.rounds).map(|round| of(diagram.of(round).collect())).collect()
    };
    let sizes = |messages: Vec<&Message>| {
        let least = messages.iter().map(|message| message.bytes).min().unwrap_or(0);
        let most = messages.iter().map(|message| message.bytes).max().unwrap_or(0);
        let (least, most) = (multiple(least, diagram.unit), multiple(most, diagram.unit));
        if least == most { least } else { format!("{least}–{most}") }
    };
    let apart = |messages: Vec<&Message>| messages.iter().filter(|message| diagram.apart(message)).count().to_string();
    lines.push(("messages", DARK, each(&|messages| messages.len().to_string())));
    lines.push(("bytes each", DARK, each(&sizes)));
    if diagram.topology.nodes() > 1 {
        lines.push(("between nodes", BETWEEN, each(&apart)));
    }
    for (name, colour, values) in lines.into_iter().filter(|_| diagram.rounds > 0) {
        sheet.add(words(LEFT - 10.0, sheet.y, 10, "end", if colour == DARK { GREY } else { colour }, name));
        for (round, value) in values.into_iter().enumerate() {
            let (from, to) = grid.span(round);
            let colour = if value == "0" { GREY } else { colour };
            sheet.add(words((from + to) / 2.0, sheet.y, grid.small(), "middle", colour, value));
        }
        sheet.y += 15.0;
    }
}

/// Draws the legend of lines, rings and bars.
fn legend(sheet: &mut Sheet, diagram: &Diagram<'_>) {
    sheet.y += 12.0;
    let mut x = 24.0;
    for (colour, name) in [(INSIDE, "message inside a node"), (BETWEEN, "message between nodes")] {
        let line = Line::new().set("x1", at(x)).set("x2", at(x + 26.0)).set("y1", at(sheet.y)).set("y2", at(sheet.y));
        sheet.add(line.set("stroke", colour).set("stroke-width", "2.5"));
        sheet.add(words(x + 32.0, sheet.y + 3.5, 10, "start", DARK, name));
        x += 168.0;
    }
    if !diagram.marked.is_empty() {
        let ring = Circle::new().set("cx", at(x + 8.0)).set("cy", at(sheet.y)).set("r", 6).set("fill", "#ffffff");
        sheet.add(ring.set("stroke", DARK).set("stroke-width", "2.5"));
        sheet.add(words(x + 22.0, sheet.y + 3.5, 10, "start", DARK, diagram.mark));
    }
    sheet.y += 24.0;
    let rounds = counted(diagram.rounds as u64, "round");
    sheet.notes(&format!(
        "{} In each of the {rounds} a rank sends and receives at most one message; thicker lines are longer messages.",
        diagram.meaning
    ));
}

/// Returns the number of bytes as a multiple of `unit`, with the name m.
pub fn multiple(bytes: u64, unit: u64) -> String {
    let (mut divisor, mut rest) = (unit.max(1), bytes);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    match (bytes / divisor, unit.max(1) / divisor) {
        (0, _) => "0".to_string(),
        (1, 1) => "m".to_string(),
        (many, 1) => format!("{many}m"),
        (1, part) => format!("m/{part}"),
        (many, part) => format!("{many}m/{part}"),
    }
}

#[cfg(test)]
mod tests {
    use super::multiple;

    #[test]
    fn bytes_are_fractions_of_m() {
        let cases = [(0, "0"), (8, "m/8"), (24, "3m/8"), (64, "m"), (192, "3m"), (96, "3m/2")];
        assert!(cases.iter().all(|&(bytes, words)| multiple(bytes, 64) == words));
    }
}
