//! Encodes irregular sequences of extents. The same bytes are the form of a list in memory and the body of a metadata
//! message.
//!
//! An extent is a pair of [`super::pairs`]: the gap to the end of the extent before, and the length. ROMIO sends 16 bytes
//! per extent; here a repeated pattern of any length costs a few bytes, and an irregular extent two to five.

use bytes::Bytes;
use tributary_base::wire::varint;

use super::Extent;
use super::pairs::{self, PairCursor, PairEncoder};
use crate::error::{Error, Result};

/// An encoded sequence of extents, with its summary. Clones share the bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packed {
    tokens: Bytes,
    summary: Summary,
}

/// Count, bytes, range and order of a sequence of extents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of extents.
    pub count: u64,
    /// Sum of the extents' lengths, in bytes.
    pub bytes: u64,
    /// Lowest offset, in bytes; 0 for an empty sequence.
    pub start: u64,
    /// Highest end of an extent, in bytes; 0 for an empty sequence.
    pub end: u64,
    /// True if each extent starts at or after the end of the extent before.
    pub ascending: bool,
}

impl Summary {
    /// The summary of an empty sequence.
    pub const EMPTY: Self = Self { count: 0, bytes: 0, start: 0, end: 0, ascending: true };
}

/// Encodes extents in the order in which they are pushed. O(1) amortised per extent; memory O(encoded size).
#[derive(Debug, Clone)]
pub struct Packer {
    pairs: PairEncoder,
    last_end: u64,
    summary: Summary,
}

impl Default for Packer {
    fn default() -> Self {
        Self { pairs: PairEncoder::default(), last_end: 0, summary: Summary::EMPTY }
    }
}

impl Packer {
    /// Appends one extent; offsets may descend. The extent must end below 2^63, which is not checked here.
    #[inline]
    pub fn push(&mut self, extent: Extent) {
        let gap = extent.offset as i64 - self.last_end as i64;
        self.pairs.push((gap, extent.len));
        let all = &mut self.summary;
        all.start = if all.count == 0 { extent.offset } else { all.start.min(extent.offset) };
        all.ascending &= all.count == 0 || gap >= 0;
        all.end = all.end.max(extent.end());
        all.count += 1;
        all.bytes += extent.len;
        self.last_end = extent.end();
    }

    /// Ends the encoding and returns the sequence.
    pub fn finish(self) -> Packed {
        Packed { tokens: Bytes::from(self.pairs.finish()), summary: self.summary }
    }
}

impl FromIterator<Extent> for Packed {
    fn from_iter<I: IntoIterator<Item = Extent>>(extents: I) -> Self {
        let mut packer = Packer::default();
        extents.into_iter().for_each(|extent| packer.push(extent));
        packer.finish()
    }
}

impl Packed {
    /// Returns the summary of the sequence: count, bytes, range and order.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Returns the number of extents.
    pub fn count(&self) -> u64 {
        self.summary.count
    }

    /// Returns the size of the encoding, in bytes.
    pub fn encoded_len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the number of bytes that [`Packed::write`] appends.
    pub fn wire_len(&self) -> usize {
        self.tokens.len() + varint::len(self.tokens.len() as u64)
    }

    /// Iterates over the extents, in the order in which they were pushed.
    pub fn iter(&self) -> PackedIter<'_> {
        PackedIter { tokens: &self.tokens, decoder: Decoder::default() }
    }

    /// Appends the form for messages to `out`: the length of the encoded bytes, then the bytes. Several sequences can
    /// follow one another.
    pub fn write(&self, out: &mut Vec<u8>) {
        varint::put(out, self.tokens.len() as u64);
        out.extend_from_slice(&self.tokens);
    }

    /// Reads one sequence from the front of `bytes`, as [`Packed::write`] wrote it, and removes it from `bytes`.
    /// Checks all tokens, so that a later walk cannot fail: counts, sums and offsets are below 2^63, lengths above 0.
    /// Shares the memory of `bytes`; damaged bytes cannot make it allocate memory. O(encoded bytes x
    /// [`pairs::HISTORY`]) time.
    ///
    /// # Errors
    /// [`Error::Codec`] on damaged bytes.
    pub fn read(bytes: &mut Bytes) -> Result<Self> {
        Self::read_with_end(bytes).map(|(packed, _)| packed)
    }

    /// Reads a sequence like [`Packed::read`]. Also returns the end of the last extent in sequence (0 for an empty sequence).
    ///
    /// # Errors
    /// The errors of [`Packed::read`].
    pub(super) fn read_with_end(bytes: &mut Bytes) -> Result<(Self, u64)> {
        let mut at = 0;
        let cut = |at| Error::codec(at, "the bytes end before the extents do");
        let length = varint::get(bytes, &mut at).ok_or_else(|| cut(at))?;
        if length > (bytes.len() - at) as u64 {
            return Err(cut(at));
        }
        let tokens = bytes.split_off(at);
        *bytes = tokens.slice(length as usize..);
        let tokens = tokens.slice(..length as usize);
        let (summary, last_end) = summarise(&tokens)?;
        Ok((Self { tokens, summary }, last_end))
    }
}

