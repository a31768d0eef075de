//! A rank that waits long for others in a collective call says so: one line a host names the call, and either the ranks that have
//! not come, as far as this host knows, or the part of an exchange and the rank whose message is due. A call in flight is watched too:
//! a rank that tests it or waits for it says that it stands still, and a rank that does neither says so once.
//!
//! Where one rank does not make a call, or has not this library, the others wait for it inside MPI or on a word in shared memory.
//! So a thread watches: one a process, from the process's first file of several ranks on. It looks at some words of each file a few
//! times in the rank's watchdog. A call pays for storing them. The thread is no part of MPI, and ends with the process. Where no
//! thread can be had, nobody watches.

mod lines;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::engine::storage::worker::leave_to_program;
use crate::fabric::shared::Shared;
use crate::fabric::{Pending, Waiting};
use crate::topology::Rank;

/// How often the thread looks in the shortest watchdog of any file.
const LOOKS: u32 = 6;
/// The longest time between two looks.
const LONGEST: Duration = Duration::from_secs(5);

/// What a rank waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStage {
    /// The others have to come.
    Coming,
    /// The lists of what goes where.
    Metadata,
    /// A round of the data, in which this rank owns the window that begins at this byte of the file, or none.
    Round(u64, Option<u64>),
    /// The same, until the file system has written or read another window.
    Storage(u64, Option<u64>),
    /// The file system has to write the last windows.
    Settling,
    /// The others have to end their part.
    End,
}

impl CallStage {
    /// Its kind and round, and its window.
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

/// The watchdog of a rank in the collective calls of one file.
pub struct StallWatchdog {
    path: PathBuf,
    rank: Rank,
    limit: Duration,
    /// The ranks that share memory with this one.
    here: Option<Arc<Shared>>,
    /// Knows which message this rank waits for; none in the first agreement.
    waiting: Option<Waiting>,
    /// Counts the begins and the ends of waits: odd while the rank waits.
    turns: AtomicU64,
    /// What the last wait was in, and where this text is: most calls have the name of the one before.
    call: Mutex<&'static str>,
    named: AtomicUsize,
    /// The [`CallStage`].
    part: [AtomicU64; 2],
    /// How the rank waits in a call in flight, which it polls; none in a blocking one.
    polled: Mutex<Option<Waiting>>,
    is_polled: AtomicBool,
    /// The thread's own.
    watched: Mutex<Watched>,
}

/// What the thread has seen of one file.
#[derive(Default)]
struct Watched {
    /// The turn of a wait and its progress, and when the thread saw them first.
    seen: Option<((u64, u64), Instant)>,
    /// The number of polls of a call in flight, and when the thread saw it first.
    polls: Option<(u64, Instant)>,
    /// Whether this rank has said that it waits, or has found that another one of its host says so.
    is_said: bool,
    /// Held by the rank of a host that speaks, as long as it waits.
    turn_to_speak: Option<WarningLock>,
}

impl StallWatchdog {
    /// The watchdog of `seconds` (0: without end) of one of several ranks in calls on the file `path`. `here` is the memory that
    /// the file's calls share with other ranks, if they do; `waiting` is how they wait. Local.
    pub fn new(
        path: &Path,
        rank: Rank,
        seconds: usize,
        (here, waiting): (Option<Arc<Shared>>, Option<Waiting>),
    ) -> Arc<Self> {
        let (turns, call, named, part, polled, is_polled, watched) = Default::default();
        let (path, limit) = (path.to_path_buf(), Duration::from_secs(seconds as u64));
        let watchdog =
            Arc::new(Self { path, rank, limit, here, waiting, turns, call, named, part, polled, is_polled, watched });
        if seconds > 0 {
            watch(&watchdog);
        }
        watchdog
    }

    /// The rank waits for the others from now on, in `call`; until [`StallWatchdog::end`]. One thread at a time. Local.
    #[inline]
    pub fn begin(&self, call: &'static str) {
        self.name(call);
        self.enter(CallStage::Coming);
    }

    #[inline]
    fn name(&self, call: &'static str) {
        if self.named.load(Ordering::Relaxed) != call.as_ptr().addr() {
            self.named.store(call.as_ptr().addr(), Ordering::Relaxed);
            *lock(&self.call) = call;
        }
    }

    #[inline]
    fn enter(&self, part: CallStage) {
        let (packed, window) = part.pack();
        self.part[0].store(packed, Ordering::Relaxed);
        self.part[1].store(window, Ordering::Relaxed);
        self.turn(1);
    }

    /// As [`StallWatchdog::begin`], in a call that `waiting` blocks in, or in one in flight, which is only polled. Local.
    #[inline]
    pub fn begin_in(&self, waiting: &Waiting, call: &'static str) {
        let is_polled = !waiting.may_block();
        if is_polled {
            *lock(&self.polled) = Some(waiting.clone());
        }
        self.is_polled.store(is_polled, Ordering::Relaxed);
        self.begin(call);
    }

    /// The rank waits in another part of the call that [`StallWatchdog::begin_in`] has named. Local.
    pub fn go_on(&self, part: CallStage) {
        self.enter(part);
    }

    /// The rank waits no longer.
    #[inline]
    pub fn end(&self) {
        self.turn(0);
    }

