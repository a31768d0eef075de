//! Storage for tests: fails on purpose, records the calls, and can pretend to be on Lustre.

use std::ffi::CStr;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::lustre;
use crate::storage::{FileControl, FileSystem, Identity, Mode, OpenStorage, Storage, StripeRequest};
use crate::system::SystemFiles;

/// A fault of a file. Offsets are in the file; a write that begins before the offset is cut there, as the operating
/// system cuts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing fails.
    None,
    /// Creating the file fails with this errno.
    Create(i32),
    /// Setting the stripes of the file fails with this errno.
    Stripes(i32),
    /// Opening the file, after it was created, fails with this errno.
    Open(i32),
    /// Writing at or beyond the offset, or extending the file beyond it, fails with this errno.
    Write(u64, i32),
    /// Writes at or beyond the offset return 0 bytes.
    WriteZero(u64),
    /// Reading at or beyond the offset fails with this errno.
    Read(u64, i32),
    /// A write at or beyond the offset, or a read that reaches the offset, panics; with offset 0, creating the file
    /// panics too.
    Panic(u64),
    /// Writes and reads move at most this number of bytes.
    Short(usize),
    /// Every second call is interrupted.
    Interrupt,
    /// Every call takes this long.
    Slow(Duration),
    /// Writes block until [`Hostile::set`] sets another fault.
    Stuck,
    /// Writes succeed, but closing fails with this errno.
    Close(i32),
}

/// Message of a panic that the storage causes.
pub const PANIC: &str = "storage that panics on purpose";

/// One rank's access to the storage; clones share the fault and the record.
#[derive(Clone)]
pub struct Hostile(Arc<HostileState>);

struct HostileState {
    fault: Mutex<Fault>,
    is_lustre: bool,
    /// Last request to set the file's stripes.
    stripes: Mutex<Option<StripeRequest>>,
    written: Mutex<Vec<Range<u64>>>,
    failed: Mutex<Option<u64>>,
    calls: AtomicU64,
    /// Number of writes that run now, and the maximum so far.
    running: Mutex<(u64, u64)>,
    /// Number of bytes that went past the cache.
    direct: AtomicU64,
    /// Number of times that a group lock was taken, and number of handles that have it.
    locks: Mutex<(u64, u64)>,
    /// Hints that were passed to GPFS (`gpfs_fcntl`), encoded.
    advice: Mutex<Vec<Vec<u8>>>,
}

struct HostileFile {
    file: Box<dyn Storage>,
    state: Arc<HostileState>,
    is_direct: bool,
    is_in_group: AtomicBool,
}

impl Hostile {
    /// Creates storage whose files fail with `fault`.
    pub fn new(fault: Fault) -> Self {
        Self::on(fault, false)
    }

    /// Creates storage that fails with `fault` and pretends to be Lustre: a file has the stripes that were set.
    pub fn lustre(fault: Fault) -> Self {
        Self::on(fault, true)
    }

    fn on(fault: Fault, is_lustre: bool) -> Self {
        let (stripes, written, failed, calls, running, direct, locks, advice) = Default::default();
        let fault = Mutex::new(fault);
        let state = HostileState { fault, is_lustre, stripes, written, failed, calls, running, direct, locks, advice };
        Self(Arc::new(state))
    }

    fn fault(&self) -> Fault {
        *self.0.fault.lock().unwrap()
    }

    /// Opens or creates a file with `make`, unless the fault makes that fail.
    fn made(&self, make: impl FnOnce() -> io::Result<Box<dyn Storage>>) -> io::Result<Box<dyn Storage>> {
        match self.fault() {
            Fault::Create(errno) => Err(io::Error::from_raw_os_error(errno)),
            Fault::Panic(0) => panic!("{PANIC}"),
            _ => self.held(make()?),
        }
    }

    fn held(&self, file: Box<dyn Storage>) -> io::Result<Box<dyn Storage>> {
        Ok(self.handle(file, false))
    }

    fn handle(&self, file: Box<dyn Storage>, is_direct: bool) -> Box<dyn Storage> {
        Box::new(HostileFile { file, state: self.0.clone(), is_direct, is_in_group: AtomicBool::new(false) })
    }

