//! What the engine's own choices lose, in virtual time: each program is written on a bed with defaults, and in every way that a
//! hint can force. Regret is the time with defaults divided by the least time; 1 is perfect.
//!
//! Messages and calls on the file take time, processors take none. So the figures show the choices that depend on links and files,
//! and not those that depend on copies.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::Duration;

use tributary::{BufferLayout, Extents, File, Hints, Mode};
use tributary_benchmarks::{
    Btio, BtioOptions, E3sm, ElementType, Flash, FlashOptions, Ior, IorOptions, Pattern, S3d, S3dOptions,
};

use crate::virtual_time::file::{Faults, Opener};
use crate::virtual_time::network::{Links, Sent};
use crate::virtual_time::tasks::{Ended, split_mix};
use crate::virtual_time::{Delays, Place, run_on};

/// Nanoseconds of a message between hosts, and in a host, beyond its bytes.
const LATENCY: [u64; 2] = [30_000, 2_000];
/// Bytes a second in the memory of a host.
const MEMORY: u64 = 4_000_000_000;
/// Bytes of a stripe of a file on servers.
const STRIPE: u64 = 1 << 20;

/// Hosts, links and a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bed {
    /// Number of hosts, of which each has as many ranks.
    pub hosts: usize,
    /// Mean microseconds of a call on the file, beyond its bytes.
    pub latency: u64,
    /// MB a second of the file, for each host or server.
    pub rate: u64,
    /// Number of servers of the file; `None` if each host has its own rate.
    pub servers: Option<usize>,
    /// MB a second of the link of a host, in each direction.
    pub link: u64,
}

impl Display for Bed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { hosts, latency, rate, servers, link } = self;
        let of = servers.map_or("a host".to_string(), |servers| format!("for each of {servers} servers"));
        let links = if *hosts > 1 { format!(", links {link} MB/s") } else { String::new() };
        write!(f, "{hosts} hosts, file {latency} us and {rate} MB/s {of}{links}")
    }
}

/// Returns all beds.
pub fn beds() -> Vec<Bed> {
    let mut all = Vec::new();
    for hosts in [1, 2, 4, 8] {
        for latency in [50, 300, 1_000, 5_000, 20_000] {
            for rate in [25, 100, 400] {
                for servers in [None, Some(4)] {
                    let links: &[u64] = if hosts == 1 { &[900] } else { &[25, 100, 900] };
                    all.extend(links.iter().map(|&link| Bed { hosts, latency, rate, servers, link }));
                }
            }
        }
    }
    all
}

/// Returns `count` beds that a seed chooses.
pub fn sample(mut beds: Vec<Bed>, count: usize, mut seed: u64) -> Vec<Bed> {
    let mut chosen = Vec::new();
    while chosen.len() < count && !beds.is_empty() {
        let at = split_mix(&mut seed) as usize % beds.len();
        chosen.push(beds.swap_remove(at));
    }
    chosen
}

/// The collective writes of a program: for each rank, its calls.
pub struct Calls {
    /// Name of the program.
    pub name: &'static str,
    ranks: Vec<Vec<(Extents, BufferLayout, usize)>>,
}

impl Calls {
    fn of(name: &'static str, pattern: &dyn Pattern) -> Self {
        let call = |rank, step| {
            let access = pattern.rank_access(rank, step).unwrap();
            let len = access.buffer_len() as usize;
            (access.file, access.layout, len)
        };
        let calls = |rank| (0..pattern.steps()).map(|step| call(rank, step)).collect();
        Self { name, ranks: (0..pattern.ranks()).map(calls).collect() }
    }

    /// Pieces of 4 KiB, of which every second one is nobody's.
    fn with_gaps(ranks: usize) -> Self {
        let (piece, count) = (4 << 10, 64);
        let call = |rank: usize, step: u64| {
            let first = (step * count * ranks as u64 + rank as u64) * 2 * piece;
            let file = Extents::strided(first, piece, (2 * ranks as u64 * piece) as i64, count).unwrap();
            (file, BufferLayout::Contiguous, (piece * count) as usize)
        };
        Self { name: "gaps", ranks: (0..ranks).map(|rank| (0..4).map(|step| call(rank, step)).collect()).collect() }
    }
}

/// Returns the programs for a number of ranks, a square.
pub fn programs(ranks: usize) -> Vec<Arc<Calls>> {
    let of = |name, pattern: &dyn Pattern| Arc::new(Calls::of(name, pattern));
    let f = E3sm::shipped_as(ElementType::Double).and_then(|f| f.with_ranks(ranks, true)).unwrap();
    // The smallest grid that can be divided among so many ranks.
    let least = 3 * ranks.isqrt() as u64;
    let strided =
        IorOptions { transfer: 64 << 10, block: 64 << 10, segments: 32, one_call: true, ..Default::default() };
    vec![
        of("E3SM-IO F", &f),
        of("BTIO", &Btio::new(ranks, BtioOptions { grid: least.max(64), iterations: 4 }).unwrap()),
        of("S3D-IO", &S3d::new(ranks, S3dOptions::default()).unwrap()),
        of("FLASH-IO", &Flash::new(ranks, FlashOptions { blocks: 20, ..Default::default() }).unwrap()),
        of("IOR 64 KiB x 32", &Ior::new(ranks, strided).unwrap()),
        Arc::new(Calls::with_gaps(ranks)),
    ]
}

