//! The memory that ranks of one host share, and their agreements in it. Each rank fills its slot, one of them reads all slots
//! and writes a decision, and all ranks read the decision.
//!
//! If the ranks of one host agree among themselves ([`Endpoint::combine_in`]), the last rank to arrive decides. In an
//! agreement over several hosts ([`super::hosts`]), the lowest rank of the host decides, after it has exchanged
//! messages with the other hosts.
//!
//! The memory has two sets, numbered 0 and 1. A set is one slot for each rank and one decision. Agreements use the two
//! sets in turn, so a rank reuses a set only two agreements later. By then all ranks have arrived at the
//! agreement in between, so they have finished reading the set. So an agreement costs one wait.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::board::NAME;
use super::memory::{LINE, Line, SharedMemory, shareable};
use super::signal::{Signal, SignalState};
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::topology::Rank;

/// Number of bytes of a slot.
pub const SLOT: usize = 16 << 10;
/// Number of bytes of the decision.
pub const DECISION: usize = SLOT;
/// Offset of the decisions of both sets, in bytes. The slots of both sets follow the decisions.
const DECISIONS: usize = 1024;
const SLOTS: usize = DECISIONS + 2 * DECISION;
/// Number of bytes of a page; the area for users begins on a page.
const PAGE: usize = 4096;
/// Maximum number of ranks on a host that share memory; with more, none is shared.
pub const MOST_RANKS: usize = 1024;
/// Number of signals for the users of the memory.
const SIGNALS: usize = 8;

shareable! {
    /// The start of the memory: the control integers of all ranks.
    struct Head {
        /// Advances with each decision.
        generation: Line<SignalState>,
        arrived: Line<Arrived>,
        /// Advances when all ranks but the lowest have arrived at an agreement over hosts.
        others_arrived: Line<SignalState>,
        /// The signals of the memory's users.
        free: [Line<SignalState>; SIGNALS],
    }
}

impl Head {
    /// Releases the ranks that wait for the decision.
    #[inline]
    fn release(&self) {
        self.arrived.ranks.store(0, Ordering::Release);
        self.generation.signal().advance();
    }
}

shareable! {
    struct Arrived {
        /// Number of ranks that have arrived at the agreement.
        ranks: AtomicU32,
        /// Not 0 if the last rank to arrive panicked.
        is_broken: AtomicU32,
    }
}

shareable! {
    /// The control integers that only one rank writes, on a cache line of its own.
    pub(super) struct RankState {
        /// Number of agreements at which the rank has arrived.
        arrivals: AtomicU32,
        /// State of the call that the rank shows ([`super::board`]).
        pub state: AtomicU32,
        /// Name of this call.
        pub name: [AtomicU64; NAME],
    }
}

const _: () = assert!(size_of::<Head>() <= DECISIONS && size_of::<Line<RankState>>() == LINE);

/// The memory that ranks of one host share: all ranks of an endpoint, or the endpoint's ranks on this host. The *place*
/// of a rank is its index among the ranks that share the memory, in rank order.
#[derive(Debug)]
pub struct Shared {
    /// Place of this rank: its index in `ranks`.
    place: usize,
    /// Ranks that share the memory, ascending.
    ranks: Vec<Rank>,
    /// True if all ranks of the endpoint share the memory.
    is_whole: bool,
    memory: SharedMemory,
    /// Offset of the area for users of the memory, in bytes.
    area: usize,
    /// Offset of this rank's [`RankState`], in bytes.
    own_state: usize,
    /// Number of agreements at which this rank has arrived.
    arrivals: AtomicU32,
    /// Number of finished agreements over several hosts; counted on the lowest rank only.
    over_hosts: AtomicU32,
    /// True if every rank of the host has a core of its own.
    spins: bool,
    /// True if several of the ranks are threads of one process.
    has_threads: bool,
    /// Address of the name of the call that this rank shows ([`super::board`]).
    named: AtomicUsize,
}

/// The slots of all ranks at one agreement.
#[derive(Debug, Clone, Copy)]
pub struct Slots<'a> {
    shared: &'a Shared,
    /// Number of the set that the agreement uses: 0 or 1.
    set: usize,
}

impl<'a> Slots<'a> {
    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.shared.ranks.len()
    }

    /// Returns the rank with this place.
    pub fn rank(&self, place: usize) -> Rank {
        self.shared.ranks[place]
    }

    /// Returns the slot of the rank with this place.
    pub fn slot(&self, place: usize) -> &'a [u8] {
        assert!(place < self.shared.ranks.len(), "a place that no rank has");
        // SAFETY: the slot is reserved memory; all ranks have arrived (over hosts: all but the lowest, which reads),
        // and do not write to this set before the agreement after next.
        unsafe { std::slice::from_raw_parts(self.shared.memory.at(self.shared.slot(self.set, place)), SLOT) }
    }
}

/// A finished agreement. Slots and decision can be read until the next agreement.
#[derive(Debug, Clone, Copy)]
pub struct Combined<'a> {
    /// Slots of all ranks.
    pub slots: Slots<'a>,
}

