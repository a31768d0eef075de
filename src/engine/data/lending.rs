//! Messages that lie in the caller's memory. What a rank sends to an aggregator in a round is often one piece of it: a program,
//! or the library above, packs its data before it writes them. Such a message needs no copy and no new pages.

use std::sync::Arc;

use crate::access::{Extent, Source};
use crate::fabric::Message;

/// A shorter piece is packed: that costs less than a message with memory of its own.
const SHORTEST: u64 = 4 << 10;

/// Lends pieces of the caller's memory to messages, until it is dropped.
pub struct Lender<'a> {
    source: Source<'a>,
    /// One count for this lender and one for each message.
    lent: Arc<()>,
}

impl<'a> Lender<'a> {
    /// Lends from `source`.
    ///
    /// # Safety
    /// The lender is dropped before `'a` ends.
    pub unsafe fn new(source: Source<'a>) -> Self {
        Self { source, lent: Arc::default() }
    }

    /// The piece as a message, if it is long enough.
    pub fn lend(&self, piece: Extent) -> Option<Message> {
        let bytes = (piece.len >= SHORTEST).then(|| self.source.piece(piece.offset, piece.len))?;
        // SAFETY: the drop of the lender, which comes before the memory ends, makes sure that no message is left.
        let bytes = unsafe { std::mem::transmute::<&'a [u8], &'static [u8]>(bytes) };
        Some(Message::from_owner(Lent { bytes, _lent: self.lent.clone() }))
    }
}

impl Drop for Lender<'_> {
    fn drop(&mut self) {
        if Arc::strong_count(&self.lent) > 1 {
            // After a panic or an error that ends the job in any case.
            eprintln!("tributary: a call ends while messages are sent from its memory; this process ends with it");
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
