//! The drawings of a page: when each rank was in calls, and when each aggregator exchanged and wrote.

use std::fmt::Write;

use tributary::engine::Diary;
use tributary::engine::diary::Round;

use super::html::{escape, grouped, time};

const WIDTH: f64 = 960.0;
/// Where lanes begin; their names are before it.
const LEFT: f64 = 130.0;
const LANE: f64 = 18.0;
/// Most lanes of a drawing.
const LANES: usize = 32;

/// A drawing that grows lane by lane.
struct Drawing {
    svg: String,
    from: f64,
    to: f64,
    rows: usize,
}

impl Drawing {
    fn new(from: f64, to: f64) -> Self {
        Self { svg: String::new(), from, to: to.max(from + 1e-9), rows: 0 }
    }

    fn x(&self, at: f64) -> f64 {
        LEFT + (WIDTH - LEFT - 40.0) * ((at - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }

    fn lane(&mut self, name: &str) {
        let y = LANE * self.rows as f64 + 13.0;
        let _ = writeln!(self.svg, "<text class=\"name\" x=\"{}\" y=\"{y}\">{}</text>", LEFT - 10.0, escape(name));
        self.rows += 1;
    }

    /// A bar in the latest lane: in its upper or lower half, or in all of it.
    fn bar(&mut self, class: &str, (begin, end): (f64, f64), half: Option<bool>, says: &str) {
        let (x, till) = (self.x(begin), self.x(end));
        let y = LANE * (self.rows.max(1) - 1) as f64 + if half == Some(true) { 9.0 } else { 1.5 };
        let (width, height) = ((till - x).max(0.8), if half.is_some() { 7.5 } else { 15.0 });
        let _ = writeln!(
            self.svg,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\"><title>{}</title></rect>",
            escape(says)
        );
    }

    fn finish(mut self, name: &str) -> String {
        let bottom = LANE * self.rows as f64;
        let mut grid = String::new();
        for step in 0..=4 {
            let at = self.from + (self.to - self.from) * f64::from(step) / 4.0;
            let x = self.x(at);
            let _ = write!(
                grid,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{bottom}\"></line>\n\
                 <text class=\"tick\" x=\"{x:.1}\" y=\"{}\">{}</text>\n",
                bottom + 16.0,
                time(at)
            );
        }
        self.svg.insert_str(0, &grid);
        format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n\
             <svg role=\"img\" aria-label=\"{0}\" viewBox=\"0 0 {WIDTH} {1}\">\n{2}</svg></div>\n",
            escape(name),
            bottom + 24.0,
            self.svg
        )
    }
}

/// Of many, evenly spread ones.
fn spread(count: usize) -> Vec<usize> {
    if count <= LANES { (0..count).collect() } else { (0..LANES).map(|lane| lane * count / LANES).collect() }
}

/// The calls of each rank over time; none without calls.
pub fn calls(diaries: &[Diary]) -> Option<String> {
    let visits = || diaries.iter().flat_map(|diary| &diary.visits);
    let from = visits().map(|visit| visit.start).reduce(f64::min)?;
    let to = visits().map(|visit| visit.end).reduce(f64::max)?;
    let calls = diaries.iter().map(|diary| diary.visits.len()).max()?;
    let last: Vec<f64> = (0..calls)
        .map(|call| {
            diaries.iter().filter_map(|diary| diary.visits.get(call)).map(|visit| visit.start).fold(0.0, f64::max)
        })
        .collect();
    let mut drawing = Drawing::new(from, to);
    for rank in spread(diaries.len()) {
        drawing.lane(&format!("rank {rank}"));
        for (call, visit) in diaries[rank].visits.iter().enumerate() {
            let came = if visit.end > last[call] { last[call] } else { visit.start };
            let kind = if visit.read { "read" } else { "write" };
            let waited = time(came - visit.start);
            let says = format!("rank {rank}, call {call}, {kind}: waited {waited}, then {}", time(visit.end - came));
            if came > visit.start {
                drawing.bar("wait", (visit.start, came), None, &says);
            }
            drawing.bar(kind, (came, visit.end), None, &says);
        }
    }
    Some(drawing.finish("Calls of each rank over time"))
}

/// The call whose rounds took longest, and the rounds of each aggregator in it: exchange above, file below.
pub fn rounds(diaries: &[Diary]) -> Option<(u64, String)> {
    let span = |of: &[&Round]| {
        let from = of.iter().map(|round| round.exchange.0.min(round.io.0)).fold(f64::INFINITY, f64::min);
        let to = of.iter().map(|round| round.exchange.1.max(round.io.1)).fold(from, f64::max);
        (from, to)
    };
    let all = || diaries.iter().flat_map(|diary| &diary.rounds);
    let mut calls: Vec<u64> = all().map(|round| round.call).collect();
    calls.sort_unstable();
    calls.dedup();
    let of_call = |call: u64| all().filter(|round| round.call == call).collect::<Vec<_>>();
    let lasted = |call: u64| {
        let (from, to) = span(&of_call(call));
        to - from
    };
    let longest = calls.into_iter().map(|call| (lasted(call), call)).max_by(|one, other| one.0.total_cmp(&other.0))?.1;
    let (from, to) = span(&of_call(longest));
    let mut drawing = Drawing::new(from, to);
    let owners: Vec<(usize, &Diary)> = diaries
        .iter()
        .enumerate()
        .filter(|(_, diary)| diary.rounds.iter().any(|round| round.call == longest))
        .collect();
    for (rank, diary) in spread(owners.len()).into_iter().map(|index| owners[index]) {
        drawing.lane(&format!("aggregator {rank}"));
        for round in diary.rounds.iter().filter(|round| round.call == longest) {
            let Round { round: number, ranks, bytes, exchange, io, .. } = *round;
            let took = |(begin, end): (f64, f64)| time(end - begin);
            let says = format!(
                "rank {rank}, round {number}: {ranks} ranks, {} bytes; exchange {}, file {}",
                grouped(bytes),
                took(exchange),
                took(io)
            );
            drawing.bar("write", exchange, Some(false), &says);
            if io.1 > io.0 {
                drawing.bar("read", io, Some(true), &says);
            }
        }
    }
    Some((longest, drawing.finish("Rounds of each aggregator over time")))
}
