//! The caller's memory. The engine accesses only the pieces that the buffer layout lists. Also the direction of a call, and
//! short copies from and to this memory.
//!
//! The engine must not touch the bytes between the pieces: they may be uninitialised, another thread may be writing them, or
//! they may belong to another object or to none. So no reference ever covers more than one piece. An address is kept rather
//! than a pointer, because the pieces may lie in several objects, and a single pointer may not reach them all.
//!
//! Most pieces of irregular patterns have a few dozen bytes, so they are copied without a call of memcpy.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

use serde::{Deserialize, Serialize};
use tributary_base::wire;

use super::walk::pieces;
use super::{BufferLayout, Extents};
use crate::error::Result;

/// Memory whose bytes a call writes to a file.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    start: usize,
    len: usize,
    memory: PhantomData<&'a [u8]>,
}

/// Memory that a call reads a file's bytes into.
#[derive(Debug)]
pub struct Sink<'a> {
    start: usize,
    len: usize,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Source<'a> {
    /// Describes memory that begins at `start`; every piece of the layout ends at most `len` bytes past `start`.
    /// O(1).
    ///
    /// # Safety
    /// The caller passes this memory only together with a layout whose every byte is valid for reads, and is not written, for
    /// `'a`; allocated memory of a GPU is allowed too. Bytes outside the layout need not be valid. `start` need not be the
    /// address of an object, and the pieces may lie in several objects.
    pub unsafe fn from_raw_parts(start: *const u8, len: usize) -> Self {
        Self { start: start.expose_provenance(), len, memory: PhantomData }
    }

    /// Returns the number of bytes from the start of the memory to the highest end that a piece may have.
    pub(crate) fn span(self) -> usize {
        self.len
    }

    /// Returns the address of the byte at `offset`, after a check that `len` bytes fit there. The memory may be the
    /// host's or a GPU's.
    pub(crate) fn address(self, offset: u64, len: u64) -> usize {
        address(self.start, self.len, offset, len)
    }

    /// Returns the `len` bytes at `offset`, which must be a piece of the layout or a part of one. O(1).
    #[inline]
    pub(crate) fn piece(self, offset: u64, len: u64) -> &'a [u8] {
        let start = address(self.start, self.len, offset, len);
        // SAFETY: the caller of `from_raw_parts` has promised that a piece of the layout may be read for `'a`.
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(start), len as usize) }
    }
}

impl<'a> Sink<'a> {
    /// Describes memory that begins at `start`; every piece of the layout ends at most `len` bytes past `start`.
    /// O(1).
    ///
    /// # Safety
    /// The caller passes this memory only together with a layout whose every byte is valid for reads and writes, and is not
    /// accessed otherwise, for `'a`; allocated memory of a GPU is allowed too. Bytes outside the layout need not be valid.
    /// `start` need not be the address of an object, and the pieces may lie in several objects.
    pub unsafe fn from_raw_parts(start: *mut u8, len: usize) -> Self {
        Self { start: start.expose_provenance(), len, memory: PhantomData }
    }

    /// Returns the number of bytes from the start of the memory to the highest end that a piece may have.
    pub(crate) fn span(&self) -> usize {
        self.len
    }

    /// Returns the address of the byte at `offset`, after a check that `len` bytes fit there. The memory may be the
    /// host's or a GPU's.
    pub(crate) fn address(&self, offset: u64, len: u64) -> usize {
        address(self.start, self.len, offset, len)
    }

    /// Returns the same memory with a shorter lifetime.
    pub(crate) fn reborrow(&mut self) -> Sink<'_> {
        Sink { start: self.start, len: self.len, memory: PhantomData }
    }

    /// Returns the `len` bytes at `offset`, which must be a piece of the layout or a part of one. O(1).
    #[inline]
    pub(crate) fn piece(&mut self, offset: u64, len: u64) -> &mut [u8] {
        let start = address(self.start, self.len, offset, len);
        // SAFETY: the caller of `from_raw_parts` has promised that a piece of the layout may be written for `'a`, and that
        // nobody else accesses it; `self` is borrowed, so no reference to another piece exists.
        unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(start), len as usize) }
    }

    /// Copies the `len` bytes at `from` to `to`. Both are pieces of the layout or parts of pieces; they may overlap.
    pub(crate) fn copy_within(&mut self, from: u64, to: u64, len: u64) {
        let [from, to] = [from, to].map(|offset| address(self.start, self.len, offset, len));
        let (from, to) = (std::ptr::with_exposed_provenance::<u8>(from), std::ptr::with_exposed_provenance_mut(to));
        // SAFETY: as in `piece`, for both.
        unsafe { std::ptr::copy(from, to, len as usize) };
    }
}

/// Returns the address of byte `offset` in memory of `span` bytes that begins at address `start`.
///
/// # Panics
/// Panics if the `len` bytes at `offset` do not lie within the memory.
#[inline]
fn address(start: usize, span: usize, offset: u64, len: u64) -> usize {
    let fits = offset.checked_add(len).is_some_and(|end| end <= span as u64);
    assert!(fits, "bytes {offset} to {offset} + {len} of memory of {span} bytes");
    start.wrapping_add(offset as usize)
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Source<'a> {
    fn from(bytes: &'a T) -> Self {
        let bytes = bytes.as_ref();
        // SAFETY: every byte of a borrowed slice may be read.
        unsafe { Self::from_raw_parts(bytes.as_ptr(), bytes.len()) }
    }
}

