//! Collective writes and reads that return when they are done.

use std::ffi::c_void;

use tributary::error::IoClass;
use tributary::{BufferLayout, Error, Extents, Mode, Result};

use super::extents::trib_extents;
use super::file::{opened, trib_file};
use super::lists::{Buffer, List, put};
use super::running::{Access, Memory};
use super::status::{guarded, trib_status};

/// Writes to the file, all ranks together. Collective; a rank without data has a `file_count` of 0.
///
/// Extent i of the file is `file_lengths[i]` bytes at `file_offsets[i]`; extent j of memory is `memory_lengths[j]` bytes at
/// `buffer` + `memory_offsets[j]`. The bytes of memory, in the order of its list, fill the extents of the file, in the
/// order of that list; both have as many bytes in all. With both lists of memory NULL and a `memory_count` of 0, the bytes
/// follow one another from `buffer` on. Offsets and lengths are bytes, 0 or more, in any order. Memory may be of several
/// objects of the program; what lies between its extents is not touched. The lists are read once: they need not outlive the
/// call.
///
/// `*bytes`, unless `bytes` is NULL, becomes the number of bytes that were written for this rank: all, or 0 on an error.
/// Where ranks write the same byte, one of theirs stays (which one: hint trib_overlap).
///
/// Costs what docs/how-it-works/overview.md says of an exchange: each byte travels once to the rank that writes it. The same lists as in
/// the call before cost no planning again, for a read as well.
///
/// Errors: the lowest failing rank's, on every rank. Some of the bytes may be in the file then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_write_all(
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
        let lists = in_file(file_count, file_offsets, file_lengths);
        let access =
            || of_lists(lists, in_memory(memory_count, memory_offsets, memory_lengths), Buffer::Source(buffer));
        run(file, access, bytes)
    })
}

/// Reads from the file, all ranks together. Collective. The arguments are those of `trib_write_all`, the other way: what the
/// extents of the file hold fills the extents of memory. Ranks may read the same bytes.
///
/// `*bytes` becomes the number of this rank's bytes that lie before the end of the file. What lies behind it stays as it was
/// in memory; holes are zeros.
///
/// Errors: the lowest failing rank's, on every rank. What memory holds is of no meaning then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_read_all(
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
    // SAFETY: as above.
    guarded(|| unsafe {
        let lists = in_file(file_count, file_offsets, file_lengths);
        let access =
            || of_lists(lists, in_memory(memory_count, memory_offsets, memory_lengths), Buffer::Target(buffer));
        run(file, access, bytes)
    })
}

/// As `trib_write_all`, with `file_extents` (NULL: none) in place of the list of the file and `memory_extents` (NULL: the
/// bytes one after the other) in place of that of memory. Both are as they were, and may be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_write_all_extents(
    file: *mut trib_file,
    file_extents: *const trib_extents,
    memory_extents: *const trib_extents,
    buffer: *const c_void,
    bytes: *mut i64,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, extents null or created, a buffer as long as they say.
    guarded(|| unsafe { run(file, || of_extents(file_extents, memory_extents, Buffer::Source(buffer)), bytes) })
}

/// As `trib_read_all`, with `file_extents` (NULL: none) in place of the list of the file and `memory_extents` (NULL: the
/// bytes one after the other) in place of that of memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_read_all_extents(
    file: *mut trib_file,
    file_extents: *const trib_extents,
    memory_extents: *const trib_extents,
    buffer: *mut c_void,
    bytes: *mut i64,
) -> trib_status {
    // SAFETY: as above.
    guarded(|| unsafe { run(file, || of_extents(file_extents, memory_extents, Buffer::Target(buffer)), bytes) })
}

/// The list of the file.
pub(super) fn in_file(count: i64, offsets: *const i64, lengths: *const i64) -> List {
    List { name: "file", count, offsets, lengths }
}

/// The list of memory.
pub(super) fn in_memory(count: i64, offsets: *const i64, lengths: *const i64) -> List {
    List { name: "memory", count, offsets, lengths }
}

/// The access that lists describe.
///
/// # Safety
/// The arrays are null or as long as said.
pub(super) unsafe fn of_lists(file: List, memory: List, buffer: Buffer) -> Result<Access> {
    // SAFETY: the caller's promise.
    let (file, layout) = unsafe { (file.extents()?, memory.layout()?) };
    buffer.access(file, layout)
}

/// The access that extents describe.
///
/// # Safety
/// Both are null or from `trib_extents_create`, and not freed.
pub(super) unsafe fn of_extents(
    file: *const trib_extents,
    memory: *const trib_extents,
    buffer: Buffer,
) -> Result<Access> {
    // SAFETY: the caller's promise.
    let (file, memory) = unsafe { (file.as_ref(), memory.as_ref()) };
    let file = file.map_or_else(Extents::empty, |extents| extents.all.clone());
    let layout = memory.map_or(BufferLayout::Contiguous, |extents| BufferLayout::Extents(extents.all.clone()));
    buffer.access(file, layout)
}

/// Starts a call; a rank with bad arguments takes part with its error.
///
/// # Safety
/// `file` is null or open; the memory of the access is the caller's until the call has ended.
pub(super) unsafe fn start<'a>(
    file: *mut trib_file,
    access: impl FnOnce() -> Result<Access>,
) -> Result<&'a mut trib_file> {
    // SAFETY: the caller's promise.
    let file = unsafe { opened(file)? };
    let access = access().and_then(|access| match access.buffer {
        Memory::Source(..) if file.mode == Mode::Read => Err(only_read(file)?),
        _ => Ok(access),
    });
    // SAFETY: the caller's promise.
    unsafe { file.busy.start(access)? };
    Ok(file)
}

/// What a file opened for reading says to a write.
fn only_read(file: &mut trib_file) -> Result<Error> {
    Ok(Error::Io {
        rank: file.busy.file()?.endpoint().rank(),
        operation: "write".to_string(),
        path: file.path.display().to_string(),
        offset: 0,
        class: IoClass::ReadOnly,
        cause: "it was opened with TRIB_READ".to_string(),
    })
}

unsafe fn run(file: *mut trib_file, access: impl FnOnce() -> Result<Access>, bytes: *mut i64) -> Result<()> {
    // SAFETY: the caller's promises; the call has ended when this returns.
    unsafe {
        put(bytes, 0);
        let file = start(file, access)?;
        let outcome = file.busy.wait();
        put(bytes, file.note(outcome)? as i64);
    }
    Ok(())
}
