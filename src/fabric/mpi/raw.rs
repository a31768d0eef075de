//! MPI calls with checked return codes, and handles that are freed on drop.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use tributary_abi::{self as ffi, constants, handles};

use crate::error::{Error, Result};
use crate::schedule::SendMode;
use crate::topology::Rank;
use crate::world::jobs;

/// Turns the return code of `call` into a result, with MPI's error text.
pub(super) fn check(call: &str, code: c_int) -> Result<()> {
    check_with(|| call.to_string(), code)
}

/// Turns a return code into a result like [`check`]; computes the name of the call only for an error.
pub(super) fn check_with(call: impl FnOnce() -> String, code: c_int) -> Result<()> {
    if code == ffi::SUCCESS { Ok(()) } else { Err(Error::fabric(format!("{}: {}", call(), error_text(code)))) }
}

/// A number of bytes above the longest error text and the longest version text of any MPI library.
const LONGEST_TEXT: usize = 8192;

/// Returns MPI's text for a code. Local.
pub fn error_text(code: c_int) -> String {
    if code == ffi::MISSING {
        return "this process has no MPI library, or one without this function".to_string();
    }
    // A component gets codes of Open MPI's own, which MPI_Error_string does not know: it would end the job.
    if code < 0 {
        return format!("MPI error code {code}");
    }
    let mut text = vec![0u8; LONGEST_TEXT + 1];
    let mut length = 0;
    // SAFETY: the buffer is longer than the longest text of this MPI.
    let rc = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut length) };
    if rc != ffi::SUCCESS {
        return format!("MPI error code {code}");
    }
    text.truncate(length.max(0) as usize);
    String::from_utf8_lossy(&text).lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

/// Returns true if MPI_Init has been called, by this library or the program.
pub(super) fn is_initialised() -> Result<bool> {
    let mut flag = 0;
    // SAFETY: callable at any time; writes one int.
    check("MPI_Initialized", unsafe { ffi::MPI_Initialized(&mut flag) })?;
    Ok(flag != 0)
}

/// Returns true if MPI_Finalize has been called, or if MPI_Finalized fails.
pub(super) fn is_finalised() -> bool {
    let mut flag = 0;
    // SAFETY: callable at any time; writes one int.
    let rc = unsafe { ffi::MPI_Finalized(&mut flag) };
    rc != ffi::SUCCESS || flag != 0
}

/// Returns true if this thread may call MPI: any thread may from MPI_THREAD_SERIALIZED on; below it, only the thread
/// that initialised MPI. MPI must be initialised.
#[cfg(feature = "rsmpi")]
pub(super) fn is_callable_here() -> Result<bool> {
    let (mut level, mut is_main) = (0, 0);
    // SAFETY: MPI is initialised; any thread may ask; writes one int.
    check("MPI_Query_thread", unsafe { ffi::MPI_Query_thread(&mut level) })?;
    // SAFETY: MPI is initialised; any thread may ask; writes one int.
    check("MPI_Is_thread_main", unsafe { ffi::MPI_Is_thread_main(&mut is_main) })?;
    Ok(level > constants().thread_funneled || is_main != 0)
}

/// Calls MPI_Init_thread(MPI_THREAD_FUNNELED). Returns true if MPI granted that level. Afterwards errors are returned
/// as codes, also errors on MPI_COMM_WORLD, to which MPICH reports a failed MPI_Testsome.
pub(super) fn init() -> Result<bool> {
    let funneled = constants().thread_funneled;
    let mut granted = 0;
    // SAFETY: null argument pointers are allowed since MPI-2; the caller knows that MPI is not initialised yet.
    let rc = unsafe { ffi::MPI_Init_thread(std::ptr::null_mut(), std::ptr::null_mut(), funneled, &mut granted) };
    check("MPI_Init_thread", rc)?;
    for comm in [handles().comm_world, handles().comm_self] {
        return_errors(comm)?;
    }
    Ok(granted >= funneled)
}

fn return_errors(comm: ffi::MPI_Comm) -> Result<()> {
    // SAFETY: a valid communicator (the callers').
    check("MPI_Comm_set_errhandler", unsafe { ffi::MPI_Comm_set_errhandler(comm, handles().errors_return) })
}

/// Calls MPI_Finalize. Ignores the return code, because MPI is gone either way.
pub(super) fn finalise() {
    // SAFETY: called by the last owner of the session, on the thread that initialised MPI.
    unsafe { ffi::MPI_Finalize() };
}

/// Ends all ranks of the program with `code`.
pub(super) fn abort(code: c_int) -> ! {
    // SAFETY: MPI is initialised (a `World` exists).
    unsafe { ffi::MPI_Abort(world(), code) };
    std::process::exit(code)
}

