//! The layout of control words in shared memory: structs of atomic integers. Ranks on different cores change the
//! integers at any time, so all other types are forbidden there.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Number of the layout of all shared memory. Processes with different numbers share no memory, and open no file
/// together. Raise it with each change of a struct or an offset in shared memory.
pub const MEMORY_LAYOUT: u64 = 1;

/// Number of bytes of a cache line.
pub const LINE: usize = 64;

/// A type that may be laid over shared memory ([`SharedMemory::get`](super::SharedMemory::get)).
///
/// # Safety
/// The type is an atomic integer, or has only such fields, in the order of C. All bytes are a value of the type.
pub unsafe trait Shareable: Sync {}

// SAFETY: an atomic integer.
unsafe impl Shareable for AtomicU32 {}
// SAFETY: an atomic integer.
unsafe impl Shareable for AtomicU64 {}
// SAFETY: only elements that may be laid over shared memory.
unsafe impl<T: Shareable, const N: usize> Shareable for [T; N] {}

/// A value on cache lines of its own, so that changes of it slow down no rank that uses another value.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Line<T>(T);

const _: () = assert!(align_of::<Line<u8>>() == LINE);

// SAFETY: only a value that may be laid over shared memory; nobody accesses the bytes after it.
unsafe impl<T: Shareable> Shareable for Line<T> {}

impl<T> Deref for Line<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Defines a struct that may be laid over shared memory. It does not compile if a field has a type that may not.
macro_rules! shareable {
    ($(#[$about:meta])* $seen:vis struct $name:ident { $($(#[$of_field:meta])* $field_seen:vis $field:ident: $type:ty,)+ }) => {
        $(#[$about])*
        #[repr(C)]
        $seen struct $name {
            $($(#[$of_field])* $field_seen $field: $type,)+
        }

        const _: () = {
            const fn may_be_shared<T: $crate::fabric::shared::Shareable>() {}
            $(may_be_shared::<$type>();)+
        };

        // SAFETY: in the order of C, and each field may be laid over shared memory.
        unsafe impl $crate::fabric::shared::Shareable for $name {}
    };
}

pub(crate) use shareable;

#[cfg(test)]
mod tests {
    use super::*;

    shareable! {
        struct Pair {
            first: AtomicU32,
            second: AtomicU64,
        }
    }

    #[test]
    fn values_on_lines_share_no_cache_line() {
        let lines = [const { Line(Pair { first: AtomicU32::new(1), second: AtomicU64::new(2) }) }; 3];
        assert_eq!(size_of_val(&lines), 3 * LINE);
        assert_eq!((lines[2].first.as_ptr().addr() - lines[0].first.as_ptr().addr()) % LINE, 0);
        assert_eq!(lines[1].second.as_ptr().addr() - lines[1].first.as_ptr().addr(), 8);
    }
}
