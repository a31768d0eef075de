//! Handles MPI_Wait, MPI_Test and their variants: collective calls in flight advance inside them.
//!
//! If nothing is in flight, these functions cost one load and one branch more. A function that waits becomes a loop
//! over the function that tests, so that calls in flight and the program's own messages both advance: another rank
//! may send its message only after its part of a call in flight has ended.
//!
//! MPI_Testall is no such test: MPICH 4.0 ends the job in the second call after an independent MPI_File_iwrite_at has ended
//! and while another request has not. (It does so without this library too.) MPI_Waitall of MPICH fails if another thread
//! completes a generalised request meanwhile. So MPI_Waitall completes its requests one by one, and MPI_Testall calls MPI
//! only when the calls in flight among its requests have ended.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use tributary::Error;
use tributary::engine::binding::abort_job_on_error;
use tributary_abi::{MPI_Iprobe, MPI_Request, MPI_Status, constants, function_name, handles};

use super::get_status::{self, RequestArray, look};

use crate::entry::{Answer, Handler, enter_uncaught, own};
use crate::file::pending::{self, CallTicket, PollPause};
use crate::mpi::abi::word::{Word, to_word};
use crate::mpi::abi::{SUCCESS, is_world_there};
use crate::mpi::interposition;
use crate::mpi::next::InterposedFunction;

macro_rules! exports {
    ($($name:ident($($argument:ident)*) $handler:expr;)+) => {$(
        const _: () = {
            static FUNCTION: InterposedFunction = InterposedFunction::new(function_name!("P", stringify!($name)));
            type Next = extern "C-unwind" fn($($argument: Word),*) -> Word;

            #[unsafe(export_name = stringify!($name))]
            extern "C-unwind" fn plain($($argument: Word),*) -> Word {
                if !pending::is_any() && let Some(next) = FUNCTION.known() {
                    // SAFETY: the function of this name; its arguments are [`Word`]s, each in its own register.
                    return unsafe { std::mem::transmute::<*mut c_void, Next>(next) }($($argument),*);
                }
                in_flight($($argument),*)
            }

            #[cold]
            #[inline(never)]
            extern "C-unwind" fn in_flight($($argument: Word),*) -> Word {
                if FUNCTION.address().is_some() && (interposition::is_component() || !pending::is_any()) {
                    return FUNCTION.call(&[$($argument),*]);
                }
                enter_uncaught(&FUNCTION, &[$($argument),*], |function, arguments| {
                    // An exception may have left an earlier call before that call took its failed tickets.
                    pending::failed();
                    let handler: Handler = $handler;
                    handler(function, arguments)
                })
            }

            #[unsafe(export_name = concat!("P", stringify!($name)))]
            extern "C-unwind" fn profiling($($argument: Word),*) -> Word {
                plain($($argument),*)
            }
        };
    )+};
}

exports! {
    MPI_Wait(request status) wait;
    MPI_Waitall(count requests statuses) wait_all;
    MPI_Waitany(count requests index status) wait_any;
    MPI_Waitsome(count requests ended indices statuses) wait_some;
    MPI_Test(request flag status) test;
    MPI_Testall(count requests flag statuses) test_all;
    MPI_Testany(count requests index flag status) test;
    MPI_Testsome(count requests ended indices statuses) test_some;
    MPI_Request_get_status(request flag status) |f, a| look(f, a, get_status::one);
    MPI_Request_get_status_any(count requests index flag status) |f, a| look(f, a, get_status::any);
    MPI_Request_get_status_all(count requests flag statuses) |f, a| look(f, a, get_status::all);
    MPI_Request_get_status_some(count requests found indices statuses) |f, a| look(f, a, get_status::some);
}

/// Advances all calls in flight. An error is the return code for the program.
fn progress(function: &InterposedFunction) -> Result<(), Word> {
    own(function, pending::progress)
}

/// Handles MPI_Test and MPI_Testany.
fn test(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let code = progress(function).map(|()| function.call(arguments));
    one(code.unwrap_or_else(|code| code))
}

fn wait(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [request, status] = *arguments else { return Answer::Pass };
    // SAFETY: the argument of MPI_Wait points to the program's request.
    let mine = (request != 0).then(|| unsafe { MPI_Request::at(request as *const c_void) });
    if let Some(ticket) = mine.and_then(pending::live) {
        return match own(function, || pending::drive(&ticket)) {
            Ok(()) => one(taken(function.call(arguments))),
            Err(code) => one(code),
        };
    }
    // SAFETY: the argument of MPI_Wait points to the program's request.
    one(until(function, |flag| unsafe { test_one(request, flag, status) }))
}

/// Completes the request at an address if it has ended. MPI_Test of MPICH 4.3 and 5.0 (4.3.2, 5.0.2) ends the job if
/// MPI_Request_get_status has found an independent write or read ended, as MPI_Wait does not; MPI_Testany is right then. (But it calls
/// another error handler than MPI_Wait, so it is not the usual way.)
///
/// # Safety
/// `request` is the address of a request.
unsafe fn test_one(request: Word, flag: Word, status: Word) -> Word {
    static TEST: InterposedFunction = InterposedFunction::new(function_name!("PMPI_Test"));
    static TEST_ANY: InterposedFunction = InterposedFunction::new(function_name!("PMPI_Testany"));
    // SAFETY: the caller's promise.
    if request != 0 && get_status::take_ended(unsafe { MPI_Request::at(request as *const c_void) }) {
        let mut index: c_int = 0;
        return TEST_ANY.call(&[1, request, (&raw mut index) as Word, flag, status]);
    }
    TEST.call(&[request, flag, status])
}

