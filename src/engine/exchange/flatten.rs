//! Flattening: one pass over an access that divides it by aggregator.
//!
//! Makes two packed lists for each aggregator: the extents of the bytes in the file (which is the metadata message,
//! byte for byte), and their extents in the caller's buffer. Nothing else is kept per extent. O(extents) time; an
//! access that does not ascend is sorted first, in O(extents log extents) time and 32 bytes of memory for each extent.
//!
//! Bytes of the file that one rank reads to several positions of its buffer are in the lists once. They are read once, and then
//! copied ([`duplicate_reads`]).

use std::ops::Range;

use crate::access::walk::{Piece, pieces_of_extents};
use crate::access::{BufferLayout, Extent, Extents, Packed, Packer, Sink, Walk};
use crate::drivers::Domains;
use crate::world;

/// The bytes that one rank sends to (or wants from) one aggregator, as lists of extents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListsToSend {
    /// Index of the aggregator among the aggregators of the call.
    pub aggregator: usize,
    /// Extents of the file, ascending and without overlaps.
    pub file: Packed,
    /// Extents of these bytes in the caller's buffer, in the same order.
    pub memory: Packed,
}

/// Divides an access by aggregator; returns the lists for each aggregator with data, ascending. Bytes outside of `range` of
/// the file are left out (a read ends at the end of the file; a write may have two parts).
pub fn flatten(file: &Extents, layout: &BufferLayout, domains: &Domains, range: Range<u64>) -> Vec<ListsToSend> {
    world::work(file.count(), 0);
    let finish = |(aggregator, stream): (usize, Box<Stream>)| stream.finish(aggregator);
    divide(file, layout, domains, range).map(finish).collect()
}

/// Divides an access like [`flatten`], without the extents in the buffer: returns (aggregator, extents of the file) for
/// each aggregator with data.
pub fn flatten_file(file: &Extents, domains: &Domains) -> impl Iterator<Item = (usize, Packed)> {
    let all = divide(file, &BufferLayout::Contiguous, domains, 0..u64::MAX);
    all.map(|(aggregator, list): (usize, Box<CoalescingPacker>)| (aggregator, list.finish()))
}

/// Collects the pieces of an access for one aggregator.
trait TakePieces: Default {
    fn take(&mut self, piece: Piece);
}

fn divide<T: TakePieces>(
    file: &Extents,
    layout: &BufferLayout,
    domains: &Domains,
    range: Range<u64>,
) -> impl Iterator<Item = (usize, Box<T>)> {
    let mut streams: Vec<Option<Box<T>>> = Vec::new();
    streams.resize_with(domains.aggregators(), || None);
    let mut divider = Divider { domains, streams, owner: 0, until: 0, covered: range.start, limit: range.end };
    if file.is_ascending() {
        let mut walk = Walk::new(file, layout);
        walk.visit_before(range.start, |_| ());
        divider.walk(walk);
    } else {
        in_order(file, layout).for_each(|piece| divider.add(piece));
    }
    let streams = divider.streams.into_iter().enumerate();
    streams.filter_map(|(aggregator, stream)| Some((aggregator, stream?)))
}

/// Returns the pieces of any access, sorted by the offset of their extent, then by their order in the access. If
/// extents overlap, the extent with the lower offset, or else the earlier one, comes first with all its pieces. 32
/// bytes of memory for each piece.
pub fn in_order(file: &Extents, layout: &BufferLayout) -> impl Iterator<Item = Piece> {
    let mut all: Vec<(u64, Piece)> = pieces_of_extents(file, layout).collect();
    all.sort_by_key(|(extent, _)| *extent);
    all.into_iter().map(|(_, piece)| piece)
}

/// Returns the number of bytes at the start of a piece that lie before `covered`, the end of earlier pieces.
pub fn overlap(piece: &Piece, covered: u64) -> u64 {
    covered.saturating_sub(piece.offset).min(piece.len)
}

struct Divider<'a, T> {
    domains: &'a Domains,
    streams: Vec<Option<Box<T>>>,
    /// Index of the aggregator that owns the bytes up to `until`.
    owner: usize,
    until: u64,
    /// End of the bytes that earlier pieces have, or that are left out.
    covered: u64,
    /// Offset in the file from which bytes are left out.
    limit: u64,
}

impl<T: TakePieces> Divider<'_, T> {
    /// Adds the pieces of an access whose extents of the file ascend.
    fn walk(&mut self, mut walk: Walk<'_>) {
        while let Some(position) = walk.position().filter(|position| *position < self.limit) {
            let (owner, until) = self.domains.owner(position);
            let stream = self.streams[owner].get_or_insert_default();
            walk.visit_before(until.min(self.limit), |piece| stream.take(piece));
        }
    }

    /// Adds a piece, cut at the borders of file domains. Pieces must come [`in_order`]. Bytes that an earlier piece has
    /// are dropped (MPI leaves open which of a rank's own overlapping bytes stay).
    fn add(&mut self, mut piece: Piece) {
        piece = piece.skipping(overlap(&piece, self.covered));
        piece.len = piece.len.min(self.limit.saturating_sub(piece.offset));
        self.covered = self.covered.max(piece.offset + piece.len);
        while piece.len > 0 {
            if piece.offset >= self.until {
                (self.owner, self.until) = self.domains.owner(piece.offset);
            }
            let len = piece.len.min(self.until - piece.offset);
            self.streams[self.owner].get_or_insert_default().take(Piece { len, ..piece });
            piece = piece.skipping(len);
        }
    }
}

#[derive(Default)]
struct Stream {
    file: CoalescingPacker,
    memory: CoalescingPacker,
}

impl TakePieces for Stream {
    #[inline]
    fn take(&mut self, Piece { offset, memory, len }: Piece) {
        self.file.push(Extent { offset, len });
        self.memory.push(Extent { offset: memory, len });
    }
}

