//! The end of a collective call: all ranks learn what became of it.

use crate::collectives::{allreduce, broadcast_error};
use crate::engine::api::report::{CallReport, Clock, Path, Seconds};
use crate::engine::data::rounds::DataCounts;
use crate::engine::plan::{Agreed, Direction};
use crate::engine::storage::window_queue::Outcome;
use crate::error::Result;
use crate::fabric::{Endpoint, Traffic};
use crate::schedule::ReduceOp::{self, Max, Min, Sum};
use crate::topology::Rank;

/// What one call did on this rank, for the agreement.
pub struct CallTotals {
    /// Write or read.
    pub direction: Direction,
    /// Which way the bytes went.
    pub path: Path,
    /// Why.
    pub why: String,
    /// Whether the plan was the one of the call before.
    pub reused: bool,
    /// How many aggregators the call had.
    pub aggregators: usize,
    /// What the metadata phase sent.
    pub metadata: Traffic,
    /// Bytes of lists that went through memory of the node.
    pub in_memory: u64,
    /// What the data phase did.
    pub counts: DataCounts,
    /// What became of the bytes.
    pub outcome: Outcome,
}

impl CallTotals {
    /// Nothing yet.
    pub fn new(direction: Direction) -> Self {
        Self {
            direction,
            path: Path::Nothing,
            why: String::new(),
            reused: false,
            aggregators: 0,
            metadata: Traffic::default(),
            in_memory: 0,
            counts: DataCounts::default(),
            outcome: Outcome::default(),
        }
    }
}

/// Agrees on the outcome: one allreduce of 14 scalars; if a rank failed, its error goes to all. Collective.
///
/// # Errors
/// The error of the lowest rank that has one, on every rank; or the fabric's.
pub async fn finish_call(
    endpoint: &mut Endpoint,
    agreed: Agreed,
    done: CallTotals,
    mut clock: Clock,
) -> Result<CallReport> {
    const OPS: [ReduceOp; 14] = [Sum, Sum, Sum, Sum, Sum, Max, Max, Max, Max, Max, Max, Max, Max, Min];
    let CallTotals { direction, path, why, reused, aggregators, metadata, in_memory, counts, outcome } = done;
    let failed = if outcome.error.is_some() { endpoint.rank() as u64 } else { u64::MAX };
    clock.agreement.lap();
    let micros = |time: std::time::Duration| time.as_micros() as u64;
    let mut lanes = [
        outcome.bytes,
        metadata.bytes,
        metadata.messages,
        counts.traffic.messages,
        in_memory + counts.in_memory,
        counts.windows,
        micros(clock.flatten.spent),
        micros(clock.metadata.spent),
        micros(counts.exchange),
        micros(counts.placement),
        micros(outcome.busy),
        micros(clock.agreement.spent),
        micros(clock.total()),
        failed,
    ];
    allreduce(endpoint, &OPS, &mut lanes).await?;
    let [moved, metadata_bytes, metadata_messages, data_messages, in_memory, rounds, times @ .., failed] = lanes;
    if failed != u64::MAX {
        return Err(broadcast_error(endpoint, failed as Rank, outcome.error.as_ref()).await?);
    }
    let (bytes_written, bytes_read) = match direction {
        Direction::Write => (moved, 0),
        Direction::Read => (0, moved),
    };
    let [flatten, metadata, data, placement, io, agreement, total] = times.map(|micros| micros as f64 / 1e6);
    Ok(CallReport {
        path,
        why: why.into(),
        plan_reused: reused,
        aggregators,
        requests: agreed.requests,
        bytes: agreed.bytes,
        bytes_written,
        bytes_read,
        rounds,
        metadata_bytes,
        metadata_messages,
        data_messages,
        in_memory,
        seconds: Seconds { flatten, metadata, data, placement, io, agreement, total },
    })
}
