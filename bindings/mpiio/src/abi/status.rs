//! What a status says, and requests that are complete when they are made.

use std::ffi::{c_int, c_void};

use tributary::Error;
use tributary_abi::{self as ffi, MISSING, constants, handles};

use super::{MPI_Request, MPI_Status, SUCCESS, byte, check};

/// Says in `status` that so many bytes were moved, unless the program ignores it.
///
/// # Safety
/// `status` is a valid status, or MPI_STATUS_IGNORE.
pub unsafe fn set(status: *mut MPI_Status, bytes: u64) {
    if status.addr() == constants().status_ignore as usize || status.is_null() {
        return;
    }
    // SAFETY: a status that may be written. That it cannot hold a number is told by MPI_Get_count (MPI_UNDEFINED).
    unsafe {
        if ffi::MPI_Status_set_elements_x(status, byte(), bytes as ffi::MPI_Count) == MISSING {
            ffi::MPI_Status_set_elements_c(status, byte(), bytes as ffi::MPI_Count);
        }
        ffi::MPI_Status_set_cancelled(status, 0);
    }
}

/// A request that is complete, and whose status says that so many bytes were moved: a generalised request (MPI 4.1,
/// section 13.2), which Test, Wait and their kin take like any other.
///
/// # Safety
/// `request` may be written; MPI is initialised.
pub unsafe fn completed(bytes: u64, request: *mut MPI_Request) -> Result<(), Error> {
    let state = Box::into_raw(Box::new(bytes)).cast::<c_void>();
    // SAFETY: the callbacks fit their types; `state` lives until `free` takes it, which MPI calls once.
    let code = unsafe { ffi::MPI_Grequest_start(query, free, cancel, state, request) };
    if code != SUCCESS {
        // SAFETY: MPI did not take it.
        drop(unsafe { Box::from_raw(state.cast::<u64>()) });
        return check("MPI_Grequest_start", code);
    }
    // SAFETY: MPI wrote a generalised request there just now, as wide as its handles are.
    check("MPI_Grequest_complete", unsafe { ffi::MPI_Grequest_complete(MPI_Request::at(request.cast())) })
}

/// Says in `request` that there is none: of an operation that failed when it was started.
///
/// # Safety
/// `request` is null or may be written.
pub unsafe fn no_request(request: *mut MPI_Request) {
    if !request.is_null() {
        // SAFETY: the caller's promise; as wide as a handle is.
        unsafe { handles().request_null.put(request) };
    }
}

unsafe extern "C" fn query(state: *mut c_void, status: *mut MPI_Status) -> c_int {
    // SAFETY: MPI gives back what it was given, and a status to be filled.
    unsafe { set(status, *state.cast::<u64>()) };
    SUCCESS
}

unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    // SAFETY: MPI calls this once for each request.
    drop(unsafe { Box::from_raw(state.cast::<u64>()) });
    SUCCESS
}

/// What is complete cannot be cancelled.
unsafe extern "C" fn cancel(_state: *mut c_void, _complete: c_int) -> c_int {
    SUCCESS
}
