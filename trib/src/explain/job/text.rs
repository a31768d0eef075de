//! A job as text for a terminal.

use super::{Job, OfCall, OfFile};
use crate::explain::sentences::title;
use crate::listing::{entry, table};
use crate::numbers::{brief as time, grouped, percent};

/// Maximum number of files in the table; the table of calls has a third of this number. `--json` has more.
const ROWS: usize = 24;

/// Returns the text of a job, with sentences folded at `width`, if there is one.
pub fn of(job: &Job, width: Option<usize>) -> String {
    let about = job.about().into_iter().map(|(name, value)| format!("{:<11}{value}", format!("{name}:")));
    let mut text = about.collect::<Vec<_>>().join("\n");
    let summary: String = job.summary.iter().map(|sentence| entry("", sentence, 0, width)).collect();
    text += &format!("\n\n{summary}\nWhat to do next\n{}", entry("", &job.next, 0, width));
    let mut files = table([
        "file",
        "ranks",
        "calls",
        "bytes written",
        "bytes read",
        "in calls",
        "of all",
        "waiting",
        "longest phase",
    ]);
    for file in job.files.iter().take(ROWS) {
        let OfFile { name, ranks, calls, written, read, in_calls, waited, longest: (phase, seconds), copying, .. } =
            file;
        files.add_row([
            name.clone(),
            ranks.to_string(),
            grouped(*calls as u64),
            grouped(*written),
            grouped(*read),
            time(*in_calls),
            percent(*in_calls, job.in_calls),
            time(*waited),
            format!("{} {}", title(phase, *copying), time(*seconds)),
        ]);
    }
    text += &format!("\nFiles, the slowest first: seconds of a rank, on average\n{files}\n{}", more(job.files.len()));
    let mut calls = table(["file", "call", "direction", "bytes", "began", "took", "longest part"]);
    for OfCall { file, call, direction, bytes, start, took, longest, .. } in job.calls.iter().take(ROWS / 3) {
        calls.add_row([
            file.clone(),
            call.to_string(),
            direction.to_string(),
            grouped(*bytes),
            time(*start),
            time(*took),
            longest.clone(),
        ]);
    }
    text + &format!("\nThe slowest calls; began: since the first open\n{calls}")
}

fn more(files: usize) -> String {
    match files.saturating_sub(ROWS) {
        0 => String::new(),
        hidden => format!("and {} more: --json has all\n", grouped(hidden as u64)),
    }
}
