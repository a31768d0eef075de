//! Algorithms of the tables' MPI libraries for MPI_Gather, MPI_Gatherv and MPI_Allreduce, as far as they are public.
//!
//! | library | MPI_Gather | MPI_Gatherv |
//! |---|---|---|
//! | NEC MPI, Intel MPI | assumed: binomial tree | assumed: linear |
//! | MVAPICH2 | assumed: binomial tree, as MPICH has | linear, synchronous sends, as MPICH from 32 ranks on |
//! | Open MPI | its fixed decision: binomial up to 6,000 bytes a block, else linear with synchronization | linear |
//!
//! A binomial tree is that of ranks counted from the root: its root puts the blocks into rank order when they are all
//! there, and its subtrees do not begin where nodes begin. MPI_Allreduce is recursive doubling.

use std::cell::Cell;

use crate::collectives::gatherv::{BINOMIAL, Gathering, LINEAR_SYNCHRONIZED};
use crate::collectives::in_place::{Part, WordOps};
use crate::collectives::{Gather, Group, allreduce};
use serde::Deserialize;
use tributary::Rank;
use tributary::schedule::{Action, Buffer, Builder, ReduceOp, Schedule, SendMode, Span, Throttle};

/// Size in bytes above which Open MPI gathers blocks linearly, with a first segment of [`FIRST_SEGMENT`].
const INTERMEDIATE_BLOCK: u64 = 6_000;
/// Size in bytes above which Open MPI gathers blocks with a first segment of [`LARGE_SEGMENT`].
const LARGE_BLOCK: u64 = 92_160;
const FIRST_SEGMENT: u64 = 1_024;
const LARGE_SEGMENT: u64 = 32_768;

/// MPI library of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Library {
    /// NEC MPI 1.3.1.
    Nec,
    /// MVAPICH2 2.2.
    Mvapich,
    /// Open MPI 2.0.1.
    OpenMpi,
    /// Intel MPI 2017.1.
    Intel,
}

impl Library {
    /// Returns the schedules of MPI_Gather with `bytes` bytes of every one of `ranks` ranks.
    pub(super) fn gather(self, ranks: usize, root: Rank, bytes: u64) -> Vec<Schedule> {
        let linear = self == Self::OpenMpi && bytes > INTERMEDIATE_BLOCK;
        let segment = if bytes > LARGE_BLOCK { LARGE_SEGMENT } else { FIRST_SEGMENT };
        let algorithm = if linear { &LINEAR_SYNCHRONIZED } else { &BINOMIAL };
        let sizes = vec![bytes; ranks];
        (0..ranks).map(|rank| from_root(algorithm, rank, root, &sizes, segment, !linear)).collect()
    }

    /// Returns the schedules of MPI_Gatherv: the root receives from all; a rank without bytes sends nothing.
    pub(super) fn gatherv(self, root: Rank, sizes: &[u64]) -> Vec<Schedule> {
        let mode = if self == Self::Mvapich { SendMode::Synchronous } else { SendMode::Standard };
        let throttle = if self == Self::OpenMpi { Throttle::sliding(1) } else { Throttle::NONE };
        (0..sizes.len()).map(|rank| linear(rank, root, sizes, mode, throttle)).collect()
    }

    /// Returns the schedules of MPI_Allreduce of one number.
    pub(super) fn allreduce(self, ranks: usize) -> Vec<Schedule> {
        let one = |rank| {
            let mut builder = Builder::default();
            let part = Part::of_all(rank, ranks, 0, 8, WordOps::All(ReduceOp::Max));
            (allreduce::RECURSIVE_DOUBLING.append)(&part, &mut builder, &[]);
            builder.finish()
        };
        (0..ranks).map(one).collect()
    }
}

/// Returns one rank's schedule of a gather among the ranks counted from the root; with `turns` the root then copies all
/// blocks into rank order.
fn from_root(algorithm: &Gather, rank: Rank, root: Rank, sizes: &[u64], segment: u64, turns: bool) -> Schedule {
    let (ranks, bytes) = (sizes.len(), sizes[rank]);
    let all = bytes * ranks as u64;
    let turns = turns && root > 0;
    let gathering = Gathering {
        group: Group::world(rank, ranks).rotated(root),
        root: 0,
        sizes,
        own: Span::new(Buffer::Send, 0, bytes),
        into: Span::new(if turns { Buffer::Stage(1) } else { Buffer::Receive }, 0, if rank == root { all } else { 0 }),
        segment,
        free: &Cell::new(0),
    };
    let mut builder = Builder::default();
    let here = (algorithm.append)(&gathering, &mut builder, &[]);
    if turns && rank == root {
        let low = bytes * root as u64;
        let copy = |from, to, len| (Span::new(Buffer::Stage(1), from, len), Span::new(Buffer::Receive, to, len));
        for (from, to) in [copy(0, low, all - low), copy(all - low, 0, low)] {
            builder.copy(from, to, &here);
        }
    }
    builder.finish()
}

/// Returns one rank's schedule of a gather in which the root receives in rank order, as many blocks at a time as the
/// throttle allows.
fn linear(rank: Rank, root: Rank, sizes: &[u64], mode: SendMode, throttle: Throttle) -> Schedule {
    let mut builder = Builder::default();
    let mut at = 0;
    let places: Vec<_> = (sizes.iter())
        .map(|&len| {
            at += len;
            Span::new(Buffer::Receive, at - len, len)
        })
        .collect();
    let own = Span::new(Buffer::Send, 0, sizes[rank]);
    if rank == root {
        let others = places.iter().enumerate().filter(|&(from, place)| from != root && place.len > 0);
        let receives: Vec<_> = others.map(|(from, &place)| (Action::Receive { from }, place)).collect();
        builder.chain(&receives, throttle, &[]);
        builder.copy(own, places[root], &[]);
    } else if own.len > 0 {
        builder.send(root, mode, own, &[]);
    }
    builder.finish()
}
