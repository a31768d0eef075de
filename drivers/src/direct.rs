//! Sends large writes past the cache of the file system's client (`O_DIRECT`).
//!
//! On Lustre a buffered write costs the client a copy and a lock, and one process gets 1.4 to 1.7 GiB/s whatever the size. A direct
//! write takes no lock of the client and goes to all servers of its stripes at once: 1.0, 2.8, 5.9 and 7.9 GiB/s with 1, 4, 16 and
//! 64 MiB (published in LU-13805). A direct write thus costs about 0.9 ms plus 0.11 ms a MiB, a buffered write 0.65 ms a MiB, so
//! direct writes are faster from 2 MiB on. Lustre 2.17 itself makes buffered writes of 2 MiB and more direct.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};

use crate::storage::{FileControl, Storage};

/// Minimum size of a write that goes past the cache, in bytes. The module's comment has the reason.
pub(crate) const DIRECT_FROM: u64 = 4 << 20;
/// Maximum number of bytes that are copied to aligned memory for one write.
const MOST_COPIED: usize = 8 << 20;
/// Size of a page of memory, in bytes. Offset, length and memory address of a direct write are multiples of it.
static PAGE: LazyLock<usize> = LazyLock::new(|| {
    let size = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE);
    size.ok()
        .flatten()
        .and_then(|size| usize::try_from(size).ok())
        .filter(|size| size.is_power_of_two())
        .unwrap_or(64 << 10)
});

/// A file whose writes of [`Layout::direct_from`](crate::Layout::direct_from) bytes or more go past the client's
/// cache, except for their ends that do not fill a page. All other calls, and direct writes that the file system
/// refuses, work as without this type.
pub struct DirectWrites {
    file: Box<dyn Storage>,
    opened: OnceLock<Option<Box<dyn Storage>>>,
    from: u64,
    is_refused: AtomicBool,
}

impl DirectWrites {
    /// Makes writes of at least `from` bytes to the open `file` go past the cache. The first such write opens the
    /// file once more.
    pub fn over(file: Box<dyn Storage>, from: u64) -> Self {
        Self { file, opened: OnceLock::new(), from, is_refused: AtomicBool::new(false) }
    }

    /// Returns the handle for direct writes; `None` if the file system has no direct writes.
    fn direct(&self) -> Option<&dyn Storage> {
        if self.is_refused.load(Ordering::Relaxed) {
            return None;
        }
        self.opened.get_or_init(|| self.file.control().open_direct().ok()).as_deref()
    }

    /// Splits a write of `len` bytes at `offset`: returns the number of bytes before the first page, and the number
    /// of bytes in whole pages, which go past the cache. `None` if the write is too small for that.
    fn parts(&self, len: usize, offset: u64) -> Option<(usize, usize)> {
        let head = (offset.next_multiple_of(*PAGE as u64) - offset) as usize;
        let units = len.checked_sub(head)? / *PAGE * *PAGE;
        (units as u64 >= self.from).then_some((head, units))
    }

    /// Returns the result of a direct write. If the file system refuses direct writes, makes a buffered write instead,
    /// in this call and in all later ones.
    fn or_usual(
        &self,
        direct: io::Result<usize>,
        usual: impl FnOnce(&dyn Storage) -> io::Result<usize>,
    ) -> io::Result<usize> {
        match direct {
            Err(cause) if matches!(cause.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
                self.is_refused.store(true, Ordering::Relaxed);
                usual(&*self.file)
            }
            outcome => outcome,
        }
    }
}

