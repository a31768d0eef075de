//! Reads and sets the byte count of an MPI_Status, and sets a request to MPI_REQUEST_NULL.

use tributary_abi::{self as ffi, MISSING, constants, handles};

use crate::mpi::abi::{MPI_Request, MPI_Status};

/// Sets the number of bytes in `status`, unless it is MPI_STATUS_IGNORE.
///
/// # Safety
/// `status` is a valid status, or MPI_STATUS_IGNORE.
pub unsafe fn set(status: *mut MPI_Status, bytes: u64) {
    if status.addr() == constants().status_ignore as usize || status.is_null() {
        return;
    }
    // SAFETY: a status that may be written. If it cannot hold the number, MPI_Get_count returns MPI_UNDEFINED.
    unsafe {
        if ffi::MPI_Status_set_elements_x(status, handles().byte, bytes as ffi::MPI_Count) == MISSING {
            ffi::MPI_Status_set_elements_c(status, handles().byte, bytes as ffi::MPI_Count);
        }
        ffi::MPI_Status_set_cancelled(status, 0);
    }
}

/// Returns the number of bytes in a status.
pub fn bytes(status: &MPI_Status) -> u64 {
    let mut count: ffi::MPI_Count = 0;
    // SAFETY: a status that MPI has filled; writes one number.
    unsafe {
        if ffi::MPI_Get_elements_x(status, handles().byte, &mut count) == MISSING {
            ffi::MPI_Get_elements_c(status, handles().byte, &mut count);
        }
    }
    u64::try_from(count).unwrap_or_default()
}

/// Sets `request` to MPI_REQUEST_NULL, after an operation failed to start.
///
/// # Safety
/// `request` is null or may be written.
pub unsafe fn no_request(request: *mut MPI_Request) {
    if !request.is_null() {
        // SAFETY: the caller's promise; as wide as a handle is.
        unsafe { handles().request_null.put(request) };
    }
}
