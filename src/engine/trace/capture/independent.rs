//! The calls on a file that are not in its capture: independent calls of each rank, and calls that another library ran. The
//! binding counts them, the record of each rank and the header of the capture hold them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tributary_base::wire::Wire;
use tributary_base::wire::varint::Varints;

/// Independent calls of one function on a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndependentCalls {
    /// Name of the function, for example `write_at`.
    pub function: String,
    /// Number of calls.
    pub calls: u64,
    /// Number of bytes of the calls that succeeded.
    pub bytes: u64,
    /// Time of the calls in microseconds; of several ranks, the sum.
    pub microseconds: u64,
    /// Number of bytes of the smallest call, of the median, and of the largest. The median of several ranks is that of the rank
    /// with the most calls.
    pub sizes: [u64; 3],
}

/// Sum of small independent calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SmallCalls {
    /// Number of calls.
    pub calls: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Time of the calls of all ranks in microseconds.
    pub microseconds: u64,
}

impl SmallCalls {
    /// Calls of a function are small if their median size is below this number of bytes: larger ones are as fast by each rank.
    const SMALL: u64 = 1 << 20;
    /// Minimum number of bytes for which collective calls would gain.
    const WORTH_BYTES: u64 = 1 << 20;
    /// Minimum time, in microseconds, for which collective calls would gain.
    const WORTH_MICROSECONDS: u64 = 10_000;

    /// Returns the sum of the small calls of all ranks; `None` if they have too few bytes, or took too little time, to gain from
    /// being collective.
    pub fn worth(all: &[IndependentCalls]) -> Option<Self> {
        let mut sum = Self::default();
        for IndependentCalls { calls, bytes, microseconds, .. } in all.iter().filter(|all| all.sizes[1] < Self::SMALL) {
            sum.calls += calls;
            sum.bytes += bytes;
            sum.microseconds += microseconds;
        }
        (sum.bytes >= Self::WORTH_BYTES && sum.microseconds >= Self::WORTH_MICROSECONDS).then_some(sum)
    }

    /// Returns the time of all ranks in seconds.
    pub fn seconds(&self) -> f64 {
        self.microseconds as f64 / 1e6
    }
}

/// Calls of one collective function that another library ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftCalls {
    /// Name of the function.
    pub function: String,
    /// The reason why this library did not run the calls.
    pub why: String,
    /// Number of calls.
    pub calls: u64,
}

/// Calls on a file that its capture does not hold, on rank 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NotCaptured {
    /// Collective calls that another library ran.
    pub left: Vec<LeftCalls>,
    /// Seconds in functions that neither read nor write, by function.
    pub others: BTreeMap<String, f64>,
    /// How each library in the process makes its independent calls collective.
    pub how: Vec<String>,
}

/// Encodes the independent calls of one rank as the body of a record.
pub fn body(all: &[IndependentCalls]) -> Vec<u8> {
    let mut body = Vec::new();
    Varints([all.len() as u64]).encode(&mut body);
    for IndependentCalls { function, calls, bytes, microseconds, sizes: [least, median, largest] } in all {
        Varints([function.len() as u64]).encode(&mut body);
        body.extend_from_slice(function.as_bytes());
        Varints([*calls, *bytes, *microseconds, *least, *median, *largest]).encode(&mut body);
    }
    body
}

/// Decodes the body of a record; `None` if it is damaged.
pub fn decode(mut body: &[u8]) -> Option<Vec<IndependentCalls>> {
    let from = &mut body;
    let Varints([count]) = Wire::decode(from)?;
    (0..count).map(|_| decode_one(from)).collect()
}

fn decode_one(from: &mut &[u8]) -> Option<IndependentCalls> {
    let Varints([length]) = Wire::decode(from)?;
    let (function, rest) = from.split_at_checked(usize::try_from(length).ok()?)?;
    *from = rest;
    let function = std::str::from_utf8(function).ok()?.to_string();
    let Varints([calls, bytes, microseconds, least, median, largest]) = Wire::decode(from)?;
    Some(IndependentCalls { function, calls, bytes, microseconds, sizes: [least, median, largest] })
}

/// Adds the calls of one rank to the sums of other ranks.
pub fn add(sums: &mut Vec<IndependentCalls>, of_rank: Vec<IndependentCalls>) {
    for one in of_rank {
        let Some(sum) = sums.iter_mut().find(|sum| sum.function == one.function) else {
            sums.push(one);
            continue;
        };
        let ([least, median, largest], is_most) = (one.sizes, one.calls > sum.calls);
        let median = if is_most { median } else { sum.sizes[1] };
        sum.sizes = [sum.sizes[0].min(least), median, sum.sizes[2].max(largest)];
        sum.calls = sum.calls.saturating_add(one.calls);
        sum.bytes = sum.bytes.saturating_add(one.bytes);
        sum.microseconds = sum.microseconds.saturating_add(one.microseconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(function: &str, calls: u64, size: u64, microseconds: u64) -> IndependentCalls {
        IndependentCalls { function: function.to_string(), calls, bytes: calls * size, microseconds, sizes: [size; 3] }
    }

    #[test]
    fn the_calls_of_a_rank_come_back() {
        let all = vec![some("write_at", 1000, 4096, 77), some("read_shared", 1, 0, 0)];
        let body = body(&all);
        assert_eq!(decode(&body), Some(all));
        assert!((0..body.len()).all(|cut| decode(&body[..cut]).is_none()), "a cut record is damage");
    }

    #[test]
    fn small_calls_gain_if_they_took_time() {
        assert_eq!(SmallCalls::worth(&[some("write_at", 10, 4096, 1_000_000)]), None, "few bytes");
        assert_eq!(SmallCalls::worth(&[some("write_at", 1000, 4096, 1000)]), None, "no time");
        assert_eq!(SmallCalls::worth(&[some("write_at", 1000, 4 << 20, 9_000_000)]), None, "large calls");
        let all = [some("write_at", 1000, 4096, 500_000), some("write", 10, 4 << 20, 1_000_000)];
        let mut all = all.to_vec();
        add(&mut all, vec![some("read", 1000, 64, 500_000), some("write_at", 1, 1 << 30, 0)]);
        assert_eq!(all[0].sizes, [4096, 4096, 1 << 30]);
        let sum = SmallCalls::worth(&all).unwrap();
        assert_eq!((sum.calls, sum.microseconds, sum.seconds()), (2001, 1_000_000, 1.0));
    }
}
