//! MPI_File_open: the MPI library opens the file. The engine opens it in the first collective call, so a file without
//! collective calls costs no more than without this library.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::Once;

use tributary::Error;
use tributary::drivers::{self, OpenStorage, SystemFiles};
use tributary::engine::alone;
use tributary::fabric::mpi::library;
use tributary::hints::FileHints;
use tributary_abi::constants;

use crate::abi::word::{Word, from_word};
use crate::abi::{MPI_Comm, MPI_Info, SUCCESS, is_intracommunicator, rank, ranks};
use crate::backend::{Backend, Runner};
use crate::channel;
use crate::entry::Answer;
use crate::files;
use crate::hints;
use crate::next::Function;
use crate::open_file::OpenFile;
use crate::supported::is_first_rank;
use crate::unopened::UnopenedFile;

/// Prefixes that name the file system to an MPI library. They are not part of the path.
const PREFIXES: [&str; 6] = ["ufs:", "nfs:", "lustre:", "gpfs:", "xfs:", "panfs:"];
/// File systems for which ROMIO has a driver that matters: `f_type` of statfs, and the prefix.
const ROMIO_DRIVERS: [(u32, &str); 4] =
    [(0x0BD0_0BD0, "lustre:"), (0x6969, "nfs:"), (0x4750_4653, "gpfs:"), (0xAAD7_AAEA, "panfs:")];

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
    // SAFETY: a terminated text.
    let name = unsafe { CStr::from_ptr(name as *const c_char) };
    // Before the file is opened: a rank on which the open fails must take part. If only this rank cannot, the job ends, unless the
    // environment says otherwise.
    // SAFETY: an intracommunicator.
    let (rank, ranks) = unsafe { (rank(comm), ranks(comm)) };
    // SAFETY: an intracommunicator.
    let taken = (!is_log_of_darshan(name)).then(|| alone(unsafe { channel::take(comm, ranks as usize) }));
    // SAFETY: an int; a valid info.
    let (amode, info) = unsafe { (from_word::<c_int>(amode), MPI_Info::of(info)) };
    let (path, is_first) = (path_of(name), rank == 0);
    // SAFETY: the program's info, in a call that takes one.
    let asked = unsafe { hints::at_open(&plain(name), info, is_first) };
    let left = is_first.then(|| hints::left_by_site(&plain(name))).flatten();
    if let (true, Some(_), Ok(asked), None) = (is_first, &taken, &asked, &left) {
        lay_out(&path, amode, asked);
    }
    let code =
        named(name, |name| function.call(&[arguments[0], name.as_ptr() as Word, arguments[2], arguments[3], handle]));
    if code as c_int != SUCCESS {
        if let Some(Ok(Ok((endpoint, seat)))) = taken {
            seat.keep(endpoint);
        }
        return Answer::Return(code);
    }
    let (runner, seat) = match taken {
        Some(Ok(Ok((endpoint, seat)))) => {
            let hints = asked.as_ref().map(|asked| asked.hints().clone()).map_err(Clone::clone);
            (Runner::NotOpened(Box::new(UnopenedFile::new(endpoint, hints, left, &path))), Some(seat))
        }
        Some(Ok(Err(why))) => {
            // Not every rank of thousands that open files of their own.
            if is_first && (ranks > 1 || is_first_rank()) {
                say_once(&path, &why);
            }
            (Runner::Mpi(why), None)
        }
        Some(Err(error)) => (Runner::Mpi(error.to_string()), None),
        None => (Runner::Mpi("a log of Darshan".to_string()), None),
    };
    // SAFETY: MPI_File_open succeeded and wrote its handle, which is a pointer in every MPI library.
    let handle = unsafe { *(handle as *const Word) };
    let backend = Backend::new(path.into(), amode, is_first, runner, seat);
    files::add(handle, OpenFile::new(backend, asked.unwrap_or_default()));
    Answer::Return(code)
}

/// Says why the first file is left to MPI for want of something, and that there may be more.
fn say_once(path: &Path, why: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        tributary::say(format_args!("{} is left to MPI, and other files may be: {why}", path.display()));
    });
}

