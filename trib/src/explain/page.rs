//! The account as one HTML page that needs nothing else: no script, no network; light or dark as the reader has it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::account::{Account, Way};
use super::chart::{self, Bar};
use super::sentences::{meaning, phases, reason};
use super::{percent, time};
use crate::listing::counted;
use crate::report::grouped;

/// Most rows of a table; `--json` has all.
const ROWS: usize = 200;
/// Most calls whose fan-in is drawn.
const DRAWN: usize = 4;

const STYLE: &str = "\
:root { color-scheme: light dark; --back: #ffffff; --words: #1f2328; --less: #57606a; --line: #d0d7de; --soft: #f6f8fa; \
--write: #0072b2; --read: #007a59; --wait: #e69f00; --link: #0550ae; }
@media (prefers-color-scheme: dark) { :root { --back: #15191e; --words: #e6edf3; --less: #9da7b1; --line: #3a424b; \
--soft: #1e242b; --write: #56b4e9; --read: #2ec79a; --wait: #e69f00; --link: #79b8ff; } }
body { font: 15px/1.5 Helvetica, Arial, sans-serif; color: var(--words); background: var(--back); max-width: 1080px; \
margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; overflow-wrap: anywhere; } h2 { font-size: 1.2em; margin-top: 2em; }
a { color: var(--link); } a:focus-visible, [tabindex]:focus-visible { outline: 3px solid var(--wait); outline-offset: 2px; }
.skip { position: absolute; left: -999px; } .skip:focus { position: static; }
nav ul { display: flex; flex-wrap: wrap; gap: .3em 1.2em; list-style: none; padding: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .35em .6em; border-bottom: 1px solid var(--line); }
th { color: var(--less); font-weight: 600; } td.number, th.number { text-align: right; white-space: nowrap; }
.advice { background: var(--soft); border-left: 4px solid var(--wait); padding: .6em 1em .6em 2em; }
figure { margin: 1em 0; } figcaption, .note { color: var(--less); }
.key { display: inline-block; width: .9em; height: .9em; margin: 0 .3em 0 .8em; vertical-align: -.1em; }
svg { width: 100%; height: auto; font-size: 12px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
svg text { fill: var(--words); } svg .name { text-anchor: end; } svg .tick, svg .middle { text-anchor: middle; }
svg .tick { fill: var(--less); } svg .grid { stroke: var(--line); }
.bar, .cell { fill: var(--write); } .write { fill: var(--write); background: var(--write); }
.read { fill: var(--read); background: var(--read); } .wait { fill: var(--wait); background: var(--wait); }
@media print { :root { --back: #ffffff; --words: #000000; --less: #444444; --line: #bbbbbb; --soft: #ffffff; \
--write: #0072b2; --read: #007a59; } body { max-width: none; margin: 0; font-size: 11px; } nav, .skip { display: none; } \
.key { print-color-adjust: exact; -webkit-print-color-adjust: exact; } figure, tr { break-inside: avoid; } \
h2 { break-after: avoid; } .wide { overflow: visible; } }";

/// A part of the page: its anchor, its title, what it has.
type Section = (&'static str, &'static str, Markup);

/// The page.
pub fn html(account: &Account) -> String {
    let sections: Vec<Section> = [
        ("requests", "Requests by length", requests(account)),
        ("timeline", "Calls over time", timeline(account)),
        ("phases", "Time by phase", times(account)),
        ("chosen", "What was chosen", kinds(account)),
        ("calls", "Calls, and who waited for whom", calls(account)),
        ("fan-in", "Fan-in and message sizes", fan_in(account)),
        ("ranks", "Ranks", ranks(account)),
        ("hints", "Hints", hints(account)),
    ]
    .into_iter()
    .filter_map(|(id, title, body)| Some((id, title, body?)))
    .collect();
    page(account, &sections).into_string()
}

fn page(account: &Account, sections: &[Section]) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "Tributary: " (account.file) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#says" { "To what it says" }
                h1 { "The collective calls on " (account.file) }
                nav aria-label="Parts of this page" { ul {
                    li { a href="#says" { "In words" } }
                    li { a href="#faster" { "What would be faster" } }
                    @for (id, title, _) in sections { li { a href={ "#" (id) } { (title) } } }
                } }
                main {
                    h2 id="says" { "In words" }
                    ul { @for sentence in &account.summary { li { (sentence) } } }
                    h2 id="faster" { "What would be faster" }
                    (faster(account))
                    @for (id, title, body) in sections { section { h2 id=(id) { (title) } (body) } }
                }
                p.note { "Made by " code { "trib explain" } " from a capture (library " (account.library) "). Times count from the \
                          end of the open on each rank." }
            }
        }
    }
}

fn faster(account: &Account) -> Markup {
    html! {
        @if account.advice.is_empty() { p { "Nothing here stands out." } }
        @else { ul.advice { @for advice in &account.advice { li { (advice.says) } } } }
    }
}

