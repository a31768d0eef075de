//! A meeting of all ranks in shared memory: everyone leaves something in a slot, the last to arrive decides, all read it.
//!
//! Two sets of slots and verdicts take turns. A rank writes to a set again only at the second meeting after, when all have
//! come to the one in between and so have read what they want: one meeting costs one wait.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use super::host::processors;
use super::memory::SharedMemory;
use super::signal::{Signal, Watch};
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::schedule::ReduceOp;
use crate::topology::Rank;

/// Bytes that a rank can leave.
pub const SLOT: usize = 16 << 10;
/// Bytes that the last one can answer.
pub const VERDICT: usize = 4096;
/// A cache line, so that ranks do not write into each other's.
const LINE: usize = 64;
/// Words of the meeting: a line each.
const GENERATION: usize = 0;
const ARRIVED: usize = LINE;
/// Lines that users of the memory may take as signals.
const FREE_LINES: usize = 2 * LINE;
const VERDICTS: usize = 1024;
const SLOTS: usize = VERDICTS + 2 * VERDICT;
/// Users get whole pages.
const PAGE: usize = 4096;
/// More ranks than these on a host go by messages.
const MOST_RANKS: usize = 1024;

/// What all ranks of an endpoint share on their host.
#[derive(Debug)]
pub struct Shared {
    rank: Rank,
    ranks: usize,
    memory: SharedMemory,
    /// Where the users' part begins.
    area: usize,
    /// Counts meetings.
    met: AtomicU32,
    spins: bool,
}

/// All slots of a meeting, for the last to arrive.
#[derive(Debug, Clone, Copy)]
pub struct Slots<'a> {
    shared: &'a Shared,
    set: usize,
}

impl<'a> Slots<'a> {
    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.shared.ranks
    }

    /// What a rank has left.
    pub fn of(&self, rank: Rank) -> &'a [u8] {
        assert!(rank < self.shared.ranks, "a rank that does not exist");
        // SAFETY: reserved; all ranks have arrived and do not write to this set before the meeting after next.
        unsafe { std::slice::from_raw_parts(self.shared.memory.at(self.shared.slot(self.set, rank)), SLOT) }
    }
}

/// A meeting that is over: what is there can be read until the next one.
#[derive(Debug, Clone, Copy)]
pub struct Met<'a> {
    /// What the ranks left.
    pub slots: Slots<'a>,
}

impl<'a> Met<'a> {
    /// What the last to arrive answered.
    pub fn verdict(&self) -> &'a [u8] {
        let Slots { shared, set } = self.slots;
        // SAFETY: reserved; the last rank wrote it before it let the others go on, and nobody writes it before the meeting
        // after next.
        unsafe { std::slice::from_raw_parts(shared.memory.at(VERDICTS + set * VERDICT), VERDICT) }
    }
}

impl Shared {
    fn new(rank: Rank, ranks: usize, memory: SharedMemory) -> Self {
        let spins = ranks <= processors();
        Self { rank, ranks, area: head(ranks), memory, met: AtomicU32::new(0), spins }
    }

    /// Whether a rank has a core of its own.
    pub fn spins(&self) -> bool {
        self.spins
    }

    /// The memory, for those who use the part behind the meetings.
    pub fn memory(&self) -> &SharedMemory {
        &self.memory
    }

    /// Where that part begins; it goes up to the memory's size, and nothing of it is reserved.
    pub fn area(&self) -> usize {
        self.area
    }

    /// One of 8 signals that nobody else uses.
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

    /// This rank comes: `leave` fills its slot; on the last rank `decide` then looks at all of them, and fills the verdict.
    /// `None` where the rank was the last, else what to wait for.
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
        // The others must not wait for a decision that never comes.
        let decided = catch_unwind(AssertUnwindSafe(|| decide(slots, verdict)));
        self.broken().store(u32::from(decided.is_err()), Ordering::Release);
        arrived.store(0, Ordering::Release);
        generation.advance();
        if let Err(panic) = decided {
            resume_unwind(panic);
        }
        (Met { slots }, None)
    }

    /// Set where the last rank to arrive panicked.
    fn broken(&self) -> &AtomicU32 {
        self.memory.word(ARRIVED + 4)
    }

    /// What this rank waits for: that the meeting which it saw as `seen` is over.
    fn open(&self, seen: u32) -> Option<Watch> {
        let generation = self.line(GENERATION);
        (generation.get() == seen).then(|| generation.watch(seen, self.spins))
    }
}

/// Bytes of a memory before its users' part.
fn head(ranks: usize) -> usize {
    (SLOTS + 2 * ranks * SLOT).next_multiple_of(PAGE)
}

impl Endpoint {
    /// Maps memory that all ranks share, of up to `area` bytes for its users, `reserved` of them reserved, if they are on one
    /// host and it is to be had. Tried once; after that, and where there is none, it costs nothing. The first time two
    /// allreduces and a broadcast of messages. Collective, with the same sizes.
    ///
    /// # Errors
    /// The fabric's.
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
        let told = broadcast(self, 0, &address).await?;
        let number =
            |at: usize| told.get(at..at + 8).map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap_or_default()));
        if rank > 0 && number(0) > 0 {
            memory = SharedMemory::open((number(0) as u32, number(8) as i32), size).ok();
        }
        let mut all = [u64::from(memory.is_some())];
        allreduce(self, &[ReduceOp::Min], &mut all).await?;
        Ok(memory.filter(|_| all[0] == 1).map(|memory| Shared::new(rank, ranks, memory)))
    }

    /// Meets all other ranks, as [`Shared`] says. Collective; only where there is shared memory.
    ///
    /// # Errors
    /// The fabric's; there is no shared memory.
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

    /// Waits until `signal` is no longer `seen`, or a while. Only where there is shared memory.
    ///
    /// # Errors
    /// The fabric's.
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

    /// What the last meeting left.
    pub fn met(&self) -> Option<Met<'_>> {
        let shared = self.shared_ref()?;
        let set = (shared.met.load(Ordering::Relaxed).wrapping_sub(1) % 2) as usize;
        Some(Met { slots: Slots { shared, set } })
    }
}
