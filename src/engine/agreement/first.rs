//! The first agreement of a collective call. Every rank of a team brings its contribution: facts, footprint, small data.
//! The rank that decides merges them, decides how the bytes go, and does at once what it can: it writes the small data of
//! all ranks, finds the end of the file, opens the windows in shared memory. So a call with little data ends with this
//! agreement, and so does a call whose ranks have all moved their own large pieces.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tributary_base::wire;
use tributary_base::wire::frame::Encoder;

use super::contribution::Contribution;
use super::footprint::{Footprint, Runs};
use crate::access::{Access, Direction, Extent, Extents, Source};
use crate::collectives::team::{Combine, Team};
use crate::engine::facts::Facts;
use crate::engine::facts::Agreed;
use crate::engine::facts::calls::{CallFault, CallForm, CallKinds};
use crate::engine::facts::AccessShift;
use crate::engine::handle::publish_writes;
use crate::engine::policy::path::Path;
use crate::engine::policy::rules::Rules;
use crate::engine::setup::{Setup, VoteTerms};
use crate::engine::shared::Arena;
use crate::engine::storage::window_queue::Outcome;
use crate::engine::storage::{Storage, end};
use crate::error::{Error, FileOperation, Result};
use crate::fabric::Endpoint;
use crate::topology::Rank;

/// This rank's part in a first agreement.
pub struct FirstPart<'a> {
    /// Settings of the file.
    pub setup: &'a Setup,
    /// This rank.
    pub rank: Rank,
    /// Direction of the call.
    pub direction: Direction,
    /// What this rank brings.
    pub contribution: Contribution<'a>,
    /// Windows in the memory that the ranks of the team share; `None` if they share none, or the call has no data.
    pub arena: Option<&'a Arena>,
    /// This rank's handle of the file (or the error of opening it), if this rank may decide and then use the file.
    pub storage: Option<Result<Arc<dyn Storage>>>,
    /// This rank's error, if it has one.
    pub error: &'a mut Option<Error>,
}

/// What one rank brings to a first agreement.
pub struct OwnVote<'a> {
    /// This rank.
    pub rank: Rank,
    /// Number of this rank's host, and true if the rank is alone there; `None` if the ranks of all hosts share memory.
    pub host: Option<(usize, bool)>,
    /// The extents of the file, as the program passed them, and in the order in which the rank moves them.
    pub extents: (&'a Extents, &'a Extents),
    /// The outcome, if the rank has moved its bytes already.
    pub early: Option<&'a Outcome>,
    /// How the access relates to the accesses of kept plans, and the number of windows that it touches.
    pub reuse: (AccessShift, u64),
    /// True if the rank has an error: then it brings no data.
    pub failed: bool,
    /// Form of the call.
    pub form: CallForm,
}

impl FirstPart<'_> {
    /// Makes the first agreement of a call; sets `agreed`, the same on all ranks of the team, and this rank's error, if
    /// it cannot do what it decides. Returns the extents of the file in which every byte has data, unless ranks overlap; none if they are unknown.
    /// Collective over the team.
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
        let reads = self.direction == Direction::Read && facts.failed.is_none() && !facts.calls.are_mixed();
        if let Some(storage) = self.storage.as_ref().filter(|_| reads && facts.left.bytes > 0) {
            match end(storage, self.rank, &self.setup.path) {
                Ok(end) => facts.limit = end,
                Err(cause) => {
                    facts.fail(self.rank);
                    *self.error = Some(cause);
                }
            }
        }
    }

    /// Opens the windows of a call. Without memory, the ranks move their bytes directly, if that is possible.
    fn open_windows(&self, arena: &Arena, agreed: &mut Agreed) -> Result<()> {
        match arena.prepare(&agreed.decision.windows) {
            Ok(()) => {
                // Bytes that ranks wrote before the agreement count too.
                arena.call().written.store(agreed.transferred, Ordering::Release);
                Ok(())
            }
            Err(_) if self.direction == Direction::Read || agreed.disjoint == Some(true) => {
                agreed.no_memory = true;
                self.setup.rules(self.direction).in_memory().decide(agreed);
                Ok(())
            }
            Err(cause) => {
                agreed.failed = Some(CallFault::OfRank(self.rank));
                Err(Error::io(self.rank, FileOperation::TakeSharedMemory, &self.setup.path, agreed.left.start, &cause))
            }
        }
    }
}

impl Combine for FirstPart<'_> {
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
        let (setup, rules) = (self.setup, self.setup.rules(self.direction));
        let rules = if self.arena.is_some() { rules.in_memory() } else { rules };
        let may_write = self.storage.is_some() && (rules.in_memory || self.direction == Direction::Write);
        let mut agreed = decided(&setup.votes, &self.contribution, rules, may_write);
        let done = match (agreed.decision.path, &self.storage, self.arena) {
            _ if agreed.failed.is_some() => Ok(()),
            (Path::Root | Path::Slots, Some(storage), _) => {
                let contribution = &self.contribution;
                agreed.write_along(storage, (self.rank, &setup.path), |storage, written| {
                    contribution.write(others, storage, written).and_then(|()| publish_writes(setup, storage))
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
            self.contribution.footprint().encode(out, 0);
        }
    }
}

/// Returns the extents in which every byte has data unless ranks overlap: the whole range, or the footprint in the
/// rest of the answer. If the number of bytes differs from that of the footprint, there are holes.
fn runs(agreed: &Agreed, mut rest: &[u8]) -> Runs {
    let left = &agreed.left;
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

/// Returns what all ranks agree on, and the decision, from the contribution of all ranks. `may_write` is true if the
/// rank that decides may write their small data.
#[inline]
pub fn decided(votes: &VoteTerms, all: &Contribution<'_>, rules: Rules<'_>, may_write: bool) -> Agreed {
    let mut agreed = all.agreed(votes.tiling, rules.direction);
    agreed.came_along &= may_write;
    rules.decide(&mut agreed);
    agreed
}

/// Returns the footprint of a rank of a host. For hosts, it shows whether they have bytes of their own; it is unknown if
/// a host may not write or read without other hosts, or if a rank alone on its host, which shares windows with nobody,
/// has pieces that are too small to be moved directly. For the ranks of one host among others, it shows which bytes
/// they write.
#[inline]
fn footprint(votes: &VoteTerms, rules: Rules<'_>, host: Option<(usize, bool)>, file: &Extents) -> Footprint {
    let Some((host, is_alone)) = host else { return Footprint::unknown(0) };
    if rules.in_memory {
        let is_known = rules.direction == Direction::Write;
        return if is_known { Footprint::from_extents(0, file, 1) } else { Footprint::unknown(0) };
    }
    let is_left = is_alone && file.count() > 0 && !rules.is_direct(file);
    if !votes.by_host || is_left {
        return Footprint::unknown(host);
    }
    Footprint::from_extents(host, file, votes.host_unit)
}
