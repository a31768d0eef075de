//! What a status says, and the request that is none.

use tributary_abi::{self as ffi, MISSING, constants, handles};

use super::{MPI_Request, MPI_Status, byte};

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
