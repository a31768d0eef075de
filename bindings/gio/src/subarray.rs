//! Makes the list of offsets and lengths of a subarray.

use std::ffi::c_int;

use tributary::{Error, Result};

use crate::MPI_Offset;
use crate::code::{ENOMEM, status};

/// Makes the list of a subarray: a pair for each of its rows. The caller must free() both arrays. Not collective.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GIO_flatten_subarray(
    ndims: c_int,
    esize: c_int,
    disp: MPI_Offset,
    sizes: *const c_int,
    subsizes: *const c_int,
    starts: *const c_int,
    npairs: *mut MPI_Offset,
    offs: *mut *mut MPI_Offset,
    lens: *mut *mut MPI_Offset,
) -> c_int {
    let mut out_of_memory = false;
    // SAFETY: the caller's promises: arrays of `ndims` elements, and three places to be written.
    let code = status("GIO_flatten_subarray", || unsafe {
        if ndims == 0 {
            return Ok(());
        }
        let dimensions = usize::try_from(ndims).map_err(|_| Error::argument("ndims", ndims, "0 or more"))?;
        let missing = [sizes, subsizes, starts].iter().any(|array| array.is_null());
        if missing || npairs.is_null() || offs.is_null() || lens.is_null() {
            return Err(Error::argument("arrays of the subarray", "NULL", "arrays, and places for the list"));
        }
        let array = |at: *const c_int| std::slice::from_raw_parts(at, dimensions);
        let rows = SubarrayRows::new(esize, disp, array(sizes), array(subsizes), array(starts))?;
        // malloc(0) may return NULL.
        let room = |count: usize| libc::calloc(count.max(1), size_of::<MPI_Offset>()).cast::<MPI_Offset>();
        let (offsets, lengths) = (room(rows.count), room(rows.count));
        if offsets.is_null() || lengths.is_null() {
            libc::free(offsets.cast());
            libc::free(lengths.cast());
            out_of_memory = true;
            return Ok(());
        }
        let both = (0..).zip(rows.offsets());
        both.for_each(|(at, offset): (usize, MPI_Offset)| {
            offsets.add(at).write(offset);
            lengths.add(at).write(rows.len);
        });
        (*npairs, *offs, *lens) = (rows.count as MPI_Offset, offsets, lengths);
        Ok(())
    });
    if out_of_memory { ENOMEM } else { code }
}

/// The rows of a subarray, which are contiguous pieces of the array.
struct SubarrayRows {
    /// Number of rows.
    count: usize,
    /// Number of bytes of each row.
    len: MPI_Offset,
    first: MPI_Offset,
    /// For every dimension but the last: number of rows, and number of bytes from the start of a row to the start of the next.
    steps: Vec<(MPI_Offset, MPI_Offset)>,
}

impl SubarrayRows {
    /// # Errors
    /// A number is negative, the subarray is not inside the array, or the array ends beyond 2^63 - 1.
    fn new(esize: c_int, disp: MPI_Offset, sizes: &[c_int], parts: &[c_int], starts: &[c_int]) -> Result<Self> {
        let too_far = || Error::argument("subarray", "an array of 2^63 bytes or more", "fewer");
        let (mut stride, mut first, mut count) = (i128::from(esize), i128::from(disp), 1usize);
        let mut steps = Vec::new();
        let last = sizes.len() - 1;
        for (dimension, ((&size, &part), &start)) in sizes.iter().zip(parts).zip(starts).enumerate().rev() {
            if size < 0 || part < 0 || start < 0 || i64::from(start) + i64::from(part) > i64::from(size) {
                let given = format!("{part} from {start} on, of {size}, in dimension {dimension}");
                return Err(Error::argument("subarray", given, "a part that is inside the array"));
            }
            first += i128::from(start) * stride;
            if dimension < last {
                let step = MPI_Offset::try_from(stride).map_err(|_| too_far())?;
                steps.insert(0, (MPI_Offset::from(part), step));
                count = count.checked_mul(part as usize).ok_or_else(too_far)?;
            }
            stride = stride.checked_mul(i128::from(size)).ok_or_else(too_far)?;
        }
        if esize < 0 || disp < 0 || stride + i128::from(disp) > i128::from(MPI_Offset::MAX) {
            let given = format!("elements of {esize} bytes, from {disp} on");
            return Err(Error::argument("subarray", given, "0 or more, and an end of at most 2^63 - 1"));
        }
        let len = MPI_Offset::from(parts[last]) * MPI_Offset::from(esize);
        Ok(Self { count, len, first: first as MPI_Offset, steps })
    }

    fn offsets(&self) -> impl Iterator<Item = MPI_Offset> + '_ {
        (0..self.count as MPI_Offset).map(|row| {
            let (mut left, mut offset) = (row, self.first);
            for &(rows, step) in self.steps.iter().rev() {
                offset += left % rows * step;
                left /= rows;
            }
            offset
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(sizes: &[c_int], parts: &[c_int], starts: &[c_int]) -> Vec<(MPI_Offset, MPI_Offset)> {
        let rows = SubarrayRows::new(4, 100, sizes, parts, starts).unwrap();
        rows.offsets().map(|offset| (offset, rows.len)).collect()
    }

    #[test]
    fn a_pair_for_each_row() {
        assert_eq!(rows(&[10], &[3], &[2]), [(108, 12)]);
        assert_eq!(rows(&[5, 10], &[2, 3], &[1, 2]), [(148, 12), (188, 12)]);
        let cube = rows(&[2, 3, 4], &[2, 2, 1], &[0, 1, 3]);
        assert_eq!(cube, [(128, 4), (144, 4), (176, 4), (192, 4)]);
        assert!(rows(&[5, 10], &[0, 3], &[1, 2]).is_empty());
    }

    #[test]
    fn what_is_outside_is_refused() {
        assert!(SubarrayRows::new(4, 0, &[5], &[3], &[3]).is_err());
        assert!(SubarrayRows::new(4, 0, &[5], &[-1], &[0]).is_err());
        assert!(SubarrayRows::new(-4, 0, &[5], &[1], &[0]).is_err());
        assert!(SubarrayRows::new(4, 0, &[c_int::MAX; 9], &[1; 9], &[0; 9]).is_err());
    }
}
