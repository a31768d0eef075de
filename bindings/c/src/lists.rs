//! Checks the arrays and pointers of C and turns them into accesses.

use std::ffi::c_void;

use tributary::{BufferLayout, Error, Extent, Extents, Result};

use super::running::{Access, Memory};

/// A list of extents as C gives it: two arrays of one length.
#[derive(Clone, Copy)]
pub struct List {
    /// The name in error messages, such as `file` or `memory`.
    pub name: &'static str,
    /// Number of extents.
    pub count: i64,
    /// Offset of each extent in bytes.
    pub offsets: *const i64,
    /// Length of each extent in bytes.
    pub lengths: *const i64,
}

impl List {
    /// The extents. O(count) time; regular parts take little memory.
    ///
    /// # Errors
    /// A list is null although `count` is not 0; a count, offset or length is negative; an extent ends beyond 2^63 - 1.
    ///
    /// # Safety
    /// The arrays are null or have `count` elements.
    pub unsafe fn extents(self) -> Result<Extents> {
        let Self { name, count, offsets, lengths } = self;
        if count == 0 {
            return Ok(Extents::empty());
        }
        let len = usize::try_from(count).map_err(|_| Error::argument(format!("{name}_count"), count, "0 or more"))?;
        let array = |what: &str, at: *const i64| {
            if at.is_null() {
                let given = format!("NULL, with {name}_count {count}");
                return Err(Error::argument(format!("{name}_{what}"), given, format!("an array of {count} numbers")));
            }
            // SAFETY: the caller's promise.
            Ok(unsafe { std::slice::from_raw_parts(at, len) })
        };
        let (offsets, lengths) = (array("offsets", offsets)?, array("lengths", lengths)?);
        let bad =
            |what: &str, at: usize, value: i64| Error::argument(format!("{name}_{what}[{at}]"), value, "0 or more");
        for (at, (&offset, &length)) in offsets.iter().zip(lengths).enumerate() {
            match (offset, length) {
                (..0, _) => return Err(bad("offsets", at, offset)),
                (_, ..0) => return Err(bad("lengths", at, length)),
                _ => {}
            }
        }
        let extent = |(&offset, &length): (&i64, &i64)| Extent { offset: offset as u64, len: length as u64 };
        Extents::from_list(offsets.iter().zip(lengths).map(extent))
    }

    /// The extents as a layout of memory. Without any list the bytes are contiguous.
    ///
    /// # Errors
    /// Those of [`List::extents`]; a count other than 0 without lists.
    ///
    /// # Safety
    /// As [`List::extents`].
    pub unsafe fn layout(self) -> Result<BufferLayout> {
        if self.count == 0 && self.offsets.is_null() && self.lengths.is_null() {
            return Ok(BufferLayout::Contiguous);
        }
        // SAFETY: the caller's promise.
        Ok(BufferLayout::Extents(unsafe { self.extents()? }))
    }
}

/// The start of the caller's memory, and the direction of the transfer.
#[derive(Clone, Copy)]
pub enum Buffer {
    /// Memory that is written to the file.
    Source(*const c_void),
    /// Memory that is read into.
    Target(*mut c_void),
}

impl Buffer {
    /// Builds an access, with the memory that its layout spans.
    ///
    /// # Errors
    /// The pointer is null although there are bytes; file and memory have different numbers of bytes; the memory does not
    /// fit in the address space.
    pub fn access(self, file: Extents, layout: BufferLayout) -> Result<Access> {
        let len = match &layout {
            BufferLayout::Contiguous => file.bytes(),
            BufferLayout::Extents(extents) => extents.span().map_or(0, |(_, end)| end),
        } as usize;
        if let BufferLayout::Extents(extents) = &layout
            && extents.bytes() != file.bytes()
        {
            let allowed = format!("{} bytes, as in the file", file.bytes());
            return Err(Error::argument("lengths in memory", format!("{} bytes in all", extents.bytes()), allowed));
        }
        let buffer = self.reaching(len)?;
        Ok(Access { file, layout, buffer })
    }

    /// The first `len` bytes of the memory.
    ///
    /// # Errors
    /// The pointer is null although there are bytes; the memory does not fit in the address space.
    pub fn reaching(self, len: usize) -> Result<Memory> {
        let address = match self {
            Self::Source(at) => at.addr(),
            Self::Target(at) => at.addr(),
        };
        if len > 0 && address == 0 {
            return Err(Error::argument("buffer", format!("NULL, for {len} bytes"), "a pointer to that many bytes"));
        }
        if len > isize::MAX as usize || address.checked_add(len).is_none() {
            return Err(Error::argument(
                "buffer",
                format!("{len} bytes from its start on"),
                "what fits in the address space",
            ));
        }
        // In C an empty buffer may be NULL; a Rust slice never is.
        Ok(match self {
            Self::Source(_) if len == 0 => Memory::Source(std::ptr::dangling(), 0),
            Self::Target(_) if len == 0 => Memory::Target(std::ptr::dangling_mut(), 0),
            Self::Source(at) => Memory::Source(at.cast(), len),
            Self::Target(at) => Memory::Target(at.cast(), len),
        })
    }
}

/// Stores a result at `place`, unless that is null.
///
/// # Safety
/// `place` is null or may be written.
pub unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write(value) };
    }
}
