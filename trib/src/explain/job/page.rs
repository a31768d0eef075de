//! A job as one HTML page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Job, OfCall, OfFile};
use crate::explain::chart::{self, Bar};
use crate::explain::page::STYLE;
use crate::explain::sentences::title;
use crate::explain::tables::linked_table;
use crate::numbers::{brief as time, counted, grouped, percent};

/// Maximum number of files in the chart, of files in the table and of calls in the table, so that the page fits on two
/// sheets of paper. `--json` has more.
const DRAWN: usize = 12;
const FILES: usize = 16;
const CALLS: usize = 10;

/// Returns the HTML page of a job.
pub fn html(job: &Job) -> String {
    let programs: Vec<&str> =
        job.programs.iter().map(|program| program.rsplit('/').next().unwrap_or(program)).collect();
    let title = format!("{}, {}", programs.join(", "), job.date());
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "Tributary: " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "The collective I/O of " (title) }
                dl { @for (name, value) in job.about() { dt { (name) } dd { (value) } } }
                main {
                    h2 id="says" { "In words" }
                    ul { @for sentence in &job.summary { li { (sentence) } } }
                    h2 id="next" { "What to do next" }
                    ul.advice { li { (job.next) } }
                    section { h2 id="files" { "Files, the slowest first" } (files(job)) }
                    section { h2 id="calls" { "The slowest calls" } (calls(job)) }
                }
                p.note { "Made by " code { "trib explain" } " from " (counted(job.files.len() as u64, "capture")) " in "
                         (folder(job)) "." }
            }
        }
    }
    .into_string()
}

fn folder(job: &Job) -> String {
    job.files.first().and_then(|file| file.capture.parent()).map_or(String::new(), |at| at.display().to_string())
}

fn files(job: &Job) -> Markup {
    let bar = |file: &OfFile| Bar {
        name: shortened(&file.name),
        value: file.in_calls,
        says: format!("{}, {}", time(file.in_calls), percent(file.in_calls, job.in_calls)),
    };
    let bars: Vec<Bar> = job.files.iter().take(DRAWN).map(bar).collect();
    let has_advice = job.files.iter().take(FILES).any(|file| !file.advice.is_empty());
    let row = |file: &OfFile| {
        let (phase, seconds) = file.longest;
        let mut row = vec![
            file.name.clone(),
            file.ranks.to_string(),
            grouped(file.calls as u64),
            grouped(file.written),
            grouped(file.read),
            time(file.in_calls),
            time(file.waited),
            format!("{}, {}", title(phase, file.copying), time(seconds)),
        ];
        row.extend(has_advice.then(|| file.advice.first().cloned().unwrap_or_default()));
        row
    };
    let rows: Vec<_> = job.files.iter().take(FILES).map(row).collect();
    let mut header =
        vec!["file", "ranks", "calls", "bytes written", "bytes read", "in calls", "waiting", "longest phase"];
    header.extend(has_advice.then_some("next step"));
    html! {
        figure.short {
            (chart::bars("Time in calls by file", &bars))
            figcaption {
                "Time that a rank was in calls of each file, on average over " (counted(job.ranks as u64, "rank")) ". The longest \
                 phase has the time of the rank with the most in each call."
            }
        }
        (linked_table("Files", &header, 1..7, &rows, job.has_pages))
        @if job.files.len() > FILES {
            p.note { "And " (grouped((job.files.len() - FILES) as u64)) " more: " code { "--json" } " has all." }
        }
    }
}

fn calls(job: &Job) -> Markup {
    let row = |call: &OfCall| {
        vec![
            call.file.clone(),
            call.call.to_string(),
            call.direction.to_string(),
            grouped(call.bytes),
            time(call.start),
            time(call.took),
            call.longest.clone(),
        ]
    };
    let rows: Vec<_> = job.calls.iter().take(CALLS).map(row).collect();
    let header = ["file", "call", "direction", "bytes", "began", "took", "longest part"];
    html! {
        p { "From the first rank's start to the last one's end; began: since the first open of the job." }
        (linked_table("The slowest calls", &header, 3..6, &rows, job.has_pages))
    }
}

/// Shortens a name that is too long to stand before a bar. The end stays, because the ends of names differ.
fn shortened(name: &str) -> String {
    const LONGEST: usize = 26;
    let characters: Vec<char> = name.chars().collect();
    match characters.len().checked_sub(LONGEST) {
        None | Some(0) => name.to_string(),
        Some(over) => format!("\u{2026}{}", characters[over + 1..].iter().collect::<String>()),
    }
}
