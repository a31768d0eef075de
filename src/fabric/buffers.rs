//! Plain memory for small collectives: named buffers that are vectors of bytes.

use std::collections::HashMap;

use super::Message;
use super::execute::{Memory, check_whole};
use crate::error::Result;
use crate::schedule::{Buffer, ReduceOp, Span};
use crate::topology::Rank;

/// Memory of small collectives: every named buffer is a vector of bytes, which grows as needed.
#[derive(Debug, Default)]
pub struct Buffers {
    buffers: HashMap<Buffer, Vec<u8>>,
    /// True if a message that is shorter than its span is an error.
    is_exact: bool,
}

impl Buffers {
    /// Returns buffers in which a message must be as long as its span.
    pub fn exact() -> Self {
        Self { is_exact: true, ..Self::default() }
    }

    /// Returns the contents of a buffer.
    pub fn get(&self, buffer: Buffer) -> &[u8] {
        self.buffers.get(&buffer).map_or(&[], Vec::as_slice)
    }

    /// Removes a buffer and returns its contents.
    pub fn take(&mut self, buffer: Buffer) -> Vec<u8> {
        self.buffers.remove(&buffer).unwrap_or_default()
    }

    /// Sets the contents of a buffer.
    pub fn set(&mut self, buffer: Buffer, bytes: Vec<u8>) {
        self.buffers.insert(buffer, bytes);
    }

    fn slice(&mut self, span: Span, len: usize) -> &mut [u8] {
        let buffer = self.buffers.entry(span.buffer).or_default();
        let from = span.offset as usize;
        if buffer.len() < from + len {
            buffer.resize(from + len, 0);
        }
        &mut buffer[from..from + len]
    }
}

impl Memory for Buffers {
    fn read(&mut self, span: Span) -> Result<Message> {
        Ok(Message::copy_from_slice(self.slice(span, span.len as usize)))
    }

    fn write(&mut self, from: Rank, span: Span, message: Message) -> Result<()> {
        if self.is_exact {
            check_whole(from, span, &message)?;
        }
        self.slice(span, message.len()).copy_from_slice(&message);
        Ok(())
    }

    fn copy(&mut self, from: Span, to: Span) -> Result<()> {
        let bytes = self.slice(from, from.len as usize).to_vec();
        self.slice(to, bytes.len()).copy_from_slice(&bytes);
        Ok(())
    }

    fn reduce(&mut self, from: Span, to: Span, with: ReduceOp) -> Result<()> {
        let other = self.slice(from, to.len as usize).to_vec();
        let target = self.slice(to, to.len as usize);
        for (value, other) in target.chunks_exact_mut(8).zip(other.chunks_exact(8)) {
            let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
            let combined = with.apply(word(value), word(other));
            value.copy_from_slice(&combined.to_le_bytes());
        }
        Ok(())
    }
}
