//! MPI_File_delete through the component: ompio deletes the file; the library waits for bytes left behind, and counts calls
//! that found no file.
//!
//! Open MPI asks every component for each call of MPI_File_delete, and takes the one with the highest priority. It opens
//! the frameworks that ompio needs only for a component of ompio's name.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::layout::ERROR;
use super::{ompio, refusal, series, stand_aside};
use crate::calls::open::path_of;
use crate::deletions;

/// Says whether the component takes the call, with a priority directly before ompio's. Local.
pub unsafe extern "C" fn delete_query(
    name: *const c_char,
    info: *mut c_void,
    data: *mut *mut c_void,
    is_usable: *mut bool,
    priority: *mut c_int,
) -> c_int {
    // SAFETY: Open MPI's places for the answer.
    unsafe { (*is_usable, *priority) = (false, 0) };
    let queried = refusal().map_or_else(series, Err).and_then(|_| {
        // SAFETY: Open MPI's arguments, which ompio's function of the same type gets.
        unsafe { ompio::delete_query(name, info, data, is_usable, priority) }
    });
    match queried {
        // SAFETY: Open MPI's place, which ompio has filled.
        Ok(()) => unsafe { *priority += 1 },
        Err(why) => {
            stand_aside(&why);
            // SAFETY: Open MPI's place for the answer.
            unsafe { *is_usable = false };
        }
    }
    0
}

/// Takes back [`delete_query`].
pub unsafe extern "C" fn delete_unquery(name: *const c_char, info: *mut c_void, data: *mut c_void) -> c_int {
    // SAFETY: Open MPI's arguments; the private data is ompio's.
    unsafe { ompio::delete_unquery(name, info, data) }
}

/// Lets ompio delete the file after bytes left behind are written, and counts the call if there was none. Local.
pub unsafe extern "C" fn delete_select(name: *const c_char, info: *mut c_void, data: *mut c_void) -> c_int {
    if !name.is_null() {
        // SAFETY: Open MPI's argument, a terminated text.
        deletions::begin(&path_of(unsafe { CStr::from_ptr(name) }));
    }
    // SAFETY: likewise.
    let code = unsafe { ompio::delete_select(name, info, data) }.unwrap_or(ERROR);
    deletions::note(code);
    code
}
