//! What every rank has for every aggregator, and for every window of some rounds: what a collective write exchanges.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::matrix::Matrix;
use super::rank_counts::{Counted, RankCounts};
use tributary::access::Extents;
use tributary::drivers::Domains;
use tributary::error::{Error, Result};
use tributary::topology::Rank;

/// In which form ranks tell aggregators what they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// Offset and length of every request, 16 bytes, to those aggregators that there are requests for: ROMIO.
    Pairs,
    /// Packed lists, the first bytes of which (the head) go to every aggregator: this library.
    Packed,
}

/// Which file, and which of its rounds.
#[derive(Debug, Clone)]
pub struct Division {
    /// How the file is divided.
    pub domains: Domains,
    /// First byte that anybody writes, and one past the last.
    pub range: (u64, u64),
    /// Rounds to look at, spread evenly over all; 0 for all.
    pub sample: usize,
    /// The form of lists.
    pub lists: Lists,
}

/// The counts.
#[derive(Debug)]
pub struct MessageCounts {
    pub(super) division: Division,
    /// Requests of each rank, cut where the owner changes.
    pub(super) requests: Vec<u64>,
    /// What each rank tells each aggregator, in bytes.
    pub(super) lists: Matrix,
    pub(super) rounds: Vec<Round>,
    /// How many rounds there are in all.
    all_rounds: u64,
}

/// One round.
#[derive(Debug)]
pub(super) struct Round {
    /// Bytes of each rank for each aggregator.
    pub(super) data: Matrix,
    /// Of each aggregator.
    pub(super) windows: Vec<Held>,
}

/// What is written of a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) bytes: u64,
    pub(super) requests: u64,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Held {
    pub(super) const NOTHING: Self = Self { bytes: 0, requests: 0, from: u64::MAX, to: 0 };

    pub(super) fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.requests += other.requests;
        self.from = self.from.min(other.from);
        self.to = self.to.max(other.to);
    }
}

impl MessageCounts {
    /// Asks every rank for its `access` and counts, on all cores. `counted` is called after each rank. O(extents) time;
    /// memory of the counts and of an access a core.
    ///
    /// # Errors
    /// Those of `access`; a message of 4 GiB or more.
    pub fn gather<E: From<Error> + Send>(
        ranks: usize,
        division: Division,
        access: impl Fn(Rank) -> std::result::Result<Extents, E> + Sync,
        counted: impl Fn() + Sync,
    ) -> std::result::Result<Self, E> {
        let mut all_counts = Self::gather_all(ranks, vec![division], access, counted)?;
        Ok(all_counts.pop().ok_or_else(|| Error::argument("divisions", 0, "1 or more"))?)
    }

