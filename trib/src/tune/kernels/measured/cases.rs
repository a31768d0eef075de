//! The writes that are measured.

use std::path::{Path, PathBuf};

use tributary::engine::Capture;
use tributary_benchmarks::{Captured, Pattern};

use crate::Failure;
use crate::cli::tune::KernelsOptions;
use crate::source::Subject;
use crate::tune::kernels::case::parsed;

/// The patterns without --pattern: those that are simulated, so small that a write takes milliseconds.
const PATTERNS: [&str; 6] = [
    "e3sm-f",
    "e3sm-g --records 5",
    "flash --blocks 20",
    "btio --grid 64 --iterations 1",
    "ior -t 2KiB -b 2KiB -s 1024 --one-call",
    "s3d --points 40x40x40",
];

/// How a capture's file name ends.
const CAPTURE: &str = "tribcap";

/// A write on pretended nodes.
pub struct Case {
    /// The pattern with its parameters, or the capture.
    pub name: String,
    /// The number of ranks of each node.
    pub per_node: usize,
    capture: Option<PathBuf>,
}

impl Case {
    /// What is written.
    ///
    /// # Errors
    /// Those of the pattern.
    pub fn pattern(&self, ranks: usize) -> Result<Box<dyn Pattern>, Failure> {
        match &self.capture {
            Some(path) => Ok(Box::new(Captured::open(path, None)?)),
            None => parsed(&self.name)?.subject(Some(ranks)).and_then(in_file),
        }
    }
}

/// All cases, and what is left out with the reason.
///
/// # Errors
/// A named pattern that does not exist, or not on so many ranks; no captures in a folder; ranks per node that do not divide.
pub fn all(options: &KernelsOptions, ranks: usize) -> Result<(Vec<Case>, Vec<String>), Failure> {
    let nodes = nodes(&options.measured.ranks_per_node, ranks)?;
    let (mut written, mut left_out) = (Vec::new(), Vec::new());
    for name in &options.patterns {
        parsed(name)?.subject(Some(ranks)).and_then(in_file)?;
        written.push((name.clone(), None));
    }
    if options.patterns.is_empty() {
        for name in PATTERNS {
            match parsed(name)?.subject(Some(ranks)) {
                Ok(_) => written.push((name.to_string(), None)),
                Err(failure) => left_out.push(format!("{name}: {failure}")),
            }
        }
    }
    for folder in &options.measured.captures {
        for path in captures(folder)? {
            let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            match Capture::open(&path)?.header().ranks {
                own if own == ranks => written.push((format!("capture {name}"), Some(path))),
                own => left_out.push(format!("capture {name}: of {own} ranks, not {ranks}")),
            }
        }
    }
    let on = |(name, capture): &(String, Option<PathBuf>), per_node| Case {
        name: name.clone(),
        per_node,
        capture: capture.clone(),
    };
    Ok((written.iter().flat_map(|what| nodes.iter().map(move |&per_node| on(what, per_node))).collect(), left_out))
}

fn in_file(subject: Subject) -> Result<Box<dyn Pattern>, Failure> {
    subject.into_file("trib tune kernels")
}

/// The numbers of ranks on a node: those given, or of one, two and four nodes.
fn nodes(given: &[usize], ranks: usize) -> Result<Vec<usize>, Failure> {
    let divides = |per_node: usize| per_node > 0 && ranks.is_multiple_of(per_node);
    if let Some(bad) = given.iter().find(|per_node| !divides(**per_node)) {
        return Err(Failure::new(format!("ranks-per-node: {bad}; allowed: a divisor of {ranks}, the number of ranks")));
    }
    match given {
        [] => Ok([1, 2, 4].iter().filter(|nodes| ranks.is_multiple_of(**nodes)).map(|nodes| ranks / nodes).collect()),
        given => Ok(given.to_vec()),
    }
}

/// The captures of a folder, by name.
fn captures(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fail = |cause: &dyn std::fmt::Display| Failure::new(format!("capture: {}: {cause}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(|cause| fail(&cause))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut found = paths.collect::<Result<Vec<_>, _>>().map_err(|cause| fail(&cause))?;
    found.retain(|path| path.extension().is_some_and(|ending| ending == CAPTURE));
    found.sort();
    match found.is_empty() {
        true => Err(fail(&format!("no captures; allowed: a folder with files NAME.{CAPTURE}"))),
        false => Ok(found),
    }
}
