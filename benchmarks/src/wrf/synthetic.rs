//! Computes a trace without a recording: the messages of the data phase when an array is written in one collective
//! call.
//!
//! A weather model cuts its grid along x and y only, so a rank owns a block of every level. The array is level by level,
//! y by y, x fastest; the file is cut into one domain an aggregator, and in every round each of them takes the next window
//! of its domain. So the ranks of a row of blocks send to the same aggregator at a time.

use std::collections::BTreeMap;

use crate::e3sm::decomposition::share;
use crate::error::PatternError;

use super::trace::{PeerBytes, Trace, TransferTable};

/// Size of an element, in bytes.
const ELEMENT: usize = 4;

/// An array, its division among ranks, and its aggregators. The default is the trace that is shipped as
/// `benchmarks/data/example_trace.dat`; the example `write_trace` writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Synthetic {
    /// Number of points along x, y and z; not 0. Default 123 x 90 x 10.
    pub points: [usize; 3],
    /// Number of ranks along x and y; not 0. Default 8 x 4.
    pub ranks: [usize; 2],
    /// Number of aggregators, evenly spread over the ranks; not 0. Default 4.
    pub aggregators: usize,
    /// Number of rounds; not 0. Default 3.
    pub rounds: usize,
}

impl Default for Synthetic {
    fn default() -> Self {
        Self { points: [123, 90, 10], ranks: [8, 4], aggregators: 4, rounds: 3 }
    }
}

impl Synthetic {
    /// Computes the trace. O(y * z * ranks along x + messages).
    ///
    /// # Errors
    /// A number is 0, or there are more aggregators than ranks.
    pub fn trace(&self) -> Result<Trace, PatternError> {
        let Self { points: [x, y, z], ranks: [across, down], aggregators, rounds } = *self;
        let ranks = across * down;
        if [x, y, z, ranks, rounds].contains(&0) {
            return Err(PatternError::argument("synthetic trace", format!("{self:?}"), "numbers of 1 or more"));
        }
        if aggregators == 0 || aggregators > ranks {
            return Err(PatternError::argument("aggregators", aggregators, format!("1 to the ranks, {ranks}")));
        }
        let domain = (x * y * z).div_ceil(aggregators);
        let window = domain.div_ceil(rounds);
        let mut sends: BTreeMap<[usize; 3], u64> = BTreeMap::new();
        for (level, row) in (0..z).flat_map(|level| (0..down).map(move |row| (level, row))) {
            for line in share(y, row, down) {
                for column in 0..across {
                    let own = share(x, column, across);
                    let start = (level * y + line) * x;
                    let (mut at, end) = (start + own.start, start + own.end);
                    while at < end {
                        let (aggregator, round) = (at / domain, at % domain / window);
                        let stop = (aggregator * domain + (round + 1) * window).min((aggregator + 1) * domain).min(end);
                        let to = aggregator * ranks / aggregators;
                        *sends.entry([round, row * across + column, to]).or_default() += ((stop - at) * ELEMENT) as u64;
                        at = stop;
                    }
                }
            }
        }
        let table = |own: usize, other: usize| {
            let mut lists = vec![Vec::new(); ranks * rounds];
            for (key, &bytes) in &sends {
                lists[key[own] * rounds + key[0]].push(PeerBytes { peer: key[other], bytes });
            }
            let mut table = TransferTable::default();
            lists.into_iter().for_each(|list| table.push(list));
            table
        };
        Trace::new("synthetic".to_string(), ranks, rounds, table(1, 2), table(2, 1))
    }
}
