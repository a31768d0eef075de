//! The charts of the page, as SVG. Their colours come from the page's style sheet, so that charts follow a dark screen
//! and print on paper.

use maud::{Markup, PreEscaped, html};
use svg::Node;
use svg::node::element::{Element, Line, Rectangle, Text, Title};
use tributary::Rank;

use super::account::Account;
use super::planned::Planned;
use crate::numbers::{brief as time, grouped};
use crate::picture::axis::Axis;
use crate::picture::ink::at;

const WIDTH: f64 = 960.0;
/// Left edge of the cells of a fan-in chart, in SVG units. The names of the rows are left of this edge.
const LEFT: f64 = 190.0;
/// Maximum mean width of a character, in SVG units.
const CHARACTER: f64 = 6.6;
/// Distance in SVG units below which two pieces of a row are drawn as one.
const NEAR: f64 = 1.0;
/// Maximum number of rows of a timeline (a row for each rank).
const LANES: usize = 32;
/// Maximum number of aggregators and maximum number of rounds in a fan-in chart.
const CELLS: (usize, usize) = (32, 48);

/// A bar of a bar chart.
pub struct Bar {
    /// Name of the bar.
    pub name: String,
    /// Value that the length of the bar shows.
    pub value: f64,
    /// Text beside the bar.
    pub says: String,
}

/// An SVG drawing. Screen readers read `label`.
struct Sheet {
    label: &'static str,
    nodes: Vec<Box<dyn Node>>,
}

impl Sheet {
    fn new(label: &'static str) -> Self {
        Self { label, nodes: Vec::new() }
    }

    fn words(&mut self, class: &str, x: f64, y: f64, text: impl Into<String>) {
        self.add(Text::new(text.into()).set("class", class).set("x", at(x)).set("y", at(y)));
    }

    fn add(&mut self, node: impl Into<Box<dyn Node>>) {
        self.nodes.push(node.into());
    }

    /// Draws the name of each row, and an axis of time from `between.0` to `between.1` (in seconds) below the rows. A
    /// row is `lane` units high. Returns the axis.
    fn lanes(&mut self, lane: f64, names: &[String], between: (f64, f64)) -> Axis {
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let left = longest as f64 * CHARACTER + 14.0;
        let (axis, bottom) = (Axis::linear(between, (left, WIDTH - 40.0)), lane * names.len() as f64);
        for seconds in axis.ticks() {
            let x = axis.at(seconds);
            let line = Line::new().set("class", "grid").set("x1", at(x)).set("x2", at(x)).set("y1", 0);
            self.add(line.set("y2", at(bottom)));
            self.words("tick", x, bottom + 18.0, time(seconds));
        }
        for (row, name) in names.iter().enumerate() {
            self.words("name", left - 8.0, lane * (row as f64 + 0.5) + 4.0, name);
        }
        axis
    }

    fn finish(self, height: f64) -> Markup {
        // SVG inside HTML needs no XML name space.
        let mut whole = Element::new("svg");
        whole.assign("role", "img");
        whole.assign("aria-label", self.label);
        whole.assign("viewBox", format!("0 0 {WIDTH} {}", at(height)));
        self.nodes.into_iter().for_each(|node| whole.append(node));
        // The box scrolls: on a narrow screen the drawing keeps a width at which its texts can be read.
        html! { div.chart tabindex="0" role="region" aria-label=(self.label) { (PreEscaped(whole.to_string())) } }
    }
}

/// Returns a rectangle of a CSS class. A reader who points at the rectangle sees `says`.
fn block(class: &str, (x, y): (f64, f64), (width, height): (f64, f64), says: &str) -> Rectangle {
    let block = Rectangle::new().set("class", class).set("x", at(x)).set("y", at(y));
    block.set("width", at(width)).set("height", at(height)).add(Title::new(says))
}

/// Returns a bar chart as HTML, one bar below the other. Texts wrap on a narrow screen.
pub fn bars(title: &'static str, bars: &[Bar]) -> Markup {
    let most = bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    html! {
        dl.bars aria-label=(title) { @for bar in bars {
            dt { (bar.name) }
            dd { span { (bar.says) } span.bar style=(format!("--part: {:.3}", bar.value / most)) {} }
        } }
    }
}

