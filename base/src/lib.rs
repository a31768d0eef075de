//! Types that all crates of Tributary use: ranks and nodes, extents of a file, errors.
//!
//! | module | holds |
//! |---|---|
//! | [`error`] | [`Error`]: the causes of errors, the same on every rank |
//! | [`topology`] | [`Topology`]: the node of each rank |
//! | [`calls`] | [`CallGroups`](calls::CallGroups): ranks that are in different collective calls |
//! | [`Extent`] | a range of bytes of a file |
//! | [`fingerprint()`] | a hash of bytes, the same in every build |
//! | [`say()`] | prints a line on standard error |
//! | [`memo`] | a cache of answers that take long to get |
//! | [`wire`] | the one encoding of values, for messages between ranks and for captures |
//! | [`is_disabled`] | returns true if `TRIB_DISABLE` switches the library off |
//! | [`variable`] | reads a variable of the environment, unless the program has more rights than its user |

pub mod calls;
pub mod error;
pub mod memo;
pub mod topology;
mod variables;
pub mod wire;

pub use error::{Error, Result};
pub use topology::{Node, Rank, Topology};
pub use variables::{has_more_rights, is_disabled, job, variable, variables};

use std::fmt::Display;
use std::io::Write;

/// A range of bytes of a file. Every extent that the library returns ends below 2^63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Extent {
    /// Offset of the first byte, in bytes.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Extent {
    /// Returns the offset past the last byte of the extent.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset + self.len
    }
}

/// Prints `tributary: ` and the text as one line on standard error, with one write(2), so that lines of several ranks do not mix.
/// Ignores errors of standard error. Local.
pub fn say(text: impl Display) {
    let line = format!("tributary: {text}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Mixes the bits of a number, so that a change of one bit changes about half of the result's bits (the mixer of SplitMix64).
#[inline]
pub fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Returns a hash of the parts. The hash almost certainly differs if the bytes or their division into parts differ, and is the
/// same in every build. (The hashes of the standard library may differ between versions.) O(bytes).
pub fn fingerprint<T: AsRef<[u8]>>(parts: impl IntoIterator<Item = T>) -> u64 {
    parts.into_iter().fold(0, |all, part| {
        let bytes = part.as_ref();
        let integers = bytes.chunks(8).map(|chunk| {
            let mut integer = [0; 8];
            integer[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(integer)
        });
        std::iter::once(bytes.len() as u64).chain(integers).fold(all, |all, integer| {
            // The odd number (2^64 by the golden ratio) keeps zeros from vanishing.
            mixed(all.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ integer)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_their_division_count() {
        let all = [
            fingerprint::<&str>([]),
            fingerprint([""]),
            fingerprint(["", ""]),
            fingerprint(["a"]),
            fingerprint(["a\0"]),
            fingerprint(["", "a"]),
            fingerprint(["ab", "c"]),
            fingerprint(["a", "bc"]),
            fingerprint(["abcdefgh", "i"]),
            fingerprint(["abcdefghi"]),
        ];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }

    /// Ranks of different builds compare these numbers, so the definition must not change.
    #[test]
    fn the_definition_stays() {
        assert_eq!(fingerprint(["Tributary", "a file"]), 11_523_180_051_927_311_267);
    }
}
