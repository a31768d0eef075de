//! The stall watchdog: a rank that waits long for others in a collective call prints a warning. One line per host names the
//! call. The line also names the ranks that have not arrived, and the calls that they are in, as far as this host knows; or,
//! in an exchange, its stage and the rank whose message is missing. Calls in flight are watched too: a rank that tests such a
//! call or waits for it warns when the call makes no progress, and a rank that does neither warns once.
//!
//! If one rank does not make a call, or has not loaded this library, the other ranks wait inside MPI or on an integer
//! in shared memory. So one thread in each process watches the process's files. The thread starts with the first file
//! of several ranks. It reads a few integers of each file several times within the stall timeout; a call only stores
//! these integers. The thread calls no function of MPI, and ends with the process. If the system gives no thread,
//! nothing is watched.

mod lines;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::calls::CallGroups;
use crate::fabric::shared::{Shared, ShownState};
use crate::fabric::{Pending, Waiting};
use crate::topology::Rank;
use crate::world::process::{own_state, per_process};
use crate::world::waits::{self, Sleeper};
use crate::world::{clock, jobs};

/// Number of times that the thread checks every file within the shortest stall timeout of any file.
const LOOKS: u32 = 6;
/// Maximum time between two checks.
const LONGEST: Duration = Duration::from_secs(5);

/// The stage of a collective call in which a rank waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStage {
    /// This rank waits because other ranks have not arrived in the call.
    Coming,
    /// Ranks exchange lists of extents in the metadata phase.
    Metadata,
    /// A round of the data exchange: (number of the round, offset in the file of the window that this rank owns, or
    /// `None`).
    Round(u64, Option<u64>),
    /// A round of the data exchange in which this rank waits until the file system has written or read another window:
    /// (number of the round, offset of the window that this rank owns, or `None`).
    Storage(u64, Option<u64>),
    /// This rank waits until the file system has written the last windows.
    Settling,
    /// This rank waits because other ranks have not finished the call.
    End,
}

impl CallStage {
    /// Encodes the stage as (kind and round, offset of the window).
    fn pack(self) -> (u64, u64) {
        let (kind, round, window) = match self {
            Self::Coming => (0, 0, None),
            Self::Metadata => (1, 0, None),
            Self::Round(round, window) => (2, round, window),
            Self::Storage(round, window) => (3, round, window),
            Self::Settling => (4, 0, None),
            Self::End => (5, 0, None),
        };
        (kind | round << 3, window.unwrap_or(u64::MAX))
    }

    fn unpack((packed, window): (u64, u64)) -> Self {
        let (round, window) = (packed >> 3, Some(window).filter(|start| *start != u64::MAX));
        match packed & 7 {
            0 => Self::Coming,
            1 => Self::Metadata,
            2 => Self::Round(round, window),
            3 => Self::Storage(round, window),
            4 => Self::Settling,
            _ => Self::End,
        }
    }
}

/// The stall watchdog of one rank for the collective calls on one file.
pub struct StallWatchdog {
    path: PathBuf,
    rank: Rank,
    /// Stall timeout: time after which a wait causes the warning.
    limit: Duration,
    /// Memory that this rank shares with other ranks, if there is any.
    here: Option<Arc<Shared>>,
    /// Tells which message this rank waits for; `None` in the first agreement of an open.
    waiting: Option<Waiting>,
    /// Text about the other ranks, if it is known before the wait.
    others: Option<String>,
    /// Counts the begins and the ends of waits: odd while the rank waits.
    turns: AtomicU64,
    /// Name of the call of the last wait. `named` is the address of this name: a call with the name of the call before stores
    /// nothing.
    call: Mutex<&'static str>,
    named: AtomicUsize,
    /// The current [`CallStage`], encoded.
    part: [AtomicU64; 2],
    /// Counts the polls of the last call in flight; used only while `is_polled` is true.
    polled: Mutex<Option<Waiting>>,
    /// True if the rank waits in a call in flight, which the caller polls; false in a blocking call.
    is_polled: AtomicBool,
    /// State of the watching thread.
    watched: Mutex<Watched>,
}

