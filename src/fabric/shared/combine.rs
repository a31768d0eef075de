//! The memory that ranks of one host share, and how they agree there: each rank fills its slot, one of them reads all slots and
//! writes a decision, and all read it.
//!
//! At a *combine* the last rank to arrive decides. In a *combine* over several hosts ([`super::hosts`]) the lowest rank of the
//! host does, which first exchanges messages with the other hosts.
//!
//! Two sets of slots and decisions are used in turn. A rank writes to a set again at the second combine after. By then all ranks
//! have arrived at the combine in between, so they have finished reading. So a combine costs one wait.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use super::memory::SharedMemory;
use super::signal::Signal;
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::topology::Rank;

/// Bytes of a slot.
pub const SLOT: usize = 16 << 10;
/// Bytes of the decision.
pub const DECISION: usize = SLOT;
/// A cache line; words of different ranks are on different lines.
const LINE: usize = 64;
/// Offsets of the combine's words, one on a line.
const GENERATION: usize = 0;
const ARRIVED: usize = LINE;
/// Offset of the signal that all ranks but the lowest have arrived at a combine.
const OTHERS_ARRIVED: usize = 2 * LINE;
/// Offset of the lines for signals of the memory's users.
const FREE_LINES: usize = 3 * LINE;
const DECISIONS: usize = 1024;
const SLOTS: usize = DECISIONS + 2 * DECISION;
/// The area for users begins on a page.
const PAGE: usize = 4096;
/// With more ranks on a host, no memory is shared.
pub(super) const MOST_RANKS: usize = 1024;

/// The memory that ranks of one host share: all ranks of an endpoint, or all of them on this host. They are numbered in the
/// order of their ranks; a number is a *place*.
#[derive(Debug)]
pub struct Shared {
    /// This rank's place.
    place: usize,
    /// The ranks, ascending.
    ranks: Vec<Rank>,
    memory: SharedMemory,
    /// Offset of the area for users.
    area: usize,
    /// Number of combines so far.
    met: AtomicU32,
    /// Number of combines so far.
    over_hosts: AtomicU32,
    spins: bool,
}

/// All slots of a combine.
#[derive(Debug, Clone, Copy)]
pub struct Slots<'a> {
    shared: &'a Shared,
    set: usize,
}

impl<'a> Slots<'a> {
    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.shared.ranks.len()
    }

    /// The rank of a place.
    pub fn rank(&self, place: usize) -> Rank {
        self.shared.ranks[place]
    }

    /// The slot of the rank with this place.
    pub fn of(&self, place: usize) -> &'a [u8] {
        assert!(place < self.shared.ranks.len(), "a place that no rank has");
        // SAFETY: reserved; all ranks have arrived (at a combine: all but the lowest, which reads), and do not write to this set
        // before the combine after next.
        unsafe { std::slice::from_raw_parts(self.shared.memory.at(self.shared.slot(self.set, place)), SLOT) }
    }
}

/// A combine that is over. Slots and decision can be read until the next one.
#[derive(Debug, Clone, Copy)]
pub struct Combined<'a> {
    /// The slots of all ranks.
    pub slots: Slots<'a>,
}

impl<'a> Combined<'a> {
    /// The decision of the last rank to arrive.
    pub fn decision(&self) -> &'a [u8] {
        let Slots { shared, set } = self.slots;
        // SAFETY: reserved; the last rank wrote it before it released the others, and nobody writes it before the combine after
        // next.
        unsafe { std::slice::from_raw_parts(shared.memory.at(DECISIONS + set * DECISION), DECISION) }
    }
}

impl Shared {
    /// The memory of `ranks`, ascending, as `rank`, one of them, sees it.
    pub(super) fn new(rank: Rank, ranks: Vec<Rank>, memory: SharedMemory, spins: bool) -> Self {
        let (place, area) = (ranks.partition_point(|&other| other < rank), head(ranks.len()));
        Self { place, ranks, area, memory, met: AtomicU32::new(0), over_hosts: AtomicU32::new(0), spins }
    }

    /// The ranks, ascending.
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    /// This rank's place among them.
    pub fn place(&self) -> usize {
        self.place
    }

    /// Whether every rank has a core of its own.
    pub fn spins(&self) -> bool {
        self.spins
    }