/// Returns true if `comm` is an inter-communicator.
///
/// # Safety
/// `comm` is a communicator, and MPI is initialised.
pub(super) unsafe fn is_intercommunicator(comm: ffi::MPI_Comm) -> Result<bool> {
    let mut flag = 0;
    // SAFETY: the caller vouches for `comm`; writes one int.
    check("MPI_Comm_test_inter", unsafe { ffi::MPI_Comm_test_inter(comm, &mut flag) })?;
    Ok(flag != 0)
}

/// Returns the lines of this MPI's version text, with single blanks.
pub(super) fn version() -> Vec<String> {
    let mut text = vec![0u8; LONGEST_TEXT + 1];
    let mut length = 0;
    // SAFETY: callable at any time; the buffer is longer than the longest text of this MPI.
    unsafe { ffi::MPI_Get_library_version(text.as_mut_ptr().cast::<c_char>(), &mut length) };
    text.truncate(length.max(0) as usize);
    let single_blanks = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    String::from_utf8_lossy(&text).lines().map(single_blanks).collect()
}

pub(super) fn world() -> ffi::MPI_Comm {
    handles().comm_world
}

/// Returns the number of ranks of MPI_COMM_WORLD.
pub(super) fn world_ranks() -> Result<c_int> {
    let mut ranks = 0;
    // SAFETY: MPI is initialised, as endpoints promise; writes one int.
    check("MPI_Comm_size", unsafe { ffi::MPI_Comm_size(world(), &mut ranks) })?;
    Ok(ranks)
}

pub(super) fn status_ignore() -> *mut ffi::MPI_Status {
    constants().status_ignore as usize as *mut ffi::MPI_Status
}

/// A started send or receive.
pub(super) type Request = ffi::MPI_Request;

/// A communicator of this library. Its errors are returned as codes, and it is freed on drop.
pub(super) struct Comm {
    handle: ffi::MPI_Comm,
    /// True if the communicator is freed on drop. If messages may still be in flight it must not be freed: MPI would
    /// reuse its context for the next communicator, which could then receive them.
    is_quiet: AtomicBool,
    pub(super) rank: Rank,
    pub(super) ranks: usize,
    pub(super) highest_tag: c_int,
}

impl Comm {
    /// Duplicates `parent`. Collective over its ranks.
    ///
    /// # Safety
    /// `parent` is a valid intracommunicator, MPI is initialised, and this is the thread that may call it.
    pub(super) unsafe fn duplicate_of(parent: ffi::MPI_Comm) -> Result<Self> {
        let mut handle = handles().comm_null;
        // SAFETY: the caller vouches for `parent`.
        check("MPI_Comm_dup", unsafe { quietly(parent, || ffi::MPI_Comm_dup(parent, &mut handle)) })?;
        let mut comm = Self { handle, is_quiet: AtomicBool::new(true), rank: 0, ranks: 0, highest_tag: 0 };
        comm.query()?;
        Ok(comm)
    }

    /// Returns a duplicate over the same ranks. Collective.
    pub(super) fn duplicate(&self) -> Result<Self> {
        // SAFETY: our own handle is valid until drop.
        unsafe { Self::duplicate_of(self.handle) }
    }

    /// Leaves the communicator allocated for ever, because messages may still be in flight.
    pub(super) fn leak(&self) {
        self.is_quiet.store(false, Ordering::Relaxed);
    }

    /// Returns true if the communicator has the ranks of `other` in the same order. Local.
    ///
    /// # Safety
    /// `other` is a valid intracommunicator, and MPI is initialised.
    pub(super) unsafe fn has_ranks_of(&self, other: ffi::MPI_Comm) -> Result<bool> {
        let mut how: c_int = 0;
        // SAFETY: our own handle, and the caller's; writes one int.
        check("MPI_Comm_compare", unsafe { ffi::MPI_Comm_compare(other, self.handle, &mut how) })?;
        Ok(how == constants().congruent)
    }

    fn query(&mut self) -> Result<()> {
        let (mut rank, mut ranks) = (0, 0);
        return_errors(self.handle)?;
        // SAFETY: a valid communicator; writes one int.
        check("MPI_Comm_rank", unsafe { ffi::MPI_Comm_rank(self.handle, &mut rank) })?;
        // SAFETY: a valid communicator; writes one int.
        check("MPI_Comm_size", unsafe { ffi::MPI_Comm_size(self.handle, &mut ranks) })?;
        (self.rank, self.ranks) = (rank as Rank, ranks as usize);
        self.highest_tag = highest_tag()?;
        Ok(())
    }

