//! The order in which tasks run: who can go on, who waits for what, the timers, and what happens beside the tasks.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use tributary::world::process::ProcessValues;
use tributary::world::{TaskId, Work, waits};

/// Maximum time that a task loses its core, in nanoseconds.
const LOST: u64 = 20_000_000;
/// Maximum number of hosts whose integers have keys below all addresses.
const MOST_HOSTS: usize = 1 << 16;

/// What happens in a run beside its tasks, at times of its own: a simulated network.
pub trait Happenings {
    /// Returns the time of the next event in nanoseconds; `None` if there is none.
    fn next(&mut self) -> Option<u64>;

    /// Lets the events of that time happen. Adds the ranks that have messages to `arrived`, with the times.
    fn happen(&mut self, arrived: &mut Vec<(u64, usize)>);

    /// Returns the time at which work is done that a task of a rank begins at `from`: the rank's own, or a thread beside it.
    fn work(&mut self, rank: usize, is_rank: bool, from: u64, work: Work) -> u64;
}

pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tasks, and what they wait for.
pub(super) struct State {
    /// The tasks by number; `None` once they have ended.
    pub(super) tasks: Vec<Option<Task>>,
    /// Tasks that can go on.
    pub(super) ready: Vec<TaskId>,
    pub(super) timers: BinaryHeap<Reverse<(u64, u64, Timer)>>,
    /// Tasks that wait for a key.
    pub(super) blocked: HashMap<usize, Vec<TaskId>>,
    pub(super) seed: u64,
    pub(super) lost_cores: u64,
    /// Time in nanoseconds.
    pub(super) now: u64,
    pub(super) turns: u64,
    pub(super) digest: u64,
    /// Time of the last event.
    pub(super) eventful: u64,
    pub(super) panic: Option<String>,
    /// Tasks of ranks that have not ended.
    pub(super) ranks: usize,
    /// What happens beside the tasks.
    pub(super) beside: Option<Arc<Mutex<dyn Happenings + Send>>>,
    /// Ranks for which an event beside the tasks has messages, with the times.
    pub(super) arrived: Vec<(u64, usize)>,
    /// Host of each rank.
    pub(super) hosts: Vec<usize>,
}

/// What happens at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The end of the wait with this number of a task.
    Wait(TaskId, u64),
    /// Wakes a key.
    Key(usize),
    /// Wakes a rank that waits for messages.
    Message(usize),
    /// Gives a task back its core.
    Core(TaskId),
}

pub(super) type Body = Coroutine<(), (), (), DefaultStack>;

/// A task.
pub(super) struct Task {
    pub(super) name: Arc<str>,
    pub(super) process: Arc<ProcessValues>,
    /// Rank whose task this is, or which has started it.
    pub(super) rank: usize,
    pub(super) is_rank: bool,
    pub(super) body: Option<Body>,
    pub(super) yielder: *const Yielder<(), ()>,
    /// Key that the task waits for; `None` if it can go on.
    pub(super) waits_for: Option<usize>,
    /// Number of the task's waits.
    pub(super) waits: u64,
    /// True if the last wait ended because the time had passed.
    pub(super) is_late: bool,
    /// True if the next park returns at once.
    pub(super) is_unparked: bool,
    /// Time in nanoseconds until which the task works ([`super::tasks::Tasks::work_until`]).
    pub(super) busy: u64,
}

