//! Answers PnetCDF when it looks for the hint `nc_driver`: MPI-IO.
//!
//! PnetCDF 1.15 and later writes through GIO, a library inside of it, without MPI-IO and so without this library. In
//! `ncmpi_create` and `ncmpi_open` it looks for the hint among the program's hints and the hints of PNETCDF_HINTS, by
//! MPI_Info_get. If neither has the hint, this library answers `mpiio`. So the program's own choice counts, and the
//! answer reaches C and Fortran, and a PnetCDF that is linked statically. Earlier versions do not look for the hint.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

use tributary_abi::function_name;

use crate::entry::{Answer, enter};
use crate::file::hints;
use crate::mpi::abi::SUCCESS;
use crate::mpi::abi::word::{Word, from_word};
use crate::mpi::interposition::{self, Interposition};
use crate::mpi::next::InterposedFunction;

/// Hint by which a program chooses PnetCDF's driver.
const KEY: &CStr = c"nc_driver";
/// Value of the hint for MPI-IO.
const MPI_IO: &CStr = c"mpiio";

/// The next definition of MPI_Info_get.
static NEXT: InterposedFunction = InterposedFunction::new(function_name!("MPI_Info_get"));

/// True if PnetCDF's GIO is Tributary's own (libtributary_gio), which PnetCDF then keeps.
static HAS_OWN_GIO: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// True between the answer to PnetCDF and the MPI_File_open that follows it on this thread.
    static ANSWERED: Cell<bool> = const { Cell::new(false) };
}

#[unsafe(export_name = "MPI_Info_get")]
extern "C-unwind" fn get(info: Word, key: Word, length: Word, value: Word, found: Word) -> Word {
    let arguments = [info, key, length, value, found];
    let code = NEXT.call_linked(&arguments);
    let is_whole = code as c_int == SUCCESS && [key, value, found].iter().all(|&address| address != 0);
    // SAFETY: MPI has accepted the arguments: the key is a terminated text, and MPI has written `found`.
    let is_open = is_whole && unsafe { CStr::from_ptr(key as *const c_char) == KEY && *(found as *const c_int) == 0 };
    if is_open && interposition::is_active(Interposition::Preloaded) { enter(&NEXT, &arguments, answer) } else { code }
}

/// Writes the answer, unless the site leaves the program to MPI. Local: every rank gives the same answer if all have
/// the same settings.
fn answer(_: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [_, _, length, value, found] = *arguments else { return Answer::Pass };
    // SAFETY: the argument of MPI_Info_get is an int.
    let length = unsafe { from_word::<c_int>(length) };
    let has_room = usize::try_from(length).is_ok_and(|length| length >= MPI_IO.count_bytes());
    if !has_room || HAS_OWN_GIO.load(Ordering::Relaxed) || hints::is_program_left_by_site() {
        return Answer::Pass;
    }
    let answer = MPI_IO.to_bytes_with_nul();
    // SAFETY: the caller of MPI_Info_get has room for `length` characters and the terminator, and for an int.
    unsafe {
        std::ptr::copy_nonoverlapping(answer.as_ptr(), value as *mut u8, answer.len());
        *(found as *mut c_int) = 1;
    }
    ANSWERED.set(true);
    Answer::code(SUCCESS)
}

/// Returns true if PnetCDF opens a file by MPI-IO because of the answer. Called once in each MPI_File_open. Local.
pub fn take_answered() -> bool {
    ANSWERED.take()
}

/// Called by libtributary_gio when it is loaded into the process: PnetCDF then keeps GIO.
#[unsafe(export_name = "tributary_mpiio_keeps_gio")]
extern "C" fn keep_gio() {
    HAS_OWN_GIO.store(true, Ordering::Relaxed);
}
