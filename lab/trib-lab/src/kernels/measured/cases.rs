//! Lists the writes that are measured.

use trib::Failure;
use trib::source::Subject;
use tributary::engine::Capture;
use tributary_benchmarks::{Captured, Pattern};

use crate::cli::kernels::KernelsOptions;
use crate::kernels::write::Write;

/// Default patterns: those that are simulated, with sizes so small that a write takes milliseconds.
const PATTERNS: [&str; 6] = [
    "e3sm-f",
    "e3sm-g --records 5",
    "flash --blocks 20",
    "btio --grid 64 --iterations 1",
    "ior -t 2KiB -b 2KiB -s 1024 --one-call",
    "s3d --points 40x40x40",
];

/// Write on pretended nodes.
pub struct PretendedWrite {
    /// Pattern or capture that is written.
    pub write: Write,
    /// Number of ranks on each node.
    pub per_node: usize,
}

impl PretendedWrite {
    /// Returns the pattern that is written.
    ///
    /// # Errors
    /// Errors of the pattern.
    pub fn pattern(&self, ranks: usize) -> Result<Box<dyn Pattern>, Failure> {
        match &self.write.capture {
            Some(path) => Ok(Box::new(Captured::open(path, None)?)),
            None => self.write.parsed()?.subject(Some(ranks)).and_then(in_file),
        }
    }
}

/// Returns all cases to measure, and the cases that are left out, with the reason.
///
/// # Errors
/// A named pattern that does not exist, or does not allow this number of ranks; no captures in a folder; numbers of
/// ranks per node that do not divide the ranks.
pub fn all(options: &KernelsOptions, ranks: usize) -> Result<(Vec<PretendedWrite>, Vec<String>), Failure> {
    let nodes = nodes(&options.measured.ranks_per_node, ranks)?;
    let (mut written, mut left_out) = (Vec::new(), Vec::new());
    for write in Write::all(&options.patterns, &options.captures, &PATTERNS)? {
        match &write.capture {
            Some(path) => match Capture::open(path)?.header().ranks {
                own if own == ranks => written.push(write),
                own => left_out.push(format!("{}: of {own} ranks, not {ranks}", write.name)),
            },
            None => match write.parsed()?.subject(Some(ranks)).and_then(in_file) {
                Ok(_) => written.push(write),
                Err(failure) if options.patterns.is_empty() => left_out.push(format!("{}: {failure}", write.name)),
                Err(failure) => return Err(failure),
            },
        }
    }
    let on = |write: &Write, per_node| PretendedWrite { write: write.clone(), per_node };
    Ok((written.iter().flat_map(|write| nodes.iter().map(move |&per_node| on(write, per_node))).collect(), left_out))
}

fn in_file(subject: Subject) -> Result<Box<dyn Pattern>, Failure> {
    subject.into_file("trib-lab tune kernels")
}

/// Returns the numbers of ranks on a node: the given ones, or those of one, two and four nodes.
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
