//! An argument of a call, before anybody knows what it is.
//!
//! Every argument of an `MPI_File_*` function is an integer or a pointer of at most 64 bits, and there are at most six of
//! them: on the machines of this field each travels in a register of its own. Taken as a word and handed on as a word, a
//! call passes through unharmed whatever the MPI library.

use std::ffi::c_int;
use std::mem::{MaybeUninit, size_of};

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!("handles and arguments of MPI are taken as 64-bit little-endian words");

/// A register's worth of argument, or of result.
pub type Word = usize;

/// A type that is the same in every MPI library. (Handles are not: they have an `of` that knows their width.)
pub trait Plain: Copy {}

impl Plain for c_int {}
impl Plain for i64 {}

/// What a word says, read as a `T`: its low bytes.
///
/// # Safety
/// The caller was given a `T` in this place, and any bits that it may hold are a `T`.
pub unsafe fn from_word<T: Plain>(word: Word) -> T {
    const { assert!(size_of::<T>() <= size_of::<Word>()) };
    // SAFETY: T is not larger, and little-endian words hold small values in front; the caller promises the type.
    unsafe { (&raw const word).cast::<T>().read_unaligned() }
}

/// A value as a word.
pub fn to_word<T: Plain>(value: T) -> Word {
    const { assert!(size_of::<T>() <= size_of::<Word>()) };
    let mut word = MaybeUninit::<Word>::zeroed();
    // SAFETY: T is not larger; the bytes behind it are zero.
    unsafe {
        word.as_mut_ptr().cast::<T>().write_unaligned(value);
        word.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hold_what_they_are_given() {
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
