//! MPI's own blocking collectives on bytes, with which the laboratory compares its algorithms.
//!
//! They run on MPI_COMM_WORLD, which no endpoint uses, so their messages cannot match messages of this library. All are
//! collective over the program's ranks, with the same root and sizes on every rank.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use tributary::fabric::mpi::World;
use tributary::schedule::ReduceOp;
use tributary::{Error, Rank};
use tributary_abi::{self as ffi, handles};

use super::{check, functions};

/// The result of a call of MPI.
type Result<T> = std::result::Result<T, Error>;

/// MPI's own collectives, over all ranks of the program. MPI stays initialised as long as the `World` lives.
pub struct Native<'world> {
    _world: PhantomData<&'world World>,
    rank: Rank,
    ranks: usize,
}

/// Counts and displacements of blocks that lie one after the other.
struct ConsecutiveBlocks {
    counts: Vec<c_int>,
    places: Vec<c_int>,
}

impl<'world> Native<'world> {
    /// Returns MPI's own collectives, over all ranks of the program. Local.
    ///
    /// # Errors
    /// [`Error::Fabric`] with MPI's error text.
    pub fn new(_: &'world World) -> Result<Self> {
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: MPI is initialised; each call writes one int.
        unsafe {
            check("MPI_Comm_rank", ffi::MPI_Comm_rank(world(), &mut rank))?;
            check("MPI_Comm_size", ffi::MPI_Comm_size(world(), &mut ranks))?;
        }
        Ok(Self { _world: PhantomData, rank: rank as Rank, ranks: ranks as usize })
    }

    /// Calls MPI_Barrier.
    ///
    /// # Errors
    /// [`Error::Fabric`] with MPI's error text, as of all functions here.
    pub fn barrier(&self) -> Result<()> {
        // SAFETY: MPI is initialised, and the communicator valid.
        check("MPI_Barrier", unsafe { functions::MPI_Barrier(world()) })
    }

    /// Calls MPI_Gather: gathers the blocks of all ranks, each as long as `own`, into the root's `all`.
    ///
    /// # Errors
    /// An error of MPI; a length that does not fit.
    pub fn gather(&self, root: Rank, own: &[u8], all: &mut [u8]) -> Result<()> {
        self.check_root(root)?;
        let wanted = if self.rank == root { own.len() * self.ranks } else { 0 };
        at_least("gather buffer", all.len(), wanted)?;
        let (count, byte) = (count(own.len() as u64)?, byte());
        let (from, to) = (read(own), written(all));
        // SAFETY: both buffers are as long as the counts say.
        let rc = unsafe { ffi::MPI_Gather(from, count, byte, to, count, byte, root as c_int, world()) };
        check("MPI_Gather", rc)
    }

    /// Calls MPI_Gatherv: gathers the blocks of all ranks, of these `sizes` in bytes, one after the other into the
    /// root's `all`.
    ///
    /// # Errors
    /// An error of MPI; a length that does not fit.
    pub fn gatherv(&self, root: Rank, own: &[u8], sizes: &[u64], all: &mut [u8]) -> Result<()> {
        self.check_root(root)?;
        let blocks = self.blocks(sizes, own.len(), (self.rank == root).then_some(all.len()))?;
        let (from, to) = (read(own), written(all));
        let (counts, places, byte) = (blocks.counts.as_ptr(), blocks.places.as_ptr(), byte());
        let own = blocks.counts[self.rank];
        // SAFETY: both buffers are as long as the counts say.
        let rc = unsafe { functions::MPI_Gatherv(from, own, byte, to, counts, places, byte, root as c_int, world()) };
        check("MPI_Gatherv", rc)
    }

    /// Calls MPI_Scatter: sends the root's `all` in blocks of the length of `own`, one to each rank.
    ///
    /// # Errors
    /// An error of MPI; a length that does not fit.
    pub fn scatter(&self, root: Rank, all: &[u8], own: &mut [u8]) -> Result<()> {
        self.check_root(root)?;
        let wanted = if self.rank == root { own.len() * self.ranks } else { 0 };
        at_least("scatter buffer", all.len(), wanted)?;
        let (count, byte) = (count(own.len() as u64)?, byte());
        let (from, to) = (read(all), written(own));
        // SAFETY: both buffers are as long as the counts say.
        let rc = unsafe { functions::MPI_Scatter(from, count, byte, to, count, byte, root as c_int, world()) };
        check("MPI_Scatter", rc)
    }

    /// Calls MPI_Scatterv: sends the root's `all` in blocks of these `sizes` in bytes, one to each rank.
    ///
    /// # Errors
    /// An error of MPI; a length that does not fit.
    pub fn scatterv(&self, root: Rank, all: &[u8], sizes: &[u64], own: &mut [u8]) -> Result<()> {
        self.check_root(root)?;
        let blocks = self.blocks(sizes, own.len(), (self.rank == root).then_some(all.len()))?;
        let (from, to) = (read(all), written(own));
        let (counts, places, byte) = (blocks.counts.as_ptr(), blocks.places.as_ptr(), byte());
        let own = blocks.counts[self.rank];
        // SAFETY: both buffers are as long as the counts say.
        let rc = unsafe { functions::MPI_Scatterv(from, counts, places, byte, to, own, byte, root as c_int, world()) };
        check("MPI_Scatterv", rc)
    }

