//! Simulated messages: under way in the event queue, or waiting in a backlog or a matching queue.

use super::matching::MatchKey;
use super::program::Handle;

/// Kind of a message in the protocol between two ranks.
///
/// Not an enum: the compiler would hide the tag of an `Option<Message>` in it, and copy such options in pieces, for
/// which the processor waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind(u8);

impl Kind {
    /// Envelope and bytes of an eager message.
    pub(super) const EAGER: Self = Self(0);
    /// Envelope of a message whose bytes wait for the receiver (rendezvous).
    pub(super) const REQUEST_TO_SEND: Self = Self(1);
    /// Answer to a request to send: the receiver is ready.
    pub(super) const CLEAR_TO_SEND: Self = Self(2);
    /// Bytes of a message, sent after the receiver was ready.
    pub(super) const DATA: Self = Self(3);
}

/// Part of its path that a message completes next, or what an event is about that is no message. As [`Kind`], not an
/// enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leg(u8);

impl Leg {
    /// The message was posted, and is at the port of its rank.
    pub(super) const POSTED: Self = Self(0);
    /// The message is under way over links.
    pub(super) const LINKS: Self = Self(1);
    /// The message enters the receiver's node.
    pub(super) const DOOR: Self = Self(2);
    /// The message has reached its rank.
    pub(super) const INSIDE: Self = Self(3);
    /// The processor of a rank is free to process waiting arrivals.
    pub(super) const WAKE: Self = Self(4);
    /// A rank may continue, because some of its sends are finished.
    pub(super) const SETTLE: Self = Self(5);
    /// A file write of a rank's write-behind worker is complete.
    pub(super) const WRITTEN: Self = Self(6);
    /// The port of a node has sent a segment of a message.
    pub(super) const SENT: Self = Self(7);
}

/// Simulated message; 24 bytes, because millions are under way at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    /// Number of bytes of the message; for a clear-to-send, the operation of the receive.
    pub(super) load: u64,
    pub(super) from: u32,
    /// Rank where the current leg ends.
    pub(super) to: u32,
    /// Sender's operation; for [`Kind::DATA`], the receiver's operation.
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
    /// Returns an event that is no message: of rank `to`, or of node `to` for [`Leg::SENT`].
    #[inline]
    pub(super) fn signal(leg: Leg, to: u32) -> Self {
        Self { load: 0, from: to, to, handle: 0, stage: 0, kind: Kind::EAGER, leg, marks: Marks::NONE }
    }

    /// Returns the key of the receives that match this message.
    #[inline]
    pub(super) fn key(&self) -> MatchKey {
        MatchKey { from: self.from, stage: self.stage.into() }
    }

    /// Returns the number of bytes that pass the ports on this leg.
    #[inline]
    pub(super) fn wire_bytes(&self) -> u64 {
        match self.kind {
            Kind::EAGER | Kind::DATA => self.load,
            _ => 0,
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
