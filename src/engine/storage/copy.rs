//! Short copies without a call of memcpy: most pieces of irregular patterns have a few dozen bytes. Copies to memory that
//! other threads write at the same time.

use std::sync::atomic::{AtomicU8, Ordering};

/// Copies bytes to `place`, which must have the same length.
///
/// # Panics
/// If the lengths differ.
#[inline(always)]
pub fn copy_to(place: &mut [u8], bytes: &[u8]) {
    assert_eq!(place.len(), bytes.len(), "bytes for a place of another length");
    // SAFETY: two slices of this length, one of them borrowed for writing.
    unsafe { copy(bytes.as_ptr(), place.as_mut_ptr(), bytes.len()) }
}

/// Copies `len` bytes.
///
/// # Safety
/// `from` is valid for reads of `len` bytes, `to` for writes, and they do not overlap. No other thread or process
/// accesses the bytes at `to`, or the result is not used.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: each arm copies within `len` bytes of both: two words that may overlap each other at the ends.
    unsafe {
        match len {
            16..=32 => two::<u128>(from, to, len),
            8..=15 => two::<u64>(from, to, len),
            4..=7 => two::<u32>(from, to, len),
            _ => std::ptr::copy_nonoverlapping(from, to, len),
        }
    }
}

/// Copies the bytes one by one to `to`, as relaxed atomics. If other threads copy other bytes there at the same time, each
/// byte is that of one of them. Slower than [`copy`].
///
/// # Safety
/// `to` is valid for writes of as many bytes. All threads that write them at the same time do it by this function, and no
/// thread reads them meanwhile.
pub unsafe fn copy_atomically(bytes: &[u8], to: *mut u8) {
    for (at, byte) in bytes.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { AtomicU8::from_ptr(to.add(at)) }.store(*byte, Ordering::Relaxed);
    }
}

/// Copies the first and the last word of `len` bytes.
///
/// # Safety
/// The same as for [`copy`]; `len` is from one to two words.
#[inline(always)]
unsafe fn two<W: Copy>(from: *const u8, to: *mut u8, len: usize) {
    let last = len - size_of::<W>();
    // SAFETY: the caller's promise; unaligned words.
    unsafe {
        let (head, tail) = (from.cast::<W>().read_unaligned(), from.add(last).cast::<W>().read_unaligned());
        to.cast::<W>().write_unaligned(head);
        to.add(last).cast::<W>().write_unaligned(tail);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_length_is_copied_whole_and_no_more() {
        let from: Vec<u8> = (1..=200).collect();
        for len in 0..130 {
            for at in 0..3 {
                let mut to = [0u8; 200];
                super::copy_to(&mut to[at + 1..][..len], &from[at..][..len]);
                assert_eq!(to[at + 1..][..len], from[at..][..len]);
                to = [0; 200];
                // SAFETY: both have 200 bytes.
                unsafe { super::copy(from[at..].as_ptr(), to[at + 1..].as_mut_ptr(), len) };
                assert_eq!(to[at + 1..][..len], from[at..][..len]);
                // SAFETY: as before.
                unsafe { super::copy_atomically(&from[at..][..len], to[at + 1..].as_mut_ptr()) };
                assert_eq!(to[at + 1..][..len], from[at..][..len]);
                assert!(to[..at + 1].iter().chain(&to[at + 1 + len..]).all(|&byte| byte == 0));
            }
        }
    }
}
