//! Files in virtual time: bytes in memory, and calls that take time and fail as the seed says.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tributary::drivers::{FileControl, FileSystem, Identity, Mode, OpenStorage, Storage};

use super::Place;
use super::tasks::Tasks;

/// Begin of the name of a thread of write-behind.
const LATE: &str = "tributary behind";
/// Type of GPFS: all hosts see the locks of a host.
const GPFS: u32 = 0x4750_4653;

/// How often calls on the file fail: in how many of a thousand calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Faults {
    /// Calls that move fewer bytes than asked.
    pub short: u64,
    /// Calls that a signal interrupts.
    pub interrupted: u64,
    /// Writes, reads and syncs that fail with EIO.
    pub io: u64,
    /// Writes that find no space.
    pub space: u64,
    /// Openings that fail.
    pub open: u64,
    /// Calls that take a hundred times as long.
    pub slow: u64,
    /// Requests of the engine for memory that are refused.
    pub memory: u64,
    /// The only rank whose calls fail; `None`: those of all ranks may.
    pub rank: Option<usize>,
}

/// The files of a run.
pub struct Files {
    tasks: Arc<Tasks>,
    latency: u64,
    rate: u64,
    hosts: Vec<usize>,
    servers: Option<(usize, u64)>,
    /// Time from which on each host or server moves the bytes of another call.
    free: Mutex<Vec<u64>>,
    faults: Faults,
    all: Mutex<BTreeMap<PathBuf, Arc<Data>>>,
    open: AtomicU64,
    failed: AtomicU64,
    refused: AtomicU64,
    failed_late: Mutex<BTreeSet<(usize, usize)>>,
    /// Number of the call in which each rank is, or was last.
    calls: Vec<AtomicUsize>,
    handles: AtomicU64,
}

/// The contents of a file.
#[derive(Default)]
struct Data {
    number: u64,
    bytes: Mutex<Vec<u8>>,
    /// Ranges that handles have shown to others, by handle.
    held: Mutex<BTreeMap<u64, Range<u64>>>,
    /// Ranges that handles have locked.
    locked: Mutex<Vec<(u64, Range<u64>)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Files {
    /// Returns the files of a place: none.
    pub fn new(tasks: Arc<Tasks>, place: &Place) -> Self {
        let latency = place.delays.file.as_nanos() as u64;
        let (all, open, failed, refused, failed_late, handles) = Default::default();
        let (hosts, servers) = (place.hosts.clone(), place.servers);
        let most = servers.map_or_else(|| hosts.iter().max().map_or(0, |last| last + 1), |(servers, _)| servers);
        Self {
            calls: hosts.iter().map(|_| AtomicUsize::new(0)).collect(),
            hosts,
            servers,
            free: Mutex::new(vec![0; most]),
            tasks,
            latency,
            rate: place.delays.rate.max(1),
            faults: place.faults,
            all,
            open,
            failed,
            refused,
            failed_late,
            handles,
        }
    }

    /// Returns the bytes of a file; `None` if there is none.
    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        lock(&self.all).get(path).map(|data| lock(&data.bytes).clone())
    }

    /// Returns the number of calls that have failed with an error that the caller must tell.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Returns the number of open handles.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Returns the number of openings that have failed. A rank that does without the file need not tell.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Notes that a rank begins its call `number`.
    pub fn begin_call(&self, rank: usize, number: usize) {
        self.calls[rank].store(number, Ordering::Relaxed);
    }

    /// Returns the ranks whose threads of write-behind had a call on the file that failed, and the number of the call in which the
    /// rank was then.
    pub fn failed_late(&self) -> BTreeSet<(usize, usize)> {
        lock(&self.failed_late).clone()
    }

    fn refuse(&self, code: i32) -> io::Error {
        self.refused.fetch_add(1, Ordering::Relaxed);
        io::Error::from_raw_os_error(code)
    }

    /// Lets the time of a call on `bytes` bytes at `offset` pass, in which other tasks run. Calls of a host, or on a server, that
    /// move bytes wait for each other.
    fn pass(&self, rank: usize, offset: u64, bytes: usize) {
        self.pass_part(rank, (offset, bytes), 1);
    }

