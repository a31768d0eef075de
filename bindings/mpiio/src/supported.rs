//! Whether the program's MPI library is one that this library can work with: of a binary interface that is known, and what it
//! seems to be.

use tributary_abi::find;

/// Looks at the program's MPI library; when it is not known, says so once, on the first rank.
pub fn is_supported() -> bool {
    let looked = find().and_then(|mpi| mpi.verify());
    if let Err(refusal) = &looked
        && is_first_rank()
    {
        eprintln!("tributary: {refusal}; all calls of this program are passed through");
    }
    looked.is_ok()
}

/// By the launcher's word, since MPI cannot be asked; a rank that no launcher numbered is the first.
fn is_first_rank() -> bool {
    const RANKS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    RANKS.iter().find_map(|name| std::env::var(name).ok()).is_none_or(|rank| rank == "0")
}
