//! Results of all contenders, and their table.

use std::collections::BTreeMap;

use comfy_table::Table;
use serde::Serialize;

use super::super::statistics::{Ratio, median};
use super::super::variant::{ABOUT_VULCAN, VULCAN};
use super::runs::{FunctionCost, RunCosts};
use super::{BEST, DEFAULT, OURS, Turn};
use crate::cli::compare::CompareOptions;
use crate::cli::slow_file::SlowFileOptions;
use crate::{Failure, listing, say};

/// Runs of all contenders. A ratio is another contender's number divided by ours.
#[derive(Debug, Serialize)]
pub struct ProgramOutcome<'a> {
    command: &'a [String],
    pairs: u64,
    ranks: usize,
    hosts: usize,
    /// What our library was in its runs: the preload library, or the component of Open MPI.
    loaded: String,
    ours: RunCosts,
    peers: BTreeMap<String, Peer>,
    #[serde(skip)]
    slow_file: &'a SlowFileOptions,
}

/// Contender other than our library.
#[derive(Debug, Serialize)]
struct Peer {
    setting: String,
    /// Lines for a shell that set the hints.
    #[serde(skip)]
    exports: String,
    /// Ratio of the times by the program's own timer, if one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    timed_ratio: Option<Ratio>,
    inside_ratio: Option<Ratio>,
    wall_ratio: Option<Ratio>,
    cpu_ratio: Option<Ratio>,
    #[serde(flatten)]
    runs: RunCosts,
}

impl<'a> ProgramOutcome<'a> {
    /// Creates the results from the runs of all contenders; one of them is our library.
    pub fn from_turns(options: &'a CompareOptions, turns: Vec<Turn>) -> Self {
        let (ours, others): (Vec<Turn>, Vec<Turn>) = turns.into_iter().partition(|turn| turn.contender.name == OURS);
        let ours = ours.into_iter().next().map(|turn| (turn.contender.setting, turn.runs));
        let (loaded, ours) = ours.unwrap_or_default();
        let peer = |Turn { contender, runs }: Turn| {
            let peer = Peer {
                exports: contender.exports(),
                setting: contender.setting,
                timed_ratio: Ratio::from_times(&runs.timed_seconds, &ours.timed_seconds),
                inside_ratio: Ratio::from_times(&runs.inside_seconds, &ours.inside_seconds),
                wall_ratio: Ratio::from_times(&runs.wall_seconds, &ours.wall_seconds),
                cpu_ratio: Ratio::from_times(&runs.cpu_seconds, &ours.cpu_seconds),
                runs,
            };
            (contender.name, peer)
        };
        let peers = others.into_iter().map(peer).collect();
        let (ranks, hosts) = (ours.ranks, ours.hosts);
        let (command, pairs, slow_file) = (&options.command[..], options.pairs, &options.slow_file);
        Self { command, pairs, ranks, hosts, loaded, ours, peers, slow_file }
    }

    /// Prints the results as JSON or as a table.
    ///
    /// # Errors
    /// Errors of standard output.
    pub fn print(&self, json: bool) -> Result<(), Failure> {
        if json { say(serde_json::to_string(self)?) } else { say(self.text()) }
    }

    fn text(&self) -> String {
        let mut table = listing::table(["", "without", "with", "ratio", "least", "most"]);
        if let Some(default) = self.peers.get(DEFAULT) {
            self.add_times(&mut table, default);
            self.add_others(&mut table);
            self.add_files(&mut table, &default.runs);
            self.add_counts(&mut table, &default.runs);
        }
        let (ranks, pairs, loaded) = (self.ranks, self.pairs, &self.loaded);
        let note = self.peers.get(VULCAN).map_or(String::new(), |_| format!("\n{ABOUT_VULCAN}"));
        let about = format!(
            "{ranks} ranks, medians of {pairs} pairs; ratio: without divided by with, pair by pair; loaded as {loaded}{note}"
        );
        let about: String = about.lines().map(|line| listing::entry("", line, 0, listing::width())).collect();
        let best = self
            .peers
            .get(BEST)
            .map(|best| format!("\nthe best hints of the MPI library, for a shell:\n{}", best.exports));
        format!("{table}\n{}{}", about.trim_end(), best.unwrap_or_default())
    }

