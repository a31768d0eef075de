//! Handles MPI_File_open: the MPI library opens the file, and the file gets an endpoint for this library's messages.
//! The engine opens the file later, in the first collective read or write.

use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use tributary::Error;
use tributary::drivers::{self, OpenStorage, SystemFiles};
use tributary::engine::binding::abort_job_on_error;
use tributary::error::FileOperation;
use tributary::hints::{FileHints, Hints, Switch};
use tributary_abi::{constants, handles};
use tributary_bindings::prefix::{PrefixKind, Prefixed, prefixed};

use super::pnetcdf;
use super::pointed::position;
use crate::entry::{Answer, Then};
use crate::file::backend::{Backend, Runner, UnopenedFile};
use crate::file::files::{self, OpenFile};
use crate::file::own_handle::{self, OwnHandle};
use crate::file::report::{self, Report};
use crate::file::sieving::{InfoForMpi, Sieving};
use crate::file::{deletions, hints, job, rank_files};
use crate::mpi::abi::word::{Word, from_word};
use crate::mpi::abi::{MPI_Comm, MPI_Info, SUCCESS, is_intracommunicator, rank, ranks};
use crate::mpi::interposition::{self, is_first_rank};
use crate::mpi::next::InterposedFunction;
use crate::opening::channel::{self, TakenFile, Wants};
use crate::opening::offer::open_mpi;

/// File systems for which ROMIO has a driver of its own: `f_type` of statfs, and the prefix that selects the driver.
const ROMIO_DRIVERS: [(u32, &str); 4] =
    [(0x0BD0_0BD0, "lustre:"), (0x6969, "nfs:"), (0x4750_4653, "gpfs:"), (0xAAD7_AAEA, "panfs:")];

