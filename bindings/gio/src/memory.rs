//! Memory statistics. GIO has them only if it was configured for debugging; here they are never enabled.

use std::ffi::c_int;

use crate::MPI_Offset;
use crate::code::ENOTENABLED;

/// Would return the memory in use. Always returns GIO_ENOTENABLED and does not change `size`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GIO_inq_malloc_size(_size: *mut MPI_Offset) -> c_int {
    ENOTENABLED
}

/// Would return the peak of memory in use. Always returns GIO_ENOTENABLED and does not change `size`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GIO_inq_malloc_max_size(_size: *mut MPI_Offset) -> c_int {
    ENOTENABLED
}

/// Would print the allocations that are not freed yet. Always returns GIO_ENOTENABLED.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GIO_inq_malloc_list() -> c_int {
    ENOTENABLED
}
