//! Runs ranks in virtual time: their order, the time, the network and the file are decided by a seed.
//!
//! [`run`] runs every rank as a task of one thread. At each wait, and at each call on the file, control goes to a task that the
//! seed chooses; when none can go on, the clock goes to the next event. The same seed gives the same order, bytes and times.

pub mod file;
pub mod network;
mod order;
pub mod tasks;

use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tributary::{Endpoint, Error, Rank};

use file::{Faults, Files};
use network::{Links, Messaging, Network, SimpleLinks};
use tasks::{Ended, Tasks};

/// Where the ranks are, and how fast things are.
#[derive(Debug, Clone)]
pub struct Place {
    /// Host of each rank.
    pub hosts: Vec<usize>,
    /// Delays of messages and calls on the file.
    pub delays: Delays,
    /// How often a task loses its core for a while, in a thousand turns.
    pub lost_cores: u64,
    /// True if ranks of a host share memory.
    pub shares_memory: bool,
    /// What limits the rate of the file: `None`, the hosts; otherwise so many servers, with stripes of so many bytes.
    pub servers: Option<(usize, u64)>,
    /// Calls on the file that fail.
    pub faults: Faults,
    /// Number of turns after which all ranks are killed, as a launcher kills a job of which one rank has died.
    pub killed_after: Option<u64>,
}

/// Delays in virtual time.
#[derive(Debug, Clone, Copy)]
pub struct Delays {
    /// Longest time that a message takes beyond its bytes.
    pub message: Duration,
    /// Longest time that a call on the file takes beyond its bytes.
    pub file: Duration,
    /// Bytes a second of a message and of a call on the file.
    pub rate: u64,
    /// Longest time that a rank computes between calls ([`RankInWorld::compute`]).
    pub compute: Duration,
}

/// A rank of a run.
pub struct RankInWorld {
    /// This rank.
    pub rank: Rank,
    /// Number of ranks.
    pub ranks: usize,
    /// The files of the run.
    pub files: Arc<Files>,
    tasks: Arc<Tasks>,
    messages: Arc<dyn Messaging + Send + Sync>,
    compute: Duration,
}

impl RankInWorld {
    /// Returns an endpoint over all ranks with messages of its own. Collective.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::new(self.messages.clone().join(self.rank))
    }

    /// Returns the time.
    pub fn now(&self) -> Instant {
        tributary::world::World::now(&*self.tasks)
    }

    /// Lets a moment pass, in which others may run; longer in later rounds.
    pub fn pause(&self, round: u32) {
        self.tasks.pass(Duration::from_micros(20 << round.min(9)));
    }

    /// Waits for what never comes.
    pub fn wait_for_ever(&self) {
        loop {
            tributary::world::World::park(&*self.tasks, None);
        }
    }

    /// Lets a time pass that the seed decides.
    pub fn compute(&self) {
        self.tasks.pass(self.compute);
    }
}

/// What a run has come to.
#[derive(Debug)]
pub struct Outcome<T> {
    /// What each rank has returned; `None` if it has not ended.
    pub ranks: Vec<Option<T>>,
    /// How the run has ended.
    pub ended: Ended,
    /// Number of the tasks' turns.
    pub turns: u64,
    /// Hash of all turns and their times.
    pub digest: u64,
    /// Virtual time from begin to end.
    pub took: Duration,
    /// The files.
    pub files: Arc<Files>,
    /// Number of requests for memory that were refused.
    pub refused: u64,
    /// Error with which a rank has stopped all: on MPI this ends the job.
    pub stopped: Option<Error>,
    /// Number of messages that nobody has received.
    pub unreceived: usize,
}

/// Runs `program` on each rank of `place`, in the order of `seed`, on a simple network.
pub fn run<T: Send + 'static>(
    seed: u64,
    place: &Place,
    program: impl Fn(RankInWorld) -> T + Send + Sync + 'static,
) -> Outcome<T> {
    let links = SimpleLinks { latency: place.delays.message.as_nanos() as u64, rate: place.delays.rate };
    run_on(seed, place, Box::new(links), program)
}

/// Runs `program` on each rank of `place`, in the order of `seed`, on a network of the caller's.
pub fn run_on<T: Send + 'static>(
    seed: u64,
    place: &Place,
    links: Box<dyn Links + Send>,
    program: impl Fn(RankInWorld) -> T + Send + Sync + 'static,
) -> Outcome<T> {
    let tasks = Tasks::new(seed, place.lost_cores);
    tasks.refuse_memory(place.faults.memory, place.faults.rank);
    let system = System {
        messages: Arc::new(Network::new(tasks.clone(), place, links)),
        files: Arc::new(Files::new(tasks.clone(), place)),
        tasks,
    };
    run_in(&system, place, program)
}

/// What a run runs on.
pub struct System {
    /// The tasks, which have not begun.
    pub tasks: Arc<Tasks>,
    /// The messages between ranks.
    pub messages: Arc<dyn Messaging + Send + Sync>,
    /// The files: none.
    pub files: Arc<Files>,
}

/// Runs `program` on each rank of `place` in a system of the caller's.
pub fn run_in<T: Send + 'static>(
    system: &System,
    place: &Place,
    program: impl Fn(RankInWorld) -> T + Send + Sync + 'static,
) -> Outcome<T> {
    let System { tasks, messages, files } = system;
    let ranks = place.hosts.len();
    tasks.set_hosts(place.hosts.clone());
    let program = Arc::new(program);
    let results = Arc::new(Mutex::new(Vec::from_iter((0..ranks).map(|_| None))));
    for rank in 0..ranks {
        let (program, results) = (program.clone(), results.clone());
        let own = RankInWorld {
            rank,
            ranks,
            files: files.clone(),
            tasks: tasks.clone(),
            messages: messages.clone(),
            compute: place.delays.compute,
        };
        tasks.start_process(format!("rank {rank}"), rank, move || {
            let result = program(own);
            results.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[rank] = Some(result);
        });
    }
    let ended = tasks.clone().run(place.killed_after, tributary::engine::waits);
    let (turns, digest, took) = tasks.counted();
    let stopped = messages.stopped();
    let (refused, unreceived) = (tasks.refused(), messages.forget());
    let ranks = std::mem::take(&mut *results.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    Outcome { ranks, ended, turns, digest, took, files: files.clone(), refused, stopped, unreceived }
}
