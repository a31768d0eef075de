//! Writes every pattern, in a small size, with a part of the [`matrix`], and reads it back. The file must equal the file that one
//! process writes, and a read must return every rank's own bytes and change nothing else in its buffer. Works on any
//! fabric.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tributary::hints::Switch;
use tributary::{Endpoint, Extent, Extents, File, Mode, engine};
use tributary_benchmarks::e3sm::{Content, E3smCase, Generator, History};
use tributary_benchmarks::list::{Lists, write_binary};
use tributary_benchmarks::wrf::{Replay, ReplaySettings, Trace};
use tributary_benchmarks::*;

use crate::settings::{DRIVERS, KERNELS, hints};
use crate::suite::{Setting, matrix};

/// Number of ranks of all patterns: a square, for BTIO.
pub const RANKS: usize = 16;
/// Hints for four nodes and small windows, so that every call takes many rounds.
const COMMON: &str = "romio_cb_write=enable;romio_cb_read=enable;trib_tiny_call=0;trib_ranks_per_node=4;\
                      nc_num_aggrs_per_node=2;striping_factor=3;trib_overlap=rank_order";
/// Value of bytes in gaps of a buffer.
const GAP: u8 = 0xa5;

/// A pattern, and hints with windows that fit its size.
pub type Sized = (Box<dyn Pattern>, &'static str);

const SMALL: &str = "striping_unit=4KiB;cb_buffer_size=8KiB";
const LARGER: &str = "striping_unit=32KiB;cb_buffer_size=64KiB";

/// Returns all patterns that write files.
pub fn all() -> Vec<Sized> {
    let mut all: Vec<Sized> = Vec::new();
    let block4d = Block4dOptions { lattice: [6, 5, 4, 9], grid: None, site: 24 };
    all.push((Box::new(Block4d::new(RANKS, block4d).unwrap()), SMALL));
    all.push((Box::new(Btio::new(RANKS, BtioOptions { grid: 13, iterations: 3 }).unwrap()), SMALL));
    for file in [FlashFile::Checkpoint, FlashFile::PlotCenter, FlashFile::PlotCorner] {
        let options = FlashOptions { file, cells: [2, 2, 2], blocks: 5, ..FlashOptions::default() };
        all.push((Box::new(Flash::new(RANKS, options).unwrap()), SMALL));
    }
    for one_call in [false, true] {
        let options = IorOptions { transfer: 1000, block: 3000, segments: 2, one_call, ..IorOptions::default() };
        all.push((Box::new(Ior::new(RANKS, options).unwrap()), SMALL));
    }
    for call_per_array in [false, true] {
        let options = S3dOptions { points: Some([8, 6, 4]), grid: Some([4, 2, 2]), call_per_array };
        all.push((Box::new(S3d::new(RANKS, options).unwrap()), SMALL));
    }
    for (case, history) in
        [(E3smCase::F, History::H0), (E3smCase::F, History::H1), (E3smCase::G, History::H0), (E3smCase::I, History::H0)]
    {
        let options = GeneratorOptions { columns_per_rank: 2, groups: 2, seed: 1 };
        let content = Content { case, history, records: 2, ..Content::default() };
        let generated = Arc::new(Generator::from_case(case, RANKS, options).unwrap());
        all.push((Box::new(E3sm::with_content(generated, content).unwrap()), LARGER));
    }
    all.push((Box::new(lists()), "striping_unit=128;cb_buffer_size=256"));
    all.push((Box::new(E3smF::shipped().unwrap()), "striping_unit=64KiB;cb_buffer_size=128KiB"));
    all.extend(real_map().map(|case| -> Sized { (Box::new(case), "striping_unit=256KiB;cb_buffer_size=1MiB") }));
    all
}

/// Returns the E3SM F case on the benchmark's own map, if that file exists here.
fn real_map() -> Option<E3smF> {
    let given = std::env::var_os("TRIB_E3SM_MAP").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/e3sm/map_f_case_16p.nc");
    let path = given.unwrap_or(beside);
    if !path.exists() {
        eprintln!("skipped: {} is not there; TRIB_E3SM_MAP names the benchmark's map_f_case_16p.nc", path.display());
        return None;
    }
    Some(E3smF::from_map_file(&path, ElementType::Double).unwrap())
}

/// Returns a pattern of unsorted extents that overlap extents of other ranks and of their own.
fn lists() -> ListPattern {
    let list = |rank: u64| {
        let extent = |k: u64| Extent { offset: (k * 7919 + rank * 104_729) % 9000, len: 1 + (k * 31 + rank) % 200 };
        Extents::from_list((0..30).map(extent))
    };
    let mut bytes = Vec::new();
    write_binary(&mut bytes, RANKS, &mut |rank| Ok(list(rank as u64)?)).unwrap();
    ListPattern::new(Lists::from_bytes("test", bytes).unwrap())
}

/// Returns the bytes of the file that one process writes.
pub fn serial(pattern: &dyn Pattern, directory: &Path) -> Vec<u8> {
    let path = directory.join("serial");
    pattern.write_serially(&std::fs::File::create(&path).unwrap()).unwrap();
    std::fs::read(&path).unwrap()
}

/// Writes and reads each pattern with one in `part` settings of the matrix: each setting meets a pattern if there are `part` patterns.
/// `expected` has the files that one process writes, on all ranks. Collective.
pub fn run(
    mut endpoint: Endpoint,
    patterns: &[Sized],
    expected: &[Vec<u8>],
    directory: &Path,
    part: usize,
) -> Endpoint {
    let each = (part / patterns.len()).max(1);
    for (p, ((pattern, windows), expected)) in patterns.iter().zip(expected).enumerate() {
        let first = (p * each + p % each) % part;
        let drivers = DRIVERS.map(|driver| format!("trib_driver={driver}"));
        for (number, setting) in matrix(&drivers).into_iter().enumerate().skip(first).step_by(part) {
            let Setting { kernels, driver, throttle, .. } = setting;
            let (k, buffers) = (number / part, format!("trib_write_buffers={}", 1 + number / part % 2));
            // Every second time, hosts agree in memory.
            let memory = if k % 2 == 0 { "trib_shared_memory=automatic" } else { "trib_shared_memory=enable" };
            let memory = if kernels.contains("two_layer") { memory } else { "" };
            let hints = hints(&[COMMON, windows, &kernels, &driver, throttle, &buffers, memory]);
            let path = directory.join(format!("{p}-{number}"));
            let what = format!("{}: {kernels}; {driver}; {throttle}", pattern.describe());
            let file = File::open(endpoint, &path, Mode::Create, hints.clone()).unwrap();
            let may_be_by_host = hints.shared_memory == Switch::Enable;
            let writers = write(file, &**pattern, may_be_by_host);
            if writers.rank() == 0 {
                let written = std::fs::read(&path).unwrap();
                let differ = written.iter().zip(expected).position(|(a, b)| a != b);
                assert_eq!((written.len(), differ), (expected.len(), None), "{what}");
            }
            let file = File::open(writers, &path, Mode::Read, hints).unwrap();
            endpoint = read(file, &**pattern, expected, &what);
            if endpoint.rank() == 0 {
                std::fs::remove_file(&path).unwrap();
            }
        }
    }
    endpoint
}

fn write(mut file: File, pattern: &dyn Pattern, may_be_by_host: bool) -> Endpoint {
    let rank = file.endpoint().rank();
    for step in 0..pattern.steps() {
        let access = pattern.rank_access(rank, step).unwrap();
        let mut data = vec![0; access.file.bytes() as usize];
        pattern.fill(rank, step, &mut data).unwrap();
        let report = file.write_all(&access.file, &access.layout, &access.scatter(&data, GAP).unwrap()).unwrap();
        let by_host = may_be_by_host && report.path == engine::Path::Hosts;
        assert!(by_host || report.path == engine::Path::Exchange, "{}: {}", report.path, report.why());
    }
    file.close().unwrap()
}

fn read(mut file: File, pattern: &dyn Pattern, expected: &[u8], what: &str) -> Endpoint {
    let rank = file.endpoint().rank();
    for step in 0..pattern.steps() {
        let access = pattern.rank_access(rank, step).unwrap();
        let of = |extent: Extent| &expected[extent.offset as usize..extent.end() as usize];
        let data: Vec<u8> = access.file.iter().flat_map(of).copied().collect();
        let mut stated = vec![0; data.len()];
        pattern.fill_as_read(rank, step, &mut stated).unwrap();
        assert!(stated == data, "{what}, rank {rank}, call {step}: the pattern states other bytes than the file has");
        let wanted = access.scatter(&data, GAP).unwrap();
        let mut buffer = access.scatter(&vec![!GAP; data.len()], GAP).unwrap();
        let report = file.read_all(&access.file, &access.layout, &mut buffer).unwrap();
        assert!(buffer == wanted, "{what}, rank {rank}, call {step}: other bytes are read");
        assert_eq!(report.bytes, data.len() as u64, "{what}");
    }
    file.close().unwrap()
}

/// Replays the exchange pattern, a small trace, with every kernel setting. Collective; returns the endpoint.
pub fn exchange(mut endpoint: Endpoint) -> Endpoint {
    let trace = Arc::new(Trace::from_bytes("test", &trace()).unwrap());
    let bytes = trace.bytes();
    let replay = Replay::new(trace);
    for (name, kernels) in KERNELS.iter().copied() {
        let hints = hints(&[kernels, "nc_num_aggrs_per_node=2"]);
        let topology = tributary::Topology::blocks(RANKS, 4).unwrap();
        let report = replay.run(&mut endpoint, &ReplaySettings::from_hints(&hints, &topology).unwrap()).unwrap();
        assert_eq!((report.bytes_sent, report.bytes_received), (bytes, bytes), "{name}");
    }
    endpoint
}

/// Returns a trace file of three rounds: every rank sends to every fifth.
fn trace() -> Vec<u8> {
    let (rounds, size) =
        (3, |round: usize, from: usize, to: usize| 1 + (round * 7919 + from * 104_729 + to * 31) % 50_000);
    let sends = |round: usize| (round..RANKS).step_by(5).collect::<Vec<_>>();
    let mut blocks: Vec<Vec<i32>> = Vec::new();
    for rank in 0..RANKS {
        let mut block = Vec::new();
        for sending in [true, false] {
            let peers = |round: usize| match sending {
                true => sends(round),
                false if sends(round).contains(&rank) => (0..RANKS).collect(),
                false => Vec::new(),
            };
            block.extend((0..rounds).map(|round| peers(round).len() as i32));
            for round in 0..rounds {
                block.extend(peers(round).iter().map(|&peer| peer as i32));
                let of = |peer| if sending { size(round, rank, peer) } else { size(round, peer, rank) };
                block.extend(peers(round).into_iter().map(|peer| of(peer) as i32));
            }
        }
        blocks.push(block);
    }
    let header = [RANKS as i32, rounds as i32].into_iter().chain(blocks.iter().map(|block| block.len() as i32));
    header.chain(blocks.iter().flatten().copied()).flat_map(i32::to_le_bytes).collect()
}