impl TakePieces for CoalescingPacker {
    #[inline]
    fn take(&mut self, Piece { offset, len, .. }: Piece) {
        self.push(Extent { offset, len });
    }
}

impl Stream {
    fn finish(self, aggregator: usize) -> ListsToSend {
        ListsToSend { aggregator, file: self.file.finish(), memory: self.memory.finish() }
    }
}

/// Packs a list of extents; joins adjacent extents.
#[derive(Default)]
pub struct CoalescingPacker {
    packer: Packer,
    last: Option<Extent>,
}

impl CoalescingPacker {
    /// Appends an extent. Joins it to the last one if the two are adjacent.
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

    /// Returns the packed list.
    pub fn finish(mut self) -> Packed {
        if let Some(last) = self.last {
            self.packer.push(last);
        }
        self.packer.finish()
    }
}

/// A part of the buffer that becomes a copy of another part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DuplicateRead {
    /// Offset in the buffer of the part that is read, in bytes.
    from: u64,
    /// Offset in the buffer of the copy, in bytes.
    to: u64,
    /// Number of bytes.
    pub len: u64,
}

/// Returns the parts of the buffer that [`flatten`] leaves out, below `limit` in the file. For ascending extents there are
/// none, at no cost; otherwise O(extents log extents) time and 64 bytes each.
pub fn duplicate_reads(file: &Extents, layout: &BufferLayout, limit: u64) -> Vec<DuplicateRead> {
    let mut duplicate_reads = Vec::new();
    if file.is_ascending() {
        return duplicate_reads;
    }
    let mut kept: Vec<Piece> = Vec::new();
    let mut covered = 0;
    for mut piece in in_order(file, layout) {
        piece.len = piece.len.min(limit.saturating_sub(piece.offset));
        let overlap = overlap(&piece, covered);
        find_duplicates(&kept, Piece { len: overlap, ..piece }, &mut duplicate_reads);
        piece = piece.skipping(overlap);
        if piece.len > 0 {
            kept.push(piece);
            covered = piece.offset + piece.len;
        }
    }
    duplicate_reads
}

/// Finds the bytes of `wanted` among the pieces `kept`, which are read. `kept` ascends and contains all of the bytes.
fn find_duplicates(kept: &[Piece], mut wanted: Piece, duplicate_reads: &mut Vec<DuplicateRead>) {
    let mut index = kept.partition_point(|piece| piece.offset + piece.len <= wanted.offset);
    while wanted.len > 0
        && let Some(piece) = kept.get(index)
    {
        let skip = wanted.offset - piece.offset;
        let len = wanted.len.min(piece.len - skip);
        duplicate_reads.push(DuplicateRead { from: piece.memory + skip, to: wanted.memory, len });
        wanted = wanted.skipping(len);
        index += 1;
    }
}

impl DuplicateRead {
    /// Copies the part within `sink`, after the original part was read.
    pub fn copy(&self, sink: &mut Sink<'_>) {
        sink.copy_within(self.from, self.to, self.len);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access::walk::pieces;
    use crate::drivers::Domains;

    /// Returns (offset in the file, offset in memory, aggregator) of every byte of all lists.
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
            start in 0u64..300, len in 0u64..300
        ) {
            let domains = Domains::Cyclic { stripe, aggregators, stripes: 1 };
            let list = list.into_iter().map(|(offset, len)| Extent { offset, len });
            let file = Extents::from_list(list).unwrap();
            let range = start..start + len;
            let out = flatten(&file, &BufferLayout::Contiguous, &domains, range.clone());
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
                    if range.contains(&(piece.offset + i)) {
                        expected.entry(piece.offset + i).or_insert(piece.memory + i);
                    }
                }
            }
            let expected: Vec<_> =
                expected.into_iter().map(|(f, m)| (f, m, domains.owner(f).0)).collect();
            prop_assert_eq!(bytes(&out), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_asked_for_and_its_duplicates_fill_the_buffer(
            list in prop::collection::vec((0u64..200, 1u64..40), 0..30), gap in 0u64..5, limit in 0u64..260
        ) {
            let list: Vec<_> = list.into_iter().map(|(offset, len)| Extent { offset, len }).collect();
            let file = Extents::from_list(list.iter().copied()).unwrap();
            // The extents in memory are cut at other points than the extents in the file.
            let bytes = file.bytes();
            let memory = (0..bytes).step_by(7).map(|at| Extent { offset: at + at / 7 * gap, len: (bytes - at).min(7) });
            let layout = BufferLayout::Extents(Extents::from_list(memory).unwrap());
            let mut buffer = vec![u64::MAX; (bytes * (1 + gap)) as usize + 8];
            let domains = Domains::Cyclic { stripe: 16, aggregators: 3, stripes: 1 };
            for out in flatten(&file, &layout, &domains, 0..limit) {
                let offsets = out.file.iter().flat_map(|e| e.offset..e.end());
                let places = out.memory.iter().flat_map(|e| e.offset..e.end());
                offsets.zip(places).for_each(|(offset, place)| buffer[place as usize] = offset);
            }
            for duplicate in duplicate_reads(&file, &layout, limit) {
                let from = duplicate.from as usize;
                buffer.copy_within(from..from + duplicate.len as usize, duplicate.to as usize);
            }
            let offsets = list.iter().flat_map(|e| e.offset..e.end());
            let BufferLayout::Extents(memory) = &layout else { unreachable!() };
            for (offset, place) in offsets.zip(memory.iter().flat_map(|e| e.offset..e.end())) {
                prop_assert_eq!(buffer[place as usize], if offset < limit { offset } else { u64::MAX });
            }
        }
    }
}
