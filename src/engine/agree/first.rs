//! The first agreement of a collective call. Every rank of a team brings its contribution: facts, footprint, small data. The
//! rank that decides merges them, chooses the path of the bytes, and does at once what it can: it writes the small data of
//! all ranks, finds the end of the file, opens the windows in shared memory. So a call with little data ends with this
//! agreement, and so does a call whose ranks have all moved their own large pieces.
//!
//! The encoding of a contribution, of one rank or of several merged ranks, is the same in a slot of shared memory and in a
//! message.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;
use tributary_base::wire::frame::Encoder;
use tributary_base::wire::{self, Output, Wire};

use crate::access::{Access, Direction, Extent, Extents, Source, Tiling};
use crate::collectives::team::{Combine, Team};
use crate::drivers::Layout;
use crate::engine::agree::calls::{CallFault, CallForm, CallKinds};
use crate::engine::agree::facts::{Agreed, Facts};
use crate::engine::agree::footprint::Footprint;
use crate::engine::agree::inline::{self, OwnData, block_len, data_of_blocks};
use crate::engine::agree::ranges::RankRanges;
use crate::engine::choose::SMALL_OF_ALL;
use crate::engine::choose::cost::{Expected, FileWork};
use crate::engine::choose::learned::Learned;
use crate::engine::choose::rules::Rules;
use crate::engine::exchange::kept_plans::AccessShift;
use crate::engine::exchange::planner::ExchangePlanner;
use crate::engine::io::handle::publish_writes;
use crate::engine::io::terms::FileTerms;
use crate::engine::io::{Moved, Storage, StorageFailure, end, probe};
use crate::engine::shared::Arena;
use crate::engine::shared::window_writer::Runs;
use crate::engine::trace::counts::Outcome;
use crate::engine::trace::path::{Path, Reason};
use crate::error::{Error, FileOperation, Result};
use crate::fabric::Endpoint;
use crate::hints::{Hints, Switch};
use crate::topology::Rank;

/// The contribution of one rank, or of several merged ranks, to the first agreement of a call.
#[derive(Clone)]
pub struct Contribution<'a> {
    /// Arguments, errors and access statistics of the ranks.
    pub facts: Facts,
    ranges: RankRanges,
    /// The ranges of the file that the hosts of the ranks access.
    footprint: Footprint,
    /// This rank's small data, for the rank that decides; `None` if this rank keeps its data.
    data: Option<OwnData<'a>>,
    /// Number of bytes of the small data of all ranks, encoded.
    small: usize,
    /// Maximum number of bytes of the small data of all ranks, encoded.
    most_small: usize,
    /// Offset of the small data in each merged contribution, in their order.
    starts: SmallVec<[u32; 16]>,
}

/// The parts of an encoded contribution.
struct Decoded {
    facts: Facts,
    ranges: RankRanges,
    footprint: Footprint,
    /// Offset and number of bytes of the small data.
    blocks: (usize, usize),
}

impl<'a> Contribution<'a> {
    /// Returns the contribution of one rank without data; `footprint` is the ranges that the rank accesses.
    #[inline]
    pub fn new(facts: Facts, footprint: Footprint) -> Self {
        Self {
            facts,
            ranges: RankRanges::from_ranges(facts.range().into_iter()),
            footprint,
            data: None,
            small: 0,
            most_small: SMALL_OF_ALL,
            starts: SmallVec::new(),
        }
    }

    /// Adds the data of this rank, `rank`, if its access to `file` is small enough. `data` is `None` in a prediction, which
    /// needs only the length.
    pub fn bring(&mut self, rank: Rank, file: &Extents, data: Option<Access<'a, Source<'a>>>) {
        if let Some(len) = block_len(file) {
            (self.facts.is_inline, self.small) = (true, len);
            self.data = data.map(|access| OwnData { rank, access });
        }
    }

    /// Removes the limit on the length of small data, because the data stays in shared memory.
    pub fn stay_in_memory(&mut self) {
        self.most_small = usize::MAX;
    }

