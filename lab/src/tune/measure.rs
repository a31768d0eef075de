//! Measures collective algorithms: every candidate at every size, with the repetitions of the stopping rule.
//!
//! A repetition begins after an allreduce. Its time is that of the slowest rank to make and run its schedule. Another
//! allreduce distributes the time, so that all ranks stop after the same repetition.

use std::time::Instant;

use super::stopping::{Rule, Sample, relative_error};
use tributary::collectives::{FIRST_FREE_TAG, Operation, Problem, agree, allreduce};
use tributary::error::{Error, Result};
use tributary::fabric::{Buffers, Endpoint};
use tributary::schedule::{Buffer, ReduceOp};
use tributary::topology::Topology;
use tributary::tuned::{Candidate, Entry};

/// The plan of a measurement; the same on all ranks.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The operations.
    pub operations: Vec<Operation>,
    /// Bytes of the message, or of every rank's block: multiples of 8 above 0.
    pub sizes: Vec<u64>,
    /// Whether only no groups, and the number of groups nearest to the square root of the ranks, are measured.
    pub quick: bool,
    /// The stopping rule.
    pub rule: Rule,
}

impl Plan {
    /// Checks the plan.
    ///
    /// # Errors
    /// The first size, operation or number of the rule that is not allowed.
    pub fn check(&self) -> Result<()> {
        self.rule.check()?;
        if let Some(size) = self.sizes.iter().find(|&&size| size == 0 || !size.is_multiple_of(8)) {
            return Err(Error::argument("bytes", size, "a multiple of 8 above 0"));
        }
        self.operations.iter().try_for_each(|&operation| Candidate::all(operation, 1, true).map(drop))
    }
}

/// Measures all of `plan`. Calls `progress` with the number done, the number of all, and the next one. Collective; the
/// same result on all ranks. Cost: candidates x sizes x repetitions of each operation and two allreduces.
///
/// # Errors
/// A bad plan, before anything is sent; errors of the fabric.
pub async fn tune(
    endpoint: &mut Endpoint,
    plan: &Plan,
    mut progress: impl FnMut(usize, usize, &str),
) -> Result<Vec<Entry>> {
    agree(endpoint, plan.check()).await?;
    let ranks = endpoint.ranks();
    let mut todo = Vec::new();
    for &operation in &plan.operations {
        for candidate in Candidate::all(operation, ranks, plan.quick)? {
            todo.push(candidate);
        }
    }
    let total = todo.len() * plan.sizes.len();
    let mut all = Vec::with_capacity(total);
    for candidate in &todo {
        for &bytes in &plan.sizes {
            progress(all.len(), total, &format!("{} {}", candidate.operation, candidate.inner));
            let segment = segment(bytes);
            let sample = repeat(endpoint, candidate, bytes, segment, &plan.rule).await?;
            all.push(Entry {
                operation: candidate.operation,
                ranks,
                bytes,
                groups: candidate.groups,
                inner: candidate.inner.to_string(),
                outer: candidate.outer.to_string(),
                segment,
                seconds: sample.mean,
                error: relative_error(&sample, plan.rule.confidence),
                repetitions: sample.count,
            });
        }
    }
    progress(total, total, "");
    Ok(all)
}

/// The fastest of every operation and size, in the order of the measurements.
pub fn best(measured: &[Entry]) -> Vec<Entry> {
    let mut best: Vec<&Entry> = Vec::new();
    for entry in measured {
        let same = |other: &&mut &Entry| {
            (other.operation, other.ranks, other.bytes) == (entry.operation, entry.ranks, entry.bytes)
        };
        match best.iter_mut().find(same) {
            Some(other) if entry.seconds < other.seconds => *other = entry,
            Some(_) => {}
            None => best.push(entry),
        }
    }
    best.into_iter().cloned().collect()
}

/// Eight segments per message, each of at least 1 KiB.
fn segment(bytes: u64) -> u64 {
    (bytes / 8).next_multiple_of(8).max(1 << 10)
}

async fn repeat(
    endpoint: &mut Endpoint,
    candidate: &Candidate,
    bytes: u64,
    segment: u64,
    rule: &Rule,
) -> Result<Sample> {
    let (rank, ranks) = (endpoint.rank(), endpoint.ranks());
    let (topology, sizes) = (Topology::blocks(ranks, 1)?, vec![bytes; ranks]);
    let problem =
        Problem { rank, topology: &topology, root: 0, sizes: &sizes, with: ReduceOp::Max, segment, groups: None };
    let blocks = if candidate.operation == Operation::Scatter && rank == 0 { ranks } else { 1 };
    let mut sample = Sample::default();
    let mut warm = false;
    while !rule.is_met(&sample) {
        let mut buffers = Buffers::default();
        buffers.set(Buffer::Send, vec![1; bytes as usize * blocks]);
        allreduce(endpoint, &[ReduceOp::Max], &mut [0]).await?;
        let begin = Instant::now();
        endpoint.run(candidate.schedule(&problem)?, &mut buffers, FIRST_FREE_TAG).await?;
        let mut slowest = [begin.elapsed().as_nanos() as u64];
        allreduce(endpoint, &[ReduceOp::Max], &mut slowest).await?;
        // The first run has cold buffers and connections.
        if std::mem::replace(&mut warm, true) {
            sample.add(slowest[0] as f64 / 1e9);
        }
    }
    Ok(sample)
}
