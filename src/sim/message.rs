//! Messages under way or waiting, in one slab for all ranks.

use super::program::Handle;

/// Index of a message in its [`Slab`].
pub(super) type Id = u32;
/// No message.
pub(super) const NONE: Id = Id::MAX;

/// What a message is for.
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
    /// A send is finished: its message was matched, its connection was made, or its bytes have left.
    SendFinished,
}

/// A message; `to` is where its present leg ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    pub(super) bytes: u64,
    pub(super) from: u32,
    pub(super) to: u32,
    /// The sender's operation.
    pub(super) send: Handle,
    /// The receiver's operation, once it is known.
    pub(super) receive: Handle,
    /// The next of a backlog.
    pub(super) next: Id,
    pub(super) stage: u8,
    pub(super) kind: Kind,
    pub(super) synchronous: bool,
    /// Whether it is the first between its ranks.
    pub(super) connects: bool,
}

impl Message {
    /// The same on its way back.
    pub(super) fn returned(self, kind: Kind) -> Self {
        Self { from: self.to, to: self.from, kind, ..self }
    }
}

/// All messages there are.
#[derive(Debug, Default)]
pub(super) struct Slab {
    messages: Vec<Message>,
    free: Vec<Id>,
}

impl Slab {
    #[inline]
    pub(super) fn add(&mut self, message: Message) -> Id {
        match self.free.pop() {
            Some(id) => {
                self.messages[id as usize] = message;
                id
            }
            None => {
                self.messages.push(message);
                self.messages.len() as Id - 1
            }
        }
    }

    #[inline]
    pub(super) fn get(&self, id: Id) -> &Message {
        &self.messages[id as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: Id) -> &mut Message {
        &mut self.messages[id as usize]
    }

    #[inline]
    pub(super) fn remove(&mut self, id: Id) {
        self.free.push(id);
    }

    /// The most messages that were there at a time.
    pub(super) fn peak(&self) -> usize {
        self.messages.len()
    }
}

/// Messages that wait for the rank, first come first served.
#[derive(Debug)]
pub(super) struct Backlog {
    first: Id,
    last: Id,
}

impl Backlog {
    pub(super) const EMPTY: Self = Self { first: NONE, last: NONE };

    #[inline]
    pub(super) fn push(&mut self, slab: &mut Slab, id: Id) {
        slab.get_mut(id).next = NONE;
        if self.first == NONE {
            self.first = id;
        } else {
            slab.get_mut(self.last).next = id;
        }
        self.last = id;
    }

    #[inline]
    pub(super) fn pop(&mut self, slab: &Slab) -> Option<Id> {
        let id = self.first;
        if id == NONE {
            return None;
        }
        self.first = slab.get(id).next;
        Some(id)
    }
}
