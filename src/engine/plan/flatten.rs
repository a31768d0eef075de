//! Flattening: one pass over an access, each piece into the stream of the aggregator that owns it.
//!
//! A stream is two packed lists: where the bytes go in the file (which is also the metadata message, byte for byte) and
//! where they are in the caller's buffer. Nothing is kept per extent. O(extents); O(extents log extents) time and 32 bytes
//! each where the access is not ascending and must be sorted first.

use crate::access::pieces::{Piece, pieces, pieces_of_extents};
use crate::access::{BufferLayout, Extent, Extents, Packed, Packer};
use crate::drivers::Domains;

/// What one rank has for one aggregator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListsToSend {
    /// Index of the aggregator.
    pub aggregator: usize,
    /// Extents of the file, ascending and free of overlap.
    pub file: Packed,
    /// The same bytes in the buffer, in the same order.
    pub memory: Packed,
}

/// Divides an access by owner; aggregators without data are left out, the others ascend. What lies at or behind `limit` is
/// left out (a read ends where the file does).
pub fn flatten(file: &Extents, layout: &BufferLayout, domains: &Domains, limit: u64) -> Vec<ListsToSend> {
    let mut streams: Vec<Option<Box<Stream>>> = Vec::new();
    streams.resize_with(domains.aggregators(), || None);
    let mut divider = Divider { domains, streams, owner: 0, until: 0, covered: 0, limit };
    if file.is_ascending() {
        pieces(file, layout).for_each(|piece| divider.add(piece));
    } else {
        in_order(file, layout).for_each(|piece| divider.add(piece));
    }
    let streams = divider.streams.into_iter().enumerate();
    streams.filter_map(|(aggregator, stream)| Some(stream?.finish(aggregator))).collect()
}

/// The pieces of any access by the offset of their extent, then as they come: of extents that overlap, the one with the
/// lower offset, or else the earlier, is first with all its pieces. 32 bytes a piece.
pub fn in_order(file: &Extents, layout: &BufferLayout) -> impl Iterator<Item = Piece> {
    let mut all: Vec<(u64, Piece)> = pieces_of_extents(file, layout).collect();
    all.sort_by_key(|(extent, _)| *extent);
    all.into_iter().map(|(_, piece)| piece)
}

/// The bytes at the front of a piece that earlier ones have.
pub fn overlap(piece: &Piece, covered: u64) -> u64 {
    covered.saturating_sub(piece.offset).min(piece.len)
}

struct Divider<'a> {
    domains: &'a Domains,
    streams: Vec<Option<Box<Stream>>>,
    /// The owner of the bytes up to `until`.
    owner: usize,
    until: u64,
    /// Everything below is taken already.
    covered: u64,
    /// Nothing from here on is wanted.
    limit: u64,
}

impl Divider<'_> {
    /// Adds a piece, cut where ownership changes. Pieces come [`in_order`]; what overlaps an earlier one is dropped (MPI
    /// leaves open which of a rank's own overlapping bytes stay).
    fn add(&mut self, mut piece: Piece) {
        piece = piece.behind(overlap(&piece, self.covered));
        piece.len = piece.len.min(self.limit.saturating_sub(piece.offset));
        self.covered = self.covered.max(piece.offset + piece.len);
        while piece.len > 0 {
            if piece.offset >= self.until {
                (self.owner, self.until) = self.domains.owner(piece.offset);
            }
            let len = piece.len.min(self.until - piece.offset);
            let stream = self.streams[self.owner].get_or_insert_default();
            stream.file.push(Extent { offset: piece.offset, len });
            stream.memory.push(Extent { offset: piece.memory, len });
            piece = piece.behind(len);
        }
    }
}

#[derive(Default)]
struct Stream {
    file: Joining,
    memory: Joining,
}

impl Stream {
    fn finish(self, aggregator: usize) -> ListsToSend {
        ListsToSend { aggregator, file: self.file.finish(), memory: self.memory.finish() }
    }
}

/// A packer that joins extents that adjoin.
#[derive(Default)]
pub struct Joining {
    packer: Packer,
    last: Option<Extent>,
}

impl Joining {
    /// Appends an extent.
    #[inline]
    pub fn push(&mut self, extent: Extent) {
        match &mut self.last {
            Some(last) if last.end() == extent.offset => last.len += extent.len,
            last => {
                if let Some(done) = last.replace(extent) {
                    self.packer.push(done);
                }
            }
        }
    }

    /// The joined list.
    pub fn finish(mut self) -> Packed {
        if let Some(last) = self.last {
            self.packer.push(last);
        }
        self.packer.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// (offset, memory) of every byte of all streams, with its aggregator.
    fn bytes(all: &[ListsToSend]) -> Vec<(u64, u64, usize)> {
        let expand = |packed: &Packed| packed.iter().flat_map(|e| e.offset..e.end()).collect::<Vec<_>>();
        let mut got: Vec<_> = (all.iter())
            .flat_map(|o| expand(&o.file).into_iter().zip(expand(&o.memory)).map(|(f, m)| (f, m, o.aggregator)))
            .collect();
        got.sort_unstable();
        got
    }

    proptest! {
        #[test]
        fn every_byte_goes_to_its_owner_once(
            list in prop::collection::vec((0u64..400, 0u64..30), 0..40), stripe in 1u64..20, aggregators in 1u64..5,
            limit in 0u64..500
        ) {
            let domains = Domains::Cyclic { stripe, aggregators, stripes: 1 };
            let list = list.into_iter().map(|(offset, len)| Extent { offset, len });
            let file = Extents::from_list(list).unwrap();
            let out = flatten(&file, &BufferLayout::Contiguous, &domains, limit);
            for stream in &out {
                prop_assert!(stream.file.summary().ascending);
                prop_assert_eq!(stream.file.summary().bytes, stream.memory.summary().bytes);
            }
            // Reference: the first piece by (offset, sequence) that holds a byte keeps it.
            let mut pieces: Vec<_> = pieces(&file, &BufferLayout::Contiguous).collect();
            pieces.sort_by_key(|p| p.offset);
            let mut expected = std::collections::BTreeMap::new();
            for piece in pieces {
                for i in 0..piece.len {
                    if piece.offset + i < limit {
                        expected.entry(piece.offset + i).or_insert(piece.memory + i);
                    }
                }
            }
            let expected: Vec<_> =
                expected.into_iter().map(|(f, m)| (f, m, domains.owner(f).0)).collect();
            prop_assert_eq!(bytes(&out), expected);
        }
    }
}
