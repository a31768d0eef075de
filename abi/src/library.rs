//! Finds and opens shared libraries of the process, through the dynamic linker; or takes an MPI library that is linked
//! statically into the program, by a table of its functions.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::function_name;
use crate::functions::FunctionName;

/// Function that every MPI library has, by its profiling name, which tools do not interpose.
static MARK: FunctionName = function_name!("PMPI_Type_size");

/// A function of an MPI library that is linked statically into the program.
#[derive(Debug)]
#[repr(C)]
pub struct LinkedFunction {
    /// Name of the function, with a terminating 0.
    name: *const c_char,
    /// Address of the function; null if the MPI library has no such function.
    address: *mut c_void,
}

// SAFETY: constants of the program, which any thread may read.
unsafe impl Sync for LinkedFunction {}

/// The functions of the MPI library that is linked into the program; empty if there is none.
static LINKED: OnceLock<&'static [LinkedFunction]> = OnceLock::new();

/// Names the functions of the MPI library that is linked into the program. Must be called before MPI is looked for; the
/// first table is kept. Local.
pub fn link(functions: &'static [LinkedFunction]) {
    let _ = LINKED.set(functions);
}

/// The shared library, or the program, that contains MPI's functions.
#[derive(Debug)]
pub struct Library {
    /// Handle of the dynamic linker; null for a library that is linked into the program. It is never closed or changed, so
    /// any thread may use it.
    handle: AtomicPtr<c_void>,
    path: PathBuf,
}

impl Library {
    /// Returns the MPI library that the process has loaded: the library that the program's calls reach, or else a
    /// library that was loaded locally, as Python loads it for mpi4py. None if no library is loaded, or if MPI is
    /// linked statically into a program that neither exports it nor names its functions by [`link`].
    pub fn of_process() -> Option<Self> {
        if LINKED.get().is_some() {
            let path = std::env::current_exe().unwrap_or_default();
            return Some(Self { handle: AtomicPtr::default(), path });
        }
        // SAFETY: a terminated name.
        let mark = unsafe { libc::dlsym(libc::RTLD_DEFAULT, MARK.text().as_ptr()) };
        if !mark.is_null() {
            return Self::holding(mark);
        }
        loaded().iter().filter(|path| is_named_so(path)).find_map(|path| {
            let library = Self::open(path, libc::RTLD_NOLOAD | libc::RTLD_LAZY)?;
            library.own(MARK.text()).and_then(Self::holding)
        })
    }

    /// Loads a library and its dependencies for the whole process. `name` is a path, or a name that the dynamic
    /// linker searches for.
    ///
    /// # Errors
    /// The dynamic linker's message.
    pub fn load(name: &Path) -> Result<(), String> {
        match Self::open(name, libc::RTLD_GLOBAL | libc::RTLD_NOW) {
            Some(library) if library.own(MARK.text()).is_some() => Ok(()),
            Some(_) => Err(format!("{}: no MPI library, it has no MPI_Type_size", name.display())),
            None => Err(linker_says()),
        }
    }

