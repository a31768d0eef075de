//! Keeps open files and their handles.

use std::ffi::c_int;
use std::path::PathBuf;
use std::pin::pin;

use tributary::engine::{Path, binding, wait_for_writes};
use tributary::error::FileOperation;
use tributary::fabric::mpi::MpiEndpoint;
use tributary::{Endpoint, Error, File, Hints, Result};
use tributary_abi::{self as ffi, handles};
use tributary_bindings::handles::Handles;

use crate::amode;
use crate::hints;

/// An open file, to which a handle points: `GIOI_File` of the header, where it is opaque. Only one thread at a time
/// may use it, and that thread must be allowed to call MPI.
pub struct GioFile {
    /// The engine's file, which all ranks opened together.
    pub file: File,
    /// Path of the file.
    pub path: PathBuf,
    /// Access for which the file was opened.
    pub access: amode::AccessMode,
    /// Entries of the MPI_Info that the program passed at open.
    pub info: Vec<(String, String)>,
    /// This rank's own handle of the file, which its first independent call with many pieces opens.
    independent: Option<File>,
    /// True if this rank's node may hold bytes of the file that are not on stable storage yet.
    pub unsynced: bool,
}

/// Returns the number of processes of the program (MPI_COMM_WORLD).
fn processes() -> c_int {
    let mut count = 1;
    // SAFETY: a file is open, so MPI is initialised; writes one int.
    let code = unsafe { ffi::MPI_Comm_size(handles().comm_world, &mut count) };
    if code == ffi::SUCCESS { count } else { 1 }
}

impl GioFile {
    /// Creates the state of a file that was just opened.
    pub fn new(file: File, path: PathBuf, access: amode::AccessMode, info: Vec<(String, String)>) -> Self {
        Self { file, path, access, info, independent: None, unsynced: false }
    }

    /// Returns this rank's own handle of the file; opens it in the first call.
    ///
    /// # Errors
    /// The file cannot be opened a second time.
    pub fn independent(&mut self) -> Result<&mut File> {
        // In a program of one rank, the file is this rank's own handle.
        if self.file.settings().topology.ranks() == 1 && processes() == 1 {
            return Ok(&mut self.file);
        }
        if self.independent.is_none() {
            let hints: Hints = hints::independent(self.file.settings().hints);
            // SAFETY: MPI_COMM_SELF, while MPI is initialised, as it is while a file is open; closed with that file.
            let endpoint = unsafe { MpiEndpoint::from_raw(handles().comm_self)? };
            let opened = File::open(Endpoint::new(Box::new(endpoint)), &self.path, self.access.second_mode(), hints)?;
            self.independent = Some(opened);
        }
        let nothing = || Error::internal(0, "a file that was opened is not there");
        self.independent.as_mut().ok_or_else(nothing)
    }

    /// Waits until the buffered bytes of collective writes are in the file, for an access through another handle. Not
    /// collective.
    ///
    /// # Errors
    /// The file cannot be opened or locked.
    pub fn wait_for_writes(&mut self) -> Result<()> {
        let (rank, path) = (self.file.endpoint().rank(), &self.path);
        wait_for_writes(path, 0..u64::MAX).map_err(|cause| Error::io(rank, FileOperation::Lock, path, None, &cause))
    }

    /// Records that a collective write may have left bytes in the memory of this rank's node, so that GIO_sync must sync.
    /// `path` is the path of the call's data, `own` the number of bytes of this rank.
    pub fn wrote(&mut self, path: Path, own: u64) {
        let rank = self.file.endpoint().rank();
        let wrote = match path {
            Path::Nothing => false,
            Path::Direct | Path::Independent => own > 0,
            // Any rank of a host may have written bytes of the others, so a rank of every host must sync.
            Path::Windows | Path::Hosts | Path::Slots => true,
            // Ranks may have written large pieces before little data went to rank 0.
            Path::Root => rank == 0 || own > 0,
            Path::Exchange => {
                let topology = self.file.settings().topology;
                self.file.settings().aggregators.contains(&rank) || topology.rank_at(topology.node_of(rank), 0) == rank
            }
        };
        self.unsynced |= wrote;
    }

    /// Closes the file. Collective.
    ///
    /// # Errors
    /// An error that the file system reports on any rank is the result on every rank.
    pub fn close(mut self) -> Result<()> {
        let independent = self.independent.take().map_or(Ok(()), |file| file.close().map(drop));
        binding::call_them(&mut self.file, "GIO_close");
        let waiting = self.file.endpoint().waiting().clone();
        waiting.wait(pin!(binding::close_after(self.file, independent))).map(drop)
    }
}

/// The handles of the open files.
pub static OPEN: Handles<GioFile> = Handles::new("fh", "an open file");

/// Returns the file of a handle. Its next collective calls have the name `function` in messages.
///
/// # Errors
/// The handle is NULL, was never a handle, or was closed.
///
/// # Safety
/// Nothing else uses the file during the lifetime of the result.
pub unsafe fn opened<'a>(handle: *mut GioFile, function: &'static str) -> Result<&'a mut GioFile> {
    // SAFETY: the caller's promise.
    let file = unsafe { OPEN.get(handle)? };
    binding::call_them(&mut file.file, function);
    Ok(file)
}