impl<'a> Combined<'a> {
    /// Returns the decision: the bytes that the deciding rank wrote.
    pub fn decision(&self) -> &'a [u8] {
        let Slots { shared, set } = self.slots;
        // SAFETY: the decision is reserved memory; the deciding rank wrote it before it released the others, and no
        // rank writes it before the agreement after next.
        unsafe { std::slice::from_raw_parts(shared.memory.at(DECISIONS + set * DECISION), DECISION) }
    }
}

impl Shared {
    /// Returns the memory of `ranks`, ascending, for `rank`, which is one of them. `is_whole` is true if these are all
    /// ranks of the endpoint.
    pub(super) fn new(rank: Rank, (ranks, is_whole): (Vec<Rank>, bool), memory: SharedMemory, spins: bool) -> Self {
        let (place, area) = (ranks.partition_point(|&other| other < rank), head(ranks.len()));
        let (arrivals, over_hosts, named) = Default::default();
        let own_state = state_at(ranks.len(), place);
        Self { place, ranks, is_whole, area, own_state, memory, arrivals, over_hosts, spins, has_threads: false, named }
    }

    /// Sets whether several of the ranks are threads of one process.
    pub(super) fn with_threads(self, has_threads: bool) -> Self {
        Self { has_threads, ..self }
    }

    /// Returns the ranks that share the memory, ascending.
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    /// Returns true if all ranks of the endpoint share the memory.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns this rank's place: its index among the ranks.
    pub fn place(&self) -> usize {
        self.place
    }

    /// Returns true if several of the ranks are threads of one process.
    pub fn has_threads(&self) -> bool {
        self.has_threads
    }

    /// Returns true if every rank has a core of its own.
    pub fn spins(&self) -> bool {
        self.spins
    }

    /// Returns the memory. The area for users is from [`Shared::area`] to the end.
    pub fn memory(&self) -> &SharedMemory {
        &self.memory
    }

    /// Returns the offset of the area for users, which extends to the end of the memory.
    pub fn area(&self) -> usize {
        self.area
    }

