//! The handle of an open file: open, close, sync, size.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::pin::pin;

use tributary::collectives::agree;
use tributary::engine::alone;
use tributary::fabric::mpi::{MPI_Comm, MpiEndpoint, objection};
use tributary::hints::Environment;
use tributary::{CallReport, Endpoint, Error, File, Hints, Mode, Result};
use tributary_abi::communicator_of_fortran;

use super::hints::Table;
use super::running::{Busy, Moved};
use super::status::{guarded, trib_status};

/// How a file is opened.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum trib_mode {
    /// A new file, or an existing one emptied.
    TRIB_CREATE = 1,
    /// An existing file as it is, or a new one.
    TRIB_UPDATE = 2,
    /// An existing file, which is only read.
    TRIB_READ = 3,
}

/// An open file of all ranks of a communicator. One thread at a time may use it, one that may call MPI.
pub struct trib_file {
    pub(super) busy: Busy,
    pub(super) path: PathBuf,
    pub(super) mode: Mode,
    pub(super) hints: Table,
    /// Collective writes and reads that went well, and the last of them.
    pub(super) calls: u64,
    pub(super) last: Option<CallReport>,
}

impl trib_file {
    /// Takes down what a call did; its bytes.
    pub(super) fn note(&mut self, outcome: Result<Moved>) -> Result<u64> {
        let Moved { bytes, report } = outcome?;
        self.calls += 1;
        self.last = Some(report);
        Ok(bytes)
    }
}

/// The file of a handle.
///
/// # Safety
/// `file` is null, or from `trib_open` and not closed, and used by nobody else as long as the result.
pub(super) unsafe fn opened<'a>(file: *mut trib_file) -> Result<&'a mut trib_file> {
    // SAFETY: the caller's promise.
    unsafe { file.as_mut() }.ok_or_else(|| Error::argument("file", "NULL", "what trib_open has given"))
}

/// Opens a file on all ranks of a communicator. Collective over `comm`, an intracommunicator, which is duplicated; path,
/// mode and hints must be the same on all ranks.
///
/// `mode` is one of `trib_mode`. `hints` is NULL or "key=value;key=value...", which wins over the environment variable
/// TRIB_HINTS, which wins over the file that the environment variable TRIB_HINTS_FILE names, which wins over what there is
/// for other MPI libraries (docs/reference/hints.md; Cray's MPICH_MPIIO_HINTS wins over all). Variables and files are read by the
/// process's first open. `*file` becomes the file, or NULL on any error.
///
/// Errors: the same on all ranks, but for a `comm` that is none (MPI_COMM_NULL, an intercommunicator, MPI not initialised),
/// which is an error at once: TRIB_ERR_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_open(
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
        file.write(Box::into_raw(Box::new(opened)));
        Ok(())
    })
}

/// As `trib_open`, with the Fortran handle of the communicator (of `use mpi_f08`, its component MPI_VAL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_open_fortran(
    comm: c_int,
    path: *const c_char,
    mode: c_int,
    hints: *const c_char,
    file: *mut *mut trib_file,
) -> trib_status {
    // SAFETY: the caller's promises are the same.
    unsafe { trib_open(communicator_of_fortran(comm), path, mode, hints, file) }
}

/// Path, mode and hints, checked.
unsafe fn arguments(
    path: *const c_char,
    mode: c_int,
    hints: *const c_char,
    no_file: bool,
) -> Result<(PathBuf, Mode, Hints)> {
    if no_file {
        return Err(Error::argument("file", "NULL", "where the file is to be put"));
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
    let path = PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    let mut asked = Environment::of_process()?.file_hints(&path.to_string_lossy());
    if !hints.is_null() {
        // SAFETY: not null, so it ends with 0.
        let text = unsafe { CStr::from_ptr(hints) };
        asked.text(text.to_str().map_err(|_| Error::argument("hints", text.to_string_lossy(), "UTF-8 text"))?)?;
    }
    Ok((path, mode, asked.hints().clone()))
}

/// Collective: whatever is wrong with a rank's arguments, all ranks learn of it.
unsafe fn open(comm: MPI_Comm, arguments: impl FnOnce() -> Result<(PathBuf, Mode, Hints)>) -> Result<trib_file> {
    let comm = comm.as_given();
    // SAFETY: the program gives a communicator, if MPI is initialised.
    if let Some(objection) = unsafe { objection(comm) } {
        return Err(Error::argument(
            "communicator",
            objection,
            "an intracommunicator, after MPI_Init, before MPI_Finalize",
        ));
    }
    // SAFETY: a communicator, while MPI is initialised; the caller's thread may call MPI, and closes the file before it
    // finalises MPI.
    let endpoint = alone(unsafe { MpiEndpoint::from_raw(comm) })?;
    let mut endpoint = Endpoint::new(Box::new(endpoint));
    let waiting = endpoint.waiting().clone();
    let (path, mode, hints) = waiting.complete(pin!(agree(&mut endpoint, arguments())))?;
    let file = File::open(endpoint, &path, mode, hints)?;
    let hints = Table::of(&file);
    Ok(trib_file { busy: Busy::new(file), path, mode, hints, calls: 0, last: None })
}

/// Closes a file. Collective. When it returns, all ranks have closed theirs: the file may be removed. `*file` becomes NULL,
/// also on an error, but not while an operation is in flight (TRIB_ERR_ARGUMENT): that must end first. A NULL `*file` is
/// closed already: TRIB_OK. To be called before MPI_Finalize.
///
/// Errors: what the file system reports on closing on any rank, on every rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_close(file: *mut *mut trib_file) -> trib_status {
    // SAFETY: the caller's promises: `file` is null or may be read and written, and holds null or an open file.
    guarded(|| unsafe {
        let place = file.as_mut().ok_or_else(|| Error::argument("file", "NULL", "where trib_open has put it"))?;
        if place.is_null() {
            return Ok(());
        }
        (**place).busy.file()?;
        let trib_file { busy, .. } = *Box::from_raw(std::mem::take(place));
        busy.into_file().close().map(|_| ())
    })
}

/// Waits until everything that was written so far, by all ranks, is on stable storage. Collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_sync(file: *mut trib_file) -> trib_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { opened(file)?.busy.file()?.sync() })
}

/// Makes the file `size` bytes long: cut there, or zeros behind what there was. Collective, with the same `size` on all
/// ranks; it happens when all ranks have come.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_set_size(file: *mut trib_file, size: i64) -> trib_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let file = opened(file)?.busy.file()?;
        let checked = u64::try_from(size).map_err(|_| Error::argument("size", size, "0 or more"));
        let size = file.agree(checked)?;
        file.set_len(size)
    })
}

/// The size of the file in bytes, as the file system tells this rank now. Not collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_get_size(file: *mut trib_file, size: *mut i64) -> trib_status {
    // SAFETY: the caller's promises: an open file; `size` is null or may be written.
    guarded(|| unsafe {
        let size = size.as_mut().ok_or_else(|| Error::argument("size", "NULL", "where the size is to be put"))?;
        *size = opened(file)?.busy.file()?.size()? as i64;
        Ok(())
    })
}
