//! Lists of offsets and lengths, as C passes them.

use tributary::{Error, Result};

/// A list of (offset, length) pairs: two arrays of the same length.
#[derive(Clone, Copy)]
pub struct List {
    /// Name of the list in error messages: `file`, `memory`.
    pub name: &'static str,
    /// Names of the function's three arguments without the list's name, such as `count`, `offsets` and `lengths`.
    pub arguments: [&'static str; 3],
    /// Number of extents: the length of both arrays.
    pub count: i64,
    /// Array of the extents' offsets, in bytes.
    pub offsets: *const i64,
    /// Array of the extents' lengths, in bytes.
    pub lengths: *const i64,
}

impl List {
    /// Returns the arrays of offsets and of lengths.
    ///
    /// # Errors
    /// The count is negative, or an array is null although the count is not 0.
    ///
    /// # Safety
    /// The arrays are null or have `count` elements, which do not change during the lifetime of the result.
    pub unsafe fn arrays<'a>(self) -> Result<(&'a [i64], &'a [i64])> {
        let Self { name, arguments: [pairs, first, second], count, offsets, lengths } = self;
        let len = usize::try_from(count).map_err(|_| Error::argument(format!("{name}_{pairs}"), count, "0 or more"))?;
        if len == 0 {
            return Ok((&[], &[]));
        }
        for (what, array) in [(first, offsets), (second, lengths)] {
            if array.is_null() {
                let given = format!("NULL, with {name}_{pairs} {count}");
                return Err(Error::argument(format!("{name}_{what}"), given, format!("an array of {count} numbers")));
            }
        }
        // SAFETY: the caller's promise.
        Ok(unsafe { (std::slice::from_raw_parts(offsets, len), std::slice::from_raw_parts(lengths, len)) })
    }
}
