//! The component's table of functions: ompio's, in which this library's handlers replace those that the preloaded
//! library interposes too.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use tributary_abi::{self as ffi, MPI_Info, handles};
use tributary_bindings::guard::lock;

use crate::entry::{enter, enter_slot};
use crate::exports::component::info;
use crate::exports::component::layout::{MOST_FUNCTIONS, Series, Table};
use crate::exports::component::progress::watch_the_end;
use crate::exports::{Row, is_passed, row};
use crate::mpi::abi::SUCCESS;
use crate::mpi::abi::word::{Word, to_word};
use crate::mpi::next::{InterposedFunction, call_address};

/// ompio's table, which the functions of this library's table call.
static THEIRS: AtomicPtr<Table> = AtomicPtr::new(std::ptr::null_mut());
/// Number of functions in the tables; 0 before the first file.
static FUNCTIONS: AtomicUsize = AtomicUsize::new(0);

/// A table of this component, and ompio's table from which it was made.
struct Made {
    theirs: *const Table,
    ours: Box<Table>,
}

// SAFETY: the addresses are of functions and of Open MPI's tables, which any thread may read.
unsafe impl Send for Made {}

static MADE: Mutex<Vec<Made>> = Mutex::new(Vec::new());

/// Returns the component's table for a table of ompio's. It is made once and never freed.
///
/// # Errors
/// A function of the table is missing in this library.
pub fn of(series: Series, theirs: *const Table) -> Result<*const c_void, String> {
    let mut made = lock(&MADE);
    THEIRS.store(theirs.cast_mut(), Ordering::Release);
    FUNCTIONS.store(series.functions().count(), Ordering::Release);
    if let Some(known) = made.iter().find(|known| known.theirs == theirs) {
        return Ok((&raw const *known.ours).cast());
    }
    let mut ours: Box<Table> = Box::new([null(); MOST_FUNCTIONS]);
    for (at, name) in series.functions().enumerate() {
        let row = row_of(series, name)?;
        // SAFETY: ompio's table has the functions of its series.
        let given = unsafe { theirs.cast::<*const c_void>().add(at).read() };
        ours[at] = match name {
            "open" => open as *const c_void,
            "close" => close as *const c_void,
            "set_view" => set_view as *const c_void,
            // Open MPI answers these calls itself if ompio has no function; `info` gives it this library's hints.
            _ if given.is_null() || is_passed(row) => given,
            _ => row.by_component.0,
        };
    }
    let place = (&raw const *ours).cast();
    made.push(Made { theirs, ours });
    Ok(place)
}

/// Returns the row of a function of the table: the row of the function with large counts if the table has large counts.
fn row_of(series: Series, name: &str) -> Result<&'static Row, String> {
    let large = series.has_large_counts().then(|| row(&format!("{name}_c"))).flatten();
    large.or_else(|| row(name)).ok_or_else(|| format!("the library has no MPI_File_{name}"))
}

/// Returns the place of a function in Open MPI's tables; None if it is in no table.
fn place_of(function: &InterposedFunction) -> Option<usize> {
    let name = function.full_name().strip_prefix("MPI_File_")?;
    let name = name.strip_suffix("_c").unwrap_or(name);
    let series = if FUNCTIONS.load(Ordering::Acquire) == MOST_FUNCTIONS { Series::Five } else { Series::Four };
    series.functions().position(|known| known == name)
}

/// Calls ompio's function for an interposed function; `None` if the function does not belong to the table, so that MPI has it.
pub fn call_ompio(function: &InterposedFunction, arguments: &[Word]) -> Option<Word> {
    function_of(function).map(|function| function.call(arguments))
}

fn function_of(function: &InterposedFunction) -> Option<OmpioFunction> {
    let place = (*function.place.get_or_init(|| place_of(function)))?;
    let theirs = THEIRS.load(Ordering::Acquire);
    // SAFETY: ompio's table, which is there as long as a file is open, has the place.
    let address = unsafe { theirs.cast::<*const c_void>().add(place).read() };
    Some(OmpioFunction { address, place })
}

/// A function of ompio's table.
pub struct OmpioFunction {
    address: *const c_void,
    place: usize,
}

impl OmpioFunction {
    const OPEN: usize = 0;
    const CLOSE: usize = 1;

    /// Calls the function with the arguments of MPI's function, and returns its code. MPI_File_open and MPI_File_close
    /// take the place of a handle; ompio's functions take the handle.
    pub fn call(&self, arguments: &[Word]) -> Word {
        let address = self.address.cast_mut();
        // SAFETY: the last argument of these is the place of a handle.
        let handle = |place: Word| unsafe { *(place as *const Word) };
        match (self.place, arguments) {
            (Self::OPEN, &[comm, name, amode, _, place]) => {
                // SAFETY: ompio's function with its arguments, each in its own register.
                unsafe { call_address(address, &[comm, name, amode, OPENED_WITH.get(), handle(place)]) }
            }
            // SAFETY: ompio's function with its arguments, each in its own register.
            (Self::CLOSE, &[place]) => unsafe { call_address(address, &[handle(place)]) },
            // SAFETY: ompio's function with its arguments, each in its own register.
            _ => unsafe { call_address(address, arguments) },
        }
    }
}

thread_local! {
    /// The info of Open MPI's own kind with which this thread opens a file.
    static OPENED_WITH: Cell<Word> = const { Cell::new(0) };
}

/// Opens a file: the handler of MPI_File_open gets an info with the program's hints, and the place of the handle that
/// Open MPI has made.
extern "C-unwind" fn open(comm: Word, name: Word, amode: Word, given: Word, file: Word) -> Word {
    let Some(row) = row("open") else { return to_word(super::ERROR) };
    watch_the_end();
    OPENED_WITH.set(given);
    let mut hints: MPI_Info = info::copy_of(given);
    let place = file;
    let code = enter(row.function, &[comm, name, amode, hints.as_word(), (&raw const place) as Word], row.handler);
    if hints != handles().info_null {
        // SAFETY: an info of this library.
        unsafe { ffi::MPI_Info_free(&mut hints) };
    }
    if code as c_int == SUCCESS {
        info::watch(file, given);
        info::show(file);
    }
    code
}

/// Sets a view. ompio chooses its aggregators by the hints that it finds in the file's info, and gets only those that the
/// program has set: with several aggregators it loses bytes of its own writes (`docs/ompio.md`).
extern "C-unwind" fn set_view(
    file: Word,
    displacement: Word,
    etype: Word,
    filetype: Word,
    representation: Word,
    given: Word,
) -> Word {
    let Some(row) = row("set_view") else { return to_word(super::ERROR) };
    info::hide(file);
    enter_slot(row.function, &[file, displacement, etype, filetype, representation, given], row.handler)
}

/// Closes a file. Open MPI returns success to the program whatever this returns.
extern "C-unwind" fn close(file: Word) -> Word {
    let Some(row) = row("close") else { return to_word(super::ERROR) };
    info::forget(file);
    let place = file;
    let arguments = [(&raw const place) as Word];
    // MPI_Finalize closes files that the program has not closed, when ranks cannot agree any more.
    let mut is_over = 0;
    // SAFETY: writes one int.
    if unsafe { ffi::MPI_Finalized(&mut is_over) } != ffi::SUCCESS || is_over != 0 {
        return row.function.call(&arguments);
    }
    enter(row.function, &arguments, row.handler)
}