    /// Adds the rows with the times of our library and of the MPI library's defaults.
    fn add_times(&self, table: &mut Table, default: &Peer) {
        let (theirs, ours) = (&default.runs, &self.ours);
        if !theirs.timed_seconds.is_empty() {
            let (theirs, ours) = (&theirs.timed_seconds, &ours.timed_seconds);
            add_time(table, "the program's timer, s", (theirs, ours), default.timed_ratio);
        }
        let both = (&*theirs.inside_seconds, &*ours.inside_seconds);
        add_time(table, "inside MPI_File_*, s", both, default.inside_ratio);
        let both = (&*theirs.wall_seconds, &*ours.wall_seconds);
        add_time(table, "from start to end, s", both, default.wall_ratio);
        let both = (&*theirs.cpu_seconds, &*ours.cpu_seconds);
        add_time(table, "processor, all ranks, s", both, default.cpu_ratio);
    }

    /// Adds the rows of the other contenders, with the time that counts.
    fn add_others(&self, table: &mut Table) {
        for (name, peer) in self.peers.iter().filter(|(name, _)| *name != DEFAULT) {
            let what = if peer.runs.timed_seconds.is_empty() { "inside MPI_File_*" } else { "the program's timer" };
            let (theirs, ours) = (peer.runs.counted(), self.ours.counted());
            let once = if theirs.len() < ours.len() { ", one run" } else { "" };
            add_time(
                table,
                &format!("{what}, {name} ({}{once}), s", peer.setting),
                (theirs, ours),
                Ratio::from_times(theirs, ours),
            );
        }
    }

    /// Adds the rows about slow files: the bytes and calls that reached them, and the time divided by its lower bound.
    fn add_files(&self, table: &mut Table, default: &RunCosts) {
        let moved = [default, &self.ours].map(|runs| [&runs.file_bytes, &runs.file_calls].map(|all| middle_of(all)));
        let floors = moved.map(|[bytes, _]| self.slow_file.floor(bytes, self.hosts as u64));
        let [Some(without), Some(with)] = floors else { return };
        let parts = [middle(default.counted()) / without, middle(self.ours.counted()) / with];
        for (name, values, digits) in [
            ("read and written in files, MB", moved.map(|[bytes, _]| bytes / 1e6), 2),
            ("reads and writes of files", moved.map(|[_, calls]| calls), 0),
            ("file floor of these bytes, s", [without, with], 4),
            ("time in units of the floor", parts, 2),
        ] {
            let [without, with] = values.map(|value| format!("{value:.digits$}"));
            table.add_row([name.to_string(), without, with]);
        }
    }

    fn add_counts(&self, table: &mut Table, default: &RunCosts) {
        let ours = &self.ours;
        for (name, default, ours) in [
            ("context switches", &default.context_switches, &ours.context_switches),
            ("page faults", &default.page_faults, &ours.page_faults),
            ("memory of the largest rank, MB", &default.peak_bytes, &ours.peak_bytes),
        ] {
            let unit = if name.ends_with("MB") { 1e6 } else { 1.0 };
            let text = |values: &[f64]| format!("{:.0}", middle(values) / unit);
            table.add_row([name.to_string(), text(default), text(ours)]);
        }
        for (name, function) in &default.functions {
            let with = ours.functions.get(name).copied().unwrap_or_default();
            if let Some(row) = function_row(name, *function, with) {
                table.add_row(row);
            }
        }
    }
}

/// Returns the row of an MPI function; none if its time shows as zero on both sides.
fn function_row(name: &str, without: FunctionCost, with: FunctionCost) -> Option<[String; 3]> {
    let [before, after] = [without.seconds, with.seconds].map(|seconds| format!("{seconds:.4}"));
    let is_zero = [&before, &after].iter().all(|text| *text == "0.0000");
    (!is_zero).then(|| [format!("{name}, {:.0} calls, s", without.calls), before, after])
}

fn add_time(table: &mut Table, name: &str, (theirs, ours): (&[f64], &[f64]), found: Option<Ratio>) {
    let ratios = found.map(|ratio| [ratio.median, ratio.min, ratio.max].map(|value| format!("{value:.2}")));
    let [median, least, most] = ratios.unwrap_or_default();
    let text = |values: &[f64]| format!("{:.4}", middle(values));
    table.add_row([name.to_string(), text(theirs), text(ours), median, least, most]);
}

fn middle_of(counts: &[u64]) -> f64 {
    middle(&counts.iter().map(|count| *count as f64).collect::<Vec<_>>())
}

fn middle(values: &[f64]) -> f64 {
    median(values).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_zeros_are_left_out() {
        let of = |seconds| FunctionCost { calls: 4.0, seconds };
        assert_eq!(function_row("MPI_File_get_info", of(0.00001), of(0.00004)), None);
        let due = ["MPI_File_open, 4 calls, s", "0.0000", "0.0010"].map(str::to_string);
        assert_eq!(function_row("MPI_File_open", of(0.0), of(0.001)), Some(due));
    }
}
