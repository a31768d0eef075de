//! Counts and times the messages of an algorithm on a case, from the schedules of all ranks.

use trib::Failure;
use tributary::schedule::Action;
use tributary_lab::collectives::Rates;
use tributary_lab::timing::one_port;

use super::case::AlgorithmCase;
use super::catalogue::Entry;

/// Rates at which every message takes one round, whatever its size, and copies and combinations take no time.
pub const ROUNDS: Rates = Rates { startup: 1.0, byte: 0.0, combine: 0.0 };

/// Number and size of a set of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of messages.
    pub messages: u64,
    /// Sum of the messages' bytes.
    pub bytes: u64,
}

/// Cost of an algorithm on a case.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    /// Number of rounds in the one-port model: in a round, a rank sends at most one message and receives at most one.
    pub rounds: u64,
    /// All messages of all ranks.
    pub all: Traffic,
    /// Messages between nodes.
    pub between: Traffic,
}

impl Counts {
    /// Counts the schedules of all ranks.
    ///
    /// # Errors
    /// Schedules that do not end (a fault of the algorithm).
    pub fn of(entry: &Entry, case: &AlgorithmCase) -> Result<Self, Failure> {
        let rounds = time(entry, case, &ROUNDS)? as u64;
        let (mut all, mut between) = (Traffic::default(), Traffic::default());
        for (rank, schedule) in case.schedules(entry).iter().enumerate() {
            for op in schedule.ops() {
                let Action::Send { to, .. } = op.action else { continue };
                let apart = case.topology.node_of(rank) != case.topology.node_of(to);
                for traffic in [Some(&mut all), apart.then_some(&mut between)].into_iter().flatten() {
                    traffic.messages += 1;
                    traffic.bytes += op.span.len;
                }
            }
        }
        Ok(Self { rounds, all, between })
    }
}

/// Returns the one-port time of the schedules of all ranks.
///
/// # Errors
/// Schedules that do not end (a fault of the algorithm).
pub fn time(entry: &Entry, case: &AlgorithmCase, rates: &Rates) -> Result<f64, Failure> {
    one_port(case.schedules(entry), rates).ok_or_else(|| endless(entry))
}

/// Returns the error of an algorithm that hangs.
pub fn endless(entry: &Entry) -> Failure {
    Failure::new(format!("{} {}: its schedules do not end", entry.operation, entry.name))
}
