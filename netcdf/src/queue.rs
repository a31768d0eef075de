//! Queues requests for the next collective write: their packed bytes and file extents.

use std::collections::BinaryHeap;

use tributary::Result;
use tributary::access::{BufferLayout, Extent, Extents};

/// A range of bytes that is contiguous in the file and in the queue's data.
#[derive(Debug, Clone, Copy)]
struct QueuedPiece {
    offset: u64,
    memory: u64,
    len: u64,
}

/// The queued requests of this rank. A request of one extent takes 24 bytes besides its data, any other the memory of
/// its [`Extents`]. The data are copied once, by the conversion.
#[derive(Default)]
pub(crate) struct Queue {
    /// Requests that have only one extent.
    singles: Vec<QueuedPiece>,
    /// Requests of several extents, with the position of their bytes in `data`.
    parts: Vec<(Extents, u64)>,
    /// Bytes of all requests, in the order in which they were queued.
    pub data: Vec<u8>,
}

impl Queue {
    /// Returns true if no request is queued.
    pub fn is_empty(&self) -> bool {
        self.singles.is_empty() && self.parts.is_empty()
    }

    /// Queues a request for `extents`, whose bytes begin at position `memory` of `data`.
    pub fn push(&mut self, extents: Extents, memory: u64) {
        match extents.span() {
            Some((offset, end)) if extents.count() == 1 => {
                self.singles.push(QueuedPiece { offset, memory, len: end - offset });
            }
            Some(_) => self.parts.push((extents, memory)),
            None => {}
        }
    }

    /// Returns all requests as one access in ascending order, and the data. Where requests overlap, the request
    /// queued last wins. Requests that do not interleave keep their extents; otherwise this costs O(n log n) over all
    /// n extents, 24 bytes each.
    ///
    /// # Errors
    /// The extents reach beyond 2^63 - 1.
    pub fn take(self) -> Result<(Extents, BufferLayout, Vec<u8>)> {
        let Self { mut singles, mut parts, data } = self;
        singles.sort_by_key(|piece| piece.offset);
        parts.sort_by_key(|(extents, _)| extents.span());
        let (file, memory) = match side_by_side(&singles, &parts)? {
            Some(both) => both,
            None => packed(&without_overlap(expanded(singles, &parts)))?,
        };
        let in_order = memory.count() == 1 && memory.bytes() == data.len() as u64;
        Ok((file, if in_order { BufferLayout::Contiguous } else { BufferLayout::Extents(memory) }, data))
    }
}

/// Returns the file extents of both lists in ascending order, and the memory that they come from; `None` if requests
/// interleave or overlap.
fn side_by_side(singles: &[QueuedPiece], parts: &[(Extents, u64)]) -> Result<Option<(Extents, Extents)>> {
    let (mut file, mut memory) = (Extents::empty(), Extents::empty());
    let mut put = |extents: &Extents, from: &Extents| -> Result<bool> {
        let behind = start(extents) >= end(&file);
        if behind {
            file.push(extents)?;
            memory.push(from)?;
        }
        Ok(behind)
    };
    let mut rest = singles;
    for (extents, at) in parts {
        let (before, behind) = rest.split_at(rest.partition_point(|piece| piece.offset < start(extents)));
        rest = behind;
        let (singles, from) = packed(before)?;
        let apart = singles.is_ascending() && extents.is_ascending();
        if !apart
            || (singles.count() > 0 && !put(&singles, &from)?)
            || !put(extents, &Extents::contiguous(*at, extents.bytes())?)?
        {
            return Ok(None);
        }
    }
    let (singles, from) = packed(rest)?;
    if !singles.is_ascending() || (singles.count() > 0 && !put(&singles, &from)?) {
        return Ok(None);
    }
    // Adjoining pieces in memory become one extent there.
    let (mut joined, mut last) = (Vec::new(), Extent { offset: 0, len: 0 });
    for extent in memory.iter() {
        if last.end() == extent.offset {
            last.len += extent.len;
        } else {
            joined.push(std::mem::replace(&mut last, extent));
        }
    }
    joined.push(last);
    Ok(Some((file, Extents::from_list(joined)?)))
}

