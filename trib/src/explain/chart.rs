//! The drawings of the page: SVG whose colours are the page's, so that they follow it into the dark and onto paper.

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
/// Where the cells of fan-in begin; names are before it.
const LEFT: f64 = 190.0;
/// Columns that a character takes, at most on average.
const CHARACTER: f64 = 6.6;
/// Parts of a lane that are nearer to each other than this are drawn as one, in columns.
const NEAR: f64 = 1.0;
/// Most lanes of a timeline.
const LANES: usize = 32;
/// Most aggregators and rounds of a drawing of fan-in.
const CELLS: (usize, usize) = (32, 48);

/// A bar.
pub struct Bar {
    /// What it is of.
    pub name: String,
    /// How long it is.
    pub value: f64,
    /// Behind it.
    pub says: String,
}

/// A drawing, called `label` where nobody sees it.
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

    /// Lanes with their names, and an axis of time below them.
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
        // Without the name space that a file of its own would need.
        let mut whole = Element::new("svg");
        whole.assign("role", "img");
        whole.assign("aria-label", self.label);
        whole.assign("viewBox", format!("0 0 {WIDTH} {}", at(height)));
        self.nodes.into_iter().for_each(|node| whole.append(node));
        // In a box that scrolls: on a narrow screen the drawing keeps a width at which its words can be read.
        html! { div.chart tabindex="0" role="region" aria-label=(self.label) { (PreEscaped(whole.to_string())) } }
    }
}

/// A rectangle of a class; `says` is for who points at it.
fn block(class: &str, (x, y): (f64, f64), (width, height): (f64, f64), says: &str) -> Rectangle {
    let block = Rectangle::new().set("class", class).set("x", at(x)).set("y", at(y));
    block.set("width", at(width)).set("height", at(height)).add(Title::new(says))
}

/// Bars under one another, as HTML: words wrap where a screen is narrow, and none is cut off.
pub fn bars(title: &'static str, bars: &[Bar]) -> Markup {
    let most = bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    html! {
        dl.bars aria-label=(title) { @for bar in bars {
            dt { (bar.name) }
            dd { span { (bar.says) } span.bar style=(format!("--part: {:.3}", bar.value / most)) {} }
        } }
    }
}

/// Each rank's calls, between two times in seconds. An aggregator's lane has the exchange and the file system in each round of which
/// the capture has times.
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

/// Whether the capture has times of rounds between two times.
pub fn has_rounds(account: &Account, (from, to): (f64, f64)) -> bool {
    let rounds = account.owners.iter().flat_map(|owner| &owner.rounds);
    rounds.into_iter().any(|round| round.io.1 >= from && round.exchange.0 <= to)
}

/// The rounds of an aggregator: in the exchange, and in the file system.
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

/// Adds a part to a lane. Where it is too near to the part before it, that part becomes longer, and says `more`.
fn join(pieces: &mut Vec<Piece>, piece: Piece, more: String) {
    match pieces.last_mut() {
        Some(last) if last.class == piece.class && piece.x - (last.x + last.width) < NEAR => {
            last.width = piece.x + piece.width - last.x;
            last.says = more;
        }
        _ => pieces.push(piece),
    }
}

/// A part of a lane.
struct Piece {
    class: &'static str,
    x: f64,
    width: f64,
    says: String,
}

/// The ranks that are drawn: all; of many those that kept others waiting, and some evenly spread.
fn lanes(account: &Account) -> Vec<Rank> {
    if account.ranks <= LANES {
        return (0..account.ranks).collect();
    }
    let mut late: Vec<_> = account.by_rank.iter().collect();
    late.sort_by(|one, other| other.kept_waiting.total_cmp(&one.kept_waiting));
    let half = LANES / 2;
    let spread = (0..half).map(|index| index * account.ranks / half);
    let mut lanes: Vec<Rank> = late.iter().take(half).map(|rank| rank.rank).chain(spread).collect();
    lanes.sort_unstable();
    lanes.dedup();
    lanes
}

/// What a rank did: waiting, then the call. Parts that are nearer than a pixel are one.
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

/// The call whose rounds took longest, and each aggregator's rounds in it: exchange above, file below.
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

/// Fan-in of a call: a row for each aggregator, a column for each round.
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

/// What a drawing of fan-in leaves out.
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
