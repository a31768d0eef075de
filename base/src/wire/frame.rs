//! A frame is a sequence of bytes with its length in front, in shared memory or in a message. From the length, the
//! receiver recognises a message that was cut short.

use super::{Output, Wire};

/// Size in bytes of the length in front of a frame.
pub const LENGTH: usize = 8;

/// Encodes values into the memory of a frame.
pub struct Encoder<'a> {
    memory: &'a mut [u8],
    len: usize,
}

impl Encoder<'_> {
    /// Returns the number of bytes that the frame still has room for.
    #[inline]
    pub fn room(&self) -> usize {
        self.memory.len() - self.len
    }

    /// Adds a value. For a type of fixed size, checks the room once and not for each field.
    ///
    /// # Panics
    /// If the value does not fit.
    #[inline(always)]
    pub fn put<T: Wire>(&mut self, value: &T) {
        match T::SIZE {
            Some(size) => value.encode(&mut Place(self.next(size))),
            None => value.encode(self),
        }
    }

    /// Returns the next `len` bytes, to be written. Their contents are undefined.
    #[inline(always)]
    fn next(&mut self, len: usize) -> &mut [u8] {
        let from = self.len;
        self.len += len;
        &mut self.memory[from..from + len]
    }
}

/// Adds bytes. Panics if they do not fit.
impl Output for Encoder<'_> {
    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.next(bytes.len()).copy_from_slice(bytes);
    }

    #[inline]
    fn zeros(&mut self, count: usize) {
        self.next(count).fill(0);
    }
}

/// Memory for one value, with room for exactly the bytes of its encoding.
struct Place<'a>(&'a mut [u8]);

impl Place<'_> {
    /// Returns the next `len` bytes, to be written; None if fewer are left.
    #[inline(always)]
    fn next(&mut self, len: usize) -> Option<&mut [u8]> {
        let (next, rest) = std::mem::take(&mut self.0).split_at_mut_checked(len)?;
        self.0 = rest;
        Some(next)
    }
}

impl Output for Place<'_> {
    #[inline(always)]
    fn bytes(&mut self, bytes: &[u8]) {
        if let Some(next) = self.next(bytes.len()) {
            next.copy_from_slice(bytes);
        }
    }

    #[inline(always)]
    fn zeros(&mut self, count: usize) {
        if let Some(next) = self.next(count) {
            next.fill(0);
        }
    }
}

/// Writes a frame at the start of `place`; `encode` encodes its bytes. Returns the length of the frame.
#[inline]
pub fn put(place: &mut [u8], encode: impl FnOnce(&mut Encoder<'_>)) -> usize {
    let (length, memory) = place.split_at_mut(LENGTH);
    let mut encoder = Encoder { memory, len: 0 };
    encode(&mut encoder);
    length.copy_from_slice(&(encoder.len as u64).to_le_bytes());
    LENGTH + encoder.len
}

/// Returns the bytes of the frame at the start of `place`. If another process damaged the length, still returns bytes
/// of `place` only.
#[inline]
pub fn get(place: &[u8]) -> &[u8] {
    let Some((length, bytes)) = place.split_first_chunk::<LENGTH>() else { return &[] };
    &bytes[..(u64::from_le_bytes(*length) as usize).min(bytes.len())]
}

/// Returns true if `message` is one whole frame.
pub fn is_whole(message: &[u8]) -> bool {
    let length = message.split_first_chunk::<LENGTH>().map(|(length, _)| u64::from_le_bytes(*length));
    length.is_some_and(|length| length == (message.len() - LENGTH) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::take;

    #[test]
    fn a_frame_has_the_bytes_of_its_values() {
        let mut memory = [0xff; 64];
        let values = (Some(7u64), (None::<u32>, [1u64, 2]));
        let len = put(&mut memory, |out| {
            out.put(&values);
            out.put(&vec![3u8]);
        });
        assert_eq!(len, LENGTH + 9 + 9 + 16 + 9);
        let mut bytes = get(&memory);
        assert!(is_whole(&memory[..len]) && !is_whole(&memory[..len - 1]));
        assert_eq!((take(&mut bytes), take(&mut bytes)), (Some(values), Some(vec![3u8])));
        assert!(bytes.is_empty() && get(&[]).is_empty());
    }
}
