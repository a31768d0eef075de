//! All requests in flight, tested together by MPI_Testsome, or waited for one at a time.

// The same constants are `i32` in one MPI family and `u32` in the other, so some casts are needed in one of them only.
#![allow(clippy::unnecessary_cast)]

use std::collections::HashSet;
use std::ffi::c_int;
use std::mem::MaybeUninit;

use ::mpi::ffi;

use super::raw::{Request, check};
use super::sleeping;
use crate::error::{Error, Result};
use crate::fabric::Ticket;

/// A request that has ended, well or badly.
pub(super) struct Finished {
    /// Whose.
    pub(super) ticket: Ticket,
    /// MPI's code for this request.
    pub(super) code: c_int,
    status: ffi::MPI_Status,
}

impl Finished {
    /// How many bytes a receive got.
    pub(super) fn bytes(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: a status that MPI filled in for a completed receive of bytes.
        check("MPI_Get_count", unsafe { ffi::MPI_Get_count(&self.status, ffi::RSMPI_UINT8_T, &mut count) })?;
        usize::try_from(count).map_err(|_| Error::Fabric(format!("MPI_Get_count: {count} bytes, not a whole number")))
    }
}

/// All requests in flight, without gaps, as MPI_Testsome wants them.
#[derive(Default)]
pub(super) struct Requests {
    requests: Vec<Request>,
    tickets: Vec<Ticket>,
    indices: Vec<c_int>,
    statuses: Vec<ffi::MPI_Status>,
}

impl Requests {
    /// Adds one. Several may share a ticket.
    pub(super) fn push(&mut self, request: Request, ticket: Ticket) {
        self.requests.push(request);
        self.tickets.push(ticket);
    }

    /// Appends what has ended since the last call. One MPI_Testsome: O(requests in flight), never waits.
    pub(super) fn test_some(&mut self, finished: &mut Vec<Finished>) -> Result<()> {
        let n = self.requests.len();
        if n == 0 {
            return Ok(());
        }
        self.indices.reserve(n);
        self.statuses.reserve(n);
        let (indices, statuses) = (self.indices.as_mut_ptr(), self.statuses.as_mut_ptr());
        let mut ended = 0;
        // SAFETY: `n` requests, and room for `n` indices and statuses (both vectors are kept empty).
        let rc = unsafe { ffi::MPI_Testsome(n as c_int, self.requests.as_mut_ptr(), &mut ended, indices, statuses) };
        let some_failed = rc == ffi::MPI_ERR_IN_STATUS as c_int;
        if !some_failed {
            check("MPI_Testsome", rc)?;
        }
        let ended = usize::try_from(ended).unwrap_or(0).min(n); // MPI_UNDEFINED is negative
        for i in 0..ended {
            // SAFETY: MPI has filled the first `ended` entries of both.
            let (index, status) = unsafe { (*indices.add(i), *statuses.add(i)) };
            let code = if some_failed { status.MPI_ERROR } else { ffi::MPI_SUCCESS as c_int };
            finished.push(Finished { ticket: self.tickets[index as usize], code, status });
            // SAFETY: as above; kept for the removal below.
            unsafe { self.indices.set_len(i + 1) };
        }
        self.indices.sort_unstable_by(|a, b| b.cmp(a));
        for index in self.indices.drain(..) {
            self.requests.swap_remove(index as usize);
            self.tickets.swap_remove(index as usize);
        }
        Ok(())
    }

    /// Waits until the oldest request of `ticket`, if it has one, has ended, and appends it. One MPI_Wait: MPI_Waitsome and
    /// MPI_Waitany spin in MPICH where MPI_Wait sleeps.
    pub(super) fn wait(&mut self, ticket: Ticket, finished: &mut Vec<Finished>) {
        let Some(at) = self.tickets.iter().position(|&other| other == ticket) else { return };
        let mut status = MaybeUninit::<ffi::MPI_Status>::zeroed();
        // SAFETY: an active request, and room for its status.
        let code = sleeping::observed(|| unsafe { ffi::MPI_Wait(&mut self.requests[at], status.as_mut_ptr()) });
        self.requests.swap_remove(at);
        self.tickets.swap_remove(at);
        // SAFETY: MPI has filled it, or it is all zeros, which is a status too: integers only.
        finished.push(Finished { ticket, code, status: unsafe { status.assume_init() } });
    }

    /// Gives up everything in flight: receives are cancelled, what MPI will not let go of is left to it.
    /// Returns the tickets whose memory MPI may still touch. Never waits.
    pub(super) fn abandon(&mut self, is_receive: impl Fn(Ticket) -> bool) -> HashSet<Ticket> {
        let mut touched = HashSet::new();
        for (request, ticket) in self.requests.iter_mut().zip(&self.tickets) {
            if is_receive(*ticket) {
                // SAFETY: an active receive request.
                unsafe { ffi::MPI_Cancel(request) };
            }
        }
        for (request, ticket) in self.requests.iter_mut().zip(&self.tickets) {
            if !ends_soon(request) {
                touched.insert(*ticket);
                // SAFETY: an active request; its buffer stays (the caller leaks it).
                unsafe { ffi::MPI_Request_free(request) };
            }
        }
        self.requests.clear();
        self.tickets.clear();
        touched
    }
}

/// A cancelled receive, or a send already taken by the network, ends within a few tests.
fn ends_soon(request: &mut Request) -> bool {
    const TESTS: usize = 100;
    (0..TESTS).any(|_| {
        let mut ended = 0;
        // SAFETY: a valid request; the status is not wanted.
        let rc = unsafe { ffi::MPI_Test(request, &mut ended, ffi::RSMPI_STATUS_IGNORE) };
        rc == ffi::MPI_SUCCESS as c_int && ended != 0
    })
}
