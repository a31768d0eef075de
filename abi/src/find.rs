//! Finds the process's MPI library, and determines which of the three ABIs it has; or loads one for a program that is linked with
//! none.
//!
//! The library's symbols determine the ABI. `MPI_Abi_get_version` says whether the library has the standard ABI (an
//! MPI 5 library with another ABI returns that it has not). A program compiled for Open MPI refers to
//! `ompi_mpi_comm_world` as MPI_COMM_WORLD, and one compiled for MPICH to `MPIR_Dup_fn` as MPI_DUP_FN. Names and
//! versions of libraries are ignored. As a check, if MPI is initialised, this crate asks the library for the size of
//! the MPI_INT of that ABI.
//!
//! A Rust program that uses this project is one binary for every MPI library. The program loads the library that
//! belongs to its launcher, which it recognises by environment variables ([`load`]).

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::{self, Display, Formatter};
use std::mem::transmute;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tributary_base::variable;

use crate::constants::{Constants, PredefinedHandles};
use crate::library::Library;
use crate::{MPI_Finalized, MPI_Initialized, MPI_Type_size, SUCCESS, function_name};

/// Size of a buffer for the version text of any MPI library, in bytes.
const LONGEST_VERSION: usize = 8192;
/// Major version of the standard ABI that this crate supports.
const STANDARD_VERSION: c_int = 1;

/// An ABI (binary interface) of MPI libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abi {
    /// The ABI of MPICH from 3.1 on, Intel MPI, Cray MPICH, MVAPICH and ParaStation MPI.
    Mpich,
    /// The ABI of Open MPI.
    OpenMpi,
    /// The standard ABI of MPI 5.
    Standard,
}

/// The width of an MPI library's handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Handles are as wide as an `int`.
    Narrow,
    /// Handles are as wide as a pointer.
    Wide,
}

impl Abi {
    /// Returns the width of handles in this ABI.
    #[inline]
    pub fn width(self) -> Width {
        match self {
            Self::Mpich => Width::Narrow,
            Self::OpenMpi | Self::Standard => Width::Wide,
        }
    }

    /// Returns the name of the ABI, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mpich => "MPICH's ABI",
            Self::OpenMpi => "Open MPI's ABI",
            Self::Standard => "the standard ABI of MPI 5",
        }
    }

    fn from_library(library: &Library) -> Result<Self, Refusal> {
        match standard_version(library) {
            Some(STANDARD_VERSION) => return Ok(Self::Standard),
            Some(version) => return Err(Refusal::unknown(library, format!("version {version} of the standard ABI"))),
            None => {}
        }
        let has = |name: &CStr| library.own(name).is_some();
        match () {
            () if has(c"ompi_mpi_comm_world") => Ok(Self::OpenMpi),
            () if has(c"MPIR_Dup_fn") => Ok(Self::Mpich),
            () => Err(Refusal::unknown(library, "an unknown ABI".to_string())),
        }
    }
}

impl Width {
    /// Returns the width of handles in the process's MPI library.
    #[inline]
    pub fn of_process() -> Self {
        width()
    }
}

/// The MPI library of the process, and its ABI.
#[derive(Debug)]
pub struct Mpi {
    /// The library's ABI.
    pub abi: Abi,
    pub(crate) handles: PredefinedHandles,
    library: Library,
    is_verified: AtomicBool,
}

impl Mpi {
    fn of_process() -> Result<Self, Refusal> {
        let library = Library::of_process().ok_or(Refusal::NotThere)?;
        let abi = Abi::from_library(&library)?;
        let missing = |name| Refusal::unknown(&library, format!("{}, but has no {name}", abi.name()));
        let handles = PredefinedHandles::from_library(abi, &library).map_err(missing)?;
        Ok(Self { abi, handles, library, is_verified: AtomicBool::new(false) })
    }

    /// Returns the path of the shared library, or of the program if MPI is linked into it.
    pub fn path(&self) -> &std::path::Path {
        self.library.path()
    }

    /// Returns the constants of the library's ABI.
    #[inline]
    pub(crate) fn constants(&self) -> &'static Constants {
        Constants::for_abi(self.abi)
    }

    /// Returns the address of a function of the library; None if the library lacks it.
    pub(crate) fn address(&self, name: &CStr) -> Option<*mut c_void> {
        self.library.address(name)
    }

    /// Checks by the size of MPI_INT that the library has the handles of this ABI. Succeeds without a check if MPI is
    /// not initialised or is finalised.
    ///
    /// # Errors
    /// The handle is not MPI_INT.
    pub fn verify(&self) -> Result<(), Refusal> {
        if self.is_verified.load(Ordering::Relaxed) || !is_running() {
            return Ok(());
        }
        let mut size = 0;
        // SAFETY: MPI is initialised; the constant belongs to the ABI of the library's symbols; writes one int.
        let code = unsafe { MPI_Type_size(self.handles.int, &mut size) };
        if code != SUCCESS || size as usize != size_of::<c_int>() {
            let what = format!("{}, but its MPI_INT has {size} bytes (code {code})", self.abi.name());
            return Err(Refusal::unknown(&self.library, what));
        }
        self.is_verified.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// Returns the address of a function of the process's MPI library itself, for any ABI, even if other libraries
/// interpose the function. Looks it up at every call.
pub fn function(name: &CStr) -> Option<*mut c_void> {
    match find() {
        Ok(mpi) => mpi.library.own(name),
        Err(_) => Library::of_process()?.own(name),
    }
}

static FOUND: OnceLock<Mpi> = OnceLock::new();

/// Returns the MPI library of the process. Keeps the first library that it finds, for all later calls.
///
/// # Errors
/// No library is loaded, or its ABI is not known.
#[inline]
pub fn find() -> Result<&'static Mpi, Refusal> {
    match FOUND.get() {
        Some(mpi) => Ok(mpi),
        None => look(),
    }
}