/// State of one file, as the watching thread has seen it.
#[derive(Default)]
struct Watched {
    /// Turn and progress counter of the current wait, and the time when the thread first saw this pair.
    seen: Option<((u64, u64), Instant)>,
    /// Number of polls of a call in flight, and the time when the thread first saw this number.
    polls: Option<(u64, Instant)>,
    /// True if the warning of the current wait is dealt with: this rank or another rank of its host has printed the
    /// warning, or it needs none.
    is_said: bool,
    /// Lock of the rank that prints the warning of its host; held until the wait ends.
    turn_to_speak: Option<WarningLock>,
}

impl StallWatchdog {
    /// Returns the watchdog of a rank in calls on the file `path`. It warns after `seconds` (0: never). `here` is the
    /// memory that the ranks of the file's calls share, if there is any; `waiting` tells which message this rank waits
    /// for. Local.
    pub fn new(
        path: &Path,
        rank: Rank,
        seconds: usize,
        (here, waiting): (Option<Arc<Shared>>, Option<Waiting>),
    ) -> Arc<Self> {
        Self::start(path, rank, seconds, (here, waiting, None))
    }

    /// Returns the watchdog of a rank that waits in `call` after the ranks have been in different `calls`, until it is
    /// dropped. Local.
    pub fn after_different_calls(
        path: &Path,
        rank: Rank,
        seconds: usize,
        (call, calls): (&'static str, &CallGroups),
    ) -> Arc<Self> {
        let watchdog = Self::start(path, rank, seconds, (None, None, Some(calls.after_failure(call))));
        watchdog.begin(call);
        watchdog
    }

    fn start(
        path: &Path,
        rank: Rank,
        seconds: usize,
        (here, waiting, others): (Option<Arc<Shared>>, Option<Waiting>, Option<String>),
    ) -> Arc<Self> {
        let (turns, call, named, part, polled, is_polled, watched) = Default::default();
        let (path, limit) = (path.to_path_buf(), Duration::from_secs(seconds as u64));
        let watchdog = Arc::new(Self {
            path,
            rank,
            limit,
            here,
            waiting,
            others,
            turns,
            call,
            named,
            part,
            polled,
            is_polled,
            watched,
        });
        if seconds > 0 {
            watch(&watchdog);
        }
        watchdog
    }

    /// Records that the rank waits for other ranks from now on, in `call`, until [`StallWatchdog::end`]. One thread at
    /// a time. Local.
    #[inline]
    pub fn begin(&self, call: &'static str) {
        self.name(call);
        self.show(call);
        self.enter(CallStage::Coming);
    }

    /// Shows the other ranks of the host that this rank is in `call`, until [`StallWatchdog::leave`]. Local.
    #[inline]
    pub fn show(&self, call: &'static str) {
        if let Some(here) = &self.here {
            here.enter_call(call, ShownState::Inside);
        }
    }

    /// Shows the other ranks of the host that this rank's call has ended; `failed` is true after an error. Local.
    #[inline]
    pub fn leave(&self, failed: bool) {
        if let Some(here) = &self.here {
            here.leave_call(failed);
        }
    }

    /// Stores the name of the call, if it is not stored already.
    #[inline]
    fn name(&self, call: &'static str) {
        if self.named.load(Ordering::Relaxed) != call.as_ptr().addr() {
            self.named.store(call.as_ptr().addr(), Ordering::Relaxed);
            *lock(&self.call) = call;
        }
    }

    /// Stores the stage and begins the next wait.
    #[inline]
    fn enter(&self, part: CallStage) {
        let (packed, window) = part.pack();
        self.part[0].store(packed, Ordering::Relaxed);
        self.part[1].store(window, Ordering::Relaxed);
        self.turn(1);
    }

    /// Records a wait like [`StallWatchdog::begin`]. `waiting` shows whether the call blocks, or is in flight and only
    /// polled. Local.
    #[inline]
    pub fn begin_in(&self, waiting: &Waiting, call: &'static str) {
        let is_polled = !waiting.may_block();
        if is_polled {
            *lock(&self.polled) = Some(waiting.clone());
        }
        self.is_polled.store(is_polled, Ordering::Relaxed);
        self.begin(call);
    }

    /// Records that the rank waits in another stage of the call that [`StallWatchdog::begin_in`] has named. Local.
    pub fn go_on(&self, part: CallStage) {
        self.enter(part);
    }

    /// Records that the rank waits no longer.
    #[inline]
    pub fn end(&self) {
        self.turn(0);
    }

    /// Sets the counter to the next odd number (`parity` 1: a wait begins) or even number (0: the wait has ended). An
    /// end that was skipped because of an error does no harm.
    #[inline]
    fn turn(&self, parity: u64) {
        let turn = self.turns.load(Ordering::Relaxed);
        self.turns.store(turn + 1 + ((turn + 1 + parity) & 1), Ordering::Release);
    }

    /// Checks whether the rank has waited too long, and prints the warning. The watching thread calls it.
    fn look(&self, now: Instant) {
        let turn = self.turns.load(Ordering::Acquire);
        let now_at = (turn, self.pending().1);
        let mut watched = lock(&self.watched);
        if turn.is_multiple_of(2) {
            *watched = Watched::default();
            return;
        }
        let is_polled = self.is_polled.load(Ordering::Relaxed);
        let polls = lock(&self.polled).as_ref().filter(|_| is_polled).map(Waiting::polls);
        if watched.polls.map(|(polls, _)| polls) != polls {
            watched.polls = polls.map(|polls| (polls, now));
        }
        match watched.seen {
            Some((seen, since)) if seen == now_at => {
                if !watched.is_said && now - since >= self.limit {
                    watched.is_said = true;
                    // The limit is halved, because the call may have been polled once more after it stopped.
                    let waits = match watched.polls {
                        None => Waits::Blocked,
                        Some((_, since)) if now - since >= self.limit / 2 => Waits::Elsewhere,
                        Some(_) => Waits::Polling,
                    };
                    self.say(&mut watched, turn, waits);
                }
            }
            _ => *watched = Watched { seen: Some((now_at, now)), polls: watched.polls, ..Watched::default() },
        }
    }

    /// Returns what this rank waits for, and in which part of which call; `None` while it does not wait. Local.
    fn wait(&self) -> Option<String> {
        let waits = !self.turns.load(Ordering::Acquire).is_multiple_of(2);
        waits.then(|| self.line_of_wait(*lock(&self.call), self.part(), self.pending().0))
    }

    fn part(&self) -> CallStage {
        CallStage::unpack([0, 1].map(|word: usize| self.part[word].load(Ordering::Relaxed)).into())
    }

    /// Returns the message that this rank waits for, if it is known, and a counter that changes whenever the rank makes
    /// progress.
    fn pending(&self) -> (Option<Pending>, u64) {
        self.waiting.as_ref().map_or((None, 0), Waiting::pending)
    }

    /// Prints the warning, unless another rank of this host has printed it or the wait has ended.
    fn say(&self, watched: &mut Watched, turn: u64, waits: Waits) {
        per_process! {
            static ELSEWHERE: AtomicBool = AtomicBool::new(false);
        }
        let call = *lock(&self.call);
        // A program that computes for long while a call is in flight gets this warning once.
        if waits == Waits::Elsewhere && ELSEWHERE.swap(true, Ordering::Relaxed) {
            return;
        }
        let topic = if waits == Waits::Elsewhere { "elsewhere" } else { call };
        let Some(voice) = WarningLock::of_host(&self.path, topic) else { return };
        watched.turn_to_speak = Some(voice);
        let line = match waits {
            Waits::Elsewhere => self.line_of_one_elsewhere(call, &crate::fabric::mpi::name()),
            Waits::Blocked | Waits::Polling => self.line(call, self.part(), self.pending().0, waits),
        };
        // Do not warn if the wait has ended meanwhile.
        if self.turns.load(Ordering::Acquire) == turn {
            crate::say(line);
        }
    }
}

/// State of a rank whose call makes no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// The rank is in a blocking call.
    Blocked,
    /// The rank tests a call in flight, or waits for it.
    Polling,
    /// The rank has a call in flight, and does something else.
    Elsewhere,
}

