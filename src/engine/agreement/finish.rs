//! The end of a collective call: all ranks agree on its outcome.

use crate::collectives::{allreduce, broadcast_error};
use crate::engine::facts::Amount;
use crate::engine::record::report::{CallReport, Clock, Lap, Seconds};
use crate::engine::record::timeline::TimelineWriter;
use crate::engine::record::totals::CallTotals;
use crate::error::Result;
use crate::fabric::Endpoint;
use crate::schedule::ReduceOp::{self, Max, Min, Sum};
use crate::topology::Rank;

/// Agrees on the outcome of a call, and returns the report. Collective: one allreduce of 15 numbers, and a broadcast of
/// the error if a rank failed.
///
/// # Errors
/// The error of the lowest rank that has one, on every rank; errors of the message transport.
pub async fn finish_call(
    endpoint: &mut Endpoint,
    all: &Amount,
    done: CallTotals,
    mut clock: Clock,
    timeline: Option<&mut TimelineWriter>,
) -> Result<CallReport> {
    const OPS: [ReduceOp; 15] = [Sum, Sum, Sum, Sum, Sum, Sum, Max, Max, Max, Max, Max, Max, Max, Max, Min];
    clock.lap(Lap::Agreement);
    if let Some(timeline) = timeline {
        timeline.phases(&clock, &done);
    }
    let CallTotals { direction, decision, auto, reused, metadata, in_memory, counts, outcome } = done;
    let failed = if outcome.error.is_some() { endpoint.rank() as u64 } else { u64::MAX };
    let micros = |time: std::time::Duration| time.as_micros() as u64;
    let mut words = [
        outcome.bytes,
        metadata.bytes,
        metadata.messages,
        counts.traffic.messages,
        in_memory + counts.in_memory,
        metadata.between_hosts + counts.traffic.between_hosts,
        counts.windows,
        micros(clock.spent(Lap::Flatten)),
        micros(clock.spent(Lap::Metadata)),
        micros(counts.exchange),
        micros(counts.placement),
        micros(outcome.busy),
        micros(clock.spent(Lap::Agreement)),
        micros(clock.total()),
        failed,
    ];
    allreduce(endpoint, &OPS, &mut words).await?;
    let [transferred, metadata_bytes, metadata_messages, data_messages, words @ ..] = words;
    let [in_memory, between_hosts, rounds, times @ .., failed] = words;
    let [flatten, metadata, data, placement, io, agreement, total] = times.map(|micros| micros as f64 / 1e6);
    if failed != u64::MAX {
        return Err(broadcast_error(endpoint, failed as Rank, outcome.error.as_ref()).await?);
    }
    Ok(CallReport {
        auto,
        plan_reused: reused,
        rounds,
        metadata_bytes,
        metadata_messages,
        data_messages,
        in_memory,
        between_hosts,
        seconds: Seconds { flatten, metadata, data, placement, io, agreement, total },
        ..CallReport::from_amounts(direction, decision, all, transferred)
    })
}
