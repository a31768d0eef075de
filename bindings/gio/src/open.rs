//! Opens, closes and deletes files, by names with or without a file-system prefix, and returns their hints.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::pin::pin;

use tributary::collectives::agree;
use tributary::drivers::{DriverName, detect};
use tributary::engine::{meet_hosts, wait_for_writes};
use tributary::error::{About, FileOperation};
use tributary::fabric::mpi::MPI_Comm;
use tributary::{Endpoint, Error, File, Hints, Result, Topology, wire};
use tributary_abi::MPI_Info;
use tributary_bindings::communicator::has_the_whole_program;
use tributary_bindings::info::{entries, made_of};
use tributary_bindings::opening::{decided_by, endpoint_on};
use tributary_bindings::prefix::without_prefix;

use crate::all;
use crate::amode::AccessMode;
use crate::code::status;
use crate::handle::{GioFile, OPEN, opened};
use crate::hints;

/// Opens a file on all ranks of a communicator. Collective.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GIO_open(
    comm: MPI_Comm,
    filename: *const c_char,
    amode: c_int,
    info: MPI_Info,
    fh: *mut *mut GioFile,
) -> c_int {
    all::are_linked();
    // SAFETY: the caller's promises: a text that ends with 0, a valid info, `fh` null or to be written.
    status("GIO_open", || unsafe {
        if !fh.is_null() {
            fh.write(std::ptr::null_mut());
        }
        let opened = open(comm, filename, amode, info, fh.is_null())?;
        fh.write(OPEN.add(opened));
        Ok(())
    })
}

/// The arguments of an open that the first rank decides for all ranks.
struct OpenTerms {
    path: PathBuf,
    amode: c_int,
    hints: Hints,
    /// True if the file is new, on Lustre, and GIO chooses its stripes.
    chooses_stripes: bool,
}

wire::fields!(struct OpenTerms { path, amode, hints, chooses_stripes });

/// # Safety
/// The requirements of [`GIO_open`].
unsafe fn open(
    comm: MPI_Comm,
    filename: *const c_char,
    amode: c_int,
    info: MPI_Info,
    no_handle: bool,
) -> Result<GioFile> {
    // SAFETY: the program gives a communicator, if MPI is initialised, from a thread that may call MPI, and closes the
    // file before it finalises MPI.
    let mut endpoint = unsafe { endpoint_on(comm, "comm")? };
    // SAFETY: the caller's promises.
    let (path, info) = unsafe { (path_of(filename), entries(info.as_given())) };
    let own = path.and_then(|path| match no_handle {
        true => Err(Error::argument("fh", "NULL", "a pointer to a GIO_File")),
        false => Ok((path, AccessMode::from_amode(amode)?)),
    });
    let mut terms = agreed(&mut endpoint, own, amode, &info)?;
    if terms.chooses_stripes {
        let hosts = hosts(&mut endpoint, &terms.hints)?;
        terms.hints.striping_factor = Some(hints::chosen_stripes(&terms.hints, hosts));
    }
    let access = AccessMode::from_amode(terms.amode)?;
    let mut file = File::open(endpoint, &terms.path, access.mode, terms.hints)?;
    // SAFETY: an intracommunicator, of which an endpoint was made.
    file.set_sole_writer(unsafe { has_the_whole_program(comm.as_given()) });
    Ok(GioFile::new(file, terms.path, access, info))
}

/// Returns the number of hosts of the ranks, which `trib_ranks_per_node` may pretend. Collective: an allgather and an
/// allreduce.
fn hosts(endpoint: &mut Endpoint, hints: &Hints) -> Result<usize> {
    if hints.ranks_per_node > 0 {
        return Ok(endpoint.ranks().div_ceil(hints.ranks_per_node));
    }
    let waiting = endpoint.waiting().clone();
    waiting.complete(pin!(meet_hosts(endpoint)))?;
    Ok(endpoint.real_hosts().map_or(1, Topology::nodes))
}