/// Returns the hints that force a way on a bed. The first are the defaults: none.
pub fn ways(bed: &Bed, ranks: usize) -> Vec<String> {
    let mut ways = vec![String::new()];
    // Where the file system locks stripes, ranks never write by themselves; the time of locks is not simulated.
    ways.extend(bed.servers.is_none().then(|| "romio_cb_write=disable".into()));
    let exchange = if bed.hosts == 1 { "trib_shared_memory=disable" } else { "trib_host_domains=disable" };
    let counts = [1, 2, 4, 8].into_iter().filter(|&count| count <= ranks);
    ways.extend(counts.map(|count| format!("{exchange};cb_nodes={count}")));
    ways.extend(["256k", "1m", "4m", "16m"].map(|size| format!("{exchange};cb_buffer_size={size}")));
    ways.extend(["flat", "two_layer"].map(|kernel| format!("{exchange};trib_kernel={kernel}")));
    match bed.hosts {
        1 => ways.push("trib_shared_memory=enable;cb_buffer_size=4m".into()),
        _ => ways.extend([exchange.to_string(), "trib_host_domains=enable".into()]),
    }
    ways
}

/// Links of hosts: messages of a host leave one after the other, and arrive one after the other.
struct HostLinks {
    hosts: Vec<usize>,
    rate: u64,
    /// Time from which on the link of a host is free, out and in.
    free: HashMap<(usize, bool), u64>,
}

impl Links for HostLinks {
    fn arrival(&mut self, sent: Sent, _: &dyn Fn(u64) -> u64) -> u64 {
        let (from, to) = (self.hosts[sent.from], self.hosts[sent.to]);
        if from == to {
            return sent.now + LATENCY[1] + sent.bytes * 1_000_000_000 / MEMORY;
        }
        let takes = sent.bytes * 1_000_000_000 / self.rate;
        let out = self.free.entry((from, true)).or_default();
        let left = (*out).max(sent.now);
        *out = left + takes;
        // A message that cannot leave yet does not keep the link of its receiver from others.
        let into = self.free.entry((to, false)).or_default();
        *into = (*into).max(sent.now) + takes;
        (*into).max(left + takes) + LATENCY[0]
    }
}

/// Returns the time that a program takes for its writes, from the first call to the end of the close; `None` if the engine refuses the
/// hints.
pub fn time(bed: &Bed, calls: &Arc<Calls>, hints: &str) -> Option<Taken> {
    let hints = Hints::parse(hints).ok()?;
    let ranks = calls.ranks.len();
    hints.check(ranks).ok()?;
    let hosts: Vec<usize> = (0..ranks).map(|rank| rank * bed.hosts / ranks).collect();
    let place = Place {
        hosts: hosts.clone(),
        delays: Delays {
            message: Duration::ZERO,
            // The time of a call is anything between nothing and twice the mean.
            file: Duration::from_micros(2 * bed.latency),
            rate: bed.rate * 1_000_000,
            compute: Duration::ZERO,
        },
        lost_cores: 0,
        shares_memory: true,
        servers: bed.servers.map(|servers| (servers, STRIPE)),
        faults: Faults::default(),
        killed_after: None,
    };
    let links = HostLinks { hosts, rate: bed.link * 1_000_000, free: HashMap::new() };
    let calls = calls.clone();
    let outcome = run_on(1, &place, Box::new(links), move |own| {
        let files = Arc::new(Opener(own.files.clone(), own.rank));
        let mut file = File::open_on(own.endpoint(), "f", Mode::Create, hints.clone(), files).unwrap();
        // As under an MPI program: nobody else writes the file.
        file.set_sole_writer(true);
        let begin = own.now();
        let mut paths = Vec::new();
        for (extents, layout, len) in &calls.ranks[own.rank] {
            let report = file.write_all(extents, layout, &vec![0; *len]).unwrap();
            let expected =
                report.expected.map(|times| format!(" ({:.4} by hosts, {:.4})", times.hosts, times.exchange));
            let windows = format!("{}{}x{}", report.path.name(), expected.unwrap_or_default(), report.rounds);
            paths.push(format!("{windows} {:.4}", report.seconds.total));
        }
        file.close().map(drop).unwrap();
        Taken { time: own.now() - begin, paths }
    });
    assert!(matches!(outcome.ended, Ended::All(_)), "{outcome:?}");
    outcome.ranks.into_iter().flatten().max_by_key(|taken| taken.time)
}

/// What a run took.
#[derive(Debug, Clone)]
pub struct Taken {
    /// The time of the slowest rank.
    pub time: Duration,
    /// The path of each call, with the expected times if there are some, its windows and its seconds.
    pub paths: Vec<String>,
}

/// A program on a bed.
#[derive(Debug, Clone)]
pub struct Regret {
    /// The bed.
    pub bed: Bed,
    /// Name of the program.
    pub program: &'static str,
    /// The run with defaults.
    pub defaults: Taken,
    /// The fastest way, and its run.
    pub best: (String, Taken),
}

impl Regret {
    /// Runs a program on a bed in every way.
    pub fn of(bed: Bed, calls: &Arc<Calls>) -> Self {
        let timed = |hints: String| time(&bed, calls, &hints).map(|time| (hints, time));
        let times: Vec<_> = ways(&bed, calls.ranks.len()).into_iter().filter_map(timed).collect();
        let best = times.iter().min_by_key(|(_, taken)| taken.time).unwrap().clone();
        Self { bed, program: calls.name, defaults: times[0].1.clone(), best }
    }

    /// Returns the time with defaults divided by the least time.
    pub fn times(&self) -> f64 {
        self.defaults.time.as_secs_f64() / self.best.1.time.as_secs_f64()
    }
}