/// Handles MPI_File_open. Collective over the communicator.
pub fn open(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [comm, name, amode, info, handle] = *arguments else { return Answer::Pass };
    let comm = MPI_Comm::from_word(comm);
    // SAFETY: the program has called MPI_File_open with these arguments: MPI is initialised, `comm` is a communicator or
    // MPI_COMM_NULL.
    if name == 0 || handle == 0 || !unsafe { is_intracommunicator(comm) } {
        return Answer::Pass;
    }
    // SAFETY: a terminated text.
    let name = unsafe { CStr::from_ptr(name as *const c_char) };
    let left_always = left_by_name(name);
    // SAFETY: an intracommunicator.
    let (rank, ranks) = unsafe { (rank(comm), ranks(comm)) };
    // SAFETY: an int; a valid info.
    let (amode, info) = unsafe { (from_word::<c_int>(amode), MPI_Info::from_word(info)) };
    let plain_name = plain(name);
    let (path, is_first) = (absolute(&plain_name), rank == 0);
    // SAFETY: the program's info, in a call that takes one.
    let asked = unsafe { hints::at_open(&plain_name, info, is_first) };
    let shares = asked.as_ref().is_ok_and(|asked| asked.hints().shared_memory != Switch::Disable);
    let stall_timeout =
        asked.as_ref().map_or_else(|_| Hints::default().stall_timeout, |asked| asked.hints().stall_timeout);
    let (report, path_of_file) = (report::is_timed(), &*path);
    let wants = Wants { path: path_of_file, rank: rank as usize, ranks: ranks as usize, stall_timeout, shares, report };
    // This comes before the file is opened, because a rank on which the open fails must take part. If only this rank
    // fails here, the job ends (unless `trib_on_failure=return`).
    // SAFETY: `comm` is an intracommunicator.
    let taken = left_always.is_none().then(|| abort_job_on_error(unsafe { channel::take(comm, wants) }));
    // Also if MPI cannot open the file, maybe on some ranks only.
    if matches!(&taken, Some(Ok(Ok(TakenFile { is_reported: true, is_of_world: true, .. })))) {
        rank_files::note_common();
    }
    let left = is_first.then(|| hints::left_by_site(&plain_name)).flatten();
    let is_literal = is_literal_maybe(name);
    let is_of_pnetcdf = pnetcdf::take_answered();
    if let (true, false, Some(_), Ok(asked), None) = (is_first, is_literal, &taken, &asked, &left) {
        lay_out(&path, amode, asked);
    }
    let has_own = left_always.is_none() && has_own_handle(&path, (name, amode), &asked);
    // All ranks decide the same: ROMIO's open fails if only some ranks pass an info.
    let is_kept_from_sieving = left_always.is_none() && is_written(amode) && !interposition::is_component();
    // SAFETY: MPI is initialised; the program's info.
    let for_mpi = if is_kept_from_sieving { unsafe { InfoForMpi::without_sieving(info) } } else { None };
    let mut arguments = arguments.to_vec();
    if let (Some((info, _)), Some(place)) = (&for_mpi, arguments.get_mut(3)) {
        *place = info.as_word();
    }
    let opened = name.to_owned();
    let prefix = prefixed(name.to_bytes()).map(|all| all.prefix);
    named(name, 1, function, &arguments, move |code| {
        if code as c_int != SUCCESS {
            if let Some(Ok(Ok(TakenFile { endpoint, seat, .. }))) = taken {
                seat.keep(endpoint);
            }
            files::note_seen();
            job::add_failure(is_first);
            let report = Report::of_failed_open(&path, code as c_int).filter(|_| is_first);
            report.into_iter().for_each(|report| report.deliver(ranks == 1));
            return Answer::Return(code);
        }
        let (path, ambiguous) = if is_literal { the_opened(&opened, path) } else { (path, None) };
        let is_reported = matches!(&taken, Some(Ok(Ok(taken))) if taken.is_reported);
        let is_ambiguous = ambiguous.is_some();
        let (runner, seat) = match (taken, left_always.or(ambiguous)) {
            (Some(Ok(Ok(TakenFile { endpoint, seat, .. }))), None) => {
                let hints = asked.as_ref().map(|asked| asked.hints().clone()).map_err(Clone::clone);
                (Runner::NotOpened(Box::new(UnopenedFile::new(endpoint, hints, left, &path))), Some(seat))
            }
            (Some(Ok(Ok(TakenFile { endpoint, seat, .. }))), Some(why)) => {
                seat.keep(endpoint);
                (Runner::Mpi(why), None)
            }
            (_, Some(why)) => (Runner::Mpi(why), None),
            (Some(Ok(Err(why))), None) => {
                // With files of one rank each, thousands of ranks would print this.
                if is_first && (ranks > 1 || is_first_rank()) {
                    say_once(&path, &why);
                }
                (Runner::Mpi(why), None)
            }
            (Some(Err(error)), None) => (Runner::Mpi(error.to_string()), None),
            (None, None) => (Runner::Mpi("its name".to_string()), None),
        };
        // SAFETY: MPI_File_open succeeded and wrote its handle, which is a pointer in every MPI library.
        let handle = unsafe { *(handle as *const Word) };
        let mut backend = Backend::new(path.into(), amode, is_first, runner, seat);
        (backend.is_reported, backend.has_one_rank) = (is_reported, ranks == 1);
        if for_mpi.is_some() && open_mpi().is_some_and(|major| major >= 5) {
            InfoForMpi::forbid_late(handle);
        }
        // The info is dropped only now: MPI has read it.
        let asked_hints = for_mpi.map(|(_, asked)| asked);
        let has_own = has_own && asked_hints.is_some() && own_handle::is_of_nfs_driver(handle);
        let known = match &backend.runner {
            Runner::NotOpened(unopened) => unopened.identity,
            Runner::Engine(_) | Runner::Mpi(_) | Runner::InUse(_) => None,
        };
        let own_handle = |path: &Arc<Path>| {
            // If it is not known which file MPI has opened, no handle can be opened.
            let known = if is_ambiguous { None } else { known.or_else(|| own_handle::identity(path)) };
            OwnHandle::new(path.clone(), rank as usize, known)
        };
        let own = has_own.then(|| own_handle(&backend.path).past_cache());
        let sieving = asked_hints.map(|given| {
            let is_forbidden = asked.as_ref().is_ok_and(|asked| asked.hints().ds_write == Switch::Disable);
            let may_sieve = backend.has_the_whole_program() && !is_forbidden;
            Sieving::new(own_handle(&backend.path), prefix, amode, given, may_sieve)
        });
        let mut file = OpenFile::new(backend, asked.unwrap_or_default());
        file.is_of_pnetcdf = is_of_pnetcdf;
        let first = if amode & constants().mode_append == 0 { Ok(0) } else { position(handle) };
        let pointer = first.map(|first| file.pointer_at(first)).unwrap_or_default();
        files::add(handle, file, pointer, (own, sieving));
        Answer::Return(code)
    })
}

