//! Simulated messages: under way in the event queue, or waiting in a backlog or a matching queue.

use super::matching::Key;
use super::program::Handle;

/// Kind of a message in the protocol between two ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Envelope and bytes of an eager message.
    Eager,
    /// Envelope of a message whose bytes wait for the receiver (rendezvous).
    RequestToSend,
    /// Answer to a request to send: the receiver is ready.
    ClearToSend,
    /// Bytes of a message, sent after the receiver was ready.
    Data,
}

/// Part of its path that a message completes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leg {
    /// The message was posted, and is at the port of its rank.
    Posted,
    /// The message is under way over links.
    Links,
    /// The message enters the receiver's node.
    Door,
    /// The message has reached its rank.
    Inside,
}

/// Simulated message; 24 bytes, because millions are under way at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    /// Number of bytes of the message; for a clear-to-send, the operation of the receive.
    pub(super) load: u64,
    pub(super) from: u32,
    /// Rank where the current leg ends.
    pub(super) to: u32,
    /// Sender's operation; for [`Kind::Data`], the receiver's operation.
    pub(super) handle: Handle,
    pub(super) stage: u8,
    pub(super) kind: Kind,
    pub(super) leg: Leg,
    pub(super) marks: Marks,
}

/// Flags of a message, and the number of links it has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    pub(super) const NONE: Self = Self(0);
    /// The send is finished when the message is matched (synchronous).
    pub(super) const SYNCHRONOUS: Self = Self(1);
    /// The message is the first between its two ranks.
    pub(super) const CONNECTS: Self = Self(2);
    /// The message goes to another node.
    pub(super) const OUTSIDE: Self = Self(4);
    /// Lowest bit of the count of links.
    const HOP: u8 = 8;

    #[inline]
    pub(super) fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    /// Returns the number of links that the message has passed: up to 31.
    pub(super) fn hops(self) -> u8 {
        self.0 / Self::HOP
    }

    /// Returns the flags after one more link.
    pub(super) fn hop(self) -> Self {
        Self(self.0 + Self::HOP)
    }

    /// Returns the flags with the count of hops reset.
    pub(super) fn arrived(self) -> Self {
        Self(self.0 % Self::HOP)
    }

    #[inline]
    pub(super) fn with(self, mark: Self, set: bool) -> Self {
        if set { Self(self.0 | mark.0) } else { self }
    }
}

impl Message {
    /// Returns the key of the receives that match this message.
    #[inline]
    pub(super) fn key(&self) -> Key {
        Key { from: self.from, stage: self.stage }
    }

    /// Returns the number of bytes that pass the ports on this leg.
    #[inline]
    pub(super) fn wire_bytes(&self) -> u64 {
        match self.kind {
            Kind::Eager | Kind::Data => self.load,
            Kind::RequestToSend | Kind::ClearToSend => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_message_takes_24_bytes() {
        assert_eq!(size_of::<super::Message>(), 24);
    }
}
