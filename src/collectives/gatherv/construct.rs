//! The ordered tree from sizes that only their owners know (irregular gather and scatter, Lemma 3).
//!
//! Every cube has a **fixed root**, its last rank, whom all can compute, and a gather root, who depends on the sizes. Both
//! know the cube's [`Run`]: who the gather root is, and how many bytes it holds. Where two cubes join, their fixed roots
//! exchange these runs, then each passes on to its gather root what it has heard; both pairs then decide alike. Nothing is
//! said that is known: that the operation's root receives wherever it takes part, all know.
//!
//! ceil(log2 p) levels of an exchange and (but in the first) one message more: at most (2 ceil(log2 p) - 1) t_s, messages
//! of 32 bytes. With a threshold the runs that go to the root directly are listed for it, 32 bytes each, on the way: the
//! fabric has no receive from any rank, so their number alone, which suffices the paper, would not.
//!
//! The peers of a level depend on what was heard in those before it: each level is two schedules, made when it comes.
//! [`build`] and [`build_among`] run them. Among some ranks only, "rank" is the number of a member. The [`Part`] that results serves any number of gathers and scatters with the same sizes.

use super::part::Part;
use super::tree::{Rule, Run, join};
use crate::collectives::{Group, IRREGULAR};
use crate::error::{Error, Result};
use crate::fabric::{Buffers, Endpoint, Traffic};
use crate::schedule::{Buffer, Builder, Schedule, SendMode, Span};
use crate::topology::Rank;

/// Bytes of an encoded run.
const RUN: u64 = 32;
/// Stages of the messages; those of the data have 0.
const EXCHANGE: u8 = 1;
const NOTICE: u8 = 2;

/// One rank's construction of the tree, a step at a time.
#[derive(Debug)]
pub struct Construction {
    part: Part,
    group: Group,
    rule: Rule,
    /// Level d: cubes of 2^d ranks.
    level: u32,
    /// The exchange of this level has been run.
    exchanged: bool,
    /// What this rank knows as fixed root of its cube; none if it is not.
    fixed: Option<Run>,
    /// What this rank holds as gather root of its cube; none if it is not.
    gathered: Option<Run>,
    /// As fixed root: the runs of its cube that go to the root directly.
    direct: Vec<Run>,
    /// What was heard at this level of the neighbour: its run, then those of it that go to the root directly.
    heard: Vec<Run>,
}

/// A cube and its neighbour at one level, seen from a rank.
struct Pair {
    own: std::ops::Range<Rank>,
    other: std::ops::Range<Rank>,
}

impl Construction {
    /// Of a rank with `bytes` bytes.
    ///
    /// # Errors
    /// A root that is no rank.
    pub fn new(rank: Rank, ranks: usize, root: Rank, bytes: u64, threshold: Option<u64>) -> Result<Self> {
        Self::among(Group::world(rank, ranks), root, bytes, threshold)
    }

    /// Of a member with `bytes` bytes; `root` is the number of a member.
    ///
    /// # Errors
    /// A root that is no member.
    pub fn among(group: Group, root: usize, bytes: u64, threshold: Option<u64>) -> Result<Self> {
        if root >= group.size() {
            return Err(Error::argument("root", root, format!("0 to {}", group.size().saturating_sub(1))));
        }
        let own = Some(Run::own(group.me(), bytes));
        Ok(Self {
            part: Part::new(group.me(), root, bytes),
            group,
            rule: Rule::BySize { threshold },
            level: 0,
            exchanged: false,
            fixed: own,
            gathered: own,
            direct: Vec::new(),
            heard: Vec::new(),
        })
    }

    /// What this rank knows as fixed root, and what it holds as gather root, of its cube of 2^level ranks.
    pub fn knows(&self) -> (u32, Option<Run>, Option<Run>) {
        (self.level, self.fixed, self.gathered)
    }

    /// The next schedule to run, and its memory; none when the tree is finished. All ranks take equally many steps; at
    /// many of them a rank has nothing to do, and the schedule is empty.
    pub fn step(&self) -> Option<(Schedule, Buffers)> {
        if 1 << self.level >= self.group.size() {
            return None;
        }
        let mut builder = Builder::default();
        let mut buffers = Buffers::default();
        if let Some(pair) = self.pair() {
            let capacity = RUN * (1 + pair.other.len() as u64);
            if self.exchanged { self.notice(&pair, capacity) } else { self.exchange(&pair, capacity) }.put(
                &self.group,
                &mut builder,
                &mut buffers,
            );
        }
        Some((builder.finish(), buffers))
    }

    /// Takes in what the schedule of [`Construction::step`] brought.
    ///
    /// # Errors
    /// A neighbour was to be heard and was not.
    pub fn advance(&mut self, buffers: &Buffers) -> Result<()> {
        let brought = decode(buffers.get(Buffer::Receive));
        if !brought.is_empty() {
            self.heard = brought;
        }
        if !self.exchanged {
            self.exchanged = true;
            return Ok(());
        }
        self.exchanged = false;
        if let Some(pair) = self.pair() {
            self.join(&pair)?;
        }
        self.heard.clear();
        self.level += 1;
        Ok(())
    }

    /// This rank's part of the finished tree.
    pub fn finish(mut self) -> Part {
        self.part.received.sort_unstable_by_key(|run| run.first);
        self.part
    }

