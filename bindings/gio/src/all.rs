//! All functions in one table, to which opening a file refers. In a static link in front of PnetCDF's library, which has GIO
//! inside, whoever takes one of them takes all: otherwise the linker would take the others from there.

use crate::{code, collective, independent, memory, open, size, subarray};

struct Functions([*const (); 18]);

// SAFETY: addresses of functions, which are never changed.
unsafe impl Sync for Functions {}

static FUNCTIONS: Functions = Functions([
    code::GIO_inq_libvers as *const (),
    code::GIO_strerror as *const (),
    code::GIO_strerrno as *const (),
    open::GIO_open as *const (),
    open::GIO_close as *const (),
    open::GIO_delete as *const (),
    size::GIO_sync as *const (),
    size::GIO_set_size as *const (),
    size::GIO_get_size as *const (),
    open::GIO_get_info as *const (),
    independent::GIO_write as *const (),
    independent::GIO_read as *const (),
    collective::GIO_write_all as *const (),
    collective::GIO_read_all as *const (),
    subarray::GIO_flatten_subarray as *const (),
    memory::GIO_inq_malloc_size as *const (),
    memory::GIO_inq_malloc_max_size as *const (),
    memory::GIO_inq_malloc_list as *const (),
]);

/// Refers to all of them.
#[inline]
pub fn are_linked() {
    std::hint::black_box(&FUNCTIONS.0);
}
