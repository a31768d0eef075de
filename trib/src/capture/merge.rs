//! `trib capture merge`: merges several captures into one.

use std::time::Duration;

use tributary::engine::Capture;
use tributary::engine::capture::{Call, CallOutcome, Header, write};

use crate::cli::capture::MergeOptions;
use crate::{Failure, say};

/// Merges the captures that the options name: writes the calls of all, in the order in which rank 0 made them.
pub fn run(options: &MergeOptions) -> Result<(), Failure> {
    let captures = options.captures.iter().map(Capture::open).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = captures.first() else { return Err(Failure::missing("captures")) };
    if let Some(other) = captures.iter().find(|other| other.header().ranks != first.header().ranks) {
        let (ranks, shown) = (first.header().ranks, other.path().display());
        let found = other.header().ranks;
        return Err(Failure::new(format!(
            "{shown} is of {found} ranks; allowed: {ranks}, as {}",
            first.path().display()
        )));
    }
    let order = order(&captures)?;
    let header = header(&captures, first);
    let outcomes = captures.iter().map(Capture::outcomes).collect::<Result<Vec<_>, _>>()?;
    let outcomes: Vec<CallOutcome> = order
        .iter()
        .zip(0..)
        .filter_map(|(&(capture, call), number)| {
            Some(CallOutcome { call: number, ..outcomes[capture].get(call)?.clone() })
        })
        .collect();
    let mut calls = |rank| -> tributary::Result<Vec<Call>> {
        let all = captures.iter().map(|capture| capture.rank(rank)).collect::<Result<Vec<_>, _>>()?;
        let moved = |&(capture, call): &(usize, usize)| {
            let mut call = all[capture].get(call)?.clone();
            call.start += later(&captures[capture], &header);
            Some(call)
        };
        Ok(order.iter().filter_map(moved).collect())
    };
    write(&options.output, &header, &outcomes, &mut calls)?;
    say(format!("{}: {} calls of {} captures", options.output.display(), order.len(), captures.len()))
}

/// Returns how much later the file of a capture was opened than the first file.
fn later(capture: &Capture, all: &Header) -> Duration {
    Duration::try_from_secs_f64(capture.header().opened - all.opened).unwrap_or_default()
}

/// Returns all calls as (capture, call), in the order in which rank 0 made them.
fn order(captures: &[Capture]) -> Result<Vec<(usize, usize)>, Failure> {
    let mut all = Vec::new();
    for (index, capture) in captures.iter().enumerate() {
        for (number, call) in capture.rank(0)?.iter().enumerate() {
            all.push((capture.header().opened + call.start.as_secs_f64(), (index, number)));
        }
    }
    all.sort_by(|(one, at), (other, of)| one.total_cmp(other).then(at.cmp(of)));
    Ok(all.into_iter().map(|(_, call)| call).collect())
}

/// Returns the header of the merged capture: the header of `first` with the names of all files and the time of all captures.
fn header(captures: &[Capture], first: &Capture) -> Header {
    let headers = || captures.iter().map(Capture::header);
    let mut files: Vec<&str> = headers().map(|header| header.file.as_str()).collect();
    files.dedup();
    let opened = headers().map(|header| header.opened).fold(f64::INFINITY, f64::min);
    let closed = headers().map(|header| header.opened + header.seconds).fold(opened, f64::max);
    Header { file: files.join(", "), opened, seconds: closed - opened, not_captured: None, ..first.header().clone() }
}
