//! Counting one rank's extents against a division of the file.

use super::matrix::Cell;
use super::message_counts::{Division, Held, Lists};
use tributary::access::{Extent, Packer};
use tributary::drivers::Domains;
use tributary::engine::touched::Touched;
use tributary::error::{Error, Result};

/// A stretch of the file with one owner and one window.
struct Stretch {
    from: u64,
    until: u64,
    aggregator: usize,
    /// Its end, where the owner changes.
    owned: u64,
    /// Index among the counted rounds, if its round is counted.
    round: Option<usize>,
}

impl Stretch {
    fn of(domains: &Domains, chosen: &[u64], offset: u64) -> Self {
        let (aggregator, owned) = domains.owner(offset);
        let window = domains.window(aggregator, offset);
        // In a window of several segments, the owner changes before the window ends.
        let until = owned.min(window.end);
        Self { from: offset, until, aggregator, owned, round: chosen.binary_search(&window.index).ok() }
    }
}

/// The counts of one rank.
pub(super) struct Counted {
    pub(super) requests: u64,
    pub(super) lists: Vec<Cell>,
    pub(super) rounds: Vec<Vec<Cell>>,
    pub(super) sizes: Sizes,
}

/// What a call adds up to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sizes {
    pub(super) bytes: u64,
    /// Number of extents, as the ranks pass them.
    pub(super) extents: u64,
    /// Windows that the ranks touch, each for itself.
    pub(super) touched: u64,
}

impl std::ops::AddAssign for Sizes {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.extents += other.extents;
        self.touched += other.touched;
    }
}

/// The counts of one rank, extent by extent.
pub(super) struct RankCounts<'a> {
    division: &'a Division,
    /// The rounds to count.
    chosen: &'a [u64],
    pairs: Vec<u64>,
    packers: Vec<Packer>,
    held: Vec<Vec<Held>>,
    at: Stretch,
    /// The last extents, which touch each other: they count as one, as in what the engine sends.
    last: Extent,
    bytes: u64,
    extents: u64,
    touched: Touched,
}

impl<'a> RankCounts<'a> {
    pub(super) fn new(division: &'a Division, chosen: &'a [u64]) -> Self {
        let aggregators = division.domains.aggregators();
        let mut packers = Vec::new();
        if division.lists == Lists::Packed {
            packers.resize_with(aggregators, Packer::default);
        }
        Self {
            division,
            chosen,
            pairs: vec![0; aggregators],
            packers,
            held: vec![vec![Held::NOTHING; aggregators]; chosen.len()],
            at: Stretch { from: 0, until: 0, aggregator: 0, owned: 0, round: None },
            last: Extent { offset: 0, len: 0 },
            bytes: 0,
            extents: 0,
            touched: Touched::of(&division.domains),
        }
    }

    /// Counts the next extent. O(1) per stretch that it covers.
    #[inline]
    pub(super) fn add(&mut self, extent: Extent) {
        self.bytes += extent.len;
        self.extents += 1;
        self.touched.add(extent);
        if self.last.end() == extent.offset {
            self.last.len += extent.len;
        } else {
            self.cut();
            self.last = extent;
        }
    }

    /// Counts the last extents by owner and window.
    #[inline]
    fn cut(&mut self) {
        let (mut offset, end, mut told) = (self.last.offset, self.last.end(), None);
        while offset < end {
            if offset < self.at.from || offset >= self.at.until {
                self.at = Stretch::of(&self.division.domains, self.chosen, offset);
            }
            let at = &self.at;
            if told != Some(at.owned) {
                told = Some(at.owned);
                self.pairs[at.aggregator] += 1;
                if let Some(packer) = self.packers.get_mut(at.aggregator) {
                    packer.push(Extent { offset, len: end.min(at.owned) - offset });
                }
            }
            let to = end.min(at.until);
            if let Some(round) = at.round {
                let piece = Held { bytes: to - offset, requests: 1, from: offset, to };
                self.held[round][at.aggregator].add(&piece);
            }
            offset = to;
        }
    }

    /// The counts. Adds the written parts of windows to `windows`, for `weight` ranks that have these counts.
    pub(super) fn finish(mut self, windows: &mut [Vec<Held>], weight: u64) -> Result<Counted> {
        self.cut();
        let sizes: Vec<u64> = match self.division.lists {
            Lists::Pairs => self.pairs.iter().map(|count| count * PAIR).collect(),
            Lists::Packed => self.packers.into_iter().map(|packer| packer.finish().wire_len() as u64).collect(),
        };
        let told = sizes.into_iter().enumerate().filter(|(aggregator, _)| self.pairs[*aggregator] > 0);
        let lists = cells(told)?;
        let mut rounds = Vec::with_capacity(self.held.len());
        for (held, windows) in self.held.iter().zip(windows) {
            windows.iter_mut().zip(held).for_each(|(into, held)| into.add(&held.times(weight)));
            rounds.push(cells(held.iter().map(|held| held.bytes).enumerate().filter(|(_, bytes)| *bytes > 0))?);
        }
        let sizes = Sizes { bytes: self.bytes, extents: self.extents, touched: self.touched.count() };
        Ok(Counted { requests: self.pairs.iter().sum(), lists, rounds, sizes })
    }
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
