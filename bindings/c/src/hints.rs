//! Returns the hints in force to C programs.

use std::ffi::{CStr, CString, c_char};

use tributary::{Error, File, Hints, Result};
use tributary_bindings::hints::in_force;

use super::file::{opened, trib_file};
use super::lists::{copy, put};
use super::status::{guarded, trib_status};

/// All hints of a file with the values in force, as strings for C.
pub struct HintTable(Vec<(CString, CString)>);

impl HintTable {
    /// Creates the table of an open file. A hint that leaves a choice (`auto`) has the value that was chosen.
    pub fn from_file(file: &File) -> Self {
        let text = |text: String| CString::new(text).unwrap_or_default();
        let entries = in_force(file, |_| true).into_iter();
        Self(entries.map(|(key, value)| (text(key.to_string()), text(value))).collect())
    }
}

/// Checks a text of hints, "key=value;key=value...", before it is passed to `trib_open`, which ignores unknown keys, as MPI
/// requires. Needs no MPI. Not collective.
///
/// Errors: TRIB_ERR_ARGUMENT for a part that is not "key=value"; TRIB_ERR_HINT for a value that is not allowed, and for a key that
/// no known library has. `trib_last_error_message` names the key, and a similar one that exists.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_check_hints(hints: *const c_char) -> trib_status {
    guarded(|| {
        if hints.is_null() {
            return Err(Error::argument("hints", "NULL", "a text of hints"));
        }
        // SAFETY: the caller's promise: the text ends with 0.
        let text = utf8(unsafe { CStr::from_ptr(hints) })?;
        Hints::parse(text)?;
        Hints::unknown_keys(text).next().map_or(Ok(()), Err)
    })
}

/// Returns the text of hints that a C program passes.
pub(super) fn utf8(text: &CStr) -> Result<&str> {
    text.to_str().map_err(|_| Error::argument("hints", text.to_string_lossy(), "UTF-8 text"))
}

/// Returns the number of hints, for `trib_hint_at`; 0 for a NULL file. Not collective.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_hint_count(file: *const trib_file) -> i64 {
    // SAFETY: the caller's promise: null or an open file.
    unsafe { file.as_ref() }.map_or(0, |file| file.hints.0.len() as i64)
}

/// Returns the key and value of hint `index`, from 0 to `trib_hint_count` - 1. The value is the one in force: if the hint
/// leaves a choice, the choice that was made. Both texts live until the file is closed. Not collective.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_hint_at(
    file: *mut trib_file,
    index: i64,
    key: *mut *const c_char,
    value: *mut *const c_char,
) -> trib_status {
    // SAFETY: the caller's promises: an open file; `key` and `value` are null or may be written.
    guarded(|| unsafe {
        let hints = &opened(file)?.hints.0;
        let found = usize::try_from(index).ok().and_then(|index| hints.get(index));
        let (this, its) = found.ok_or_else(|| Error::argument("index", index, format!("0 to {}", hints.len() - 1)))?;
        put(key, this.as_ptr());
        put(value, its.as_ptr());
        Ok(())
    })
}

/// Returns the value of the hint `key`, as `trib_hint_at` does. Stores at most `size` bytes at `value`, with a terminating
/// 0; a longer text is cut. Sets `*length`, unless `length` is NULL, to the length of the whole text without the 0. Not
/// collective.
///
/// Errors: TRIB_ERR_HINT for a key that is no hint's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_get_hint(
    file: *mut trib_file,
    key: *const c_char,
    value: *mut c_char,
    size: usize,
    length: *mut usize,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, a key that ends with 0, `size` bytes at `value`.
    guarded(|| unsafe { copy(find(opened(file)?, key)?, value, size, length) })
}

unsafe fn find(file: &trib_file, key: *const c_char) -> Result<&str> {
    if key.is_null() {
        return Err(Error::argument("key", "NULL", "the name of a hint"));
    }
    // SAFETY: not null, so it ends with 0.
    let key = unsafe { CStr::from_ptr(key) };
    let found = file.hints.0.iter().find(|(known, _)| known.as_c_str() == key);
    let (_, value) =
        found.ok_or_else(|| Error::hint(key.to_string_lossy(), "", "the keys of docs/reference/hints.md"))?;
    Ok(value.to_str().unwrap_or_default())
}
