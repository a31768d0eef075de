//! Frames: bytes with their length before them, in a slot of shared memory or in a message. A reader of a frame
//! recognises a message that was cut.

/// Number of bytes of the length.
pub const LENGTH: usize = 8;

/// Memory that a value is encoded into.
pub struct Encoder<'a> {
    memory: &'a mut [u8],
    len: usize,
}

impl Encoder<'_> {
    /// Returns the number of bytes that still fit.
    pub fn room(&self) -> usize {
        self.memory.len() - self.len
    }

    /// Returns the next `len` bytes, to be written. Their contents are undefined.
    ///
    /// # Panics
    /// If they do not fit.
    #[inline]
    pub fn next(&mut self, len: usize) -> &mut [u8] {
        let from = self.len;
        self.len += len;
        &mut self.memory[from..from + len]
    }

    /// Adds bytes.
    ///
    /// # Panics
    /// If they do not fit.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.next(bytes.len()).copy_from_slice(bytes);
    }

    /// Adds a little-endian integer of 8 bytes.
    ///
    /// # Panics
    /// If it does not fit.
    #[inline]
    pub fn word(&mut self, word: u64) {
        self.bytes(&word.to_le_bytes());
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

/// Returns the bytes of the frame at the start of `place`, which may be longer. The length is bounded in case another
/// process damaged it.
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

/// Returns the little-endian integers of 8 bytes in `bytes`.
pub fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
}