fn wait_any(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    static TEST_ANY: InterposedFunction = InterposedFunction::new(function_name!("PMPI_Testany"));
    let [count, requests, index, status] = *arguments else { return Answer::Pass };
    one(until(function, |flag| TEST_ANY.call(&[count, requests, index, flag, status])))
}

/// Handles MPI_Testall.
fn test_all(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [count, requests, flag, statuses] = *arguments else { return Answer::Pass };
    // SAFETY: what the program gave to MPI_Testall.
    let row = unsafe { TakenRequests::from_raw(count, requests, statuses) };
    let code = progress(function).map(|()| {
        if row.calls_have_ended() {
            return function.call(arguments);
        }
        // SAFETY: the program's flag, an int.
        unsafe { (flag as *mut c_int).write(0) };
        to_word(SUCCESS)
    });
    row.all(code.unwrap_or_else(|code| code))
}

fn wait_all(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [count, requests, statuses] = *arguments else { return Answer::Pass };
    // SAFETY: what the program gave to MPI_Waitall.
    let row = unsafe { TakenRequests::from_raw(count, requests, statuses) };
    let code = match row.tickets() {
        Some(tickets) => match own(function, || tickets.iter().for_each(|ticket| pending::drive(ticket))) {
            Ok(()) => row.complete(function, requests).map_or_else(|code| code, taken),
            Err(code) => code,
        },
        None => row.complete(function, requests).unwrap_or_else(|code| code),
    };
    row.all(code)
}

/// Handles MPI_Testsome.
fn test_some(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [count, requests, ended, indices, statuses] = *arguments else { return Answer::Pass };
    // SAFETY: what the program gave to MPI_Testsome.
    let row = unsafe { TakenRequests::from_raw(count, requests, statuses) };
    if let Err(code) = progress(function) {
        return Answer::Return(code);
    }
    let code = function.call(arguments);
    // SAFETY: what the program gave to MPI_Testsome, which has set the number and the indices.
    unsafe { row.some(code, ended, indices) }
}

fn wait_some(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    static TEST_SOME: InterposedFunction = InterposedFunction::new(function_name!("PMPI_Testsome"));
    let [count, requests, ended, indices, statuses] = *arguments else { return Answer::Pass };
    // SAFETY: what the program gave to MPI_Waitsome.
    let row = unsafe { TakenRequests::from_raw(count, requests, statuses) };
    let mut rest = PollPause::default();
    let code = loop {
        if let Err(code) = progress(function) {
            return Answer::Return(code);
        }
        let code = TEST_SOME.call(arguments);
        // SAFETY: the program's int, which MPI has written if all is well.
        if code as c_int != SUCCESS || unsafe { *(ended as *const c_int) } != 0 {
            break code;
        }
        rest.brief();
    };
    // SAFETY: what the program gave to MPI_Waitsome; MPI_Testsome has set the number and the indices.
    unsafe { row.some(code, ended, indices) }
}

/// Lets MPI advance messages; `other` is a request that is not of this library. MPI_Request_get_status does to it what
/// [`test_one`] says, so it is not called without need.
fn advance_messages(other: MPI_Request) {
    let (all, mut found) = (constants(), 0);
    if is_world_there().unwrap_or(false) {
        // SAFETY: MPI is initialised, and MPI_COMM_SELF is there with MPI_COMM_WORLD; MPI_STATUS_IGNORE. An error changes nothing.
        unsafe {
            let ignored = all.status_ignore as usize as *mut _;
            MPI_Iprobe(all.any_source, all.any_tag, handles().comm_self, &mut found, ignored);
        }
    } else {
        // The call that completes the request returns its error.
        let _ = get_status::has_ended(other);
    }
}

/// Checks the code that MPI returned for requests whose calls have all ended. An error is on this rank only; the
/// other ranks go on as after success. Returns `code`.
fn taken(code: Word) -> Word {
    let what = || format!("MPI cannot complete the request of a call that has ended: MPI error code {}", code as c_int);
    let taken = if code as c_int == SUCCESS { Ok(()) } else { Err(Error::fabric(what())) };
    // Ends the job, or with `trib_on_failure=return` leaves the error to the program.
    let _ = abort_job_on_error(taken);
    code
}

/// Advances calls in flight, in a call of `function`, until `test` sets its flag or fails. `test` gets the address of
/// the flag.
fn until(function: &InterposedFunction, test: impl Fn(Word) -> Word) -> Word {
    let mut rest = PollPause::default();
    loop {
        if let Err(code) = progress(function) {
            return code;
        }
        let mut flag: c_int = 0;
        let code = test((&raw mut flag) as Word);
        if code as c_int != SUCCESS || flag != 0 {
            return code;
        }
        rest.brief();
    }
}

