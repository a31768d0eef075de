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

/// What calls on a file take: file servers in virtual time.
pub trait CallTimes {
    /// Returns the time at which a call ends, in nanoseconds. `random` returns a number below its argument that follows from the
    /// seed.
    fn end(&mut self, call: FileCall, random: &dyn Fn(u64) -> u64) -> u64;
}

/// A call on a file, or one of its parts.
#[derive(Debug, Clone, Copy)]
pub struct FileCall {
    /// Rank that makes it.
    pub rank: usize,
    /// First byte that it moves.
    pub offset: u64,
    /// Number of bytes that it moves; 0 if it moves none.
    pub bytes: u64,
    /// True if it writes.
    pub writes: bool,
    /// Number of parts of the call, among which its latency is divided.
    pub parts: u64,
    /// How many times as long as usual it takes.
    pub slow: u64,
    /// The time, in nanoseconds.
    pub now: u64,
}

/// A latency that the seed decides, up to `latency` nanoseconds, and a rate of each host, or of each server.
struct SimpleCalls {
    latency: u64,
    rate: u64,
    hosts: Vec<usize>,
    servers: Option<(usize, u64)>,
    /// Time from which on each host or server moves the bytes of another call.
    free: Vec<u64>,
}

impl CallTimes for SimpleCalls {
    /// Calls of a host, or on a server, that move bytes wait for each other.
    fn end(&mut self, call: FileCall, random: &dyn Fn(u64) -> u64) -> u64 {
        let mut end = call.now + random(self.latency + 1) / call.parts * call.slow;
        for (way, bytes) in self.ways(call) {
            self.free[way] = self.free[way].max(call.now) + bytes * 1_000_000_000 / self.rate * call.slow;
            end = end.max(self.free[way]);
        }
        end
    }
}

impl SimpleCalls {
    /// Returns the host, or the servers, through which bytes go, and how many through each.
    fn ways(&self, FileCall { rank, offset, bytes, .. }: FileCall) -> Vec<(usize, u64)> {
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
}

/// The files of a run.
pub struct Files {
    tasks: Arc<Tasks>,
    times: Mutex<Box<dyn CallTimes + Send>>,
    /// Size of the blocks or stripes of a file that all hosts see; `None` if hosts have files of their own.
    stripe: Option<u64>,
    /// True if files keep their bytes, not only their sizes.
    keeps_bytes: bool,
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

/// The bytes of a file, or only their number.
#[derive(Default)]
struct Contents {
    bytes: Vec<u8>,
    len: u64,
}

/// A file.
#[derive(Default)]
struct Data {
    number: u64,
    contents: Mutex<Contents>,
    /// Ranges that handles have shown to others, by handle.
    held: Mutex<BTreeMap<u64, Range<u64>>>,
    /// Ranges that handles have locked.
    locked: Mutex<Vec<(u64, Range<u64>)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Contents {
    fn write(&mut self, bytes: &[u8], offset: u64, keeps: bool) {
        let end = offset + bytes.len() as u64;
        if self.len < end {
            self.resize(end, keeps);
        }
        if keeps {
            self.bytes[offset as usize..end as usize].copy_from_slice(bytes);
        }
    }

    /// Reads bytes up to the end; returns their number.
    fn read(&self, bytes: &mut [u8], offset: u64) -> usize {
        let from = offset.min(self.len);
        let len = bytes.len().min((self.len - from) as usize);
        match self.bytes.get(from as usize..from as usize + len) {
            Some(kept) => bytes[..len].copy_from_slice(kept),
            None => bytes[..len].fill(0),
        }
        len
    }

    fn resize(&mut self, len: u64, keeps: bool) {
        self.len = len;
        if keeps {
            self.bytes.resize(len as usize, 0);
        }
    }
}

impl Files {
    /// Returns the files of a place: none.
    pub fn new(tasks: Arc<Tasks>, place: &Place) -> Self {
        let latency = place.delays.file.as_nanos() as u64;
        let (hosts, servers) = (place.hosts.clone(), place.servers);
        let most = servers.map_or_else(|| hosts.iter().max().map_or(0, |last| last + 1), |(servers, _)| servers);
        let (rate, free) = (place.delays.rate.max(1), vec![0; most]);
        Self::timed(tasks, place, Box::new(SimpleCalls { latency, rate, hosts, servers, free }), true)
    }

