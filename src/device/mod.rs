//! Handles memory of GPUs: finds out which addresses the processor may not access, and copies bytes to the host and
//! back.
//!
//! No GPU library is linked. A runtime is searched for by name among the libraries of the process; without one, no address is
//! a device's. Programs may load a runtime late, by `dlopen`, so the search is repeated whenever the dynamic linker has loaded
//! a library.
//!
//! `cuda` and `hip` are one runtime each: **a new one is a file here, and a row of `KNOWN`**.

mod cuda;
mod hip;

use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::world::process::per_process;

/// A GPU runtime that the process has loaded. An error of a copy names the function that failed and its code.
pub(crate) trait Runtime: Send + Sync {
    /// Returns the name of the runtime, for messages.
    fn name(&self) -> &'static str;
    /// Returns true if the byte at `address` is memory of this runtime that the processor may not access.
    fn has(&self, address: usize) -> bool;
    /// Copies from device to host; returns when the copy is complete.
    ///
    /// # Safety
    /// The `to.len()` bytes at `from` are valid memory of the runtime.
    unsafe fn to_host(&self, from: usize, to: &mut [u8]) -> Result<(), String>;
    /// Copies from host to device; returns when the copy is complete.
    ///
    /// # Safety
    /// The `from.len()` bytes at `to` are valid memory of the runtime, and nobody else accesses them.
    unsafe fn to_device(&self, from: &[u8], to: usize) -> Result<(), String>;
}

/// Returns an error that names a function of a runtime and its code, unless the code is 0 (success).
fn check_code(function: &str, code: c_int) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("{function} returned {code}")) }
}

type Find = fn(&Symbols) -> Option<Box<dyn Runtime>>;

/// The known GPU runtimes: the beginning of the library's file name, and the function that finds it.
const KNOWN: [(&str, Find); 2] = [("libcuda.so", cuda::find), ("libamdhip64.so", hip::find)];

per_process! {
    /// GPU runtimes that were found; their libraries stay loaded.
    static FOUND: [OnceLock<Box<dyn Runtime>>; KNOWN.len()] = [const { OnceLock::new() }; KNOWN.len()];
    /// True if a GPU runtime was found.
    static ANY: AtomicBool = AtomicBool::new(false);
    /// The number of libraries that the dynamic linker had ever loaded at the last search.
    static LIBRARIES_SEEN: AtomicU64 = AtomicU64::new(0);
}

/// Returns true if a GPU runtime is loaded, so that an address may be a device's. About 200 instructions if no
/// library was loaded since the last call.
#[inline]
pub fn may_be() -> bool {
    let loaded = ever_loaded();
    if loaded != LIBRARIES_SEEN.load(Ordering::Acquire) {
        search();
        LIBRARIES_SEEN.store(loaded, Ordering::Release);
    }
    ANY.load(Ordering::Acquire)
}

/// Searches for runtimes. Two threads that search at the same time find the same.
#[cold]
fn search() {
    for ((library, find), found) in KNOWN.iter().zip(&FOUND) {
        if found.get().is_none()
            && let Some(runtime) = find(&Symbols::from_name(library))
        {
            found.get_or_init(|| runtime);
            ANY.store(true, Ordering::Release);
        }
    }
}

/// Finds the GPU runtime of an address. The answer for an address is reused for its surroundings, so that many small
/// pieces of one array cost one query.
#[derive(Default)]
pub(crate) struct Survey {
    last: Option<(usize, Option<&'static dyn Runtime>)>,
}

impl Survey {
    /// Number of bytes: memory between two multiples of it is of one kind, because runtimes and the system map memory
    /// in larger units.
    const SURROUNDINGS: usize = 1 << 16;