    /// Lets MPI progress messages of all communicators; receives no message. Asks for a message that no rank sends, from this
    /// rank to itself: MPICH makes no progress if it finds one.
    pub(super) fn progress(&self) -> Result<()> {
        let mut found = 0;
        let (own, tag) = (self.rank as c_int, self.highest_tag);
        // SAFETY: our own communicator; writes one int.
        check("MPI_Iprobe", unsafe { ffi::MPI_Iprobe(own, tag, self.handle, &mut found, status_ignore()) })
    }

    /// Starts a send of at most `c_int::MAX` bytes.
    ///
    /// # Safety
    /// `body` stays valid and unchanged until the request is complete.
    pub(super) unsafe fn send(&self, body: &[u8], to: Rank, tag: c_int, mode: SendMode) -> Result<Request> {
        let (at, count) = (body.as_ptr().cast::<c_void>(), body.len() as c_int);
        // SAFETY: `body` is valid for `count` bytes until completion (the caller's promise); `to` was checked.
        let (rc, request) = unsafe {
            let (byte, mut request) = (handles().uint8, handles().request_null);
            let rc = match mode {
                SendMode::Standard => ffi::MPI_Isend(at, count, byte, to as c_int, tag, self.handle, &mut request),
                SendMode::Synchronous => ffi::MPI_Issend(at, count, byte, to as c_int, tag, self.handle, &mut request),
            };
            (rc, request)
        };
        check("MPI_Isend", rc)?;
        Ok(request)
    }

    /// Starts a receive of at most `capacity` bytes (at most `c_int::MAX`) into `at`.
    ///
    /// # Safety
    /// `at` is valid for writes of `capacity` bytes, and not accessed otherwise, until the request is complete.
    pub(super) unsafe fn receive(&self, at: *mut u8, capacity: usize, from: Rank, tag: c_int) -> Result<Request> {
        // SAFETY: `at` is valid for `capacity` bytes until completion (the caller's promise); `from` was checked.
        let (rc, request) = unsafe {
            let (byte, mut request) = (handles().uint8, handles().request_null);
            let count = capacity as c_int;
            let rc = ffi::MPI_Irecv(at.cast::<c_void>(), count, byte, from as c_int, tag, self.handle, &mut request);
            (rc, request)
        };
        check("MPI_Irecv", rc)?;
        Ok(request)
    }
}

/// Runs `call` on the program's communicator `comm`, and makes `comm` return errors meanwhile: an error of this
/// library's call is not for the program's error handler, which by default ends the job.
///
/// # Safety
/// `comm` is a valid communicator, MPI is initialised, and this is the thread that may call it.
pub unsafe fn quietly(comm: ffi::MPI_Comm, call: impl FnOnce() -> c_int) -> c_int {
    let mut before = handles().errors_return;
    // SAFETY: a valid communicator; MPI hands out the handler, which is given back and freed below.
    let is_kept = unsafe { ffi::MPI_Comm_get_errhandler(comm, &mut before) } == ffi::SUCCESS;
    if is_kept {
        // SAFETY: a valid communicator and a predefined handler.
        unsafe { ffi::MPI_Comm_set_errhandler(comm, handles().errors_return) };
    }
    let code = call();
    if is_kept {
        // SAFETY: the handler that the communicator had.
        unsafe {
            ffi::MPI_Comm_set_errhandler(comm, before);
            ffi::MPI_Errhandler_free(&mut before);
        }
    }
    code
}

impl Drop for Comm {
    fn drop(&mut self) {
        // Freeing is collective: a rank that unwinds is about to abort the program and must not wait for the others.
        if self.is_quiet.load(Ordering::Relaxed) && !jobs::is_panicking() && !is_finalised() {
            // SAFETY: our own handle, freed once, without messages under way.
            unsafe { ffi::MPI_Comm_free(&mut self.handle) };
        }
    }
}

/// Returns the highest tag of this MPI; MPI promises at least 32767.
fn highest_tag() -> Result<c_int> {
    let mut value: *mut c_int = std::ptr::null_mut();
    let mut found = 0;
    let at = (&raw mut value).cast::<c_void>();
    // SAFETY: MPI stores a pointer to an int of its own at `at`.
    let rc = unsafe { ffi::MPI_Comm_get_attr(world(), constants().tag_ub, at, &mut found) };
    check("MPI_Comm_get_attr", rc)?;
    // SAFETY: found, so it points to MPI's int, which lives until MPI_Finalize.
    Ok(if found != 0 && !value.is_null() { unsafe { *value } } else { 32767 })
}