    /// Returns signal number `number`, 0 to 7. The users of the memory choose what each signal means.
    pub fn signal(&self, number: usize) -> Signal<'_> {
        self.control().free[number].signal()
    }

    /// Returns the control integers of all ranks.
    #[inline]
    fn control(&self) -> &Head {
        self.memory.get(0)
    }

    /// Returns the offset of a rank's slot in set 0 or 1, in bytes.
    fn slot(&self, set: usize, place: usize) -> usize {
        SLOTS + (set * self.ranks.len() + place) * SLOT
    }

    /// Begins the next agreement on this rank. Returns the set that the agreement uses: 0 or 1, in turn.
    fn next_set(&self) -> usize {
        let arrivals = self.arrivals.load(Ordering::Relaxed);
        self.arrivals.store(arrivals.wrapping_add(1), Ordering::Relaxed);
        self.publish_arrival(arrivals);
        (arrivals % 2) as usize
    }

    /// Publishes that this rank has arrived, after `before` earlier agreements.
    fn publish_arrival(&self, before: u32) {
        self.own_state().arrivals.store(before.wrapping_add(1), Ordering::Relaxed);
    }

    /// Returns the control integers that only the rank with this place writes.
    pub(super) fn rank_state(&self, place: usize) -> &RankState {
        self.memory.get::<Line<RankState>>(state_at(self.ranks.len(), place))
    }

    /// Returns the control integers that only this rank writes.
    #[inline]
    pub(super) fn own_state(&self) -> &RankState {
        self.memory.get::<Line<RankState>>(self.own_state)
    }

    pub(super) fn named(&self) -> &AtomicUsize {
        &self.named
    }

    /// Returns the ranks that have not arrived at the last agreement at which this rank has arrived, ascending. Any
    /// thread may call it.
    pub fn missing(&self) -> Vec<Rank> {
        let arrivals = |place| self.rank_state(place).arrivals.load(Ordering::Relaxed);
        let own = arrivals(self.place);
        let is_missing = |&place: &usize| (arrivals(place).wrapping_sub(own) as i32) < 0;
        (0..self.ranks.len()).filter(is_missing).map(|place| self.ranks[place]).collect()
    }

    /// Returns the slots of the last agreement at which this rank has arrived.
    fn last(&self) -> Slots<'_> {
        Slots { shared: self, set: (self.arrivals.load(Ordering::Relaxed).wrapping_sub(1) % 2) as usize }
    }

    /// Calls `leave` to fill this rank's slot in set 0 or 1.
    fn fill(&self, set: usize, leave: impl FnOnce(&mut [u8])) {
        // SAFETY: the slot is reserved memory of this rank; no rank reads it before this rank has arrived.
        leave(unsafe { std::slice::from_raw_parts_mut(self.memory.at(self.slot(set, self.place)), SLOT) });
    }

    /// Returns the decision of set 0 or 1, to write it. Only the one rank that decides in an agreement may call it,
    /// before it releases the other ranks.
    #[allow(clippy::mut_from_ref)]
    fn decision_mut(&self, set: usize) -> &mut [u8] {
        // SAFETY: the decision is reserved memory; the other ranks wait, and read it only after the generation has
        // advanced.
        unsafe { std::slice::from_raw_parts_mut(self.memory.at(DECISIONS + set * DECISION), DECISION) }
    }

    /// Arrives at an agreement over hosts: `leave` fills this rank's slot. Ranks that are not the lowest of their host
    /// call it. Returns the generation to wait for.
    pub(super) fn hand_in(&self, leave: impl FnOnce(&mut [u8])) -> u32 {
        self.fill(self.next_set(), leave);
        let seen = self.control().generation.signal().get();
        if self.control().arrived.ranks.fetch_add(1, Ordering::AcqRel) + 2 == self.ranks.len() as u32 {
            self.control().others_arrived.signal().advance();
        }
        seen
    }

    /// Returns a signal that advances when all other ranks of the host have arrived at an agreement over hosts, and the
    /// signal's value until then. The lowest rank of the host calls it.
    pub(super) fn others_arrived(&self) -> (Signal<'_>, u32) {
        self.publish_arrival(self.arrivals.load(Ordering::Relaxed));
        (self.control().others_arrived.signal(), self.over_hosts.load(Ordering::Relaxed))
    }

    /// Returns the slots of all ranks in an agreement over hosts. The lowest rank of the host calls it when all others
    /// have arrived.
    pub(super) fn handed_in(&self) -> Slots<'_> {
        Slots { shared: self, set: (self.arrivals.load(Ordering::Relaxed) % 2) as usize }
    }

    /// Ends an agreement over hosts: `decide` writes the decision, and the other ranks are released. The lowest rank of
    /// the host calls it.
    pub(super) fn answer(&self, decide: impl FnOnce(&mut [u8])) {
        self.over_hosts.fetch_add(1, Ordering::Relaxed);
        decide(self.decision_mut(self.next_set()));
        self.control().release();
    }

    /// Returns the generation: the signal that advances with the decision of each agreement.
    pub(super) fn generation(&self) -> Signal<'_> {
        self.control().generation.signal()
    }

    /// Returns the slots and the decision of the last agreement, which must have ended.
    pub fn combined(&self) -> Combined<'_> {
        Combined { slots: self.last() }
    }

    /// Arrives at an agreement with this rank's part `own`: `leave` fills this rank's slot. On the last rank to arrive,
    /// `decide` then reads all slots and writes the decision. Returns the generation to wait for before slots and
    /// decision are read; `None` on the last rank, which need not wait.
    fn arrive<T>(
        &self,
        mut own: T,
        leave: impl FnOnce(&mut T, &mut [u8]),
        decide: impl FnOnce(&mut T, Slots<'_>, &mut [u8]),
    ) -> Option<u32> {
        let (set, control) = (self.next_set(), self.control());
        self.fill(set, |slot| leave(&mut own, slot));
        let seen = control.generation.signal().get();
        if control.arrived.ranks.fetch_add(1, Ordering::AcqRel) + 1 < self.ranks.len() as u32 {
            return Some(seen);
        }
        // If `decide` panics, the other ranks must not wait for it.
        let slots = Slots { shared: self, set };
        let decided = catch_unwind(AssertUnwindSafe(|| decide(&mut own, slots, self.decision_mut(set))));
        control.arrived.is_broken.store(u32::from(decided.is_err()), Ordering::Release);
        control.release();
        if let Err(panic) = decided {
            resume_unwind(panic);
        }
        None
    }
}

/// Returns the offset of the [`RankState`] of the rank with this place, in bytes.
fn state_at(ranks: usize, place: usize) -> usize {
    SLOTS + 2 * ranks * SLOT + place * LINE
}

/// Returns the number of bytes of the memory before the area for users.
pub(super) fn head(ranks: usize) -> usize {
    state_at(ranks, ranks).next_multiple_of(PAGE)
}

impl Endpoint {
    /// Agrees with the other ranks that share the memory `shared`. `own` is this rank's part: `leave` fills this rank's
    /// slot from it, and on the last rank to arrive `decide` reads all slots and fills the decision. Collective over
    /// these ranks. One wait.
    ///
    /// # Errors
    /// Errors of the message transport; the last rank panicked.
    pub async fn combine_in<T>(
        &mut self,
        shared: &Shared,
        own: T,
        leave: impl FnOnce(&mut T, &mut [u8]),
        decide: impl FnOnce(&mut T, Slots<'_>, &mut [u8]),
    ) -> Result<()> {
        if let Some(seen) = shared.arrive(own, leave, decide) {
            self.wait_for_change(shared.generation(), seen, shared.spins).await?;
            if shared.control().arrived.is_broken.load(Ordering::Acquire) != 0 {
                return Err(Error::fabric("a rank panicked in the middle of a call"));
            }
        }
        Ok(())
    }

    /// Waits until a signal no longer has the value `seen`, and progresses messages now and then.
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

    /// Waits until signal number `signal` of the memory `shared` no longer has the value `seen`, or for a short time.
    ///
    /// # Errors
    /// Errors of the message transport.
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
}
