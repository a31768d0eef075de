//! Watches the agreement in MPI_File_open: ends the job with a line if a rank certainly does not have this library, and
//! prints a line if ranks have not arrived after a long time.
//!
//! A rank waits inside MPI, so a thread watches. It calls no function of MPI. It looks at the number that Open MPI writes when
//! other ranks have answered (see [`offer`](crate::opening::offer)), and at what other ranks of this host have found out. It never
//! ends a job because time has passed: ranks may arrive late.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant};

use tributary::engine::leave_to_program;
use tributary::fabric::mpi::{FAILED, abort};
use tributary_bindings::guard::lock;

use crate::opening::ranks_here::{HostLock, here, job};

/// Bits that every rank of this library sets in the first 32 bits of its numbers. Nothing else has them all: an error code, an
/// access mode and the number of a communicator are positive, and ROMIO's value for different modes has none of the bits 1 to 3. As
/// an int the number is negative, so the highest of all ranks' ints, which MPI's open takes, is never this one.
pub const MARK: u64 = 0x8000_000e;
/// Time between two checks by the watching thread.
const LOOK: Duration = Duration::from_millis(250);
/// Number of checks without a waiting open after which the watching thread sleeps until the next open.
const IDLE_LOOKS: u32 = 8;
/// Time that a rank gives other ranks to print their lines before it ends the job.
const TIME_TO_PRINT: Duration = Duration::from_secs(1);

/// The reason why the ranks cannot work together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// A rank does not have this library, or an older version of it.
    Absent,
    /// Ranks have different versions.
    Versions,
    /// The library is preloaded on some ranks, and a component of Open MPI on others.
    Interposition,
    /// MPI returned an error, such as a message of another length.
    Failed(String),
}

/// A rank in the agreement of MPI_File_open.
pub struct OpenWait {
    path: PathBuf,
    rank: usize,
    ranks: usize,
    /// Time after which a line reports that ranks have not arrived; zero: never.
    limit: Duration,
    since: Instant,
    /// Number that this rank brings to an operation in flight, which MPI reads.
    own: u32,
    /// Result of that operation, which MPI writes.
    result: AtomicU32,
    /// True if all ranks of the file are known to have this library.
    is_proven: AtomicBool,
    /// True if this rank has found out that it must end the job.
    is_over: AtomicBool,
    /// Some after a rank of this host has printed the line about ranks that have not arrived; with a lock if this rank did.
    late: Mutex<Option<Option<HostLock>>>,
}

impl OpenWait {
    /// Begins to watch this rank, which opens the file at `path` with `ranks` ranks. Ends with the last reference. Local.
    pub fn begin(path: &Path, rank: usize, ranks: usize, stall_timeout: usize) -> Arc<Self> {
        let (path, limit) = (path.to_path_buf(), Duration::from_secs(stall_timeout as u64));
        let (is_proven, is_over, late) = Default::default();
        let result = AtomicU32::new(u32::MAX);
        let wait = Arc::new(Self {
            path,
            rank,
            ranks,
            limit,
            since: Instant::now(),
            own: MARK as u32,
            result,
            is_proven,
            is_over,
            late,
        });
        watch(&wait);
        wait
    }

    /// Returns the addresses of the number that MPI reads and of the number that MPI writes.
    pub fn numbers(&self) -> (*const c_void, *mut c_void) {
        ((&raw const self.own).cast(), self.result.as_ptr().cast())
    }

    /// Records that all ranks of the file have this library.
    pub fn prove(&self) {
        self.is_proven.store(true, Ordering::Relaxed);
    }

    /// Returns true if the number that MPI has written so far comes only from ranks of this library.
    pub fn is_marked(&self) -> bool {
        is_marked(self.result.load(Ordering::Relaxed))
    }

    /// Prints which ranks lack the library, and ends the job. The thread that may call MPI calls it.
    pub fn end_job(&self, mismatch: &Mismatch) -> ! {
        self.print(mismatch);
        abort(FAILED)
    }

    /// Prints the line, unless the other thread of this rank has printed it, and waits until other ranks have printed theirs.
    fn print(&self, mismatch: &Mismatch) {
        let notice = job().and_then(|job| HostLock::take(&format!("open-{job}")));
        if !self.is_over.swap(true, Ordering::Relaxed) {
            tributary::say(self.line(mismatch));
        }
        std::thread::sleep(TIME_TO_PRINT);
        // The notice stays until this process ends, because other ranks of the host may check a little later.
        std::mem::forget(notice);
    }

