//! By which algorithms the ranks of an endpoint agree, where somebody chooses them.

use crate::schedule::{ReduceOp, Schedule};
use crate::topology::Rank;

/// Schedules for the small collectives of [`crate::collectives`]; `None` leaves the choice to the library. Pure, and equal
/// on all ranks of an endpoint.
pub trait Agreements: Send + Sync {
    /// A broadcast of the first `len` bytes of `Receive` of `root` to those of all.
    fn broadcast(&self, rank: Rank, ranks: usize, root: Rank, len: u64) -> Option<Schedule>;

    /// An allreduce of the lanes at the start of `Receive`, each combined in its own way.
    fn allreduce(&self, rank: Rank, ranks: usize, ops: &[ReduceOp]) -> Option<Schedule>;

    /// A gather of `len` bytes of every rank, from `Send` to `Receive` of `root`, in rank order.
    fn gather(&self, rank: Rank, ranks: usize, root: Rank, len: u64) -> Option<Schedule>;
}