/// Returns the library that [`find`] finds; None instead of an error.
#[inline]
pub(crate) fn found() -> Option<&'static Mpi> {
    match FOUND.get() {
        Some(mpi) => Some(mpi),
        None => found_now(),
    }
}

#[cold]
fn found_now() -> Option<&'static Mpi> {
    look().ok()
}

#[cold]
fn look() -> Result<&'static Mpi, Refusal> {
    let mpi = Mpi::of_process()?;
    Ok(FOUND.get_or_init(|| mpi))
}

/// Returns the width of the library's handles. Without a library, returns the width of MPICH's ABI: no function uses
/// the handles in that case.
#[inline]
pub(crate) fn width() -> Width {
    found().map_or(Width::Narrow, |mpi| mpi.abi.width())
}

/// Returns true if MPI is initialised and not finalised.
pub(crate) fn is_running() -> bool {
    let (mut initialised, mut finalised) = (0, 0);
    // SAFETY: callable at any time; each writes one int.
    let codes = unsafe { [MPI_Initialized(&mut initialised), MPI_Finalized(&mut finalised)] };
    codes == [SUCCESS; 2] && initialised != 0 && finalised == 0
}

/// The reason why MPI cannot be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The process has no MPI library.
    NotThere,
    /// The process has an MPI library of unknown ABI.
    Unknown {
        /// The path of the library.
        path: PathBuf,
        /// Version text of the library.
        version: String,
        /// A description of the ABI, as far as it can be determined.
        what: String,
    },
}

impl Refusal {
    fn unknown(library: &Library, what: String) -> Self {
        Self::Unknown { path: library.path().to_path_buf(), version: version(library), what }
    }
}

impl Display for Refusal {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        const KNOWN: &str = "the ABI of MPICH (also Intel MPI, Cray MPICH, MVAPICH, ParaStation MPI), the ABI of Open MPI, \
                             and the standard ABI of MPI 5";
        match self {
            Self::NotThere => {
                write!(to, "no MPI library is loaded as a shared library; link the program with a shared MPI library")
            }
            Self::Unknown { path, version, what } => {
                write!(to, "MPI library {} ({version}) has {what}; known: {KNOWN}", path.display())
            }
        }
    }
}

impl Error for Refusal {}

/// Returns the major version from MPI_Abi_get_version; None if the library has another ABI, or lacks the function.
fn standard_version(library: &Library) -> Option<c_int> {
    let function = library.own(function_name!("PMPI_Abi_get_version").text())?;
    let (mut major, mut minor) = (-1, -1);
    type AbiGetVersion = extern "C-unwind" fn(*mut c_int, *mut c_int) -> c_int;
    // SAFETY: in every MPI library the function takes two ints and may be called at any time.
    let function = unsafe { transmute::<*mut c_void, AbiGetVersion>(function) };
    let code = function(&mut major, &mut minor);
    (code == SUCCESS && major >= 0).then_some(major)
}

/// Returns the first line of the library's version text.
fn version(library: &Library) -> String {
    let (mut text, mut length) = (vec![0 as c_char; LONGEST_VERSION], 0);
    if let Some(function) = library.own(function_name!("PMPI_Get_library_version").text()) {
        type GetLibraryVersion = extern "C-unwind" fn(*mut c_char, *mut c_int) -> c_int;
        // SAFETY: in every MPI library the function takes a text and an int and may be called at any time.
        let function = unsafe { transmute::<*mut c_void, GetLibraryVersion>(function) };
        function(text.as_mut_ptr(), &mut length);
    }
    // SAFETY: the text is terminated, by MPI or by the zeros it began with.
    let version = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned();
    version.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Environment variable with which the user names the library: a path, or a name for the dynamic linker.
const CHOICE: &str = "TRIB_MPI";
/// File names of libraries with MPICH's ABI. Debian renames them.
const MPICH: [&str; 2] = ["libmpi.so.12", "libmpich.so.12"];
const OPEN_MPI: &str = "libmpi.so.40";
const STANDARD: &str = "libmpi_abi.so.1";

/// Loads an MPI library, unless the process has one. Loads the library that `$TRIB_MPI` names or, if that is not set,
/// a library with a usual name, first from the folder `lib` beside the folder of `mpiexec`, then from the dynamic
/// linker's search path. A program with more rights than its user (set-user-ID) reads no variable for this.
///
/// # Errors
/// No library can be loaded, or its ABI is not known.
pub fn load() -> Result<&'static Mpi, NotLoaded> {
    match find() {
        Ok(mpi) => return Ok(mpi),
        Err(Refusal::NotThere) => {}
        Err(refusal) => return Err(NotLoaded::Refused(refusal)),
    }
    let candidates = match variable(CHOICE).filter(|choice| !choice.is_empty()) {
        Some(choice) => vec![PathBuf::from(choice)],
        None => candidates(|name| variable(name).is_some(), folder_of_launcher().as_deref()),
    };
    let mut failures = Vec::new();
    for candidate in candidates {
        match Library::load(&candidate) {
            Ok(()) => return find().map_err(NotLoaded::Refused),
            Err(why) => failures.push(why),
        }
    }
    Err(NotLoaded::Failed(failures))
}

