//! Memory statistics. GIO has them only where it was configured for debugging; here they are never enabled.

use std::ffi::c_int;

use crate::MPI_Offset;
use crate::code::ENOTENABLED;

/// Memory in use. Always GIO_ENOTENABLED; `size` stays as it is.
#[unsafe(no_mangle)]
pub extern "C" fn GIO_inq_malloc_size(_size: *mut MPI_Offset) -> c_int {
    ENOTENABLED
}

/// The most memory that was in use. Always GIO_ENOTENABLED; `size` stays as it is.
#[unsafe(no_mangle)]
pub extern "C" fn GIO_inq_malloc_max_size(_size: *mut MPI_Offset) -> c_int {
    ENOTENABLED
}

/// Prints what is not freed. Always GIO_ENOTENABLED.
#[unsafe(no_mangle)]
pub extern "C" fn GIO_inq_malloc_list() -> c_int {
    ENOTENABLED
}