    /// Returns the runtime whose memory is at `address`; `None` for host memory.
    pub(crate) fn runtime_at(&mut self, address: usize) -> Option<&'static dyn Runtime> {
        let around = address / Self::SURROUNDINGS;
        match self.last {
            Some((last, runtime)) if last == around => runtime,
            _ => {
                let runtime = FOUND.iter().filter_map(|found| found.get()).find(|runtime| runtime.has(address));
                self.last.insert((around, runtime.map(|runtime| &**runtime))).1
            }
        }
    }
}

/// The functions of one library. They are looked up among the global symbols, or in the library itself if the program
/// has loaded it with RTLD_LOCAL, as Python does.
pub struct Symbols {
    library: Option<*mut c_void>,
}

impl Symbols {
    /// Returns the functions of the loaded library whose file name begins with `name`. The library stays loaded.
    pub fn from_name(name: &str) -> Self {
        let flags = libc::RTLD_NOLOAD | libc::RTLD_LAZY;
        // SAFETY: a terminated path; RTLD_NOLOAD loads nothing.
        let open = |path: &CString| unsafe { libc::dlopen(path.as_ptr(), flags) };
        let mut handles =
            loaded().into_iter().filter(|path| file_name(path).starts_with(name.as_bytes())).map(|path| open(&path));
        Self { library: handles.find(|handle| !handle.is_null()) }
    }

    /// Returns the function `name`; `None` if the library has no such function.
    ///
    /// # Safety
    /// `F` is the type of a pointer to the function of this name.
    pub unsafe fn get<F: Copy>(&self, name: &CStr) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: a terminated name.
        let mut address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        if let (true, Some(library)) = (address.is_null(), self.library) {
            // SAFETY: the library stays open, and the name is terminated.
            address = unsafe { libc::dlsym(library, name.as_ptr()) };
        }
        // SAFETY: `F` is the type of the function (the caller's promise), and has this size.
        (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
    }
}

fn file_name(path: &CStr) -> &[u8] {
    path.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// Returns the files of all libraries of the process.
#[cfg(target_os = "linux")]
fn loaded() -> Vec<CString> {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _size: usize, paths: *mut c_void) -> c_int {
        // SAFETY: the linker passes a complete struct, with a name that is null or terminated; `paths` is the vector below.
        unsafe {
            if !(*info).dlpi_name.is_null() {
                (*paths.cast::<Vec<CString>>()).push(CStr::from_ptr((*info).dlpi_name).to_owned());
            }
        }
        0
    }
    let mut paths: Vec<CString> = Vec::new();
    // SAFETY: a callback of the right type, and its argument.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut paths).cast()) };
    paths
}

/// Returns the number of libraries that the dynamic linker has ever loaded.
#[cfg(target_os = "linux")]
fn ever_loaded() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _size: usize, adds: *mut c_void) -> c_int {
        // SAFETY: the linker passes a complete struct; `adds` is the integer below.
        unsafe { *adds.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut adds = 0u64;
    // SAFETY: a callback of the right type, and its argument.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut adds).cast()) };
    adds
}

/// Returns nothing: only Linux's linker counts libraries, so elsewhere no GPU runtime is searched for.
#[cfg(not(target_os = "linux"))]
fn loaded() -> Vec<CString> {
    Vec::new()
}

/// Returns 0: only Linux's linker counts libraries.
#[cfg(not(target_os = "linux"))]
fn ever_loaded() -> u64 {
    0
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_name() {
        assert!(ever_loaded() > 0);
        let c = Symbols::from_name("libc.so");
        assert!(c.library.is_some(), "{:?}", loaded());
        // SAFETY: the types of these functions.
        unsafe {
            let id = c.get::<unsafe extern "C" fn() -> c_int>(c"getpid").unwrap();
            assert_eq!(id(), std::process::id() as c_int);
            assert!(c.get::<unsafe extern "C" fn()>(c"no_such_function_at_all").is_none());
            assert!(
                Symbols::from_name("libnowhere.so").get::<unsafe extern "C" fn()>(c"cuPointerGetAttribute").is_none()
            );
        }
    }
}
