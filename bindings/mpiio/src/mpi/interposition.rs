//! Decides how calls of the program reach this library: as the preloaded library, or as a component of Open MPI; and
//! whether the library can work with the program's MPI library.
//!
//! The same file is both. Preloaded, or linked in front of MPI, its `MPI_...` functions are called instead of MPI's.
//! Under the name `mca_io_tributary.so`, Open MPI loads it and calls the functions of its table (`component`). The
//! first call decides for the whole process between the two; calls of the other kind then go on to MPI unchanged.
//!
//! In a program with a static MPI library no dynamic linker finds MPI's functions, so a table names them ([`link`]).
//! `bindings/mpiio/package/static-library` makes the table, and the archive that has both. The program's calls reach this
//! library because this archive comes before MPI's archive, in which `MPI_...` are weak names of `PMPI_...`.

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use tributary_abi::{LinkedFunction, MPI_Request, find, path_of};

use crate::mpi::abi::word::Word;
use crate::mpi::next::InterposedFunction;

/// Environment variables in which launchers set the rank of a process.
pub const RANKS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"];

/// The way in which calls of the program reach this library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Interposition {
    /// The dynamic linker binds MPI's functions to this library.
    Preloaded = 1,
    /// Open MPI has loaded this library as a component.
    Component = 2,
}

impl Interposition {
    /// Returns the name of the interposition in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preloaded => "preloaded",
            Self::Component => "component of Open MPI",
        }
    }
}

/// The functions of the component of Open MPI that modules below the component call.
pub struct ComponentFunctions {
    /// Calls ompio's function for an interposed function; `None` if ompio, Open MPI's component, has no such function.
    pub call_ompio: fn(&InterposedFunction, &[Word]) -> Option<Word>,
    /// Shows Open MPI the hints in force of an open file.
    pub show_hints: fn(Word),
    /// Returns true if Open MPI agrees to advance calls in flight. Called before each such call starts.
    pub can_advance: fn() -> bool,
    /// Makes Open MPI report the error of a request as an error of the file.
    pub point_at_file: fn(MPI_Request, Word),
}

static COMPONENT: OnceLock<&'static ComponentFunctions> = OnceLock::new();

/// Returns true if calls reach this library as a component of Open MPI, which has these functions. Decides for the component
/// if nothing is decided yet. Local.
pub fn is_active_component(functions: &'static ComponentFunctions) -> bool {
    COMPONENT.get_or_init(|| functions);
    is_active(Interposition::Component)
}

/// Returns the functions of the component, if Open MPI calls this library as one. Local.
#[inline]
pub fn component() -> Option<&'static ComponentFunctions> {
    if is_component() { COMPONENT.get().copied() } else { None }
}

/// The [`Interposition`] of this process as a number; 0 until the first call has decided.
static ACTIVE: AtomicU8 = AtomicU8::new(0);

/// Returns true if calls reach this library in the way `asked`. If nothing is decided yet, decides for this way. Local.
#[inline]
pub fn is_active(asked: Interposition) -> bool {
    match ACTIVE.load(Ordering::Relaxed) {
        0 => decide(asked),
        active => active == asked as u8,
    }
}

#[cold]
fn decide(asked: Interposition) -> bool {
    let before = ACTIVE.compare_exchange(0, asked as u8, Ordering::Relaxed, Ordering::Relaxed);
    before.is_ok() || before == Err(asked as u8)
}

/// Returns true if Open MPI calls this library as a component. Decides nothing. Local.
#[inline]
pub fn is_component() -> bool {
    ACTIVE.load(Ordering::Relaxed) == Interposition::Component as u8
}

/// Returns how calls reach this library, for reports. Local.
pub fn current() -> Interposition {
    if is_component() { Interposition::Component } else { Interposition::Preloaded }
}

/// Returns the path of this copy of the library, for reports; the path of the program, if the library is linked into it. Local.
pub fn path() -> PathBuf {
    path_of(decide as *const () as usize)
}

/// Returns 1 if this copy of the library takes the program's calls as the preloaded library, otherwise 0. A second
/// copy that Open MPI loads as a component asks for it.
#[unsafe(export_name = "tributary_mpiio_is_preloaded")]
extern "C" fn is_preloaded() -> c_int {
    c_int::from(is_active(Interposition::Preloaded))
}

/// Returns true if another copy of this library takes the program's calls, as a preloaded library. Local.
pub fn is_taken_by_another_copy() -> bool {
    type IsPreloaded = extern "C" fn() -> c_int;
    // SAFETY: a terminated name.
    let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"tributary_mpiio_is_preloaded".as_ptr()) };
    // The linker may bind an exported name in this copy to the other copy, so a function that is not exported says which
    // file this is.
    if first.is_null() || path_of(first as usize) == path() {
        return false;
    }
    // SAFETY: the function of this name in another copy, which has this type.
    let first = unsafe { transmute::<*mut c_void, IsPreloaded>(first) };
    first() != 0
}

/// Takes the table of MPI's functions that are linked into the program. Called once, before `main`.
///
/// # Safety
/// `functions` has `count` functions and stays as it is.
#[unsafe(export_name = "tributary_mpiio_link")]
unsafe extern "C" fn link(functions: *const LinkedFunction, count: usize) {
    // SAFETY: the caller's promise.
    tributary_abi::link(unsafe { std::slice::from_raw_parts(functions, count) });
}

/// Returns true if this library can work with the program's MPI library: the ABI must be known, and the library must match
/// it. Otherwise the first rank prints the reason once.
pub fn is_supported() -> bool {
    let looked = find().and_then(|mpi| mpi.verify());
    if let Err(refusal) = &looked
        && is_first_rank()
    {
        tributary::say(format_args!("{refusal}; MPI runs all calls of this program"));
    }
    looked.is_ok()
}

/// Returns true if the launcher's environment variables number this rank 0, or do not number it. (MPI cannot be
/// called here.)
pub fn is_first_rank() -> bool {
    RANKS.iter().find_map(|name| std::env::var(name).ok()).is_none_or(|rank| rank == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_call_decides() {
        assert!(!is_component());
        assert!(is_active(Interposition::Preloaded));
        assert!(!is_active(Interposition::Component));
        assert_eq!(current(), Interposition::Preloaded);
        assert!(!is_taken_by_another_copy());
        assert!(path().file_name().is_some_and(|name| name.to_string_lossy().starts_with("tributary_mpiio")));
    }
}
