//! Simulates a collective write: the exchange of metadata, and for each round the data, placement and file I/O.

use std::sync::Arc;

use super::costs::chosen;
use super::exchange_messages::{ExchangeMessages, Parties, PhaseKernel, members};
use super::matrix::{AmountMatrix, PeerAmount};
use super::message_counts::{MessageCounts, MetadataForm};
use super::shared_file::SharedFile;
use super::written::Written;
use crate::collectives::{Problem, allreduce::RECURSIVE_DOUBLING};
use crate::sim::{self, ChainMessage, ChainSide, Machine, Phases, SimOutcome, Step, Time, WorkPart, Workload};
use tributary::engine::planning;
use tributary::error::{Error, Result};
use tributary::exchange::{ReceiverIndex, Transfer};
use tributary::hints::Hints;
use tributary::schedule::{ReduceOp, Schedule};
use tributary::topology::{Rank, Topology};

/// Options of a simulated collective write.
#[derive(Debug, Clone)]
pub struct CollectiveWriteOptions {
    /// Placement of ranks on nodes.
    pub topology: Topology,
    /// Hints of the file. The simulation uses kernels, throttles, local aggregators, rank list and
    /// `trib_write_buffers`.
    pub hints: Hints,
    /// True if the file's servers take time.
    pub io: bool,
    /// True if an aggregator writes a window while it exchanges the next; otherwise an aggregator waits for each write.
    pub write_behind: bool,
    /// Selects how flat kernels apply a throttle of w in batches. If false, as in the library: w receives and,
    /// separately, w sends at a time. If true, as in MPICH's MPI_Alltoallv and the paper: the messages of w steps of
    /// the kernel at a time, so that a rank that sends to few receivers has about w |R| / p sends outstanding (main
    /// paper, sections IV.B and V.B).
    pub blocks: bool,
    /// True if `pairwise`, as the kernel of both phases, exchanges empty messages too, in all p - 1 steps. The paper's
    /// pairwise does so; the library's does not.
    pub empty_steps: bool,
}

/// Collective write as a [`Workload`] of the simulator.
///
/// The library's kernels exchange the nonempty messages. All ranks agree between metadata and data, as in ROMIO; before
/// sampled rounds, so that a late start is not counted once per round; and after local aggregators have merged lists.
/// Agreements at the beginning and end, packing at the sender and reading of holes are not included: [`crate::runs`] runs
/// the engine with all of them.
#[derive(Debug)]
pub struct CollectiveWrite {
    pub(super) counts: Arc<MessageCounts>,
    pub(super) parties: Parties,
    pub(super) options: CollectiveWriteOptions,
    requests: sim::machine::Requests,
    copy_byte: f64,
    pub(super) metadata: PhaseKernel,
    pub(super) data: PhaseKernel,
    /// Messages with metadata: first parts and rests of the access lists, or whole lists.
    lists: Vec<ExchangeMessages>,
    /// Messages with data of each simulated round.
    rounds: Vec<ExchangeMessages>,
    stages: Vec<WriteStage>,
    /// Number of bytes of each rank's message in an agreement.
    agreed: Vec<u64>,
}

/// Number of bytes of a number on which all ranks agree.
const AGREED: u64 = 8;

/// Stages of a simulated write, the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteStage {
    Flatten,
    Lists(usize),
    Agree,
    Merge,
    /// Agreement whose waiting time counts as merging of access lists.
    AgreeAgain,
    Room,
    Data(usize),
    Place(usize),
    Write(usize),
    Settle,
    Finish,
}

/// Index of the phase for work that is done once, not in each round.
pub(super) const ONCE: usize = 0;
pub(super) const METADATA: usize = 1;
pub(super) const DATA: usize = 2;
pub(super) const PLACING: usize = 3;
pub(super) const FILE: usize = 4;
pub(super) const FINISH: usize = 5;