    /// Does what [`Files::pass`] does, for one of `parts` parts of a call: the call's latency is divided among them.
    fn pass_part(&self, rank: usize, (offset, bytes): (u64, usize), parts: u64) {
        let slow = if self.is_due(rank, self.faults.slow) { 100 } else { 1 };
        let now = self.tasks.nanos();
        let mut end = now + self.tasks.random(self.latency + 1) / parts * slow;
        let mut free = lock(&self.free);
        for (way, bytes) in self.ways(rank, offset, bytes as u64) {
            free[way] = free[way].max(now) + bytes * 1_000_000_000 / self.rate * slow;
            end = end.max(free[way]);
        }
        drop(free);
        self.tasks.event();
        tributary::world::World::block(&*self.tasks, 0, Some(Duration::from_nanos(end - now)));
    }

    /// Returns the host, or the servers, through which bytes go, and how many through each.
    fn ways(&self, rank: usize, offset: u64, bytes: u64) -> Vec<(usize, u64)> {
        let Some((servers, stripe)) = self.servers else { return vec![(self.hosts[rank], bytes)] };
        let (mut at, mut ways) = (offset, Vec::new());
        while at < offset + bytes {
            let end = (at / stripe + 1) * stripe;
            let part = end.min(offset + bytes) - at;
            ways.push(((at / stripe) as usize % servers, part));
            at += part;
        }
        ways
    }

    fn is_due(&self, rank: usize, of_thousand: u64) -> bool {
        of_thousand > 0 && self.faults.rank.is_none_or(|only| only == rank) && self.tasks.random(1000) < of_thousand
    }

    fn fail(&self, rank: usize, code: i32) -> io::Error {
        if self.tasks.name().starts_with(LATE) {
            lock(&self.failed_late).insert((rank, self.calls[rank].load(Ordering::Relaxed)));
        }
        self.failed.fetch_add(1, Ordering::Relaxed);
        io::Error::from_raw_os_error(code)
    }

    /// Returns how many of `len` bytes a call may move.
    fn part(&self, rank: usize, len: usize) -> io::Result<usize> {
        if self.is_due(rank, self.faults.interrupted) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(if len > 1 && self.is_due(rank, self.faults.short) {
            1 + self.tasks.random(len as u64 - 1) as usize
        } else {
            len
        })
    }

    fn handle(self: &Arc<Self>, rank: usize, data: Arc<Data>, mode: Mode) -> Box<dyn Storage> {
        let number = self.handles.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        Box::new(Handle { files: self.clone(), rank, data, mode, number })
    }
}

/// Opens the files of a run for a rank.
pub struct Opener(pub Arc<Files>, pub usize);

impl OpenStorage for Opener {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Storage>> {
        self.0.pass(self.1, 0, 0);
        if self.0.is_due(self.1, self.0.faults.open) {
            return Err(self.0.refuse(libc::EMFILE));
        }
        let data = lock(&self.0.all).get(path).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(self.0.handle(self.1, data, mode))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        self.0.pass(self.1, 0, 0);
        if self.0.is_due(self.1, self.0.faults.open) {
            return Err(self.0.refuse(libc::EACCES));
        }
        let mut all = lock(&self.0.all);
        let number = all.len() as u64;
        let data =
            all.entry(path.to_path_buf()).or_insert_with(|| Arc::new(Data { number, ..Data::default() })).clone();
        drop(all);
        Ok(self.0.handle(self.1, data, Mode::Create))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.pass(self.1, 0, 0);
        lock(&self.0.all).remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Files on servers are on a parallel file system, so that ranks of several hosts may leave bytes behind.
    fn file_system(&self, _path: &Path) -> Option<FileSystem> {
        self.0.servers.map(|(_, stripe)| FileSystem { magic: GPFS, block: stripe, is_daos: false })
    }
}

/// An open file.
struct Handle {
    files: Arc<Files>,
    rank: usize,
    data: Arc<Data>,
    mode: Mode,
    number: u64,
}

impl Storage for Handle {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.files.pass_part(self.rank, (offset, bytes.len()), 2);
        if self.mode == Mode::Read {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        if self.files.is_due(self.rank, self.files.faults.io) {
            return Err(self.files.fail(self.rank, libc::EIO));
        }
        if self.files.is_due(self.rank, self.files.faults.space) {
            return Err(self.files.fail(self.rank, libc::ENOSPC));
        }
        let len = self.files.part(self.rank, bytes.len())?;
        // The first half, then the rest: others see the file in between.
        let mut at = 0;
        for end in [len / 2, len] {
            if end > at {
                let mut data = lock(&self.data.bytes);
                let from = offset as usize + at;
                if data.len() < offset as usize + end {
                    data.resize(offset as usize + end, 0);
                }
                data[from..offset as usize + end].copy_from_slice(&bytes[at..end]);
                at = end;
            }
            if end < len {
                self.files.pass_part(self.rank, (0, 0), 2);
            }
        }
        Ok(len)
    }