/// Returns true if independent calls on a file are to use this library's own handle once ROMIO's driver for NFS has opened the
/// file: it is on NFS, no prefix names another driver, and the site does not leave the file to MPI. Local.
fn has_own_handle(path: &Path, (name, amode): (&CStr, c_int), asked: &Result<FileHints, Error>) -> bool {
    let is_wanted = asked.as_ref().is_ok_and(|asked| own_handle::is_wanted(path, amode, asked));
    let is_of_other_driver = prefixed(name.to_bytes()).is_some_and(|all| all.prefix != "nfs");
    is_wanted && !is_of_other_driver && open_mpi().is_none() && hints::left_by_site(&plain(name)).is_none()
}

/// Returns true if a file opened in the mode `amode` can be written at offsets.
fn is_written(amode: c_int) -> bool {
    let all = constants();
    amode & (all.mode_rdwr | all.mode_wronly) != 0 && amode & all.mode_sequential == 0
}

/// Prints, once in a process, that MPI runs the calls of a file because a resource is used up.
fn say_once(path: &Path, why: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        tributary::say(format_args!("MPI runs the calls of {}, and maybe of other files: {why}", path.display()));
    });
}

/// Creates a new file with the hinted stripes, on the first rank, before MPI creates it. MPI libraries without a
/// driver for Lustre do not set stripes, and MPI libraries with one keep the stripes of an existing file. No rank of
/// MPI creates the file earlier: MPI_File_open first duplicates the communicator, which waits for all ranks.
///
/// Does nothing in these cases: the file must not exist (MPI_MODE_EXCL), because MPI would then find ours; MPI will
/// refuse the access mode with MPI_MODE_CREATE; or there are layout hints that only MPI's driver for Lustre may
/// understand. If the file system refuses the stripes, a line says so and MPI creates the file: a hint is no reason
/// for MPI_File_open to fail. MPI reports any other error when it opens the file.
fn lay_out(path: &Path, amode: c_int, asked: &FileHints) {
    let all = constants();
    let access = amode & (all.mode_rdonly | all.mode_wronly | all.mode_rdwr);
    let is_made = access == all.mode_wronly || (access == all.mode_rdwr && amode & all.mode_sequential == 0);
    let is_for_mpi = |key: &str| key.starts_with("romio_lustre_");
    let is_left_out = |key: &str| ["striping_unit", "striping_factor", "start_iodevice"].contains(&key);
    let driver_hints = asked.hints().for_driver();
    if !driver_hints.asks_for_stripes()
        || amode & all.mode_create == 0
        || amode & all.mode_excl != 0
        || !is_made
        || asked.programs().any(|(key, _)| is_for_mpi(key))
        || asked.unused().iter().any(|unused| is_left_out(&unused.key))
    {
        return;
    }
    match drivers::lay_out(&SystemFiles, path, &driver_hints) {
        Err(Error::Io { operation: FileOperation::Open, .. }) => {}
        Err(error) => tributary::say(format_args!("{error}; the library ignores the hints for stripes")),
        Ok(()) => {}
    }
}

/// Handles MPI_File_delete: lets ROMIO accept names that contain a colon, waits for buffered bytes, and counts calls that find no
/// file. Every call goes to MPI ([`deletions`]). Local.
pub fn delete(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [name, _info] = *arguments else { return Answer::Pass };
    if name == 0 {
        return Answer::Pass;
    }
    // SAFETY: a terminated text.
    let name = unsafe { CStr::from_ptr(name as *const c_char) };
    deletions::begin(&path_of(name));
    named(name, 0, function, arguments, |code| {
        deletions::note(code as c_int);
        Answer::Return(code)
    })
}

