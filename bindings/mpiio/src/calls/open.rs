//! MPI_File_open: the MPI library opens the file. The engine opens it in the first collective call, so a file without
//! collective calls costs no more than without this library.

use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};

use tributary::engine::alone;

use crate::abi::word::{Word, from_word};
use crate::abi::{MPI_Comm, MPI_Info, SUCCESS, is_intracommunicator, rank};
use crate::backend::Runner;
use crate::channel::Channel;
use crate::entry::Answer;
use crate::files;
use crate::hints;
use crate::next::Function;
use crate::open_file::OpenFile;
use crate::unopened::UnopenedFile;

/// Prefixes that name the file system to an MPI library. They are not part of the path.
const PREFIXES: [&str; 6] = ["ufs:", "nfs:", "lustre:", "gpfs:", "xfs:", "panfs:"];

/// Handles the call. Collective over the communicator.
pub fn open(function: &'static Function, arguments: &[Word]) -> Answer {
    let [comm, name, amode, info, handle] = *arguments else {
        return Answer::Return(function.call(arguments));
    };
    let comm = MPI_Comm::of(comm);
    // SAFETY: the program has called MPI_File_open with these arguments: MPI is initialised, `comm` is a communicator or
    // MPI_COMM_NULL.
    if name == 0 || handle == 0 || !unsafe { is_intracommunicator(comm) } {
        return Answer::Return(function.call(arguments));
    }
    // Duplicated before the file is opened: a rank on which the open fails must take part. If only this rank cannot
    // duplicate, the job ends, unless the environment says otherwise.
    // SAFETY: an intracommunicator.
    let channel = alone(unsafe { Channel::on(comm) });
    let code = function.call(arguments);
    if code as c_int != SUCCESS {
        return Answer::Return(code);
    }
    // SAFETY: a terminated text and an int; an intracommunicator.
    let (name, amode, info, rank) = unsafe {
        let name = CStr::from_ptr(name as *const c_char);
        (name, from_word::<c_int>(amode), MPI_Info::of(info), rank(comm))
    };
    let (path, is_first) = (path_of(name), rank == 0);
    // SAFETY: the program's info, in a call that takes one.
    let asked = unsafe { hints::at_open(&plain(name), info, is_first) };
    let runner = match channel {
        Ok(channel) => {
            let hints = asked.as_ref().map(|asked| asked.hints().clone()).map_err(Clone::clone);
            Runner::NotOpened(Box::new(UnopenedFile::new(channel, hints, &path, is_first)))
        }
        Err(error) => Runner::Mpi(error.to_string()),
    };
    // SAFETY: MPI_File_open succeeded and wrote its handle, which is a pointer in every MPI library.
    let handle = unsafe { *(handle as *const Word) };
    files::add(handle, OpenFile::new(path.into(), amode, is_first, runner, asked.unwrap_or_default()));
    Answer::Return(code)
}

/// A file name for MPI, without its file-system prefix.
fn plain(name: &CStr) -> String {
    let name = name.to_string_lossy();
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name).to_string()
}

/// The absolute path of a file name for MPI.
fn path_of(name: &CStr) -> PathBuf {
    let plain = plain(name);
    std::path::absolute(Path::new(&plain)).unwrap_or_else(|_| PathBuf::from(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_no_part_of_the_name() {
        assert_eq!(path_of(c"ufs:/data/f.nc"), Path::new("/data/f.nc"));
        assert_eq!(path_of(c"/data/a:b"), Path::new("/data/a:b"));
        assert!(path_of(c"f.nc").is_absolute());
    }
}
