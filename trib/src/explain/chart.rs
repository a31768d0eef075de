//! The drawings of the page: SVG whose colours are the page's, so that they follow it into the dark and onto paper.

use maud::{Markup, html};
use tributary::Rank;

use super::account::Account;
use super::planned::Planned;
use super::time;
use crate::picture::ink::at;
use crate::report::grouped;

const WIDTH: f64 = 960.0;
/// Where bars begin; names are before it.
const LEFT: f64 = 190.0;
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

/// Bars under one another.
pub fn bars(title: &str, bars: &[Bar]) -> Markup {
    let most = bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let height = 22.0 * bars.len() as f64;
    let room = WIDTH - LEFT - 330.0;
    html! {
        svg role="img" aria-label=(title) viewBox={ "0 0 " (at(WIDTH)) " " (at(height)) } {
            @for (row, bar) in bars.iter().enumerate() {
                @let y = 22.0 * row as f64;
                @let width = if bar.value > 0.0 { (room * bar.value / most).max(1.0) } else { 0.0 };
                text.name x=(at(LEFT - 10.0)) y=(at(y + 15.0)) { (bar.name) }
                rect.bar x=(at(LEFT)) y=(at(y + 3.0)) width=(at(width)) height="16" {}
                text x=(at(LEFT + width + 8.0)) y=(at(y + 15.0)) { (bar.says) }
            }
        }
    }
}