    fn write_parts_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        match parts {
            [] => Ok(0),
            [part] => self.write_at(part, offset),
            parts => self.write_at(&parts.iter().flat_map(|part| part.iter().copied()).collect::<Vec<u8>>(), offset),
        }
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.files.pass(self.rank, offset, bytes.len());
        if self.files.is_due(self.rank, self.files.faults.io) {
            return Err(self.files.fail(self.rank, libc::EIO));
        }
        let len = self.files.part(self.rank, bytes.len())?;
        let data = lock(&self.data.bytes);
        let from = (offset as usize).min(data.len());
        let len = len.min(data.len() - from);
        bytes[..len].copy_from_slice(&data[from..from + len]);
        Ok(len)
    }

    fn size(&self) -> io::Result<u64> {
        self.files.pass(self.rank, 0, 0);
        Ok(lock(&self.data.bytes).len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.files.pass(self.rank, 0, 0);
        lock(&self.data.bytes).resize(len as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.files.pass(self.rank, 0, 0);
        if self.files.is_due(self.rank, self.files.faults.io) {
            Err(self.files.fail(self.rank, libc::EIO))
        } else {
            Ok(())
        }
    }

    fn control(&self) -> &dyn FileControl {
        self
    }
}

impl FileControl for Handle {
    fn hold(&self, number: u64, range: Range<u64>) -> io::Result<()> {
        self.files.pass(self.rank, 0, 0);
        let _ = number;
        let mut held = lock(&self.data.held);
        if range.is_empty() {
            held.remove(&self.number)
        } else {
            held.insert(self.number, range)
        };
        Ok(())
    }

    fn is_held(&self, range: Range<u64>) -> io::Result<bool> {
        self.files.pass(self.rank, 0, 0);
        let overlaps = |other: &Range<u64>| other.start < range.end && range.start < other.end;
        Ok(lock(&self.data.held).iter().any(|(number, held)| *number != self.number && overlaps(held)))
    }

    fn lock_range(&self, range: Range<u64>, is_taken: bool) -> io::Result<()> {
        loop {
            self.files.pass(self.rank, 0, 0);
            let mut locked = lock(&self.data.locked);
            if !is_taken {
                locked.retain(|(number, other)| *number != self.number || *other != range);
                return Ok(());
            }
            let overlaps = |other: &Range<u64>| other.start < range.end && range.start < other.end;
            if !locked.iter().any(|(number, other)| *number != self.number && overlaps(other)) {
                locked.push((self.number, range));
                return Ok(());
            }
        }
    }

    fn identity(&self) -> io::Result<Option<Identity>> {
        Ok(Some([1, 1, self.data.number]))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.files.open.fetch_sub(1, Ordering::Relaxed);
        lock(&self.data.held).remove(&self.number);
        lock(&self.data.locked).retain(|(number, _)| *number != self.number);
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(lock(&self.all).iter().map(|(path, data)| (path, lock(&data.bytes).len()))).finish()
    }
}
