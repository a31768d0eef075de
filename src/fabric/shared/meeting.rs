//! A meeting of all ranks in shared memory: each rank fills its slot, the last to arrive writes a verdict, and all read it.
//!
//! Two sets of slots and verdicts are used in turn. A rank writes to a set again at the second meeting after. By then all ranks
//! have arrived at the meeting in between, so they have finished reading. So a meeting costs one wait.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use super::host::processors;
use super::memory::SharedMemory;
use super::signal::{Signal, Watch};
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::schedule::ReduceOp;
use crate::topology::Rank;

/// Bytes of a slot.
pub const SLOT: usize = 16 << 10;
/// Bytes of the verdict.
pub const VERDICT: usize = 4096;
/// A cache line; words of different ranks are on different lines.
const LINE: usize = 64;
/// Offsets of the meeting's words, one on a line.
const GENERATION: usize = 0;
const ARRIVED: usize = LINE;
/// Offset of the lines for signals of the memory's users.
const FREE_LINES: usize = 2 * LINE;
const VERDICTS: usize = 1024;
const SLOTS: usize = VERDICTS + 2 * VERDICT;
/// The area for users begins on a page.
const PAGE: usize = 4096;
/// With more ranks on a host, no memory is shared.
const MOST_RANKS: usize = 1024;

/// The memory that all ranks of an endpoint share on their host.
#[derive(Debug)]
pub struct Shared {
    rank: Rank,
    ranks: usize,
    memory: SharedMemory,
    /// Offset of the area for users.
    area: usize,
    /// Number of meetings so far.
    met: AtomicU32,
    spins: bool,
}

/// All slots of a meeting.
#[derive(Debug, Clone, Copy)]
pub struct Slots<'a> {
    shared: &'a Shared,
    set: usize,
}

impl<'a> Slots<'a> {
    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.shared.ranks
    }

    /// The slot of a rank.
    pub fn of(&self, rank: Rank) -> &'a [u8] {
        assert!(rank < self.shared.ranks, "a rank that does not exist");
        // SAFETY: reserved; all ranks have arrived and do not write to this set before the meeting after next.
        unsafe { std::slice::from_raw_parts(self.shared.memory.at(self.shared.slot(self.set, rank)), SLOT) }
    }
}

/// A meeting that is over. Slots and verdict can be read until the next one.
#[derive(Debug, Clone, Copy)]
pub struct Met<'a> {
    /// The slots of all ranks.
    pub slots: Slots<'a>,
}

impl<'a> Met<'a> {
    /// The verdict of the last rank to arrive.
    pub fn verdict(&self) -> &'a [u8] {
        let Slots { shared, set } = self.slots;
        // SAFETY: reserved; the last rank wrote it before it released the others, and nobody writes it before the meeting after
        // next.
        unsafe { std::slice::from_raw_parts(shared.memory.at(VERDICTS + set * VERDICT), VERDICT) }
    }
}

