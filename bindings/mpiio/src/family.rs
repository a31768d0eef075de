//! Whether the program runs on the MPI library that this one was built for. Handles and constants of another one look
//! alike to the linker, and would be misread.

use std::ffi::{CStr, c_char, c_int};
use std::path::Path;

use crate::abi;

/// Enough for any MPI library's version text.
const LONGEST: usize = 8192;

type GetLibraryVersion = extern "C" fn(*mut c_char, *mut c_int) -> c_int;

/// Compares the program's MPI library with ours; when they differ, says so once, on the first rank.
pub fn is_ours() -> bool {
    let Some((version, file)) = running() else {
        return false;
    };
    let is_standard = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libmpi_abi"));
    if version.starts_with(abi::family()) && !is_standard {
        return true;
    }
    if is_first_rank() {
        let other = if is_standard { "the standard MPI ABI" } else { &version };
        eprintln!(
            "tributary: this library was built for {}, but the program runs on {other} ({}); all its calls are passed \
             through. Preload the library that was built for that MPI.",
            abi::family(),
            file.display()
        );
    }
    false
}

/// What the MPI library in use calls itself, and its file.
fn running() -> Option<(String, std::path::PathBuf)> {
    // SAFETY: a terminated name; the first library in the program's order is the one that its calls reach.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"MPI_Get_library_version".as_ptr()) };
    if function.is_null() {
        return None;
    }
    let (mut text, mut length) = (vec![0 as c_char; LONGEST], 0);
    // SAFETY: the same in every MPI library: it takes a text and an int, and may be called at any time.
    let code = unsafe { std::mem::transmute::<*mut libc::c_void, GetLibraryVersion>(function) }(
        text.as_mut_ptr(),
        &mut length,
    );
    if code != 0 {
        return None;
    }
    // SAFETY: the text is terminated, by MPI or by the zeros it began with.
    let version = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned();
    let version = version.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    Some((version, file_of(function)))
}

/// The file that a function was loaded from.
fn file_of(function: *const libc::c_void) -> std::path::PathBuf {
    // SAFETY: all zeros is a value of this plain struct.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for; the struct may be written.
    if unsafe { libc::dladdr(function, &mut found) } == 0 || found.dli_fname.is_null() {
        return std::path::PathBuf::new();
    }
    // SAFETY: a terminated text that lives as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Path::new(name.to_string_lossy().as_ref()).to_path_buf()
}

/// By the launcher's word, since MPI cannot be asked; a rank that no launcher numbered is the first.
fn is_first_rank() -> bool {
    const RANKS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    RANKS.iter().find_map(|name| std::env::var(name).ok()).is_none_or(|rank| rank == "0")
}
