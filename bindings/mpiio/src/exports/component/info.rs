//! The hints of a file that the component takes: the engine gets the hints that the program sets, and
//! MPI_File_get_info returns the hints in force.
//!
//! Open MPI keeps the hints of a file in an info of its own kind, and answers MPI_File_get_info and MPI_File_set_info
//! itself: in 4.1 a component cannot answer these calls, and in later series ompio leaves them to Open MPI. So this library
//! subscribes to the hints that it knows and to those that the program has given before, and writes the hints in force into
//! that info whenever they have changed. A hint that neither library knows, and that the program sets only in
//! MPI_File_set_info, is lost, as without this library.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::null;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tributary::Hints;
use tributary_abi::{self as ffi, MPI_Info, handles};
use tributary_bindings::guard::lock;

use crate::calls::settings::want_entries;
use crate::entry::unless_inside;
use crate::exports::component::ompio::symbol;
use crate::exports::row;
use crate::file::backend::EffectiveHint;
use crate::file::hints::{kept, note_returned};
use crate::file::{files, pending, report};
use crate::mpi::abi::SUCCESS;
use crate::mpi::abi::word::Word;

/// Prefix of the keys under which Open MPI 4 keeps a value that the program has set, and returns it instead of ours.
const SAVED: &str = "_OMPI_IN_";

/// The info of an open file.
struct FileInfo {
    /// Open MPI's info of the file.
    info: Word,
    /// Hints that this library has written into the info last.
    shown: Option<Arc<Vec<EffectiveHint>>>,
    /// Hints that this library has written into the info, and that are still there.
    written: BTreeMap<String, String>,
    /// Keys that Open MPI reports to this library when the program sets them.
    subscribed: BTreeSet<String>,
}

impl FileInfo {
    /// Subscribes to hints of an open file, by their keys.
    fn subscribe<'a>(&mut self, file: Word, keys: impl Iterator<Item = &'a str>) {
        type Set = unsafe extern "C" fn(Word, *const c_char, *const c_char) -> *const c_char;
        type Subscribe = unsafe extern "C" fn(Word, *const c_char, *const c_char, Set) -> c_int;
        let Some(subscribe) = symbol(c"opal_infosubscribe_subscribe") else { return };
        SUBSCRIBES.set(true);
        for key in keys {
            if let (true, Ok(key)) = (self.subscribed.insert(key.to_string()), CString::new(key)) {
                // SAFETY: Open MPI's function of this type; a file begins with the part that has subscribers. The texts are
                // terminated, and Open MPI copies them.
                unsafe { transmute::<*mut c_void, Subscribe>(subscribe)(file, key.as_ptr(), c"".as_ptr(), set) };
            }
        }
        SUBSCRIBES.set(false);
    }
}

static INFOS: Mutex<BTreeMap<Word, FileInfo>> = Mutex::new(BTreeMap::new());

fn infos() -> MutexGuard<'static, BTreeMap<Word, FileInfo>> {
    lock(&INFOS)
}

thread_local! {
    /// True while this thread subscribes to hints: Open MPI then calls back with the values of the open.
    static SUBSCRIBES: Cell<bool> = const { Cell::new(false) };
}

/// Returns a new info with the hints of an info of Open MPI's own kind; MPI_INFO_NULL if MPI makes none. The caller
/// frees it. Local.
pub fn copy_of(given: Word) -> MPI_Info {
    type Duplicate = unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int;
    let mut copy = handles().info_null;
    // SAFETY: MPI is initialised, and writes one handle.
    if unsafe { ffi::MPI_Info_create(&mut copy) } != SUCCESS {
        return handles().info_null;
    }
    if let (Some(duplicate), true) = (symbol(c"opal_info_dup"), given != 0) {
        let mut place = copy.as_word() as *mut c_void;
        // SAFETY: Open MPI's function of this type, its info, and an info of MPI, which begins with one of that kind. The
        // function adds all entries to the second.
        unsafe { transmute::<*mut c_void, Duplicate>(duplicate)(given as *mut c_void, &mut place) };
    }
    copy
}

/// Begins to watch the info of a file that was opened. Local.
pub fn watch(file: Word, info: Word) {
    if info == 0 || files::find(file).is_none() {
        return;
    }
    let mut known = FileInfo { info, shown: None, written: BTreeMap::new(), subscribed: BTreeSet::new() };
    static KEYS: OnceLock<Vec<&'static str>> = OnceLock::new();
    let keys = KEYS.get_or_init(|| Hints::default().table().iter().map(|row| row.key).collect());
    known.subscribe(file, keys.iter().copied());
    infos().insert(file, known);
}

