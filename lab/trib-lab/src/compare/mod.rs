//! `trib-lab compare`: measures on patterns, in alternation, an MPI library's own I/O with default and with best hints,
//! and our preload library.
//!
//! | module | holds |
//! |---|---|
//! | `task` | the measurements to make, checked |
//! | `setup` | the common state of all measurements |
//! | `cases` | the patterns and their sizes |
//! | `lists` | list files of the patterns |
//! | `mpi` | the MPI library's tools, and our library |
//! | `build`, `sources` | the C program of the patterns, compiled once |
//! | `run` | one run |
//! | `part`, `traffic`, `system_calls` | the output of a run: of the program, our library, strace |
//! | `measure` | all runs of a pattern |
//! | `same` | compares files |
//! | `row`, `rows` | what was found, and the file that keeps it |
//! | `chart` | the picture of the README, in tests |
//! | `floors` | how long links and files with a rate take at least |
//! | `groups` | rows that belong in one table |
//! | `targets` | what rows are to reach, and what they miss |
//! | `show`, `markdown` | tables |

mod build;
mod cases;
#[cfg(test)]
mod chart;
#[cfg(test)]
pub mod damage;
mod floors;
mod groups;
mod lists;
mod markdown;
mod measure;
mod mpi;
mod part;
mod row;
mod rows;
mod run;
mod same;
mod setup;
mod show;
mod sources;
mod system_calls;
mod targets;
mod task;
mod traffic;

use std::time::{Duration, Instant};

use crate::cli::compare::CompareOptions;
use crate::hosts::RunPlace;
use cases::CASES;
use mpi::Mpi;
use row::Row;
use rows::Rows;
use setup::Setup;
use task::Task;
use trib::compare::variant;
use trib::{Failure, listing, progress, say};

/// Lists the patterns, or compares libraries on them.
pub fn run(options: &CompareOptions) -> Result<(), Failure> {
    if options.list {
        return list(options.json);
    }
    task::check(&options.measure)?;
    let wanted = task::wanted(options)?;
    let peers: Vec<_> = options.tools.peers.iter().map(|text| variant::peer(text)).collect::<Result<_, _>>()?;
    options.markdown.iter().try_for_each(|path| markdown::check(path))?;
    let mut mpi = Mpi::of(&options.tools)?;
    if options.measure.hosts.is_some() {
        mpi.check_launcher()?;
    }
    mpi.place = RunPlace::of(&options.measure)?;
    let directories = task::directories(&options.measure, &mpi.place)?;
    let tasks = task::tasks(options, &wanted, &directories)?;
    let mut rows = Rows::open(options.resume.as_deref())?;
    let setup = Setup::new(options, mpi, peers, &directories[0])?;
    let outcome = measure_all(options, &setup, &tasks, &mut rows)?;
    if !options.json {
        say(show::table(&outcome.found))?;
    }
    options.markdown.iter().try_for_each(|path| markdown::write(path, rows.all()))?;
    finish(options, &outcome, tasks.len())
}

/// Result of all tasks.
#[derive(Default)]
struct TasksOutcome {
    found: Vec<Row>,
    failed: usize,
    left: usize,
}

/// Measures one task after another, until the time is over. A failure ends the measurement, except with --all.
fn measure_all(
    options: &CompareOptions,
    setup: &Setup<'_>,
    tasks: &[Task],
    rows: &mut Rows,
) -> Result<TasksOutcome, Failure> {
    let mut outcome = TasksOutcome::default();
    let limit = Duration::try_from_secs_f64(60.0 * options.measure.minutes).unwrap_or(Duration::MAX);
    let (start, bar) = (Instant::now(), progress(tasks.len() as u64, ""));
    bar.enable_steady_tick(Duration::from_millis(500));
    for (number, task) in tasks.iter().enumerate() {
        if start.elapsed() > limit {
            outcome.left = tasks.len() - number;
            break;
        }
        let begin = Instant::now();
        let step = |text: &str| bar.set_message(format!("{}: {text}", task.name()));
        match setup.measure(task, rows, &step) {
            Ok(new) => {
                if options.json {
                    new.iter().try_for_each(|row| say(targets::line(row)?))?;
                }
                outcome.found.extend(new);
            }
            Err(failure) if options.all => {
                outcome.failed += 1;
                bar.suspend(|| eprintln!("trib-lab: {}: {failure}", task.name()));
            }
            Err(failure) => return Err(failure),
        }
        bar.inc(1);
        if bar.is_hidden() {
            let seconds = begin.elapsed().as_secs_f64();
            eprintln!("{}/{} {}: {seconds:.1} s", number + 1, tasks.len(), task.name());
        }
    }
    bar.finish_and_clear();
    Ok(outcome)
}

/// Prints the results. Differing files, and patterns that could not be measured, are an error.
fn finish(options: &CompareOptions, outcome: &TasksOutcome, tasks: usize) -> Result<(), Failure> {
    let TasksOutcome { found, failed, left } = outcome;
    if let Some(row) = found.iter().find(|row| !row.bytes_equal) {
        let (pattern, ranks) = (&row.key.pattern, row.key.ranks);
        return Err(Failure::new(format!(
            "{pattern} on {ranks} ranks: the files have different bytes; allowed: the same"
        )));
    }
    if *failed > 0 {
        return Err(Failure::new(format!("{failed} of {tasks} patterns could not be measured")));
    }
    if *left > 0 {
        let minutes = options.measure.minutes;
        return Err(Failure::new(format!(
            "minutes: {left} of {tasks} patterns are left after {minutes}; allowed: more minutes, or --resume FILE"
        )));
    }
    Ok(())
}

fn list(json: bool) -> Result<(), Failure> {
    if json {
        let row = |case: &cases::PatternCase| serde_json::json!({ "pattern": case.name, "read": case.reads, "about": case.about });
        return CASES.iter().try_for_each(|case| say(row(case)));
    }
    let mut table = listing::table(["pattern", "read", "what it does"]);
    for case in CASES {
        table.add_row([case.name, if case.reads { "-read" } else { "" }, case.about]);
    }
    say(table)
}
