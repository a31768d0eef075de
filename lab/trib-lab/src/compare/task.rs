//! Lists the measurements that the options ask for, and checks them before anything runs.

use std::path::PathBuf;

use super::cases::{CASES, PatternCase, Sizes, names};
use crate::cli::compare::{CompareOptions, MeasureOptions};
use crate::hosts::{self, RunPlace};
use trib::Failure;
use trib::parallel::processors;
use tributary::hints::similar;

/// Refuses option values with which nothing can be measured.
pub fn check(measure: &MeasureOptions) -> Result<(), Failure> {
    if !(measure.scale > 0.0 && measure.scale <= 1.0) {
        return Err(Failure::new(format!("scale: {}; allowed: above 0, up to 1", measure.scale)));
    }
    if !(measure.budget >= 0.0 && measure.budget.is_finite()) {
        return Err(Failure::new(format!("budget: {}; allowed: 0 seconds or more", measure.budget)));
    }
    if measure.minutes.is_nan() || measure.minutes <= 0.0 {
        return Err(Failure::new(format!("minutes: {}; allowed: above 0", measure.minutes)));
    }
    if let Some(map) = [&measure.map_f, &measure.map_g, &measure.map_i].into_iter().flatten().find(|map| !map.is_file())
    {
        return Err(Failure::new(format!(
            "map: {}: no such file; allowed: a decomposition map of E3SM-IO",
            map.display()
        )));
    }
    hosts::check_shape(measure)
}

/// Returns the chosen patterns, each with the operations to measure: write (0), read (1).
pub fn wanted(options: &CompareOptions) -> Result<Vec<(&'static PatternCase, Vec<usize>)>, Failure> {
    let names = names();
    if let Some(unknown) = options.patterns.iter().find(|name| !names.contains(name)) {
        let next = match similar(unknown, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("allowed: {}; `trib-lab compare --list` describes them", names.join(", ")),
        };
        return Err(Failure::new(format!("pattern: {unknown}; {next}")));
    }
    let asks = |name: &str| options.all || options.patterns.iter().any(|wanted| wanted == name);
    let operations =
        |case: &PatternCase| [asks(case.name).then_some(0), (case.reads && asks(&case.read_name())).then_some(1)];
    let wanted: Vec<_> =
        CASES.iter().map(|case| (case, operations(case).into_iter().flatten().collect::<Vec<_>>())).collect();
    hosts::check(&options.measure)?;
    let wanted: Vec<_> = wanted.into_iter().filter(|(_, operations)| !operations.is_empty()).collect();
    if wanted.is_empty() {
        return Err(Failure::new(
            "pattern: none is named; allowed: --pattern NAME, --all, or -- and a command (--list names them)",
        ));
    }
    Ok(wanted)
}

/// Returns the directories for files. By default, files are on the file system that emulated hosts share, or in memory.
pub fn directories(measure: &MeasureOptions, place: &RunPlace) -> Result<Vec<PathBuf>, Failure> {
    let memory = PathBuf::from("/dev/shm");
    let default = || match place.emulated() {
        Some(hosts) => hosts.directory(),
        None if memory.is_dir() => memory.clone(),
        None => std::env::temp_dir(),
    };
    let all = if measure.directories.is_empty() { vec![default()] } else { measure.directories.clone() };
    for directory in &all {
        tempfile::tempfile_in(directory).map_err(|cause| {
            Failure::new(format!("directory: {}: {cause}; allowed: one that can be written", directory.display()))
        })?;
    }
    Ok(all)
}

/// Measurement to make: a pattern, on a number of ranks, in a directory.
pub struct Task {
    /// Pattern to run.
    pub case: &'static PatternCase,
    /// Numbers of the operations to measure: write (0), read (1).
    pub operations: Vec<usize>,
    /// Sizes of the pattern.
    pub sizes: Sizes,
    /// Number of ranks.
    pub ranks: u64,
    /// Directory of the file.
    pub directory: PathBuf,
}

impl Task {
    /// Returns the name of the task in messages.
    pub fn name(&self) -> String {
        format!("{}, {} ranks, {}", self.case.name, self.ranks, self.directory.display())
    }
}

/// Returns all tasks. A pattern that does not support a number of ranks is left out with --all, and refused if it is
/// named.
pub fn tasks(
    options: &CompareOptions,
    wanted: &[(&'static PatternCase, Vec<usize>)],
    directories: &[PathBuf],
) -> Result<Vec<Task>, Failure> {
    let mut tasks = Vec::new();
    for directory in directories {
        for &ranks in &options.measure.ranks {
            for (case, operations) in wanted {
                match case.sizes(ranks, options.measure.scale, processors() as u64) {
                    Ok(sizes) => {
                        let (operations, directory) = (operations.clone(), directory.clone());
                        tasks.push(Task { case, operations, sizes, ranks, directory });
                    }
                    Err(failure) if options.all => eprintln!("trib-lab: left out: {failure}"),
                    Err(failure) => return Err(failure),
                }
            }
        }
    }
    Ok(tasks)
}