/// Makes a new file with the hinted stripes, on the first rank, before MPI makes it without: MPI libraries that are built without a
/// driver for Lustre do not give a file any, and those with one leave the stripes of a file that is there. No rank of MPI makes the
/// file before this: MPI_File_open duplicates the communicator first, for which it waits for all ranks.
///
/// A file that must not be there (MPI_MODE_EXCL) is left to MPI, which would find ours; one that it does not make (a mode of access
/// that is not allowed with MPI_MODE_CREATE), which leaves none; and one with hints of the layout that only MPI's driver for Lustre
/// may understand. So is one whose stripes are refused, with a line that says so: a hint is no reason for MPI_File_open to fail. What
/// else goes wrong is told by MPI, which does the same again.
fn lay_out(path: &Path, amode: c_int, asked: &FileHints) {
    let all = constants();
    let access = amode & (all.mode_rdonly | all.mode_wronly | all.mode_rdwr);
    let is_made = access == all.mode_wronly || (access == all.mode_rdwr && amode & all.mode_sequential == 0);
    let is_for_mpi = |key: &str| key.starts_with("romio_lustre_");
    let is_left_out = |key: &str| ["striping_unit", "striping_factor", "start_iodevice"].contains(&key);
    if amode & all.mode_create == 0
        || amode & all.mode_excl != 0
        || !is_made
        || asked.programs().any(|(key, _)| is_for_mpi(key))
        || asked.unused().iter().any(|unused| is_left_out(&unused.key))
    {
        return;
    }
    match drivers::lay_out(&SystemFiles, path, &asked.hints().for_driver()) {
        Err(Error::Io { operation, .. }) if operation == "open" => {}
        Err(error) => tributary::say(format_args!("{error}; the hints of stripes are ignored")),
        Ok(()) => {}
    }
}

/// Handles MPI_File_delete, for names with colons. Local.
pub fn delete(function: &'static Function, arguments: &[Word]) -> Answer {
    let [name, info] = *arguments else { return Answer::Return(function.call(arguments)) };
    if name == 0 {
        return Answer::Return(function.call(arguments));
    }
    // SAFETY: a terminated text.
    let name = unsafe { CStr::from_ptr(name as *const c_char) };
    Answer::Return(named(name, |name| function.call(&[name.as_ptr() as Word, info])))
}

/// Calls MPI with a file's name. ROMIO takes what stands before a colon, as in `history_15:00.nc`, for a file system, and refuses
/// such names; with a prefix it takes all that follows for the name. (A ROMIO without the driver refuses its prefix: `ufs:` is
/// always there.)
fn named(name: &CStr, call: impl Fn(&CStr) -> Word) -> Word {
    let text = name.to_string_lossy();
    let is_plain = !text.contains(':') || PREFIXES.iter().any(|prefix| text.starts_with(prefix));
    if is_plain || library().starts_with("Open MPI") {
        return call(name);
    }
    let with =
        |prefix: &str| CString::new([prefix.as_bytes(), name.to_bytes()].concat()).unwrap_or_else(|_| name.into());
    let found = SystemFiles.file_system(&path_of(name)).map_or(0, |found| found.magic);
    match ROMIO_DRIVERS.iter().find(|(magic, _)| *magic == found).map(|(_, prefix)| call(&with(prefix))) {
        Some(code) if code as c_int == SUCCESS => code,
        _ => call(&with("ufs:")),
    }
}

/// Whether a name is that of a log of Darshan, which it writes collectively when MPI is finalised, after this library's last call.
fn is_log_of_darshan(name: &CStr) -> bool {
    Path::new(&plain(name)).file_name().is_some_and(|name| name.to_string_lossy().contains(".darshan"))
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

    #[test]
    fn logs_of_darshan_are_known_by_their_names() {
        assert!(is_log_of_darshan(c"ufs:/logs/2026/11/24/user_prog_id77.darshan_partial"));
        assert!(!is_log_of_darshan(c"/logs.darshan/data.nc"));
    }
}