    /// The same for several divisions in one pass over the extents.
    ///
    /// # Errors
    /// As [`MessageCounts::gather`].
    pub fn gather_all<E: From<Error> + Send>(
        ranks: usize,
        divisions: Vec<Division>,
        access: impl Fn(Rank) -> std::result::Result<Extents, E> + Sync,
        counted: impl Fn() + Sync,
    ) -> std::result::Result<Vec<Self>, E> {
        let chosen: Vec<_> = divisions.iter().map(Division::rounds).collect();
        let nothing = || -> Vec<Vec<Vec<Held>>> {
            let windows = |(division, (chosen, _)): (&Division, &(Vec<u64>, u64))| {
                vec![vec![Held::NOTHING; division.domains.aggregators()]; chosen.len()]
            };
            divisions.iter().zip(&chosen).map(windows).collect()
        };
        let next = AtomicUsize::new(0);
        let worker = || {
            let (mut windows, mut all) = (nothing(), Vec::new());
            loop {
                let rank = next.fetch_add(1, Ordering::Relaxed);
                if rank >= ranks {
                    return Ok::<_, E>((all, windows));
                }
                let pairs = divisions.iter().zip(&chosen);
                let mut tallies: Vec<_> =
                    pairs.map(|(division, (chosen, _))| RankCounts::new(division, chosen)).collect();
                for extent in access(rank)?.iter() {
                    tallies.iter_mut().for_each(|rank_counts| rank_counts.add(extent));
                }
                let of_rank =
                    tallies.into_iter().zip(&mut windows).map(|(rank_counts, windows)| rank_counts.finish(windows));
                all.push((rank, of_rank.collect::<Result<Vec<_>>>()?));
                counted();
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(ranks.max(1));
        let parts: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        let (mut windows, mut all) = (nothing(), Vec::with_capacity(ranks));
        for part in parts {
            let (counted, held) = part.map_err(|_| Error::argument("counting", "a thread died", "none"))??;
            all.extend(counted);
            for (into, held) in windows.iter_mut().flatten().flatten().zip(held.iter().flatten().flatten()) {
                into.add(held);
            }
        }
        all.sort_unstable_by_key(|(rank, _)| *rank);
        let mut all_counts = Vec::with_capacity(divisions.len());
        for (at, (division, windows)) in divisions.iter().zip(windows).enumerate() {
            let of_division = all.iter().map(|(_, counted)| &counted[at]);
            all_counts.push(Self::of(division.clone(), chosen[at].1, windows, of_division));
        }
        Ok(all_counts)
    }

    fn of<'a>(
        division: Division,
        all_rounds: u64,
        windows: Vec<Vec<Held>>,
        ranks: impl Iterator<Item = &'a Counted> + Clone,
    ) -> Self {
        let data = |round: usize| Matrix::of_rows(ranks.clone().map(|one| one.rounds[round].as_slice()));
        let rounds = windows.into_iter().enumerate().map(|(round, windows)| Round { data: data(round), windows });
        Self {
            rounds: rounds.collect(),
            requests: ranks.clone().map(|one| one.requests).collect(),
            lists: Matrix::of_rows(ranks.map(|one| one.lists.as_slice())),
            all_rounds,
            division,
        }
    }

    /// What it would be if `ranks` ranks took over from those that were counted, consecutive ones in turn (the first a
    /// rank more each, where it does not come out even); requests of different ones stay apart.
    ///
    /// # Errors
    /// No ranks or more than were counted; packed lists, which do not add up.
    pub fn folded(&self, ranks: usize) -> Result<Self> {
        let counted = self.requests.len();
        if ranks == 0 || ranks > counted {
            return Err(Error::argument("ranks", ranks, format!("1 to {counted}")));
        }
        if self.division.lists == Lists::Packed {
            return Err(Error::argument("lists", "packed", "pairs, which add up"));
        }
        let (each, more) = (counted / ranks, counted % ranks);
        let first = |rank: usize| rank * each + rank.min(more);
        let fold = |matrix: &Matrix| matrix.joined((0..ranks).map(|rank| first(rank)..first(rank + 1)));
        let round = |round: &Round| Round { data: fold(&round.data), windows: round.windows.clone() };
        Ok(Self {
            division: self.division.clone(),
            requests: (0..ranks).map(|rank| self.requests[first(rank)..first(rank + 1)].iter().sum()).collect(),
            lists: fold(&self.lists),
            rounds: self.rounds.iter().map(round).collect(),
            all_rounds: self.all_rounds,
        })
    }

    /// How many rounds the write has.
    pub fn rounds(&self) -> u64 {
        self.all_rounds
    }

    /// How many of them were looked at.
    pub fn sampled(&self) -> u64 {
        self.rounds.len() as u64
    }

    /// Requests of all ranks, cut where the owner changes.
    pub fn requests(&self) -> u64 {
        self.requests.iter().sum()
    }

    /// How many ranks an aggregator hears from, and how many it receives from in a round with data: means.
    pub fn fan_in(&self) -> (f64, f64) {
        let aggregators = self.division.domains.aggregators();
        let windows = self.rounds.iter().flat_map(|round| &round.windows).filter(|held| held.bytes > 0).count();
        let messages: usize = self.rounds.iter().map(|round| round.data.cells()).sum();
        (self.lists.cells() as f64 / aggregators as f64, messages as f64 / windows.max(1) as f64)
    }
}

impl Division {
    /// The numbers of the rounds that are looked at, and how many there are.
    fn rounds(&self) -> (Vec<u64>, u64) {
        let (start, end) = self.range;
        if end <= start {
            return (Vec::new(), 0);
        }
        let index = |offset| self.domains.window(self.domains.owner(offset).0, offset).index;
        let (first, all) = match &self.domains {
            Domains::Cyclic { .. } => (index(start), index(end - 1) + 1 - index(start)),
            Domains::Ranges { bounds, window } => {
                let longest = bounds.windows(2).map(|pair| pair[1].min(end).saturating_sub(pair[0].max(start))).max();
                (0, longest.unwrap_or(0).div_ceil(*window))
            }
        };
        let wanted = if self.sample == 0 { all } else { all.min(self.sample as u64) };
        // The middle of each of `wanted` equal parts.
        ((0..wanted).map(|i| first + (2 * i + 1) * all / (2 * wanted)).collect(), all)
    }
}
