//! Keeps MPI from data sieving while other ranks may be writing the file through this library.
//!
//! ROMIO writes a strided access by data sieving: it reads a range of the file, replaces the pieces and writes the range
//! back, under a lock that this library does not take. Bytes that another rank writes into the range meanwhile would be
//! lost. So MPI opens a file for writing with `romio_ds_write=disable` ([`InfoForMpi`]), and writes piece by piece. That
//! takes ROMIO 1 to 13 times as long with the file in memory (100 us, not 20, for 400 pieces of 100 bytes), and much longer
//! where each call on the file is slow; and ROMIO of MPICH 4 ends the job for accesses of more than 4 GiB. So an independent
//! write that is not one piece of memory and of the file goes another way ([`Sieving::route`]):
//!
//! - One piece of the file: through a second handle of MPI's, which may sieve. All bytes of the range are the call's own.
//! - Blocking, more pieces: through the second handle, if nobody can be writing through this library. No collective call of
//!   this process is in flight, and the process has used no write-behind. The ranks of the file are all ranks of the program,
//!   and one thread at a time calls MPI. On no file of this process have ranks agreed that they may write before all of them
//!   are in a call ([`Promise`]). Otherwise through this library's own handle, piece by piece, under
//!   a lock that ROMIO's data sieving respects.
//!
//! - Not blocking, more pieces: through this library's own handle within the call, as ROMIO does it. ROMIO's driver for NFS,
//!   which Intel MPI takes for all files, sieves whatever the hint says (MPICH 4.0.2, Intel MPI 2021.19).
//!
//! With memory that may be a GPU's, MPI writes more pieces through the program's handle under that lock, but not by ROMIO's driver
//! for NFS, which would wait for the lock.
//!
//! In atomic mode only the program's handle makes accesses atomic, so MPI writes through that handle. MPI also runs writes at
//! the shared file pointer.
//!
//! If a rank has made an independent write that may sieve only without a promise, it reports so in its next collective call.
//! The ranks of that call's file then no longer write before all of them are in a call, so later independent writes may sieve.

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tributary::BufferLayout;
use tributary::access::OwnedAccess;
use tributary::engine::{may_have_buffered_bytes, may_have_device_memory};
use tributary_abi::{constants, function_name, handles};
use tributary_bindings::guard::lock;
use tributary_bindings::info::made_of;

use crate::file::own_handle::{OwnHandle, is_of_nfs_driver};
use crate::mpi::abi::errors::class;
use crate::mpi::abi::types::Kept;
use crate::mpi::abi::word::{Word, to_word};
use crate::mpi::abi::{MPI_Offset, SUCCESS, is_world_there};
use crate::mpi::error_handler::returning;
use crate::mpi::next::InterposedFunction;

mod info;

pub use info::{AskedHints, DEFAULT, HINT, InfoForMpi};

use info::NEVER;

/// Maximum number of second handles of a process. Each takes a communicator of MPI's and a file descriptor.
const MOST_SECONDS: usize = 64;

/// Number of second handles that are open in this process.
static SECONDS: AtomicUsize = AtomicUsize::new(0);
/// Number of files of this process whose ranks may write before all are in a call.
static PROMISES: AtomicUsize = AtomicUsize::new(0);
/// True once this process has made an independent write that MPI may do by data sieving. Never reset.
static IS_WANTED: AtomicBool = AtomicBool::new(false);

/// The promise of this rank to the other ranks of a file: they may write before this rank is in their call, because it
/// does not let MPI sieve. Dropping it ends the promise.
#[derive(Debug)]
pub struct Promise(());