impl<'a, T: AsMut<[u8]> + ?Sized> From<&'a mut T> for Sink<'a> {
    fn from(bytes: &'a mut T) -> Self {
        let bytes = bytes.as_mut();
        // SAFETY: the mutable borrow allows writes to every byte, and excludes every other access.
        unsafe { Self::from_raw_parts(bytes.as_mut_ptr(), bytes.len()) }
    }
}

/// Memory from which a rank writes, or into which it reads. The variant is the direction of the access.
#[derive(Debug)]
pub enum Memory<'a> {
    /// The memory whose bytes are written.
    Source(Source<'a>),
    /// The memory that gets the bytes that are read.
    Sink(Sink<'a>),
}

impl Memory<'_> {
    /// Describes memory that begins at `start`, for a call in this direction; every piece of the layout ends at most `len`
    /// bytes past `start`. O(1).
    ///
    /// # Safety
    /// The requirements of [`Source::from_raw_parts`] for a write, and of [`Sink::from_raw_parts`] for a read.
    #[inline]
    pub unsafe fn from_raw_parts(direction: Direction, start: *mut u8, len: usize) -> Self {
        match direction {
            // SAFETY: the caller's promise.
            Direction::Write => Self::Source(unsafe { Source::from_raw_parts(start, len) }),
            // SAFETY: the caller's promise, as for a write.
            Direction::Read => Self::Sink(unsafe { Sink::from_raw_parts(start, len) }),
        }
    }

    /// Returns the same memory with a shorter lifetime.
    #[inline]
    fn reborrow(&mut self) -> Memory<'_> {
        match self {
            Self::Source(source) => Memory::Source(*source),
            Self::Sink(sink) => Memory::Sink(sink.reborrow()),
        }
    }

    /// Returns the `len` bytes at `offset`, which must be a piece of the layout or a part of one.
    fn part(&mut self, offset: u64, len: u64) -> Memory<'_> {
        match self {
            Self::Source(Source { start, len: span, memory }) => {
                let start = address(*start, *span, offset, len);
                Memory::Source(Source { start, len: len as usize, memory: *memory })
            }
            Self::Sink(Sink { start, len: span, .. }) => {
                let start = address(*start, *span, offset, len);
                Memory::Sink(Sink { start, len: len as usize, memory: PhantomData })
            }
        }
    }

    /// Returns the addresses from the start of the memory to the highest end that a piece may have.
    pub fn addresses(&self) -> Range<usize> {
        let (Self::Source(Source { start, len, .. }) | Self::Sink(Sink { start, len, .. })) = self;
        *start..start.wrapping_add(*len)
    }
}

/// An access of a rank: extents of the file, and their memory. It borrows its lists ([`Access`]) or owns them
/// ([`OwnedAccess`]).
#[derive(Debug, Clone, Copy)]
pub struct AccessParts<F, L, M> {
    /// Extents in the file, in the order of the bytes.
    pub file: F,
    /// Places of these bytes in the memory.
    pub layout: L,
    /// Memory that holds the bytes of a write, or gets the bytes of a read.
    pub memory: M,
}

/// The access of a rank in a call. `M` is [`Source`] where only writes occur, and [`Sink`] where only reads do.
pub type Access<'a, M = Memory<'a>> = AccessParts<&'a Extents, &'a BufferLayout, M>;

/// An access that owns its lists, for a call that begins later.
pub type OwnedAccess<'a> = AccessParts<Extents, BufferLayout, Memory<'a>>;

impl OwnedAccess<'_> {
    /// Borrows the access for one call.
    #[inline]
    pub fn lent(&mut self) -> Access<'_> {
        Access { file: &self.file, layout: &self.layout, memory: self.memory.reborrow() }
    }
}

impl Access<'_> {
    /// Returns `Write` for memory of a [`Source`], `Read` for memory of a [`Sink`].
    #[inline]
    pub fn direction(&self) -> Direction {
        match self.memory {
            Memory::Source(_) => Direction::Write,
            Memory::Sink(_) => Direction::Read,
        }
    }

    /// Returns this access with `file` in place of its extents.
    #[inline]
    pub fn with_file<'b>(&'b mut self, file: &'b Extents) -> Access<'b> {
        Access { file, layout: self.layout, memory: self.memory.reborrow() }
    }

    /// Calls `each` for every piece, with its offset in the file and its memory. Ends at the first error.
    ///
    /// # Errors
    /// The error of `each`.
    pub fn each_piece(mut self, mut each: impl FnMut(u64, Memory<'_>) -> Result<()>) -> Result<()> {
        pieces(self.file, self.layout)
            .try_for_each(|piece| each(piece.offset, self.memory.part(piece.memory, piece.len)))
    }
}