    /// Goes on to the next turn that is odd (1) or even (0). An end that an error has left out does no harm.
    #[inline]
    fn turn(&self, parity: u64) {
        let turn = self.turns.load(Ordering::Relaxed);
        self.turns.store(turn + 1 + ((turn + 1 + parity) & 1), Ordering::Release);
    }

    /// The thread looks at the file.
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
                    // Half, since it may have been polled once more after it stood still.
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

    /// The message that is waited for, and a number that changes with progress.
    fn pending(&self) -> (Option<Pending>, u64) {
        self.waiting.as_ref().map_or((None, 0), Waiting::pending)
    }

    fn say(&self, watched: &mut Watched, turn: u64, waits: Waits) {
        static ELSEWHERE: AtomicBool = AtomicBool::new(false);
        let call = *lock(&self.call);
        // A program that computes for long while a call is in flight hears of it once.
        if waits == Waits::Elsewhere && ELSEWHERE.swap(true, Ordering::Relaxed) {
            return;
        }
        let topic = if waits == Waits::Elsewhere { "elsewhere" } else { call };
        let Some(voice) = WarningLock::of_host(&self.path, topic) else { return };
        watched.turn_to_speak = Some(voice);
        let part = CallStage::unpack([0, 1].map(|word: usize| self.part[word].load(Ordering::Relaxed)).into());
        let line = match waits {
            Waits::Elsewhere => self.line_of_one_elsewhere(call, &crate::fabric::mpi::name()),
            Waits::Blocked | Waits::Polling => self.line(call, part, self.pending().0, waits),
        };
        // A rank that has come meanwhile is not accused.
        if self.turns.load(Ordering::Acquire) == turn {
            crate::say(line);
        }
    }
}

/// How a rank waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// In a blocking call.
    Blocked,
    /// It tests a call in flight, or waits for it.
    Polling,
    /// It has a call in flight, and does something else.
    Elsewhere,
}

/// The files of this process, and the thread that watches them.
struct Watch {
    files: Mutex<Files>,
    /// None where the system gives no thread.
    thread: OnceLock<Option<Thread>>,
}

/// See [`Watch`].
struct Files {
    all: Vec<Weak<StallWatchdog>>,
    /// The shortest watchdog for which the thread looks; none while it looks for no file.
    shortest: Option<Duration>,
}

static WATCH: Watch = Watch { files: Mutex::new(Files { all: Vec::new(), shortest: None }), thread: OnceLock::new() };

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a file. A child of fork has no thread; it must not use MPI either.
fn watch(watchdog: &Arc<StallWatchdog>) {
    let is_shorter = {
        let mut files = lock(&WATCH.files);
        // A weak reference keeps the memory of a file that is closed.
        files.all.retain(|file| file.strong_count() > 0);
        files.all.push(Arc::downgrade(watchdog));
        let is_shorter = files.shortest.is_none_or(|shortest| watchdog.limit < shortest);
        if is_shorter {
            files.shortest = Some(watchdog.limit);
        }
        is_shorter
    };
    let start = || std::thread::Builder::new().name("tributary watchdog".to_string()).spawn(run);
    let thread = WATCH.thread.get_or_init(|| start().ok().map(|started| started.thread().clone()));
    // Otherwise the thread looks soon enough by itself.
    if let (Some(thread), true) = (thread, is_shorter) {
        thread.unpark();
    }
}

fn run() {
    leave_to_program();
    loop {
        let (files, shortest) = {
            let mut files = lock(&WATCH.files);
            files.all.retain(|file| file.strong_count() > 0);
            let all: Vec<_> = files.all.iter().filter_map(Weak::upgrade).collect();
            files.shortest = all.iter().map(|file| file.limit).min();
            (all, files.shortest)
        };
        let now = Instant::now();
        files.iter().for_each(|file| file.look(now));
        // A file that is closed is not kept.
        drop(files);
        match shortest {
            // A new file unparks.
            None => std::thread::park(),
            Some(shortest) => std::thread::park_timeout((shortest / LOOKS).min(LONGEST)),
        }
    }
}

/// The right to speak for the ranks of this host: the first rank has it that loses its watchdog in a call of a file. It is a name
/// in the kernel, which goes with the process at the latest.
#[cfg(target_os = "linux")]
struct WarningLock(#[allow(dead_code, reason = "held")] Option<std::os::unix::net::UnixDatagram>);

#[cfg(target_os = "linux")]
impl WarningLock {
    /// None if another rank of this host has it.
    fn of_host(path: &Path, call: &str) -> Option<Self> {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::net::{SocketAddr, UnixDatagram};
        // A name that is not whole may be that of another file in another job.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let user = nix::unistd::getuid().as_raw().to_le_bytes();
        let label = tributary_base::fingerprint([path.as_os_str().as_bytes(), call.as_bytes(), &user]);
        let name = format!("tributary-watchdog-{label:x}");
        match SocketAddr::from_abstract_name(name).and_then(|name| UnixDatagram::bind_addr(&name)) {
            Err(cause) if cause.kind() == std::io::ErrorKind::AddrInUse => None,
            // Where the system has no such names, every rank speaks.
            bound => Some(Self(bound.ok())),
        }
    }
}

/// Every rank speaks.
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

    /// A call in flight that is polled and stands still, and one that is not polled: the time is told here.
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

    /// Time is told to it here.
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