/// Ends the watch that [`watch`] began, when the file is closed. Local.
pub fn forget(file: Word) {
    infos().remove(&file);
}

/// Takes over a hint that the program sets by MPI_File_set_info. Returns the value for Open MPI's info.
unsafe extern "C" fn set(file: Word, key: *const c_char, value: *const c_char) -> *const c_char {
    // SAFETY: null or a terminated text.
    let is_empty = value.is_null() || unsafe { *value } == 0;
    if SUBSCRIBES.get() || is_empty {
        return if is_empty { null() } else { value };
    }
    // SAFETY: Open MPI's terminated texts.
    let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    let entry = (text(key), text(value));
    if let (Some(shared), Some(row)) = (files::find(file), row("set_info")) {
        let call = row.function.full_name();
        unless_inside(call, || {
            pending::settle(&shared);
            want_entries(&mut shared.lock(), &[entry], call);
        });
        if let Some(known) = infos().get_mut(&file) {
            known.shown = None;
            known.written.remove(&*text(key));
        }
    }
    value
}

/// Writes the hints in force into Open MPI's info of a file, if they have changed. Local.
pub fn show(file: Word) {
    let Some(shared) = files::find(file) else { return };
    // If a call in flight holds the file, a later call shows the hints.
    let Some(mut open) = shared.try_lock_file() else { return };
    let now = open.backend.effective_hints();
    let mut infos = infos();
    let Some(known) = infos.get_mut(&file) else { return };
    if known.shown.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, &now)) {
        return;
    }
    let keys: BTreeSet<String> = now.iter().map(|(key, _)| key.to_string()).collect();
    let others = kept(&open.asked, &keys);
    known.subscribe(file, others.iter().map(|(key, _)| key.as_str()));
    let all = now.iter().map(|(key, value)| (*key, value.as_str()));
    for (key, value) in all.chain(others.iter().map(|(key, value)| (key.as_str(), value.as_str()))) {
        if known.written.get(key).is_none_or(|written| written != value) {
            write(known.info, key, value);
            known.written.insert(key.to_string(), value.to_string());
        }
    }
    if report::is_wanted() {
        note_returned(now.iter().map(|(key, value)| (key.to_string(), value.clone())), &open.asked);
    }
    known.shown = Some(now);
}

/// Leaves in Open MPI's info of a file only the hints that the program has set, until the next [`show`]: ompio reads the
/// info when a view is set. Local.
pub fn hide(file: Word) {
    let Some(shared) = files::find(file) else { return };
    let open = shared.lock();
    let programs: BTreeMap<_, _> = open.asked.programs().collect();
    let mut infos = infos();
    let Some(FileInfo { info, shown, written, .. }) = infos.get_mut(&file) else { return };
    let all = written.len();
    written.retain(|key, value| {
        match programs.get(key.as_str()) {
            Some(own) if own == value => return true,
            Some(own) => write(*info, key, own),
            None => delete(*info, key),
        }
        false
    });
    if written.len() < all {
        *shown = None;
    }
}

type Set = unsafe extern "C" fn(Word, *const c_char, *const c_char) -> c_int;
type Delete = unsafe extern "C" fn(Word, *const c_char) -> c_int;

/// Returns Open MPI's functions that change an info of its own kind. Looks for them once: a view may be set for every call.
fn writers() -> Option<(Set, Delete)> {
    static FOUND: OnceLock<Option<(Set, Delete)>> = OnceLock::new();
    let find = || {
        let (set, delete) = (symbol(c"opal_info_set")?, symbol(c"opal_info_delete")?);
        // SAFETY: Open MPI's functions of these types, in a library that is not unloaded.
        Some(unsafe { (transmute::<*mut c_void, Set>(set), transmute::<*mut c_void, Delete>(delete)) })
    };
    *FOUND.get_or_init(find)
}

/// Writes one hint into an info of Open MPI's own kind.
fn write(info: Word, key: &str, value: &str) {
    delete(info, &format!("{SAVED}{key}"));
    let (Ok(key), Ok(value), Some((set, _))) = (CString::new(key), CString::new(value), writers()) else { return };
    // SAFETY: Open MPI's function, with its info of an open file and terminated texts.
    unsafe { set(info, key.as_ptr(), value.as_ptr()) };
}

/// Removes one hint from an info of Open MPI's own kind, if it is there.
fn delete(info: Word, key: &str) {
    let (Ok(key), Some((_, delete))) = (CString::new(key), writers()) else { return };
    // SAFETY: Open MPI's function, with its info of an open file and a terminated text.
    unsafe { delete(info, key.as_ptr()) };
}