    /// Merges the contribution of other ranks into this one.
    pub fn merge(&mut self, other: &Self) {
        self.add(&other.facts, other.ranges.clone(), other.footprint.clone(), other.small);
    }

    /// Merges the encoded contribution of other ranks into this one. Returns false if it cannot be decoded.
    #[must_use]
    pub fn merge_encoded(&mut self, body: &[u8]) -> bool {
        let decoded = Decoded::from(body);
        self.starts.push(decoded.as_ref().map_or(body.len(), |decoded| decoded.blocks.0) as u32);
        let is_decoded = decoded.is_some();
        if let Some(Decoded { facts, ranges, footprint, blocks }) = decoded {
            self.add(&facts, ranges, footprint, blocks.1);
        }
        is_decoded
    }

    fn add(&mut self, facts: &Facts, ranges: RankRanges, footprint: Footprint, small: usize) {
        self.small += small;
        self.facts.merge(facts);
        self.facts.is_inline &= self.small <= self.most_small;
        self.ranges.merge(ranges);
        self.footprint.merge(footprint);
    }

    /// Returns the result of the agreement. `self` must be the merged contribution of all ranks.
    pub fn agreed(&self, tiling: Tiling, direction: Direction) -> Agreed {
        Agreed::from_facts(
            &self.facts,
            &self.ranges,
            tiling,
            self.footprint.host_part().map(|_| Expected::default()),
            direction,
        )
    }

    /// Encodes the contribution, which has been merged with `others`. Leaves the footprint out if there is no room.
    pub fn encode(&self, others: &[&[u8]], out: &mut Encoder<'_>) {
        out.put(&self.facts);
        out.put(&self.ranges);
        let small = if self.facts.is_inline { self.small } else { 0 };
        self.footprint.encode(out, small);
        if self.facts.is_inline {
            self.data.iter().for_each(|own| own.encode(out));
            self.blocks_of(others).for_each(|blocks| out.bytes(blocks));
        }
    }

    /// Returns the small data in merged contributions.
    fn blocks_of<'o>(&self, others: &[&'o [u8]]) -> impl Iterator<Item = &'o [u8]> {
        others.iter().zip(&self.starts).map(|(body, start)| body.get(*start as usize..).unwrap_or_default())
    }

    /// Writes the small data of all ranks, on the rank that decides; adds to `written`, in bytes.
    ///
    /// # Errors
    /// The first write that fails.
    pub fn write(
        &self,
        others: &[&[u8]],
        storage: &dyn Storage,
        written: &mut Moved,
    ) -> std::result::Result<(), StorageFailure> {
        inline::write(storage, self.data, (others, &self.starts), written)
    }
}

impl Decoded {
    /// Decodes a contribution; `None` if its facts or ranges are damaged. Small data that is not whole blocks of the
    /// announced length is ignored: the ranks still have it.
    fn from(body: &[u8]) -> Option<Self> {
        let mut rest = body;
        let mut facts: Facts = wire::take(&mut rest)?;
        let ranges = RankRanges::decode(&mut rest)?;
        let footprint = Footprint::decode(&mut rest);
        facts.is_inline &= data_of_blocks(rest) == Some(facts.left.bytes);
        let len = if facts.is_inline { rest.len() } else { 0 };
        Some(Self { facts, ranges, footprint, blocks: (body.len() - rest.len(), len) })
    }
}

impl Contribution<'_> {
    /// Returns a contribution from its encoding; `None` if it is damaged.
    pub fn from_encoded(body: &[u8]) -> Option<Self> {
        let Decoded { facts, ranges, footprint, blocks } = Decoded::from(body)?;
        let starts = SmallVec::from_slice(&[blocks.0 as u32]);
        Some(Self { ranges, small: blocks.1, starts, ..Self::new(facts, footprint) })
    }

    /// Returns the small data in `body`, the encoding of this contribution; nothing if the ranks keep their data.
    pub fn small_data<'b>(&self, body: &'b [u8]) -> &'b [u8] {
        if self.facts.is_inline { &body[self.starts[0] as usize..] } else { &[] }
    }
}

