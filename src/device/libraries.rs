//! Finds the libraries that the process has loaded, and their functions by name.

use std::ffi::{CStr, CString, c_int, c_void};

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
pub fn ever_loaded() -> u64 {
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
pub fn ever_loaded() -> u64 {
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
