//! Sequences of extents, built once and used in many calls.

use std::ffi::c_int;

use tributary::{Error, Extents, Result};

use super::lists::{self, list, put};
use super::status::{guarded, trib_status};

/// A sequence of extents (byte ranges) of a file or of memory, in the order in which data fills them. Regular parts take
/// little memory, whatever their number of extents. A sequence belongs to no file; none of its functions is collective.
pub struct trib_extents {
    pub(super) all: Extents,
}

/// Creates an empty sequence; free it with `trib_extents_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_extents_create(extents: *mut *mut trib_extents) -> trib_status {
    // SAFETY: the caller's promise: null, or may be written.
    guarded(|| unsafe {
        let place =
            extents.as_mut().ok_or_else(|| Error::argument("extents", "NULL", "a pointer to a trib_extents *"))?;
        *place = Box::into_raw(Box::new(trib_extents { all: Extents::empty() }));
        Ok(())
    })
}

/// Appends `count` extents: `lengths[i]` bytes at `offsets[i]`. Both are 0 or more; offsets may be in any order. Extents of
/// length 0 are left out. O(count) time; memory for the irregular parts only. On an error nothing is appended.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_extents_add_list(
    extents: *mut trib_extents,
    count: i64,
    offsets: *const i64,
    lengths: *const i64,
) -> trib_status {
    // SAFETY: the caller's promises: created, and lists as long as said.
    guarded(|| unsafe { created(extents)?.all.push(&lists::extents(list("extents", (count, offsets, lengths)))?) })
}

/// Appends a run: `count` extents of `length` bytes, the first at `offset`, each next one `stride` bytes further. `stride`
/// may be negative. O(1) time and memory. On an error nothing is appended.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_extents_add_run(
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

/// Appends a subarray of an array that begins at `offset`. The array has `dimensions` dimensions, the slowest first (the
/// order of C), and elements of `element` bytes. Its dimension d has `sizes[d]` elements; the subarray has `subsizes[d]` of
/// them from index `starts[d]` on. O(dimensions) time and memory. On an error nothing is appended.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_extents_add_subarray(
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

/// Returns the number of extents (adjoining extents of a run or subarray count as one) and their total bytes. `count` and
/// `bytes` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_extents_total(
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

/// Frees a sequence and sets `*extents` to NULL. Does nothing if `*extents` is NULL already.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_extents_free(extents: *mut *mut trib_extents) -> trib_status {
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
    Error::argument("extents", "NULL", "extents from trib_extents_create")
}

/// # Safety
/// `extents` is null, or from `trib_extents_create` and not freed. Nothing else uses it during the lifetime of the
/// result.
unsafe fn created<'a>(extents: *mut trib_extents) -> Result<&'a mut trib_extents> {
    // SAFETY: the caller's promise.
    unsafe { extents.as_mut() }.ok_or_else(missing)
}

fn natural(name: &str, value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| Error::argument(name, value, "0 or more"))
}

/// # Safety
/// `at` is null, or has `count` elements.
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
