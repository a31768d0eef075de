//! A rank that waits long for others to come to a collective call says so: one line a host names the call, and the ranks that have
//! not come, as far as this host knows.
//!
//! Where one rank does not make a call, or has not this library, the others wait for it inside MPI or on a word in shared memory.
//! So a thread watches: one a process, from the process's first file of several ranks on. It looks at two words of each file a few
//! times in the rank's patience. A call pays for storing them. The thread is no part of MPI, and ends with the process. Where no
//! thread can be had, nobody watches.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::engine::storage::worker::leave_to_program;
use crate::fabric::Waiting;
use crate::fabric::shared::Shared;
use crate::topology::Rank;

/// How often the thread looks in the shortest patience of any file.
const LOOKS: u32 = 6;
/// The longest time between two looks.
const LONGEST: Duration = Duration::from_secs(5);
/// The most ranks that a line names.
const MOST_NAMED: usize = 8;

/// The patience of a rank in the collective calls of one file.
pub struct Patience {
    path: PathBuf,
    rank: Rank,
    limit: Duration,
    /// The ranks that share memory with this one.
    here: Option<Arc<Shared>>,
    /// Counts the begins and the ends of waits: odd while the rank waits.
    turns: AtomicU64,
    /// What the last wait was in, and where this text is: most calls have the name of the one before.
    call: Mutex<&'static str>,
    named: AtomicUsize,
    /// The thread's own.
    watched: Mutex<Watched>,
}

/// What the thread has seen of one file.
#[derive(Default)]
struct Watched {
    /// The turn of a wait, and when the thread saw it first.
    seen: Option<(u64, Instant)>,
    /// Whether this rank has said that it waits, or has found that another one of its host says so.
    is_said: bool,
    /// Held by the rank of a host that speaks, as long as it waits.
    turn_to_speak: Option<Voice>,
}

impl Patience {
    /// The patience of `seconds` (0: without end) of one of several ranks in calls on the file `path`. `here` is the memory that
    /// the file's calls share with other ranks, if they do. Local.
    pub fn new(path: &Path, rank: Rank, seconds: usize, here: Option<Arc<Shared>>) -> Arc<Self> {
        let (turns, call, named, watched) = Default::default();
        let limit = Duration::from_secs(seconds as u64);
        let patience = Arc::new(Self { path: path.to_path_buf(), rank, limit, here, turns, call, named, watched });
        if seconds > 0 {
            watch(&patience);
        }
        patience
    }

    /// The rank waits for the others from now on, in `call`; until [`Patience::end`]. One thread at a time. Local.
    #[inline]
    pub fn begin(&self, call: &'static str) {
        if self.named.load(Ordering::Relaxed) != call.as_ptr().addr() {
            self.named.store(call.as_ptr().addr(), Ordering::Relaxed);
            *lock(&self.call) = call;
        }
        self.turn(1);
    }

    /// As [`Patience::begin`], in a call that `waiting` may block in: while a call is only polled, its rank may compute. Local.
    #[inline]
    pub fn begin_in(&self, waiting: &Waiting, call: &'static str) {
        if waiting.may_block() {
            self.begin(call);
        }
    }

    /// The others have come.
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
        let mut watched = lock(&self.watched);
        if turn.is_multiple_of(2) {
            *watched = Watched::default();
            return;
        }
        match watched.seen {
            Some((seen, since)) if seen == turn => {
                if !watched.is_said && now - since >= self.limit {
                    watched.is_said = true;
                    self.say(&mut watched, turn);
                }
            }
            _ => *watched = Watched { seen: Some((turn, now)), ..Watched::default() },
        }
    }

    fn say(&self, watched: &mut Watched, turn: u64) {
        let call = *lock(&self.call);
        let Some(voice) = Voice::of_host(&self.path, call) else { return };
        watched.turn_to_speak = Some(voice);
        let line = self.line(call);
        // A rank that has come meanwhile is not accused.
        if self.turns.load(Ordering::Acquire) == turn {
            crate::say(line);
        }
    }

    fn line(&self, call: &str) -> String {
        let (rank, seconds, path) = (self.rank, self.limit.as_secs(), self.path.display());
        let missing = self.here.as_ref().map(|here| here.missing());
        let others = match missing.as_deref() {
            None => "for other ranks".to_string(),
            Some([]) => "for other ranks: those of this host have come as far".to_string(),
            Some([one]) => format!("for rank {one}, which has not come so far"),
            Some(ranks) => format!("for ranks {}, which have not come so far", named(ranks)),
        };
        format!(
            "rank {rank} has waited for {seconds} s in {call} of {path}, {others}; check that all ranks make the call, that all of \
             them have this library, and that the file system answers"
        )
    }
}

