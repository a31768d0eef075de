//! Sequences of extents that are built once and used often.

use std::ffi::c_int;

use tributary::{Error, Extents, Result};

use super::lists::{List, put};
use super::status::{guarded, trib_status};

/// A sequence of extents, of a file or of memory: byte ranges in the order in which bytes fill them. Regular parts take
/// little memory, whatever the number of their extents. Belongs to no file; nothing about it is collective.
pub struct trib_extents {
    pub(super) all: Extents,
}

/// Makes an empty sequence, to be given back to `trib_extents_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_extents_create(extents: *mut *mut trib_extents) -> trib_status {
    // SAFETY: the caller's promise: null, or may be written.
    guarded(|| unsafe {
        let place = extents.as_mut().ok_or_else(|| Error::argument("extents", "NULL", "where they are to be put"))?;
        *place = Box::into_raw(Box::new(trib_extents { all: Extents::empty() }));
        Ok(())
    })
}

/// Appends `count` extents: `lengths[i]` bytes at `offsets[i]`, in any order, none below 0. Lengths of 0 are left out.
/// O(count) time; memory for what does not repeat. On an error nothing is appended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_extents_add_list(
    extents: *mut trib_extents,
    count: i64,
    offsets: *const i64,
    lengths: *const i64,
) -> trib_status {
    // SAFETY: the caller's promises: created, and lists as long as said.
    guarded(|| unsafe { created(extents)?.all.push(&List { name: "extents", count, offsets, lengths }.extents()?) })
}

/// Appends a run: `count` extents of `length` bytes, the first at `offset`, each `stride` bytes (which may be negative)
/// behind the one before. O(1) time and memory. On an error nothing is appended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_extents_add_run(
    extents: *mut trib_extents,
    offset: i64,
    length: i64,
    stride: i64,
    count: i64,
) -> trib_status {
    // SAFETY: the caller's promise: created.
    guarded(|| unsafe {
        let all = &mut created(extents)?.all;
        let (offset, length) = (natural("offset", offset)?, natural("length", length)?);
        all.push(&Extents::strided(offset, length, stride, natural("count", count)?)?)
    })
}

/// Appends a subarray of an array with `dimensions` dimensions, slowest first (the order of C), that begins at `offset`:
/// dimension d of the array has `sizes[d]` elements of `element` bytes, of which `subsizes[d]` from `starts[d]` on are
/// taken. O(dimensions) time and memory. On an error nothing is appended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_extents_add_subarray(
    extents: *mut trib_extents,
    offset: i64,
    element: i64,
    dimensions: c_int,
    sizes: *const i64,
    subsizes: *const i64,
    starts: *const i64,
) -> trib_status {
    // SAFETY: the caller's promises: created, and three arrays of `dimensions` elements.
    guarded(|| unsafe {
        let all = &mut created(extents)?.all;
        let (offset, element) = (natural("offset", offset)?, natural("element", element)?);
        let [sizes, subsizes, starts] = [("sizes", sizes), ("subsizes", subsizes), ("starts", starts)]
            .map(|(name, at)| naturals(name, at, dimensions));
        all.push(&Extents::subarray(offset, element, &sizes?, &subsizes?, &starts?)?)
    })
}

/// How many extents there are (those of a run or subarray that adjoin count as one), and how many bytes they have in all.
/// `count` and `bytes` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_extents_total(
    extents: *const trib_extents,
    count: *mut i64,
    bytes: *mut i64,
) -> trib_status {
    // SAFETY: the caller's promises: created; `count` and `bytes` are null or may be written.
    guarded(|| unsafe {
        let all = &extents.as_ref().ok_or_else(missing)?.all;
        put(count, all.count() as i64);
        put(bytes, all.bytes() as i64);
        Ok(())
    })
}

/// Frees a sequence. `*extents` becomes NULL; what is NULL already stays so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_extents_free(extents: *mut *mut trib_extents) -> trib_status {
    // SAFETY: the caller's promises: null, or holds null or what was created and is not freed yet.
    guarded(|| unsafe {
        let place = extents.as_mut().ok_or_else(missing)?;
        if !place.is_null() {
            drop(Box::from_raw(std::mem::take(place)));
        }
        Ok(())
    })
}

fn missing() -> Error {
    Error::argument("extents", "NULL", "what trib_extents_create has given")
}

/// # Safety
/// Null, or created, and used by nobody else as long as the result.
unsafe fn created<'a>(extents: *mut trib_extents) -> Result<&'a mut trib_extents> {
    // SAFETY: the caller's promise.
    unsafe { extents.as_mut() }.ok_or_else(missing)
}

fn natural(name: &str, value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| Error::argument(name, value, "0 or more"))
}

/// # Safety
/// Null, or `count` elements.
unsafe fn naturals(name: &str, at: *const i64, count: c_int) -> Result<Vec<u64>> {
    let len = usize::try_from(count).map_err(|_| Error::argument("dimensions", count, "0 or more"))?;
    if len == 0 {
        return Ok(Vec::new());
    }
    if at.is_null() {
        return Err(Error::argument(name, "NULL", "one number for each dimension"));
    }
    // SAFETY: the caller's promise.
    let values = unsafe { std::slice::from_raw_parts(at, len) };
    values.iter().enumerate().map(|(d, &value)| natural(&format!("{name}[{d}]"), value)).collect()
}