/// Iterator over the extents of a [`Packed`], in sequence.
#[derive(Debug, Clone)]
pub struct PackedIter<'a> {
    tokens: &'a [u8],
    decoder: Decoder,
}

impl Iterator for PackedIter<'_> {
    type Item = Extent;

    #[inline]
    fn next(&mut self) -> Option<Extent> {
        self.decoder.next(self.tokens)
    }
}

#[derive(Debug, Clone, Default)]
struct Decoder {
    pairs: PairCursor,
    last_end: u64,
}

impl Decoder {
    #[inline]
    fn next(&mut self, tokens: &[u8]) -> Option<Extent> {
        let (gap, len) = self.pairs.next(tokens)?;
        let offset = self.last_end.wrapping_add(gap as u64);
        self.last_end = offset.wrapping_add(len);
        Some(Extent { offset, len })
    }
}

/// A position in a [`Packed`] that moves forwards and can cut extents at offsets of the file. An aggregator has one
/// for each rank's list.
#[derive(Debug, Clone, Default)]
pub struct PackedCursor {
    packed: Packed,
    decoder: Decoder,
    /// Rest of the extent that the cursor is in; `None` at the end.
    current: Option<Extent>,
}

impl PackedCursor {
    /// Creates a cursor at the first extent.
    pub fn new(packed: Packed) -> Self {
        let mut cursor = Self { packed, decoder: Decoder::default(), current: None };
        cursor.current = cursor.decoder.next(&cursor.packed.tokens);
        cursor
    }

    /// Returns the summary of the whole list.
    pub fn summary(&self) -> Summary {
        *self.packed.summary()
    }

    /// Returns the next extent, or the rest of an extent that was taken in part. The cursor does not move.
    #[inline]
    pub fn peek(&self) -> Option<Extent> {
        self.current
    }

    /// Takes the next extent if it starts before offset `limit`, cut at `limit`.
    #[inline]
    pub fn take_before(&mut self, limit: u64) -> Option<Extent> {
        let current = self.current?;
        if current.offset >= limit {
            return None;
        }
        Some(self.take_len(limit - current.offset, current))
    }

    /// Takes the next extent, cut to at most `len` bytes. `len` must be above 0.
    #[inline]
    pub fn take(&mut self, len: u64) -> Option<Extent> {
        self.current.map(|current| self.take_len(len, current))
    }

    #[inline]
    fn take_len(&mut self, len: u64, current: Extent) -> Extent {
        if current.len > len {
            self.current = Some(Extent { offset: current.offset + len, len: current.len - len });
            Extent { offset: current.offset, len }
        } else {
            self.current = self.decoder.next(&self.packed.tokens);
            current
        }
    }

    /// Returns the number of bytes of the extents between the cursor and offset `limit`. O(extents before `limit`);
    /// the cursor does not move.
    pub fn bytes_before(&self, limit: u64) -> u64 {
        let mut ahead = self.clone();
        let mut bytes = 0;
        while let Some(extent) = ahead.take_before(limit) {
            bytes += extent.len;
        }
        bytes
    }
}

