//! Runs the conformance suite as other projects call it, on a storage in memory that uses only the interface.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tributary::Mode;
use tributary::storage::{OpenStorage, Storage};
use tributary_testing::conformance;

/// Size of a page in memory, in bytes.
const PAGE: u64 = 4096;

/// The bytes of a file, without pages that nobody wrote: one case begins beyond 2^33.
#[derive(Default)]
struct Pages {
    len: u64,
    pages: HashMap<u64, Vec<u8>>,
}

impl Pages {
    fn write(&mut self, bytes: &[u8], offset: u64) {
        for (byte, at) in bytes.iter().zip(offset..) {
            self.pages.entry(at / PAGE).or_insert_with(|| vec![0; PAGE as usize])[(at % PAGE) as usize] = *byte;
        }
        self.len = self.len.max(offset + bytes.len() as u64);
    }

    fn byte(&self, at: u64) -> u8 {
        self.pages.get(&(at / PAGE)).map_or(0, |page| page[(at % PAGE) as usize])
    }

    fn set_len(&mut self, len: u64) {
        for at in len..self.len.min(len.next_multiple_of(PAGE)) {
            self.write(&[0], at);
        }
        self.pages.retain(|page, _| page * PAGE < len);
        self.len = len;
    }
}

type Bytes = Arc<Mutex<Pages>>;

/// A storage that keeps files in memory.
#[derive(Default)]
pub struct InMemory(Mutex<HashMap<PathBuf, Bytes>>);

impl OpenStorage for InMemory {
    fn open(&self, path: &Path, _: Mode) -> io::Result<Box<dyn Storage>> {
        let found = self.0.lock().unwrap().get(path).cloned();
        Ok(Box::new(FileInMemory(found.ok_or(io::ErrorKind::NotFound)?)))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        Ok(Box::new(FileInMemory(self.0.lock().unwrap().entry(path.to_path_buf()).or_default().clone())))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.lock().unwrap().remove(path).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }
}

struct FileInMemory(Bytes);

impl Storage for FileInMemory {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes, offset);
        Ok(bytes.len())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let all = self.0.lock().unwrap();
        // Fewer than were asked for, as a storage may.
        let len = all.len.saturating_sub(offset).min(bytes.len() as u64).min(1000);
        bytes.iter_mut().zip(offset..offset + len).for_each(|(byte, at)| *byte = all.byte(at));
        Ok(len as usize)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().unwrap().set_len(len);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_storage_of_another_project_passes() {
    conformance::storage(Arc::new(InMemory::default()), Path::new("/nowhere"));
}

/// The suite detects a storage that loses the last byte of a write.
#[test]
fn a_storage_that_loses_a_byte_does_not_pass() {
    struct Loses(InMemory);
    struct LosingFile(Box<dyn Storage>);
    impl OpenStorage for Loses {
        fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Storage>> {
            Ok(Box::new(LosingFile(self.0.open(path, mode)?)))
        }
        fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
            Ok(Box::new(LosingFile(self.0.create(path)?)))
        }
    }
    impl Storage for LosingFile {
        fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
            self.0.write_at(&bytes[..bytes.len() - 1], offset).map(|written| written + 1)
        }
        fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
            self.0.read_at(bytes, offset)
        }
        fn size(&self) -> io::Result<u64> {
            self.0.size()
        }
        fn set_len(&self, len: u64) -> io::Result<()> {
            self.0.set_len(len)
        }
        fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }
    let outcome =
        std::panic::catch_unwind(|| conformance::storage(Arc::new(Loses(InMemory::default())), Path::new("/nowhere")));
    assert!(outcome.is_err());
}