/// Ranks as words: "1, 3 and 7", or the first of them and how many more.
fn named(ranks: &[Rank]) -> String {
    let shown = ranks.len().min(MOST_NAMED);
    let (last, before) = match ranks.len() - shown {
        0 => (ranks[shown - 1].to_string(), &ranks[..shown - 1]),
        more => (format!("{more} more"), &ranks[..shown]),
    };
    let before: Vec<_> = before.iter().map(ToString::to_string).collect();
    format!("{} and {last}", before.join(", "))
}

/// The files of this process, and the thread that watches them.
struct Watch {
    files: Mutex<Files>,
    /// None where the system gives no thread.
    thread: OnceLock<Option<Thread>>,
}

/// See [`Watch`].
struct Files {
    all: Vec<Weak<Patience>>,
    /// The shortest patience for which the thread looks; none while it looks for no file.
    shortest: Option<Duration>,
}

static WATCH: Watch = Watch { files: Mutex::new(Files { all: Vec::new(), shortest: None }), thread: OnceLock::new() };

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a file. A child of fork has no thread; it must not use MPI either.
fn watch(patience: &Arc<Patience>) {
    let is_shorter = {
        let mut files = lock(&WATCH.files);
        // A weak reference keeps the memory of a file that is closed.
        files.all.retain(|file| file.strong_count() > 0);
        files.all.push(Arc::downgrade(patience));
        let is_shorter = files.shortest.is_none_or(|shortest| patience.limit < shortest);
        if is_shorter {
            files.shortest = Some(patience.limit);
        }
        is_shorter
    };
    let start = || std::thread::Builder::new().name("tributary patience".to_string()).spawn(run);
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

/// The right to speak for the ranks of this host: the first rank has it that loses its patience in a call of a file. It is a name
/// in the kernel, which goes with the process at the latest.
#[cfg(target_os = "linux")]
struct Voice(#[allow(dead_code, reason = "held")] Option<std::os::unix::net::UnixDatagram>);

#[cfg(target_os = "linux")]
impl Voice {
    /// None if another rank of this host has it.
    fn of_host(path: &Path, call: &str) -> Option<Self> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::{SocketAddr, UnixDatagram};
        let mut hasher = DefaultHasher::new();
        // A name that is not whole may be that of another file in another job.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        (path, call, nix::unistd::getuid().as_raw()).hash(&mut hasher);
        let name = format!("tributary-patience-{:x}", hasher.finish());
        match SocketAddr::from_abstract_name(name).and_then(|name| UnixDatagram::bind_addr(&name)) {
            Err(cause) if cause.kind() == std::io::ErrorKind::AddrInUse => None,
            // Where the system has no such names, every rank speaks.
            bound => Some(Self(bound.ok())),
        }
    }
}

/// Every rank speaks.
#[cfg(not(target_os = "linux"))]
struct Voice;

#[cfg(not(target_os = "linux"))]
impl Voice {
    fn of_host(_: &Path, _: &str) -> Option<Self> {
        Some(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_odd_whatever_was_left_out() {
        let patience = Patience::new(Path::new("f"), 0, 0, None);
        let is_waiting = || !patience.turns.load(Ordering::Relaxed).is_multiple_of(2);
        let mut last = 0;
        for begins in [true, true, false, false, true, false] {
            if begins {
                patience.begin("a call")
            } else {
                patience.end()
            }
            assert_eq!(is_waiting(), begins);
            let turn = patience.turns.load(Ordering::Relaxed);
            assert!(turn > last);
            last = turn;
        }
    }

    /// Time is told to it here.
    #[test]
    fn a_rank_speaks_once_a_wait_and_one_for_a_host() {
        let path = std::env::temp_dir().join(format!("patience-{}", std::process::id()));
        let [first, second] = [0, 1].map(|rank| Patience::new(&path, rank, 0, None));
        let says = |patience: &Patience| lock(&patience.watched).turn_to_speak.is_some();
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

    #[test]
    fn lines() {
        let patience = Patience::new(Path::new("/data/f"), 2, 0, None);
        assert_eq!(
            patience.line("MPI_File_write_all"),
            "rank 2 has waited for 0 s in MPI_File_write_all of /data/f, for other ranks; check that all ranks make the call, that \
             all of them have this library, and that the file system answers"
        );
        assert_eq!(named(&[1, 3]), "1 and 3");
        assert_eq!(named(&[1, 2, 3, 4, 5, 6, 7, 8]), "1, 2, 3, 4, 5, 6, 7 and 8");
        assert_eq!(named(&(0..1000).collect::<Vec<_>>()), "0, 1, 2, 3, 4, 5, 6, 7 and 992 more");
    }
}