/// Values of a file from which each rank forms its part in a first agreement; equal on all ranks.
#[derive(Debug, Clone, Copy)]
pub struct VoteTerms {
    /// Hash that shows whether the pieces of all ranks tile a range.
    pub tiling: Tiling,
    /// True if every host may write and read the bytes of its ranks without other hosts.
    pub by_host: bool,
    /// Size in bytes of the blocks of the file that two hosts must not both access, if each host moves its own bytes.
    pub host_unit: u64,
    /// True if rank 0 may write small data of all ranks.
    pub first_writes: bool,
}

impl VoteTerms {
    /// Returns the terms of a file whose exchanges `exchange` plans.
    pub fn new(tiling: Tiling, by_host: bool, hints: &Hints, exchange: &ExchangePlanner, layout: &Layout) -> Self {
        let host_unit = match hints.host_domains {
            // Two hosts must not access the same block of the file system.
            Switch::Enable => layout.unit.max(exchange.windows.lock_unit),
            Switch::Automatic | Switch::Disable => 1,
        };
        let is_first = exchange.roles.aggregators.first() == Some(&0);
        let first_writes = hints.tiny_call > 0 && hints.cb_write != Switch::Disable && is_first;
        Self { tiling, by_host, host_unit, first_writes }
    }
}

/// This rank's part in a first agreement.
pub struct OpeningVote<'a> {
    /// The values of the file from which all ranks form their parts.
    pub votes: &'a VoteTerms,
    /// Settings of the file that do not change while it is open.
    pub file: &'a FileTerms,
    /// The rules that choose the path.
    pub rules: Rules<'a>,
    pub rank: Rank,
    /// This rank's facts, footprint and small data.
    pub contribution: Contribution<'a>,
    /// Windows in the memory that the ranks of the team share; `None` if they share none, or the call has no data.
    pub arena: Option<&'a Arena>,
    /// This rank's handle of the file (or the error of opening it), if this rank may decide and then use the file.
    pub storage: Option<Result<Arc<dyn Storage>>>,
    /// This rank's own data, which it may write first to measure the file; `None` in a read.
    pub data: Option<Access<'a, Source<'a>>>,
    /// What this rank needs to weigh ways if it decides; `None` if the call has no data.
    pub weighing: Option<Weighing<'a>>,
    /// This rank's error, if it has one.
    pub error: &'a mut Option<Error>,
}

/// What a rank that decides needs to weigh the ways of a write of which each host has its own part.
pub struct Weighing<'a> {
    /// What was learned in earlier calls.
    pub learned: &'a mut Learned,
    /// Plans the exchange.
    pub planner: &'a ExchangePlanner,
}

/// The facts, extents and earlier outcome from which one rank forms its contribution to a first agreement.
pub struct OwnVote<'a> {
    pub rank: Rank,
    /// Number of this rank's host, and true if this rank is its only rank; `None` if the ranks of all hosts share memory.
    pub host: Option<(usize, bool)>,
    /// The extents of the file, as the program passed them, and in the order in which the rank moves them.
    pub extents: (&'a Extents, &'a Extents),
    /// The outcome, if the rank has moved its bytes already.
    pub early: Option<&'a Outcome>,
    /// How the access relates to the accesses of kept plans, and the number of windows that it touches.
    pub reuse: (AccessShift, u64),
    /// True if the rank has an error: then it brings no data.
    pub failed: bool,
    /// Form of the call: blocking, non-blocking or split.
    pub form: CallForm,
}

