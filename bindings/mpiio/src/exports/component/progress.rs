//! Calls in flight of a file that the component takes, and the end of the program.
//!
//! The preloaded library advances calls in flight in MPI_Wait and its variants. The component has Open MPI call it
//! whenever a function of MPI waits or tests. Open MPI raises the error of a request, so the request must say that it
//! belongs to a file.

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

use tributary_abi::{self as ffi, MPI_Comm, MPI_Request, handles};

use crate::calls::finalize;
use crate::entry::unless_inside;
use crate::exports::component::layout::{REQUEST_OBJECT, REQUEST_TYPE, TYPE_FILE, TYPE_GENERALISED};
use crate::exports::component::ompio::symbol;
use crate::file::{files, pending};
use crate::mpi::abi::is_world_there;
use crate::mpi::abi::word::Word;

/// Asks Open MPI to advance calls in flight, and returns true if it does. Must be called before each call in flight
/// starts: a program may initialise MPI a second time. Open MPI keeps the request once, whatever the number of calls. Local.
pub fn can_advance() -> bool {
    type Register = unsafe extern "C" fn(extern "C" fn() -> c_int) -> c_int;
    static REGISTER: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    let mut register = REGISTER.load(Ordering::Relaxed);
    if register.is_null() {
        register = symbol(c"opal_progress_register").unwrap_or(null_mut());
        REGISTER.store(register, Ordering::Relaxed);
    }
    // SAFETY: Open MPI's function of this type, in a library that is not unloaded. Nor is this library.
    !register.is_null() && unsafe { transmute::<*mut c_void, Register>(register)(advance) } == 0
}

/// Advances calls in flight. Open MPI calls this while a function of MPI waits or tests, in any thread.
extern "C" fn advance() -> c_int {
    if pending::is_any() {
        unless_inside("MPI_Wait", pending::progress);
    }
    0
}

/// Makes the error of a generalised request an error of `file`, whose error handler Open MPI then calls. Does nothing
/// if the file was closed, or if the request is not laid out as in the releases that `layout` names: the error is then
/// one of MPI_COMM_WORLD. Local.
pub fn point_at_file(request: MPI_Request, file: Word) {
    let place = request.as_word() as *mut u8;
    if place.is_null() || files::find(file).is_none() {
        return;
    }
    // SAFETY: a request of Open MPI that is not completed is longer than both places are. Both must have the values that
    // Open MPI gives to a generalised request.
    unsafe {
        let (kind, object) = (place.add(REQUEST_TYPE).cast::<c_int>(), place.add(REQUEST_OBJECT).cast::<Word>());
        if kind.read_unaligned() == TYPE_GENERALISED && object.read_unaligned() == handles().comm_world.as_word() {
            object.write_unaligned(file);
            kind.write_unaligned(TYPE_FILE);
        }
    }
}

/// Ensures that buffered bytes, the line about the job and the last report are written when MPI is finalised, by an attribute of
/// MPI_COMM_SELF: MPI_Finalize deletes it first. Local.
pub fn watch_the_end() {
    static WATCHED: Once = Once::new();
    if !is_world_there().unwrap_or(false) {
        return;
    }
    WATCHED.call_once(|| {
        let mut key = 0;
        // SAFETY: MPI is initialised; the callbacks have MPI's types. Without the attribute there is no line.
        unsafe {
            if ffi::MPI_Comm_create_keyval(not_copied, ends, &mut key, null_mut()) == ffi::SUCCESS {
                ffi::MPI_Comm_set_attr(handles().comm_self, key, null_mut());
            }
        }
    });
}

/// Does not copy the attribute to a duplicate of MPI_COMM_SELF.
unsafe extern "C" fn not_copied(
    _comm: MPI_Comm,
    _key: c_int,
    _extra: *mut c_void,
    _value: *mut c_void,
    _copy: *mut c_void,
    is_copied: *mut c_int,
) -> c_int {
    // SAFETY: MPI's place for an int.
    unsafe { *is_copied = 0 };
    ffi::SUCCESS
}

unsafe extern "C" fn ends(_comm: MPI_Comm, _key: c_int, _value: *mut c_void, _extra: *mut c_void) -> c_int {
    unless_inside("MPI_Finalize", || {
        // Writes the buffered bytes of files that the program has not closed.
        tributary::engine::write_everything();
        finalize::end_job();
    });
    ffi::SUCCESS
}
