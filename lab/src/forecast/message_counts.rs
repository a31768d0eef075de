//! Counts the messages of a collective write: the bytes of every rank for every aggregator, and for the windows of some
//! rounds.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::matrix::AmountMatrix;
use super::rank_counts::RankCounts;
use super::shared_file::SharedFile;
use tributary::access::Extents;
use tributary::drivers::Domains;
use tributary::engine::AccessStats;
use tributary::error::{Error, Result};
use tributary::topology::Rank;

/// Form in which the ranks send their access lists (metadata) to the aggregators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataForm {
    /// Offset and length of every request, 16 bytes, sent only to aggregators with requests, as in ROMIO.
    Pairs,
    /// Packed lists, whose first bytes (the head) are sent to every aggregator, as in this library.
    Packed,
}

/// A divided file, and the rounds whose messages are counted.
#[derive(Debug, Clone)]
pub struct FileDivision {
    /// The file.
    pub file: SharedFile,
    /// Number of rounds to count, evenly spread over all rounds; 0 for all.
    pub sample: usize,
    /// Form of the metadata.
    pub lists: MetadataForm,
}

/// Counts of the messages of a collective write.
#[derive(Debug)]
pub struct MessageCounts {
    pub(super) division: FileDivision,
    /// Number of requests of each rank: adjacent extents are one request, which is split where the aggregator changes.
    pub(super) requests: Vec<u64>,
    /// Number of bytes of metadata from each rank to each aggregator.
    pub(super) lists: AmountMatrix,
    pub(super) rounds: Vec<Round>,
    /// Amount of all ranks.
    pub(super) amount: AccessStats,
    /// Number of all rounds of the write, counted or not.
    all_rounds: u64,
}

/// Messages of one round.
#[derive(Debug)]
pub(super) struct Round {
    /// Number of bytes of data from each rank to each aggregator.
    pub(super) data: AmountMatrix,
    /// Part of its window that each aggregator writes.
    pub(super) windows: Vec<Held>,
}

/// Part of a window that an aggregator writes: its range, bytes and requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) bytes: u64,
    pub(super) requests: u64,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Held {
    pub(super) const NOTHING: Self = Self { bytes: 0, requests: 0, from: u64::MAX, to: 0 };

    /// Returns the written part for `ranks` ranks that each write as much in about the same part of the window.
    pub(super) fn times(&self, ranks: u64) -> Self {
        Self { bytes: self.bytes * ranks, requests: self.requests * ranks, ..*self }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.requests += other.requests;
        self.from = self.from.min(other.from);
        self.to = self.to.max(other.to);
    }
}

impl MessageCounts {
    /// Counts the `access` of every rank, on all cores. Calls `counted` after each rank. O(extents) time; memory for
    /// the counts and for one access per core.
    ///
    /// # Errors
    /// An error of `access`; a message of 4 GiB or more.
    pub fn gather<E: From<Error> + Send>(
        ranks: usize,
        division: FileDivision,
        access: impl Fn(Rank) -> std::result::Result<Extents, E> + Sync,
        counted: impl Fn() + Sync,
    ) -> std::result::Result<Self, E> {
        let mut all_counts = Self::gather_all(ranks, vec![division], |rank| rank, access, counted)?;
        Ok(all_counts.pop().ok_or_else(|| Error::argument("divisions", 0, "1 or more"))?)
    }

