//! Keeps MPI from data sieving while other ranks may be writing the file through this library.
//!
//! ROMIO writes a strided access by data sieving: it reads a range of the file, replaces the pieces and writes the range
//! back, under a lock that this library does not take. Bytes that another rank writes into the range meanwhile would be
//! lost. So MPI opens a file for writing with `romio_ds_write=disable` ([`InfoForMpi`]), and writes piece by piece. That
//! takes ROMIO 1 to 13 times as long with the file in memory (100 us, not 20, for 400 pieces of 100 bytes), and much longer
//! where each call on the file is slow. So a blocking independent write with a strided view goes through a second handle of
//! MPI's, which may sieve, if nobody can be writing through this library:
//!
//! - no collective call of this process is in flight, and the process has used no write-behind;
//! - on no file of this process have ranks agreed that they may write before all of them are in a call ([`Promise`]);
//! - one thread at a time calls MPI.
//!
//! In atomic mode only the program's handle keeps accesses apart, so MPI writes through that.
//!
//! In its next collective call a rank reports that it has made such a write, and the ranks of that file stop writing early:
//! a program that goes on like this sieves from then on.

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tributary_abi::{MPI_Info_free, constants, function_name, handles};
use tributary_bindings::info::{entries, made_of};

use crate::abi::types::Kept;
use crate::abi::word::{Word, to_word};
use crate::abi::{MPI_Info, MPI_Offset, SUCCESS};
use crate::error_handler::returning;
use crate::next::InterposedFunction;

/// The hint that chooses data sieving in writes.
pub const HINT: &str = "romio_ds_write";
/// Value of the hint that forbids data sieving.
const NEVER: &str = "disable";
/// Value of the hint if the program sets none.
pub const DEFAULT: &str = "automatic";

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

/// Returns true if this rank has promised the ranks of any file not to let MPI sieve. Local.
pub fn is_promised() -> bool {
    PROMISES.load(Ordering::Relaxed) != 0
}

/// Returns true if this process has made an independent write that MPI may do by data sieving. Local.
pub fn is_wanted() -> bool {
    IS_WANTED.load(Ordering::Relaxed)
}

/// Records an independent write that MPI may do by data sieving. Local.
pub fn want() {
    IS_WANTED.store(true, Ordering::Relaxed);
}

/// An info of this library's own, which is freed with this value.
pub struct InfoForMpi(MPI_Info);

impl InfoForMpi {
    /// Takes an info that MPI has made.
    pub fn from_raw(info: MPI_Info) -> Self {
        Self(info)
    }

    /// Returns a copy of an info that forbids MPI data sieving in writes, and the value of the hint in the info; None if MPI
    /// cannot make one.
    ///
    /// # Safety
    /// `info` is a valid info, or MPI_INFO_NULL; MPI is initialised.
    pub unsafe fn without_sieving(info: MPI_Info) -> Option<(Self, Option<String>)> {
        // SAFETY: the caller's promise.
        let all = unsafe { entries(info) };
        let asked = all.iter().find(|(key, _)| key == HINT).map(|(_, value)| value.clone());
        // SAFETY: MPI is initialised.
        let info = unsafe { made_of(all.into_iter().chain([(HINT.to_string(), NEVER.to_string())])) };
        Some((Self(info.ok()?), asked))
    }

    /// Replaces the info among the arguments of a call, at index `at`, if it would allow data sieving in writes of a file
    /// for which it is forbidden. Returns the new info, which must live until the call has ended, and the program's value
    /// of the hint.
    ///
    /// # Safety
    /// The argument is a valid info, or MPI_INFO_NULL; MPI is initialised.
    pub unsafe fn in_place(file: Option<&Sieving>, arguments: &mut [Word], at: usize) -> Option<(Self, String)> {
        let (_, place) = file.zip(arguments.get_mut(at))?;
        // SAFETY: the caller's promise.
        let (own, asked) = unsafe { Self::without_sieving(MPI_Info::from_word(*place)) }?;
        let asked = asked?;
        *place = own.as_word();
        Some((own, asked))
    }

    /// Returns the info.
    pub fn info(&self) -> MPI_Info {
        self.0
    }

    /// Returns the info as an argument of a call.
    pub fn as_word(&self) -> Word {
        self.0.as_word()
    }
}

impl Drop for InfoForMpi {
    fn drop(&mut self) {
        // SAFETY: an info of this value's own; MPI is initialised, as a file is open or being opened.
        unsafe { MPI_Info_free(&mut self.0) };
    }
}