/// Each rank's calls, between two times in seconds.
pub fn timeline(account: &Account, (from, to): (f64, f64)) -> Markup {
    let lanes = lanes(account);
    let lane = if lanes.len() > 16 { 14.0 } else { 18.0 };
    let (bottom, room) = (lane * lanes.len() as f64, WIDTH - LEFT - 40.0);
    let x = |seconds: f64| LEFT + room * ((seconds - from) / (to - from).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    html! {
        svg role="img" aria-label="The calls of each rank over time" viewBox={ "0 0 " (at(WIDTH)) " " (at(bottom + 30.0)) } {
            @for step in 0..=5 {
                @let seconds = from + (to - from) * f64::from(step) / 5.0;
                line.grid x1=(at(x(seconds))) x2=(at(x(seconds))) y1="0" y2=(at(bottom)) {}
                text.tick x=(at(x(seconds))) y=(at(bottom + 18.0)) { (time(seconds)) }
            }
            @for (row, &rank) in lanes.iter().enumerate() {
                @let y = lane * row as f64;
                text.name x=(at(LEFT - 10.0)) y=(at(y + lane - 5.0)) { "rank " (rank) }
                @for piece in pieces(account, rank, (from, to), &x) {
                    rect class=(piece.class) x=(at(piece.x)) y=(at(y + 2.0)) width=(at(piece.width)) height=(at(lane - 4.0)) {
                        title { (piece.says) }
                    }
                }
            }
        }
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
fn pieces(account: &Account, rank: Rank, (from, to): (f64, f64), x: &dyn Fn(f64) -> f64) -> Vec<Piece> {
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
            let (begin, end) = (x(begin), x(end));
            if end - begin < 0.1 {
                continue;
            }
            match pieces.last_mut() {
                Some(last) if last.class == class && begin - (last.x + last.width) < 1.0 => {
                    last.width = end - last.x;
                    last.says = format!("rank {rank}: calls up to {}, closer than can be drawn", call.call);
                }
                _ => pieces.push(Piece { class, x: begin, width: end - begin, says: says.clone() }),
            }
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
    let (bottom, room) = (24.0 * owners.len() as f64, WIDTH - LEFT - 40.0);
    let x = |seconds: f64| LEFT + room * ((seconds - from) / (to - from).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let wide = |(begin, end): (f64, f64)| at((x(end) - x(begin)).max(0.8));
    let drawing = html! {
        svg role="img" aria-label="Rounds of each aggregator over time" viewBox={ "0 0 " (at(WIDTH)) " " (at(bottom + 30.0)) } {
            @for step in 0..=5 {
                @let seconds = from + (to - from) * f64::from(step) / 5.0;
                line.grid x1=(at(x(seconds))) x2=(at(x(seconds))) y1="0" y2=(at(bottom)) {}
                text.tick x=(at(x(seconds))) y=(at(bottom + 18.0)) { (time(seconds)) }
            }
            @for (row, owner) in owners.iter().enumerate() {
                @let y = 24.0 * row as f64;
                text.name x=(at(LEFT - 10.0)) y=(at(y + 16.0)) { "aggregator, rank " (owner.rank) }
                @for round in owner.rounds.iter().filter(|round| round.call == longest) {
                    @for (class, times, top) in [("write", round.exchange, 2.0), ("read", round.io, 12.0)] {
                        @if times.1 > times.0 {
                            rect class=(class) x=(at(x(times.0))) y=(at(y + top)) width=(wide(times)) height="9" {
                                title {
                                    "rank " (owner.rank) ", round " (round.round) ": " (round.ranks) " ranks, " (grouped(round.bytes))
                                    " bytes; exchange " (time(round.exchange.1 - round.exchange.0)) ", file "
                                    (time(round.io.1 - round.io.0))
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    Some((longest, drawing))
}

/// Fan-in of a call: a row for each aggregator, a column for each round.
pub fn fan_in(plan: &Planned) -> Markup {
    let mut rounds: Vec<u64> = plan.windows.iter().map(|window| window.round).collect();
    rounds.sort_unstable();
    rounds.dedup();
    let (rows, columns) = (plan.aggregators.len().min(CELLS.0), rounds.len().min(CELLS.1));
    let (width, most) = (((WIDTH - LEFT) / columns.max(1) as f64).min(120.0), f64::from(plan.fan_in.max.max(1)));
    let height = 24.0 * rows as f64 + 24.0;
    let place = |rank: Rank, round: u64| {
        let row = plan.aggregators.iter().take(rows).position(|aggregator| *aggregator == rank)?;
        Some((row, rounds[..columns].binary_search(&round).ok()?))
    };
    html! {
        svg role="img" aria-label="Fan-in by aggregator and round" viewBox={ "0 0 " (at(WIDTH)) " " (at(height)) } {
            @for (row, rank) in plan.aggregators.iter().take(rows).enumerate() {
                text.name x=(at(LEFT - 10.0)) y=(at(24.0 * row as f64 + 16.0)) { "aggregator, rank " (rank) }
            }
            @for window in &plan.windows {
                @if let Some((row, column)) = place(window.aggregator, window.round) {
                    @let share = f64::from(window.senders) / most;
                    @let (x, y) = (LEFT + width * column as f64, 24.0 * row as f64);
                    rect.cell x=(at(x)) y=(at(y)) width=(at(width - 1.5)) height="22" fill-opacity=(format!("{:.2}", 0.15 + 0.45 * share)) {
                        title {
                            "rank " (window.aggregator) ", round " (window.round) ": " (grouped(window.bytes)) " bytes from "
                            (window.senders) " ranks, " (grouped(window.least)) " to " (grouped(window.most)) " bytes each"
                        }
                    }
                    @if width > 18.0 {
                        text.middle x=(at(x + width / 2.0)) y=(at(y + 15.5)) { (window.senders) }
                    }
                }
            }
            @for (column, round) in rounds.iter().take(columns).enumerate() {
                @if width > 18.0 {
                    text.tick x=(at(LEFT + width * (column as f64 + 0.5))) y=(at(height - 6.0)) { (round) }
                }
            }
            text.name x=(at(LEFT - 10.0)) y=(at(height - 6.0)) { "round" }
        }
    }
}

/// What a drawing of fan-in leaves out.
pub fn left_out(plan: &Planned) -> Option<String> {
    let mut rounds: Vec<u64> = plan.windows.iter().map(|window| window.round).collect();
    rounds.sort_unstable();
    rounds.dedup();
    let (aggregators, rounds) = (plan.aggregators.len(), rounds.len());
    (aggregators > CELLS.0 || rounds > CELLS.1).then(|| {
        format!(
            "Drawn are the first {} of {aggregators} aggregators and {} of {rounds} rounds.",
            aggregators.min(CELLS.0),
            rounds.min(CELLS.1)
        )
    })
}
