//! The choice of algorithms for an endpoint's small collectives.

use crate::schedule::{ReduceOp, Schedule};
use crate::topology::Rank;

/// Schedules for the small collectives of [`crate::collectives`]; `None` leaves the choice to the library. All functions are
/// pure and give the schedules of one algorithm on all ranks of an endpoint.
pub trait Agreements: Send + Sync {
    /// A broadcast of the first `len` bytes of `root`'s `Receive` to the same bytes of all ranks.
    fn broadcast(&self, rank: Rank, ranks: usize, root: Rank, len: u64) -> Option<Schedule>;

    /// An allreduce of the lanes at the start of `Receive`, with one operation for each lane.
    fn allreduce(&self, rank: Rank, ranks: usize, ops: &[ReduceOp]) -> Option<Schedule>;

    /// A gather of `len` bytes of every rank, from `Send` to `root`'s `Receive`, in rank order.
    fn gather(&self, rank: Rank, ranks: usize, root: Rank, len: u64) -> Option<Schedule>;
}