/// The second handle of a file, through which MPI may sieve. It is opened in the first call that uses it.
#[derive(Debug)]
pub struct Sieving {
    /// Value of the hint that the program has set; None if it has set none.
    asked: Mutex<Option<String>>,
    amode: c_int,
    /// True in atomic mode, in which only the program's handle keeps accesses apart.
    is_atomic: AtomicBool,
    /// Device and inode of the file that MPI has opened; None if it was not found.
    identity: Option<(u64, u64)>,
    second: Mutex<Second>,
}

#[derive(Debug, Default)]
enum Second {
    #[default]
    NotOpened,
    /// The handle; true if it has the view of the program's handle.
    Open(Word, bool),
    /// It cannot be opened.
    Failed,
}

impl Sieving {
    /// Describes the file that MPI has just opened at `path` in the mode `amode`, with its device and inode if they are
    /// `known`, and the program's value of the hint. Local: one call of the system at most.
    pub fn new(path: &Path, known: Option<(u64, u64)>, amode: c_int, asked: Option<String>) -> Self {
        Self {
            asked: Mutex::new(asked),
            amode,
            is_atomic: AtomicBool::new(false),
            identity: known.or_else(|| identity(path)),
            second: Mutex::default(),
        }
    }

    /// Returns the handle that may sieve, with the view of the handle `first`; None if there is none. Local.
    pub fn handle(&self, path: &Path, first: Word) -> Option<Word> {
        let asked = locked(&self.asked).clone().unwrap_or_else(|| DEFAULT.to_string());
        if asked == NEVER || self.is_atomic.load(Ordering::Relaxed) {
            return None;
        }
        let mut second = locked(&self.second);
        if matches!(*second, Second::NotOpened) {
            *second = self.opened(path, asked).map_or(Second::Failed, |handle| Second::Open(handle, false));
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

    /// Opens the second handle. None if MPI cannot, or if another file has the name now.
    fn opened(&self, path: &Path, asked: String) -> Option<Word> {
        static OPEN: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_open"));
        let all = constants();
        let amode = self.amode & (all.mode_rdwr | all.mode_wronly);
        // A colon would end a prefix.
        let name = CString::new(path.as_os_str().as_bytes()).ok().filter(|name| !name.as_bytes().contains(&b':'))?;
        let is_same = self.identity.is_some() && identity(path) == self.identity;
        // SAFETY: MPI is initialised, as a file is open.
        let info = is_same.then(|| unsafe { made_of([(HINT.to_string(), asked)]) }.ok()).flatten().map(InfoForMpi)?;
        let mut handle: Word = 0;
        let place = (&raw mut handle) as Word;
        let arguments = [handles().comm_self.as_word(), name.as_ptr() as Word, to_word(amode), info.as_word(), place];
        let code = returning(handles().file_null.0, || OPEN.call(&arguments)) as c_int;
        (code == SUCCESS).then_some(handle)
    }

    /// Records whether the program is in atomic mode.
    pub fn set_atomic(&self, is_atomic: bool) {
        self.is_atomic.store(is_atomic, Ordering::Relaxed);
    }

    /// Forgets the view of the second handle: the program has set another one.
    pub fn forget_view(&self) {
        if let Second::Open(_, has_view) = &mut *locked(&self.second) {
            *has_view = false;
        }
    }

    /// Returns the value of the hint that the program knows.
    pub fn asked(&self) -> Option<String> {
        locked(&self.asked).clone()
    }

    /// Records the value of the hint that the program has set. Local.
    pub fn ask(&self, value: &str) {
        *locked(&self.asked) = Some(value.to_string());
        self.close();
    }

    /// Closes the second handle, if it is open, and returns MPI's code. Local.
    pub fn close(&self) -> c_int {
        static CLOSE: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_close"));
        match std::mem::take(&mut *locked(&self.second)) {
            Second::Open(mut handle, _) => returning(handle, || CLOSE.call(&[(&raw mut handle) as Word])) as c_int,
            Second::NotOpened | Second::Failed => SUCCESS,
        }
    }
}

/// Returns the device and the inode of a file; None if it cannot be found.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the handle `to`, which this rank has for itself, the view of `from`. Returns true if MPI could. Local.
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
    let types = types.map(|datatype| unsafe { Kept::from_view(datatype) });
    let [etype, filetype] = types.each_ref().map(|kept| kept.datatype().as_word());
    let arguments = [to, to_word(start), etype, filetype, name.as_ptr() as Word, handles().info_null.as_word()];
    let set = returning(to, || SET_VIEW.call(&arguments));
    set as c_int == SUCCESS
}