impl Promise {
    /// Makes the promise.
    pub fn new() -> Self {
        PROMISES.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        PROMISES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns true if this process has made an independent write that MPI may do by data sieving. Local.
pub fn is_wanted() -> bool {
    IS_WANTED.load(Ordering::Relaxed)
}

/// The way in which MPI or this library writes an independent access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteRoute {
    /// MPI, through the program's handle.
    Program,
    /// MPI, through this handle, which may sieve.
    Second(Word),
    /// MPI, through the program's handle, under a lock that data sieving respects ([`OwnHandle::lock`]).
    Locked,
    /// This library, piece by piece, through its own handle, under that lock ([`OwnHandle::transfer`]).
    Pieces,
}

/// The handles that keep MPI from data sieving in a file: MPI's second handle, and this library's. Each is opened in the
/// first call that uses it.
pub struct Sieving {
    /// Value of the hint `romio_ds_write` that the program has set; None if it has set none.
    asked: Mutex<Option<String>>,
    /// The program's other hints in MPI_File_open, for the second handle.
    others: Vec<(String, String)>,
    /// Prefix with which the program named the file, for ROMIO.
    prefix: Option<&'static str>,
    amode: c_int,
    /// True if the ranks of the file are all ranks of the program, one thread at a time calls MPI, and no hint of this
    /// library forbids sieving.
    may_sieve: bool,
    /// True while the program has set atomic mode on the file.
    is_atomic: AtomicBool,
    second: Mutex<Second>,
    /// This library's own handle, which writes piece by piece.
    pub pieces: OwnHandle,
}

#[derive(Debug, Default)]
enum Second {
    #[default]
    NotOpened,
    /// The handle; true if it has the view of the program's handle.
    Open(Word, bool),
    /// The second handle cannot be opened.
    Failed,
}

impl Sieving {
    /// Describes the file of `pieces`, which MPI has just opened by a name with this `prefix` in the mode `amode`, with the
    /// program's hints. `may_sieve` is the field of [`Sieving`]. Local.
    pub fn new(
        pieces: OwnHandle,
        prefix: Option<&'static str>,
        amode: c_int,
        asked: AskedHints,
        may_sieve: bool,
    ) -> Self {
        Self {
            asked: Mutex::new(asked.sieving),
            others: asked.others,
            prefix,
            amode,
            may_sieve,
            is_atomic: AtomicBool::new(false),
            second: Mutex::default(),
            pieces,
        }
    }

    /// Chooses the way in which an independent write of `access` is done. `first` is the program's handle of the file. `blocks` is
    /// true if the call is blocking, `has_calls` if collective calls of this process are in flight. Local.
    pub fn route(&self, access: &OwnedAccess<'_>, first: Word, (blocks, has_calls): (bool, bool)) -> WriteRoute {
        let is_one_piece = access.file.count() <= 1;
        let is_plain = is_one_piece && matches!(access.layout, BufferLayout::Contiguous);
        let is_forbidden = self.asked().as_deref() == Some(NEVER);
        if is_plain || self.is_atomic.load(Ordering::Relaxed) || is_one_piece && is_forbidden {
            return WriteRoute::Program;
        }
        if is_one_piece {
            return self.second(first).map_or(WriteRoute::Program, WriteRoute::Second);
        }
        if blocks && !is_forbidden && self.may_sieve && !has_calls && !may_have_buffered_bytes() {
            IS_WANTED.store(true, Ordering::Relaxed);
            if PROMISES.load(Ordering::Relaxed) == 0
                && let Some(second) = self.second(first)
            {
                return WriteRoute::Second(second);
            }
        }
        match may_have_device_memory() {
            false => WriteRoute::Pieces,
            true if is_of_nfs_driver(first) => WriteRoute::Program,
            true => WriteRoute::Locked,
        }
    }

    /// Returns the second handle, which may sieve, with the view of the handle `first`; None if there is none. Local.
    fn second(&self, first: Word) -> Option<Word> {
        let mut second = lock(&self.second);
        if matches!(*second, Second::NotOpened) {
            *second = self.opened().map_or(Second::Failed, |handle| Second::Open(handle, false));
        }
        match *second {
            Second::Open(handle, true) => Some(handle),
            Second::Open(handle, false) if copy_view(first, handle) => {
                *second = Second::Open(handle, true);
                Some(handle)
            }
            Second::Open(..) | Second::NotOpened | Second::Failed => None,
        }
    }