/// Returns the first rank's terms, if all ranks have good arguments and the same access mode. Collective: a broadcast and an
/// allreduce.
fn agreed(
    endpoint: &mut Endpoint,
    own: Result<(PathBuf, AccessMode)>,
    amode: c_int,
    info: &[(String, String)],
) -> Result<OpenTerms> {
    let waiting = endpoint.waiting().clone();
    waiting.complete(pin!(async {
        let decide = || {
            let (path, access) = own.clone()?;
            access.prepare(&path)?;
            let hints = hints::at_open(&path, info)?;
            let is_new = access.write && !path.exists() && detect(&path) == DriverName::Lustre;
            let chooses_stripes = is_new && hints::chooses_stripes(&hints, info);
            Ok(OpenTerms { path, amode, hints, chooses_stripes })
        };
        // An error of the first rank is the result on all ranks.
        let terms = decided_by::<Result<OpenTerms>>(endpoint, 0, decide, "the first rank's terms").await?;
        let terms = terms.map_err(|error| error.of_rank_among(0, endpoint.ranks()))?;
        let mine = own.and_then(|_| match amode == terms.amode {
            true => Ok(()),
            false => {
                let given = format!("{amode:#o} on rank {}, {:#o} on rank 0", endpoint.rank(), terms.amode);
                let differ = Error::argument("access mode of the ranks", given, "the same on all");
                Err(differ.about(About::AccessMode))
            }
        });
        agree(endpoint, mine).await?;
        Ok(terms)
    }))
}

/// Closes a file. Collective. `*fh` becomes GIO_FILE_NULL, also on an error.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GIO_close(fh: *mut *mut GioFile) -> c_int {
    // SAFETY: the caller's promises: `fh` is null or may be read and written, and nobody else uses the file.
    status("GIO_close", || unsafe {
        let place = fh.as_mut().ok_or_else(|| Error::argument("fh", "NULL", "a pointer to a handle from GIO_open"))?;
        OPEN.take(std::mem::replace(place, std::ptr::null_mut()))?.close()
    })
}

/// Deletes a file, after this process's buffered bytes of the file are written. Not collective.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GIO_delete(filename: *const c_char) -> c_int {
    // SAFETY: the caller's promise: null or a text that ends with 0.
    status("GIO_delete", || unsafe {
        let path = path_of(filename)?;
        // A file that cannot be opened any more has no bytes to wait for.
        let _ = wait_for_writes(&path, 0..u64::MAX);
        std::fs::remove_file(&path).map_err(|cause| Error::io(0, FileOperation::Remove, &path, None, &cause))
    })
}

/// Returns the hints in force, with the program's own entries, as an info that the caller frees. Not collective.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GIO_get_info(fh: *mut GioFile, info_used: *mut MPI_Info) -> c_int {
    // SAFETY: the caller's promises: nobody else uses the file, `info_used` is null or may be written.
    status("GIO_get_info", || unsafe {
        let file = opened(fh, "GIO_get_info")?;
        if info_used.is_null() {
            return Err(Error::argument("info_used", "NULL", "a pointer to an MPI_Info"));
        }
        made_of(hints::effective(&file.file, &file.info))?.put(info_used);
        Ok(())
    })
}

/// Returns the absolute path of a file name from C.
///
/// # Errors
/// The name is null or empty, or has the prefix of something that is not a file.
///
/// # Safety
/// `name` is null or a text that ends with 0.
unsafe fn path_of(name: *const c_char) -> Result<PathBuf> {
    if name.is_null() {
        return Err(no_name("NULL"));
    }
    // SAFETY: not null, so it ends with 0.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let plain = without_prefix(name, "file name")?;
    if plain.is_empty() {
        return Err(no_name("an empty name"));
    }
    let plain = Path::new(OsStr::from_bytes(plain));
    Ok(std::path::absolute(plain).unwrap_or_else(|_| plain.to_path_buf()))
}

fn no_name(given: &str) -> Error {
    Error::argument("file name", given, "the name of a file").about(About::Path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &CStr) -> Result<PathBuf> {
        // SAFETY: a text that ends with 0.
        unsafe { path_of(name.as_ptr()) }
    }

    #[test]
    fn a_type_is_no_part_of_the_name() {
        assert_eq!(path(c"lustre:/data/f.nc").unwrap(), Path::new("/data/f.nc"));
        assert_eq!(path(c"/data/ufs:f").unwrap(), Path::new("/data/ufs:f"));
        assert_eq!(path(c"/ufsdata:f").unwrap(), Path::new("/ufsdata:f"));
        assert_eq!(path(c"Lustre:/data/f.nc").unwrap(), Path::new("/data/f.nc"));
        assert_eq!(path(c"/data/f_15:00").unwrap(), Path::new("/data/f_15:00"));
        assert!(path(c"f_15:00.nc").unwrap().ends_with("f_15:00.nc"));
        assert!(path(c"f").unwrap().is_absolute());
        assert!(path(c"").is_err() && path(c"ufs:").is_err());
        let said = path(c"daos://pool/f").unwrap_err().to_string();
        assert!(
            said.starts_with("file name: the prefix daos:; allowed: the name of a file, with no prefix or one of ufs:"),
            "{said}"
        );
    }
}