/// Checks encoded bytes of unknown origin. Returns their summary and the end of the last extent. Works block by
/// block, not extent by extent.
fn summarise(tokens: &[u8]) -> Result<(Summary, u64)> {
    let mut all = Summary::EMPTY;
    let mut last_end: i128 = 0;
    let (mut low, mut high) = (i128::MAX, 0i128);
    let too_large = || Error::codec(0, "extents beyond 2^63 - 1, or before 0");
    pairs::check(tokens, |block, times| {
        let mut end = last_end;
        let mut bytes: u128 = 0;
        let (mut block_low, mut block_high) = (i128::MAX, i128::MIN);
        for (index, &(gap, len)) in block.iter().enumerate() {
            if len == 0 {
                return Err(Error::codec(0, "an extent of length 0"));
            }
            let offset = end + i128::from(gap);
            let first_of_all = all.count == 0 && index == 0;
            all.ascending &= gap >= 0 || first_of_all;
            end = offset + i128::from(len);
            bytes += u128::from(len);
            block_low = block_low.min(offset);
            block_high = block_high.max(end);
        }
        // Repetition t shifts the block by t x shift; the extremes are at the first and the last repetition.
        let shift = end - last_end;
        let far = shift.checked_mul(i128::from(times) - 1).ok_or_else(too_large)?;
        low = low.min(block_low + far.min(0));
        high = high.max(block_high + far.max(0));
        let limit = i128::from(i64::MAX);
        let total = bytes.checked_mul(u128::from(times)).ok_or_else(too_large)?;
        if low < 0 || high > limit || total > limit as u128 {
            return Err(too_large());
        }
        let count = (block.len() as u64).checked_mul(times).and_then(|n| all.count.checked_add(n));
        all.count = count.ok_or_else(too_large)?;
        all.bytes = all.bytes.checked_add(total as u64).ok_or_else(too_large)?;
        last_end = end + far;
        Ok(())
    })?;
    if all.count > 0 {
        (all.start, all.end) = (low as u64, high as u64);
    }
    Ok((all, last_end as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wire(packed: &Packed) -> Bytes {
        let mut out = Vec::new();
        packed.write(&mut out);
        Bytes::from(out)
    }

    #[test]
    fn a_cursor_cuts_and_goes_on() {
        let packed: Packed = [(10, 10), (30, 5)].map(|(offset, len)| Extent { offset, len }).into_iter().collect();
        let mut cursor = PackedCursor::new(packed);
        assert_eq!(cursor.bytes_before(32), 12);
        assert_eq!(cursor.take_before(10), None);
        assert_eq!(cursor.take_before(15), Some(Extent { offset: 10, len: 5 }));
        assert_eq!(cursor.take_before(30), Some(Extent { offset: 15, len: 5 }));
        assert_eq!(cursor.take_before(30), None);
        assert_eq!(cursor.take(2), Some(Extent { offset: 30, len: 2 }));
        assert_eq!(cursor.take(99), Some(Extent { offset: 32, len: 3 }));
        assert_eq!(cursor.peek(), None);
    }

    #[test]
    fn a_huge_repetition_is_refused_without_being_expanded() {
        // One extent of 2^40 bytes, repeated 2^60 times: past the end of any file.
        let mut tokens = Vec::new();
        for value in [2, 0, 1 << 40, (1u64 << 60) << 1 | 1, 1] {
            varint::put(&mut tokens, value);
        }
        let mut framed = Vec::new();
        varint::put(&mut framed, tokens.len() as u64);
        framed.extend(tokens);
        let error = Packed::read(&mut Bytes::from(framed)).unwrap_err();
        assert!(error.to_string().contains("2^63"), "{error}");
    }

    proptest! {
        #[test]
        fn the_wire_gives_back_extents_and_summary(
            list in prop::collection::vec((0u64..1 << 40, 1u64..1 << 20), 0..300)
        ) {
            let list: Vec<_> = list.into_iter().map(|(offset, len)| Extent { offset, len }).collect();
            let packed: Packed = list.iter().copied().collect();
            let mut bytes = wire(&packed);
            let back = Packed::read(&mut bytes).unwrap();
            prop_assert!(bytes.is_empty());
            prop_assert_eq!(back.summary(), packed.summary());
            prop_assert_eq!(back.iter().collect::<Vec<_>>(), list);
        }

        #[test]
        fn hostile_bytes_are_an_error_or_a_checked_list(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(packed) = Packed::read(&mut Bytes::from(bytes)) {
                let expected = *packed.summary();
                let mut bytes = 0u64;
                for extent in packed.iter().take(10_000) {
                    prop_assert!(extent.len > 0 && extent.offset >= expected.start && extent.end() <= expected.end);
                    bytes += extent.len;
                }
                prop_assert!(bytes <= expected.bytes);
            }
        }

        #[test]
        fn every_truncation_is_an_error_or_shorter(list in prop::collection::vec((0u64..999, 1u64..99), 1..40)) {
            let packed: Packed = list.into_iter().map(|(offset, len)| Extent { offset, len }).collect();
            let whole = wire(&packed);
            for cut in 0..whole.len() {
                prop_assert!(Packed::read(&mut whole.slice(..cut)).is_err());
            }
        }
    }
}