impl OpeningVote<'_> {
    /// Makes the first agreement of a call. Sets `agreed`, the same on all ranks of the team. Sets this rank's error if this
    /// rank decides and then fails to use the file or the memory. Returns the extents of the file in which every byte has
    /// data, unless ranks overlap; none if they are unknown. Collective over the team.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub async fn agree(&mut self, endpoint: &mut Endpoint, team: &Team, agreed: &mut Agreed) -> Result<Runs> {
        if self.error.is_some() {
            self.contribution.facts.fail(self.rank);
        }
        let answer = team.combine(endpoint, self).await?;
        let mut rest = &answer[..];
        let damaged = || Error::internal(self.rank, "a decision cannot be decoded");
        *agreed = wire::take(&mut rest).ok_or_else(damaged)?;
        Ok(if agreed.decision.path == Path::Windows { runs(agreed, rest) } else { Runs::new() })
    }

    /// Finds the end of the file for a read whose ranks have something left to read. All ranks have arrived: a rank may have
    /// made the file longer just before.
    fn find_end(&mut self) {
        let facts = &mut self.contribution.facts;
        let reads = self.rules.direction == Direction::Read && facts.failed.is_none() && !facts.calls.are_mixed();
        if let Some(storage) = self.storage.as_ref().filter(|_| reads && facts.left.bytes > 0) {
            match end(storage, self.rank, &self.file.path) {
                Ok(end) => facts.limit = end,
                Err(cause) => {
                    facts.fail(self.rank);
                    *self.error = Some(cause);
                }
            }
        }
    }

    /// Writes this rank's first piece and measures it: [`probe`]. If the write fails, the call fails.
    fn probe(&mut self, agreed: &mut Agreed) -> Option<FileWork> {
        let (Some(Ok(storage)), Some(data)) = (&self.storage, &self.data) else { return None };
        probe(&**storage, data).unwrap_or_else(|failure| {
            agreed.failed = Some(CallFault::OfRank(self.rank));
            *self.error = Some(failure.into_error(self.rank, &self.file.path));
            None
        })
    }

    /// Decides again with the expected times of each host by itself and of an exchange. Where nothing is known of the file,
    /// measures it first.
    fn weigh_hosts(&mut self, agreed: &mut Agreed) {
        let (Some(part), Some(weighing)) = (self.contribution.footprint.host_part(), &self.weighing) else { return };
        let probed = if weighing.learned.ways.is_worth_probing(part) { self.probe(agreed) } else { None };
        let Some(Weighing { learned, planner }) = &mut self.weighing else { return };
        if let Some(work) = probed {
            learned.ways.speed.observe(work);
            self.file.call_costs[0].learn(work);
        }
        let left = &agreed.shape.left;
        let movers = planner.movers(left, learned.paces);
        agreed.shape.apart = Some(learned.ways.weigh(part, left, movers));
        agreed.decision = self.rules.decide(&agreed.shape);
    }

    /// Decides again if calls on the file take long. Where nothing is known of the file, and ranks would make many calls, measures
    /// it first.
    fn weigh_windows(&mut self, arena: &Arena, agreed: &mut Agreed) {
        let cost = self.file.call_costs[usize::from(self.data.is_none())].clone();
        if agreed.decision.reason == Reason::LargePieces && cost.is_worth_probing(agreed.shape.left.most) {
            self.probe(agreed).into_iter().for_each(|work| cost.learn(work));
        }
        agreed.shape.slow_call = cost.slow_call().or(arena.slow_call());
        if agreed.shape.slow_call.is_some() {
            agreed.decision = self.rules.decide(&agreed.shape);
        }
    }

    /// Opens the windows of a call. Without memory, the ranks move their bytes directly, if that is possible.
    fn open_windows(&self, arena: &Arena, agreed: &mut Agreed) -> Result<()> {
        match arena.prepare(&agreed.decision.windows) {
            Ok(()) => {
                // Bytes that ranks wrote before the agreement count too.
                arena.call().written.store(agreed.shape.transferred, Ordering::Release);
                Ok(())
            }
            Err(_) if agreed.shape.slow_call.is_some() => {
                // A smaller ring may have room.
                agreed.shape.slow_call = None;
                agreed.decision = self.rules.decide(&agreed.shape);
                if agreed.decision.path == Path::Windows { self.open_windows(arena, agreed) } else { Ok(()) }
            }
            Err(_) if self.rules.direction == Direction::Read || agreed.shape.disjoint == Some(true) => {
                agreed.shape.no_memory = true;
                agreed.decision = self.rules.decide(&agreed.shape);
                Ok(())
            }
            Err(cause) => {
                agreed.failed = Some(CallFault::OfRank(self.rank));
                Err(Error::io(
                    self.rank,
                    FileOperation::TakeSharedMemory,
                    &self.file.path,
                    agreed.shape.left.start,
                    &cause,
                ))
            }
        }
    }
}

