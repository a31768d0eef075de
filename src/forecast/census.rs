//! What every rank has for every aggregator, and for every window of some rounds: what a collective write exchanges.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::matrix::{Cell, Matrix};
use crate::access::{Extent, Extents, Packer};
use crate::drivers::Domains;
use crate::error::{Error, Result};
use crate::topology::Rank;

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
pub struct Census {
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
    const NOTHING: Self = Self { bytes: 0, requests: 0, from: u64::MAX, to: 0 };

    fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.requests += other.requests;
        self.from = self.from.min(other.from);
        self.to = self.to.max(other.to);
    }
}

/// What one rank has.
struct Counted {
    requests: u64,
    lists: Vec<Cell>,
    rounds: Vec<Vec<Cell>>,
}

impl Census {
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
        let (chosen, all_rounds) = division.rounds();
        let next = AtomicUsize::new(0);
        let worker = || {
            let mut windows = vec![vec![Held::NOTHING; division.domains.aggregators()]; chosen.len()];
            let mut ranks_counted = Vec::new();
            loop {
                let rank = next.fetch_add(1, Ordering::Relaxed);
                if rank >= ranks {
                    return Ok::<_, E>((ranks_counted, windows));
                }
                let one = count(&access(rank)?, &division, &chosen, &mut windows)?;
                ranks_counted.push((rank, one));
                counted();
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(ranks.max(1));
        let parts: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        let mut all: Vec<Option<Counted>> = (0..ranks).map(|_| None).collect();
        let mut windows = vec![vec![Held::NOTHING; division.domains.aggregators()]; chosen.len()];
        for part in parts {
            let (counted, held) = part.map_err(|_| Error::argument("counting", "a thread died", "none"))??;
            counted.into_iter().for_each(|(rank, one)| all[rank] = Some(one));
            for (into, held) in windows.iter_mut().flatten().zip(held.iter().flatten()) {
                into.add(held);
            }
        }
        let all: Vec<Counted> = all.into_iter().flatten().collect();
        let data = |round: usize| Matrix::of_rows(all.iter().map(|one| one.rounds[round].as_slice()));
        let rounds = windows.into_iter().enumerate();
        Ok(Self {
            requests: all.iter().map(|one| one.requests).collect(),
            lists: Matrix::of_rows(all.iter().map(|one| one.lists.as_slice())),
            rounds: rounds.map(|(round, windows)| Round { data: data(round), windows }).collect(),
            all_rounds,
            division,
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

/// A stretch of the file with one owner and one window.
struct Stretch {
    from: u64,
    until: u64,
    aggregator: usize,
    /// Where the owner changes.
    owned: u64,
    /// Which of the rounds that are looked at.
    round: Option<usize>,
}

impl Stretch {
    fn of(domains: &Domains, chosen: &[u64], offset: u64) -> Self {
        let (aggregator, owned) = domains.owner(offset);
        let window = domains.window(aggregator, offset);
        // Inside a window of several segments, ownership changes before the window ends.
        let until = owned.min(window.end);
        Self { from: offset, until, aggregator, owned, round: chosen.binary_search(&window.index).ok() }
    }
}

/// Goes through a rank's extents once.
fn count(file: &Extents, division: &Division, chosen: &[u64], windows: &mut [Vec<Held>]) -> Result<Counted> {
    let (domains, aggregators) = (&division.domains, division.domains.aggregators());
    let mut pairs = vec![0u64; aggregators];
    let mut packers: Vec<Packer> = Vec::new();
    if division.lists == Lists::Packed {
        packers.resize_with(aggregators, Packer::default);
    }
    let mut held = vec![vec![Held::NOTHING; aggregators]; chosen.len()];
    let mut at = Stretch { from: 0, until: 0, aggregator: 0, owned: 0, round: None };
    for extent in file.iter() {
        let (mut offset, end, mut told) = (extent.offset, extent.end(), None);
        while offset < end {
            if offset < at.from || offset >= at.until {
                at = Stretch::of(domains, chosen, offset);
            }
            if told != Some(at.owned) {
                told = Some(at.owned);
                pairs[at.aggregator] += 1;
                if let Some(packer) = packers.get_mut(at.aggregator) {
                    packer.push(Extent { offset, len: end.min(at.owned) - offset });
                }
            }
            let to = end.min(at.until);
            if let Some(round) = at.round {
                let piece = Held { bytes: to - offset, requests: 1, from: offset, to };
                held[round][at.aggregator].add(&piece);
            }
            offset = to;
        }
    }
    let requests = pairs.iter().sum();
    let sizes: Vec<u64> = match division.lists {
        Lists::Pairs => pairs.iter().map(|count| count * PAIR).collect(),
        Lists::Packed => packers.into_iter().map(|packer| packer.finish().wire_len() as u64).collect(),
    };
    let told = |aggregator: usize| pairs[aggregator] > 0;
    let lists =
        cells(sizes.iter().enumerate().filter(|(aggregator, _)| told(*aggregator)).map(|(a, size)| (a, *size)))?;
    let mut rounds = Vec::with_capacity(held.len());
    for (held, windows) in held.iter().zip(windows) {
        windows.iter_mut().zip(held).for_each(|(into, held)| into.add(held));
        rounds.push(cells(held.iter().map(|held| held.bytes).enumerate().filter(|(_, bytes)| *bytes > 0))?);
    }
    Ok(Counted { requests, lists, rounds })
}

/// Bytes of an offset-length pair, as ROMIO sends it for every request.
const PAIR: u64 = 16;

fn cells(of: impl Iterator<Item = (usize, u64)>) -> Result<Vec<Cell>> {
    let cell = |(peer, bytes): (usize, u64)| {
        let large = |_| Error::argument("a message", format!("{bytes} bytes"), "below 4 GiB");
        Ok(Cell { peer: peer as u32, amount: u32::try_from(bytes).map_err(large)? })
    };
    of.map(cell).collect()
}
