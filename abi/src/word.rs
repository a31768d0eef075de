//! Passes arguments of a call whose types are not known.
//!
//! An `MPI_File_*` function has at most six arguments, each an integer or a pointer of at most 64 bits. On the supported
//! machines each is passed in its own register. So a call of any MPI library can be passed on unchanged, with each argument as
//! a [`Word`].

use std::ffi::c_int;
use std::mem::{MaybeUninit, size_of};

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!(
    "only machines with 64-bit little-endian registers are supported: MPI's handles and arguments are passed as such"
);

/// An argument or a result of a function, as it lies in a register.
pub type Word = usize;

/// A type that has the same size in every MPI library. Handles do not, so they have a `from_word` of their own.
pub trait Plain: Copy {}

impl Plain for c_int {}
impl Plain for i64 {}

/// Reads the low bytes of a word as a `T`.
///
/// # Safety
/// The word came from an argument of type `T`, for which all bits are valid.
pub unsafe fn from_word<T: Plain>(word: Word) -> T {
    const { assert!(size_of::<T>() <= size_of::<Word>()) };
    // SAFETY: T is not larger than a word, whose low bytes come first; the caller promises the type.
    unsafe { (&raw const word).cast::<T>().read_unaligned() }
}

/// Returns a word with `value` in its low bytes and zeros in the others.
pub fn to_word<T: Plain>(value: T) -> Word {
    const { assert!(size_of::<T>() <= size_of::<Word>()) };
    let mut word = MaybeUninit::<Word>::zeroed();
    // SAFETY: T is not larger; the bytes after it are zero.
    unsafe {
        word.as_mut_ptr().cast::<T>().write_unaligned(value);
        word.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_trip_through_words() {
        // SAFETY: the types are those that went in.
        unsafe {
            assert_eq!(from_word::<i32>(to_word(-5i32)), -5);
            assert_eq!(from_word::<i64>(to_word(-5i64)), -5);
            assert_eq!(
                from_word::<i32>(0xffff_ffff_0000_0007),
                7,
                "what a caller leaves in the upper half is not looked at"
            );
        }
    }
}
