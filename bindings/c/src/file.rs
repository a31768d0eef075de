//! The handle of an open file: open, close, sync, size.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::pin::pin;

use tributary::collectives::agree;
use tributary::engine::binding::{self, Moved};
use tributary::fabric::mpi::MPI_Comm;
use tributary::hints::{Environment, FileHints};
use tributary::{CallReport, Error, File, Mode, Result};
use tributary_abi::communicator_of_fortran;
use tributary_bindings::handles::Handles;
use tributary_bindings::hints::not_of_the_file;
use tributary_bindings::opening::endpoint_on;
use tributary_bindings::prefix::without_prefix;

use super::hints::{HintTable, utf8};
use super::running::Busy;
use super::status::{guarded, trib_status};

/// Mode in which a file is opened.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum trib_mode {
    /// Create the file, or truncate an existing one.
    TRIB_CREATE = 1,
    /// Open an existing file and keep its contents, or create it.
    TRIB_UPDATE = 2,
    /// Open an existing file for reading only.
    TRIB_READ = 3,
}

/// An open file of all ranks of a communicator. Only one thread at a time may use it, and that thread must be allowed to
/// call MPI.
pub struct trib_file {
    pub(super) busy: Busy,
    pub(super) path: PathBuf,
    pub(super) mode: Mode,
    pub(super) hints: HintTable,
    /// Number of collective writes and reads that succeeded; `last` is the report of the last of them.
    pub(super) calls: u64,
    pub(super) last: Option<CallReport>,
}

impl trib_file {
    /// Records the report of a call that succeeded, and returns this rank's bytes.
    pub(super) fn note(&mut self, outcome: Result<Moved>) -> Result<u64> {
        let Moved { bytes, report } = outcome?;
        self.calls += 1;
        self.last = Some(report);
        Ok(bytes)
    }
}

static OPEN: Handles<trib_file> = Handles::new("file", "a file from trib_open");

/// Returns the file of a handle.
///
/// # Errors
/// The handle is NULL, was closed, or was never a handle.
///
/// # Safety
/// Nothing else uses it during the lifetime of the result.
pub(super) unsafe fn opened<'a>(file: *mut trib_file) -> Result<&'a mut trib_file> {
    // SAFETY: the caller's promise.
    unsafe { OPEN.get(file) }
}

/// Returns the engine's file, for a collective call of the C function `function`.
///
/// # Safety
/// The requirements of [`opened`].
unsafe fn engine_for<'a>(file: *mut trib_file, function: &'static str) -> Result<&'a mut File> {
    // SAFETY: the caller's promise.
    let engine = unsafe { opened(file)? }.busy.file()?;
    binding::call_them(engine, function);
    Ok(engine)
}

/// Opens a file on all ranks of a communicator. Collective over `comm`, an intracommunicator, which is duplicated. Path,
/// mode and hints must be the same on all ranks.
///
/// A prefix of `path` that names a file system, such as "lustre:", is dropped. One that stands for something that is not a file, such
/// as "daos:", is an error.
///
/// `mode` is one of `trib_mode`. `hints` is NULL or "key=value;key=value...". Where sources of hints disagree, the first of
/// these wins: Cray's MPICH_MPIIO_HINTS, `hints`, the environment variable TRIB_HINTS, the file that the environment
/// variable TRIB_HINTS_FILE names, other hints for other MPI libraries (docs/reference/hints.md). Unknown keys are ignored;
/// `trib_check_hints` finds them. The process's first open reads the variables and files. `*file` becomes the file, or NULL on any
/// error.
///
/// Errors: the same on all ranks. One exception: if `comm` is not usable (MPI_COMM_NULL, an intercommunicator, MPI not
/// initialised), this rank returns TRIB_ERR_ARGUMENT at once.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_open(
    comm: MPI_Comm,
    path: *const c_char,
    mode: c_int,
    hints: *const c_char,
    file: *mut *mut trib_file,
) -> trib_status {
    // SAFETY: the caller's promises: texts end with 0, `file` is null or may be written.
    guarded(|| unsafe {
        if !file.is_null() {
            file.write(std::ptr::null_mut());
        }
        let opened = open(comm, || arguments(path, mode, hints, file.is_null()))?;
        file.write(OPEN.add(opened));
        Ok(())
    })
}

/// Like `trib_open`, with the Fortran handle of the communicator (with `use mpi_f08`, its component MPI_VAL).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_open_fortran(
    comm: c_int,
    path: *const c_char,
    mode: c_int,
    hints: *const c_char,
    file: *mut *mut trib_file,
) -> trib_status {
    // SAFETY: the caller's promises are the same.
    unsafe { trib_open(communicator_of_fortran(comm), path, mode, hints, file) }
}

