//! File servers: the time of file writes and reads.
//!
//! A file is striped over servers, or each node is the server of its ranks. A server serves the requests of all ranks one
//! by one, first come, first served. A rank's windows are written by the engine's helper threads, [`Storage::writers`] at
//! a time; the rank waits for the writes where its program says so ([`Step::Settle`]), and continues otherwise.

use std::collections::{HashMap, VecDeque};

use super::Time;
use super::engine::Engine;
use super::figures::Figures;
use super::message::{Leg, Message};
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
    /// Time of a byte that is read at a server, in picoseconds.
    pub read_byte: f64,
    /// Maximum number of windows that a rank's helper threads write or read at a time.
    pub writers: u32,
    /// Time for which a server is busy when the lock of a stripe moves to another node, in picoseconds.
    pub lock: f64,
    /// True if each node is its own server, which all files and only the node's ranks use, as an emulated host with a
    /// limited mount is.
    pub by_node: bool,
}

impl Storage {
    /// Returns the table `[storage]` of a machine file, if it has one.
    pub(super) fn parse(figures: &mut Figures<'_>) -> Result<Option<Self>> {
        if !figures.has("storage") {
            return Ok(None);
        }
        let driver = figures.text("storage.driver")?;
        let driver = match driver.parse() {
            Ok(driver @ (DriverName::Lustre | DriverName::Gpfs | DriverName::Posix)) => driver,
            _ => return Err(figures.error("storage.driver", driver, "lustre|gpfs|posix")),
        };
        // A file system of the driver `posix` has no servers that the library knows.
        let by_node = driver == DriverName::Posix;
        let mut whole = |path: &str| {
            let value = figures.count(path)?;
            let is_right = (1.0..=1e6).contains(&value) && value.fract() == 0.0;
            is_right.then_some(value as u32).ok_or_else(|| figures.error(path, value, "a whole number, 1 to 1000000"))
        };
        let servers = if by_node { 1 } else { whole("storage.servers")? };
        let writers = if by_node { whole("storage.writers")? } else { 1 };
        let byte = figures.byte("storage.byte")?;
        let read_byte = if figures.has("storage.read_byte") { figures.byte("storage.read_byte")? } else { byte };
        Ok(Some(Self {
            driver,
            servers,
            byte,
            latency: figures.time("storage.latency")?,
            client_byte: figures.byte("storage.client_byte")?,
            read_byte,
            writers,
            lock: if figures.has("storage.lock") { figures.time("storage.lock")? } else { 0.0 },
            by_node,
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
    /// The rank waits until at most this number of its windows are unwritten. It processes no arrivals
    /// meanwhile.
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
    /// Windows still to be begun.
    queue: VecDeque<Job>,
    /// Windows that are being written, each with the time when its current extent is done.
    running: Vec<(Time, Job)>,
    /// Number of windows that are not yet written.
    windows: u32,
    /// True if the rank waits for the worker.
    awaited: bool,
}

/// Window that a worker writes.
#[derive(Debug)]
struct Job {
    /// Extents that are still to be requested.
    extents: VecDeque<Extent>,
    striping: Striping,
}

impl Servers {
    /// Creates the servers of a machine of `nodes` nodes.
    pub(super) fn new(storage: Option<Storage>, nodes: usize) -> Self {
        let servers = |storage: Storage| if storage.by_node { nodes } else { storage.servers as usize };
        Self { storage, free: vec![0; storage.map_or(0, servers)], writers: HashMap::default() }
    }

    /// Hands a window of a rank to the worker at `now`: `step` is a write, and `node` the rank's. Returns the
    /// time when the first extent is done, if the worker begins it now.
    pub(super) fn submit(&mut self, (rank, node): (u32, usize), step: &Step, now: Time) -> Option<Time> {
        let Step::Write(extents, striping) = step else { return None };
        if extents.is_empty() {
            return None;
        }
        let writer = self.writers.entry(rank).or_default();
        writer.windows += 1;
        writer.queue.push_back(Job { extents: extents.iter().copied().collect(), striping: *striping });
        self.begin((rank, node), now)
    }

    /// Handles the event that the worker of a rank has written an extent. Returns the time when the next
    /// extent is done, and true if the rank may continue.
    pub(super) fn written(&mut self, (rank, node): (u32, usize), now: Time) -> (Option<Time>, bool) {
        let writer = self.writers.entry(rank).or_default();
        let first = (0..writer.running.len()).min_by_key(|&at| writer.running[at].0);
        let Some((_, job)) = first.map(|at| writer.running.remove(at)) else { return (None, false) };
        if !job.extents.is_empty() {
            return (self.run((rank, node), job, now), false);
        }
        writer.windows -= 1;
        let awaited = std::mem::take(&mut writer.awaited);
        (self.begin((rank, node), now), awaited)
    }

    /// Returns true if at most `at_most` windows of a rank are unwritten; if not, marks the rank as waiting.
    pub(super) fn settled(&mut self, rank: u32, at_most: u32) -> bool {
        let Some(writer) = self.writers.get_mut(&rank) else { return true };
        writer.awaited = writer.windows > at_most;
        !writer.awaited
    }

    /// Begins the next window of a rank, if there is one and a thread for it.
    fn begin(&mut self, place: (u32, usize), now: Time) -> Option<Time> {
        let threads = self.storage.map_or(1, |storage| storage.writers.max(1)) as usize;
        let writer = self.writers.get_mut(&place.0).filter(|writer| writer.running.len() < threads)?;
        let job = writer.queue.pop_front()?;
        self.run(place, job, now)
    }

    /// Requests the next extent of a window.
    fn run(&mut self, (rank, node): (u32, usize), mut job: Job, now: Time) -> Option<Time> {
        let extent = job.extents.pop_front()?;
        let done = self.serve(extent, job.striping, node, now);
        self.writers.get_mut(&rank)?.running.push((done, job));
        Some(done)
    }

    /// Returns the time when an extent that a rank of `node` writes from `now` on is written. All its stripes are
    /// requested at once. O(stripes).
    fn serve(&mut self, extent: Extent, striping: Striping, node: usize, now: Time) -> Time {
        let Some(storage) = self.storage else { return now };
        let byte = storage.byte;
        if storage.by_node {
            let free = &mut self.free[node];
            *free = now.max(*free) + ticks(extent.len as f64 * byte);
            let own = now + ticks(extent.len as f64 * storage.client_byte);
            return own.max(*free) + ticks(storage.latency);
        }
        let servers = u64::from(striping.servers.clamp(1, storage.servers));
        let mut done = now + ticks(storage.latency + extent.len as f64 * storage.client_byte);
        let mut at = extent.offset;
        while at < extent.end() {
            let stripe = at / striping.unit;
            let end = extent.end().min((stripe + 1) * striping.unit);
            let free = &mut self.free[(stripe % servers) as usize];
            *free = now.max(*free) + ticks((end - at) as f64 * byte);
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
            Some(Step::Compute(time)) => host.cpu = self.network.work_from(host.cpu, *time as f64),
            // Servers must see the requests of ranks in the order of time.
            Some(_) if host.cpu > now => {
                host.pending = handle;
                self.wake(rank);
                return false;
            }
            Some(step @ Step::Write(..)) => {
                let place = (rank as u32, self.network.node_of(rank as u32));
                if let Some(done) = self.servers.submit(place, step, now) {
                    self.wheel.push(done, Message::signal(Leg::WRITTEN, rank as u32));
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
        let (next, awaited) = self.servers.written((rank, self.network.node_of(rank)), now);
        if let Some(done) = next {
            self.wheel.push(done, Message::signal(Leg::WRITTEN, rank));
        }
        if awaited {
            let host = &mut self.hosts[rank as usize];
            (host.cpu, host.wakes) = (host.cpu.max(now), false);
            self.advance(rank as Rank, now);
        }
    }
}