/// Draws the calls of each rank between two times, in seconds. The row of an aggregator also shows the exchange and the
/// file I/O of each round whose times are in the capture.
pub fn timeline(account: &Account, between: (f64, f64)) -> Markup {
    let lanes = lanes(account);
    let lane = if lanes.len() > 16 { 14.0 } else { 18.0 };
    let names: Vec<_> = lanes.iter().map(|rank| format!("rank {rank}")).collect();
    let mut sheet = Sheet::new("The calls of each rank over time");
    let axis = sheet.lanes(lane, &names, between);
    for (row, &rank) in lanes.iter().enumerate() {
        let (top, height) = (lane * row as f64 + 2.0, lane - 4.0);
        for piece in pieces(account, rank, between, &axis) {
            sheet.add(block(piece.class, (piece.x, top), (piece.width, height), &piece.says));
        }
        let [exchange, io] = parts(account, rank, between, &axis);
        for (parts, top) in [(exchange, top + 1.0), (io, top + height / 2.0)] {
            for Piece { class, x, width, says } in parts {
                sheet.add(block(class, (x, top), (width, height / 2.0 - 1.0), &says));
            }
        }
    }
    sheet.finish(lane * lanes.len() as f64 + 30.0)
}

/// Returns true if the capture has times of rounds between two times, in seconds.
pub fn has_rounds(account: &Account, (from, to): (f64, f64)) -> bool {
    let rounds = account.owners.iter().flat_map(|owner| &owner.rounds);
    rounds.into_iter().any(|round| round.io.1 >= from && round.exchange.0 <= to)
}

/// Returns the pieces of an aggregator's row: the exchanges of its rounds, and the file I/O of its rounds.
fn parts(account: &Account, rank: Rank, (from, to): (f64, f64), axis: &Axis) -> [Vec<Piece>; 2] {
    let mut parts = [Vec::new(), Vec::new()];
    let owner = account.owners.iter().find(|owner| owner.rank == rank);
    let rounds = owner.into_iter().flat_map(|owner| &owner.rounds);
    for round in rounds.filter(|round| round.io.1 >= from && round.exchange.0 <= to) {
        let of = [("exchange", "exchange", round.exchange), ("file", "file system", round.io)];
        for (pieces, (class, name, (begin, end))) in
            parts.iter_mut().zip(of).filter(|(_, (.., (begin, end)))| end > begin)
        {
            let says = format!("rank {rank}, call {}, round {}: {name} {}", round.call, round.round, time(end - begin));
            let more =
                format!("rank {rank}: rounds up to {} of call {}, closer than can be drawn", round.round, round.call);
            join(pieces, Piece { class, x: axis.at(begin), width: axis.at(end) - axis.at(begin), says }, more);
        }
    }
    parts
}

/// Adds a piece to a row. If the piece is too near to the last piece, extends the last piece instead, and `more`
/// becomes its text.
fn join(pieces: &mut Vec<Piece>, piece: Piece, more: String) {
    match pieces.last_mut() {
        Some(last) if last.class == piece.class && piece.x - (last.x + last.width) < NEAR => {
            last.width = piece.x + piece.width - last.x;
            last.says = more;
        }
        _ => pieces.push(piece),
    }
}

/// A rectangle in a row of a timeline.
struct Piece {
    class: &'static str,
    x: f64,
    width: f64,
    says: String,
}

/// Returns the ranks that are drawn: all ranks, or if there are too many, the ranks that kept others waiting longest
/// and some evenly spread ranks.
fn lanes(account: &Account) -> Vec<Rank> {
    if account.ranks <= LANES {
        return (0..account.ranks).collect();
    }
    let late = account.latest_ranks();
    let half = LANES / 2;
    let spread = (0..half).map(|index| index * account.ranks / half);
    let mut lanes: Vec<Rank> = late.iter().take(half).map(|rank| rank.rank).chain(spread).collect();
    lanes.sort_unstable();
    lanes.dedup();
    lanes
}

/// Returns the pieces of a rank's row: for each call the time in which the rank waited, and then the call. Pieces that
/// are nearer than [`NEAR`] are joined.
fn pieces(account: &Account, rank: Rank, (from, to): (f64, f64), axis: &Axis) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let visits = account.timeline[rank].iter().zip(&account.calls);
    for (visit, call) in visits.filter(|(visit, _)| visit.end >= from && visit.start <= to) {
        let came = visit.start + visit.waits(call.last_start);
        let says = format!(
            "rank {rank}, call {} ({}): came at {}, waited {}, took {} in all",
            call.call,
            call.direction,
            time(visit.start),
            time(came - visit.start),
            time(visit.end - visit.start)
        );
        for (class, begin, end) in [("wait", visit.start, came), (call.direction, came, visit.end)] {
            let (begin, end) = (axis.at(begin), axis.at(end));
            if end - begin < 0.1 {
                continue;
            }
            let more = format!("rank {rank}: calls up to {}, closer than can be drawn", call.call);
            join(&mut pieces, Piece { class, x: begin, width: end - begin, says: says.clone() }, more);
        }
    }
    pieces
}