/// Checks path, mode and hints, and returns them.
unsafe fn arguments(
    path: *const c_char,
    mode: c_int,
    hints: *const c_char,
    no_file: bool,
) -> Result<(PathBuf, Mode, FileHints)> {
    if no_file {
        return Err(Error::argument("file", "NULL", "a pointer to a trib_file *"));
    }
    if path.is_null() {
        return Err(Error::argument("path", "NULL", "the name of a file"));
    }
    let mode = [
        (trib_mode::TRIB_CREATE, Mode::Create),
        (trib_mode::TRIB_UPDATE, Mode::Update),
        (trib_mode::TRIB_READ, Mode::Read),
    ]
    .into_iter()
    .find_map(|(number, known)| (number as c_int == mode).then_some(known))
    .ok_or_else(|| Error::argument("mode", mode, "TRIB_CREATE, TRIB_UPDATE, TRIB_READ"))?;
    // SAFETY: not null, so it ends with 0.
    let path = without_prefix(unsafe { CStr::from_ptr(path) }.to_bytes(), "path")?;
    let path = PathBuf::from(OsStr::from_bytes(path));
    let mut asked = Environment::of_process()?.file_hints(&path.to_string_lossy());
    if !hints.is_null() {
        // SAFETY: not null, so it ends with 0.
        asked.text(utf8(unsafe { CStr::from_ptr(hints) })?)?;
    }
    Ok((path, mode, asked))
}

/// Opens the file. Collective: bad arguments on any rank are an error on all ranks.
unsafe fn open(comm: MPI_Comm, arguments: impl FnOnce() -> Result<(PathBuf, Mode, FileHints)>) -> Result<trib_file> {
    // SAFETY: the program gives a communicator, if MPI is initialised, from a thread that may call MPI, and closes the
    // file before it finalises MPI.
    let mut endpoint = unsafe { endpoint_on(comm, "communicator")? };
    let waiting = endpoint.waiting().clone();
    let (path, mode, asked) = waiting.complete(pin!(agree(&mut endpoint, arguments())))?;
    let mut file = File::open(endpoint, &path, mode, asked.hints().clone())?;
    let unused =
        asked.unused().iter().cloned().chain(asked.without_effect(|key| not_of_the_file(&file, key))).collect();
    binding::describe_hints(&mut file, &asked, unused);
    let hints = HintTable::from_file(&file);
    Ok(trib_file { busy: Busy::new(file), path, mode, hints, calls: 0, last: None })
}

/// Closes a file. Collective; call it before MPI_Finalize. When it returns, all ranks have closed the file, and it may be
/// removed. `*file` becomes NULL, on an error too. If `*file` is NULL already, the result is TRIB_OK. While an operation is
/// in flight, nothing is closed and the result is TRIB_ERR_ARGUMENT.
///
/// Errors: an error that the file system reports on any rank is the result on every rank.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_close(file: *mut *mut trib_file) -> trib_status {
    // SAFETY: the caller's promises: `file` is null or may be read and written, and holds null or an open file.
    guarded(|| unsafe {
        let place =
            file.as_mut().ok_or_else(|| Error::argument("file", "NULL", "a pointer to what trib_open returned"))?;
        if place.is_null() {
            return Ok(());
        }
        engine_for(*place, "trib_close")?;
        let trib_file { busy, .. } = OPEN.take(std::mem::take(place))?;
        busy.into_file().close().map(|_| ())
    })
}

/// Waits until everything that all ranks have written so far is on stable storage. Collective.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_sync(file: *mut trib_file) -> trib_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { engine_for(file, "trib_sync")?.sync() })
}

/// Sets the size of the file to `size` bytes: truncates it, or extends it with zeros. Collective, with the same `size` on
/// all ranks. The size changes after all ranks have made the call.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_set_size(file: *mut trib_file, size: i64) -> trib_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let file = engine_for(file, "trib_set_size")?;
        let checked = u64::try_from(size).map_err(|_| Error::argument("size", size, "0 or more"));
        binding::set_len_after(file, checked)
    })
}

/// Returns the size of the file in bytes, as the file system reports it to this rank now. Not collective.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_get_size(file: *mut trib_file, size: *mut i64) -> trib_status {
    // SAFETY: the caller's promises: an open file; `size` is null or may be written.
    guarded(|| unsafe {
        let size = size.as_mut().ok_or_else(|| Error::argument("size", "NULL", "a pointer to an int64_t"))?;
        *size = opened(file)?.busy.file()?.size()? as i64;
        Ok(())
    })
}
