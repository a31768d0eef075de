//! What C gives as arrays and pointers, checked and made into accesses.

use std::ffi::c_void;

use tributary::{BufferLayout, Error, Extent, Extents, Result};

use super::running::{Access, Memory};

/// A list of extents as C gives it: two arrays of one length.
#[derive(Clone, Copy)]
pub struct List {
    /// `file` or `memory`: how errors name it.
    pub name: &'static str,
    /// How many.
    pub count: i64,
    /// Where each begins.
    pub offsets: *const i64,
    /// How long each is.
    pub lengths: *const i64,
}

impl List {
    /// The extents. O(count) time; what is regular takes no memory.
    ///
    /// # Errors
    /// A null pointer where there should be a list; a negative count, offset or length; an end beyond 2^63 - 1.
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
                return Err(Error::argument(format!("{name}_{what}"), given, "a list of so many"));
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

    /// The same, of memory: no list at all is the bytes one after the other.
    ///
    /// # Errors
    /// As [`List::extents`]; or a count without lists.
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

/// Which way the bytes go, and where the caller's memory begins.
#[derive(Clone, Copy)]
pub enum Buffer {
    /// To the file.
    Source(*const c_void),
    /// From it.
    Target(*mut c_void),
}

impl Buffer {
    /// The memory of an access: as many bytes as it reaches over.
    ///
    /// # Errors
    /// A null pointer where there are bytes, sides of different sizes, memory that does not fit in the address space.
    pub fn access(self, file: Extents, layout: BufferLayout) -> Result<Access> {
        let len = match &layout {
            BufferLayout::Contiguous => file.bytes(),
            BufferLayout::Extents(extents) => extents.span().map_or(0, |(_, end)| end),
        } as usize;
        if let BufferLayout::Extents(extents) = &layout
            && extents.bytes() != file.bytes()
        {
            let allowed = format!("{}, as those in the file", file.bytes());
            return Err(Error::argument("lengths in memory", format!("{} bytes in all", extents.bytes()), allowed));
        }
        let buffer = self.reaching(len)?;
        Ok(Access { file, layout, buffer })
    }

    /// The memory of `len` bytes.
    ///
    /// # Errors
    /// A null pointer where there are bytes, memory that does not fit in the address space.
    pub fn reaching(self, len: usize) -> Result<Memory> {
        let address = match self {
            Self::Source(at) => at.addr(),
            Self::Target(at) => at.addr(),
        };
        if len > 0 && address == 0 {
            return Err(Error::argument("buffer", format!("NULL, for {len} bytes"), "the memory of the bytes"));
        }
        if len > isize::MAX as usize || address.checked_add(len).is_none() {
            return Err(Error::argument(
                "buffer",
                format!("{len} bytes from its start on"),
                "what fits in the address space",
            ));
        }
        // No bytes may be at NULL in C, and never are in Rust.
        Ok(match self {
            Self::Source(_) if len == 0 => Memory::Source(std::ptr::dangling(), 0),
            Self::Target(_) if len == 0 => Memory::Target(std::ptr::dangling_mut(), 0),
            Self::Source(at) => Memory::Source(at.cast(), len),
            Self::Target(at) => Memory::Target(at.cast(), len),
        })
    }
}

/// Stores a result where the caller wants it, if at all.
///
/// # Safety
/// `place` is null or may be written.
pub unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write(value) };
    }
}
