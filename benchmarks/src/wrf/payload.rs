//! Makes the contents of a replay's messages: slices of one buffer, so that 126 GiB need no copying.
//!
//! The words of the buffer are hashes of their position, and a message begins at a word that depends on its round,
//! sender and receiver. So the first and last 8 bytes of a message show whether it is the right one.

use bytes::Bytes;
use tributary::Rank;

use crate::value::{fill_bytes, splitmix64};

/// Number of words of the buffer at which a message may begin.
const PLACES: u64 = 1 << 13;
/// Number of bytes that are checked at each end of a message.
const STAMP: usize = 8;

/// The buffer of all messages; clones share it.
#[derive(Debug, Clone)]
pub(super) struct Payload(Bytes);

impl Payload {
    /// Creates the buffer for messages of up to `largest` bytes.
    pub fn new(largest: u64) -> Self {
        let mut bytes = vec![0; ((PLACES - 1) * 8 + largest) as usize];
        fill_bytes(0, 0, &mut bytes);
        Self(bytes.into())
    }

    /// Returns the message of `len` bytes from rank `from` to rank `to` in `round`. `len` must not exceed the largest
    /// message.
    pub fn message(&self, round: usize, from: Rank, to: Rank, len: u64) -> Bytes {
        let ends = splitmix64(splitmix64(from as u64) ^ to as u64);
        let start = (splitmix64(ends ^ round as u64) % PLACES * 8) as usize;
        self.0.slice(start..start + len as usize)
    }

    /// Returns true if `message` has the length and the bytes at both ends that the message from `from` to `to` in
    /// `round` must have.
    pub fn is_message(&self, message: &[u8], round: usize, from: Rank, to: Rank, len: u64) -> bool {
        if message.len() as u64 != len {
            return false;
        }
        let expected = self.message(round, from, to, len);
        let stamp = message.len().min(STAMP);
        message[..stamp] == expected[..stamp] && message[message.len() - stamp..] == expected[expected.len() - stamp..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_round_or_end_is_another_message() {
        let payload = Payload::new(100);
        let message = payload.message(3, 4, 5, 100);
        assert!(payload.is_message(&message, 3, 4, 5, 100));
        for (round, from, to) in [(2, 4, 5), (3, 5, 4), (3, 4, 6), (3, 0, 5)] {
            assert!(!payload.is_message(&message, round, from, to, 100), "{round}, {from}, {to}");
        }
        assert!(!payload.is_message(&message[..99], 3, 4, 5, 100));
        assert!(!payload.is_message(&message, 3, 4, 5, 99));
        let mut damaged = message.to_vec();
        damaged[99] ^= 1;
        assert!(!payload.is_message(&damaged, 3, 4, 5, 100));
        assert!(payload.is_message(&[], 3, 4, 5, 0));
    }
}
