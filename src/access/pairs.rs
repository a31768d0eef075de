//! A codec for sequences of pairs `(i64, u64)`: varints, and back-references into the last [`HISTORY`] pairs.
//!
//! Access patterns repeat: variable after variable, level after level. As (gap, length) pairs, a repetition consists of
//! the same pairs. A back-reference means "repeat `length` pairs, starting `distance` pairs back"; it may read pairs
//! that the same back-reference has produced, so a few bytes hold any number of repetitions. A strided run is a
//! back-reference of distance 1.
//!
//! The token stream: `varint(n << 1)` and `n` literal pairs (`varint(zigzag(a))`, `varint(b)`), or
//! `varint(length << 1 | 1)` and `varint(distance)`.
//!
//! Encoding and decoding are O(pairs) time and O([`HISTORY`]) memory; a decoder never allocates by what the bytes claim.

use tributary_base::wire::varint;

use crate::error::{Error, Result};

/// Maximum distance of a back-reference, in pairs.
pub const HISTORY: usize = 128;
/// Minimum number of repeated pairs for which a back-reference is written; a shorter repetition is written as literal
/// pairs.
const SHORTEST_MATCH: u64 = 2;

type Pair = (i64, u64);

/// The last [`HISTORY`] pairs that were encoded or decoded. The memory grows with the number of pairs seen.
#[derive(Debug, Clone, Default)]
struct PairHistory {
    ring: Vec<Pair>,
    seen: u64,
}

impl PairHistory {
    #[inline]
    fn push(&mut self, pair: Pair) {
        if self.ring.len() < HISTORY {
            if self.ring.is_empty() {
                // Most lists are short: one small allocation holds their whole history.
                self.ring.reserve_exact(32);
            }
            self.ring.push(pair);
        } else {
            self.ring[self.seen as usize % HISTORY] = pair;
        }
        self.seen += 1;
    }

    /// Pushes `count` pairs, each a copy of the pair `distance` before it; `None` if there is no pair so far back.
    fn repeat(&mut self, distance: u64, count: u64) -> Option<()> {
        self.back(distance)?;
        let mut left = count;
        while self.ring.len() < HISTORY && left > 0 {
            self.push(self.back(distance)?);
            left -= 1;
        }
        if let Ok(ring) = <&mut [Pair; HISTORY]>::try_from(&mut self.ring[..]) {
            for at in self.seen..self.seen + left {
                ring[at as usize % HISTORY] = ring[(at - distance) as usize % HISTORY];
            }
            self.seen += left;
        }
        Some(())
    }

    /// Returns the pair `distance` before the next pair.
    #[inline]
    fn back(&self, distance: u64) -> Option<Pair> {
        if distance == 0 || distance > self.ring.len() as u64 {
            return None;
        }
        Some(self.ring[(self.seen - distance) as usize % HISTORY])
    }
}

/// Encoder for pairs, which takes one pair at a time. Remembers only the last [`HISTORY`] pairs.
#[derive(Debug, Clone, Default)]
pub struct PairEncoder {
    out: Vec<u8>,
    history: PairHistory,
    /// For each hash of a pair, the position (plus one) of the last pair with this hash.
    last_seen: Vec<u64>,
    literals: Vec<Pair>,
    /// Number of pairs in the repetition that is being encoded; `history` has these pairs already.
    matched: u64,
    distance: u64,
}

impl PairEncoder {
    /// Appends one pair. Amortised O(1).
    #[inline]
    pub fn push(&mut self, pair: Pair) {
        if self.matched > 0 {
            if self.history.back(self.distance) == Some(pair) {
                self.matched += 1;
                self.history.push(pair);
                return;
            }
            self.end_match();
        }
        self.begin(pair);
    }

    /// Starts a back-reference at `pair` if an earlier pair is equal: the pair at the last distance, or the pair that the
    /// hash table gives. Otherwise queues `pair` as a literal.
    fn begin(&mut self, pair: Pair) {
        let slot = Self::slot(pair);
        if self.last_seen.is_empty() {
            self.last_seen = vec![0; HISTORY];
        }
        let candidate = (self.history.seen + 1).saturating_sub(self.last_seen[slot]);
        let found = [self.distance, candidate].into_iter().find(|&d| self.history.back(d) == Some(pair));
        match found {
            Some(distance) => {
                self.distance = distance;
                self.matched = 1;
            }
            None => self.literals.push(pair),
        }
        self.history.push(pair);
        self.last_seen[slot] = self.history.seen;
    }