    /// The memory. The area for users is from [`Shared::area`] to the end.
    pub fn memory(&self) -> &SharedMemory {
        &self.memory
    }

    /// Offset of the area for users, which extends to the end of the memory.
    pub fn area(&self) -> usize {
        self.area
    }

    /// One of 8 signals for the users of the memory.
    pub fn signal(&self, number: usize) -> Signal<'_> {
        assert!(number < 8, "there are 8 signals");
        self.line(FREE_LINES + number * LINE)
    }

    fn line(&self, offset: usize) -> Signal<'_> {
        Signal::new(self.memory.word(offset), self.memory.word(offset + 4))
    }

    fn slot(&self, set: usize, place: usize) -> usize {
        SLOTS + (set * self.ranks.len() + place) * SLOT
    }

    /// The set of the next combine, which this rank now takes part in.
    fn next_set(&self) -> usize {
        let met = self.met.load(Ordering::Relaxed);
        self.met.store(met.wrapping_add(1), Ordering::Relaxed);
        self.come_to(met);
        (met % 2) as usize
    }

    /// Says that this rank has come to a combine.
    fn come_to(&self, met: u32) {
        self.came(self.place).store(met.wrapping_add(1), Ordering::Relaxed);
    }

    /// The number of combines to which the rank of a place has come.
    fn came(&self, place: usize) -> &AtomicU32 {
        self.memory.word(SLOTS + 2 * self.ranks.len() * SLOT + place * LINE)
    }

    /// The ranks that have not come to the combine to which this rank has come last, ascending. Any thread may ask.
    pub fn missing(&self) -> Vec<Rank> {
        let came = |place| self.came(place).load(Ordering::Relaxed);
        let own = came(self.place);
        let is_missing = |&place: &usize| (came(place).wrapping_sub(own) as i32) < 0;
        (0..self.ranks.len()).filter(is_missing).map(|place| self.ranks[place]).collect()
    }

    /// The slots of the last combine.
    fn last(&self) -> Slots<'_> {
        Slots { shared: self, set: (self.met.load(Ordering::Relaxed).wrapping_sub(1) % 2) as usize }
    }

    /// Fills this rank's slot of a set.
    fn fill(&self, set: usize, leave: impl FnOnce(&mut [u8])) {
        // SAFETY: reserved, and this rank's own; nobody reads it before this rank has arrived.
        leave(unsafe { std::slice::from_raw_parts_mut(self.memory.at(self.slot(set, self.place)), SLOT) });
    }

    /// The decision of a set, for the one rank that decides.
    #[allow(clippy::mut_from_ref)]
    fn decision_mut(&self, set: usize) -> &mut [u8] {
        // SAFETY: reserved; the others wait, and read it only after the generation has advanced.
        unsafe { std::slice::from_raw_parts_mut(self.memory.at(DECISIONS + set * DECISION), DECISION) }
    }

    /// Releases the ranks that wait for the decision.
    fn release(&self) {
        self.memory.word(ARRIVED).store(0, Ordering::Release);
        self.line(GENERATION).advance();
    }

    /// A rank that is not the lowest arrives at a combine. Returns the generation to wait for.
    pub(super) fn hand_in(&self, leave: impl FnOnce(&mut [u8])) -> u32 {
        self.fill(self.next_set(), leave);
        let seen = self.line(GENERATION).get();
        if self.memory.word(ARRIVED).fetch_add(1, Ordering::AcqRel) + 2 == self.ranks.len() as u32 {
            self.line(OTHERS_ARRIVED).advance();
        }
        seen
    }

    /// On the lowest rank, at a combine: the signal that advances when all others have arrived, and its value until then.
    pub(super) fn others_arrived(&self) -> (Signal<'_>, u32) {
        self.come_to(self.met.load(Ordering::Relaxed));
        (self.line(OTHERS_ARRIVED), self.over_hosts.load(Ordering::Relaxed))
    }

    /// On the lowest rank, when all others have arrived at a combine: their slots.
    pub(super) fn handed_in(&self) -> Slots<'_> {
        Slots { shared: self, set: (self.met.load(Ordering::Relaxed) % 2) as usize }
    }

    /// On the lowest rank: ends a combine. `decide` fills the decision.
    pub(super) fn answer(&self, decide: impl FnOnce(&mut [u8])) {
        self.over_hosts.fetch_add(1, Ordering::Relaxed);
        decide(self.decision_mut(self.next_set()));
        self.release();
    }

    /// The generation: it advances with the decision of each combine.
    pub(super) fn generation(&self) -> Signal<'_> {
        self.line(GENERATION)
    }

    /// The last combine, after its end.
    pub fn combined(&self) -> Combined<'_> {
        Combined { slots: self.last() }
    }

    /// This rank arrives: `leave` fills its slot. On the last rank, `decide` then reads all slots and fills the decision.
    /// Returns `None` on the last rank, otherwise the generation to wait for.
    fn arrive(
        &self,
        leave: impl FnOnce(&mut [u8]),
        decide: impl FnOnce(Slots<'_>, &mut [u8]),
    ) -> (Combined<'_>, Option<u32>) {
        let set = self.next_set();
        let slots = Slots { shared: self, set };
        self.fill(set, leave);
        let seen = self.line(GENERATION).get();
        if self.memory.word(ARRIVED).fetch_add(1, Ordering::AcqRel) + 1 < self.ranks.len() as u32 {
            return (Combined { slots }, Some(seen));
        }
        // If the decision panics, the others must not wait for it.
        let decided = catch_unwind(AssertUnwindSafe(|| decide(slots, self.decision_mut(set))));
        self.broken().store(u32::from(decided.is_err()), Ordering::Release);
        self.release();
        if let Err(panic) = decided {
            resume_unwind(panic);
        }
        (Combined { slots }, None)
    }

    /// Not 0 if the last rank to arrive panicked.
    fn broken(&self) -> &AtomicU32 {
        self.memory.word(ARRIVED + 4)
    }
}

