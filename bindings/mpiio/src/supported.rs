//! Checks whether this library can work with the program's MPI library: the ABI must be known, and the library must
//! match it.

use tributary_abi::find;

use crate::ranks_here::RANKS;

/// Returns true if this library can work with the program's MPI library. Otherwise the first rank prints the reason
/// once.
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
