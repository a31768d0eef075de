//! Reads and makes `MPI_Info` objects as keys and values.

use std::ffi::{CStr, CString, c_char, c_int};

use tributary::{Error, Result};
use tributary_abi::{self as ffi, MPI_Info, SUCCESS, constants, handles};

/// Returns all entries of `info`; none for MPI_INFO_NULL. Entries that are not UTF-8 or cannot be read are left out.
///
/// # Safety
/// `info` is a valid info, or MPI_INFO_NULL; MPI is initialised.
pub unsafe fn entries(info: MPI_Info) -> Vec<(String, String)> {
    if info == handles().info_null {
        return Vec::new();
    }
    let mut count = 0;
    // SAFETY: a valid info.
    if unsafe { ffi::MPI_Info_get_nkeys(info, &mut count) } != SUCCESS {
        return Vec::new();
    }
    // SAFETY: a valid info, and indices below the number of keys.
    (0..count).filter_map(|index| unsafe { entry(info, index) }).collect()
}

/// # Safety
/// The requirements of [`entries`], and `index` is below the number of keys.
unsafe fn entry(info: MPI_Info, index: c_int) -> Option<(String, String)> {
    let (longest_key, longest_value) = (constants().max_info_key, constants().max_info_value);
    let mut key = vec![0 as c_char; longest_key as usize + 1];
    // SAFETY: a valid info; the buffer holds the longest key and its terminator.
    if unsafe { ffi::MPI_Info_get_nthkey(info, index, key.as_mut_ptr()) } != SUCCESS {
        return None;
    }
    let (mut value, mut found) = (vec![0 as c_char; longest_value as usize + 1], 0);
    // SAFETY: a valid info and its own key; the buffer holds the longest value and its terminator.
    let code = unsafe { ffi::MPI_Info_get(info, key.as_ptr(), longest_value, value.as_mut_ptr(), &mut found) };
    // SAFETY: MPI ends both texts with a terminator.
    let text = |chars: &[c_char]| unsafe { CStr::from_ptr(chars.as_ptr()) }.to_str().ok().map(str::to_string);
    if code == SUCCESS && found != 0 { Some((text(&key)?, text(&value)?)) } else { None }
}

/// Creates an info with these entries, as [`set`] sets them. The caller frees the info.
///
/// # Errors
/// MPI cannot make an info.
///
/// # Safety
/// MPI is initialised.
pub unsafe fn made_of(entries: impl IntoIterator<Item = (String, String)>) -> Result<MPI_Info> {
    let mut info = handles().info_null;
    // SAFETY: MPI is initialised, and writes one handle.
    if unsafe { ffi::MPI_Info_create(&mut info) } != SUCCESS {
        return Err(Error::fabric("MPI_Info_create failed"));
    }
    for (key, value) in entries {
        // SAFETY: a valid info.
        unsafe { set(info, &key, &value) };
    }
    Ok(info)
}

/// Sets one entry, unless it is too long for this MPI library.
///
/// # Safety
/// `info` is a valid info of this program; MPI is initialised.
pub unsafe fn set(info: MPI_Info, key: &str, value: &str) {
    let (longest_key, longest_value) = (constants().max_info_key as usize, constants().max_info_value as usize);
    if key.len() >= longest_key || value.is_empty() || value.len() >= longest_value {
        return;
    }
    if let (Ok(key), Ok(value)) = (CString::new(key), CString::new(value)) {
        // SAFETY: a valid info and two terminated texts that are short enough. An entry that MPI refuses is left out.
        unsafe { ffi::MPI_Info_set(info, key.as_ptr(), value.as_ptr()) };
    }
}