/// Returns all requests, extent by extent, in ascending order of offsets.
fn expanded(mut singles: Vec<QueuedPiece>, parts: &[(Extents, u64)]) -> Vec<QueuedPiece> {
    for (extents, memory) in parts {
        let mut memory = *memory;
        singles.extend(extents.iter().map(|Extent { offset, len }| {
            memory += len;
            QueuedPiece { offset, memory: memory - len, len }
        }));
    }
    singles.sort_by_key(|piece| piece.offset);
    singles
}

/// Returns the file extents and the memory extents of pieces.
fn packed(pieces: &[QueuedPiece]) -> Result<(Extents, Extents)> {
    let file = pieces.iter().map(|piece| Extent { offset: piece.offset, len: piece.len });
    let memory = pieces.iter().map(|piece| Extent { offset: piece.memory, len: piece.len });
    Ok((Extents::from_list(file)?, Extents::from_list(memory)?))
}

fn start(extents: &Extents) -> u64 {
    extents.span().map_or(0, |(start, _)| start)
}

fn end(extents: &Extents) -> u64 {
    extents.span().map_or(0, |(_, end)| end)
}

/// Sorts pieces by offset and splits them so that every byte comes from the piece that was queued last.
fn without_overlap(pieces: Vec<QueuedPiece>) -> Vec<QueuedPiece> {
    if pieces.windows(2).all(|pair| pair[0].offset + pair[0].len <= pair[1].offset) {
        return pieces;
    }
    let mut cut: Vec<QueuedPiece> = Vec::with_capacity(pieces.len());
    // The pieces that have begun, as (memory, offset, end), with the winner on top.
    let mut begun: BinaryHeap<(u64, u64, u64)> = BinaryHeap::new();
    let mut waiting = pieces.into_iter().peekable();
    let mut at = 0;
    loop {
        while begun.peek().is_some_and(|&(.., end)| end <= at) {
            begun.pop();
        }
        if begun.is_empty() {
            match waiting.peek() {
                Some(next) => at = next.offset,
                None => return cut,
            }
        }
        while let Some(piece) = waiting.next_if(|piece| piece.offset <= at) {
            begun.push((piece.memory, piece.offset, piece.offset + piece.len));
        }
        let Some(&(memory, offset, end)) = begun.peek() else { continue };
        let end = waiting.peek().map_or(end, |next| end.min(next.offset));
        if end > at {
            cut.push(QueuedPiece { offset: at, memory: memory + (at - offset), len: end - at });
            at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tributary::access::walk::pieces;

    proptest! {
        /// Writing the requests in their order gives the same file as writing the queue's result.
        #[test]
        fn the_last_request_wins(
            requests in prop::collection::vec((0u64..60, 1u64..9, 1u64..12, 1u64..4), 0..8)
        ) {
            let mut queue = Queue::default();
            let mut expected = vec![0u8; 200];
            for (offset, len, stride, count) in requests {
                let extents = Extents::strided(offset, len, stride as i64, count).unwrap();
                let memory = queue.data.len();
                for (at, byte) in extents.iter().flat_map(|e| e.offset..e.end()).zip(memory..) {
                    expected[at as usize] = byte as u8 | 1;
                    queue.data.push(byte as u8 | 1);
                }
                queue.push(extents, memory as u64);
            }
            let (file, layout, data) = queue.take().unwrap();
            prop_assert!(file.is_ascending());
            layout.check(file.bytes(), data.len()).unwrap();
            let mut written = vec![0u8; 200];
            for piece in pieces(&file, &layout) {
                let from = &data[piece.memory as usize..][..piece.len as usize];
                written[piece.offset as usize..][..from.len()].copy_from_slice(from);
            }
            prop_assert_eq!(written, expected);
        }
    }

    #[test]
    fn requests_in_order_need_no_buffer_layout() {
        let mut queue = Queue { data: vec![0; 24], ..Queue::default() };
        queue.push(Extents::strided(0, 4, 8, 3).unwrap(), 0);
        queue.push(Extents::strided(100, 4, 8, 3).unwrap(), 12);
        assert!(matches!(queue.take().unwrap(), (_, BufferLayout::Contiguous, _)));
    }
}