/// A table that can be scrolled with the keyboard; the columns from `numbers` on are of numbers, as far as `words`.
fn table(name: &str, header: &[&str], numbers: std::ops::Range<usize>, rows: &[Vec<String>]) -> Markup {
    let class = |column: usize| numbers.contains(&column).then_some("number");
    html! {
        div.wide tabindex="0" role="region" aria-label=(name) {
            table {
                thead { tr { @for (column, title) in header.iter().enumerate() {
                    th scope="col" class=[class(column)] { (title) }
                } } }
                tbody { @for row in rows.iter().take(ROWS) { tr { @for (column, cell) in row.iter().enumerate() {
                    td class=[class(column)] { (cell) }
                } } } }
            }
        }
        @if rows.len() > ROWS { p.note { "And " (grouped((rows.len() - ROWS) as u64)) " more: " code { "--json" } " has all." } }
    }
}

fn requests(account: &Account) -> Option<Markup> {
    let bars = |way: &Way| {
        let bar = |class: &super::sizes::Class| Bar {
            name: format!("{} to {}", grouped(class.from), grouped(class.to)),
            value: class.requests as f64,
            says: format!("{}, {} bytes", counted(class.requests, "request"), grouped(class.bytes)),
        };
        way.sizes.histogram.iter().map(bar).collect::<Vec<_>>()
    };
    let ways: Vec<(&Way, Vec<Bar>)> = account.directions.iter().map(|way| (way, bars(way))).collect();
    ways.iter().any(|(_, bars)| !bars.is_empty()).then(|| {
        html! {
            @for (way, bars) in ways.iter().filter(|(_, bars)| !bars.is_empty()) {
                figure {
                    (chart::bars("Requests by length", bars))
                    figcaption {
                        (way.direction) "s: bytes of a request; shortest " (grouped(way.sizes.min)) ", median "
                        (grouped(way.sizes.median)) ", longest " (grouped(way.sizes.max)) ". "
                        (counted(way.memory_pieces, "piece")) " of memory."
                    }
                }
            }
        }
    })
}

fn timeline(account: &Account) -> Option<Markup> {
    let from = account.calls.iter().map(|call| call.start).reduce(f64::min)?;
    let to = account.calls.iter().map(|call| call.end).fold(from, f64::max);
    let slowest = account.calls.iter().max_by(|one, other| one.lasted().total_cmp(&other.lasted()))?;
    let has = |direction: &str| account.directions.iter().any(|way| way.direction == direction);
    Some(html! {
        figure {
            (chart::timeline(account, (from, to)))
            figcaption {
                "Each rank, from its first call to the last:"
                @for direction in ["write", "read"] {
                    @if has(direction) { span class={ "key " (direction) } {} (direction) }
                }
                span.key.wait {} "waiting for the last rank to come."
                @if account.ranks > 32 { " Of many ranks, those that kept others waiting and some between them." }
            }
        }
        @if account.calls.len() > 1 {
            figure {
                (chart::timeline(account, (slowest.start, slowest.end)))
                figcaption { "The slowest call, " (slowest.call) ": " (reason(slowest)) "." }
            }
        }
    })
}

fn times(account: &Account) -> Option<Markup> {
    let all = account.phases();
    let bar = |(phase, seconds): (&str, f64)| Bar {
        name: phase.to_string(),
        value: seconds,
        says: format!("{}, {} of the total: {}", time(seconds), percent(seconds, all.total), meaning(phase)),
    };
    let bars: Vec<Bar> = phases(&all).into_iter().map(bar).collect();
    (all.total > 0.0).then(|| {
        html! {
            figure {
                (chart::bars("Time by phase", &bars))
                figcaption {
                    "All calls, " (time(all.total)) " in total. Of each call and phase the rank with the most, and the file system \
                     works while ranks exchange, so that the parts may be more than the total."
                }
            }
        }
    })
}

fn kinds(account: &Account) -> Option<Markup> {
    let row = |kind: &super::kinds::Kind| {
        vec![
            kind.calls(),
            kind.direction.to_string(),
            kind.path.clone(),
            grouped(kind.ranks),
            grouped(kind.requests),
            grouped(kind.bytes),
            kind.plans_reused.to_string(),
            kind.aggregators.to_string(),
            kind.rounds.to_string(),
            format!("{} + {}", grouped(kind.metadata_messages), grouped(kind.data_messages)),
            time(kind.lasted),
            kind.why.clone(),
        ]
    };
    let header = [
        "calls",
        "direction",
        "path",
        "ranks",
        "requests",
        "bytes",
        "plans reused",
        "aggre\u{ad}gators",
        "rounds",
        "messages",
        "took",
        "why",
    ];
    let rows: Vec<Vec<String>> = account.kinds.iter().map(row).collect();
    (!rows.is_empty()).then(|| {
        html! {
            p { "Calls that follow one another and are alike are one row; ranks, requests and bytes are of one call, all else of \
                 all of them. Messages are of lists + of data." }
            (table("What was chosen", &header, 3..11, &rows))
        }
    })
}