    /// Returns the counts for several divisions of the same accesses. `counted_as` names the rank whose counts a rank
    /// takes: itself, or a rank that does nearly the same. Only the named ranks are counted, and the result stands for
    /// all ranks.
    ///
    /// # Errors
    /// The errors of [`MessageCounts::gather`].
    pub fn gather_all<E: From<Error> + Send>(
        ranks: usize,
        divisions: Vec<FileDivision>,
        counted_as: impl Fn(Rank) -> Rank,
        access: impl Fn(Rank) -> std::result::Result<Extents, E> + Sync,
        counted: impl Fn() + Sync,
    ) -> std::result::Result<Vec<Self>, E> {
        let chosen: Vec<_> = divisions.iter().map(FileDivision::rounds).collect();
        let nothing = || -> Vec<Vec<Vec<Held>>> {
            let windows = |(division, (chosen, _)): (&FileDivision, &(Vec<u64>, u64))| {
                vec![vec![Held::NOTHING; division.file.aggregators.len()]; chosen.len()]
            };
            divisions.iter().zip(&chosen).map(windows).collect()
        };
        let named: Vec<Rank> = (0..ranks).map(counted_as).collect();
        let mut weights = BTreeMap::new();
        named.iter().for_each(|&rank| *weights.entry(rank).or_insert(0) += 1);
        let weights: Vec<(Rank, u64)> = weights.into_iter().collect();
        let next = AtomicUsize::new(0);
        let worker = || {
            let (mut windows, mut all) = (nothing(), Vec::new());
            loop {
                let Some(&(rank, weight)) = weights.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return Ok::<_, E>((all, windows));
                };
                let access = access(rank)?;
                let divided = divisions.iter().zip(&chosen).zip(&mut windows);
                let of_rank = divided.map(|((division, (chosen, _)), windows)| {
                    RankCounts::of((division, chosen), &access, (windows, weight))
                });
                all.push((rank, of_rank.collect::<Result<Vec<_>>>()?));
                (0..weight).for_each(|_| counted());
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(weights.len().max(1));
        let parts: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        let (mut windows, mut all) = (nothing(), Vec::with_capacity(weights.len()));
        for part in parts {
            let (counted, held) = part.map_err(|_| Error::argument("counting", "a thread panicked", "no panic"))??;
            all.extend(counted);
            for (into, held) in windows.iter_mut().flatten().flatten().zip(held.iter().flatten().flatten()) {
                into.add(held);
            }
        }
        all.sort_unstable_by_key(|(rank, _)| *rank);
        let mut all_counts = Vec::with_capacity(divisions.len());
        for (at, (division, windows)) in divisions.iter().zip(windows).enumerate() {
            let of_division = named.iter().filter_map(|rank| {
                let counted = all.binary_search_by_key(rank, |(rank, _)| *rank).ok()?;
                Some(&all[counted].1[at])
            });
            all_counts.push(Self::of(division.clone(), chosen[at].1, windows, of_division));
        }
        Ok(all_counts)
    }

    fn of<'a>(
        division: FileDivision,
        all_rounds: u64,
        windows: Vec<Vec<Held>>,
        ranks: impl Iterator<Item = &'a RankCounts> + Clone,
    ) -> Self {
        let data = |round: usize| AmountMatrix::of_rows(ranks.clone().map(|one| one.rounds[round].as_slice()));
        let mut amount = AccessStats::NONE;
        ranks.clone().for_each(|one| amount.merge(&one.amount));
        let rounds = windows.into_iter().enumerate().map(|(round, windows)| Round { data: data(round), windows });
        Self {
            rounds: rounds.collect(),
            requests: ranks.clone().map(|one| one.requests).collect(),
            lists: AmountMatrix::of_rows(ranks.map(|one| one.lists.as_slice())),
            amount,
            all_rounds,
            division,
        }
    }

    /// Returns the counts if `ranks` ranks took over the work of the counted ranks. Each takes consecutive ranks; if
    /// they do not divide evenly, the first take one more. Requests of different counted ranks are not merged.
    ///
    /// # Errors
    /// `ranks` is 0 or above the number of counted ranks; the lists are packed, so their sizes cannot be added.
    pub fn folded(&self, ranks: usize) -> Result<Self> {
        let counted = self.requests.len();
        if ranks == 0 || ranks > counted {
            return Err(Error::argument("ranks", ranks, format!("1 to {counted}")));
        }
        if self.division.lists == MetadataForm::Packed {
            return Err(Error::argument("lists", "packed", "pairs, whose sizes can be added"));
        }
        let taken = |rank| dealt(counted, ranks, rank);
        let fold = |matrix: &AmountMatrix| matrix.joined((0..ranks).map(taken));
        let round = |round: &Round| Round { data: fold(&round.data), windows: round.windows.clone() };
        Ok(Self {
            division: self.division.clone(),
            requests: (0..ranks).map(|rank| self.requests[taken(rank)].iter().sum()).collect(),
            lists: fold(&self.lists),
            rounds: self.rounds.iter().map(round).collect(),
            amount: self.amount,
            all_rounds: self.all_rounds,
        })
    }