    fn slot(pair: Pair) -> usize {
        let mixed = (pair.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ pair.1.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        (mixed >> 57) as usize % HISTORY
    }

    fn end_match(&mut self) {
        let length = std::mem::take(&mut self.matched);
        if length < SHORTEST_MATCH {
            self.literals.extend((1..=length).rev().filter_map(|d| self.history.back(d)));
            return;
        }
        self.flush_literals();
        varint::put(&mut self.out, length << 1 | 1);
        varint::put(&mut self.out, self.distance);
    }

    fn flush_literals(&mut self) {
        if self.literals.is_empty() {
            return;
        }
        varint::put(&mut self.out, (self.literals.len() as u64) << 1);
        for (a, b) in self.literals.drain(..) {
            varint::put(&mut self.out, varint::zigzag(a));
            varint::put(&mut self.out, b);
        }
    }

    /// Returns the encoded bytes of all pairs that were pushed.
    pub fn finish(mut self) -> Vec<u8> {
        self.end_match();
        self.flush_literals();
        self.out
    }
}

/// One token of the encoded stream: literal pairs or a back-reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// This number of literal pairs follows.
    Literals(u64),
    /// A back-reference: earlier pairs are repeated.
    Back {
        /// Number of pairs that the back-reference repeats.
        length: u64,
        /// Distance from the next pair back to the first pair that is copied, in pairs.
        distance: u64,
    },
}

/// A position in an encoded stream of pairs. The caller keeps the bytes and passes them to each call. Pairs are
/// decoded [`HISTORY`] at a time.
#[derive(Debug, Clone)]
pub struct PairCursor {
    at: usize,
    /// The last pairs that were decoded. The caller has not yet got the pairs from `taken` on.
    history: PairHistory,
    taken: u64,
    token: Token,
}

impl Default for PairCursor {
    fn default() -> Self {
        Self { at: 0, history: PairHistory::default(), taken: 0, token: Token::Literals(0) }
    }
}

impl PairCursor {
    /// Returns the next pair; `None` at the end of the stream and on damaged bytes ([`check`] tells the two apart).
    /// Amortised O(1).
    #[inline]
    pub fn next(&mut self, bytes: &[u8]) -> Option<Pair> {
        if self.taken == self.history.seen {
            self.decode(bytes);
        }
        let pair = (self.taken < self.history.seen).then(|| self.history.ring[self.taken as usize % HISTORY])?;
        self.taken += 1;
        Some(pair)
    }

    /// Decodes pairs until the history is full, after all earlier pairs have been taken. After damaged bytes, it decodes
    /// nothing more.
    fn decode(&mut self, bytes: &[u8]) {
        let end = self.history.seen + HISTORY as u64;
        while self.history.seen < end && self.at <= bytes.len() {
            if self.decode_token(bytes, end - self.history.seen).is_none() {
                self.at = bytes.len() + 1;
            }
        }
    }

    /// Decodes at most `most` pairs of the current token, or reads the next token.
    fn decode_token(&mut self, bytes: &[u8], most: u64) -> Option<()> {
        match &mut self.token {
            Token::Literals(0) | Token::Back { length: 0, .. } => self.token = read_token(bytes, &mut self.at)?,
            Token::Literals(left) => {
                let count = most.min(*left);
                *left -= count;
                for _ in 0..count {
                    self.history.push(read_pair(bytes, &mut self.at)?);
                }
            }
            Token::Back { length, distance } => {
                let count = most.min(*length);
                *length -= count;
                self.history.repeat(*distance, count)?;
            }
        }
        Some(())
    }
}

#[inline]
fn read_pair(bytes: &[u8], at: &mut usize) -> Option<Pair> {
    Some((varint::unzigzag(varint::get(bytes, at)?), varint::get(bytes, at)?))
}

fn read_token(bytes: &[u8], at: &mut usize) -> Option<Token> {
    let head = varint::get(bytes, at)?;
    Some(if head & 1 == 0 {
        Token::Literals(head >> 1)
    } else {
        Token::Back { length: head >> 1, distance: varint::get(bytes, at)? }
    })
}