    /// Returns the address of a function in the library or in one of its dependencies.
    pub fn own(&self, name: &CStr) -> Option<*mut c_void> {
        if self.is_linked() {
            return linked(name);
        }
        // SAFETY: a library that is open, and a terminated name.
        let address = unsafe { libc::dlsym(self.handle.load(Ordering::Relaxed), name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }

    /// Returns the address of a function or variable as the whole process sees it: a tool may interpose a function,
    /// and a program may have a copy of a variable, which the library then uses too.
    pub fn address(&self, name: &CStr) -> Option<*mut c_void> {
        if self.is_linked() {
            return linked(name);
        }
        // SAFETY: a terminated name.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        if address.is_null() { self.own(name) } else { Some(address) }
    }

    /// Returns true if the library is linked into the program, whose table names its functions.
    fn is_linked(&self) -> bool {
        self.handle.load(Ordering::Relaxed).is_null()
    }

    /// Returns the library's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the library that contains the address; or the whole program, if no library that can be opened by name
    /// contains it.
    fn holding(address: *mut c_void) -> Option<Self> {
        let path = path_of(address as usize);
        let flags = libc::RTLD_NOLOAD | libc::RTLD_LAZY;
        Self::open(&path, flags).or_else(|| {
            // SAFETY: null asks for the program.
            let handle = unsafe { libc::dlopen(std::ptr::null(), flags) };
            (!handle.is_null()).then_some(Self { handle: handle.into(), path })
        })
    }

    fn open(path: &Path, flags: c_int) -> Option<Self> {
        let name = CString::new(path.as_os_str().as_bytes()).ok()?;
        // SAFETY: a terminated name. The library's initialisers run as in any program.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        (!handle.is_null()).then(|| Self { handle: handle.into(), path: path.to_path_buf() })
    }
}

/// Returns a function of the MPI library that is linked into the program. `MPI_x` gives the same function as `PMPI_x`,
/// because no tool can interpose functions in a static program.
fn linked(name: &CStr) -> Option<*mut c_void> {
    let all = LINKED.get().copied().unwrap_or_default();
    let is_it = |function: &&LinkedFunction| {
        // SAFETY: a terminated name.
        let known = unsafe { CStr::from_ptr(function.name) };
        known == name || known.to_bytes().strip_prefix(b"P") == Some(name.to_bytes())
    };
    let found = all.iter().find(is_it)?;
    (!found.address.is_null()).then_some(found.address)
}

/// Returns true if the file has the name of an MPI library, such as `libmpi.so.40`, `libmpich.so.12`,
/// `libmpi_abi.so.1`.
fn is_named_so(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"libmpi"))
}

/// Returns the paths of all libraries of the process, in the order in which they were loaded.
fn loaded() -> Vec<PathBuf> {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _size: usize, paths: *mut c_void) -> c_int {
        // SAFETY: the linker passes a complete struct, with a name that is null or terminated; `paths` is ours.
        unsafe {
            if !(*info).dlpi_name.is_null() {
                let name = OsStr::from_bytes(CStr::from_ptr((*info).dlpi_name).to_bytes());
                (*paths.cast::<Vec<PathBuf>>()).push(PathBuf::from(name));
            }
        }
        0
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    // SAFETY: a callback of the right type, with its argument.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut paths).cast()) };
    paths
}

/// Returns the path of the file that an address was loaded from, as the dynamic linker knows the file: for an address of
/// the program, `argv[0]`. Empty if the linker does not know the address. Local.
pub fn path_of(address: usize) -> PathBuf {
    // SAFETY: all zeros is a value of this plain struct.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address is allowed; the struct may be written.
    if unsafe { libc::dladdr(address as *const c_void, &mut found) } == 0 || found.dli_fname.is_null() {
        return PathBuf::new();
    }
    // SAFETY: a terminated text that lives as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
}

/// Returns the dynamic linker's message about its last failed call on this thread.
fn linker_says() -> String {
    // SAFETY: callable at any time; null or a terminated text.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaded_libraries_are_listed() {
        let paths = loaded();
        assert!(paths.iter().any(|path| path.to_string_lossy().contains("libc.so")), "{paths:?}");
        let here = path_of(loaded as *const () as usize);
        assert_eq!(here.file_name(), std::env::current_exe().unwrap().file_name());
    }

    #[test]
    fn names_of_mpi_libraries() {
        for name in ["/usr/lib/libmpi.so.40.30.4", "libmpich.so.12", "/opt/libmpi_abi.so.1", "libmpi_gnu_123.so.12"] {
            assert!(is_named_so(Path::new(name)), "{name}");
        }
        assert!(!is_named_so(Path::new("/usr/lib/mpi/libhdf5.so")));
    }

    #[test]
    fn a_library_without_mpi_is_refused() {
        let nowhere = Library::load(Path::new("/nowhere/libmpi.so")).unwrap_err();
        assert!(nowhere.contains("/nowhere/libmpi.so"), "{nowhere}");
        let other = Library::load(Path::new("libm.so.6")).unwrap_err();
        assert_eq!(other, "libm.so.6: no MPI library, it has no MPI_Type_size");
    }
}