/// Returns the libraries to try, the most likely first. `has` returns true if an environment variable is set.
fn candidates(has: impl Fn(&str) -> bool, folder: Option<&Path>) -> Vec<PathBuf> {
    let open_mpi = has("OMPI_COMM_WORLD_SIZE");
    // Hydra (the launcher of MPICH and its derivatives) sets these variables, and so does Slurm with Hydra's protocol.
    let mpich = !open_mpi && (has("PMI_RANK") || has("PMI_FD") || has("PMI_PORT"));
    let names: &[&str] = match () {
        () if open_mpi => &[OPEN_MPI, STANDARD],
        () if mpich => &[MPICH[0], MPICH[1], STANDARD],
        () if has("PMIX_RANK") => &[OPEN_MPI, MPICH[0], MPICH[1], STANDARD],
        () => &[MPICH[0], MPICH[1], OPEN_MPI, STANDARD],
    };
    let beside = names.iter().filter_map(|name| Some(folder?.join(name)).filter(|path| path.is_file()));
    beside.chain(names.iter().map(PathBuf::from)).collect()
}

/// Returns the folder `lib` beside the folder of `mpiexec`.
fn folder_of_launcher() -> Option<PathBuf> {
    let path = variable("PATH")?;
    let launcher = std::env::split_paths(&path).map(|folder| folder.join("mpiexec")).find(|path| path.is_file())?;
    Some(launcher.canonicalize().ok()?.parent()?.parent()?.join("lib"))
}

/// The reason why no MPI library was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotLoaded {
    /// The dynamic linker's message for each library that was tried.
    Failed(Vec<String>),
    /// There is an MPI library, but its ABI is unknown.
    Refused(Refusal),
}

impl Display for NotLoaded {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(to),
            Self::Failed(why) => write!(
                to,
                "MPI library: none can be loaded ({}); allowed: one that {CHOICE} names by its path, or that \
                 LD_LIBRARY_PATH finds as {}, {}, {OPEN_MPI} or {STANDARD}",
                why.join("; "),
                MPICH[0],
                MPICH[1],
            ),
        }
    }
}

impl Error for NotLoaded {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_mpi_is_refused() {
        let refusal = find().unwrap_err();
        assert_eq!(refusal, Refusal::NotThere);
        assert!(refusal.to_string().starts_with("no MPI library is loaded"), "{refusal}");
        let mut ranks = 0;
        // SAFETY: there is no MPI library that could be called.
        let code = unsafe { crate::MPI_Comm_size(crate::handles().comm_world, &mut ranks) };
        assert_eq!((code, ranks), (crate::MISSING, 0));
    }

    fn tried(environment: &[&str], folder: Option<&Path>) -> Vec<String> {
        let all = candidates(|name| environment.contains(&name), folder);
        all.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn the_launcher_determines_the_library() {
        assert_eq!(tried(&["OMPI_COMM_WORLD_SIZE", "PMIX_RANK"], None), ["libmpi.so.40", "libmpi_abi.so.1"]);
        assert_eq!(tried(&["PMI_RANK"], None), ["libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1"]);
        assert_eq!(tried(&["PMIX_RANK"], None)[0], "libmpi.so.40");
        assert_eq!(tried(&[], None).len(), 4);
    }

    #[test]
    fn libraries_beside_the_launcher_come_first() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("libmpi.so.12"), "").unwrap();
        let own = folder.path().join("libmpi.so.12").display().to_string();
        assert_eq!(tried(&["PMI_RANK"], Some(folder.path()))[..2], [own, "libmpi.so.12".to_string()]);
    }

    #[test]
    fn the_error_lists_what_was_tried() {
        let said = NotLoaded::Failed(vec!["libx.so: no such file".to_string()]).to_string();
        assert!(said.contains("libx.so: no such file") && said.contains("TRIB_MPI"), "{said}");
    }
}