    /// Sets the fault for all later calls.
    pub fn set(&self, fault: Fault) {
        *self.0.fault.lock().unwrap() = fault;
    }

    /// Returns the extents that were written since the last call of this function, ascending and joined, and the
    /// offset of the first call that failed.
    pub fn take(&self) -> (Vec<Range<u64>>, Option<u64>) {
        let mut all = std::mem::take(&mut *self.0.written.lock().unwrap());
        all.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        for range in all {
            match joined.last_mut() {
                Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        (joined, self.0.failed.lock().unwrap().take())
    }

    /// Returns the maximum number of writes that ran at the same time.
    pub fn writes_at_once(&self) -> u64 {
        self.0.running.lock().unwrap().1
    }

    /// Returns the number of calls so far.
    pub fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::SeqCst)
    }

    /// Returns the number of times that a group lock was taken, and the number of handles that have it now.
    pub fn group_locks(&self) -> (u64, u64) {
        *self.0.locks.lock().unwrap()
    }

    /// Returns the encoded hints that were passed to GPFS since the last call of this function.
    pub fn take_advice(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.0.advice.lock().unwrap())
    }

    /// Returns the number of bytes that went past the cache of the system.
    pub fn direct_bytes(&self) -> u64 {
        self.0.direct.load(Ordering::SeqCst)
    }
}

impl OpenStorage for Hostile {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Storage>> {
        match self.fault() {
            Fault::Open(errno) => Err(io::Error::from_raw_os_error(errno)),
            _ => self.held(SystemFiles.open(path, mode)?),
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        self.made(|| SystemFiles.create(path))
    }

    fn create_without_stripes(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        self.made(|| SystemFiles.create_without_stripes(path))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        SystemFiles.remove(path)
    }

    fn file_system(&self, path: &Path) -> Option<FileSystem> {
        let magic = |found: FileSystem| if self.0.is_lustre { lustre::MAGIC } else { found.magic };
        SystemFiles.file_system(path).map(|found| FileSystem { magic: magic(found), ..found })
    }
}

impl HostileFile {
    /// Counts the call, delays or interrupts the call if the fault says so, and returns the fault.
    fn fault(&self) -> io::Result<Fault> {
        let fault = *self.state.fault.lock().unwrap();
        let call = self.state.calls.fetch_add(1, Ordering::SeqCst);
        match fault {
            Fault::Slow(time) => std::thread::sleep(time),
            Fault::Interrupt if call.is_multiple_of(2) => return Err(io::ErrorKind::Interrupted.into()),
            _ => {}
        }
        Ok(fault)
    }

    fn failed(&self, offset: u64) {
        self.state.failed.lock().unwrap().get_or_insert(offset);
    }
}

/// A write that runs now, for the count of writes at the same time.
struct Running<'a>(&'a HostileState);

impl<'a> Running<'a> {
    fn begin(state: &'a HostileState) -> Self {
        let (now, most) = &mut *state.running.lock().unwrap();
        (*now, *most) = (*now + 1, (*now + 1).max(*most));
        Self(state)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.lock().unwrap().0 -= 1;
    }
}