    fn line(&self, mismatch: &Mismatch) -> String {
        let Self { rank, ranks, path, .. } = self;
        let (path, version) = (path.display(), env!("CARGO_PKG_VERSION"));
        let why = match mismatch {
            Mismatch::Absent => format!("not all {ranks} ranks of the file have Tributary {version}"),
            Mismatch::Versions => format!("not all {ranks} ranks have Tributary {version}; some have another version"),
            Mismatch::Interposition => {
                "Tributary is preloaded on some ranks, and a component of Open MPI on others".to_string()
            }
            Mismatch::Failed(error) => {
                format!("not all {ranks} ranks of the file have Tributary {version}, or MPI failed ({error})")
            }
        };
        let place = here().map_or_else(|| "which ranks is not known".to_string(), |here| here.missing(*ranks));
        format!(
            "rank {rank} cannot open {path}: {why}: {place}; load the same library on all ranks or on none (`trib run` loads it on \
             all); the job ends"
        )
    }

    /// Checks whether this rank must end the job or print a line. The watching thread calls this.
    fn look(&self, now: Instant) {
        let waited = now.saturating_duration_since(self.since);
        if waited < LOOK {
            return;
        }
        // Any process can take such a name, so the notice by itself ends nothing. It may be from another job of the same launcher.
        let is_noticed = || {
            !self.is_proven.load(Ordering::Relaxed)
                && job().is_some_and(|job| HostLock::is_taken(&format!("open-{job}")))
                && here().is_some_and(|here| here.is_any_missing())
        };
        if !self.is_marked() || is_noticed() {
            self.print(&Mismatch::Absent);
            // The program's thread is inside MPI, which this thread may not call: the launcher ends the other ranks.
            // SAFETY: ends the process.
            unsafe { libc::_exit(FAILED) };
        }
        let mut late = lock(&self.late);
        if !self.limit.is_zero() && waited >= self.limit && late.is_none() {
            let own = job().map(|job| HostLock::take(&format!("late-{job}")));
            // If the system has no such locks, every rank prints.
            if own.as_ref().is_none_or(Option::is_some) {
                tributary::say(self.late_line());
            }
            *late = Some(own.flatten());
        }
    }

    fn late_line(&self) -> String {
        let Self { rank, ranks, path, limit, .. } = self;
        let missing = here().filter(|here| here.is_any_missing()).map(|here| format!(" ({})", here.missing(*ranks)));
        format!(
            "rank {rank} has waited for {} s in MPI_File_open of {}: not all {ranks} ranks have come; check that all ranks make this \
             call, and that all of them load this library{}",
            limit.as_secs(),
            path.display(),
            missing.unwrap_or_default()
        )
    }
}

/// Returns true if `combined` has the bits that every rank of this library sets.
pub fn is_marked(combined: u32) -> bool {
    combined & MARK as u32 == MARK as u32
}

/// The ranks of this process that wait (several if its threads open files at once), and the thread that watches them.
struct Waits {
    all: Mutex<(Vec<Weak<OpenWait>>, bool)>,
    /// The watching thread; None if the system could not start it.
    thread: OnceLock<Option<Thread>>,
}

static WAITS: Waits = Waits { all: Mutex::new((Vec::new(), false)), thread: OnceLock::new() };

/// Adds a wait. Wakes the thread only if it sleeps, so that a program that opens many files pays nothing for it.
fn watch(wait: &Arc<OpenWait>) {
    let sleeps = {
        let mut waits = lock(&WAITS.all);
        waits.0.retain(|wait| wait.strong_count() > 0);
        waits.0.push(Arc::downgrade(wait));
        std::mem::take(&mut waits.1)
    };
    let start = || std::thread::Builder::new().name("tributary open".to_string()).spawn(run);
    let thread = WAITS.thread.get_or_init(|| start().ok().map(|started| started.thread().clone()));
    if let (Some(thread), true) = (thread, sleeps) {
        thread.unpark();
    }
}

/// Runs the watching thread until the process ends.
fn run() {
    leave_to_program();
    let mut idle = 0;
    loop {
        let waits: Vec<_> = {
            let mut waits = lock(&WAITS.all);
            let now: Vec<_> = waits.0.iter().filter_map(Weak::upgrade).collect();
            idle = if now.is_empty() { idle + 1 } else { 0 };
            waits.1 = idle > IDLE_LOOKS;
            now
        };
        let now = Instant::now();
        waits.iter().for_each(|wait| wait.look(now));
        drop(waits);
        if idle > IDLE_LOOKS { std::thread::park() } else { std::thread::park_timeout(LOOK) }
    }
}
