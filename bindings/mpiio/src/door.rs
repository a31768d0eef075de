//! Decides how calls of the program reach this library: as the preloaded library, or as a component of Open MPI; and
//! whether the library can work with the program's MPI library.
//!
//! The same file is both. Preloaded, or linked in front of MPI, its `MPI_...` functions are called instead of MPI's.
//! Under the name `mca_io_tributary.so`, Open MPI loads it and calls the functions of its table (`component`). The
//! first call that comes in decides for the whole process, and the other door then passes every call on.
//!
//! In a program with a static MPI library no dynamic linker finds MPI's functions, so a table names them ([`link`]).
//! `bindings/mpiio/package/static-library` makes the table, and the archive that has both. The program's calls reach this
//! library because the archive comes before that of MPI, in which `MPI_...` are weak names of `PMPI_...`.

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};

use tributary_abi::{LinkedFunction, find, path_of};

use crate::ranks_here::RANKS;

/// The way in which calls of the program reach this library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Door {
    /// The dynamic linker binds MPI's functions to this library.
    Preload = 1,
    /// Open MPI has loaded this library as a component.
    Component = 2,
}

impl Door {
    /// Returns the words of reports for this door.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preload => "preloaded",
            Self::Component => "component of Open MPI",
        }
    }
}

/// The door that is open; 0 until a call has decided.
static OPEN: AtomicU8 = AtomicU8::new(0);

/// Returns true if calls reach this library through `door`. Decides for `door` if nothing is decided yet. Local.
#[inline]
pub fn is_through(door: Door) -> bool {
    match OPEN.load(Ordering::Relaxed) {
        0 => decide(door),
        open => open == door as u8,
    }
}

#[cold]
fn decide(door: Door) -> bool {
    let before = OPEN.compare_exchange(0, door as u8, Ordering::Relaxed, Ordering::Relaxed);
    before.is_ok() || before == Err(door as u8)
}

/// Returns true if Open MPI calls this library as a component. Decides nothing. Local.
#[inline]
pub fn is_component() -> bool {
    OPEN.load(Ordering::Relaxed) == Door::Component as u8
}

/// Returns the open door, for reports. Local.
pub fn current() -> Door {
    if is_component() { Door::Component } else { Door::Preload }
}

/// Returns the path of this copy of the library, for reports; of the program, if it is linked into that. Local.
pub fn path() -> PathBuf {
    path_of(decide as *const () as usize)
}

/// Returns 1 if this copy of the library takes the program's calls as the preloaded library, otherwise 0. A second
/// copy that Open MPI loads as a component asks for it.
#[unsafe(export_name = "tributary_mpiio_is_preloaded")]
extern "C" fn is_preloaded() -> c_int {
    c_int::from(is_through(Door::Preload))
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
        assert!(is_through(Door::Preload));
        assert!(!is_through(Door::Component));
        assert_eq!(current(), Door::Preload);
        assert!(!is_taken_by_another_copy());
        assert!(path().file_name().is_some_and(|name| name.to_string_lossy().starts_with("tributary_mpiio")));
    }
}