    /// This rank's cube and the one it joins, if there is one.
    fn pair(&self) -> Option<Pair> {
        let cube = |number: usize| (number << self.level)..((number + 1) << self.level).min(self.group.size());
        let number = self.part.own.gatherer >> self.level;
        let other = cube(number ^ 1);
        (other.start < self.group.size()).then(|| Pair { own: cube(number), other })
    }

    /// Fixed roots tell each other of their cubes; of the root's cube there is nothing to tell. Directs are told only to
    /// who needs them: the fixed root of the joined cube, or the root's.
    fn exchange(&self, pair: &Pair, capacity: u64) -> Talk {
        let Some(run) = self.fixed else { return Talk::default() };
        let (root, partner) = (&self.part.root, pair.other.end - 1);
        let listed = pair.own.start < pair.other.start || pair.other.contains(root);
        let directs = if listed { &self.direct[..] } else { &[] };
        Talk {
            stage: EXCHANGE,
            say: (!pair.own.contains(root)).then(|| (partner, encode(run, directs))),
            hear: (!pair.other.contains(root)).then_some((partner, capacity)),
        }
    }

    /// A fixed root passes on to its gather root what it has heard, unless the two are one or nothing was to be heard.
    fn notice(&self, pair: &Pair, capacity: u64) -> Talk {
        let (rank, root, last) = (self.part.own.gatherer, self.part.root, pair.own.end - 1);
        let mut talk = Talk { stage: NOTICE, ..Talk::default() };
        if pair.other.contains(&root) {
            return talk;
        }
        if let Some((run, (first, directs))) = self.fixed.zip(self.heard.split_first())
            && run.gatherer != rank
        {
            talk.say = Some((run.gatherer, encode(*first, if run.gatherer == root { directs } else { &[] })));
        }
        talk.hear = (self.gathered.is_some() && rank != last).then_some((last, capacity));
        talk
    }

    /// Decides who sends, as fixed root, as gather root or both.
    fn join(&mut self, pair: &Pair) -> Result<()> {
        let (rank, root) = (self.part.own.gatherer, self.part.root);
        let Some(own) = self.gathered.or(self.fixed) else { return Ok(()) };
        let of_root = Run { gatherer: root, first: pair.other.start, end: pair.other.end, bytes: 0 };
        let told = self.heard.first().copied();
        let other = if pair.other.contains(&root) { Some(of_root) } else { told };
        let silent = || Error::Internal { rank, what: format!("level {}: the neighbour was not heard", self.level) };
        let other = other.ok_or_else(silent)?;
        let is_left = pair.own.start < pair.other.start;
        let (left, right) = if is_left { (own, other) } else { (other, own) };
        let join = join(left, right, root, self.rule);
        if self.gathered.is_some() {
            let sends = join.sent.gatherer == rank;
            self.part.to = self.part.to.or((sends && join.sent.bytes > 0).then_some(join.to));
            self.gathered = (!sends).then_some(join.held);
            if join.to == rank {
                let directs = self.heard.get(1..).filter(|_| rank == root).unwrap_or_default();
                let received = std::iter::once(&join.sent).chain(directs).filter(|run| run.bytes > 0);
                self.part.received.extend(received);
            }
        }
        self.fixed = (self.fixed.is_some() && !is_left).then_some(join.held);
        if self.fixed.is_some() && join.held.gatherer != root {
            self.direct.extend(self.heard.get(1..).unwrap_or_default());
            self.direct.extend((join.is_direct() && join.sent.bytes > 0).then_some(join.sent));
        }
        Ok(())
    }
}

/// At most one message out and one in.
#[derive(Debug, Default)]
struct Talk {
    stage: u8,
    say: Option<(Rank, Vec<u8>)>,
    hear: Option<(Rank, u64)>,
}

impl Talk {
    fn put(self, group: &Group, builder: &mut Builder, buffers: &mut Buffers) {
        builder.stage(self.stage);
        if let Some((to, bytes)) = self.say {
            builder.send(group.rank_of(to), SendMode::Standard, Span::new(Buffer::Send, 0, bytes.len() as u64), &[]);
            buffers.set(Buffer::Send, bytes);
        }
        if let Some((from, capacity)) = self.hear {
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
    bytes.chunks_exact(RUN as usize).map(run).collect()
}

/// Constructs the tree. Collective: every rank calls it with the same root and threshold, and its own number of bytes.
/// At most (2 ceil(log2 p) - 1) t_s.
///
/// # Errors
/// A root that is no rank, alike on all ranks and before anything is sent; the fabric's.
pub async fn build(endpoint: &mut Endpoint, root: Rank, bytes: u64, threshold: Option<u64>) -> Result<Part> {
    let world = Group::world(endpoint.rank(), endpoint.ranks());
    Ok(build_among(endpoint, world, root, bytes, threshold).await?.0)
}

/// The same among the members of a group; also what this rank has sent for it. Collective over the members, who all know
/// the group. The part, and `root`, are of numbers of members.
///
/// # Errors
/// A root that is no member, alike on all and before anything is sent; the fabric's.
pub async fn build_among(
    endpoint: &mut Endpoint,
    group: Group,
    root: usize,
    bytes: u64,
    threshold: Option<u64>,
) -> Result<(Part, Traffic)> {
    let mut construction = Construction::among(group, root, bytes, threshold)?;
    let mut traffic = Traffic::default();
    while let Some((schedule, mut buffers)) = construction.step() {
        traffic += endpoint.run(schedule, &mut buffers, IRREGULAR).await?;
        construction.advance(&buffers)?;
    }
    Ok((construction.finish(), traffic))
}
