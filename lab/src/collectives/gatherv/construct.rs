//! Construction of the ordered tree from sizes that only their owners know (irregular gather and scatter, Lemma 3).
//!
//! Every cube has a **fixed root**, its last rank, which all ranks can compute, and a gather root, which depends on the
//! sizes. Both know the cube's [`Run`]: the gather root and its bytes. When two cubes join, their fixed roots exchange
//! these runs, and each forwards the run that it received to its gather root. Then all four can decide who sends. A run
//! that everybody knows is not sent: the root of the operation always receives.
//!
//! ceil(log2 p) levels with an exchange each, and one more message in all but the first: at most (2 ceil(log2 p) - 1)
//! t_s with messages of 32 bytes. With a threshold, messages also list the runs that go to the root directly, 32 bytes
//! each. (The paper needs only their number, but this fabric cannot receive from any source.)
//!
//! The peers of a level depend on the runs received before, so each level is two schedules, which are made when it
//! begins. [`build`] and [`build_among`] run them. In a group, "rank" is the number of a member. The resulting
//! [`GatherPart`] serves any number of gathers and scatters with the same sizes.

use super::part::GatherPart;
use super::tree::{Rule, Run, join};
use crate::collectives::{Group, IRREGULAR};
use tributary::error::{Error, Result};
use tributary::fabric::{Buffers, Endpoint, Traffic};
use tributary::schedule::{Buffer, Builder, Schedule, SendMode, Span};
use tributary::topology::Rank;

/// Number of bytes of a run in a message.
const RUN_BYTES: u64 = 32;
/// Stage of the messages between fixed roots. Messages with data have stage 0.
const EXCHANGE: u8 = 1;
const FORWARD: u8 = 2;

/// One rank's construction of the ordered gather tree, one step at a time.
#[derive(Debug)]
pub struct Construction {
    part: GatherPart,
    group: Group,
    rule: Rule,
    /// Level d of the construction: cubes of 2^d ranks join.
    level: u32,
    /// True if the exchange of this level has been run.
    exchanged: bool,
    /// Run of this rank's cube, if this rank is the cube's fixed root.
    fixed: Option<Run>,
    /// Run of this rank's cube, if this rank is the cube's gather root.
    gathered: Option<Run>,
    /// On a fixed root: the runs of the root's cube that go to the operation's root directly.
    direct: Vec<Run>,
    /// Runs received at this level: the neighbouring cube's run, then those of the neighbour's runs that go to the root
    /// directly.
    neighbour_runs: Vec<Run>,
}

/// Cube and its neighbour at one level, as one rank sees them.
struct CubePair {
    own: std::ops::Range<Rank>,
    other: std::ops::Range<Rank>,
}

impl Construction {
    /// Creates the construction on a rank whose block has `bytes` bytes. Subtrees of more than `threshold` bytes go to
    /// the root directly.
    ///
    /// # Errors
    /// A root that is not a rank.
    pub fn new(rank: Rank, ranks: usize, root: Rank, bytes: u64, threshold: Option<u64>) -> Result<Self> {
        Self::among(Group::world(rank, ranks), root, bytes, threshold)
    }

    /// Creates a construction among the members of `group`, like [`Construction::new`]; `root` is the number of a
    /// member.
    ///
    /// # Errors
    /// A root that is not a member.
    pub fn among(group: Group, root: usize, bytes: u64, threshold: Option<u64>) -> Result<Self> {
        if root >= group.size() {
            return Err(Error::argument("root", root, format!("0 to {}", group.size().saturating_sub(1))));
        }
        let own = Some(Run::own(group.me(), bytes));
        Ok(Self {
            part: GatherPart::new(group.me(), root, bytes),
            group,
            rule: Rule::BySize { threshold },
            level: 0,
            exchanged: false,
            fixed: own,
            gathered: own,
            direct: Vec::new(),
            neighbour_runs: Vec::new(),
        })
    }

    /// Returns the level, and the run of this rank's cube of 2^level ranks: first if this rank is its fixed root, then
    /// if it is its gather root.
    pub fn known_runs(&self) -> (u32, Option<Run>, Option<Run>) {
        (self.level, self.fixed, self.gathered)
    }