impl CollectiveWrite {
    /// Prepares the write of the messages in `counts` on `machine`. O(messages).
    ///
    /// # Errors
    /// The number of ranks differs from that of the counts, or hints do not fit.
    pub fn new(machine: &Machine, mut options: CollectiveWriteOptions, counts: Arc<MessageCounts>) -> Result<Self> {
        let (aggregators, ranks) = (counts.file().aggregators.clone(), options.topology.ranks());
        if counts.requests.len() != ranks {
            return Err(Error::argument("ranks", ranks, format!("{}, as were counted", counts.requests.len())));
        }
        options.hints.check(ranks)?;
        let (phases, hints) = chosen(machine, &options, &counts)?;
        options.hints = hints;
        let [metadata, data] = [phases.metadata, phases.data].map(|phase| PhaseKernel::new(phase, options.blocks));
        let parties = Parties::new(options.topology.clone(), aggregators);
        let lists = match counts.division.lists {
            MetadataForm::Pairs => vec![ExchangeMessages::new(&counts.lists, &metadata, &parties)],
            MetadataForm::Packed => list_messages(&counts.lists, parties.aggregators.len())
                .iter()
                .map(|messages| ExchangeMessages::new(messages, &metadata, &parties))
                .collect(),
        };
        let rounds: Vec<_> =
            counts.rounds.iter().map(|round| ExchangeMessages::new(&round.data, &data, &parties)).collect();
        let mut stages = vec![WriteStage::Flatten];
        stages.extend((0..lists.len()).map(WriteStage::Lists));
        if counts.division.lists == MetadataForm::Pairs || counts.sampled() < counts.rounds() {
            stages.push(WriteStage::Agree);
        }
        if data.local().is_some() {
            stages.extend([WriteStage::Merge, WriteStage::AgreeAgain]);
        }
        for round in 0..rounds.len() {
            stages.extend([
                WriteStage::Room,
                WriteStage::Data(round),
                WriteStage::Place(round),
                WriteStage::Write(round),
            ]);
            stages.extend((!options.write_behind).then_some(WriteStage::Settle));
        }
        stages.push(WriteStage::Finish);
        let (requests, copy_byte) = (machine.requests, machine.host.copy_byte);
        Ok(Self {
            counts,
            parties,
            requests,
            copy_byte,
            metadata,
            data,
            lists,
            rounds,
            stages,
            options,
            agreed: vec![AGREED; ranks],
        })
    }

    /// Returns the hints, with the chosen kernels in place of `auto`.
    pub fn hints(&self) -> &Hints {
        &self.options.hints
    }

    /// Returns the number of simulated messages between ranks, without those inside nodes of `two_layer`.
    pub fn messages(&self) -> u64 {
        self.lists.iter().chain(&self.rounds).map(ExchangeMessages::messages).sum()
    }

    /// Returns an upper bound of the number of messages that are under way at any time.
    pub fn under_way(&self) -> u64 {
        let largest = |travels: &[ExchangeMessages]| travels.iter().map(ExchangeMessages::messages).max().unwrap_or(0);
        largest(&self.lists).max(largest(&self.rounds)) + self.parties.topology.ranks() as u64
    }

    /// Returns the times of the write from the phases of its simulation.
    pub fn outcome(&self, phases: &Phases) -> Written {
        Written::of(phases.ranks(), self.scale(), &self.parties.aggregators)
    }

    /// Returns the number of all rounds divided by the number of simulated rounds.
    pub(super) fn scale(&self) -> f64 {
        self.counts.rounds() as f64 / self.counts.sampled().max(1) as f64
    }

    pub(super) fn step(&self, rank: Rank, stage: WriteStage) -> Step {
        let index = self.parties.index[rank].map(|index| index as usize);
        let idle = Step::Compute(0);
        match (stage, index) {
            (WriteStage::Flatten, _) => Step::Compute(ticks(self.counts.requests[rank] as f64 * self.requests.visit)),
            (WriteStage::Merge, _) => Step::Compute(self.merging(rank)),
            (WriteStage::Room, Some(_)) if self.options.write_behind => {
                Step::Settle((self.counts.file().open_windows as u32).saturating_sub(1))
            }
            (WriteStage::Place(round), Some(index)) => Step::Compute(self.placing(round, index)),
            (WriteStage::Write(round), Some(index)) => self.in_file(round, index).unwrap_or(idle),
            (WriteStage::Settle | WriteStage::Finish, Some(_)) => Step::Settle(0),
            _ => idle,
        }
    }

    /// Returns the time in which a local aggregator merges the access lists of its members.
    fn merging(&self, rank: Rank) -> Time {
        let Some(local) = self.data.local() else { return 0 };
        let (mut requests, mut lists) = (0, 0u64);
        for member in members(rank, local, &self.parties.topology) {
            requests += self.counts.requests[member];
            lists += 1;
        }
        ticks(requests as f64 * levels(lists) * self.requests.merge)
    }

