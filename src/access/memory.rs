//! The caller's memory: where it is, and that only the pieces of a layout are looked at.
//!
//! What lies between the pieces is not the engine's: it may not be initialised, another thread may be writing it, it may
//! belong to another object of the program or to nobody. So no reference is made to more than one piece. An address is kept
//! rather than a pointer, because the pieces may be of several objects, which no one pointer may reach.

use std::marker::PhantomData;

/// Memory whose bytes are written to a file.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    start: usize,
    len: usize,
    memory: PhantomData<&'a [u8]>,
}

/// Memory that bytes of a file are read into.
#[derive(Debug)]
pub struct Sink<'a> {
    start: usize,
    len: usize,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Source<'a> {
    /// Memory from `start` on, with `len` bytes to behind the last one that is looked at. Costs nothing.
    ///
    /// # Safety
    /// It goes into a call only with a layout whose every byte is valid for reads, and is not written, for `'a`. Bytes that
    /// are not the layout's may be anything; `start` need not be the address of an object, and pieces may be of several.
    /// Instead of valid for reads they may be memory of a GPU that is allocated.
    pub unsafe fn from_raw_parts(start: *const u8, len: usize) -> Self {
        Self { start: start.expose_provenance(), len, memory: PhantomData }
    }

    /// Bytes to behind the last one that is looked at.
    pub(crate) fn span(self) -> usize {
        self.len
    }

    /// Where the `len` bytes at `offset` are, whatever kind of memory that is.
    pub(crate) fn address(self, offset: u64, len: u64) -> usize {
        address(self.start, self.len, offset, len)
    }

    /// The `len` bytes at `offset`: a piece of the layout that came with the memory, or a part of one. O(1).
    #[inline]
    pub(crate) fn piece(self, offset: u64, len: u64) -> &'a [u8] {
        let start = address(self.start, self.len, offset, len);
        // SAFETY: a piece of the layout, of which whoever made this has promised that it may be read for `'a`.
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(start), len as usize) }
    }
}

impl<'a> Sink<'a> {
    /// Memory from `start` on, with `len` bytes to behind the last one that is touched. Costs nothing.
    ///
    /// # Safety
    /// It goes into a call only with a layout whose every byte is valid for reads and writes, and is not otherwise touched,
    /// for `'a`. Bytes that are not the layout's may be anything; `start` need not be the address of an object, and pieces
    /// may be of several. They may be memory of a GPU, as with [`Source`].
    pub unsafe fn from_raw_parts(start: *mut u8, len: usize) -> Self {
        Self { start: start.expose_provenance(), len, memory: PhantomData }
    }

    /// Bytes to behind the last one that is touched.
    pub(crate) fn span(&self) -> usize {
        self.len
    }

    /// Where the `len` bytes at `offset` are, whatever kind of memory that is.
    pub(crate) fn address(&self, offset: u64, len: u64) -> usize {
        address(self.start, self.len, offset, len)
    }

    /// The same memory for a shorter time.
    pub(crate) fn reborrow(&mut self) -> Sink<'_> {
        Sink { start: self.start, len: self.len, memory: PhantomData }
    }

    /// The `len` bytes at `offset`: a piece of the layout that came with the memory, or a part of one. O(1).
    #[inline]
    pub(crate) fn piece(&mut self, offset: u64, len: u64) -> &mut [u8] {
        let start = address(self.start, self.len, offset, len);
        // SAFETY: a piece of the layout, of which whoever made this has promised that it may be written for `'a`, by nobody
        // else; `self` is borrowed, so there is no other piece.
        unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(start), len as usize) }
    }

    /// Copies the `len` bytes at `from` to `to`; both are pieces of the layout, or parts of some, and may overlap.
    pub(crate) fn copy_within(&mut self, from: u64, to: u64, len: u64) {
        let [from, to] = [from, to].map(|offset| address(self.start, self.len, offset, len));
        let (from, to) = (std::ptr::with_exposed_provenance::<u8>(from), std::ptr::with_exposed_provenance_mut(to));
        // SAFETY: as in `piece`, of both.
        unsafe { std::ptr::copy(from, to, len as usize) };
    }
}

/// The address of `len` bytes at `offset` of memory that reaches from `start` over `span` bytes.
///
/// # Panics
/// Beyond that, as a slice does.
#[inline]
fn address(start: usize, span: usize, offset: u64, len: u64) -> usize {
    let fits = offset.checked_add(len).is_some_and(|end| end <= span as u64);
    assert!(fits, "bytes {offset} to {offset} + {len} of memory of {span} bytes");
    start.wrapping_add(offset as usize)
}

impl<'a> From<&'a [u8]> for Source<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        // SAFETY: every byte of a slice may be read as long as it is borrowed.
        unsafe { Self::from_raw_parts(bytes.as_ptr(), bytes.len()) }
    }
}

impl<'a> From<&'a mut [u8]> for Sink<'a> {
    fn from(bytes: &'a mut [u8]) -> Self {
        // SAFETY: every byte of a slice that is borrowed for writing may be written, by nobody else.
        unsafe { Self::from_raw_parts(bytes.as_mut_ptr(), bytes.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_bytes_of_the_slice() {
        let mut bytes: Vec<u8> = (0..20).collect();
        let source = Source::from(&bytes[..]);
        assert_eq!((source.span(), source.piece(3, 4), source.piece(20, 0)), (20, &[3, 4, 5, 6][..], &[][..]));
        let mut sink = Sink::from(&mut bytes[..]);
        sink.reborrow().piece(18, 2).fill(99);
        sink.copy_within(0, 2, 4);
        assert_eq!(sink.span(), 20);
        assert_eq!(bytes, [0, 1, 0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 99, 99]);
    }

    /// Two objects, and what lies between them in memory is neither's.
    #[test]
    fn pieces_may_be_of_several_objects() {
        let (mut one, mut other) = (vec![1u8; 8], vec![2u8; 8]);
        let (low, high) = if one.as_ptr() < other.as_ptr() { (&mut one, &mut other) } else { (&mut other, &mut one) };
        let (low, high) = (low.as_mut_ptr(), high.as_mut_ptr());
        let apart = (high.expose_provenance() - low.expose_provenance()) as u64;
        // SAFETY: what is asked for below are bytes of the two vectors, which live and are not used otherwise.
        let mut sink = unsafe { Sink::from_raw_parts(low, apart as usize + 8) };
        sink.piece(0, 8).fill(3);
        sink.piece(apart + 6, 2).fill(4);
        sink.copy_within(apart + 6, 1, 1);
        let _ = sink;
        let mut both = [one, other];
        both.sort();
        assert!(both.iter().any(|bytes| bytes == &[3, 4, 3, 3, 3, 3, 3, 3]), "{both:?}");
        assert!(both.iter().any(|bytes| bytes.ends_with(&[4, 4]) && bytes[0] < 3), "{both:?}");
    }

    #[test]
    fn what_lies_outside_is_refused() {
        let bytes = [0u8; 10];
        for (offset, len) in [(10, 1), (0, 11), (u64::MAX, 2), (3, u64::MAX)] {
            let asked = std::panic::catch_unwind(|| Source::from(&bytes[..]).piece(offset, len).len());
            assert!(asked.is_err(), "{len} bytes at {offset}");
        }
    }
}