    /// Returns the next schedule to run and the schedule's memory; `None` when the tree is finished. All ranks take the
    /// same number of steps; a rank that has nothing to do in a step gets an empty schedule.
    pub fn step(&self) -> Option<(Schedule, Buffers)> {
        if 1 << self.level >= self.group.size() {
            return None;
        }
        let mut builder = Builder::default();
        let mut buffers = Buffers::default();
        if let Some(pair) = self.pair() {
            let capacity = RUN_BYTES * (1 + pair.other.len() as u64);
            if self.exchanged { self.forward(&pair, capacity) } else { self.exchange(&pair, capacity) }.add_to(
                &self.group,
                &mut builder,
                &mut buffers,
            );
        }
        Some((builder.finish(), buffers))
    }

    /// Evaluates the messages that the schedule of [`Construction::step`] received.
    ///
    /// # Errors
    /// The neighbour's run is missing.
    pub fn advance(&mut self, buffers: &Buffers) -> Result<()> {
        let runs = decode(buffers.get(Buffer::Receive));
        if !runs.is_empty() {
            self.neighbour_runs = runs;
        }
        if !self.exchanged {
            self.exchanged = true;
            return Ok(());
        }
        self.exchanged = false;
        if let Some(pair) = self.pair() {
            self.join(&pair)?;
        }
        self.neighbour_runs.clear();
        self.level += 1;
        Ok(())
    }

    /// Returns this rank's part of the finished tree.
    pub fn finish(mut self) -> GatherPart {
        self.part.received.sort_unstable_by_key(|run| run.first);
        self.part
    }

    /// Returns this rank's cube and the cube that it joins at this level; `None` if there is no such cube.
    fn pair(&self) -> Option<CubePair> {
        let cube = |number: usize| (number << self.level)..((number + 1) << self.level).min(self.group.size());
        let number = self.part.own.gatherer >> self.level;
        let other = cube(number ^ 1);
        (other.start < self.group.size()).then(|| CubePair { own: cube(number), other })
    }

    /// Returns the messages between the fixed roots of two cubes. The run of the operation's root is known and not
    /// sent. Runs that go to the root directly are sent only to the fixed root of the joined cube, and to the fixed
    /// root of the cube that holds the operation's root.
    fn exchange(&self, pair: &CubePair, capacity: u64) -> RunMessages {
        let Some(run) = self.fixed else { return RunMessages::default() };
        let (root, partner) = (&self.part.root, pair.other.end - 1);
        let listed = pair.own.start < pair.other.start || pair.other.contains(root);
        let directs = if listed { &self.direct[..] } else { &[] };
        RunMessages {
            stage: EXCHANGE,
            send: (!pair.own.contains(root)).then(|| (partner, encode(run, directs))),
            receive: (!pair.other.contains(root)).then_some((partner, capacity)),
        }
    }

    /// Returns the message from a fixed root to its gather root with the runs that the fixed root received; none if
    /// both are one rank or nothing was received.
    fn forward(&self, pair: &CubePair, capacity: u64) -> RunMessages {
        let (rank, root, last) = (self.part.own.gatherer, self.part.root, pair.own.end - 1);
        let mut messages = RunMessages { stage: FORWARD, ..RunMessages::default() };
        if pair.other.contains(&root) {
            return messages;
        }
        if let Some((run, (first, directs))) = self.fixed.zip(self.neighbour_runs.split_first())
            && run.gatherer != rank
        {
            messages.send = Some((run.gatherer, encode(*first, if run.gatherer == root { directs } else { &[] })));
        }
        messages.receive = (self.gathered.is_some() && rank != last).then_some((last, capacity));
        messages
    }

