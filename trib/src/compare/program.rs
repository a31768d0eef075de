//! Measures any unmodified program, alternately without and with the library, and the time inside MPI's file functions.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::mpi;
use super::statistics::{Ratio, median};
use super::variant::{ABOUT_VULCAN, WITH_VULCAN, is_individual};
use super::{build, process};
use crate::cli::compare::CompareOptions;
use crate::hosts::{self, Place};
use crate::launcher::command::Ready;
use crate::launcher::library::library;
use crate::launcher::{self, Family, Launcher};
use crate::{Failure, listing, say};

/// A run that takes longer is assumed to hang.
const LIMIT: Duration = Duration::from_secs(3600);

/// The variable that names the folder of the ranks' records.
pub const INSIDE: &str = "TRIB_COMPARE_INSIDE";

/// The record that a rank writes when it ends.
#[derive(Debug, Deserialize)]
struct Rank {
    calls: BTreeMap<String, Function>,
    seconds: f64,
    cpu: f64,
    context_switches: f64,
    page_faults: f64,
    peak_bytes: f64,
}

/// Calls of one function.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Function {
    calls: f64,
    seconds: f64,
}

/// The costs of runs, one number for each run.
#[derive(Debug, Default, Serialize)]
struct Runs {
    /// Seconds inside MPI_File_*, on the rank with the longest time there.
    inside_seconds: Vec<f64>,
    wall_seconds: Vec<f64>,
    /// Processor seconds of all ranks.
    cpu_seconds: Vec<f64>,
    context_switches: Vec<f64>,
    page_faults: Vec<f64>,
    /// Peak memory of the largest rank in bytes.
    peak_bytes: Vec<f64>,
    /// By function, in the last run: calls of all ranks, and seconds of the slowest rank.
    functions: BTreeMap<String, Function>,
    ranks: usize,
}

/// The runs without and with the library, and the ratios: without divided by with.
#[derive(Debug, Serialize)]
struct Outcome<'a> {
    command: &'a [String],
    pairs: u64,
    ranks: usize,
    inside_ratio: Option<Ratio>,
    wall_ratio: Option<Ratio>,
    cpu_ratio: Option<Ratio>,
    default: Runs,
    ours: Runs,
    /// Without the library, with a collective component; on few ranks of Open MPI.
    #[serde(skip_serializing_if = "Option::is_none")]
    vulcan: Option<Runs>,
}

