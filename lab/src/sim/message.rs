//! Messages: in flight in the event queue, or waiting in a backlog or a matching queue.

use super::matching::MatchKey;
use super::program::Handle;

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Envelope and bytes.
    Eager,
    /// The envelope of a message whose bytes wait for the receiver.
    RequestToSend,
    /// The receiver is ready.
    ClearToSend,
    /// The bytes that waited.
    Data,
}

/// The leg of its path that a message completes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leg {
    /// Posted, at the port of its rank.
    Posted,
    /// On its way over links.
    Links,
    /// Entering the receiver's node.
    Door,
    /// With its rank.
    Inside,
}

/// A message; 24 bytes, because millions are in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    /// Its bytes; for a clear-to-send, the receive that it belongs to.
    pub(super) load: u64,
    pub(super) from: u32,
    /// The rank where its current leg ends.
    pub(super) to: u32,
    /// The sender's operation; of [`Kind::Data`], the receiver's.
    pub(super) handle: Handle,
    pub(super) stage: u8,
    pub(super) kind: Kind,
    pub(super) leg: Leg,
    pub(super) marks: Marks,
}

/// Flags of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    pub(super) const NONE: Self = Self(0);
    /// Its send is finished when it is matched (synchronous).
    pub(super) const SYNCHRONOUS: Self = Self(1);
    /// It is the first between its ranks.
    pub(super) const CONNECTS: Self = Self(2);
    /// It goes to another node.
    pub(super) const OUTSIDE: Self = Self(4);
    /// The bits from here on count its hops.
    const HOP: u8 = 8;

    #[inline]
    pub(super) fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    /// Number of links that it has passed: up to 31.
    pub(super) fn hops(self) -> u8 {
        self.0 / Self::HOP
    }

    /// The flags after one more link.
    pub(super) fn hop(self) -> Self {
        Self(self.0 + Self::HOP)
    }

    /// The flags with the count of hops reset.
    pub(super) fn arrived(self) -> Self {
        Self(self.0 % Self::HOP)
    }

    #[inline]
    pub(super) fn with(self, mark: Self, set: bool) -> Self {
        if set { Self(self.0 | mark.0) } else { self }
    }
}

impl Message {
    /// What a receive must have to match.
    #[inline]
    pub(super) fn key(&self) -> MatchKey {
        MatchKey { from: self.from, stage: self.stage }
    }

    /// Bytes of this leg that pass the ports.
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