    /// Returns the time in which an aggregator finds where the bytes of a window belong, and copies them. ROMIO merges
    /// the lists of all senders.
    fn placing(&self, round: usize, index: usize) -> Time {
        let held = &self.counts.rounds[round].windows[index];
        let request = match self.counts.division.lists {
            MetadataForm::Pairs => levels(self.rounds[round].fan_in(index) as u64) * self.requests.merge,
            MetadataForm::Packed => self.requests.visit,
        };
        ticks(held.requests as f64 * request + held.bytes as f64 * self.copy_byte)
    }

    /// Returns the write of a window, from the first byte with data to the last.
    fn in_file(&self, round: usize, index: usize) -> Option<Step> {
        let held = &self.counts.rounds[round].windows[index];
        let SharedFile { domains, striping, .. } = self.counts.file();
        let striping = (self.options.io && held.bytes > 0).then_some(*striping)?;
        let segments = domains.window(index, held.from).trimmed(held.from, held.to).segments();
        Some(Step::Write(segments.collect(), striping))
    }

    /// Simulates the write on `machine`.
    ///
    /// # Errors
    /// Errors of [`sim::run`].
    pub fn run(&self, machine: &Machine) -> Result<SimOutcome> {
        sim::run(machine, &self.parties.topology, self, 0, |_| ())
    }

    /// Returns one rank's schedule of an allreduce of one number by recursive doubling.
    fn agreement(&self, rank: Rank) -> Schedule {
        let problem = Problem {
            rank,
            topology: &self.parties.topology,
            root: 0,
            sizes: &self.agreed,
            with: ReduceOp::Max,
            segment: AGREED,
            groups: None,
        };
        (RECURSIVE_DOUBLING.algorithm.schedule)(&problem)
    }

    fn messages_of(&self, part: u32) -> Option<(&ExchangeMessages, &PhaseKernel)> {
        match self.stages[part as usize] {
            WriteStage::Lists(number) => Some((&self.lists[number], &self.metadata)),
            WriteStage::Data(number) => Some((&self.rounds[number], &self.data)),
            _ => None,
        }
    }
}

/// Returns the number of levels of a heap over `lists` lists.
fn levels(lists: u64) -> f64 {
    f64::from(lists.max(1).next_power_of_two().ilog2())
}

fn ticks(cost: f64) -> Time {
    cost.round() as Time
}

/// Returns the messages with the access lists, from every rank to every aggregator: the heads, and the rests.
pub(super) fn list_messages(lists: &AmountMatrix, aggregators: usize) -> [AmountMatrix; 2] {
    let mut both = [Vec::with_capacity(lists.rows()), Vec::with_capacity(lists.rows())];
    for rank in 0..lists.rows() {
        let lengths = lists.row(rank).iter().map(|cell| (cell.peer as usize, cell.amount as usize));
        let sends = planning::list_messages(aggregators, lengths);
        for (rows, sends) in both.iter_mut().zip(sends) {
            let cell =
                |send: Transfer<ReceiverIndex>| PeerAmount { peer: send.peer.0 as u32, amount: send.span.len as u32 };
            rows.push(sends.into_iter().map(cell).collect::<Vec<_>>());
        }
    }
    both.map(|rows| AmountMatrix::of_rows(rows.iter().map(Vec::as_slice)))
}

impl Workload for CollectiveWrite {
    fn part(&self, rank: Rank, part: u32) -> Option<WorkPart> {
        let stage = *self.stages.get(part as usize)?;
        Some(match self.messages_of(part) {
            Some((travel, way)) => travel.part(rank, way, &self.parties),
            None if matches!(stage, WriteStage::Agree | WriteStage::AgreeAgain) => {
                WorkPart::Schedule(self.agreement(rank))
            }
            None => WorkPart::Step(self.step(rank, stage)),
        })
    }

    fn message(&self, rank: Rank, part: u32, side: ChainSide, index: u32) -> ChainMessage {
        match self.messages_of(part) {
            Some((travel, way)) => travel.message(rank, side, index, way, &self.parties),
            None => ChainMessage { peer: rank, bytes: 0, mode: self.data.kernel().mode },
        }
    }

    fn phase(&self, part: u32) -> Option<usize> {
        Some(match self.stages.get(part as usize)? {
            WriteStage::Flatten | WriteStage::Merge | WriteStage::AgreeAgain => ONCE,
            WriteStage::Lists(_) | WriteStage::Agree => METADATA,
            WriteStage::Data(_) => DATA,
            WriteStage::Place(_) => PLACING,
            WriteStage::Room | WriteStage::Write(_) | WriteStage::Settle => FILE,
            WriteStage::Finish => FINISH,
        })
    }
}