    /// Calls MPI_Allgatherv: gathers the blocks of all ranks, of these `sizes` in bytes, one after the other into `all`
    /// on every rank.
    ///
    /// # Errors
    /// An error of MPI; a length that does not fit.
    pub fn allgatherv(&self, own: &[u8], sizes: &[u64], all: &mut [u8]) -> Result<()> {
        let blocks = self.blocks(sizes, own.len(), Some(all.len()))?;
        let (from, to) = (read(own), written(all));
        let (counts, places, byte) = (blocks.counts.as_ptr(), blocks.places.as_ptr(), byte());
        let own = blocks.counts[self.rank];
        // SAFETY: both buffers are as long as the counts say.
        let rc = unsafe { functions::MPI_Allgatherv(from, own, byte, to, counts, places, byte, world()) };
        check("MPI_Allgatherv", rc)
    }

    /// Calls MPI_Bcast: sends the root's `message` to every rank.
    ///
    /// # Errors
    /// An error of MPI; a length that does not fit.
    pub fn broadcast(&self, root: Rank, message: &mut [u8]) -> Result<()> {
        self.check_root(root)?;
        let (count, at) = (count(message.len() as u64)?, written(message));
        // SAFETY: the buffer is as long as the count says.
        check("MPI_Bcast", unsafe { functions::MPI_Bcast(at, count, byte(), root as c_int, world()) })
    }

    /// Calls MPI_Reduce: returns the reduced words of all ranks at the root; zeros on other ranks.
    ///
    /// # Errors
    /// An error of MPI; a length that does not fit.
    pub fn reduce(&self, root: Rank, own: &[u64], with: ReduceOp) -> Result<Vec<u64>> {
        self.check_root(root)?;
        let mut combined = vec![0u64; own.len()];
        let (from, to) = (read(own), written(&mut combined));
        let (count, (kind, op)) = (count(own.len() as u64)?, (word_type(), operation(with)));
        // SAFETY: both buffers hold `count` words.
        let rc = unsafe { ffi::MPI_Reduce(from, to, count, kind, op, root as c_int, world()) };
        check("MPI_Reduce", rc)?;
        Ok(combined)
    }

    /// Calls MPI_Allreduce: returns the reduced words of all ranks on every rank.
    ///
    /// # Errors
    /// An error of MPI; a length that does not fit.
    pub fn allreduce(&self, own: &[u64], with: ReduceOp) -> Result<Vec<u64>> {
        let mut combined = vec![0u64; own.len()];
        let (from, to) = (read(own), written(&mut combined));
        let (count, (kind, op)) = (count(own.len() as u64)?, (word_type(), operation(with)));
        // SAFETY: both buffers hold `count` words.
        let rc = unsafe { ffi::MPI_Allreduce(from, to, count, kind, op, world()) };
        check("MPI_Allreduce", rc)?;
        Ok(combined)
    }

    fn check_root(&self, root: Rank) -> Result<()> {
        if root < self.ranks {
            return Ok(());
        }
        Err(Error::argument("root", root, format!("0 to {}", self.ranks - 1)))
    }

    /// Returns counts and displacements for `sizes`. Checks that this rank's block has `own` bytes, and that a buffer
    /// of `all` bytes holds all blocks.
    fn blocks(&self, sizes: &[u64], own: usize, all: Option<usize>) -> Result<ConsecutiveBlocks> {
        if sizes.len() != self.ranks {
            return Err(Error::argument("number of sizes", sizes.len(), format!("{}, one a rank", self.ranks)));
        }
        if sizes[self.rank] != own as u64 {
            return Err(Error::argument("own block", own, format!("{} bytes", sizes[self.rank])));
        }
        let mut at = 0u64;
        let mut blocks =
            ConsecutiveBlocks { counts: Vec::with_capacity(self.ranks), places: Vec::with_capacity(self.ranks) };
        for &size in sizes {
            blocks.counts.push(count(size)?);
            blocks.places.push(count(at)?);
            at += size;
        }
        at_least("buffer of all blocks", all.unwrap_or(usize::MAX), at as usize)?;
        Ok(blocks)
    }
}

fn at_least(what: &str, len: usize, wanted: usize) -> Result<()> {
    if len >= wanted { Ok(()) } else { Err(Error::argument(what, len, format!("{wanted} bytes or more"))) }
}

fn count(len: u64) -> Result<c_int> {
    c_int::try_from(len).map_err(|_| Error::argument("bytes in all", len, "2^31 - 1 or less: MPI counts in int"))
}

/// Returns the address that MPI reads from; null for an empty slice, whose address in Rust may equal MPI_IN_PLACE (1 in
/// Open MPI).
fn read<T>(slice: &[T]) -> *const c_void {
    if slice.is_empty() { std::ptr::null() } else { slice.as_ptr().cast() }
}

/// Returns the address that MPI writes to; null for an empty slice.
fn written<T>(slice: &mut [T]) -> *mut c_void {
    if slice.is_empty() { std::ptr::null_mut() } else { slice.as_mut_ptr().cast() }
}

fn world() -> ffi::MPI_Comm {
    handles().comm_world
}

fn byte() -> ffi::MPI_Datatype {
    handles().uint8
}

fn word_type() -> ffi::MPI_Datatype {
    handles().uint64
}

fn operation(with: ReduceOp) -> ffi::MPI_Op {
    match with {
        ReduceOp::Sum => handles().sum,
        ReduceOp::Min => handles().min,
        ReduceOp::Max => handles().max,
    }
}