/// Returns the next number of a seed (SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014,
/// figure 17).
pub fn split_mix(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ *seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

impl State {
    /// Returns a number below `limit`, or 0 if that is 0.
    pub(super) fn random(&mut self, limit: u64) -> u64 {
        let mixed = split_mix(&mut self.seed);
        if limit == 0 { 0 } else { mixed % limit }
    }

    /// Returns a task that has not ended.
    pub(super) fn task(&mut self, id: TaskId) -> Option<&mut Task> {
        self.tasks.get_mut(id as usize)?.as_mut()
    }

    pub(super) fn note(&mut self, word: u64) {
        self.digest = (self.digest.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    pub(super) fn at(&mut self, time: u64, timer: Timer) {
        let order = self.random(u64::MAX);
        self.timers.push(Reverse((time, order, timer)));
    }

    /// Lets a task go on that waits.
    fn release(&mut self, id: TaskId, is_late: bool) {
        let Some(task) = self.task(id) else { return };
        if let Some(key) = task.waits_for.take() {
            task.is_late = is_late;
            task.waits += 1;
            let busy = task.busy;
            if busy > self.now {
                self.at(busy, Timer::Core(id));
            } else {
                self.ready.push(id);
            }
            if let Some(waiting) = self.blocked.get_mut(&key) {
                waiting.retain(|&other| other != id);
            }
        }
    }

    pub(super) fn wake(&mut self, key: usize) {
        for id in self.blocked.remove(&key).unwrap_or_default() {
            self.release(id, false);
        }
    }

    /// Lets the task of a rank go on that waits for messages, or for memory of its host.
    pub(super) fn arrive(&mut self, rank: usize) {
        // Ranks are the first tasks, in their order.
        let id = rank as TaskId;
        let waits = self.task(id).and_then(|task| task.waits_for);
        if waits.is_some_and(|key| key == messages_of(rank) || is_word(key)) {
            self.release(id, false);
        }
    }

    /// Returns the key of a task for what it calls `key`: integers in shared memory are those of its host.
    pub(super) fn key(&mut self, id: TaskId, key: usize) -> usize {
        let rank = self.task(id).map(|task| task.rank).filter(|_| waits::is_word(key));
        match rank.and_then(|rank| self.hosts.get(rank)) {
            Some(host) => key + (host + 1) * waits::WORDS_END,
            None => key,
        }
    }

    /// Returns the next task to run; `None` if nobody can go on.
    pub(super) fn choose(&mut self) -> Option<TaskId> {
        loop {
            while self.ready.is_empty() {
                if self.happens_beside() {
                    continue;
                }
                let Reverse((time, _, timer)) = self.timers.pop()?;
                self.now = self.now.max(time);
                match timer {
                    Timer::Key(key) => self.wake(key),
                    Timer::Message(rank) => self.arrive(rank),
                    Timer::Core(id) => return Some(id),
                    Timer::Wait(id, wait) if self.task(id).is_some_and(|task| task.waits == wait) => {
                        self.release(id, true);
                    }
                    Timer::Wait(..) => {}
                }
            }
            let at = self.random(self.ready.len() as u64) as usize;
            let id = self.ready.swap_remove(at);
            if self.lost_cores == 0 || self.random(1000) >= self.lost_cores {
                return Some(id);
            }
            let time = self.now + self.random(LOST);
            self.at(time, Timer::Core(id));
        }
    }

    /// Lets what is next beside the tasks happen, if that is before all timers. Returns false if it is not.
    fn happens_beside(&mut self) -> bool {
        let Some(beside) = self.beside.clone() else { return false };
        let mut beside = lock(&beside);
        let Some(time) = beside.next() else { return false };
        if self.timers.peek().is_some_and(|Reverse((timer, ..))| *timer < time) {
            return false;
        }
        self.now = self.now.max(time);
        self.eventful = self.now;
        let mut arrived = std::mem::take(&mut self.arrived);
        beside.happen(&mut arrived);
        for (time, rank) in arrived.drain(..) {
            if time > self.now { self.at(time, Timer::Message(rank)) } else { self.arrive(rank) }
        }
        self.arrived = arrived;
        true
    }

    /// Returns what each task waits for.
    pub(super) fn who_waits(&self) -> Vec<String> {
        let line = |(id, task): (usize, &Task)| match task.waits_for {
            None => format!("{} polls without an end", task.name),
            Some(key) if key == parked(id as TaskId) => format!("{} waits to be woken", task.name),
            Some(key) => format!("{} waits for {key:#x}", task.name),
        };
        let tasks = self.tasks.iter().enumerate().filter_map(|(id, task)| Some((id, task.as_ref()?)));
        let time = format!("at {} ns, the last event was at {} ns", self.now, self.eventful);
        tasks.map(line).chain([time]).collect()
    }
}

/// The key of a rank's wait for messages: no address.
pub(super) fn messages_of(rank: usize) -> usize {
    usize::MAX / 2 - rank
}

/// Returns true if a key is that of an integer in the shared memory of a host.
fn is_word(key: usize) -> bool {
    key < MOST_HOSTS * waits::WORDS_END && waits::is_word(key % waits::WORDS_END)
}

/// The key of a parked task: no address, and not that of its end.
pub(super) fn parked(task: TaskId) -> usize {
    usize::MAX - task as usize
}