    /// Joins two cubes on their fixed roots and gather roots: decides which gather root sends.
    fn join(&mut self, pair: &CubePair) -> Result<()> {
        let (rank, root) = (self.part.own.gatherer, self.part.root);
        let Some(own) = self.gathered.or(self.fixed) else { return Ok(()) };
        let of_root = Run { gatherer: root, first: pair.other.start, end: pair.other.end, bytes: 0 };
        let received = self.neighbour_runs.first().copied();
        let other = if pair.other.contains(&root) { Some(of_root) } else { received };
        let missing = || Error::internal(rank, format!("level {}: the neighbour's run is missing", self.level));
        let other = other.ok_or_else(missing)?;
        let is_left = pair.own.start < pair.other.start;
        let (left, right) = if is_left { (own, other) } else { (other, own) };
        let join = join(left, right, root, self.rule);
        if self.gathered.is_some() {
            let sends = join.sent.gatherer == rank;
            self.part.to = self.part.to.or((sends && join.sent.bytes > 0).then_some(join.to));
            self.gathered = (!sends).then_some(join.joined);
            if join.to == rank {
                let directs = self.neighbour_runs.get(1..).filter(|_| rank == root).unwrap_or_default();
                let received = std::iter::once(&join.sent).chain(directs).filter(|run| run.bytes > 0);
                self.part.received.extend(received);
            }
        }
        self.fixed = (self.fixed.is_some() && !is_left).then_some(join.joined);
        if self.fixed.is_some() && join.joined.gatherer != root {
            self.direct.extend(self.neighbour_runs.get(1..).unwrap_or_default());
            self.direct.extend((join.is_direct() && join.sent.bytes > 0).then_some(join.sent));
        }
        Ok(())
    }
}

/// Messages of one step of the construction: at most one to send and one to receive.
#[derive(Debug, Default)]
struct RunMessages {
    stage: u8,
    send: Option<(Rank, Vec<u8>)>,
    receive: Option<(Rank, u64)>,
}

impl RunMessages {
    fn add_to(self, group: &Group, builder: &mut Builder, buffers: &mut Buffers) {
        builder.stage(self.stage);
        if let Some((to, bytes)) = self.send {
            builder.send(group.rank_of(to), SendMode::Standard, Span::new(Buffer::Send, 0, bytes.len() as u64), &[]);
            buffers.set(Buffer::Send, bytes);
        }
        if let Some((from, capacity)) = self.receive {
            builder.receive(group.rank_of(from), Span::new(Buffer::Receive, 0, capacity), &[]);
        }
    }
}

fn encode(first: Run, more: &[Run]) -> Vec<u8> {
    let words = |run: &Run| [run.gatherer as u64, run.first as u64, run.end as u64, run.bytes];
    std::iter::once(&first).chain(more).flat_map(words).flat_map(u64::to_le_bytes).collect()
}

fn decode(bytes: &[u8]) -> Vec<Run> {
    let word = |run: &[u8], at: usize| u64::from_le_bytes(run[at * 8..at * 8 + 8].try_into().unwrap_or_default());
    let run = |run: &[u8]| Run {
        gatherer: word(run, 0) as Rank,
        first: word(run, 1) as Rank,
        end: word(run, 2) as Rank,
        bytes: word(run, 3),
    };
    bytes.chunks_exact(RUN_BYTES as usize).map(run).collect()
}

/// Constructs the ordered gather tree over ranks that know only their own number of bytes. Collective: every rank calls
/// it with the same root and threshold, and its own number of bytes. At most (2 ceil(log2 p) - 1) t_s.
///
/// # Errors
/// A root that is not a rank: the same on all ranks, before anything is sent. Errors of the fabric.
pub async fn build(endpoint: &mut Endpoint, root: Rank, bytes: u64, threshold: Option<u64>) -> Result<GatherPart> {
    let world = Group::world(endpoint.rank(), endpoint.ranks());
    Ok(build_among(endpoint, world, root, bytes, threshold).await?.0)
}

/// Constructs the tree among the members of a group, like [`build`]. Also returns the traffic of this rank. Collective
/// over the members, which all pass the same group. `root` and the ranks in the part are member numbers.
///
/// # Errors
/// A root that is not a member: the same on all members, before anything is sent. Errors of the fabric.
pub async fn build_among(
    endpoint: &mut Endpoint,
    group: Group,
    root: usize,
    bytes: u64,
    threshold: Option<u64>,
) -> Result<(GatherPart, Traffic)> {
    let mut construction = Construction::among(group, root, bytes, threshold)?;
    let mut traffic = Traffic::default();
    while let Some((schedule, mut buffers)) = construction.step() {
        traffic += endpoint.run(schedule, &mut buffers, IRREGULAR).await?;
        construction.advance(&buffers)?;
    }
    Ok((construction.finish(), traffic))
}
