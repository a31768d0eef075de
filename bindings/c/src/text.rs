//! Copies texts of any length to a caller's buffer.

use std::ffi::c_char;

use tributary::{Error, Result};

use super::lists::put;

/// Copies `text`, and a 0 behind it, to the `size` bytes at `place`; cuts the text if it does not fit. Sets `*length`
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