/// Direction of a call: write or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Bytes go from memory to the file.
    Write,
    /// Bytes go from the file to memory.
    Read,
}

wire::fields!(enum Direction { 0 Write, 1 Read, });

impl Direction {
    /// Returns the name of the direction: `write` or `read`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// Copies bytes to `place`, which must have the same length.
///
/// # Panics
/// If the lengths differ.
#[inline(always)]
pub fn copy_to(place: &mut [u8], bytes: &[u8]) {
    assert_eq!(place.len(), bytes.len(), "bytes for a place of another length");
    // SAFETY: two slices of this length, one of them borrowed for writing.
    unsafe { copy(bytes.as_ptr(), place.as_mut_ptr(), bytes.len()) }
}

/// Copies `len` bytes.
///
/// # Safety
/// `from` is valid for reads of `len` bytes, `to` for writes, and they do not overlap. No other thread or process
/// accesses the bytes at `to`, or the result is not used.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: each arm copies within `len` bytes of both: two integers, which may overlap.
    unsafe {
        match len {
            16..=32 => two::<u128>(from, to, len),
            8..=15 => two::<u64>(from, to, len),
            4..=7 => two::<u32>(from, to, len),
            _ => std::ptr::copy_nonoverlapping(from, to, len),
        }
    }
}

/// Copies the bytes one by one to `to`, as relaxed atomics. If other threads copy other bytes there at the same time, each
/// byte is that of one of them. Slower than [`copy`].
///
/// # Safety
/// `to` is valid for writes of `bytes.len()` bytes. All threads that write these bytes at the same time use this function,
/// and no thread reads them meanwhile.
pub unsafe fn copy_atomically(bytes: &[u8], to: *mut u8) {
    for (at, byte) in bytes.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { AtomicU8::from_ptr(to.add(at)) }.store(*byte, Ordering::Relaxed);
    }
}

/// Copies `len` bytes as two integers: the first bytes and the last bytes, which may overlap.
///
/// # Safety
/// The same as for [`copy`]; `len` is from one to two times the size of `W`.
#[inline(always)]
unsafe fn two<W: Copy>(from: *const u8, to: *mut u8, len: usize) {
    let last = len - size_of::<W>();
    // SAFETY: the caller's promise; unaligned integers.
    unsafe {
        let (head, tail) = (from.cast::<W>().read_unaligned(), from.add(last).cast::<W>().read_unaligned());
        to.cast::<W>().write_unaligned(head);
        to.add(last).cast::<W>().write_unaligned(tail);
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

    /// Two pieces may lie in two objects: the library does not touch the memory between them.
    #[test]
    fn pieces_may_be_of_several_objects() {
        let (mut one, mut other) = (vec![1u8; 8], vec![2u8; 8]);
        let (low, high) = if one.as_ptr() < other.as_ptr() { (&mut one, &mut other) } else { (&mut other, &mut one) };
        let (low, high) = (low.as_mut_ptr(), high.as_mut_ptr());
        let distance = (high.expose_provenance() - low.expose_provenance()) as u64;
        // SAFETY: the pieces below are bytes of the two vectors, which are alive and not used otherwise.
        let mut sink = unsafe { Sink::from_raw_parts(low, distance as usize + 8) };
        sink.piece(0, 8).fill(3);
        sink.piece(distance + 6, 2).fill(4);
        sink.copy_within(distance + 6, 1, 1);
        let _ = sink;
        let mut both = [one, other];
        both.sort();
        assert!(both.iter().any(|bytes| bytes == &[3, 4, 3, 3, 3, 3, 3, 3]), "{both:?}");
        assert!(both.iter().any(|bytes| bytes.ends_with(&[4, 4]) && bytes[0] < 3), "{both:?}");
    }

    #[test]
    fn pieces_outside_the_memory_are_refused() {
        let bytes = [0u8; 10];
        for (offset, len) in [(10, 1), (0, 11), (u64::MAX, 2), (3, u64::MAX)] {
            let result = std::panic::catch_unwind(|| Source::from(&bytes[..]).piece(offset, len).len());
            assert!(result.is_err(), "{len} bytes at {offset}");
        }
    }

    #[test]
    fn every_length_is_copied_whole_and_no_more() {
        let from: Vec<u8> = (1..=200).collect();
        for len in 0..130 {
            for at in 0..3 {
                let mut to = [0u8; 200];
                super::copy_to(&mut to[at + 1..][..len], &from[at..][..len]);
                assert_eq!(to[at + 1..][..len], from[at..][..len]);
                to = [0; 200];
                // SAFETY: both have 200 bytes.
                unsafe { super::copy(from[at..].as_ptr(), to[at + 1..].as_mut_ptr(), len) };
                assert_eq!(to[at + 1..][..len], from[at..][..len]);
                // SAFETY: both have 200 bytes, and only this thread uses them.
                unsafe { super::copy_atomically(&from[at..][..len], to[at + 1..].as_mut_ptr()) };
                assert_eq!(to[at + 1..][..len], from[at..][..len]);
                assert!(to[..at + 1].iter().chain(&to[at + 1 + len..]).all(|&byte| byte == 0));
            }
        }
    }
}
