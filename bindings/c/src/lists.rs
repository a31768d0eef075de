//! Checks the arrays and pointers of C and turns them into accesses; stores results and texts where C wants them.

use std::ffi::c_char;

use tributary::access::{Memory, OwnedAccess};
use tributary::{BufferLayout, Direction, Error, Extent, Extents, Result};
use tributary_bindings::list::List;

/// The arguments of a list as C passes them: count, offsets and lengths.
pub type Arrays = (i64, *const i64, *const i64);

/// Names the arguments of a list of extents, for errors. `name` is `file`, `memory` or `extents`.
pub fn list(name: &'static str, (count, offsets, lengths): Arrays) -> List {
    List { name, arguments: ["count", "offsets", "lengths"], count, offsets, lengths }
}

/// Returns the extents of a list. O(count) time; regular parts take little memory.
///
/// # Errors
/// The errors of [`List::arrays`]; an offset or length is negative; an extent ends beyond 2^63 - 1.
///
/// # Safety
/// The arrays are null or have as many elements as the list says.
pub unsafe fn extents(list: List) -> Result<Extents> {
    // SAFETY: the caller's promise.
    let (offsets, lengths) = unsafe { list.arrays()? };
    for (at, pair) in offsets.iter().zip(lengths).enumerate() {
        let (what, value) = match pair {
            (offset @ ..0, _) => ("offsets", *offset),
            (_, length @ ..0) => ("lengths", *length),
            _ => continue,
        };
        return Err(Error::argument(format!("{}_{what}[{at}]", list.name), value, "0 or more"));
    }
    let extent = |(&offset, &length): (&i64, &i64)| Extent { offset: offset as u64, len: length as u64 };
    Extents::from_list(offsets.iter().zip(lengths).map(extent))
}

/// Returns the extents of a list as a layout of memory. Without any list the bytes are contiguous.
///
/// # Errors
/// The errors of [`extents`]; or the count is not 0 although there are no arrays.
///
/// # Safety
/// The requirements of [`extents`].
pub unsafe fn layout(list: List) -> Result<BufferLayout> {
    if list.count == 0 && list.offsets.is_null() && list.lengths.is_null() {
        return Ok(BufferLayout::Contiguous);
    }
    // SAFETY: the caller's promise.
    Ok(BufferLayout::Extents(unsafe { extents(list)? }))
}

/// Returns this rank's access in this direction: the extents `file`, and the memory at `buffer` with this layout.
///
/// # Errors
/// The pointer is null although there are bytes; file and memory have different numbers of bytes; the memory does not fit in the
/// address space.
///
/// # Safety
/// The memory that the layout lists is valid for reads in a write; in a read it is valid for writes, and nothing else uses
/// it. Both until the access is dropped.
pub unsafe fn access(
    file: Extents,
    layout: BufferLayout,
    direction: Direction,
    buffer: *mut u8,
) -> Result<OwnedAccess<'static>> {
    let span = match &layout {
        BufferLayout::Contiguous => file.bytes(),
        BufferLayout::Extents(extents) => extents.span().map_or(0, |(_, end)| end),
    } as usize;
    if let BufferLayout::Extents(extents) = &layout
        && extents.bytes() != file.bytes()
    {
        let allowed = format!("{} bytes, as in the file", file.bytes());
        return Err(Error::argument("lengths in memory", format!("{} bytes in all", extents.bytes()), allowed));
    }
    // SAFETY: the caller's promise.
    let memory = unsafe { Memory::from_raw_parts(direction, checked(buffer, span)?, span) };
    Ok(OwnedAccess { file, layout, memory })
}

/// Returns a pointer to `len` bytes. In C an empty buffer may be NULL; the result never is.
///
/// # Errors
/// The pointer is null although there are bytes; the memory does not fit in the address space.
pub fn checked(buffer: *mut u8, len: usize) -> Result<*mut u8> {
    if len == 0 {
        return Ok(std::ptr::dangling_mut());
    }
    if buffer.is_null() {
        return Err(Error::argument("buffer", format!("NULL, for {len} bytes"), "a pointer to that many bytes"));
    }
    if len > isize::MAX as usize || buffer.addr().checked_add(len).is_none() {
        let given = format!("{len} bytes from its start on");
        return Err(Error::argument("buffer", given, "what fits in the address space"));
    }
    Ok(buffer)
}

/// Stores a result at `place`, unless `place` is null.
///
/// # Safety
/// `place` is null or may be written.
pub unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write(value) };
    }
}

/// Copies `text`, with a terminating 0, to the `size` bytes at `place`; cuts the text if it does not fit. Sets `*length`
/// to the length of the whole text.
///
/// # Errors
/// `place` is null although `size` is not 0.
///
/// # Safety
/// `place` is null or has `size` bytes to be written; `length` is null or may be written.
pub unsafe fn copy(text: &str, place: *mut c_char, size: usize, length: *mut usize) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { put(length, text.len()) };
    if size == 0 {
        return Ok(());
    }
    if place.is_null() {
        return Err(Error::argument("text", format!("NULL, with a size of {size}"), "so many bytes, or a size of 0"));
    }
    let count = text.len().min(size - 1);
    // SAFETY: `count` + 1 bytes are within `size`; the text is elsewhere.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast::<u8>(), count);
        place.add(count).write(0);
    }
    Ok(())
}
