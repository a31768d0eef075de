//! The ticket of a call in flight. The caller that started the call waits for the ticket, or gives the program an MPI
//! request that stands for it.
//!
//! The request is a generalised request (MPI 4.1, section 13.2), which MPI_Wait, MPI_Test and their variants take
//! like any other. The request does not carry errors: MPI libraries treat an error of its callback differently, and
//! by default such an error ends the program, whereas errors of files are returned. So the callback reports success,
//! and the function that completes the request returns the error (`calls/requests`). Under the component of Open MPI
//! nothing stands in front of that function: the callback returns the error, as an error of the file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tributary::Error;
use tributary::engine::binding::abort_job_on_error;
use tributary_abi::{self as ffi, MPI_Request, MPI_Status};
use tributary_bindings::guard::lock;

use crate::file::backend::Ended;
use crate::file::files;
use crate::file::pending::PENDING;
use crate::mpi::abi::errors::class;
use crate::mpi::abi::word::{Word, to_word};
use crate::mpi::abi::{SUCCESS, check, status};
use crate::mpi::error_handler::raise;
use crate::mpi::interposition;
use crate::mpi::next::{Form, InterposedFunction};

/// A collective call in flight: its file, its function, its request and its result.
pub struct CallTicket {
    /// Handle of the file.
    pub file: Word,
    /// Function that started the call.
    pub function: &'static InterposedFunction,
    /// True if this rank prints errors.
    pub prints: bool,
    /// True if the call's error was counted already, when MPI queried the request (under the component of Open MPI).
    is_noted: AtomicBool,
    request: OnceLock<MPI_Request>,
    outcome: OnceLock<Result<Ended, Error>>,
}

/// A split collective that the program has begun and not ended.
pub struct Split {
    /// Form of the function that began the split collective.
    pub form: Form,
    /// Ticket of the engine's call in flight. None if MPI runs the call with an explicit offset, the position of this
    /// library's file pointer at the begin.
    pub ticket: Option<Arc<CallTicket>>,
}

/// Returns the table of calls whose requests the program has not completed.
fn requests() -> MutexGuard<'static, HashMap<MPI_Request, Arc<CallTicket>>> {
    static LIVE: OnceLock<Mutex<HashMap<MPI_Request, Arc<CallTicket>>>> = OnceLock::new();
    lock(LIVE.get_or_init(Mutex::default))
}

thread_local! {
    /// Failed calls whose requests MPI has queried in this thread, and which [`failed`] has not returned yet.
    static FAILED: RefCell<Vec<Arc<CallTicket>>> = const { RefCell::new(Vec::new()) };
}

/// Returns the failed calls whose requests MPI has queried in this thread since the last call of this function.
pub fn failed() -> Vec<Arc<CallTicket>> {
    FAILED.take()
}

/// Returns the call that a request stands for; None if the request is not one of this library.
pub fn live(request: MPI_Request) -> Option<Arc<CallTicket>> {
    requests().get(&request).cloned()
}

impl CallTicket {
    /// Creates a ticket for a call of `function` on a file. `prints` is true if this rank prints errors.
    pub fn new(file: Word, function: &'static InterposedFunction, prints: bool) -> Arc<Self> {
        let is_noted = AtomicBool::new(false);
        Arc::new(Self { file, function, prints, is_noted, request: OnceLock::new(), outcome: OnceLock::new() })
    }

    /// Returns the result of the call; None while the call is in flight.
    pub fn outcome(&self) -> Option<&Result<Ended, Error>> {
        self.outcome.get()
    }

    /// Returns the MPI request that stands for the call, if there is one.
    pub fn request(&self) -> Option<MPI_Request> {
        self.request.get().copied()
    }

