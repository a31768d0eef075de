//! A file of any size that takes no space: its bytes repeat with a known period. Bytes that are written are compared
//! with these, and reads return them.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tributary::Mode;
use tributary::storage::{OpenStorage, Storage};

/// Length of the period in bytes: not a power of two, so that a shift by one is detected.
pub const PERIOD: usize = (1 << 20) - 3;

/// Returns the byte at `offset`.
pub fn value(offset: u64) -> u8 {
    ((offset % PERIOD as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Returns two periods of bytes, so that any part of one period's length is a slice.
pub fn two_periods() -> Vec<u8> {
    (0..2 * PERIOD as u64).map(value).collect()
}

/// Returns true if `bytes` are the bytes at `offset`. `periods` is the result of [`two_periods`].
pub fn same(periods: &[u8], bytes: &[u8], offset: u64) -> bool {
    let mut at = offset;
    bytes.chunks(PERIOD).all(|part| {
        let from = (at % PERIOD as u64) as usize;
        at += part.len() as u64;
        part == &periods[from..from + part.len()]
    })
}

/// The file: two periods of bytes, the file's size, and the numbers of bytes that were written and read.
#[derive(Clone)]
pub struct Periodic(Arc<(Vec<u8>, u64, AtomicU64, AtomicU64)>);

impl Periodic {
    /// Creates a file of `size` bytes.
    pub fn new(size: u64) -> Self {
        Self(Arc::new((two_periods(), size, AtomicU64::new(0), AtomicU64::new(0))))
    }

    /// Returns the number of bytes that have been written.
    pub fn written(&self) -> u64 {
        self.0.2.load(Ordering::SeqCst)
    }

    /// Returns the number of bytes that have been read.
    pub fn read(&self) -> u64 {
        self.0.3.load(Ordering::SeqCst)
    }
}

impl OpenStorage for Periodic {
    fn open(&self, _: &Path, _: Mode) -> io::Result<Box<dyn Storage>> {
        Ok(Box::new(self.clone()))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        self.open(path, Mode::Update)
    }
}

impl Storage for Periodic {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if !same(&self.0.0, bytes, offset) {
            return Err(io::Error::other("other bytes than the file has"));
        }
        self.0.2.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        Ok(bytes.len())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut at = offset;
        let len = self.0.1.saturating_sub(offset).min(bytes.len() as u64) as usize;
        for part in bytes[..len].chunks_mut(PERIOD) {
            let from = (at % PERIOD as u64) as usize;
            part.copy_from_slice(&self.0.0[from..from + part.len()]);
            at += part.len() as u64;
        }
        self.0.3.fetch_add(len as u64, Ordering::SeqCst);
        Ok(len)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.1)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::Error::other("a file that is not stored has the size it has"))
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