impl Storage for HostileFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let _running = Running::begin(&self.state);
        let mut fault = self.fault()?;
        while fault == Fault::Stuck {
            std::thread::sleep(Duration::from_millis(1));
            fault = *self.state.fault.lock().unwrap();
        }
        let limit = match fault {
            Fault::Write(from, _) | Fault::WriteZero(from) | Fault::Panic(from) => from.saturating_sub(offset) as usize,
            Fault::Short(most) => most,
            _ => usize::MAX,
        };
        match fault {
            Fault::Write(_, errno) if limit == 0 => {
                self.failed(offset);
                return Err(io::Error::from_raw_os_error(errno));
            }
            Fault::WriteZero(_) if limit == 0 => {
                self.failed(offset);
                return Ok(0);
            }
            Fault::Panic(_) if limit == 0 => {
                self.failed(offset);
                panic!("{PANIC}");
            }
            _ => {}
        }
        let waits = self.state.locks.lock().unwrap().1 > 0 && !self.is_in_group.load(Ordering::SeqCst);
        assert!(!waits, "this write would wait for the lock of a group");
        let count = match self.file.write_at(&bytes[..bytes.len().min(limit)], offset) {
            Ok(count) => count,
            Err(cause) => {
                self.failed(offset);
                return Err(cause);
            }
        };
        self.state.written.lock().unwrap().push(offset..offset + count as u64);
        if self.is_direct {
            self.state.direct.fetch_add(count as u64, Ordering::SeqCst);
        }
        Ok(count)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.fault()? {
            Fault::Read(from, errno) if offset + bytes.len() as u64 > from => {
                self.failed(offset);
                Err(io::Error::from_raw_os_error(errno))
            }
            Fault::Panic(from) if offset + bytes.len() as u64 > from => {
                self.failed(offset);
                panic!("{PANIC}");
            }
            Fault::Short(most) => {
                let most = bytes.len().min(most);
                self.file.read_at(&mut bytes[..most], offset)
            }
            _ => self.file.read_at(bytes, offset),
        }
    }

    /// Panics where a read would panic, and returns `offset` (unknown) where a read would fail.
    fn next_data(&self, offset: u64) -> u64 {
        // Copied before the `match`, so that a panic does not happen under the lock.
        let fault = *self.state.fault.lock().unwrap();
        match fault {
            Fault::Panic(from) if offset >= from => {
                self.failed(offset);
                panic!("{PANIC}");
            }
            Fault::Read(..) => offset,
            _ => self.file.next_data(offset),
        }
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        match self.fault()? {
            Fault::Write(from, errno) if len > from => Err(io::Error::from_raw_os_error(errno)),
            Fault::Panic(from) if len > from => panic!("{PANIC}"),
            _ => self.file.set_len(len),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn control(&self) -> &dyn FileControl {
        self
    }
}

impl FileControl for HostileFile {
    fn settle(&self) -> io::Result<()> {
        match *self.state.fault.lock().unwrap() {
            Fault::Close(errno) => Err(io::Error::from_raw_os_error(errno)),
            _ => self.file.control().settle(),
        }
    }

    fn identity(&self) -> io::Result<Option<Identity>> {
        self.file.control().identity()
    }

    fn preferred_size(&self) -> io::Result<u64> {
        self.file.control().preferred_size()
    }

    fn attribute(&self, name: &CStr) -> io::Result<Vec<u8>> {
        let stripes = self.state.stripes.lock().unwrap().clone().filter(|_| name == lustre::ATTRIBUTE);
        stripes.map(|stripes| stripes.0).ok_or_else(|| io::Error::from_raw_os_error(libc::ENODATA))
    }

    fn set_stripes(&self, request: &StripeRequest) -> io::Result<()> {
        if let Fault::Stripes(errno) = *self.state.fault.lock().unwrap() {
            return Err(io::Error::from_raw_os_error(errno));
        }
        *self.state.stripes.lock().unwrap() = Some(request.clone());
        Ok(())
    }

    fn open_direct(&self) -> io::Result<Box<dyn Storage>> {
        Ok(Hostile(self.state.clone()).handle(self.file.control().open_direct()?, true))
    }

    fn hold(&self, number: u64, range: Range<u64>) -> io::Result<()> {
        self.file.control().hold(number, range)
    }

    fn is_held(&self, range: Range<u64>) -> io::Result<bool> {
        self.file.control().is_held(range)
    }

    fn lock_for_group(&self, _: u32, taken: bool) -> io::Result<()> {
        let (all, held) = &mut *self.state.locks.lock().unwrap();
        assert_ne!(self.is_in_group.swap(taken, Ordering::SeqCst), taken, "a handle takes it once, and gives it back");
        (*all, *held) = if taken { (*all + 1, *held + 1) } else { (*all, *held - 1) };
        Ok(())
    }

    fn advise_gpfs(&self, advice: &mut [u8]) -> io::Result<()> {
        self.state.advice.lock().unwrap().push(advice.to_vec());
        Ok(())
    }
}
