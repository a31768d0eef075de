//! Splits an access into pieces that are contiguous both in the file and in memory; walks over these pieces, and stops at
//! given offsets of the file.

use super::Extent;
use super::extents::Extents;
use super::sublists::{Sublist, Sublists};
use crate::error::{Error, Result};

/// The layout of the caller's buffer: which of its bytes belong to the access.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum BufferLayout {
    /// The bytes lie one after the other from the start of the buffer.
    #[default]
    Contiguous,
    /// The bytes lie at these extents of the buffer, in sequence; offsets count from the start of the buffer.
    Extents(Extents),
}

impl BufferLayout {
    /// Checks that the layout has exactly `bytes` bytes and fits in a buffer of `buffer` bytes. O(1).
    ///
    /// # Errors
    /// [`Error::Argument`] if it does not.
    pub fn check(&self, bytes: u64, buffer: usize) -> Result<()> {
        let (laid_out, end) = match self {
            Self::Contiguous => (bytes, bytes),
            Self::Extents(extents) => (extents.bytes(), extents.span().map_or(0, |(_, end)| end)),
        };
        if laid_out != bytes {
            return Err(Error::argument("buffer layout", format!("{laid_out} bytes"), format!("{bytes}, as the view")));
        }
        if end > buffer as u64 {
            return Err(Error::argument("buffer", format!("{buffer} bytes"), format!("{end} or more")));
        }
        Ok(())
    }
}

/// A part of an access that is contiguous in the file and in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Offset of the first byte in the file, in bytes.
    pub offset: u64,
    /// Offset of the first byte in the caller's buffer, in bytes.
    pub memory: u64,
    /// Number of bytes of the piece.
    pub len: u64,
}

impl Piece {
    /// Returns the piece without its first `len` bytes.
    #[inline]
    pub fn skipping(self, len: u64) -> Self {
        Self { offset: self.offset + len, memory: self.memory + len, len: self.len - len }
    }
}

/// Iterates over the pieces of an access, in the order of `file`. O(1) time each, O(1) memory.
pub fn pieces<'a>(file: &'a Extents, layout: &'a BufferLayout) -> impl Iterator<Item = Piece> + 'a {
    pieces_of_extents(file, layout).map(|(_, piece)| piece)
}

/// Iterates over the pieces of an access as [`pieces`] does, each with the offset of the file extent that the piece
/// is a part of.
pub fn pieces_of_extents<'a>(file: &'a Extents, layout: &'a BufferLayout) -> impl Iterator<Item = (u64, Piece)> + 'a {
    let mut memory: Box<dyn Iterator<Item = Extent> + 'a> = match layout {
        BufferLayout::Contiguous => Box::new(std::iter::once(Extent { offset: 0, len: file.bytes() })),
        BufferLayout::Extents(extents) => Box::new(extents.iter()),
    };
    let mut source = Extent { offset: 0, len: 0 };
    let mut files = file.iter();
    let (mut target, mut extent) = (Extent { offset: 0, len: 0 }, 0);
    std::iter::from_fn(move || {
        if target.len == 0 {
            target = files.next()?;
            extent = target.offset;
        }
        if source.len == 0 {
            source = memory.next()?;
        }
        let len = target.len.min(source.len);
        let piece = Piece { offset: target.offset, memory: source.offset, len };
        for side in [&mut target, &mut source] {
            *side = Extent { offset: side.offset + len, len: side.len - len };
        }
        Some((extent, piece))
    })
}

/// The position of a walk in one side of an access (the file or the memory).
struct Side<'a> {
    sublists: Sublists<'a>,
    /// Number of extents in the current sublist.
    len: u64,
    /// Index of the current extent in the current sublist.
    index: u64,
    /// Number of bytes of the current extent that the walk has passed.
    done: u64,
}

impl<'a> Side<'a> {
    fn new(extents: &'a Extents) -> Self {
        Self { sublists: Sublists::new(extents), len: 0, index: 0, done: 0 }
    }

    /// Moves to the next sublist if the current one is finished. Returns false at the end.
    #[inline]
    fn reach_extent(&mut self) -> bool {
        while self.index == self.len {
            if !self.sublists.advance() {
                return false;
            }
            (self.len, self.index, self.done) = (self.sublists.current().len(), 0, 0);
        }
        true
    }

    /// Returns the part of the current extent that the walk has not passed.
    #[inline]
    fn rest(&self) -> Extent {
        let Extent { offset, len } = self.sublists.current().get(self.index);
        Extent { offset: offset + self.done, len: len - self.done }
    }

    /// Moves past `len` bytes of the current extent, whose rest is `rest`.
    #[inline]
    fn consume(&mut self, rest: Extent, len: u64) {
        if len == rest.len {
            (self.index, self.done) = (self.index + 1, 0);
        } else {
            self.done += len;
        }
    }
}

/// A walk over the pieces of an access whose file extents ascend.
pub struct Walk<'a> {
    file: Side<'a>,
    /// Position in the memory's extents; `None` for a contiguous buffer.
    memory: Option<Side<'a>>,
    /// Position in a contiguous buffer, in bytes.
    at: u64,
}

impl<'a> Walk<'a> {
    /// Creates a walk that begins at the first piece of the access. O(1).
    pub fn new(file: &'a Extents, layout: &'a BufferLayout) -> Self {
        let memory = match layout {
            BufferLayout::Contiguous => None,
            BufferLayout::Extents(extents) => Some(Side::new(extents)),
        };
        Self { file: Side::new(file), memory, at: 0 }
    }