impl Combine for OpeningVote<'_> {
    fn merge(&mut self, other: &[u8]) {
        if !self.contribution.merge_encoded(other) {
            let what = "the facts of another rank cannot be decoded".to_string();
            *self.error = Some(Error::internal(self.rank, what));
            self.contribution.facts.fail(self.rank);
        }
    }

    fn encode(&self, others: &[&[u8]], out: &mut Encoder<'_>) {
        self.contribution.encode(others, out);
    }

    fn decide(&mut self, others: &[&[u8]], out: &mut Encoder<'_>) {
        self.find_end();
        let (file, rules) = (self.file, self.rules);
        let may_write = self.storage.is_some() && (rules.in_memory || rules.direction == Direction::Write);
        let mut agreed = decided(self.votes, &self.contribution, rules, may_write);
        match (agreed.decision.path, self.arena) {
            _ if agreed.failed.is_some() => {}
            (Path::Hosts, _) => self.weigh_hosts(&mut agreed),
            (Path::Windows | Path::Direct, Some(arena)) => self.weigh_windows(arena, &mut agreed),
            _ => {}
        }
        if agreed.decision.path == Path::Exchange && self.weighing.is_some() {
            agreed.shape.slow_call = Some(file.call_costs[0].nanos()).filter(|&nanos| nanos > 0);
        }
        let done = match (agreed.decision.path, &self.storage, self.arena) {
            _ if agreed.failed.is_some() => Ok(()),
            (Path::Root | Path::Slots, Some(storage), _) => {
                let contribution = &self.contribution;
                agreed.write_along(storage, (self.rank, &file.path), |storage, written| {
                    contribution.write(others, storage, written).and_then(|()| publish_writes(file, storage))
                })
            }
            (Path::Windows, _, Some(arena)) => self.open_windows(arena, &mut agreed),
            _ => Ok(()),
        };
        if let Err(error) = done {
            *self.error = Some(error);
        }
        out.put(&agreed);
        if agreed.decision.path == Path::Windows {
            self.contribution.footprint.encode(out, 0);
        }
    }
}

/// Returns the extents in which every byte has data unless ranks overlap: the whole range, or the footprint that follows in
/// the answer. If the number of bytes differs from that of the footprint, there are holes.
fn runs(agreed: &Agreed, mut rest: &[u8]) -> Runs {
    let left = &agreed.shape.left;
    if left.bytes == left.span() {
        return Runs::from_elem(Extent { offset: left.start, len: left.span() }, 1);
    }
    let footprint = Footprint::decode(&mut rest);
    if footprint.is_filled_by(left.bytes) { footprint.extents() } else { Runs::new() }
}

/// Returns true if the rank that decides may write small data of all ranks. If they share no memory, it is rank 0.
#[inline]
pub fn takes_small(votes: &VoteTerms, rules: Rules<'_>) -> bool {
    rules.direction == Direction::Write && (rules.in_memory || votes.first_writes)
}

/// Returns the contribution of a rank. `data` is its data in a write; `None` in a prediction.
#[inline]
pub fn contribution<'d>(
    votes: &VoteTerms,
    rules: Rules<'_>,
    own: OwnVote<'_>,
    data: Option<Access<'d, Source<'d>>>,
) -> Contribution<'d> {
    let Rules { direction, in_memory, .. } = rules;
    let OwnVote { rank, host, extents, early, reuse, failed, form } = own;
    let tiling = Some(votes.tiling).filter(|_| direction == Direction::Write || !in_memory);
    let mut facts = Facts::from_access(extents, reuse, early, tiling);
    facts.calls = CallKinds::new((direction, form).into(), rank);
    let mut contribution = Contribution::new(facts, footprint(votes, rules, host, extents.1));
    if !failed && early.is_none() && takes_small(votes, rules) {
        contribution.bring(rank, extents.1, data);
    }
    if in_memory {
        contribution.stay_in_memory();
    }
    contribution
}