    /// Opens the second handle. None if MPI cannot, if another file has the name now, or if there are many such handles.
    fn opened(&self) -> Option<Word> {
        static OPEN: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_open"));
        let all = constants();
        let amode = self.amode & (all.mode_rdwr | all.mode_wronly);
        let path = self.pieces.path().as_os_str().as_bytes();
        let name = match self.prefix {
            Some(prefix) => [prefix.as_bytes(), b":", path].concat(),
            // A colon would end a prefix.
            None if path.contains(&b':') => [b"ufs:", path].concat(),
            None => path.to_vec(),
        };
        let name = CString::new(name).ok()?;
        if !self.pieces.is_there() || !is_world_there().ok()? || SECONDS.load(Ordering::Relaxed) >= MOST_SECONDS {
            return None;
        }
        let hints = self.others.iter().cloned().chain(self.asked().map(|value| (HINT.to_string(), value)));
        // SAFETY: MPI is initialised, as a file is open.
        let info = InfoForMpi::from_raw(unsafe { made_of(hints) }.ok()?);
        let mut handle: Word = 0;
        let place = (&raw mut handle) as Word;
        let arguments = [handles().comm_self.as_word(), name.as_ptr() as Word, to_word(amode), info.as_word(), place];
        let code = returning(handles().file_null.0, || OPEN.call(&arguments)) as c_int;
        if code != SUCCESS {
            return None;
        }
        SECONDS.fetch_add(1, Ordering::Relaxed);
        Some(handle)
    }

    /// Records whether the program has set atomic mode on the file.
    pub fn set_atomic(&self, is_atomic: bool) {
        self.is_atomic.store(is_atomic, Ordering::Relaxed);
    }

    /// Forgets the view of the second handle: the program has set another one.
    pub fn forget_view(&self) {
        if let Second::Open(_, has_view) = &mut *lock(&self.second) {
            *has_view = false;
        }
    }

    /// Returns the value of the hint `romio_ds_write` that the program has set.
    pub fn asked(&self) -> Option<String> {
        lock(&self.asked).clone()
    }

    /// Records the value of the hint `romio_ds_write` that the program has set. Local.
    pub fn ask(&self, value: &str) {
        *lock(&self.asked) = Some(value.to_string());
        self.close_second();
    }

    /// Closes the handles that are open, and returns MPI's code. Local.
    pub fn close(&self) -> c_int {
        match (self.pieces.settle(), self.close_second()) {
            (Err(error), SUCCESS) => class(&error),
            (_, code) => code,
        }
    }

    fn close_second(&self) -> c_int {
        static CLOSE: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_close"));
        match std::mem::take(&mut *lock(&self.second)) {
            Second::Open(mut handle, _) => {
                SECONDS.fetch_sub(1, Ordering::Relaxed);
                returning(handle, || CLOSE.call(&[(&raw mut handle) as Word])) as c_int
            }
            Second::NotOpened | Second::Failed => SUCCESS,
        }
    }
}

/// Sets the view of the handle `from` on the handle `to`, which only this rank has open. Returns true on success. Local.
fn copy_view(from: Word, to: Word) -> bool {
    static GET_VIEW: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_get_view"));
    static SET_VIEW: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_set_view"));
    let null = handles().datatype_null;
    let (mut start, mut types, mut name): (MPI_Offset, _, _) = (0, [null; 2], [0 as c_char; 256]);
    let [etype, filetype] = &mut types;
    let places = [(&raw mut start) as Word, (&raw mut *etype) as Word, (&raw mut *filetype) as Word];
    let [start_at, etype_at, filetype_at] = places;
    let got = returning(from, || GET_VIEW.call(&[from, start_at, etype_at, filetype_at, name.as_mut_ptr() as Word]));
    if got as c_int != SUCCESS {
        return false;
    }
    // SAFETY: MPI_File_get_view has returned them.
    let types = types.map(|datatype| unsafe { Kept::from_reference(datatype) });
    let [etype, filetype] = types.each_ref().map(|kept| kept.datatype().as_word());
    let arguments = [to, to_word(start), etype, filetype, name.as_ptr() as Word, handles().info_null.as_word()];
    let set = returning(to, || SET_VIEW.call(&arguments));
    set as c_int == SUCCESS
}