impl Shared {
    fn new(rank: Rank, ranks: usize, memory: SharedMemory) -> Self {
        let spins = ranks <= processors();
        Self { rank, ranks, area: head(ranks), memory, met: AtomicU32::new(0), spins }
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

    fn slot(&self, set: usize, rank: Rank) -> usize {
        SLOTS + (set * self.ranks + rank) * SLOT
    }

    /// This rank arrives: `leave` fills its slot. On the last rank, `decide` then reads all slots and fills the verdict.
    /// Returns `None` on the last rank, otherwise the generation to wait for.
    fn arrive(
        &self,
        leave: impl FnOnce(&mut [u8]),
        decide: impl FnOnce(Slots<'_>, &mut [u8]),
    ) -> (Met<'_>, Option<u32>) {
        let met = self.met.load(Ordering::Relaxed);
        let set = (met % 2) as usize;
        self.met.store(met.wrapping_add(1), Ordering::Relaxed);
        let slots = Slots { shared: self, set };
        // SAFETY: reserved, and this rank's own; nobody reads it before this rank has arrived.
        leave(unsafe { std::slice::from_raw_parts_mut(self.memory.at(self.slot(set, self.rank)), SLOT) });
        let generation = self.line(GENERATION);
        let seen = generation.get();
        let arrived = self.memory.word(ARRIVED);
        if arrived.fetch_add(1, Ordering::AcqRel) + 1 < self.ranks as u32 {
            return (Met { slots }, Some(seen));
        }
        // SAFETY: reserved; the others wait, and read it only after the generation has advanced.
        let verdict = unsafe { std::slice::from_raw_parts_mut(self.memory.at(VERDICTS + set * VERDICT), VERDICT) };
        // If the decision panics, the others must not wait for it.
        let decided = catch_unwind(AssertUnwindSafe(|| decide(slots, verdict)));
        self.broken().store(u32::from(decided.is_err()), Ordering::Release);
        arrived.store(0, Ordering::Release);
        generation.advance();
        if let Err(panic) = decided {
            resume_unwind(panic);
        }
        (Met { slots }, None)
    }

    /// Not 0 if the last rank to arrive panicked.
    fn broken(&self) -> &AtomicU32 {
        self.memory.word(ARRIVED + 4)
    }

    /// The watch for the end of the meeting of generation `seen`; `None` if it is over.
    fn open(&self, seen: u32) -> Option<Watch> {
        let generation = self.line(GENERATION);
        (generation.get() == seen).then(|| generation.watch(seen, self.spins))
    }
}

/// Bytes of the memory before the area for users.
fn head(ranks: usize) -> usize {
    (SLOTS + 2 * ranks * SLOT).next_multiple_of(PAGE)
}

impl Endpoint {
    /// Maps memory that all ranks share, if they are on one host and have the memory. Its area for users has `area` bytes, of
    /// which the first `reserved` are reserved. Collective, with the same sizes. The first call costs two allreduces and a
    /// broadcast of messages; later calls do nothing.
    ///
    /// # Errors
    /// Those of the fabric. A lack of memory is none.
    pub async fn share(&mut self, reserved: usize, area: usize) -> Result<()> {
        if !self.is_sharing_tried() {
            let made = self.make_shared(reserved, area).await?;
            self.set_shared(made);
        }
        Ok(())
    }

    async fn make_shared(&mut self, reserved: usize, area: usize) -> Result<Option<Shared>> {
        use crate::collectives::{allreduce, broadcast};
        let (rank, ranks) = (self.rank(), self.ranks());
        let label = self.node_label() as u64;
        let mut hosts = [label, label];
        allreduce(self, &[ReduceOp::Min, ReduceOp::Max], &mut hosts).await?;
        if hosts[0] != hosts[1] || ranks > MOST_RANKS {
            return Ok(None);
        }
        let size = head(ranks) + area;
        let make = || SharedMemory::make(size).and_then(|made| made.reserve(0, head(ranks) + reserved).map(|()| made));
        let mut memory = if rank == 0 { make().ok() } else { None };
        let (process, descriptor) = memory.as_ref().map_or((0, 0), SharedMemory::address);
        let address = [u64::from(process).to_le_bytes(), (descriptor as u64).to_le_bytes()].concat();
        let received = broadcast(self, 0, &address).await?;
        let number =
            |at: usize| received.get(at..at + 8).map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap_or_default()));
        if rank > 0 && number(0) > 0 {
            memory = SharedMemory::open((number(0) as u32, number(8) as i32), size).ok();
        }
        let mut all = [u64::from(memory.is_some())];
        allreduce(self, &[ReduceOp::Min], &mut all).await?;
        Ok(memory.filter(|_| all[0] == 1).map(|memory| Shared::new(rank, ranks, memory)))
    }

    /// Meets all other ranks: `leave` fills this rank's slot, and on the last rank `decide` fills the verdict. Collective. One
    /// wait.
    ///
    /// # Errors
    /// Those of the fabric; the ranks share no memory; the last rank panicked.
    pub async fn meet(
        &mut self,
        leave: impl FnOnce(&mut [u8]),
        decide: impl FnOnce(Slots<'_>, &mut [u8]),
    ) -> Result<()> {
        let shared = self.shared().ok_or_else(|| Error::Fabric("ranks share no memory".to_string()))?;
        if let (_, Some(seen)) = shared.arrive(leave, decide) {
            let mut looks = 0u32;
            while let Some(watch) = shared.open(seen) {
                if looks > 0 {
                    self.progress()?;
                }
                looks += 1;
                self.watch(watch).await;
            }
            self.waiting().event();
            if shared.broken().load(Ordering::Acquire) != 0 {
                return Err(Error::Fabric("a rank panicked in the middle of a call".to_string()));
            }
        }
        Ok(())
    }

    /// Waits until signal `signal` of the shared memory is no longer `seen`, or for a short time. Does nothing without shared
    /// memory.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn wait_for(&mut self, signal: usize, seen: u32) -> Result<()> {
        let Some(shared) = self.shared() else { return Ok(()) };
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

    /// The last meeting; `None` without shared memory.
    pub fn met(&self) -> Option<Met<'_>> {
        let shared = self.shared_ref()?;
        let set = (shared.met.load(Ordering::Relaxed).wrapping_sub(1) % 2) as usize;
        Some(Met { slots: Slots { shared, set } })
    }
}