    /// Returns the files of a place, on which calls take what `times` say. If the files do not keep bytes, they keep only their
    /// sizes, and a read finds zeros.
    pub fn timed(tasks: Arc<Tasks>, place: &Place, times: Box<dyn CallTimes + Send>, keeps_bytes: bool) -> Self {
        let (all, open, failed, refused, failed_late, handles) = Default::default();
        Self {
            calls: place.hosts.iter().map(|_| AtomicUsize::new(0)).collect(),
            times: Mutex::new(times),
            stripe: place.servers.map(|(_, stripe)| stripe),
            keeps_bytes,
            tasks,
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
        lock(&self.all).get(path).map(|data| lock(&data.contents).bytes.clone())
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

    /// Lets the time of a call that moves no bytes pass, in which other tasks run.
    fn pass(&self, rank: usize) {
        self.pass_call(rank, (0, 0), false, 1);
    }

    /// Lets the time of a call, or of one of its parts, pass, in which other tasks run.
    fn pass_call(&self, rank: usize, (offset, bytes): (u64, usize), writes: bool, parts: u64) {
        // Servers see calls in the order of their times: a rank that works comes when it has done its work.
        self.tasks.finish_work();
        let slow = if self.is_due(rank, self.faults.slow) { 100 } else { 1 };
        let now = self.tasks.nanos();
        let call = FileCall { rank, offset, bytes: bytes as u64, writes, parts, slow, now };
        let end = lock(&self.times).end(call, &|limit| self.tasks.random(limit));
        self.tasks.event_until(end);
        tributary::world::World::block(&*self.tasks, 0, Some(Duration::from_nanos(end - now)));
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
        self.0.pass(self.1);
        if self.0.is_due(self.1, self.0.faults.open) {
            return Err(self.0.refuse(libc::EMFILE));
        }
        let data = lock(&self.0.all).get(path).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(self.0.handle(self.1, data, mode))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        self.0.pass(self.1);
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
        self.0.pass(self.1);
        lock(&self.0.all).remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Files on servers are on a parallel file system, so that ranks of several hosts may leave bytes behind.
    fn file_system(&self, _path: &Path) -> Option<FileSystem> {
        self.0.stripe.map(|stripe| FileSystem { magic: GPFS, block: stripe, is_daos: false })
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
        self.files.pass_call(self.rank, (offset, bytes.len()), true, 2);
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
                lock(&self.data.contents).write(&bytes[at..end], offset + at as u64, self.files.keeps_bytes);
                at = end;
            }
            if end < len {
                self.files.pass_call(self.rank, (0, 0), true, 2);
            }
        }
        Ok(len)
    }

    fn write_parts_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        match parts {
            [] => Ok(0),
            [part] => self.write_at(part, offset),
            parts => self.write_at(&parts.iter().map(|part| &part[..]).collect::<Vec<_>>().concat(), offset),
        }
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.files.pass_call(self.rank, (offset, bytes.len()), false, 1);
        if self.files.is_due(self.rank, self.files.faults.io) {
            return Err(self.files.fail(self.rank, libc::EIO));
        }
        let len = self.files.part(self.rank, bytes.len())?;
        Ok(lock(&self.data.contents).read(&mut bytes[..len], offset))
    }

    fn size(&self) -> io::Result<u64> {
        self.files.pass(self.rank);
        Ok(lock(&self.data.contents).len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.files.pass(self.rank);
        lock(&self.data.contents).resize(len, self.files.keeps_bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.files.pass(self.rank);
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
        self.files.pass(self.rank);
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
        self.files.pass(self.rank);
        let overlaps = |other: &Range<u64>| other.start < range.end && range.start < other.end;
        Ok(lock(&self.data.held).iter().any(|(number, held)| *number != self.number && overlaps(held)))
    }

    fn lock_range(&self, range: Range<u64>, is_taken: bool) -> io::Result<()> {
        loop {
            self.files.pass(self.rank);
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
        f.debug_map().entries(lock(&self.all).iter().map(|(path, data)| (path, lock(&data.contents).len))).finish()
    }
}
