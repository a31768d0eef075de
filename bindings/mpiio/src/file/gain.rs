//! Finds the independent calls of a file that would gain from being collective, and says how the libraries in the process make
//! them collective.

use std::ffi::CStr;

use serde::Serialize;
use tributary::engine::capture::{IndependentCalls, SmallCalls};

/// Libraries that call MPI-IO: a function by which each is known in the process, and how its calls become collective.
const LIBRARIES: [(&CStr, &str); 4] = [
    (
        c"ncmpi_create",
        "PnetCDF: the functions that end in _all, and no ncmpi_begin_indep_data; or ncmpi_iput_... and one ncmpi_wait_all, which joins them",
    ),
    (c"nc_open_par", "NetCDF-4: nc_var_par_access(file, variable, NC_COLLECTIVE)"),
    (
        c"H5Fopen",
        "HDF5: H5Pset_dxpl_mpio(list, H5FD_MPIO_COLLECTIVE) for H5Dwrite and H5Dread; H5Pget_mpio_no_collective_cause says why \
         HDF5 made a call independent",
    ),
    (
        c"Py_IsInitialized",
        "h5py: with dataset.collective; a conversion of types makes a call independent; mpi4py: Write_at_all, Read_at_all",
    ),
];
/// How calls of MPI-IO itself become collective.
const MPI_IO: &str = "MPI-IO: the functions that end in _all, called by all ranks of the file";

/// Small independent calls of a file of several ranks.
#[derive(Debug, PartialEq, Serialize)]
pub struct Gain {
    /// Number of calls.
    pub calls: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Time of these calls, of all ranks together, in seconds.
    pub seconds: f64,
    /// How each library in the process makes its calls collective.
    pub how: Vec<&'static str>,
}

impl Gain {
    /// Returns the small calls among the independent calls of all ranks; `None` if they are not worth a line.
    pub fn of(all: &[IndependentCalls]) -> Option<Self> {
        let small = SmallCalls::worth(all)?;
        Some(Self { calls: small.calls, bytes: small.bytes, seconds: small.seconds(), how: how() })
    }

    /// Returns the text of a report.
    pub fn text(&self) -> String {
        let Self { calls, bytes, seconds, how } = self;
        format!(
            "{calls} small independent calls of {bytes} bytes took {seconds:.4} s of all ranks together; collective calls can be \
             accelerated, and trib run --explain estimates by how much. {}",
            how.join(". ")
        )
    }
}

/// Returns how each library in the process makes its calls collective.
pub fn how() -> Vec<&'static str> {
    // SAFETY: a terminated name.
    let is_here = |name: &CStr| !unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.is_null();
    LIBRARIES.iter().filter(|(name, _)| is_here(name)).map(|(_, how)| *how).chain([MPI_IO]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_independent_calls_are_worth_a_line() {
        let function = "write_at".to_string();
        let small =
            IndependentCalls { function, calls: 2000, bytes: 8 << 20, microseconds: 1_000_000, sizes: [4096; 3] };
        assert_eq!(Gain::of(&[IndependentCalls { sizes: [4 << 20; 3], ..small.clone() }]), None, "large calls");
        let gain = Gain::of(&[small]).unwrap();
        assert_eq!((gain.calls, gain.bytes, gain.seconds), (2000, 8 << 20, 1.0));
        assert_eq!(gain.how.last(), Some(&MPI_IO));
        assert!(gain.text().starts_with("2000 small independent calls of 8388608 bytes took 1.0000 s"));
    }
}