/// Returns the answer to the program for a function that completes at most one request.
fn one(code: Word) -> Answer {
    match pending::failed().into_iter().next() {
        Some(failed) => {
            let code = to_word(failed.code());
            Answer::Failed(vec![failed.raiser()], code)
        }
        None => Answer::Return(code),
    }
}

/// The requests that the program passed to one call, as they were before the call, and the address of the program's
/// statuses.
struct TakenRequests {
    requests: RequestArray,
    statuses: Word,
}

impl TakenRequests {
    /// # Safety
    /// `count` is an int, and `requests` the address of as many requests.
    unsafe fn from_raw(count: Word, requests: Word, statuses: Word) -> Self {
        // SAFETY: the caller's promise.
        Self { requests: unsafe { RequestArray::from_raw(count, requests) }, statuses }
    }

    /// Returns the calls in flight that these requests stand for; None if any request is not one of this library.
    fn tickets(&self) -> Option<Vec<Arc<CallTicket>>> {
        self.requests.active().map(|(_, request)| pending::live(request)).collect()
    }

    /// Returns true if all calls in flight that requests stand for have ended. Otherwise lets MPI advance messages too.
    fn calls_have_ended(&self) -> bool {
        let of = |(_, request)| pending::live(request);
        let have_ended = self.requests.active().filter_map(of).all(|ticket| ticket.outcome().is_some());
        if let (false, Some((_, other))) = (have_ended, self.requests.active().find(|found| of(*found).is_none())) {
            advance_messages(other);
        }
        have_ended
    }

    /// Completes the requests, which are at address `requests`, one by one, in a call of `function`, and advances calls in
    /// flight meanwhile. Returns MPI's code for a function that completes all: MPI_ERR_IN_STATUS if any failed. An error is a
    /// return code for the program.
    fn complete(&self, function: &InterposedFunction, requests: Word) -> Result<Word, Word> {
        let mut codes = vec![SUCCESS; self.requests.0.len()];
        let mut left: Vec<usize> = (0..codes.len()).collect();
        let mut rest = PollPause::default();
        loop {
            progress(function)?;
            left.retain(|&index| {
                if pending::live(self.requests.0[index]).is_some_and(|ticket| ticket.outcome().is_none()) {
                    return true;
                }
                let mut flag: c_int = 0;
                let place = MPI_Request::place(requests, index);
                let status = get_status::place(self.statuses, index);
                // SAFETY: one of the program's requests.
                codes[index] = unsafe { test_one(place, (&raw mut flag) as Word, status) } as c_int;
                codes[index] == SUCCESS && flag == 0
            });
            if left.is_empty() {
                break;
            }
            rest.brief();
        }
        if codes.iter().all(|code| *code == SUCCESS) {
            return Ok(to_word(SUCCESS));
        }
        codes.into_iter().enumerate().for_each(|(index, code)| self.set_error(index, code));
        Ok(to_word(constants().err_in_status))
    }

    /// Sets the error in the program's status of a request, if the program wants statuses.
    fn set_error(&self, index: usize, error: c_int) {
        if self.statuses != constants().status_ignore as usize && self.statuses != 0 {
            // SAFETY: the program's statuses, one for each request.
            unsafe { MPI_Status::set_error(self.statuses as *mut _, index, error) };
        }
    }

    /// Returns the answer to the program, for a function that completes all requests or none.
    fn all(&self, code: Word) -> Answer {
        self.with_errors(code, || self.requests.active().collect())
    }

    /// Returns the answer to the program, for a function that completes some of the requests.
    ///
    /// # Safety
    /// `ended` and `indices` point to the number and the indices of ended requests that MPI has written.
    unsafe fn some(&self, code: Word, ended: Word, indices: Word) -> Answer {
        self.with_errors(code, || {
            // SAFETY: the caller's promise; called only if MPI has found some.
            let index = |at: usize| unsafe { *(indices as *const c_int).add(at) } as usize;
            // SAFETY: MPI has written the number of ended requests.
            let ended = usize::try_from(unsafe { *(ended as *const c_int) }).unwrap_or_default();
            (0..ended).filter_map(|at| Some((at, *self.requests.0.get(index(at))?))).collect()
        })
    }

    /// Returns the answer to the program, which raises the errors of calls in flight if any of them failed. `ended`
    /// returns the requests that ended, each with the index of its status.
    fn with_errors(&self, code: Word, ended: impl FnOnce() -> Vec<(usize, MPI_Request)>) -> Answer {
        let failed = pending::failed();
        if failed.is_empty() {
            return Answer::Return(code);
        }
        let others_too = code as c_int == constants().err_in_status;
        for (index, request) in ended() {
            let own = failed.iter().find(|ticket| ticket.request() == Some(request));
            let error = own.map(|ticket| ticket.code()).or((!others_too).then_some(SUCCESS));
            error.into_iter().for_each(|error| self.set_error(index, error));
        }
        let raisers = failed.into_iter().map(|ticket| ticket.raiser()).collect();
        Answer::Failed(raisers, to_word(constants().err_in_status))
    }
}