    /// Creates a generalised request that stands for the call, and stores it at `place`.
    ///
    /// # Errors
    /// Any error of the MPI library.
    ///
    /// # Safety
    /// `place` points to the program's request, and MPI is initialised.
    pub unsafe fn make_request(self: &Arc<Self>, place: *mut MPI_Request) -> Result<(), Error> {
        let state = Arc::into_raw(self.clone()).cast_mut().cast::<c_void>();
        // SAFETY: the callbacks fit their types; `state` lives until `free` takes it, which MPI calls once.
        let code = unsafe { ffi::MPI_Grequest_start(query, free, cancel, state, place) };
        if code != SUCCESS {
            // SAFETY: MPI has not accepted it.
            drop(unsafe { Arc::from_raw(state.cast::<Self>()) });
            return check("MPI_Grequest_start", code);
        }
        // SAFETY: MPI has just written the handle, with the width of its handles.
        let request = unsafe { MPI_Request::at(place.cast()) };
        // Set only once.
        let _ = self.request.set(request);
        requests().insert(request, self.clone());
        PENDING.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the return code for the program: an error class if the call failed, otherwise success, also while the
    /// call is in flight.
    pub fn code(&self) -> c_int {
        match self.outcome() {
            Some(Err(error)) => class(error),
            Some(Ok(Ended::ByMpi { code, .. })) => *code,
            Some(Ok(_)) | None => SUCCESS,
        }
    }

    /// If the call failed, counts the error if the engine reported it, prints it if due ([`crate::file::failures`]), and
    /// calls the file's error handler, which may not return. Returns the return code.
    pub fn raise(&self) -> Word {
        let code = self.code();
        if code == SUCCESS {
            return to_word(code);
        }
        if let Some(Err(error)) = self.outcome() {
            files::note_failure(self.file, self.function.full_name(), error, self.prints);
        }
        raise(self.file, code)
    }

    /// Returns a closure that calls [`CallTicket::raise`].
    pub fn raiser(self: Arc<Self>) -> Box<dyn FnOnce()> {
        Box::new(move || {
            self.raise();
        })
    }

    /// Counts the error of the failed call once, if the engine reported it, and makes Open MPI call the file's error
    /// handler. Returns the code for MPI.
    fn fail_request(&self) -> c_int {
        if let (Some(Err(error)), false) = (self.outcome(), self.is_noted.swap(true, Ordering::Relaxed)) {
            files::note_failure(self.file, self.function.full_name(), error, self.prints);
        }
        if let Some(request) = self.request() {
            interposition::component().iter().for_each(|component| (component.point_at_file)(request, self.file));
        }
        self.code()
    }

    /// Counts the call as in flight.
    pub(super) fn begins(&self) {
        PENDING.fetch_add(1, Ordering::Relaxed);
    }

    /// Stores the result of the call, completes the call's request, and ends its count as in flight.
    pub(super) fn end(&self, outcome: Result<Ended, Error>) {
        // A call ends once, so no earlier result is replaced.
        let _ = self.outcome.set(outcome);
        if let Some(request) = self.request() {
            // SAFETY: our own request. MPI keeps it until it is complete, even if the program has freed it. MPI may call `free`
            // from here.
            let code = unsafe { ffi::MPI_Grequest_complete(request) };
            // Ends the job, because the program would wait for this request for ever (as it does with `trib_on_failure=return`).
            let _ = abort_job_on_error(check("MPI_Grequest_complete", code));
        }
        PENDING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Stores at `place` the request of a call that has ended and has moved this number of bytes. It is complete, so it does not count as in
/// flight.
///
/// # Errors
/// Any error of the MPI library.
///
/// # Safety
/// `place` points to the program's request, and MPI is initialised.
pub unsafe fn make_ended(bytes: u64, place: *mut MPI_Request) -> Result<(), Error> {
    unsafe extern "C" fn query(bytes: *mut c_void, status: *mut MPI_Status) -> c_int {
        // SAFETY: a status to be filled.
        unsafe { status::set(status, bytes as u64) };
        SUCCESS
    }
    unsafe extern "C" fn free(_bytes: *mut c_void) -> c_int {
        SUCCESS
    }
    // SAFETY: the callbacks fit their types; the state is a number.
    check("MPI_Grequest_start", unsafe { ffi::MPI_Grequest_start(query, free, cancel, bytes as *mut c_void, place) })?;
    // SAFETY: MPI has just written the handle.
    check("MPI_Grequest_complete", unsafe { ffi::MPI_Grequest_complete(MPI_Request::at(place.cast())) })
}

unsafe extern "C" fn query(state: *mut c_void, status: *mut MPI_Status) -> c_int {
    // SAFETY: MPI passes the state that it was given, which `free` has not freed yet.
    let ticket = unsafe {
        Arc::increment_strong_count(state.cast_const().cast::<CallTicket>());
        Arc::from_raw(state.cast_const().cast::<CallTicket>())
    };
    let bytes = match ticket.outcome() {
        Some(Ok(ended)) => ended.bytes(),
        Some(Err(_)) | None => 0,
    };
    // SAFETY: a status to be filled.
    unsafe { status::set(status, bytes) };
    if ticket.code() != SUCCESS && interposition::is_component() {
        return ticket.fail_request();
    }
    if ticket.code() != SUCCESS {
        FAILED.with_borrow_mut(|failed| failed.push(ticket));
    }
    SUCCESS
}

unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    // SAFETY: MPI calls this once for each request.
    let ticket = unsafe { Arc::from_raw(state.cast_const().cast::<CallTicket>()) };
    if let Some(request) = ticket.request() {
        requests().remove(&request);
    }
    PENDING.fetch_sub(1, Ordering::Relaxed);
    SUCCESS
}

/// Does nothing: a collective call cannot be cancelled, because the other ranks depend on this one.
unsafe extern "C" fn cancel(_state: *mut c_void, _complete: c_int) -> c_int {
    SUCCESS
}