    /// Returns the file.
    pub fn file(&self) -> &SharedFile {
        &self.division.file
    }

    /// Returns the number of all rounds of the write.
    pub fn rounds(&self) -> u64 {
        self.all_rounds
    }

    /// Returns the number of rounds that were counted.
    pub fn sampled(&self) -> u64 {
        self.rounds.len() as u64
    }

    /// Returns the number of requests of all ranks: adjacent extents of a rank are one, split where the aggregator
    /// changes.
    pub fn requests(&self) -> u64 {
        self.requests.iter().sum()
    }

    /// Returns the mean number of ranks from which an aggregator receives: in the metadata exchange, and in a round
    /// with data.
    pub fn fan_in(&self) -> (f64, f64) {
        let aggregators = self.division.file.aggregators.len();
        let windows = self.rounds.iter().flat_map(|round| &round.windows).filter(|held| held.bytes > 0).count();
        let messages: usize = self.rounds.iter().map(|round| round.data.cells()).sum();
        (self.lists.cells() as f64 / aggregators as f64, messages as f64 / windows.max(1) as f64)
    }
}

/// Returns the ranks of `all` whose work `rank` takes over, if `ranks` ranks take over the work of all: consecutive ones. If they
/// do not divide evenly, the first take one more.
pub(crate) fn dealt(all: usize, ranks: usize, rank: Rank) -> Range<usize> {
    let (each, more) = (all / ranks, all % ranks);
    let first = |rank: usize| rank * each + rank.min(more);
    first(rank)..first(rank + 1)
}

