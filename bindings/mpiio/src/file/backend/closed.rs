//! Closes a file: the engine's file, if the engine has opened it, and the agreement on the result of MPI's close.

use std::ffi::c_int;
use std::path::Path;
use std::pin::pin;

use tributary::collectives::{agree, allreduce};
use tributary::engine::binding;
use tributary::fabric::Waiting;
use tributary::schedule::ReduceOp;
use tributary::{Endpoint, Error};
use tributary_abi::constants;

use crate::file::backend::{Backend, Runner};
use crate::mpi::abi::errors::io_outcome;
use crate::mpi::next::InterposedFunction;
use crate::opening::channel::Slot;

impl Backend {
    /// Closes the engine's file, in a call of `function`. Collective if the engine has opened the file.
    ///
    /// # Errors
    /// The errors of the file system, on all ranks.
    pub async fn close(self, function: &'static InterposedFunction) -> Result<Closed, Error> {
        // OMPIO lets a rank return before another one has deleted the file.
        let deletes = self.amode & constants().mode_delete_on_close != 0;
        let settled = self.single.map_or(Ok(()), |single| single.close(&self.path));
        let (endpoint, is_agreed) = match self.runner {
            Runner::Engine(mut file) => {
                binding::call_them(&mut file, function.full_name());
                (Some(Box::pin(binding::close_after(*file, Ok(()))).await?), true)
            }
            Runner::NotOpened(unopened) => (Some(unopened.endpoint), deletes),
            Runner::Mpi(_) | Runner::InUse(_) => (None, false),
        };
        settled.map(|()| Closed { endpoint, is_agreed, seat: self.seat })
    }
}

/// The endpoint of a file that the engine has closed or has never opened, and the place that the endpoint goes back
/// to.
pub struct Closed {
    endpoint: Option<Endpoint>,
    /// True if the ranks agree on the result of MPI's close: the engine had opened the file, or MPI deletes it.
    is_agreed: bool,
    seat: Option<Slot>,
}

impl Closed {
    /// Returns how this rank waits for others; None if the file has no endpoint.
    pub fn waiting(&self) -> Option<Waiting> {
        self.endpoint.as_ref().map(|endpoint| endpoint.waiting().clone())
    }

    /// Returns true if the file has an endpoint, with more than one rank. All ranks get the same answer.
    pub fn has_several_ranks(&self) -> bool {
        self.endpoint.as_ref().is_some_and(|endpoint| endpoint.ranks() > 1)
    }

    /// Replaces each number by its sum over all ranks. Collective if the file has an endpoint; otherwise does
    /// nothing.
    ///
    /// # Errors
    /// Any error of the MPI library. The numbers may then be this rank's.
    pub async fn sum(&mut self, numbers: &mut [u64]) -> Result<(), Error> {
        let Some(endpoint) = &mut self.endpoint else { return Ok(()) };
        let (waiting, ops) = (endpoint.waiting().clone(), vec![ReduceOp::Sum; numbers.len()]);
        waiting.call(pin!(allreduce(endpoint, &ops, numbers))).await
    }

    /// Makes the result of MPI_File_close the same on all ranks, if the engine had opened the file or MPI has deleted it:
    /// no rank returns before MPI's close has ended on all ranks. Collective in that case.
    ///
    /// # Errors
    /// The error of the lowest failing rank.
    pub async fn agree(self, code: c_int, path: &Path) -> Result<(), Error> {
        let Some(mut endpoint) = self.endpoint else { return Ok(()) };
        let own = io_outcome("MPI_File_close", code, endpoint.rank(), path);
        let waiting = endpoint.waiting().clone();
        let outcome = if self.is_agreed { waiting.call(pin!(agree(&mut endpoint, own))).await } else { Ok(()) };
        // An endpoint whose messages may be in flight is of no use to another file.
        let is_usable = outcome.as_ref().err().is_none_or(|error| !error.is_unagreed());
        if let Some(seat) = self.seat.filter(|_| is_usable) {
            seat.keep(endpoint);
        }
        outcome
    }
}
