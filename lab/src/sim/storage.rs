//! File servers: the time of file writes.
//!
//! A file is striped over servers. A server serves the requests of all ranks one by one, first come, first served. A
//! rank's windows are written one after another, as by the engine's write-behind worker; the rank waits for the writes
//! where its program says so ([`Step::Settle`]), and continues otherwise.

use std::collections::{HashMap, VecDeque};

use super::Time;
use super::engine::{Engine, What};
use super::figures::Figures;
use super::network::ticks;
use super::program::Handle;
use super::workload::Workload;
use tributary::access::Extent;
use tributary::error::Result;
use tributary::hints::DriverName;
use tributary::topology::Rank;

/// File servers of a machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Storage {
    /// Driver of the file system.
    pub driver: DriverName,
    /// Number of servers.
    pub servers: u32,
    /// Time of a byte at a server, in picoseconds.
    pub byte: f64,
    /// Round-trip time from a rank to a server, in picoseconds.
    pub latency: f64,
    /// Time of a byte that leaves a rank, in picoseconds.
    pub client_byte: f64,
}

impl Storage {
    /// Returns the table `[storage]` of a machine file, if it has one.
    pub(super) fn parse(figures: &mut Figures<'_>) -> Result<Option<Self>> {
        if !figures.has("storage") {
            return Ok(None);
        }
        let servers = figures.count("storage.servers")?;
        if !(1.0..=1e6).contains(&servers) || servers.fract() != 0.0 {
            return Err(figures.error("storage.servers", servers, "a whole number, 1 to 1000000"));
        }
        let driver = figures.text("storage.driver")?;
        let driver = match driver.parse() {
            Ok(driver @ (DriverName::Lustre | DriverName::Gpfs)) => driver,
            _ => return Err(figures.error("storage.driver", driver, "lustre|gpfs")),
        };
        Ok(Some(Self {
            driver,
            servers: servers as u32,
            byte: figures.byte("storage.byte")?,
            latency: figures.time("storage.latency")?,
            client_byte: figures.byte("storage.client_byte")?,
        }))
    }
}

/// Layout of a file on its servers: stripe s is on server s mod [`Striping::servers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Striping {
    /// Number of bytes of a stripe or block, above 0.
    pub unit: u64,
    /// Number of servers that hold the file.
    pub servers: u32,
}

/// Work of a rank other than messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The rank computes for this number of picoseconds.
    Compute(Time),
    /// The rank hands a window to its write-behind worker and continues. The worker writes these extents one by one.
    Write(Vec<Extent>, Striping),
    /// The rank waits until at most this number of its windows are unwritten. It processes no arrivals meanwhile.
    Settle(u32),
}

/// State of the file's servers, and of the ranks that write.
#[derive(Debug)]
pub(super) struct Servers {
    storage: Option<Storage>,
    /// For each server: the time when it has served all its requests.
    free: Vec<Time>,
    writers: HashMap<u32, Writer>,
}

/// Write-behind worker of a rank.
#[derive(Debug, Default)]
struct Writer {
    /// Extents still to be written, each with its striping and true if it ends a window.
    queue: VecDeque<(Extent, Striping, bool)>,
    /// Number of windows that are not yet written.
    windows: u32,
    /// True if the extent being written ends a window; `None` if none is being written.
    writing: Option<bool>,
    /// True if the rank waits for the worker.
    awaited: bool,
}

impl Servers {
    pub(super) fn new(storage: Option<Storage>) -> Self {
        let free = vec![0; storage.map_or(0, |storage| storage.servers as usize)];
        Self { storage, free, writers: HashMap::default() }
    }

    /// Hands a window of a rank to the worker at `now`. Returns the time when the first extent is written, if the
    /// worker begins it now.
    pub(super) fn submit(&mut self, rank: u32, extents: &[Extent], striping: Striping, now: Time) -> Option<Time> {
        let last = extents.len().checked_sub(1)?;
        let writer = self.writers.entry(rank).or_default();
        writer.windows += 1;
        writer.queue.extend(extents.iter().enumerate().map(|(at, &extent)| (extent, striping, at == last)));
        if writer.writing.is_some() { None } else { self.begin(rank, now) }
    }

    /// Handles the event that the worker of a rank has written an extent. Returns the time when the next extent is
    /// written, and true if the rank may continue.
    pub(super) fn written(&mut self, rank: u32, now: Time) -> (Option<Time>, bool) {
        let writer = self.writers.entry(rank).or_default();
        let ended = writer.writing.take().unwrap_or_default();
        writer.windows -= u32::from(ended);
        let awaited = ended && std::mem::take(&mut writer.awaited);
        (self.begin(rank, now), awaited)
    }

    /// Returns true if at most `at_most` windows of a rank are unwritten; if not, marks the rank as waiting.
    pub(super) fn settled(&mut self, rank: u32, at_most: u32) -> bool {
        let Some(writer) = self.writers.get_mut(&rank) else { return true };
        writer.awaited = writer.windows > at_most;
        !writer.awaited
    }

    fn begin(&mut self, rank: u32, now: Time) -> Option<Time> {
        let writer = self.writers.get_mut(&rank)?;
        let (extent, striping, last) = writer.queue.pop_front()?;
        writer.writing = Some(last);
        Some(self.serve(extent, striping, now))
    }

    /// Returns the time when an extent that is requested at `now` is written. All its stripes are requested at once.
    /// O(stripes).
    fn serve(&mut self, extent: Extent, striping: Striping, now: Time) -> Time {
        let Some(storage) = self.storage else { return now };
        let servers = u64::from(striping.servers.clamp(1, storage.servers));
        let mut done = now + ticks(storage.latency + extent.len as f64 * storage.client_byte);
        let mut at = extent.offset;
        while at < extent.end() {
            let stripe = at / striping.unit;
            let end = extent.end().min((stripe + 1) * striping.unit);
            let free = &mut self.free[(stripe % servers) as usize];
            *free = now.max(*free) + ticks((end - at) as f64 * storage.byte);
            done = done.max(*free + ticks(storage.latency));
            at = end;
        }
        done
    }
}

impl<W: Workload> Engine<'_, W> {
    /// Starts a step of a rank. Returns true if the rank can continue at once.
    pub(super) fn take_step(&mut self, rank: Rank, handle: Handle, now: Time) -> bool {
        let host = &mut self.hosts[rank];
        match host.program.step() {
            None => {}
            Some(Step::Compute(time)) => host.cpu += self.network.work(*time as f64),
            // Servers must see the requests of ranks in the order of time.
            Some(_) if host.cpu > now => {
                host.pending = handle;
                self.wake(rank);
                return false;
            }
            Some(Step::Write(extents, striping)) => {
                if let Some(done) = self.servers.submit(rank as u32, extents, *striping, now) {
                    self.wheel.push(done, What::Written(rank as u32));
                }
            }
            Some(Step::Settle(at_most)) if self.servers.settled(rank as u32, *at_most) => {}
            // The event of the worker wakes the rank.
            Some(Step::Settle(_)) => {
                (host.pending, host.wakes) = (handle, true);
                return false;
            }
        }
        self.hosts[rank].finish(handle);
        true
    }

    /// Handles the completion of a worker's file write.
    pub(super) fn written(&mut self, rank: u32, now: Time) {
        let (next, awaited) = self.servers.written(rank, now);
        if let Some(done) = next {
            self.wheel.push(done, What::Written(rank));
        }
        if awaited {
            let host = &mut self.hosts[rank as usize];
            (host.cpu, host.wakes) = (host.cpu.max(now), false);
            self.advance(rank as Rank, now);
        }
    }
}