thread_local! {
    /// Aligned memory of this thread, kept between calls so that later calls allocate nothing.
    static ALIGNED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with `len` bytes of this thread's memory, which begin at a page. Calls must not be nested.
fn aligned<T>(len: usize, work: impl FnOnce(&mut [u8]) -> T) -> T {
    ALIGNED.with_borrow_mut(|memory| {
        if memory.len() < len + *PAGE {
            *memory = vec![0; len + *PAGE];
        }
        let skipped = memory.as_ptr().align_offset(*PAGE);
        work(&mut memory[skipped..skipped + len])
    })
}

impl Storage for DirectWrites {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let Some((head, units)) = self.parts(bytes.len(), offset) else { return self.file.write_at(bytes, offset) };
        let Some(direct) = self.direct() else { return self.file.write_at(bytes, offset) };
        if head > 0 {
            return self.file.write_at(&bytes[..head], offset);
        }
        if !bytes.as_ptr().addr().is_multiple_of(*PAGE) {
            return self.write_parts_at(&[IoSlice::new(bytes)], offset);
        }
        self.or_usual(direct.write_at(&bytes[..units], offset), |file| file.write_at(bytes, offset))
    }

    /// Copies parts that are large enough in total to aligned memory, and writes them from there past the cache.
    fn write_parts_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let all = parts.iter().map(|part| part.len()).sum::<usize>();
        let Some((head, units)) = self.parts(all, offset) else { return self.file.write_parts_at(parts, offset) };
        let Some(direct) = self.direct() else { return self.file.write_parts_at(parts, offset) };
        let (to, len) = if head > 0 { (&*self.file, head) } else { (direct, units.min(MOST_COPIED)) };
        let written = aligned(len, |place| {
            let mut at = 0;
            for part in parts {
                let taken = part.len().min(len - at);
                place[at..at + taken].copy_from_slice(&part[..taken]);
                at += taken;
            }
            to.write_at(place, offset)
        });
        self.or_usual(written, |file| file.write_parts_at(parts, offset))
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
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

    fn control(&self) -> &dyn FileControl {
        self.file.control()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::{Arc, Mutex};

    use proptest::prelude::*;

    use super::*;
    use crate::system::SystemFile;

    /// A file that records its direct writes, or refuses them if `refused`.
    struct Recorded {
        file: SystemFile,
        refused: bool,
        direct: Arc<Mutex<Vec<usize>>>,
    }

    struct DirectFile(Recorded);

    impl Storage for Recorded {
        fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
            Storage::write_at(&self.file, bytes, offset)
        }

        fn write_parts_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
            self.file.write_parts_at(parts, offset)
        }

        fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
            unreachable!("it is written")
        }

        fn size(&self) -> io::Result<u64> {
            self.file.size()
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            Storage::set_len(&self.file, len)
        }

        fn sync(&self) -> io::Result<()> {
            self.file.sync()
        }

        fn control(&self) -> &dyn FileControl {
            self
        }
    }

    impl FileControl for Recorded {
        fn open_direct(&self) -> io::Result<Box<dyn Storage>> {
            let file = self.file.try_clone()?.into();
            Ok(Box::new(DirectFile(Self { file, refused: self.refused, direct: self.direct.clone() })))
        }
    }

    impl Storage for DirectFile {
        fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
            let page = *PAGE as u64;
            let all = [offset, bytes.len() as u64, bytes.as_ptr().addr() as u64];
            assert!(all.iter().all(|at| at.is_multiple_of(page)), "{all:?}");
            if self.0.refused {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            self.0.direct.lock().unwrap().push(bytes.len());
            self.0.write_at(bytes, offset)
        }

        fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
            unreachable!("it is written")
        }

        fn size(&self) -> io::Result<u64> {
            self.0.size()
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            self.0.set_len(len)
        }

        fn sync(&self) -> io::Result<()> {
            self.0.sync()
        }
    }

    /// Writes `bytes` in `parts` from `offset` on, as the engine does.
    fn write(file: &DirectWrites, bytes: &[u8], mut offset: u64, parts: usize) {
        let mut slices: Vec<_> = bytes.chunks(bytes.len().div_ceil(parts).max(1)).map(IoSlice::new).collect();
        let mut rest = &mut slices[..];
        while !rest.is_empty() {
            let count = match &*rest {
                [one] => file.write_at(one, offset).unwrap(),
                _ => file.write_parts_at(rest, offset).unwrap(),
            };
            assert!(count > 0);
            IoSlice::advance_slices(&mut rest, count);
            offset += count as u64;
        }
    }

    proptest! {
        /// Writes any bytes from any address to any offset, whole or in parts: the file has them afterwards, and
        /// large enough writes went past the cache, except for less than a page at each end.
        #[test]
        fn bytes_get_there_past_the_cache(
            offset in 0u64..20_000, skipped in 0usize..5000, len in 1usize..200_000, parts in 1usize..6, refused: bool
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            let memory: Vec<u8> = (0..skipped + len).map(|at| (at * 7 + at / 251) as u8).collect();
            let bytes = &memory[skipped..];
            let from = 40_000;
            let recorded = Recorded { file: File::create(&path).unwrap().into(), refused, direct: Arc::default() };
            let direct = recorded.direct.clone();
            let file = DirectWrites::over(Box::new(recorded), from);
            write(&file, bytes, offset, parts);
            prop_assert_eq!(&std::fs::read(&path).unwrap()[offset as usize..], bytes);
            let direct: usize = direct.lock().unwrap().iter().sum();
            prop_assert!(direct == 0 || !refused);
            let least = if parts == 1 && !refused && len >= from as usize + 2 * *PAGE { len - 2 * *PAGE } else { 0 };
            prop_assert!(direct >= least && direct <= len, "{} of {}", direct, len);
        }
    }

    /// Runs on a file system of this machine, which may refuse direct writes.
    #[test]
    fn the_system_takes_what_is_left_to_it() {
        let dir = tempfile::tempdir_in(".").unwrap();
        let path = dir.path().join("file");
        let file = DirectWrites::over(Box::new(SystemFile::from(File::create(&path).unwrap())), DIRECT_FROM);
        let bytes: Vec<u8> = (0..MOST_COPIED + (5 << 20)).map(|at| (at / 3) as u8).collect();
        write(&file, &bytes, 100, 1);
        write(&file, &bytes[..10], 200, 1);
        file.sync().unwrap();
        let found = std::fs::read(&path).unwrap();
        assert!(found[100..200] == bytes[..100] && found[200..210] == bytes[..10] && found[210..] == bytes[110..]);
    }
}
