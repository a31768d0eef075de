//! Collective writes and reads that are started, tested and waited for.

use std::ffi::{c_int, c_void};

use tributary::{Error, Result};

use super::collective::{in_file, in_memory, of_extents, of_lists, start};
use super::extents::trib_extents;
use super::file::{opened, trib_file};
use super::lists::{Buffer, put};
use super::status::{guarded, trib_status};

/// Starts a collective write with the arguments of `trib_write_all`. Collective. The lists are read before it returns; the
/// memory must stay as it is until the operation has ended.
///
/// The operation goes on only inside `trib_test` and `trib_wait`. One may be in flight for each file: until it has ended,
/// other calls on the file are errors. With several files, wait in the same order on all ranks, or test in turn.
///
/// Errors: bad arguments of a rank are errors of the operation, on all ranks, when it ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_start_write_all(
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
        let lists = in_file(file_count, file_offsets, file_lengths);
        let access =
            || of_lists(lists, in_memory(memory_count, memory_offsets, memory_lengths), Buffer::Source(buffer));
        start(file, access).map(|_| ())
    })
}

/// Starts a collective read with the arguments of `trib_read_all`. As `trib_start_write_all`; the memory must not be touched
/// until the operation has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_start_read_all(
    file: *mut trib_file,
    file_count: i64,
    file_offsets: *const i64,
    file_lengths: *const i64,
    memory_count: i64,
    memory_offsets: *const i64,
    memory_lengths: *const i64,
    buffer: *mut c_void,
) -> trib_status {
    // SAFETY: as above.
    guarded(|| unsafe {
        let lists = in_file(file_count, file_offsets, file_lengths);
        let access =
            || of_lists(lists, in_memory(memory_count, memory_offsets, memory_lengths), Buffer::Target(buffer));
        start(file, access).map(|_| ())
    })
}

/// Starts a collective write with the arguments of `trib_write_all_extents`, as `trib_start_write_all` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_start_write_all_extents(
    file: *mut trib_file,
    file_extents: *const trib_extents,
    memory_extents: *const trib_extents,
    buffer: *const c_void,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, extents null or created, and memory as the text above says.
    guarded(|| unsafe { start(file, || of_extents(file_extents, memory_extents, Buffer::Source(buffer))).map(|_| ()) })
}

/// Starts a collective read with the arguments of `trib_read_all_extents`, as `trib_start_read_all` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_start_read_all_extents(
    file: *mut trib_file,
    file_extents: *const trib_extents,
    memory_extents: *const trib_extents,
    buffer: *mut c_void,
) -> trib_status {
    // SAFETY: as above.
    guarded(|| unsafe { start(file, || of_extents(file_extents, memory_extents, Buffer::Target(buffer))).map(|_| ()) })
}

/// Goes on with the operation in flight as far as it can without waiting. `*done` becomes 1 when the operation has ended,
/// well or with the error that is returned, and 0 when it has not; once it has, `*bytes` (unless `bytes` is NULL) is what
/// the blocking call would have given. Not collective, but all ranks must bring the operation to its end.
///
/// Errors: those of the operation; TRIB_ERR_ARGUMENT when none is in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_test(file: *mut trib_file, done: *mut c_int, bytes: *mut i64) -> trib_status {
    // SAFETY: the caller's promises: an open file; `done` and `bytes` are null or may be written.
    guarded(|| unsafe {
        put(bytes, 0);
        let done = done.as_mut().ok_or_else(|| Error::argument("done", "NULL", "where the answer is to be put"))?;
        *done = 0;
        let file = opened(file)?;
        let Some(outcome) = file.busy.test()? else { return Ok(()) };
        *done = 1;
        put(bytes, file.note(outcome)? as i64);
        Ok(())
    })
}

/// Goes on with the operation in flight until it has ended. `*bytes` as with `trib_test`. All ranks must bring the operation
/// to its end.
///
/// Errors: those of the operation; TRIB_ERR_ARGUMENT when none is in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_wait(file: *mut trib_file, bytes: *mut i64) -> trib_status {
    // SAFETY: the caller's promises: an open file; `bytes` is null or may be written.
    guarded(|| unsafe {
        put(bytes, 0);
        let file = opened(file)?;
        let outcome = file.busy.wait();
        put(bytes, file.note(outcome)? as i64);
        Result::Ok(())
    })
}
