//! Which MPI library the process has, and which of the three binary interfaces that is.
//!
//! The interface is told by what belongs to it: `MPI_Abi_get_version` says whether the library is one of the standard
//! interface (an MPI 5 with another says that it is not); `ompi_mpi_comm_world` is what MPI_COMM_WORLD means in a program that
//! was compiled for Open MPI; `MPIR_Dup_fn` is what MPI_DUP_FN means in one for MPICH. Names and versions of libraries are
//! not looked at. Where MPI is initialised, it is then asked for the size of what MPI_INT is in that interface.

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::{self, Display, Formatter};
use std::mem::transmute;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::constants::{Constants, Handles};
use crate::library::Library;
use crate::{MPI_Finalized, MPI_Initialized, MPI_Type_size, SUCCESS};

/// Longer than any MPI library's version text.
const LONGEST_VERSION: usize = 8192;
/// The version of the standard interface that is known here.
const STANDARD: c_int = 1;

/// A binary interface of MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abi {
    /// That of MPICH from 3.1 on, Intel MPI, Cray MPICH, MVAPICH and ParaStation MPI.
    Mpich,
    /// That of Open MPI.
    OpenMpi,
    /// The standard one of MPI 5.
    Standard,
}

/// How wide handles are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// As an `int`.
    Narrow,
    /// As a pointer.
    Wide,
}

impl Abi {
    /// How wide its handles are.
    #[inline]
    pub fn width(self) -> Width {
        match self {
            Self::Mpich => Width::Narrow,
            Self::OpenMpi | Self::Standard => Width::Wide,
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mpich => "MPICH's ABI",
            Self::OpenMpi => "Open MPI's ABI",
            Self::Standard => "the standard ABI of MPI 5",
        }
    }

    fn of(library: &Library) -> Result<Self, Refusal> {
        match standard_version(library) {
            Some(STANDARD) => return Ok(Self::Standard),
            Some(version) => return Err(Refusal::unknown(library, format!("version {version} of the standard ABI"))),
            None => {}
        }
        let has = |name: &CStr| library.own(name).is_some();
        match () {
            () if has(c"ompi_mpi_comm_world") => Ok(Self::OpenMpi),
            () if has(c"MPIR_Dup_fn") => Ok(Self::Mpich),
            () => Err(Refusal::unknown(library, "none of these".to_string())),
        }
    }
}

impl Width {
    /// That of the process's MPI library.
    #[inline]
    pub fn of_process() -> Self {
        width()
    }
}

/// The process's MPI library.
#[derive(Debug)]
pub struct Mpi {
    /// Its binary interface.
    pub abi: Abi,
    pub(crate) handles: Handles,
    library: Library,
    is_verified: AtomicBool,
}

impl Mpi {
    fn of_process() -> Result<Self, Refusal> {
        let library = Library::of_process().ok_or(Refusal::NotThere)?;
        let abi = Abi::of(&library)?;
        let missing = |name| Refusal::unknown(&library, format!("{}, but has no {name}", abi.name()));
        let handles = Handles::of(abi, &library).map_err(missing)?;
        Ok(Self { abi, handles, library, is_verified: AtomicBool::new(false) })
    }

    /// The shared library that it is in; the program, where it was linked into that.
    pub fn path(&self) -> &std::path::Path {
        self.library.path()
    }

