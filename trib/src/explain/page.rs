//! The account as one HTML page without scripts and network access, light or dark as the reader's browser is set.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use tributary::engine::Seconds;

use super::account::{Account, DirectionAccount};
use super::chart::{self, Bar};
use super::sentences::{Copying, meaning, phases, reason, title};
use super::tables;
use crate::numbers::{brief as time, counted, grouped};

/// Style sheet of all pages.
pub const STYLE: &str = include_str!("page.css");

/// A section of the page: (anchor, title, content).
type Section = (&'static str, &'static str, Markup);

/// Returns the HTML page of an account, with a link to the page of its `job`, if there is one.
pub fn html(account: &Account, job: Option<&str>) -> String {
    let sections: Vec<Section> = [
        ("requests", "Requests by length", requests(account)),
        ("timeline", "Calls over time", timeline(account)),
        ("phases", "Time by phase", times(account)),
        ("chosen", "What was chosen", tables::kinds(account)),
        ("calls", "Calls, and who waited for whom", tables::calls(account)),
        ("fan-in", "Fan-in and message sizes", tables::fan_in(account)),
        ("ranks", "Ranks", tables::ranks(account)),
        ("aggregators", "Aggregators", tables::aggregators(account)),
        ("hints", "Hints in force", tables::hints(account)),
        ("ignored", "Hints ignored, and why", tables::hints_unused(account)),
    ]
    .into_iter()
    .filter_map(|(id, title, body)| Some((id, title, body?)))
    .collect();
    page(account, job, &sections).into_string()
}

fn page(account: &Account, job: Option<&str>, sections: &[Section]) -> Markup {
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
                    @if let Some(job) = job { li { a href=(job) { "All files of the job" } } }
                    li { a href="#says" { "In words" } }
                    li { a href="#faster" { "What would be faster" } }
                    @for (id, title, _) in sections { li { a href={ "#" (id) } { (title) } } }
                } }
                main {
                    p.verdict { (account.verdict) }
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
        @if account.advice.is_empty() { p { "Nothing." } }
        @else { ul.advice { @for advice in &account.advice { li { (advice.says) } } } }
    }
}

fn requests(account: &Account) -> Option<Markup> {
    let bars = |way: &DirectionAccount| {
        let bar = |class: &super::sizes::Class| Bar {
            name: format!("{} to {}", grouped(class.from), grouped(class.to)),
            value: class.requests as f64,
            says: format!("{}, {} bytes", counted(class.requests, "request"), grouped(class.bytes)),
        };
        way.sizes.histogram.iter().filter(|class| class.requests > 0).map(bar).collect::<Vec<_>>()
    };
    let ways: Vec<(&DirectionAccount, Vec<Bar>)> = account.directions.iter().map(|way| (way, bars(way))).collect();
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
    let slowest = *account.slowest_calls().first()?;
    // Shorter waits would be thinner than about a pixel in the drawing.
    let has_waiting = account.calls.iter().map(|call| call.waited).fold(0.0, f64::max) > 1e-3 * (to - from);
    let has = |direction: &str| account.directions.iter().any(|way| way.direction == direction);
    let has_rounds = chart::has_rounds(account, (from, to));
    let own = slowest.report.as_ref().map(|report| report.seconds).unwrap_or_default();
    let own = phase_bars(&own, Copying::of_call(slowest));
    Some(html! {
        figure {
            (chart::timeline(account, (from, to)))
            figcaption {
                "Each rank, from its first call to the last:"
                @for direction in ["write", "read"] {
                    @if has(direction) { (tables::key(direction, direction)) }
                }
                @if has_waiting { (tables::key("wait", "waiting for the last rank to come")) }
                @if has_rounds {
                    (tables::key("exchange", "an aggregator exchanges data"))
                    (tables::key("file", "it is in the file system"))
                }
                "."
                @if account.ranks > 32 { " Of many ranks, those that kept others waiting and some between them." }
            }
        }
        @if account.calls.len() > 1 {
            figure {
                (chart::timeline(account, (slowest.start, slowest.end)))
                figcaption { "The slowest call, " (slowest.call) ": " (reason(slowest)) "." }
            }
        }
        @if !own.is_empty() {
            figure {
                (chart::bars("Phases of the slowest call", &own))
                figcaption {
                    @if account.calls.len() > 1 { "The phases of call " (slowest.call) "." } @else { "The phases of the call." }
                    " A capture has how long each phase of a call took on the rank with the most"
                    @if has_rounds { "; it has when a phase began only for aggregators that exchange data, as drawn above." }
                    @else { ", and not when it began: the lanes above have no phases for this reason." }
                }
            }
        }
    })
}

/// Returns a bar for each phase that took time.
fn phase_bars(seconds: &Seconds, copying: Copying) -> Vec<Bar> {
    let bar = |(phase, seconds): (&'static str, f64)| Bar {
        name: title(phase, copying).to_string(),
        value: seconds,
        says: format!("{}: {}", time(seconds), meaning(phase, copying)),
    };
    phases(seconds).into_iter().filter(|(_, seconds)| *seconds > 0.0).map(bar).collect()
}

fn times(account: &Account) -> Option<Markup> {
    let all = account.phases();
    let bars = phase_bars(&all, Copying::of(account));
    // If there is only one call, the section of the timeline shows its phases.
    (all.total > 0.0 && account.calls.len() > 1).then(|| {
        html! {
            figure {
                (chart::bars("Time by phase", &bars))
                figcaption {
                    "All calls, which took " (time(all.total)) ". A bar is the time of the rank with the most, call by call. \
                     Phases of different ranks, and exchange and file system, run at the same time."
                }
            }
        }
    })
}