impl FileDivision {
    /// Returns the indices of the rounds to count, and the number of all rounds.
    pub fn rounds(&self) -> (Vec<u64>, u64) {
        let SharedFile { ref domains, range: (start, end), .. } = self.file;
        if end <= start {
            return (Vec::new(), 0);
        }
        let index = |offset| domains.window(domains.owner(offset).0, offset).index;
        let (first, all) = match domains {
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use tributary::access::Extent;
    use tributary::drivers::{Layout, driver};
    use tributary::engine::planning::{Exchanged, Planner, Received};
    use tributary::{Hints, Topology};

    use super::*;
    use crate::forecast::collective_write::list_messages;
    use crate::sim::Striping;

    /// Checks that ranks get the counts of the rank that stands for them, if pairs of ranks write the same.
    #[test]
    fn ranks_that_stand_for_others_have_their_counts() {
        let domains = Domains::Cyclic { stripe: 100, aggregators: 3, stripes: 1 };
        let striping = Striping { unit: 100, servers: 3 };
        let file = SharedFile { aggregators: [0, 1, 2].into(), domains, range: (0, 1600), striping, open_windows: 2 };
        let division = FileDivision { file, sample: 0, lists: MetadataForm::Packed };
        let access = |rank: Rank| {
            let first = (rank / 2 * 7) as u64;
            Extents::from_list((0..20).map(|at| Extent { offset: first + at * 75, len: 5 }))
        };
        let count = |of: fn(Rank) -> Rank| {
            let counted = AtomicUsize::new(0);
            let divisions = vec![division.clone()];
            let all = MessageCounts::gather_all::<Error>(8, divisions, of, access, || {
                counted.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(counted.into_inner(), 8);
            format!("{:?}", all.unwrap())
        };
        assert_eq!(count(|rank| rank), count(|rank| rank / 2 * 2));
        assert_ne!(count(|rank| rank), count(|_| 0));
    }

    const RANKS: usize = 6;
    const UNIT: u64 = 64;

    /// For each aggregator and round with data: the number of ranks from which data arrives, all bytes, the smallest
    /// and the largest message.
    type Windows = Vec<(usize, u64, Received)>;

    /// Returns what each aggregator receives, from counts whose rounds are all counted.
    fn received(counts: &MessageCounts) -> Windows {
        let (indices, _) = counts.division.rounds();
        let mut windows: Windows = Vec::new();
        for (round, &index) in counts.rounds.iter().zip(&indices) {
            let by_aggregator = round.data.transposed(counts.division.file.aggregators.len());
            for aggregator in 0..by_aggregator.rows() {
                let bytes: Vec<u64> = by_aggregator.row(aggregator).iter().map(|cell| cell.amount.into()).collect();
                assert_eq!(bytes.iter().sum::<u64>(), round.windows[aggregator].bytes);
                if let (Some(&least), Some(&most)) = (bytes.iter().min(), bytes.iter().max()) {
                    let (senders, bytes) = (bytes.len() as u32, bytes.iter().sum());
                    windows.push((aggregator, index, Received { senders, bytes, least, most }));
                }
            }
        }
        windows.sort_unstable_by_key(|&(aggregator, round, _)| (aggregator, round));
        windows
    }

    proptest! {
        /// Checks that the simulator counts the messages that the engine plans. A test of `trib replay --plan-only`
        /// checks that the engine sends what it plans.
        #[test]
        fn the_forecast_counts_the_messages_that_the_engine_plans(
            lens in prop::collection::vec(prop::collection::vec((0..200u64, 1..90u64), 0..30), RANKS),
            unit in 1..5u64,
            buffer in 1..4u64,
            is_lustre in any::<bool>(),
        ) {
            let name = if is_lustre { "lustre; striping_factor=3" } else { "gpfs" };
            let (unit, buffer) = (unit * UNIT, buffer * unit * UNIT);
            let hints = format!("trib_driver={name}; striping_unit={unit}; cb_buffer_size={buffer}; trib_tiny_call=0");
            let hints = Hints::parse(&hints).unwrap();
            let topology = Topology::blocks(RANKS, 2).unwrap();
            let accesses: Vec<Extents> = lens.iter().map(|gaps| {
                let mut at = 0;
                Extents::from_list(gaps.iter().map(|&(gap, len)| {
                    at += gap + len;
                    Extent { offset: at - len, len }
                })).unwrap()
            }).collect();
            let mut amount = AccessStats::NONE;
            accesses.iter().for_each(|access| amount.merge(&AccessStats::from_extents(access, 0)));
            let range = (amount.start, amount.end);
            prop_assume!(range.0 < range.1);

            let layout = Layout::of(unit, if is_lustre { 3 } else { 1 });
            let histogram = || Ok::<_, Error>(Vec::new());
            let of = driver(hints.driver, Path::new(""));
            let planner = Planner::new(topology.clone(), layout, of, hints.clone(), &amount, histogram).unwrap();
            let mut planned = Exchanged::default();
            for (rank, access) in accesses.iter().enumerate() {
                planned += planner.rank(rank, access);
            }

            let file = SharedFile::of(&topology, &hints, range).unwrap();
            prop_assert_eq!(&file.aggregators[..], &planner.aggregators[..]);
            let division = FileDivision { file: file.clone(), sample: 0, lists: MetadataForm::Packed };
            let access = |rank: Rank| Ok::<_, Error>(accesses[rank].clone());
            let counts = MessageCounts::gather(RANKS, division, access, || ()).unwrap();
            prop_assert_eq!(counts.requests(), planned.extents);
            prop_assert_eq!(received(&counts), planned.windows().collect::<Windows>());
            let sent: u64 = list_messages(&counts.lists, file.aggregators.len())
                .iter()
                .flat_map(|messages| (0..RANKS).map(move |rank| (rank, messages.row(rank))))
                .flat_map(|(rank, row)| row.iter().map(move |cell| (rank, cell)))
                .filter(|(rank, cell)| file.aggregators[cell.peer as usize] != *rank)
                .map(|(_, cell)| u64::from(cell.amount))
                .sum();
            prop_assert_eq!(planned.metadata_bytes, sent);
        }
    }
}
