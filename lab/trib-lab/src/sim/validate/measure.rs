//! Measures exchanges on a fabric.

use std::pin::pin;
use std::time::Instant;

use tributary::collectives::{FIRST_FREE_TAG, allreduce};
use tributary::fabric::Buffers;
use tributary::schedule::{Buffer, ReduceOp, Schedule};
use tributary::{Endpoint, Error};

use super::case::ValidatedExchange;

/// Number of runs before the measurements.
const WARM_UP: u64 = 2;

/// Measures every case. Returns the seconds of each, the same on all ranks: the maximum over ranks, and the minimum
/// over repetitions. Cases alternate, so that other programs disturb all of them alike. Collective.
///
/// # Errors
/// Errors of the fabric.
pub fn all(endpoint: &mut Endpoint, cases: &[ValidatedExchange], repetitions: u64) -> Result<Vec<f64>, Error> {
    let waiting = endpoint.waiting().clone();
    let mut least = vec![u64::MAX; cases.len()];
    for repetition in 0..WARM_UP + repetitions {
        for (case, least) in cases.iter().zip(&mut least) {
            let mut slowest = [once(endpoint, case)?];
            waiting.wait(pin!(allreduce(endpoint, &[ReduceOp::Max], &mut slowest)))?;
            if repetition >= WARM_UP {
                *least = slowest[0].min(*least);
            }
        }
    }
    Ok(least.into_iter().map(|nanoseconds| nanoseconds as f64 * 1e-9).collect())
}

/// Returns the nanoseconds of all iterations of a case on this rank. The allreduce makes all ranks begin at about the
/// same time.
fn once(endpoint: &mut Endpoint, case: &ValidatedExchange) -> Result<u64, Error> {
    let (rank, waiting) = (endpoint.rank(), endpoint.waiting().clone());
    let schedules: Vec<Schedule> = (0..case.iterations).map(|_| case.schedule(rank)).collect();
    let mut buffers = Buffers::default();
    buffers.set(Buffer::Send, vec![1; case.receivers * case.bytes as usize]);
    buffers.set(Buffer::Receive, vec![0; case.ranks * case.bytes as usize]);
    waiting.wait(pin!(allreduce(endpoint, &[ReduceOp::Max], &mut [0])))?;
    let begin = Instant::now();
    for schedule in schedules {
        endpoint.run_and_wait(schedule, &mut buffers, FIRST_FREE_TAG)?;
    }
    Ok(begin.elapsed().as_nanos() as u64)
}
