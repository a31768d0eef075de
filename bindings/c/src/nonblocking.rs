//! Non-blocking collective writes and reads: start, test, wait.

use std::ffi::{c_int, c_void};

use tributary::{Direction, Error, Result};

use super::collective::{of_extents, of_lists, start};
use super::extents::trib_extents;
use super::file::{opened, trib_file};
use super::lists::put;
use super::status::{guarded, trib_status};

/// Starts a collective write with the arguments of `trib_write_all`. Collective. The lists may be freed when this returns;
/// the memory must not be changed until the operation has ended.
///
/// The operation advances only inside `trib_test` and `trib_wait`. Only one operation may be in flight on a file; until it
/// has ended, other calls on the file are errors. With several files, wait for them in the same order on all ranks, or
/// test them in turn.
///
/// Errors: bad arguments on any rank are reported when the operation ends, on all ranks.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_start_write_all(
    file: *mut trib_file,
    file_count: i64,
    file_offsets: *const i64,
    file_lengths: *const i64,
    memory_count: i64,
    memory_offsets: *const i64,
    memory_lengths: *const i64,
    buffer: *const c_void,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, lists as long as said, and memory as the text above says.
    guarded(|| unsafe {
        let in_file = (file_count, file_offsets, file_lengths);
        let in_memory = (memory_count, memory_offsets, memory_lengths);
        let access = |direction| of_lists(in_file, in_memory, direction, buffer.cast_mut());
        start("trib_start_write_all", file, Direction::Write, access).map(|_| ())
    })
}

/// Starts a collective read with the arguments of `trib_read_all`, under the rules of `trib_start_write_all`. The memory
/// must not be touched until the operation has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_start_read_all(
    file: *mut trib_file,
    file_count: i64,
    file_offsets: *const i64,
    file_lengths: *const i64,
    memory_count: i64,
    memory_offsets: *const i64,
    memory_lengths: *const i64,
    buffer: *mut c_void,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, lists as long as said, and memory as the text above says.
    guarded(|| unsafe {
        let in_file = (file_count, file_offsets, file_lengths);
        let in_memory = (memory_count, memory_offsets, memory_lengths);
        let access = |direction| of_lists(in_file, in_memory, direction, buffer);
        start("trib_start_read_all", file, Direction::Read, access).map(|_| ())
    })
}

/// Starts a collective write with the arguments of `trib_write_all_extents`, under the rules of `trib_start_write_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_start_write_all_extents(
    file: *mut trib_file,
    file_extents: *const trib_extents,
    memory_extents: *const trib_extents,
    buffer: *const c_void,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, extents null or created, and memory as the text above says.
    guarded(|| unsafe {
        let access = |direction| of_extents(file_extents, memory_extents, direction, buffer.cast_mut());
        start("trib_start_write_all_extents", file, Direction::Write, access).map(|_| ())
    })
}

/// Starts a collective read with the arguments of `trib_read_all_extents`, under the rules of `trib_start_read_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_start_read_all_extents(
    file: *mut trib_file,
    file_extents: *const trib_extents,
    memory_extents: *const trib_extents,
    buffer: *mut c_void,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, extents null or created, and memory as the text above says.
    guarded(|| unsafe {
        let access = |direction| of_extents(file_extents, memory_extents, direction, buffer);
        start("trib_start_read_all_extents", file, Direction::Read, access).map(|_| ())
    })
}

/// Advances the operation in flight as far as possible without waiting. Sets `*done` to 1 if the operation has ended, with
/// success or with the error that is returned, and to 0 if not. When it has ended, sets `*bytes` (unless `bytes` is NULL)
/// as the blocking call does. Not collective, but every rank must complete the operation.
///
/// Errors: those of the operation; TRIB_ERR_ARGUMENT when none is in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_test(file: *mut trib_file, done: *mut c_int, bytes: *mut i64) -> trib_status {
    // SAFETY: the caller's promises: an open file; `done` and `bytes` are null or may be written.
    guarded(|| unsafe {
        put(bytes, 0);
        let done = done.as_mut().ok_or_else(|| Error::argument("done", "NULL", "a pointer to an int"))?;
        *done = 0;
        let file = opened(file)?;
        let Some(outcome) = file.busy.test()? else { return Ok(()) };
        *done = 1;
        put(bytes, file.note(outcome)? as i64);
        Ok(())
    })
}

/// Completes the operation in flight. Sets `*bytes` as `trib_test` does. Every rank must complete the operation.
///
/// Errors: those of the operation; TRIB_ERR_ARGUMENT when none is in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_wait(file: *mut trib_file, bytes: *mut i64) -> trib_status {
    // SAFETY: the caller's promises: an open file; `bytes` is null or may be written.
    guarded(|| unsafe {
        put(bytes, 0);
        let file = opened(file)?;
        let outcome = file.busy.wait();
        put(bytes, file.note(outcome)? as i64);
        Result::Ok(())
    })
}
