//! The one place that knows the MPI library's binary interface: its handles, its constants, its functions.
//!
//! Handles differ (32-bit integers in MPICH, pointers in Open MPI), and so do most constants. Everything else in this
//! crate uses the names exported here, so that a build for another interface (the standard one of MPI-5) is a change to
//! this module.
//!
//! | module | holds |
//! |---|---|
//! | [`word`] | an argument of an interposed call, whatever its type |
//! | [`info`] | `MPI_Info` as keys and values |
//! | [`errors`] | classes of errors |
//! | [`types`] | how datatypes were made, and values kept on them |
//! | [`status`] | what a status says, and requests that are complete when they are made |

use std::ffi::{c_char, c_int};

pub mod errors;
pub mod info;
pub mod status;
pub mod types;
pub mod word;

pub use ::mpi::ffi::{MPI_Comm, MPI_Datatype, MPI_File, MPI_Info, MPI_Offset, MPI_Request, MPI_Status};

use ::mpi::ffi;
use tributary::Error;

/// The return code of a call that went well.
pub const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;

/// Modes of MPI_File_open.
#[allow(clippy::unnecessary_cast)] // i32 with one MPI library, u32 with the other
pub mod amode {
    use super::{c_int, ffi};

    /// Only to be read.
    pub const RDONLY: c_int = ffi::MPI_MODE_RDONLY as c_int;
    /// Only to be written.
    pub const WRONLY: c_int = ffi::MPI_MODE_WRONLY as c_int;
    /// Data comes and goes in order, at the shared pointer only.
    pub const SEQUENTIAL: c_int = ffi::MPI_MODE_SEQUENTIAL as c_int;
}

unsafe extern "C" {
    static trib_byte: MPI_Datatype;
    static trib_displacement_current: MPI_Offset;
    static trib_family: c_char;
}

/// MPI_SEEK_SET.
#[allow(clippy::unnecessary_cast)] // i32 with one MPI library, u32 with the other
pub fn seek_set() -> c_int {
    ffi::MPI_SEEK_SET as c_int
}

/// MPI_BYTE.
pub fn byte() -> MPI_Datatype {
    // SAFETY: a constant of constants.c.
    unsafe { trib_byte }
}

/// MPI_DISPLACEMENT_CURRENT.
pub fn displacement_current() -> MPI_Offset {
    // SAFETY: a constant of constants.c.
    unsafe { trib_displacement_current }
}

/// MPI_FILE_NULL.
pub fn file_null() -> MPI_File {
    // SAFETY: a constant of the C library.
    unsafe { ffi::RSMPI_FILE_NULL }
}

/// MPI_DATATYPE_NULL.
pub fn datatype_null() -> MPI_Datatype {
    // SAFETY: a constant of the C library.
    unsafe { ffi::RSMPI_DATATYPE_NULL }
}

/// The MPI family that this library was built for, as its version string begins.
pub fn family() -> &'static str {
    // SAFETY: a string of constants.c, with its terminator.
    unsafe { std::ffi::CStr::from_ptr(&raw const trib_family) }.to_str().unwrap_or_default()
}

/// Whether ranks of `comm` can share a file in the usual sense: a communicator that is there, of one group.
///
/// # Safety
/// `comm` is MPI_COMM_NULL or a communicator, and MPI is initialised.
pub unsafe fn is_intracommunicator(comm: MPI_Comm) -> bool {
    let mut inter = 0;
    // SAFETY: a constant of the C library; a communicator, as the caller promises.
    unsafe { comm != ffi::RSMPI_COMM_NULL && ffi::MPI_Comm_test_inter(comm, &mut inter) == SUCCESS && inter == 0 }
}

/// MPI_COMM_WORLD.
pub fn world() -> MPI_Comm {
    // SAFETY: a constant of the C library.
    unsafe { ffi::RSMPI_COMM_WORLD }
}

/// Whether the ranks of `comm` are those of the program, in the same order. Local.
///
/// # Safety
/// `comm` is an intracommunicator, and MPI is initialised.
#[allow(clippy::unnecessary_cast)] // i32 with one MPI library, u32 with the other
pub unsafe fn is_congruent_to_world(comm: MPI_Comm) -> bool {
    let mut how: c_int = 0;
    // SAFETY: two communicators; writes one int.
    let code = unsafe { ffi::MPI_Comm_compare(comm, world(), &mut how) };
    code == SUCCESS && (how == ffi::MPI_IDENT as c_int || how == ffi::MPI_CONGRUENT as c_int)
}

/// This process's rank in `comm`.
///
/// # Safety
/// As [`is_congruent_to_world`].
pub unsafe fn rank(comm: MPI_Comm) -> c_int {
    let mut rank: c_int = 0;
    // SAFETY: a communicator; writes one int.
    unsafe { ffi::MPI_Comm_rank(comm, &mut rank) };
    rank
}

/// Whether no two threads call MPI at once: the level of threads that MPI was initialised with.
#[allow(clippy::unnecessary_cast)] // i32 with one MPI library, u32 with the other
pub fn has_one_thread_at_a_time() -> bool {
    let mut level: c_int = 0;
    // SAFETY: MPI is initialised, as a file is open; writes one int.
    let code = unsafe { ffi::MPI_Query_thread(&mut level) };
    code == SUCCESS && level != ffi::MPI_THREAD_MULTIPLE as c_int
}

/// Turns the return code of `call` into a result.
pub fn check(call: &str, code: c_int) -> Result<(), Error> {
    if code == SUCCESS { Ok(()) } else { Err(Error::Fabric(format!("{call}: MPI error code {code}"))) }
}