    /// Returns the file offset of the next piece, in bytes; `None` at the end.
    pub fn position(&mut self) -> Option<u64> {
        self.file.reach_extent().then(|| self.file.rest().offset)
    }

    /// Calls `visit` for every further piece before offset `limit` of the file; cuts the last piece there. O(pieces).
    #[inline]
    pub fn visit_before(&mut self, limit: u64, mut visit: impl FnMut(Piece)) {
        if self.memory.is_some() {
            return self.visit_both_before(limit, visit);
        }
        while self.file.reach_extent() {
            // First the rest of an extent that was cut, then whole extents.
            if self.file.done > 0 {
                let rest = self.file.rest();
                let len = rest.len.min(limit.saturating_sub(rest.offset));
                if len == 0 {
                    return;
                }
                visit(Piece { offset: rest.offset, memory: self.at, len });
                self.at += len;
                self.file.consume(rest, len);
                continue;
            }
            let (index, at) =
                whole_extents_before(self.file.sublists.current(), self.file.index, self.at, limit, &mut visit);
            (self.file.index, self.at) = (index, at);
            if index < self.file.len {
                let rest = self.file.rest();
                if rest.offset >= limit {
                    return;
                }
                let len = limit - rest.offset;
                visit(Piece { offset: rest.offset, memory: self.at, len });
                self.at += len;
                self.file.consume(rest, len);
                return;
            }
        }
    }

    fn visit_both_before(&mut self, limit: u64, mut visit: impl FnMut(Piece)) {
        let Some(memory) = &mut self.memory else { return };
        while self.file.reach_extent() && memory.reach_extent() {
            let (to, from) = (self.file.rest(), memory.rest());
            let len = to.len.min(from.len).min(limit.saturating_sub(to.offset));
            if len == 0 {
                return;
            }
            visit(Piece { offset: to.offset, memory: from.offset, len });
            self.file.consume(to, len);
            memory.consume(from, len);
        }
    }
}

/// Visits the extents of a sublist from number `index` on that end at or before offset `limit`. Returns the index of
/// the first extent that ends later, and the position in the contiguous buffer.
#[inline]
fn whole_extents_before(
    sublist: Sublist<'_>,
    index: u64,
    mut at: u64,
    limit: u64,
    visit: &mut impl FnMut(Piece),
) -> (u64, u64) {
    match sublist {
        Sublist::Run { first: Extent { mut offset, len }, stride, count } => {
            offset = offset.wrapping_add((stride.wrapping_mul(index as i64)) as u64);
            let mut index = index;
            while index < count && offset + len <= limit {
                visit(Piece { offset, memory: at, len });
                at += len;
                offset = offset.wrapping_add(stride as u64);
                index += 1;
            }
            (index, at)
        }
        Sublist::List { extents, shift } => {
            let mut index = index as usize;
            for extent in &extents[index..] {
                let offset = extent.offset.wrapping_add(shift as u64);
                if offset + extent.len > limit {
                    break;
                }
                visit(Piece { offset, memory: at, len: extent.len });
                at += extent.len;
                index += 1;
            }
            (index as u64, at)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_walk_in_steps_gives_the_pieces(
            gaps in prop::collection::vec((0u64..40, 1u64..40), 1..60), run in (1u64..9, 0i64..9, 1u64..50),
            cut in prop::collection::vec(1u64..30, 1..40), plain: bool, gap in 0u64..3
        ) {
            let mut end = 0;
            let list: Vec<_> = gaps.iter().map(|&(gap, len)| { let e = Extent { offset: end + gap, len }; end = e.end(); e }).collect();
            let mut file = if plain { Extents::from_extents(list).unwrap() } else { Extents::from_list(list).unwrap() };
            let (len, space, count) = run;
            file.push(&Extents::strided(end, len, len as i64 + space, count).unwrap()).unwrap();
            let layout = match gap {
                0 => BufferLayout::Contiguous,
                _ => {
                    let count = file.bytes().div_ceil(5);
                    let all = Extents::strided(3, 5, 5 + gap as i64, count).unwrap();
                    BufferLayout::Extents(all.slice(0, file.bytes()))
                }
            };
            let bytes = |pieces: &[Piece]| pieces.iter()
                .flat_map(|p| (0..p.len).map(move |i| (p.offset + i, p.memory + i))).collect::<Vec<_>>();
            let expected: Vec<Piece> = pieces(&file, &layout).collect();
            let (mut walk, mut got, mut limit) = (Walk::new(&file, &layout), Vec::new(), 0);
            for step in cut.into_iter().cycle() {
                if walk.position().is_none() { break; }
                limit += step;
                let before = got.len();
                walk.visit_before(limit, |piece| got.push(piece));
                prop_assert!(got[before..].iter().all(|p| p.offset + p.len <= limit));
                prop_assert!(walk.position().is_none_or(|at| at >= limit));
            }
            prop_assert_eq!(bytes(&got), bytes(&expected));
        }
    }

    #[test]
    fn both_sides_cut_each_other() {
        let file = Extents::strided(100, 4, 10, 3).unwrap();
        let layout = BufferLayout::Extents(Extents::strided(1, 6, 7, 2).unwrap());
        let got: Vec<_> = pieces(&file, &layout).map(|p| (p.offset, p.memory, p.len)).collect();
        assert_eq!(got, [(100, 1, 4), (110, 5, 2), (112, 8, 2), (120, 10, 4)]);
        assert!(layout.check(12, 14).is_ok());
        assert!(layout.check(12, 13).is_err());
        assert!(layout.check(11, 99).is_err());
    }
}
