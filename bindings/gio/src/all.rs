//! All functions in one table, to which opening a file refers. In a static link in front of PnetCDF's library, which has GIO
//! inside, whoever takes one of them takes all: otherwise the linker would take the others from there.

use std::sync::atomic::AtomicPtr;

use crate::{code, collective, independent, memory, open, size, subarray};

/// A function's address, whatever its type.
macro_rules! addresses {
    ($($function:path),+ $(,)?) => {
        [$(AtomicPtr::new($function as *mut ())),+]
    };
}

/// Atomic only so that threads may share them: they are never changed.
static FUNCTIONS: [AtomicPtr<()>; 18] = addresses![
    code::GIO_inq_libvers,
    code::GIO_strerror,
    code::GIO_strerrno,
    open::GIO_open,
    open::GIO_close,
    open::GIO_delete,
    size::GIO_sync,
    size::GIO_set_size,
    size::GIO_get_size,
    open::GIO_get_info,
    independent::GIO_write,
    independent::GIO_read,
    collective::GIO_write_all,
    collective::GIO_read_all,
    subarray::GIO_flatten_subarray,
    memory::GIO_inq_malloc_size,
    memory::GIO_inq_malloc_max_size,
    memory::GIO_inq_malloc_list,
];

/// Refers to all of them.
#[inline]
pub fn are_linked() {
    std::hint::black_box(&FUNCTIONS);
}
