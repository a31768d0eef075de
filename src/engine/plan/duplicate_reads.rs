//! Bytes of the file that one rank reads to several positions of its buffer: they are read once, and then copied.

use crate::access::walk::Piece;
use crate::access::{BufferLayout, Extents, Sink};
use crate::engine::lists::flatten::{in_order, overlap};

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

/// Returns the parts of the buffer that [`crate::engine::lists::flatten::flatten`] leaves out, below `limit` in the
/// file. For ascending extents there are none, at no cost; otherwise O(extents log extents) time and 64 bytes each.
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
        find(&kept, Piece { len: overlap, ..piece }, &mut duplicate_reads);
        piece = piece.behind(overlap);
        if piece.len > 0 {
            kept.push(piece);
            covered = piece.offset + piece.len;
        }
    }
    duplicate_reads
}

/// Finds the bytes of `wanted` among the pieces `kept`, which are read. They ascend and contain all of the bytes.
fn find(kept: &[Piece], mut wanted: Piece, duplicate_reads: &mut Vec<DuplicateRead>) {
    let mut index = kept.partition_point(|piece| piece.offset + piece.len <= wanted.offset);
    while wanted.len > 0
        && let Some(piece) = kept.get(index)
    {
        let skip = wanted.offset - piece.offset;
        let len = wanted.len.min(piece.len - skip);
        duplicate_reads.push(DuplicateRead { from: piece.memory + skip, to: wanted.memory, len });
        wanted = wanted.behind(len);
        index += 1;
    }
}

impl DuplicateRead {
    /// Copies the part within `sink`, after the first part was read.
    pub fn copy(&self, sink: &mut Sink<'_>) {
        sink.copy_within(self.from, self.to, self.len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Extent;
    use crate::drivers::Domains;
    use crate::engine::lists::flatten::flatten;
    use proptest::prelude::*;

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
