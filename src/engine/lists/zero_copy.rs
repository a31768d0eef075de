//! Zero-copy sends: messages that lie in the caller's memory. A rank's data for an aggregator in one round is often
//! contiguous there, because the program, or a library such as PnetCDF, packs data before it writes. Such a message
//! needs no copy and no new pages. The same holds for an aggregator's own pieces, if it writes a window directly from
//! pieces.

use std::sync::Arc;

use crate::access::{Extent, Source};
use crate::engine::policy::WORTH_ZERO_COPY;
use crate::fabric::Message;

/// Makes messages of pieces of the caller's memory. All messages must be gone when this is dropped.
pub struct ZeroCopySends<'a> {
    source: Source<'a>,
    /// Has one reference for this struct and one for each message.
    lent: Arc<()>,
}

impl<'a> ZeroCopySends<'a> {
    /// Returns zero-copy sends of pieces of `source`.
    ///
    /// # Safety
    /// The returned value is dropped before `'a` ends.
    pub unsafe fn new(source: Source<'a>) -> Self {
        Self { source, lent: Arc::default() }
    }

    /// Returns the piece as a message, if it is long enough to be worth it.
    pub fn message_in_place(&self, piece: Extent) -> Option<Message> {
        (piece.len >= WORTH_ZERO_COPY).then(|| self.message_of(piece))
    }

    /// Returns the piece as a message, of any length.
    pub fn message_of(&self, piece: Extent) -> Message {
        let bytes = self.source.piece(piece.offset, piece.len);
        // SAFETY: the drop of `self`, which comes before the memory ends, makes sure that no message is left.
        let bytes = unsafe { std::mem::transmute::<&'a [u8], &'static [u8]>(bytes) };
        Message::from_owner(Lent { bytes, _lent: self.lent.clone() })
    }
}

impl Drop for ZeroCopySends<'_> {
    fn drop(&mut self) {
        if Arc::strong_count(&self.lent) > 1 {
            // This happens only after a panic or an error that ends the job anyway.
            crate::say(format_args!("a call ended while its memory was still sent or written; this process aborts"));
            std::process::abort();
        }
    }
}

struct Lent {
    bytes: &'static [u8],
    _lent: Arc<()>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_piece_is_lent_where_it_lies() {
        let memory: Vec<u8> = (0..9000).map(|at| at as u8).collect();
        // SAFETY: it is dropped in this function, after its messages.
        let zero_copy = unsafe { ZeroCopySends::new(Source::from(&memory[..])) };
        let message = zero_copy.message_in_place(Extent { offset: 100, len: WORTH_ZERO_COPY }).unwrap();
        assert_eq!((message.as_ptr(), message.len() as u64), (memory[100..].as_ptr(), WORTH_ZERO_COPY));
        assert_eq!(Arc::strong_count(&zero_copy.lent), 2);
        assert!(zero_copy.message_in_place(Extent { offset: 100, len: WORTH_ZERO_COPY - 1 }).is_none());
        let part = message.slice(10..20);
        drop(message);
        assert_eq!(Arc::strong_count(&zero_copy.lent), 2, "a part of the message is still there");
        drop(part);
        assert_eq!(Arc::strong_count(&zero_copy.lent), 1);
    }
}