/// Returns the result of the agreement and the decision, from the contribution of all ranks. `may_write` is true if the rank
/// that decides may write their small data.
#[inline]
pub fn decided(votes: &VoteTerms, all: &Contribution<'_>, rules: Rules<'_>, may_write: bool) -> Agreed {
    let mut agreed = all.agreed(votes.tiling, rules.direction);
    agreed.shape.is_inline &= may_write;
    agreed.decision = rules.decide(&agreed.shape);
    agreed
}

/// Returns the footprint of a rank of a host. If several hosts agree, it shows whether each host has bytes of its own. It is
/// then unknown if a host may not write or read without other hosts. It is also unknown if the rank is the only one of its
/// host, so that it shares windows with nobody, and its pieces are too small to be moved directly. If the ranks of one host
/// among others agree, it shows which bytes they write.
#[inline]
fn footprint(votes: &VoteTerms, rules: Rules<'_>, host: Option<(usize, bool)>, file: &Extents) -> Footprint {
    let Some((host, is_single)) = host else { return Footprint::unknown(0) };
    if rules.in_memory {
        let is_known = rules.direction == Direction::Write;
        return if is_known { Footprint::from_extents(0, file, 1) } else { Footprint::unknown(0) };
    }
    let is_left = is_single && file.count() > 0 && !rules.is_direct(file);
    if !votes.by_host || is_left {
        return Footprint::unknown(host);
    }
    Footprint::from_extents(host, file, votes.host_unit)
}

#[cfg(test)]
mod tests {
    use tributary_base::wire::frame;

    use super::*;
    use crate::access::BufferLayout;

    fn encoded(one: &Contribution<'_>, others: &[&[u8]]) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 16];
        frame::put(&mut bytes, |out| one.encode(others, out));
        frame::get(&bytes).to_vec()
    }

    #[test]
    fn a_contribution_survives_encoding() {
        let file = Extents::strided(7, 10, 30, 9).unwrap();
        let of =
            |file: &Extents| Facts::from_access((file, file), (AccessShift::No, 0), None, Some(Tiling::from_key(5)));
        let check = |one: &Contribution<'_>| {
            let decoded = Decoded::from(&encoded(one, &[])).unwrap();
            assert_eq!((decoded.facts, &decoded.ranges, &decoded.footprint), (one.facts, &one.ranges, &one.footprint));
            assert_eq!(decoded.blocks.1, if one.facts.is_inline { one.small } else { 0 });
        };
        let mut one = Contribution::new(of(&file), Footprint::from_extents(3, &file, 1));
        check(&one);
        let source = [7u8; 90];
        let access = Access { file: &file, layout: &BufferLayout::Contiguous, memory: Source::from(&source[..]) };
        one.bring(3, access.file, Some(access));
        check(&one);
        let mut none = Contribution::new(of(&Extents::empty()), Footprint::unknown(0));
        let empty = Extents::empty();
        none.bring(1, &empty, Some(Access { file: &empty, ..access }));
        check(&none);
        let body = encoded(&one, &[]);
        assert!(none.merge_encoded(&body));
        assert_eq!((none.facts, none.small), (Facts { tiles: none.facts.tiles, ..one.facts }, one.small));
        assert!(encoded(&none, &[&body]).ends_with(&source));
        assert!(none.merge_encoded(&encoded(&Contribution::new(of(&file), Footprint::unknown(3)), &[])));
        assert!(!none.facts.is_inline, "as one rank keeps its data");
        let mut damaged = body;
        damaged[8] = 2;
        assert!(!none.merge_encoded(&damaged) && !none.merge_encoded(&[]), "a flag is 0 or 1");
    }
}