/// Calls an MPI function whose argument number `at` is a file's name, and then `then`. ROMIO takes the text before a
/// colon, as in `history_15:00.nc`, for a file system, and refuses such names. So the name gets the prefix `ufs:`,
/// after which ROMIO takes the rest as the name. A name with a prefix that ROMIO knows is passed on unchanged: MPI
/// accepts it, or refuses it if that driver is not built in.
fn named(
    name: &CStr,
    at: usize,
    function: &'static InterposedFunction,
    arguments: &[Word],
    then: impl FnOnce(Word) -> Answer + 'static,
) -> Answer {
    if !name.to_bytes().contains(&b':') || prefixed(name.to_bytes()).is_some() || open_mpi().is_some() {
        return Answer::call(function, arguments, then);
    }
    let arguments = arguments.to_vec();
    let with = |prefix: &str| {
        let name = CString::new([prefix.as_bytes(), name.to_bytes()].concat()).unwrap_or_else(|_| name.into());
        let mut arguments = arguments.clone();
        arguments[at] = name.as_ptr() as Word;
        (name, arguments)
    };
    let (kept, plain) = with("ufs:");
    let last = move |then: Then| {
        Answer::call(function, &plain, move |code| {
            drop(kept);
            then(code)
        })
    };
    let then: Then = Box::new(then);
    let found = SystemFiles.file_system(&path_of(name)).map_or(0, |found| found.magic);
    let Some((_, driver)) = ROMIO_DRIVERS.iter().find(|(magic, _)| *magic == found) else { return last(then) };
    let (kept, first) = with(driver);
    // In the first attempt, MPI must not call the error handler of files that are not open.
    Answer::quiet_call(handles().file_null.0, function, &first, move |code| {
        drop(kept);
        if code as c_int == SUCCESS { then(code) } else { last(then) }
    })
}

/// Returns true if the file is a log of Darshan. Darshan writes its log collectively when MPI is finalised, after the
/// last call of this library.
fn is_log_of_darshan(name: &CStr) -> bool {
    const PART: &[u8] = b".darshan";
    let is_maybe = name.to_bytes().windows(PART.len()).any(|part| part == PART);
    is_maybe && Path::new(&plain(name)).file_name().is_some_and(|name| name.to_string_lossy().contains(".darshan"))
}

/// Returns the reason why the engine never opens a file of this name; None if it may. All ranks get the same answer.
fn left_by_name(name: &CStr) -> Option<String> {
    match prefixed(name.to_bytes()) {
        _ if is_log_of_darshan(name) => Some("it is a log of Darshan".to_string()),
        Some(Prefixed { prefix, storage: PrefixKind::Other, .. }) if open_mpi().is_none() => {
            Some(format!("the prefix {prefix}: does not name a file of the operating system"))
        }
        _ => None,
    }
}

/// Returns true if a prefix of `name` may be a part of the file's name. Open MPI has two I/O libraries: ROMIO takes
/// the prefix for a file system, OMPIO takes it for a part of the name.
fn is_literal_maybe(name: &CStr) -> bool {
    open_mpi().is_some() && prefixed(name.to_bytes()).is_some()
}

/// Returns the path of the file that Open MPI has opened by a name with a prefix. That is either the whole name or
/// `plain`, the name after the prefix, whichever exists. If both or neither exist, also returns a reason for leaving
/// the file to MPI.
fn the_opened(name: &CStr, plain: PathBuf) -> (PathBuf, Option<String>) {
    let literal = Path::new(OsStr::from_bytes(name.to_bytes()));
    let literal = std::path::absolute(literal).unwrap_or_else(|_| literal.to_path_buf());
    match (literal.exists(), plain.exists()) {
        (true, false) => (literal, None),
        (false, true) => (plain, None),
        (true, true) | (false, false) => (literal, Some("the prefix may be a part of its name".to_string())),
    }
}

/// Returns a file name for MPI, without its file-system prefix.
fn plain(name: &CStr) -> String {
    let name = name.to_bytes();
    String::from_utf8_lossy(prefixed(name).map_or(name, |all| all.rest)).into_owned()
}

/// Returns the absolute path of a file name for MPI.
pub fn path_of(name: &CStr) -> PathBuf {
    absolute(&plain(name))
}

fn absolute(name: &str) -> PathBuf {
    std::path::absolute(Path::new(name)).unwrap_or_else(|_| PathBuf::from(name))
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
