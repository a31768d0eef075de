//! Makes the linker take all functions of GIO from this library. PnetCDF's static library contains GIO. If a program
//! links this library in front of PnetCDF, this table, to which opening a file refers, makes the linker take every
//! function of GIO from here, not some from there.

use std::mem::transmute;
use std::sync::atomic::AtomicPtr;

use crate::{code, open, size, subarray, transfer};

/// Makes a table of function addresses, whatever the functions' types.
macro_rules! addresses {
    ($($function:path),+ $(,)?) => {
        [$(AtomicPtr::new($function as *mut ())),+]
    };
}

/// Addresses of all functions. Atomic only so that the static is `Sync`; the addresses never change.
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
    transfer::GIO_write,
    transfer::GIO_read,
    transfer::GIO_write_all,
    transfer::GIO_read_all,
    subarray::GIO_flatten_subarray,
    code::GIO_inq_malloc_size,
    code::GIO_inq_malloc_max_size,
    code::GIO_inq_malloc_list,
];

/// Runs when the process loads this library. Reports to the preload library, if it is loaded too, that PnetCDF uses this
/// GIO. Otherwise the preload library makes PnetCDF call MPI-IO.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = {
    extern "C" fn at_load() {
        // SAFETY: a terminated name.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"tributary_mpiio_keeps_gio".as_ptr()) };
        if !found.is_null() {
            // SAFETY: the preload library's function of this name, which takes and returns nothing.
            let tell = unsafe { transmute::<*mut libc::c_void, extern "C" fn()>(found) };
            tell();
        }
    }
    at_load
};

/// Refers to the tables, so that the linker keeps them.
#[inline]
pub fn are_linked() {
    std::hint::black_box((&FUNCTIONS, &AT_LOAD));
}
