//! Opens files of the operating system, and counts their calls and bytes.

use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tributary::Mode;
use tributary::drivers::FileSystem;
use tributary::storage::{OpenStorage, Storage, SystemFiles};

/// Numbers of calls and bytes of all files of one [`Counted`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// Number of calls that write.
    pub writes: u64,
    /// Number of bytes that these calls wrote.
    pub written: u64,
    /// Number of calls that read.
    pub reads: u64,
    /// Number of bytes that these calls asked for.
    pub read: u64,
}

/// Opens files that count their calls together.
#[derive(Debug, Clone, Default)]
pub struct Counted(Arc<[AtomicU64; 4]>);

struct CountedFile {
    file: Box<dyn Storage>,
    counts: Counted,
}

impl Counted {
    /// Returns the counts since the last call of this function.
    pub fn take(&self) -> Asked {
        let [writes, written, reads, read] = self.0.each_ref().map(|count| count.swap(0, Ordering::SeqCst));
        Asked { writes, written, reads, read }
    }

    fn add(&self, calls: usize, bytes: usize) {
        self.0[calls].fetch_add(1, Ordering::SeqCst);
        self.0[calls + 1].fetch_add(bytes as u64, Ordering::SeqCst);
    }
}

impl OpenStorage for Counted {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        Ok(Box::new(CountedFile { file: SystemFiles.create(path)?, counts: self.clone() }))
    }

    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Storage>> {
        Ok(Box::new(CountedFile { file: SystemFiles.open(path, mode)?, counts: self.clone() }))
    }

    fn file_system(&self, path: &Path) -> Option<FileSystem> {
        SystemFiles.file_system(path)
    }
}

impl Storage for CountedFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let count = self.file.write_at(bytes, offset)?;
        self.counts.add(0, count);
        Ok(count)
    }

    fn write_parts_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let count = self.file.write_parts_at(parts, offset)?;
        self.counts.add(0, count);
        Ok(count)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.counts.add(2, bytes.len());
        self.file.read_at(bytes, offset)
    }

    fn next_data(&self, offset: u64) -> u64 {
        self.file.next_data(offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}