/// The watched files of this process, and the thread that watches them.
struct WatchedFiles {
    files: Mutex<Files>,
    /// The watching thread; `None` if the system gave none.
    thread: OnceLock<Option<Sleeper>>,
}

/// List of the watched files.
struct Files {
    all: Vec<Weak<StallWatchdog>>,
    /// Shortest stall timeout of the watched files; `None` while the thread watches no file.
    shortest: Option<Duration>,
}

own_state! {
    static WATCH: WatchedFiles =
        WatchedFiles { files: Mutex::new(Files { all: Vec::new(), shortest: None }), thread: OnceLock::new() };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a file to the watched files, and starts the thread if there is none. A child of fork has no thread; it must not
/// use MPI either.
fn watch(watchdog: &Arc<StallWatchdog>) {
    WATCH.with(|watch| {
        let is_shorter = {
            let mut files = lock(&watch.files);
            // Weak references keep the memory of closed files: remove them.
            files.all.retain(|file| file.strong_count() > 0);
            files.all.push(Arc::downgrade(watchdog));
            let is_shorter = files.shortest.is_none_or(|shortest| watchdog.limit < shortest);
            if is_shorter {
                files.shortest = Some(watchdog.limit);
            }
            is_shorter
        };
        let start = || jobs::start("tributary watchdog", run);
        let thread = watch.thread.get_or_init(|| start().ok().map(|started| started.sleeper()));
        // If the timeout is not shorter, the thread checks soon enough without being woken.
        if let (Some(thread), true) = (thread, is_shorter) {
            thread.unpark();
        }
    });
}

/// Returns what this process waits for: a line for each open file on which it waits for other ranks. Local.
pub fn waits() -> Vec<String> {
    let files = WATCH.with(|watch| lock(&watch.files).all.clone());
    files.iter().filter_map(Weak::upgrade).filter_map(|file| file.wait()).collect()
}

/// Runs the watching thread until the process ends.
fn run() {
    jobs::leave_to_program();
    loop {
        let shortest = WATCH.with(look_at_all);
        match shortest {
            // [`watch`] unparks the thread when a file is added.
            None => waits::park(None),
            Some(shortest) => waits::park(Some((shortest / LOOKS).min(LONGEST))),
        }
    }
}

/// Looks at all watched files. Returns the shortest of their timeouts.
fn look_at_all(watch: &WatchedFiles) -> Option<Duration> {
    let files: Vec<_> = {
        let mut files = lock(&watch.files);
        files.all.retain(|file| file.strong_count() > 0);
        let all: Vec<_> = files.all.iter().filter_map(Weak::upgrade).collect();
        files.shortest = all.iter().map(|file| file.limit).min();
        all
    };
    let now = clock::now();
    files.iter().for_each(|file| file.look(now));
    files.iter().map(|file| file.limit).min()
}

/// Ensures that one rank a host prints the warning about a call on a file: the first whose timer expires. The lock is a
/// socket name in the kernel, which the kernel removes when the process ends at the latest.
#[cfg(target_os = "linux")]
struct WarningLock(#[allow(dead_code, reason = "held")] Option<std::os::unix::net::UnixDatagram>);

#[cfg(target_os = "linux")]
impl WarningLock {
    /// Returns the lock of this host; `None` if another rank of this host has it.
    fn of_host(path: &Path, call: &str) -> Option<Self> {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::net::{SocketAddr, UnixDatagram};
        // A relative path may also be the path of another file in another job.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let user = nix::unistd::getuid().as_raw().to_le_bytes();
        let label = tributary_base::fingerprint([path.as_os_str().as_bytes(), call.as_bytes(), &user]);
        let name = format!("tributary-watchdog-{label:x}");
        match SocketAddr::from_abstract_name(name).and_then(|name| UnixDatagram::bind_addr(&name)) {
            Err(cause) if cause.kind() == std::io::ErrorKind::AddrInUse => None,
            // If the system has no such names, every rank warns.
            bound => Some(Self(bound.ok())),
        }
    }
}

/// On systems other than Linux, every rank warns.
#[cfg(not(target_os = "linux"))]
struct WarningLock;

#[cfg(not(target_os = "linux"))]
impl WarningLock {
    fn of_host(_: &Path, _: &str) -> Option<Self> {
        Some(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_odd_whatever_was_left_out() {
        let watchdog = StallWatchdog::new(Path::new("f"), 0, 0, (None, None));
        let is_waiting = || !watchdog.turns.load(Ordering::Relaxed).is_multiple_of(2);
        let mut last = 0;
        for begins in [true, true, false, false, true, false] {
            if begins {
                watchdog.begin("a call")
            } else {
                watchdog.end()
            }
            assert_eq!(is_waiting(), begins);
            let turn = watchdog.turns.load(Ordering::Relaxed);
            assert!(turn > last);
            last = turn;
        }
    }

    #[test]
    fn parts_are_packed_whole() {
        let window = Some(u64::MAX - 1);
        for part in [
            CallStage::Coming,
            CallStage::Metadata,
            CallStage::Settling,
            CallStage::End,
            CallStage::Round(1 << 60, window),
            CallStage::Storage(0, Some(0)),
            CallStage::Round(3, None),
        ] {
            assert_eq!(CallStage::unpack(part.pack()), part);
        }
    }

    /// A call in flight that is polled without progress, and one that is not polled. The test passes the time.
    #[test]
    fn a_call_in_flight_is_watched() {
        crate::fabric::threads::run(1, |transport| {
            let waiting = crate::fabric::Endpoint::new(transport).waiting().clone();
            let path = std::env::temp_dir().join(format!("in-flight-{}", std::process::id()));
            let poll = || {
                let mut call = std::pin::pin!(async { Ok(()) });
                let mut polled = std::pin::pin!(waiting.call(call.as_mut()));
                let _ = polled.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
            };
            for polls in [true, false] {
                let watchdog = StallWatchdog::new(&path, 0, 0, (None, Some(waiting.clone())));
                let second = |seconds: u64| Instant::now() + Duration::from_secs(seconds);
                let watchdog = StallWatchdog { limit: Duration::from_secs(10), ..Arc::into_inner(watchdog).unwrap() };
                watchdog.begin_in(&waiting, "MPI_File_iwrite_all");
                for seconds in [0, 4, 8] {
                    watchdog.look(second(seconds));
                    if polls {
                        poll();
                    }
                }
                assert!(!lock(&watchdog.watched).is_said);
                watchdog.look(second(12));
                let watched = lock(&watchdog.watched);
                let since = watched.polls.map(|(_, since)| second(12) - since >= Duration::from_secs(5));
                assert_eq!((watched.is_said, since), (true, Some(!polls)));
            }
        })
        .unwrap();
    }

    /// The test passes the time to the watchdog.
    #[test]
    fn a_rank_speaks_once_a_wait_and_one_for_a_host() {
        let path = std::env::temp_dir().join(format!("watchdog-{}", std::process::id()));
        let [first, second] = [0, 1].map(|rank| StallWatchdog::new(&path, rank, 0, (None, None)));
        let says = |watchdog: &StallWatchdog| lock(&watchdog.watched).turn_to_speak.is_some();
        let (start, late) = (Instant::now(), Instant::now() + Duration::from_secs(9));
        for _ in 0..2 {
            first.begin("a call");
            second.begin("a call");
            first.look(start);
            assert!(!says(&first));
            first.look(late);
            second.look(start);
            second.look(late);
            assert!(says(&first) && lock(&second.watched).is_said);
            assert_eq!(says(&second), cfg!(not(target_os = "linux")));
            first.end();
            second.end();
            first.look(late);
            second.look(late);
            assert!(!says(&first));
        }
    }
}