/// Runs the command alternately without and with the library, and prints the results.
pub fn run(options: &CompareOptions) -> Result<(), Failure> {
    let start = start(options)?;
    let library = library(options.tools.library.as_deref())?;
    let inside = build::inside()?.display().to_string();
    let both = format!("{inside}:{}", library.display());
    let (mut default, mut ours, mut vulcan) = (Runs::default(), Runs::default(), None);
    let names_one =
        options.command.iter().any(|word| word.contains("fcoll")) || std::env::var_os(WITH_VULCAN.0).is_some();
    let bar = super::progress(options.measure.pairs, "");
    for pair in 0..options.measure.pairs {
        bar.set_message(format!("pair {} of {}", pair + 1, options.measure.pairs));
        once(&options.command, &start, (&inside, None), &mut default)?;
        once(&options.command, &start, (&both, None), &mut ours)?;
        // The number of ranks is known from the first run.
        if !names_one && start.family().is_some_and(|family| is_individual(family, default.ranks as u64)) {
            let with = (inside.as_str(), Some(WITH_VULCAN));
            once(&options.command, &start, with, vulcan.get_or_insert_with(Runs::default))?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let outcome = Outcome {
        command: &options.command,
        pairs: options.measure.pairs,
        ranks: default.ranks,
        inside_ratio: Ratio::of(&default.inside_seconds, &ours.inside_seconds),
        wall_ratio: Ratio::of(&default.wall_seconds, &ours.wall_seconds),
        cpu_ratio: Ratio::of(&default.cpu_seconds, &ours.cpu_seconds),
        default,
        ours,
        vulcan,
    };
    if options.json { say(serde_json::to_string(&outcome)?) } else { say(table(&outcome)) }
}

/// What starts the command, and where.
struct Start {
    launcher: Option<&'static Launcher>,
    place: Place,
    ranks: u64,
}

impl Start {
    fn family(&self) -> Option<Family> {
        self.launcher.and_then(|launcher| launcher.family)
    }
}

/// The launcher of the command, on the hosts that are asked for.
fn start(options: &CompareOptions) -> Result<Start, Failure> {
    let (words, measure) = (&options.command, &options.measure);
    let Some(hosts) = measure.hosts else {
        return Ok(Start { launcher: launcher::of(&words[0])?, place: Place::Here, ranks: 1 });
    };
    let launcher = Some(mpi::check_launcher(&words[0])?);
    let ranks = hosts::ranks_of(words).filter(|ranks| ranks.is_multiple_of(hosts)).ok_or_else(|| {
        let what = words.join(" ");
        Failure::new(format!(
            "hosts: {hosts} with {what}; allowed: a command with -n, and hosts that divide its number"
        ))
    })?;
    match Place::of(measure)? {
        place @ Place::Emulated(_) => Ok(Start { launcher, place, ranks }),
        _ => Err(Failure::new("hosts: a program of yours cannot have pretended ones; allowed: root, or no --hosts")),
    }
}

/// Makes one run, with these libraries preloaded, and another variable set.
fn once(
    words: &[String],
    start: &Start,
    (preload, other): (&str, Option<(&str, &str)>),
    runs: &mut Runs,
) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().display().to_string();
    let own = [("LD_PRELOAD", preload), (INSIDE, place.as_str())];
    let variables: Vec<_> =
        own.into_iter().chain(other).map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let ready = Ready::new(start.launcher, words, &variables, |name| std::env::var(name).ok())?;
    let mut command = match start.place.emulated() {
        Some(hosts) => hosts.command(&words[0], start.ranks / hosts.count())?,
        None => Command::new(&words[0]),
    };
    command.envs(ready.environment).args(&ready.words[1..]);
    let output = process::run(&mut command, LIMIT)?;
    let ranks = ranks(folder.path())?;
    if ranks.iter().all(|rank| rank.calls.is_empty()) {
        let what = words.join(" ");
        return Err(Failure::new(format!(
            "command: {what}: no rank called MPI_File_*; allowed: programs that write or read by MPI-IO"
        )));
    }
    runs.wall_seconds.push(output.seconds);
    let largest = |of: &dyn Fn(&Rank) -> f64| ranks.iter().map(of).fold(0.0, f64::max);
    let sum = |of: &dyn Fn(&Rank) -> f64| ranks.iter().map(of).sum();
    runs.inside_seconds.push(largest(&|rank| rank.seconds));
    runs.cpu_seconds.push(sum(&|rank| rank.cpu));
    runs.context_switches.push(sum(&|rank| rank.context_switches));
    runs.page_faults.push(sum(&|rank| rank.page_faults));
    runs.peak_bytes.push(largest(&|rank| rank.peak_bytes));
    runs.functions.clear();
    for (name, function) in ranks.iter().flat_map(|rank| &rank.calls) {
        let all = runs.functions.entry(name.clone()).or_default();
        all.calls += function.calls;
        all.seconds = all.seconds.max(function.seconds);
    }
    runs.ranks = ranks.len();
    Ok(())
}

/// Seconds inside MPI_File_* on the rank with the longest time there, if any rank called it; and the number of ranks.
///
/// # Errors
/// A record that cannot be read.
pub fn seconds_inside(folder: &Path) -> Result<(Option<f64>, usize), Failure> {
    let ranks = ranks(folder)?;
    let that_called = ranks.iter().filter(|rank| !rank.calls.is_empty());
    Ok((that_called.map(|rank| rank.seconds).reduce(f64::max), ranks.len()))
}

/// The records of all ranks.
fn ranks(folder: &Path) -> Result<Vec<Rank>, Failure> {
    let read = |entry: std::io::Result<std::fs::DirEntry>| -> Result<Rank, Failure> {
        Ok(serde_json::from_str(&std::fs::read_to_string(entry?.path())?)?)
    };
    std::fs::read_dir(folder)?.map(read).collect()
}

fn table(outcome: &Outcome<'_>) -> String {
    let middle = |values: &[f64]| median(values).unwrap_or_default();
    let mut table = listing::table(["", "without", "with", "ratio", "least", "most"]);
    let ratio = |ratio: Option<Ratio>| {
        ratio.map_or([const { String::new() }; 3], |r| [r.median, r.min, r.max].map(|value| format!("{value:.2}")))
    };
    let Outcome { default, ours, .. } = outcome;
    let mut times = vec![
        ("inside MPI_File_*, s", &default.inside_seconds, &ours.inside_seconds, outcome.inside_ratio),
        ("from start to end, s", &default.wall_seconds, &ours.wall_seconds, outcome.wall_ratio),
        ("processor, all ranks, s", &default.cpu_seconds, &ours.cpu_seconds, outcome.cpu_ratio),
    ];
    times.extend(outcome.vulcan.as_ref().map(|vulcan| {
        let (theirs, own) = (&vulcan.inside_seconds, &ours.inside_seconds);
        ("inside MPI_File_*, vulcan, s", theirs, own, Ratio::of(theirs, own))
    }));
    for (name, default, ours, found) in times {
        let [median, min, max] = ratio(found);
        table.add_row([
            name.to_string(),
            format!("{:.4}", middle(default)),
            format!("{:.4}", middle(ours)),
            median,
            min,
            max,
        ]);
    }
    for (name, default, ours) in [
        ("context switches", &default.context_switches, &ours.context_switches),
        ("page faults", &default.page_faults, &ours.page_faults),
        ("memory of the largest rank, MB", &default.peak_bytes, &ours.peak_bytes),
    ] {
        let unit = if name.ends_with("MB") { 1e6 } else { 1.0 };
        table.add_row([
            name.to_string(),
            format!("{:.0}", middle(default) / unit),
            format!("{:.0}", middle(ours) / unit),
        ]);
    }
    for (name, function) in &outcome.default.functions {
        let with = outcome.ours.functions.get(name).copied().unwrap_or_default();
        let text = |function: Function| format!("{:.4}", function.seconds);
        table.add_row([format!("{name}, {:.0} calls, s", function.calls), text(*function), text(with)]);
    }
    let note = outcome.vulcan.as_ref().map_or(String::new(), |_| format!("\n{ABOUT_VULCAN}"));
    format!(
        "{table}\n{} ranks, medians of {} pairs; ratio: without divided by with, pair by pair{note}",
        outcome.ranks, outcome.pairs
    )
}
