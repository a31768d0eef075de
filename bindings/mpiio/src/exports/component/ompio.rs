//! Finds Open MPI's component `ompio`, and opens the frameworks that it needs: Open MPI opens them only for a component
//! of that name.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::sync::Mutex;

use tributary_abi::function;
use tributary_bindings::guard::lock;

use crate::exports::component::layout::{IoComponent, Table};

/// Frameworks that ompio needs, in the order in which Open MPI opens them: the framework and the function that looks
/// for its components (`ompi/mca/io/base/io_base_file_select.c`, 4.1.4 to 6.0).
const FRAMEWORKS: [(&CStr, &CStr); 4] = [
    (c"ompi_fs_base_framework", c"mca_fs_base_find_available"),
    (c"ompi_fcoll_base_framework", c"mca_fcoll_base_find_available"),
    (c"ompi_fbtl_base_framework", c"mca_fbtl_base_find_available"),
    (c"ompi_sharedfp_base_framework", c"mca_sharedfp_base_find_available"),
];

/// The reason why the component cannot work if Open MPI has not loaded ompio.
pub const NOT_SELECTED: &str =
    "the MCA parameter io does not select ompio, which it needs; set io to tributary,ompio, or do not set it";

/// Returns a function or variable of Open MPI, of its libraries or of a component that it has loaded; None if there is
/// none of this name.
pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a terminated name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() { function(name) } else { Some(found) }
}

/// Returns the structure of ompio; None if Open MPI has not loaded it.
pub fn component() -> Option<*const IoComponent> {
    symbol(c"mca_io_ompio_component").map(|found| found.cast_const().cast())
}

/// Asks ompio to take a file, and opens what ompio needs. Returns ompio's table of functions. On success ompio has
/// written its private data and its priority. Local.
///
/// # Errors
/// The reason why ompio cannot take the file.
///
/// # Safety
/// The arguments are Open MPI's to a component's `file_query`.
pub unsafe fn query(file: *mut c_void, data: *mut *mut c_void, priority: *mut c_int) -> Result<*const Table, String> {
    type Query = unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *mut c_int) -> *const Table;
    let ompio = component().filter(|_| is_selected()).ok_or(NOT_SELECTED)?;
    open_frameworks()?;
    // SAFETY: ompio's function, of this type in every series that `layout` knows; the caller's arguments.
    let table = unsafe { transmute::<*const c_void, Query>((*ompio).functions[1])(file, data, priority) };
    if table.is_null() { Err("ompio does not take the file".to_string()) } else { Ok(table) }
}

/// Undoes [`query`]: calls ompio's `file_unquery`.
///
/// # Safety
/// `data` is the private data that ompio wrote for the file.
pub unsafe fn unquery(file: *mut c_void, data: *mut c_void) -> c_int {
    type Unquery = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
    // SAFETY: in all releases that `layout` knows, ompio's function has this type; `data` is ompio's.
    component().map_or(0, |ompio| unsafe { transmute::<*const c_void, Unquery>((*ompio).functions[2])(file, data) })
}

/// Asks ompio to take a call of MPI_File_delete, and opens what ompio needs for it. On success ompio has written its
/// private data, whether it takes the call, and its priority. Local.
///
/// # Errors
/// The reason why ompio cannot take the call.
///
/// # Safety
/// The arguments are Open MPI's to a component's `delete_query`.
pub unsafe fn delete_query(
    name: *const c_char,
    info: *mut c_void,
    data: *mut *mut c_void,
    is_usable: *mut bool,
    priority: *mut c_int,
) -> Result<(), String> {
    type Query = unsafe extern "C" fn(*const c_char, *mut c_void, *mut *mut c_void, *mut bool, *mut c_int) -> c_int;
    let ompio = component().filter(|_| is_selected()).ok_or(NOT_SELECTED)?;
    open_frameworks()?;
    // SAFETY: ompio's function, of this type in every series that `layout` knows; the caller's arguments.
    let code =
        unsafe { transmute::<*const c_void, Query>((*ompio).functions[3])(name, info, data, is_usable, priority) };
    if code == 0 { Ok(()) } else { Err(format!("ompio answers {code} where it is asked to delete a file")) }
}

/// Undoes [`delete_query`]. Returns success if ompio has no function for this.
///
/// # Safety
/// `data` is the private data that ompio wrote for the call.
pub unsafe fn delete_unquery(name: *const c_char, info: *mut c_void, data: *mut c_void) -> c_int {
    // SAFETY: ompio's function at this place is a `Delete`; the caller's arguments.
    unsafe { delete_function(4) }.map_or(0, |function| unsafe { function(name, info, data) })
}

/// Lets ompio delete a file. Returns its code; None if ompio is not there. Local.
///
/// # Safety
/// `data` is the private data that ompio wrote for the call.
pub unsafe fn delete_select(name: *const c_char, info: *mut c_void, data: *mut c_void) -> Option<c_int> {
    // SAFETY: ompio's function at this place is a `Delete`; the caller's arguments.
    unsafe { delete_function(5) }.map(|function| unsafe { function(name, info, data) })
}

/// A function of ompio that gets the arguments of MPI_File_delete.
type Delete = unsafe extern "C" fn(*const c_char, *mut c_void, *mut c_void) -> c_int;

/// Returns the function at a place of ompio's structure; None if there is none.
///
/// # Safety
/// The function at this place is a [`Delete`].
unsafe fn delete_function(at: usize) -> Option<Delete> {
    // SAFETY: ompio's structure, whose functions may be null; the caller's place.
    component().and_then(|ompio| unsafe { transmute::<*const c_void, Option<Delete>>((*ompio).functions[at]) })
}

/// Returns true if Open MPI has registered ompio's parameters, which it does for selected components only. (In some
/// builds ompio is a part of the MPI library, and its structure is there in any case.)
fn is_selected() -> bool {
    type Find = unsafe extern "C" fn(*const c_char, *const c_char, *const c_char, *const c_char) -> c_int;
    let Some(find) = symbol(c"mca_base_var_find") else { return false };
    // SAFETY: Open MPI's function, which takes four terminated texts.
    let index = unsafe {
        transmute::<*mut c_void, Find>(find)(c"ompi".as_ptr(), c"io".as_ptr(), c"ompio".as_ptr(), c"priority".as_ptr())
    };
    index >= 0
}

/// Opens the frameworks that ompio needs, for each file as Open MPI does: an open framework stays as it is.
fn open_frameworks() -> Result<(), String> {
    type Open = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
    type FindAvailable = unsafe extern "C" fn(bool, bool) -> c_int;
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _only = lock(&ONE_AT_A_TIME);
    let missing = |name: &CStr| format!("Open MPI has no {}", name.to_string_lossy());
    let named = |name: &'static CStr| symbol(name).ok_or_else(|| missing(name));
    let open = named(c"mca_base_framework_open")?;
    for (framework, find) in FRAMEWORKS {
        let (place, find) = (named(framework)?, named(find)?);
        // SAFETY: Open MPI's functions of these types, and its framework.
        let codes = unsafe {
            let code = transmute::<*mut c_void, Open>(open)(place, 0);
            [code, if code == 0 { transmute::<*mut c_void, FindAvailable>(find)(false, true) } else { 0 }]
        };
        if codes != [0; 2] {
            return Err(format!("Open MPI cannot open its {}: {codes:?}", framework.to_string_lossy()));
        }
    }
    Ok(())
}
