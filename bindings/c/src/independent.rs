//! Independent writes and reads, each by one rank without the others.

use std::ffi::c_void;

use tributary::{Direction, Error, Result, Sink, Source};

use super::file::{opened, trib_file};
use super::lists::{checked, put};
use super::status::{guarded, trib_status};

/// Writes `length` bytes of `buffer` at file offset `offset`. Not collective. Sets `*bytes`, unless `bytes` is NULL, to
/// the number of bytes written: `length`, or 0 on an error, after which some of the bytes may be in the file.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_write_at(
    file: *mut trib_file,
    offset: i64,
    buffer: *const c_void,
    length: i64,
    bytes: *mut i64,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, a buffer of `length` bytes, `bytes` null or to be written.
    guarded(|| unsafe { transfer(file, Direction::Write, offset, buffer.cast_mut(), length, bytes) })
}

/// Reads `length` bytes at file offset `offset` into `buffer`. Not collective. Sets `*bytes`, unless `bytes` is NULL, to
/// the number of these bytes before the end of the file. The rest of the buffer is not changed.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_read_at(
    file: *mut trib_file,
    offset: i64,
    buffer: *mut c_void,
    length: i64,
    bytes: *mut i64,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, a buffer of `length` bytes, `bytes` null or to be written.
    guarded(|| unsafe { transfer(file, Direction::Read, offset, buffer, length, bytes) })
}

unsafe fn transfer(
    file: *mut trib_file,
    direction: Direction,
    offset: i64,
    buffer: *mut c_void,
    length: i64,
    bytes: *mut i64,
) -> Result<()> {
    // SAFETY: the caller's promises; nobody else touches the buffer in the meantime.
    unsafe {
        put(bytes, 0);
        let file = opened(file)?.busy.file()?;
        let at = u64::try_from(offset).map_err(|_| Error::argument("offset", offset, "0 or more"))?;
        let len = usize::try_from(length).map_err(|_| Error::argument("length", length, "0 or more"))?;
        let memory = checked(buffer.cast(), len)?;
        let moved = match direction {
            Direction::Write => file.write_at(at, Source::from_raw_parts(memory, len))?,
            Direction::Read => file.read_at(at, Sink::from_raw_parts(memory, len))?,
        };
        put(bytes, moved as i64);
    }
    Ok(())
}
