//! Finds the independent calls of a file that would gain from being collective, and says how the libraries in the process make
//! them collective.

use std::ffi::CStr;

use serde::Serialize;

use super::counts::LeftToMpi;

/// Minimum number of bytes in small independent calls for which a report says how to make them collective.
const WORTH_BYTES: u64 = 1 << 20;
/// Minimum time of these calls, of all ranks together, in seconds.
const WORTH_SECONDS: f64 = 0.01;
/// Calls of a function are small if their median size is below this number of bytes: larger ones are as fast by each rank.
const SMALL: u64 = 1 << 20;

/// Libraries that call MPI-IO: a function by which each is known in the process, and how its calls become collective.
const LIBRARIES: [(&CStr, &str); 4] = [
    (c"ncmpi_create", "PnetCDF: the functions that end in _all, and no ncmpi_begin_indep_data"),
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
    /// Returns the small independent calls among those that MPI ran; `None` if they are not worth a line.
    pub fn of(left: &[LeftToMpi]) -> Option<Self> {
        let mut gain = Self { calls: 0, bytes: 0, seconds: 0.0, how: Vec::new() };
        for (call, moved) in left.iter().filter_map(|call| Some((call, call.moved?))) {
            if moved.sizes[1] < SMALL {
                gain.calls += call.calls;
                gain.bytes += moved.bytes;
                gain.seconds += moved.seconds;
            }
        }
        if gain.bytes < WORTH_BYTES || gain.seconds < WORTH_SECONDS {
            return None;
        }
        // SAFETY: a terminated name.
        let is_here = |name: &CStr| !unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.is_null();
        gain.how = LIBRARIES.iter().filter(|(name, _)| is_here(name)).map(|(_, how)| *how).chain([MPI_IO]).collect();
        Some(gain)
    }

    /// Returns the text of a report.
    pub fn text(&self) -> String {
        let Self { calls, bytes, seconds, how } = self;
        format!(
            "{calls} small independent calls of {bytes} bytes took {seconds:.4} s of all ranks together; collective calls can be \
             accelerated. {}",
            how.join(". ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::counts::Moved;

    #[test]
    fn small_independent_calls_are_worth_a_line_if_they_took_time() {
        let left = |size: u64, calls: u64, seconds| LeftToMpi {
            call: "write_at",
            why: "independent".to_string(),
            calls,
            moved: Some(Moved { bytes: size * calls, seconds, sizes: [size; 3] }),
        };
        assert_eq!(Gain::of(&[left(4096, 10, 1.0)]), None, "few bytes");
        assert_eq!(Gain::of(&[left(4096, 1000, 0.001)]), None, "no time");
        assert_eq!(Gain::of(&[left(4 << 20, 1000, 9.0)]), None, "large calls");
        let gain = Gain::of(&[left(4096, 1000, 0.5), left(4 << 20, 10, 1.0), left(64, 1000, 0.5)]).unwrap();
        assert_eq!((gain.calls, gain.bytes, gain.seconds), (2000, 4_160_000, 1.0));
        assert_eq!(gain.how.last(), Some(&MPI_IO));
        assert!(gain.text().starts_with("2000 small independent calls of 4160000 bytes took 1.0000 s"));
    }
}
