//! Programs on the engine in virtual time, on simulated machines: what a collective write takes at any number of ranks, with the
//! engine's own choices. The engine is the one that programs use; only its network, its files and its processors are simulated.
//!
//! | module | holds |
//! |---|---|
//! | `messages` | the messages of ranks, on the simulator's network |
//! | `storage` | the times of calls on the machine's file servers |

mod messages;
mod storage;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tributary::engine::{CallReport, Direction};
use tributary::error::{Error, Result};
use tributary::topology::{Rank, Topology};
use tributary::{File, Hints, Mode};
use tributary_benchmarks::{Pattern, RankAccess};
use tributary_testing::virtual_time::file::{Faults, Files, Opener};
use tributary_testing::virtual_time::tasks::{Ended, Tasks};
use tributary_testing::virtual_time::{Delays, Place, RankInWorld, System, run_in};

use crate::sim::Machine;
use messages::PostedMessages;
use storage::ServerTimes;

/// Number of bytes of memory that a rank of a run takes at least.
pub const RANK: u64 = 800_000;

/// Name of the file of a run.
const FILE: &str = "file";

/// A run of a program.
#[derive(Clone)]
pub struct Run {
    /// Where it runs.
    pub machine: Machine,
    /// Hosts of the ranks.
    pub topology: Topology,
    /// Hints of the file.
    pub hints: Hints,
    /// Write, or write without measurement and then read.
    pub direction: Direction,
    /// The calls that are made.
    pub calls: Range<usize>,
    /// True if nobody else writes the file, as under an MPI program.
    pub is_sole: bool,
    /// Seed of the order of ranks.
    pub seed: u64,
}

/// What a run took.
#[derive(Debug, Clone, Serialize)]
pub struct Took {
    /// Seconds until the last rank had opened the file.
    pub open: f64,
    /// Seconds of the collective calls, on the rank that took longest.
    pub calls: f64,
    /// Seconds of closing the file.
    pub close: f64,
    /// Number of messages of the open, the calls and the close; before a read also those of the write.
    pub messages: u64,
    /// Number of bytes of those messages that went between hosts.
    pub between_hosts: u64,
    /// Number of bytes of the calls.
    pub bytes: u64,
    /// The calls.
    pub reports: Vec<CallReport>,
}

/// What a rank has done.
struct RankTook {
    open: Duration,
    calls: Duration,
    close: Duration,
    reports: Vec<CallReport>,
}

impl Took {
    /// Returns the seconds of the calls, as their reports have them.
    pub fn reported(&self) -> f64 {
        self.reports.iter().map(|report| report.seconds.total).sum()
    }
}

impl Run {
    /// Runs the collective calls of `pattern` on an open file, and closes it, as [`Run::with_access`] does.
    ///
    /// # Errors
    /// The errors of [`Run::with_access`].
    pub fn of(&self, pattern: Arc<dyn Pattern>) -> Result<Took> {
        self.with_access(move |rank, call| {
            pattern
                .rank_access(rank, call)
                .map_err(|error| Error::argument("pattern", pattern.name(), error.to_string()))
        })
    }

