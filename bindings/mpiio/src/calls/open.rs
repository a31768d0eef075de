//! MPI_File_open: the MPI library opens the file, and the engine on top of it.

use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::pin::pin;

use serde::{Deserialize, Serialize};
use tributary::collectives::{agree, broadcast};
use tributary::fabric::mpi::MpiEndpoint;
use tributary::{Endpoint, Error, Hints};

use crate::abi::word::{Word, from_word, to_word};
use crate::abi::{MPI_Comm, MPI_Info, SUCCESS, amode, file_null, is_intracommunicator};
use crate::entry::Answer;
use crate::files;
use crate::hints;
use crate::next::Function;
use crate::open_file::{OpenFile, Runner};

/// Prefixes that tell an MPI library which file system it meets, and change nothing about the name.
const PREFIXES: [&str; 6] = ["ufs:", "nfs:", "lustre:", "gpfs:", "xfs:", "panfs:"];

/// Takes the call. Collective over the communicator.
pub fn open(function: &'static Function, arguments: &[Word]) -> Answer {
    let [comm, name, amode, info, handle] = *arguments else {
        return Answer::Return(function.call(arguments));
    };
    // SAFETY: the program calls MPI_File_open, so these are its arguments: MPI is initialised, `comm` is a communicator or
    // MPI_COMM_NULL, and the endpoint lives no longer than the file, which the program closes before MPI_Finalize.
    let endpoint = unsafe {
        let comm = from_word::<MPI_Comm>(comm);
        is_intracommunicator(comm).then(|| MpiEndpoint::from_raw(comm))
    };
    let (Some(Ok(endpoint)), false) = (endpoint, name == 0 || handle == 0) else {
        return Answer::Return(function.call(arguments));
    };
    let mut endpoint = Endpoint::new(Box::new(endpoint));
    // SAFETY: a terminated text, an int and an info, as above.
    let (name, amode, info) =
        unsafe { (CStr::from_ptr(name as *const c_char), from_word::<c_int>(amode), from_word::<MPI_Info>(info)) };
    let terms = match Terms::agree(&mut endpoint, name, info) {
        Ok(terms) => terms,
        Err(error) => return Answer::Raise { file: to_word(file_null()), error, speaks: endpoint.rank() == 0 },
    };
    let is_first = endpoint.rank() == 0;
    let code = function.call(arguments);
    let runner = start(endpoint, &terms, amode, code as c_int == SUCCESS);
    if code as c_int == SUCCESS {
        // SAFETY: MPI_File_open went well and wrote its handle, which is a pointer in every MPI library.
        let handle = unsafe { *(handle as *const Word) };
        files::add(handle, OpenFile::new(terms.path, amode, is_first, runner));
    }
    Answer::Return(code)
}

/// What the first rank decides for all.
#[derive(Serialize, Deserialize)]
struct Terms {
    path: PathBuf,
    hints: Hints,
}

impl Terms {
    /// Collective.
    ///
    /// # Errors
    /// Hints of the first rank's environment that are not allowed, or the fabric's; the same on all ranks.
    fn agree(endpoint: &mut Endpoint, name: &CStr, info: MPI_Info) -> Result<Self, Error> {
        let waiting = endpoint.waiting().clone();
        let is_first = endpoint.rank() == 0;
        // SAFETY: the program's info, in a call that takes one.
        let hints = if is_first { unsafe { hints::at_open(info, true) } } else { Ok(Hints::default()) };
        waiting.wait(pin!(async {
            let hints = agree(endpoint, hints).await?;
            let told = serde_json::to_vec(&Self { path: path_of(name), hints }).unwrap_or_default();
            let told = broadcast(endpoint, 0, &told).await?;
            let internal = |_| Error::Internal { rank: endpoint.rank(), what: "the terms were not told".to_string() };
            serde_json::from_slice(&told).map_err(internal)
        }))
    }
}

/// The engine's file, when MPI could open its own on all ranks. Collective.
fn start(mut endpoint: Endpoint, terms: &Terms, amode: c_int, is_open: bool) -> Runner {
    let known = match is_open {
        false => Err("a rank could not open it".to_string()),
        _ if amode & amode::SEQUENTIAL != 0 => Err("MPI_MODE_SEQUENTIAL".to_string()),
        // The MPI library may know names that the system does not.
        _ if endpoint.rank() == 0 && !terms.path.exists() => Err(format!("no file {}", terms.path.display())),
        _ => Ok(()),
    };
    let waiting = endpoint.waiting().clone();
    let known = known.map_err(|why| Error::argument("file", why, "an open file with a name"));
    let known = waiting.wait(pin!(agree(&mut endpoint, known)));
    match known {
        Ok(()) => Runner::start(endpoint, &terms.path, amode, terms.hints.clone()),
        Err(Error::Argument { value, .. }) => Runner::Mpi(value),
        Err(error) => Runner::Mpi(error.to_string()),
    }
}

/// The absolute path of a name that MPI was given.
fn path_of(name: &CStr) -> PathBuf {
    let name = name.to_string_lossy();
    let plain = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name);
    std::path::absolute(Path::new(plain)).unwrap_or_else(|_| PathBuf::from(plain))
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
