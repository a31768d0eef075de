//! MPI statuses, whose size and field offsets depend on the ABI.

use std::ffi::c_int;

use crate::constants::constants;

/// Number of integers in the largest status, which is the status of the standard ABI.
const LARGEST: usize = 8;

/// A status of any MPI library. It has the size of the largest status; MPI fills its first part.
#[repr(C, align(8))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "MPI's name")]
pub struct MPI_Status([c_int; LARGEST]);

/// The offset of the public fields in a status, and the status's size, both in integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatusLayout {
    pub(crate) source: usize,
    pub(crate) size: usize,
}

impl StatusLayout {
    /// Offset of MPI_ERROR from MPI_SOURCE, in integers. The fields follow one another in the order of MPI's text in
    /// every library.
    const ERROR: usize = 2;
}

impl MPI_Status {
    /// Returns a status of zeros, for MPI to fill.
    pub const fn zeroed() -> Self {
        Self([0; LARGEST])
    }

    /// Sets MPI_ERROR in status `index` of the program's array.
    ///
    /// # Safety
    /// `row` is the address of `index + 1` statuses or more, of the process's MPI library.
    pub unsafe fn set_error(row: *mut Self, index: usize, code: c_int) {
        let field = constants().status.source + StatusLayout::ERROR;
        // SAFETY: the caller's promise; the field lies within the status.
        unsafe { Self::nth(row, index).cast::<c_int>().add(field).write_unaligned(code) };
    }

    /// Returns the address of status `index` of the program's array.
    pub fn nth(row: *mut Self, index: usize) -> *mut Self {
        row.cast::<c_int>().wrapping_add(index * constants().status.size).cast()
    }

    /// Returns the field MPI_ERROR.
    pub fn error(&self) -> c_int {
        self.0[constants().status.source + StatusLayout::ERROR]
    }
}

/// An array of statuses, for MPI to fill.
#[derive(Debug, Default)]
pub struct Statuses(Vec<u64>);

impl Statuses {
    /// Resizes the array to `count` statuses, whose contents are undefined.
    pub fn resize(&mut self, count: usize) {
        let words = (count * constants().status.size).div_ceil(2);
        if self.0.len() < words {
            self.0.resize(words, 0);
        }
    }

    /// Returns the address of the first status, for MPI to fill.
    pub fn as_mut_ptr(&mut self) -> *mut MPI_Status {
        self.0.as_mut_ptr().cast()
    }

    /// Returns a copy of status `index`.
    ///
    /// # Panics
    /// Panics if the index is out of range.
    pub fn get(&self, index: usize) -> MPI_Status {
        let size = constants().status.size;
        assert!((index + 1) * size <= 2 * self.0.len(), "status {index} is out of range");
        let mut status = MPI_Status::zeroed();
        let first = self.0.as_ptr().cast::<c_int>();
        // SAFETY: in range, as just checked; a status has `size` integers, at most as many as the largest.
        unsafe { std::ptr::copy_nonoverlapping(first.add(index * size), status.0.as_mut_ptr(), size) };
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_follow_one_another() {
        let size = constants().status.size;
        let mut all = Statuses::default();
        all.resize(3);
        for i in 0..3 * size {
            // SAFETY: there is room for three.
            unsafe { all.as_mut_ptr().cast::<c_int>().add(i).write(i as c_int) };
        }
        for index in 0..3 {
            let error = index * size + constants().status.source + 2;
            assert_eq!(all.get(index).error(), error as c_int, "of status {index}");
        }
    }
}