fn calls(account: &Account) -> Option<Markup> {
    let mut calls: Vec<_> = account.calls.iter().collect();
    // Of many, those that took longest.
    calls.sort_by(|one, other| other.lasted().total_cmp(&one.lasted()));
    let row = |call: &&super::calls::CallAccount| {
        vec![
            call.call.to_string(),
            time(call.start),
            time(call.lasted()),
            call.last_rank.to_string(),
            time(call.late),
            time(call.waited),
            format!("{} ({})", call.slowest.0, time(call.slowest.1)),
            reason(call),
        ]
    };
    let header =
        ["call", "started", "took", "last to come", "late by", "others waited", "last to leave", "why it took so long"];
    let rows: Vec<Vec<String>> = calls.iter().take(ROWS + 1).map(row).collect();
    (!rows.is_empty()).then(|| {
        html! {
            p { "The slowest first. A call takes from the first rank's start to the last one's end; a rank is late by how much it \
                 came after the median of all ranks." }
            (table("Calls", &header, 0..6, &rows[..rows.len().min(ROWS)]))
            @if calls.len() > ROWS { p.note { "And " (grouped((calls.len() - ROWS) as u64)) " faster ones." } }
        }
    })
}

fn fan_in(account: &Account) -> Option<Markup> {
    if let Some(why) = &account.not_planned {
        return Some(html! { p { "It is not known: " (why) } });
    }
    let way = |call: usize| account.calls.get(call).map_or(String::new(), super::calls::CallAccount::path);
    let rows: Vec<Vec<String>> = account
        .planned
        .iter()
        .map(|plan| {
            let (least, most) = plan
                .windows
                .iter()
                .fold((u64::MAX, 0), |(least, most), window| (least.min(window.least), most.max(window.most)));
            vec![
                plan.call.to_string(),
                way(plan.call),
                plan.aggregators.len().to_string(),
                grouped(plan.rounds),
                format!("{} / {} / {}", plan.fan_in.min, plan.fan_in.median, plan.fan_in.max),
                grouped(plan.metadata_messages),
                grouped(plan.metadata_bytes),
                grouped(plan.data_messages),
                format!("{} to {}", grouped(least.min(most)), grouped(most)),
            ]
        })
        .collect();
    let header = [
        "call",
        "path",
        "aggregators",
        "rounds",
        "fan-in: min / median / max",
        "messages of lists",
        "their bytes",
        "messages of data",
        "bytes of one",
    ];
    (!rows.is_empty()).then(|| {
        html! {
            p { "By the engine's own planning over the captured extents, as messages of flat kernels. A call that went another way \
                 (shared, root, direct) sent no such messages." }
            (table("Fan-in", &header, 2..9, &rows))
            @for plan in account.planned.iter().take(DRAWN) {
                figure {
                    (chart::fan_in(plan))
                    figcaption { "Call " (plan.call) ": ranks that an aggregator has data from, round by round. "
                        @if let Some(more) = chart::left_out(plan) { (more) } }
                }
            }
        }
    })
}

fn ranks(account: &Account) -> Option<Markup> {
    let mut ranks: Vec<_> = account.by_rank.iter().collect();
    ranks.sort_by(|one, other| other.kept_waiting.total_cmp(&one.kept_waiting));
    let row = |rank: &&super::account::RankAccount| {
        vec![
            rank.rank.to_string(),
            rank.node.to_string(),
            grouped(rank.requests),
            grouped(rank.bytes),
            time(rank.in_calls),
            time(rank.waited),
            grouped(rank.last_to as u64),
            time(rank.kept_waiting),
        ]
    };
    let rows: Vec<Vec<String>> = ranks.iter().map(row).collect();
    let header =
        ["rank", "node", "requests", "bytes", "in calls", "waited", "calls it came last to", "kept others waiting"];
    (!account.calls.is_empty()).then(|| {
        html! {
            p { "Those first that kept the others waiting." }
            (table("Ranks", &header, 0..8, &rows))
        }
    })
}

fn hints(account: &Account) -> Option<Markup> {
    let rows: Vec<Vec<String>> = account
        .hints
        .iter()
        .map(|hint| vec![hint.key.to_string(), hint.value.clone(), hint.default.clone(), hint.meaning.clone()])
        .collect();
    Some(html! {
        @if rows.is_empty() { p { "Every hint has its default." } }
        @else { (table("Hints", &["hint", "value", "default", "meaning"], 0..0, &rows)) }
        @for (key, value) in &account.hints_unknown { p { code { (key) "=" (value) } ": this version does not know it." } }
        p.note {
            "Driver " (account.driver) ", unit " (grouped(account.unit)) " bytes, " (counted(u64::from(account.factor), "stripe"))
            "; " (counted(account.aggregators.len() as u64, "aggregator")) "."
        }
    })
}
