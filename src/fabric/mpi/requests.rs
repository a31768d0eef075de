//! All requests in flight: tested together by MPI_Testsome, or waited for one at a time by MPI_Wait.

use std::collections::HashSet;
use std::ffi::c_int;

use tributary_abi::{self as ffi, HandleArray, MPI_Status, Statuses, constants, handles};

use super::raw::{Request, check, status_ignore};
use super::sleeping;
use crate::error::{Error, Result};
use crate::fabric::Ticket;

/// A request that has ended, with or without an error.
pub(super) struct FinishedRequest {
    /// Ticket of the message that the request belongs to.
    pub(super) ticket: Ticket,
    /// Error code of MPI for this request.
    pub(super) code: c_int,
    status: MPI_Status,
}

impl FinishedRequest {
    /// Returns the number of bytes received.
    pub(super) fn bytes(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: a status that MPI filled in for a completed receive of bytes.
        check("MPI_Get_count", unsafe { ffi::MPI_Get_count(&self.status, handles().uint8, &mut count) })?;
        usize::try_from(count).map_err(|_| Error::fabric(format!("MPI_Get_count: {count} bytes, not a whole number")))
    }
}

/// All requests in flight, without gaps, as MPI_Testsome needs them.
#[derive(Default)]
pub(super) struct RequestsInFlight {
    requests: HandleArray<Request>,
    tickets: Vec<Ticket>,
    indices: Vec<c_int>,
    statuses: Statuses,
}

impl RequestsInFlight {
    /// Adds a request. Several requests may have the same ticket.
    pub(super) fn push(&mut self, request: Request, ticket: Ticket) {
        self.requests.push(request);
        self.tickets.push(ticket);
    }

    /// Appends the requests that have ended since the last call to `finished`. One MPI_Testsome: O(requests in flight),
    /// never waits.
    pub(super) fn test_some(&mut self, finished: &mut Vec<FinishedRequest>) -> Result<()> {
        let n = self.requests.len();
        if n == 0 {
            return Ok(());
        }
        self.indices.reserve(n);
        self.statuses.resize(n);
        let (indices, statuses) = (self.indices.as_mut_ptr(), self.statuses.as_mut_ptr());
        let mut ended = 0;
        // SAFETY: `n` requests, and room for `n` indices and statuses (the vector of indices is kept empty).
        let rc = unsafe { ffi::MPI_Testsome(n as c_int, self.requests.as_mut_ptr(), &mut ended, indices, statuses) };
        let some_failed = rc == constants().err_in_status;
        if !some_failed {
            check("MPI_Testsome", rc)?;
        }
        let ended = usize::try_from(ended).unwrap_or(0).min(n); // MPI_UNDEFINED is negative
        for i in 0..ended {
            // SAFETY: MPI has filled the first `ended` entries.
            let index = unsafe { *indices.add(i) };
            let status = self.statuses.get(i);
            let code = if some_failed { status.error() } else { ffi::SUCCESS };
            finished.push(FinishedRequest { ticket: self.tickets[index as usize], code, status });
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

    /// Waits for the oldest request of `ticket`, if it has one, and appends it to `finished`. One MPI_Wait, which
    /// sleeps in some versions of MPICH in which MPI_Waitsome and MPI_Waitany spin.
    pub(super) fn wait(&mut self, ticket: Ticket, finished: &mut Vec<FinishedRequest>) {
        let Some(at) = self.tickets.iter().position(|&other| other == ticket) else { return };
        let mut status = MPI_Status::zeroed();
        // SAFETY: an active request, and room for its status.
        let code = sleeping::measured(|| unsafe { ffi::MPI_Wait(self.requests.place(at), &mut status) });
        self.requests.swap_remove(at);
        self.tickets.swap_remove(at);
        finished.push(FinishedRequest { ticket, code, status });
    }

    /// Gives up all requests in flight: cancels receives, and frees requests that do not end. Returns the tickets whose
    /// memory MPI may still access. Never waits.
    pub(super) fn abandon(&mut self, is_receive: impl Fn(Ticket) -> bool) -> HashSet<Ticket> {
        let mut touched = HashSet::new();
        for (at, ticket) in self.tickets.iter().enumerate() {
            if is_receive(*ticket) {
                // SAFETY: an active receive request.
                unsafe { ffi::MPI_Cancel(self.requests.place(at)) };
            }
        }
        for (at, ticket) in self.tickets.iter().enumerate() {
            if !ends_soon(self.requests.place(at)) {
                touched.insert(*ticket);
                // SAFETY: an active request; the caller leaks its buffer.
                unsafe { ffi::MPI_Request_free(self.requests.place(at)) };
            }
        }
        self.requests.clear();
        self.tickets.clear();
        touched
    }
}

/// Returns true if a request ends within a few tests, as a cancelled receive and a finished send do.
fn ends_soon(request: *mut Request) -> bool {
    const TESTS: usize = 100;
    (0..TESTS).any(|_| {
        let mut ended = 0;
        // SAFETY: a valid request; the status is ignored.
        let rc = unsafe { ffi::MPI_Test(request, &mut ended, status_ignore()) };
        rc == ffi::SUCCESS && ended != 0
    })
}