/// Checks a token stream of unknown origin without expanding it. Calls `visit(block, times)` for each block of pairs,
/// with the number of times that the block is repeated. O(bytes x [`HISTORY`]) time, whatever number of pairs the
/// stream claims to hold.
///
/// # Errors
/// [`Error::Codec`] with the position of the damage; an error of `visit`.
pub fn check(bytes: &[u8], mut visit: impl FnMut(&[Pair], u64) -> Result<()>) -> Result<()> {
    let mut at = 0;
    let mut history = PairHistory::default();
    while at < bytes.len() {
        let start = at;
        let damaged = |what: &str| Error::codec(start, what.to_string());
        match read_token(bytes, &mut at).ok_or_else(|| damaged("a cut token"))? {
            Token::Literals(0) => return Err(damaged("an empty token")),
            Token::Literals(count) => {
                for _ in 0..count {
                    let pair = read_pair(bytes, &mut at).ok_or_else(|| damaged("a cut pair"))?;
                    visit(&[pair], 1)?;
                    history.push(pair);
                }
            }
            Token::Back { length, distance } => {
                if length == 0 || history.back(distance).is_none() {
                    return Err(damaged("a reference before the beginning"));
                }
                let block: Vec<Pair> = (1..=distance).rev().filter_map(|d| history.back(d)).collect();
                let (times, rest) = (length / distance, (length % distance) as usize);
                if times > 0 {
                    visit(&block, times)?;
                }
                if rest > 0 {
                    visit(&block[..rest], 1)?;
                }
                advance(&mut history, &block, length);
            }
        }
    }
    Ok(())
}

/// Pushes the last pairs of `block` repeated to `length` pairs, as far as `history` can hold them.
fn advance(history: &mut PairHistory, block: &[Pair], length: u64) {
    let period = block.len() as u64;
    let keep = length.min(HISTORY as u64);
    for index in length - keep..length {
        history.push(block[(index % period) as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(pairs: &[Pair]) -> Vec<u8> {
        let mut encoder = PairEncoder::default();
        pairs.iter().for_each(|&pair| encoder.push(pair));
        encoder.finish()
    }

    fn decode(bytes: &[u8]) -> Vec<Pair> {
        let mut cursor = PairCursor::default();
        std::iter::from_fn(|| cursor.next(bytes)).collect()
    }

    fn checked(bytes: &[u8]) -> Result<Vec<Pair>> {
        let mut all = Vec::new();
        check(bytes, |block, times| {
            for _ in 0..times {
                all.extend_from_slice(block);
            }
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn a_run_takes_a_few_bytes_whatever_its_length() {
        let bytes = encode(&vec![(4096, 8); 1_000_000]);
        assert!(bytes.len() <= 10, "{} bytes", bytes.len());
        assert_eq!(decode(&bytes).len(), 1_000_000);
    }

    #[test]
    fn a_repeated_irregular_list_is_found_again() {
        let row: Vec<Pair> = (0..39).map(|i: i64| (i * i % 71 + 1, (i % 5 + 1) as u64 * 8)).collect();
        let pairs: Vec<Pair> = row.iter().cycle().take(39 * 4859).copied().collect();
        let bytes = encode(&pairs);
        assert!(bytes.len() < 39 * 4 + 16, "{} bytes", bytes.len());
        assert_eq!(decode(&bytes), pairs);
    }

    #[test]
    fn hostile_streams_are_errors() {
        let check_tokens = |tokens: &[u64]| {
            let mut bytes = Vec::new();
            tokens.iter().for_each(|&v| varint::put(&mut bytes, v));
            checked(&bytes)
        };
        assert!(check_tokens(&[u64::MAX - 1]).is_err(), "2^63 literals that are not there");
        assert!(check_tokens(&[3, 1]).is_err(), "a reference to nothing");
        assert!(check_tokens(&[2, 0, 0, 3, 0]).is_err(), "distance 0");
        assert!(check_tokens(&[2, 0, 0, 1, 1]).is_err(), "length 0");
        assert!(check_tokens(&[0]).is_err(), "no literals");
    }

    proptest! {
        #[test]
        fn decoding_inverts_encoding(pairs in prop::collection::vec((-5i64..5, 0u64..4), 0..2000)) {
            let bytes = encode(&pairs);
            prop_assert_eq!(&decode(&bytes), &pairs);
            prop_assert_eq!(&checked(&bytes).unwrap(), &pairs);
        }

        #[test]
        fn extreme_values_survive(pairs in prop::collection::vec((any::<i64>(), any::<u64>()), 0..50)) {
            prop_assert_eq!(decode(&encode(&pairs)), pairs);
        }

        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut visited = 0u64;
            let _ = check(&bytes, |block, _| { visited += block.len() as u64; Ok(()) });
            prop_assert!(visited <= (bytes.len() as u64 + 1) * HISTORY as u64);
        }
    }
}
