//! Blocking collective writes and reads.

use std::ffi::c_void;

use tributary::access::OwnedAccess;
use tributary::{BufferLayout, Direction, Extents, Mode, Result};
use tributary_bindings::opening::only_read;

use super::extents::trib_extents;
use super::file::{opened, trib_file};
use super::lists::{Arrays, access, extents, layout, list, put};
use super::status::{guarded, trib_status};

/// Writes this rank's data to the file. Collective; a rank without data passes a `file_count` of 0.
///
/// Extent i of the file is `file_lengths[i]` bytes at `file_offsets[i]`. Extent j of memory is `memory_lengths[j]` bytes at
/// `buffer` + `memory_offsets[j]`. The bytes of memory, in the order of its list, fill the extents of the file, in the
/// order of that list. Both lists must have the same number of bytes in all. If both lists of memory are NULL and
/// `memory_count` is 0, the bytes are contiguous from `buffer` on. Offsets and lengths are in bytes and 0 or more; offsets
/// may be in any order. The extents of memory may belong to several objects of the program; memory between them is not
/// touched. The lists may be freed when the call has returned.
///
/// Sets `*bytes`, unless `bytes` is NULL, to the number of bytes written for this rank: all, or 0 on an error. If several
/// ranks write the same byte, the hint trib_overlap says whose byte the file holds.
///
/// Cost: each byte is sent at most once, to the rank that writes it (docs/how-it-works/overview.md). A call with the same lists as the
/// call before, a write or a read, reuses its plan.
///
/// Errors: the error of the lowest failing rank, on every rank. Some of the bytes may be in the file then.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_write_all(
    file: *mut trib_file,
    file_count: i64,
    file_offsets: *const i64,
    file_lengths: *const i64,
    memory_count: i64,
    memory_offsets: *const i64,
    memory_lengths: *const i64,
    buffer: *const c_void,
    bytes: *mut i64,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, lists and a buffer as long as said, `bytes` null or to be written.
    guarded(|| unsafe {
        let in_file = (file_count, file_offsets, file_lengths);
        let in_memory = (memory_count, memory_offsets, memory_lengths);
        let access = |direction| of_lists(in_file, in_memory, direction, buffer.cast_mut());
        run("trib_write_all", file, Direction::Write, access, bytes)
    })
}

/// Reads this rank's data from the file. Collective. The arguments are those of `trib_write_all`; the bytes of the file's
/// extents fill the extents of memory. Several ranks may read the same bytes.
///
/// Sets `*bytes`, unless `bytes` is NULL, to the number of this rank's bytes before the end of the file. Memory for bytes
/// beyond the end is not changed; holes in the file read as zeros.
///
/// Errors: the error of the lowest failing rank, on every rank. The contents of memory are undefined then.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_read_all(
    file: *mut trib_file,
    file_count: i64,
    file_offsets: *const i64,
    file_lengths: *const i64,
    memory_count: i64,
    memory_offsets: *const i64,
    memory_lengths: *const i64,
    buffer: *mut c_void,
    bytes: *mut i64,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, lists and a buffer as long as said, `bytes` null or to be written.
    guarded(|| unsafe {
        let in_file = (file_count, file_offsets, file_lengths);
        let in_memory = (memory_count, memory_offsets, memory_lengths);
        let access = |direction| of_lists(in_file, in_memory, direction, buffer);
        run("trib_read_all", file, Direction::Read, access, bytes)
    })
}

/// Like `trib_write_all`, with `file_extents` (NULL: no data) for the list of the file and `memory_extents` (NULL: bytes
/// contiguous from `buffer` on) for the list of memory. The call does not change them; they may be freed after it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_write_all_extents(
    file: *mut trib_file,
    file_extents: *const trib_extents,
    memory_extents: *const trib_extents,
    buffer: *const c_void,
    bytes: *mut i64,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, extents null or created, a buffer as long as they say.
    guarded(|| unsafe {
        let access = |direction| of_extents(file_extents, memory_extents, direction, buffer.cast_mut());
        run("trib_write_all_extents", file, Direction::Write, access, bytes)
    })
}

/// Like `trib_read_all`, with `file_extents` (NULL: no data) for the list of the file and `memory_extents` (NULL: bytes
/// contiguous from `buffer` on) for the list of memory.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_read_all_extents(
    file: *mut trib_file,
    file_extents: *const trib_extents,
    memory_extents: *const trib_extents,
    buffer: *mut c_void,
    bytes: *mut i64,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, extents null or created, a buffer as long as they say.
    guarded(|| unsafe {
        let access = |direction| of_extents(file_extents, memory_extents, direction, buffer);
        run("trib_read_all_extents", file, Direction::Read, access, bytes)
    })
}

/// Returns this rank's access, whose extents in the file and in memory two lists of arrays describe.
///
/// # Safety
/// The arrays are null or as long as their counts say. The requirements of [`access`].
pub(super) unsafe fn of_lists(
    in_file: Arrays,
    in_memory: Arrays,
    direction: Direction,
    buffer: *mut c_void,
) -> Result<OwnedAccess<'static>> {
    // SAFETY: the caller's promises.
    unsafe { access(extents(list("file", in_file))?, layout(list("memory", in_memory))?, direction, buffer.cast()) }
}

/// Returns this rank's access, whose extents in the file and in memory two `trib_extents` describe.
///
/// # Safety
/// `file` and `memory` are null, or from `trib_extents_create` and not freed. The requirements of [`access`].
pub(super) unsafe fn of_extents(
    file: *const trib_extents,
    memory: *const trib_extents,
    direction: Direction,
    buffer: *mut c_void,
) -> Result<OwnedAccess<'static>> {
    // SAFETY: null, or created and not freed.
    let (file, memory) = unsafe { (file.as_ref(), memory.as_ref()) };
    let file = file.map_or_else(Extents::empty, |extents| extents.all.clone());
    let layout = memory.map_or(BufferLayout::Contiguous, |extents| BufferLayout::Extents(extents.all.clone()));
    // SAFETY: the caller meets the requirements of `access`.
    unsafe { access(file, layout, direction, buffer.cast()) }
}

/// Starts a collective call of the C function `function`. A rank with bad arguments takes part with its error.
///
/// # Safety
/// `file` is null or open.
pub(super) unsafe fn start<'a>(
    function: &'static str,
    file: *mut trib_file,
    direction: Direction,
    access: impl FnOnce(Direction) -> Result<OwnedAccess<'static>>,
) -> Result<&'a mut trib_file> {
    // SAFETY: the caller's promise.
    let file = unsafe { opened(file)? };
    let access = match access(direction) {
        Ok(_) if (direction, file.mode) == (Direction::Write, Mode::Read) => {
            Err(only_read(file.busy.file()?, &file.path, "TRIB_READ"))
        }
        access => access,
    };
    file.busy.start(function, direction, access)?;
    Ok(file)
}

unsafe fn run(
    function: &'static str,
    file: *mut trib_file,
    direction: Direction,
    access: impl FnOnce(Direction) -> Result<OwnedAccess<'static>>,
    bytes: *mut i64,
) -> Result<()> {
    // SAFETY: the caller's promises; the call has ended when this returns.
    unsafe {
        put(bytes, 0);
        let file = start(function, file, direction, access)?;
        let outcome = file.busy.wait();
        put(bytes, file.note(outcome)? as i64);
    }
    Ok(())
}