/// Bytes of the memory before the area for users.
pub(super) fn head(ranks: usize) -> usize {
    (SLOTS + 2 * ranks * SLOT + ranks * LINE).next_multiple_of(PAGE)
}

impl Endpoint {
    /// Meets all other ranks: `leave` fills this rank's slot, and on the last rank `decide` fills the decision. Collective. One
    /// wait.
    ///
    /// # Errors
    /// Those of the fabric; the ranks share no memory; the last rank panicked.
    pub async fn combine(
        &mut self,
        leave: impl FnOnce(&mut [u8]),
        decide: impl FnOnce(Slots<'_>, &mut [u8]),
    ) -> Result<()> {
        let shared = self.shared().ok_or_else(|| Error::Fabric("ranks share no memory".to_string()))?;
        self.combine_in(&shared, leave, decide).await
    }

    /// As [`Endpoint::combine`], of the ranks that share the memory `shared`. Collective over these ranks.
    ///
    /// # Errors
    /// Those of the fabric; the last rank panicked.
    pub async fn combine_in(
        &mut self,
        shared: &Shared,
        leave: impl FnOnce(&mut [u8]),
        decide: impl FnOnce(Slots<'_>, &mut [u8]),
    ) -> Result<()> {
        if let (_, Some(seen)) = shared.arrive(leave, decide) {
            self.wait_for_change(shared.generation(), seen, shared.spins).await?;
            if shared.broken().load(Ordering::Acquire) != 0 {
                return Err(Error::Fabric("a rank panicked in the middle of a call".to_string()));
            }
        }
        Ok(())
    }

    /// Waits until a signal is no longer `seen`, and progresses messages now and then.
    pub(super) async fn wait_for_change(&mut self, signal: Signal<'_>, seen: u32, spins: bool) -> Result<()> {
        let mut looks = 0u32;
        while signal.get() == seen {
            if looks > 0 {
                self.progress()?;
            }
            looks += 1;
            self.watch(signal.watch(seen, spins)).await;
        }
        self.waiting().event();
        Ok(())
    }

    /// Waits until signal `signal` of the memory `shared` is no longer `seen`, or for a short time.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn wait_for(&mut self, shared: &Shared, signal: usize, seen: u32) -> Result<()> {
        let word = shared.signal(signal);
        if word.get() == seen {
            let watch = word.watch(seen, shared.spins());
            self.watch(watch).await;
            if word.get() == seen {
                self.progress()?;
            } else {
                self.waiting().event();
            }
        }
        Ok(())
    }

    /// The last combine; `None` if not all ranks share memory.
    pub fn combined(&self) -> Option<Combined<'_>> {
        self.shared_ref().map(|shared| shared.combined())
    }
}
