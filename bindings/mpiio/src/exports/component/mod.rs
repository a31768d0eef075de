//! The component `tributary` of Open MPI's framework `io`: Open MPI loads this library under the name
//! `mca_io_tributary.so` from a folder of components, and calls it for every file. Nothing is preloaded.
//!
//! The component has a higher priority than `ompio`, the component that Open MPI would take. It returns a copy of ompio's table of
//! functions in which this library's handlers replace some functions; the handlers call ompio's functions where the
//! preloaded library calls MPI's. Open MPI's own MPI_File functions stay in front: they check arguments, call error
//! handlers and count for tools. So the component returns error codes, and raises no errors itself.
//!
//! Open MPI asks every component for each call of MPI_File_delete, and takes the component with the highest priority. Through this
//! component ompio deletes the file; the library waits for buffered bytes, and counts calls that found no file. Open MPI
//! opens the frameworks that ompio needs only for a component of ompio's name.
//!
//! If Open MPI is not as the component expects, the component refuses the file and Open MPI takes ompio. With TRIB_REPORT the first
//! rank then prints why.
//!
//! | module | holds |
//! |---|---|
//! | [`layout`] | Open MPI's structures, and the series of Open MPI in which they are known |
//! | [`ompio`] | finds ompio, and opens the frameworks that ompio needs |
//! | [`table`] | the table of functions, and the calls of ompio's functions |
//! | [`info`] | hints: what the program sets and gets |
//! | [`progress`] | calls in flight, and the end of the program |

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Once;

use tributary_abi::{Abi, find};

use crate::calls::open::path_of;
use crate::entry;
use crate::file::{deletions, report};
use crate::mpi::abi::word::Word;
use crate::mpi::interposition::{self, ComponentFunctions, is_first_rank};

mod info;
mod layout;
mod ompio;
mod progress;
mod table;

use layout::{Component, ERROR, IoComponent, NOT_AVAILABLE, Series, io_component};

static FUNCTIONS: ComponentFunctions = ComponentFunctions {
    call_ompio: table::call_ompio,
    show_hints: info::show,
    can_advance: progress::can_advance,
    point_at_file: progress::point_at_file,
};

/// The structure by which Open MPI knows the component. Its version of the framework is ompio's version, which
/// [`register`] writes before Open MPI reads it.
#[unsafe(export_name = "mca_io_tributary_component")]
static mut COMPONENT: IoComponent = io_component(
    Component::new("tributary", register, open),
    [
        init_query as *const c_void,
        file_query as *const c_void,
        file_unquery as *const c_void,
        delete_query as *const c_void,
        delete_unquery as *const c_void,
        delete_select as *const c_void,
        register_datarep as *const c_void,
    ],
);

/// Takes over ompio's version of the framework. Open MPI calls this once, after it has loaded all components.
unsafe extern "C" fn register() -> c_int {
    if let Some(found) = ompio::component() {
        // SAFETY: Open MPI calls this from one thread, and reads the structure later; ompio's structure is valid.
        unsafe { (&raw mut COMPONENT.component).as_mut().map(|ours| ours.take_version_of(&(*found).component)) };
    }
    0
}

/// Returns success if Open MPI may ask the component to take files. If ompio is not loaded, [`file_query`] reports it.
unsafe extern "C" fn open() -> c_int {
    match series() {
        Err(why) if ompio::component().is_some() => {
            stand_aside(&why);
            NOT_AVAILABLE
        }
        Ok(_) | Err(_) => 0,
    }
}

unsafe extern "C" fn init_query(_progress_threads: bool, _threads: bool) -> c_int {
    0
}

/// Returns the series of the Open MPI that runs, or the reason why the component cannot work with it.
fn series() -> Result<Series, String> {
    let found = ompio::component().ok_or(ompio::NOT_SELECTED)?;
    // SAFETY: Open MPI's structure, whose first part has the layout of MCA 2.1, which Open MPI has checked for ours.
    let (component, version) = unsafe { ((*found).component.version(), (*found).component.framework_version()) };
    Series::known(component, version).ok_or_else(|| {
        let ([major, minor, release], [io, io_minor, _]) = (component, version);
        format!("Open MPI {major}.{minor}.{release} with io {io}.{io_minor} is not known; known: 4.0 to 6")
    })
}

/// Prints once why the component leaves files to other components, if a report is wanted.
fn stand_aside(why: &str) {
    static SAID: Once = Once::new();
    if !why.is_empty() && report::is_wanted() && is_first_rank() {
        SAID.call_once(|| tributary::say(format_args!("the component of Open MPI leaves its files to MPI: {why}")));
    }
}

/// Returns the reason why this process does not use the component; None if it does. The reason is empty if the user
/// knows it (TRIB_DISABLE), or if the library has printed it. All ranks get the same answer if
/// they have the same environment and the same libraries.
fn refusal() -> Option<String> {
    if interposition::is_taken_by_another_copy() || !interposition::is_active_component(&FUNCTIONS) {
        return Some("the preloaded library runs the calls of this program".to_string());
    }
    if !entry::is_on() {
        return Some(String::new());
    }
    match find().map(|mpi| mpi.abi) {
        Ok(Abi::OpenMpi) => None,
        Ok(other) => Some(format!("the program's MPI library has {}", other.name())),
        Err(refusal) => Some(refusal.to_string()),
    }
}

/// Returns the table of functions for a file that is being opened, or null, and then Open MPI takes another component.
/// The file's private data is ompio's.
unsafe extern "C" fn file_query(file: *mut c_void, data: *mut *mut c_void, priority: *mut c_int) -> *const c_void {
    let queried = refusal().map_or_else(series, Err).and_then(|series| {
        // SAFETY: Open MPI's arguments, which ompio's function of the same type gets.
        unsafe { ompio::query(file, data, priority) }.and_then(|theirs| table::of(series, theirs))
    });
    match queried {
        Ok(table) => {
            // SAFETY: Open MPI's place for an int, which ompio has filled. The next priority above ompio's: a
            // component that the user prefers to ompio goes first.
            unsafe { *priority += 1 };
            table
        }
        Err(why) => {
            stand_aside(&why);
            null_mut()
        }
    }
}

unsafe extern "C" fn file_unquery(file: *mut c_void, data: *mut c_void) -> c_int {
    // SAFETY: the private data is ompio's.
    unsafe { ompio::unquery(file, data) }
}

/// Offers to take the call, with a priority directly above ompio's. Local.
unsafe extern "C" fn delete_query(
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

/// Undoes [`delete_query`].
unsafe extern "C" fn delete_unquery(name: *const c_char, info: *mut c_void, data: *mut c_void) -> c_int {
    // SAFETY: Open MPI's arguments; the private data is ompio's.
    unsafe { ompio::delete_unquery(name, info, data) }
}

/// Lets ompio delete the file after buffered bytes are written, and counts the call if it found no file. Local.
unsafe extern "C" fn delete_select(name: *const c_char, info: *mut c_void, data: *mut c_void) -> c_int {
    if !name.is_null() {
        // SAFETY: Open MPI's argument, a terminated text.
        deletions::begin(&path_of(unsafe { CStr::from_ptr(name) }));
    }
    // SAFETY: Open MPI's arguments; the private data is ompio's.
    let code = unsafe { ompio::delete_select(name, info, data) }.unwrap_or(ERROR);
    deletions::note(code);
    code
}

/// Takes part in MPI_Register_datarep without an error: Open MPI asks every component, and ompio's answer counts.
unsafe extern "C" fn register_datarep(_name: Word, _read: Word, _write: Word, _extent: Word, _state: Word) -> c_int {
    0
}