    /// Runs collective calls with the `access` of each rank in each call on an open file, and closes it. The bytes are zeros.
    /// Takes memory for the bytes in flight, and what each rank holds.
    ///
    /// # Errors
    /// The engine's errors; ranks that wait for each other for ever.
    pub fn with_access(
        &self,
        access: impl Fn(Rank, usize) -> Result<RankAccess> + Send + Sync + 'static,
    ) -> Result<Took> {
        self.hints.check(self.topology.ranks())?;
        let mut hints = self.hints.clone();
        // Nobody waits for ever here without being found out.
        hints.set("trib_stall_timeout", "0")?;
        let place = self.place();
        let tasks = Tasks::new(self.seed, 0);
        let times = ServerTimes::new(&self.machine, &self.topology, &self.hints);
        let messages = Arc::new(PostedMessages::new(tasks.clone(), &self.machine, &self.topology, self.seed));
        let files = Arc::new(Files::timed(tasks.clone(), &place, Box::new(times), false));
        let system = System { tasks, messages: messages.clone(), files };
        let (direction, is_sole) = (self.direction, self.is_sole);
        let calls = self.calls.clone();
        let zeros = Arc::new(vec![0; self.longest(&access)?]);
        let outcome = run_in(&system, &place, move |own| {
            rank(&own, &hints, (direction, is_sole), (&access, calls.clone()), &zeros)
        });
        match outcome.ended {
            Ended::All(_) => {}
            other => {
                return Err(Error::argument("run", format!("{other:?}"), "a run that ends"));
            }
        }
        let (messages, between_hosts) = messages.counted();
        let mut took =
            Took { open: 0.0, calls: 0.0, close: 0.0, messages, between_hosts, bytes: 0, reports: Vec::new() };
        for rank in outcome.ranks.into_iter().flatten() {
            let rank = rank?;
            took.open = took.open.max(rank.open.as_secs_f64());
            took.calls = took.calls.max(rank.calls.as_secs_f64());
            took.close = took.close.max(rank.close.as_secs_f64());
            if took.reports.is_empty() {
                took.reports = rank.reports;
            }
        }
        took.bytes = took.reports.iter().map(|report| report.bytes).sum();
        Ok(took)
    }

    /// Returns the length in bytes of the longest buffer of a rank.
    fn longest(&self, access: impl Fn(Rank, usize) -> Result<RankAccess>) -> Result<usize> {
        let mut longest = 0;
        for rank in 0..self.topology.ranks() {
            for call in self.calls.clone() {
                longest = longest.max(access(rank, call)?.buffer_len());
            }
        }
        Ok(longest as usize)
    }

    fn place(&self) -> Place {
        let none = Delays { message: Duration::ZERO, file: Duration::ZERO, rate: 1, compute: Duration::ZERO };
        Place {
            hosts: (0..self.topology.ranks()).map(|rank| self.topology.node_of(rank)).collect(),
            delays: none,
            lost_cores: 0,
            shares_memory: true,
            // On servers, all hosts see a host's locks.
            servers: self.machine.storage.filter(|storage| !storage.by_node).map(|_| (1, 1 << 20)),
            faults: Faults::default(),
            killed_after: None,
        }
    }
}

/// Runs the calls of a rank.
fn rank(
    own: &RankInWorld,
    hints: &Hints,
    (direction, is_sole): (Direction, bool),
    (access, calls): (impl Fn(Rank, usize) -> Result<RankAccess>, Range<usize>),
    zeros: &[u8],
) -> Result<RankTook> {
    let files = Arc::new(Opener(own.files.clone(), own.rank));
    let begin = own.now();
    let mut file = File::open_on(own.endpoint(), Path::new(FILE), Mode::Create, hints.clone(), files)?;
    if is_sole {
        file.set_sole_writer(true);
    }
    let opened = own.now();
    let mut reports = Vec::new();
    for call in calls.clone() {
        let access = access(own.rank, call)?;
        let len = access.buffer_len() as usize;
        reports.push(file.write_all(&access.file, &access.layout, &zeros[..len])?);
    }
    let written = own.now();
    let mut took = RankTook { open: opened - begin, calls: written - opened, close: Duration::ZERO, reports };
    if direction == Direction::Read {
        took.reports.clear();
        let begin = own.now();
        let mut memory = Vec::new();
        for call in calls {
            let access = access(own.rank, call)?;
            memory.resize(access.buffer_len() as usize, 0);
            took.reports.push(file.read_all(&access.file, &access.layout, &mut memory)?.call);
        }
        took.calls = own.now() - begin;
    }
    let begin = own.now();
    file.close()?;
    took.close = own.now() - begin;
    Ok(took)
}