/// Returns the call whose rounds took longest, and a chart of each aggregator's rounds in this call: exchange above,
/// file I/O below.
pub fn rounds(account: &Account) -> Option<(u64, Markup)> {
    let all = || account.owners.iter().flat_map(|owner| &owner.rounds);
    let span = |call: u64| {
        let own = || all().filter(move |round| round.call == call);
        let from = own().map(|round| round.exchange.0.min(round.io.0)).fold(f64::INFINITY, f64::min);
        (from, own().map(|round| round.exchange.1.max(round.io.1)).fold(from, f64::max))
    };
    let mut calls: Vec<u64> = all().map(|round| round.call).collect();
    calls.dedup();
    let longest = calls.into_iter().max_by(|one, other| {
        let [one, other] = [*one, *other].map(|call| span(call).1 - span(call).0);
        one.total_cmp(&other)
    })?;
    let (from, to) = span(longest);
    let owners: Vec<_> = account
        .owners
        .iter()
        .filter(|owner| owner.rounds.iter().any(|round| round.call == longest))
        .take(LANES)
        .collect();
    let names: Vec<_> = owners.iter().map(|owner| format!("aggregator, rank {}", owner.rank)).collect();
    let mut sheet = Sheet::new("Rounds of each aggregator over time");
    let axis = sheet.lanes(24.0, &names, (from, to));
    for (row, owner) in owners.iter().enumerate() {
        for round in owner.rounds.iter().filter(|round| round.call == longest) {
            let says = format!(
                "rank {}, round {}: {} ranks, {} bytes; exchange {}, file {}",
                owner.rank,
                round.round,
                round.ranks,
                grouped(round.bytes),
                time(round.exchange.1 - round.exchange.0),
                time(round.io.1 - round.io.0)
            );
            for (class, (begin, end), top) in [("exchange", round.exchange, 2.0), ("file", round.io, 12.0)] {
                if end > begin {
                    let (begin, end) = (axis.at(begin), axis.at(end));
                    sheet.add(block(class, (begin, 24.0 * row as f64 + top), ((end - begin).max(0.8), 9.0), &says));
                }
            }
        }
    }
    let drawing = sheet.finish(24.0 * owners.len() as f64 + 30.0);
    Some((longest, drawing))
}

/// Draws the fan-in of a call: a row for each aggregator, a column for each round.
pub fn fan_in(plan: &Planned) -> Markup {
    let rounds = rounds_of(plan);
    let (rows, columns) = (plan.aggregators.len().min(CELLS.0), rounds.len().min(CELLS.1));
    let (width, most) = (((WIDTH - LEFT) / columns.max(1) as f64).min(120.0), f64::from(plan.fan_in.max.max(1)));
    let height = 24.0 * rows as f64 + 24.0;
    let place = |rank: Rank, round: u64| {
        let row = plan.aggregators.iter().take(rows).position(|aggregator| *aggregator == rank)?;
        Some((row, rounds[..columns].binary_search(&round).ok()?))
    };
    let mut sheet = Sheet::new("Fan-in by aggregator and round");
    for (row, rank) in plan.aggregators.iter().take(rows).enumerate() {
        sheet.words("name", LEFT - 10.0, 24.0 * row as f64 + 16.0, format!("aggregator, rank {rank}"));
    }
    for window in &plan.windows {
        let Some((row, column)) = place(window.aggregator, window.round) else { continue };
        let (x, y) = (LEFT + width * column as f64, 24.0 * row as f64);
        let says = format!(
            "rank {}, round {}: {} bytes from {} ranks, {} to {} bytes each",
            window.aggregator,
            window.round,
            grouped(window.bytes),
            window.senders,
            grouped(window.least),
            grouped(window.most)
        );
        let opacity = 0.15 + 0.45 * f64::from(window.senders) / most;
        let cell = block("cell", (x, y), (width - 1.5, 22.0), &says);
        sheet.add(cell.set("fill-opacity", format!("{opacity:.2}")));
        if width > 18.0 {
            sheet.words("middle", x + width / 2.0, y + 15.5, window.senders.to_string());
        }
    }
    for (column, round) in rounds.iter().take(columns).enumerate().filter(|_| width > 18.0) {
        sheet.words("tick", LEFT + width * (column as f64 + 0.5), height - 6.0, round.to_string());
    }
    sheet.words("name", LEFT - 10.0, height - 6.0, "round");
    sheet.finish(height)
}

fn rounds_of(plan: &Planned) -> Vec<u64> {
    let mut rounds: Vec<u64> = plan.windows.iter().map(|window| window.round).collect();
    rounds.sort_unstable();
    rounds.dedup();
    rounds
}

/// Returns a sentence about the aggregators and rounds that the fan-in chart of a plan leaves out; `None` if there are none.
pub fn left_out(plan: &Planned) -> Option<String> {
    let (aggregators, rounds) = (plan.aggregators.len(), rounds_of(plan).len());
    (aggregators > CELLS.0 || rounds > CELLS.1).then(|| {
        format!(
            "Drawn are the first {} of {aggregators} aggregators and {} of {rounds} rounds.",
            aggregators.min(CELLS.0),
            rounds.min(CELLS.1)
        )
    })
}