    /// Its numbers.
    #[inline]
    pub(crate) fn constants(&self) -> &'static Constants {
        Constants::of(self.abi)
    }

    /// Where one of its functions is.
    pub(crate) fn address(&self, name: &CStr) -> Option<*mut c_void> {
        self.library.address(name)
    }

    /// Makes sure that handles mean here what they mean in this interface: asks for the size of MPI_INT. Where MPI is not
    /// initialised, or finalised, it cannot be asked; then nothing is said against it.
    ///
    /// # Errors
    /// It is no MPI_INT.
    pub fn verify(&self) -> Result<(), Refusal> {
        if self.is_verified.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (mut initialised, mut finalised, mut size) = (0, 0, 0);
        // SAFETY: callable at any time; each writes one int.
        let codes = unsafe { [MPI_Initialized(&mut initialised), MPI_Finalized(&mut finalised)] };
        if codes != [SUCCESS; 2] || initialised == 0 || finalised != 0 {
            return Ok(());
        }
        // SAFETY: MPI is initialised; the constant is one of the interface that the library shows; writes one int.
        let code = unsafe { MPI_Type_size(self.handles.int, &mut size) };
        if code != SUCCESS || size as usize != size_of::<c_int>() {
            let what = format!("{}, but its MPI_INT has {size} bytes (code {code})", self.abi.name());
            return Err(Refusal::unknown(&self.library, what));
        }
        self.is_verified.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// Where a function of the process's MPI library is, whatever the library's interface, and whatever stands before it. A look-up
/// each time.
pub fn function(name: &CStr) -> Option<*mut c_void> {
    match find() {
        Ok(mpi) => mpi.library.own(name),
        Err(_) => Library::of_process()?.own(name),
    }
}

static FOUND: OnceLock<Mpi> = OnceLock::new();

/// The MPI library of the process. The first that is found stays.
///
/// # Errors
/// None is loaded, or one of a binary interface that is not known here.
#[inline]
pub fn find() -> Result<&'static Mpi, Refusal> {
    match FOUND.get() {
        Some(mpi) => Ok(mpi),
        None => look(),
    }
}

/// As [`find`], for those to whom it does not matter why there is none.
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

/// Without a library as in MPICH's interface: no function takes the handles then.
#[inline]
pub(crate) fn width() -> Width {
    found().map_or(Width::Narrow, |mpi| mpi.abi.width())
}

/// Why MPI cannot be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The process has no MPI library.
    NotThere,
    /// It has one of another interface than those that are known here.
    Unknown {
        /// Its file.
        path: PathBuf,
        /// What it calls itself.
        version: String,
        /// The interface, as far as it can be told.
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
        const KNOWN: &str = "the ABI of MPICH (also Intel MPI, Cray MPICH, MVAPICH, ParaStation MPI), that of Open MPI, \
                             and the standard one of MPI 5";
        match self {
            Self::NotThere => write!(
                to,
                "MPI library: none is loaded as a shared library; allowed: one that the program is linked with or has loaded"
            ),
            Self::Unknown { path, version, what } => {
                write!(to, "MPI library: {} ({version}) has {what}; allowed: {KNOWN}", path.display())
            }
        }
    }
}

impl Error for Refusal {}

/// What the library says to MPI_Abi_get_version; none where it has another interface, or is older than that.
fn standard_version(library: &Library) -> Option<c_int> {
    let function = library.own(c"PMPI_Abi_get_version")?;
    let (mut major, mut minor) = (-1, -1);
    type AbiGetVersion = extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    // SAFETY: the same in every MPI library: it takes two ints, and may be called at any time.
    let function = unsafe { transmute::<*mut c_void, AbiGetVersion>(function) };
    let code = function(&mut major, &mut minor);
    (code == SUCCESS && major >= 0).then_some(major)
}

/// What the library calls itself: the first line.
fn version(library: &Library) -> String {
    let (mut text, mut length) = (vec![0 as c_char; LONGEST_VERSION], 0);
    if let Some(function) = library.own(c"PMPI_Get_library_version") {
        type GetLibraryVersion = extern "C" fn(*mut c_char, *mut c_int) -> c_int;
        // SAFETY: the same in every MPI library: it takes a text and an int, and may be called at any time.
        let function = unsafe { transmute::<*mut c_void, GetLibraryVersion>(function) };
        function(text.as_mut_ptr(), &mut length);
    }
    // SAFETY: the text is terminated, by MPI or by the zeros it began with.
    let version = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned();
    version.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_mpi_is_told_so() {
        let refusal = find().unwrap_err();
        assert_eq!(refusal, Refusal::NotThere);
        assert!(refusal.to_string().starts_with("MPI library: none is loaded"), "{refusal}");
        let mut ranks = 0;
        // SAFETY: there is no MPI library that could be called.
        let code = unsafe { crate::MPI_Comm_size(crate::handles().comm_world, &mut ranks) };
        assert_eq!((code, ranks), (crate::MISSING, 0));
    }
}
