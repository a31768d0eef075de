//! The conformance suite: runs the same collective writes on every fabric, with every kernel and driver.
//!
//! A byte's value is a function of its offset, the file has a background before the write, and the expected image is
//! made byte by byte, so a byte that is missing, misplaced or written into a hole is detected.

use std::path::Path;
use std::sync::LazyLock;

use crate::settings::{self, is_coupled};
use tributary::exchange::KERNELS;
use tributary::{BufferLayout, CallReport, Endpoint, Extent, Extents, File, Hints, Mode};

/// Defines tests by name, each with a number of ranks, with which `run` is called.
#[macro_export]
macro_rules! tests_of_ranks {
    ($run:ident: $($name:ident($ranks:literal)),+) => {$(
        #[test]
        fn $name() {
            $run($ranks);
        }
    )+};
}

/// A test case: extents and buffer layout of every rank.
pub struct Case {
    pub name: &'static str,
    pub file: Vec<Extents>,
    pub layout: Vec<BufferLayout>,
}

fn list(extents: impl IntoIterator<Item = (u64, u64)>) -> Extents {
    Extents::from_list(extents.into_iter().map(|(offset, len)| Extent { offset, len })).unwrap()
}

impl Case {
    fn contiguous(name: &'static str, file: Vec<Extents>) -> Self {
        let layout = file.iter().map(|_| BufferLayout::Contiguous).collect();
        Self { name, file, layout }
    }

    /// Returns cases with messages of more than a page from one piece of memory, and with windows of large pieces:
    /// neither is copied in user space. Too large for the tiny windows of the other cases.
    fn of_pages(ranks: usize) -> [Self; 2] {
        let interleaved = |len: u64, count| {
            let of = |rank| Extents::strided(rank * len, len, (len * ranks as u64) as i64, count).unwrap();
            (0..ranks as u64).map(of).collect::<Vec<_>>()
        };
        [
            Self::contiguous("messages of whole pages", interleaved(64, 900)),
            Self::contiguous("whole pages", interleaved(5000, 9)),
        ]
    }

    /// Returns all cases for `ranks` ranks.
    pub fn all(ranks: usize) -> Vec<Self> {
        let p = ranks as u64;
        let each = |of: &dyn Fn(u64) -> Extents| (0..p).map(of).collect::<Vec<_>>();
        let mut random = 1u64;
        let mut next = move |below: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % below
        };
        let mut holes = Vec::new();
        let mut at = 5;
        let mut lists = vec![Vec::new(); ranks];
        for _ in 0..40 * p {
            let len = next(90);
            lists[next(p) as usize].push((at, len));
            at += len + if next(3) == 0 { next(200) } else { 0 };
        }
        holes.extend(lists.iter().map(|l| list(l.iter().copied())));
        let unsorted = lists.iter().map(|l| list(l.iter().rev().copied())).collect();
        let gaps = |e: &Extents| {
            let mut at = 3;
            let place = |extent: Extent| {
                at += extent.len + 16;
                (at - extent.len - 16, extent.len)
            };
            BufferLayout::Extents(list(e.iter().map(place).collect::<Vec<_>>()))
        };
        let gapped = Self { name: "a buffer with gaps", layout: holes.iter().map(gaps).collect(), file: holes.clone() };
        vec![
            Self::contiguous("interleaved, full", each(&|r| Extents::strided(r * 8, 8, 8 * p as i64, 300).unwrap())),
            Self::contiguous("with holes", holes),
            gapped,
            Self::contiguous("unsorted lists", unsorted),
            Self::contiguous("one rank holds all", each(&|r| list((r == p / 2).then_some((100, 5000))))),
            Self::contiguous("nobody has anything", each(&|_| Extents::empty())),
            Self::contiguous("empty ranks", each(&|r| list((r % 3 == 0).then_some((r * 1000, 700))))),
            Self::contiguous("more aggregators than data", each(&|r| list((r == 0).then_some((17, 1))))),
            Self::contiguous("overlapping", each(&|r| list([(r * 50, 180), (r * 50 + 3000, 60), (3100, 40)]))),
            Self::contiguous("overlapping within a rank", each(&|r| list([(r * 99, 90), (r * 99 + 40, 80)]))),
            Self::contiguous("zero lengths", each(&|r| list([(r * 10, 0), (r * 10, 10), (r * 10 + 7, 0)]))),
            Self::contiguous("beyond 2^33", each(&|r| Extents::strided((1 << 33) + r * 24, 24, 4096, 9).unwrap())),
        ]
    }
}

/// Returns the value of the byte at `offset`, which is odd.
pub fn value(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 | 1
}

/// Returns the buffer of one rank, filled with the bytes that it writes.
pub fn buffer(file: &Extents, layout: &BufferLayout) -> Vec<u8> {
    let mut bytes = file.iter().flat_map(|e| e.offset..e.end()).map(value);
    match layout {
        BufferLayout::Contiguous => bytes.collect(),
        BufferLayout::Extents(memory) => {
            let mut buffer = vec![0; memory.span().map_or(0, |(_, end)| end) as usize];
            memory.iter().flat_map(|e| e.offset..e.end()).for_each(|at| buffer[at as usize] = bytes.next().unwrap());
            buffer
        }
    }
}

/// Value of bytes in the file before the write. It is even and all written values are odd, so that a changed hole,
/// also one filled with zeros, is detected.
const BACKGROUND: u8 = 0xee;
/// Number of bytes of the file before the write: it ends in the middle of the data of most cases.
const BACKGROUND_LEN: u64 = 2000;

/// Writes one case, checks the file on rank 0 and reads it back; with `everything`, also reads the whole file on every rank.
/// Collective; returns the endpoint.
pub fn write_and_check(endpoint: Endpoint, case: &Case, hints: &Hints, path: &Path, everything: bool) -> Endpoint {
    let rank = endpoint.rank();
    let base = case.file.iter().filter_map(Extents::span).map(|(start, _)| start).min().unwrap_or(0);
    let base = base - base % 4096;
    if rank == 0 {
        let background = std::fs::File::create(path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&background, &[BACKGROUND; BACKGROUND_LEN as usize], base).unwrap();
    }
    let mut file = File::open(endpoint, path, Mode::Update, hints.clone()).unwrap();
    let (extents, layout) = (&case.file[rank], &case.layout[rank]);
    let bytes = buffer(extents, layout);
    // The second write reuses the plan of the first with other bytes, so that a write without effect is detected.
    let mut others: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
    let first = file.write_all(extents, layout, &others).unwrap();
    // What was sent from there has arrived.
    others.fill(BACKGROUND);
    // Rank 0 checks the file between two barriers.
    if file.settings().hints.write_behind == Some(0) {
        meet(file.endpoint())
    } else {
        file.sync().unwrap()
    }
    if rank == 0 {
        check_image(case, path, base, |offset| !value(offset));
    }
    meet(file.endpoint());
    let again = file.write_all(extents, layout, &bytes).unwrap();
    assert_eq!(first.bytes, case.file.iter().map(Extents::bytes).sum::<u64>());
    assert_eq!((first.bytes_written, first.rounds), (again.bytes_written, again.rounds), "{}", case.name);
    let plans = first.path == tributary::engine::Path::Exchange;
    assert!(again.bytes == 0 || !plans || again.plan_reused, "the same call again costs no plan");
    assert_eq!(again.metadata_messages, 0);
    check_in_memory(case, hints, &first, &again);
    crate::reading::read_back(&mut file, case, &bytes);
    let fan_in = file.fan_in().unwrap();
    assert!(first.bytes == 0 || !plans || fan_in.min > 0, "{}: a round of nobody: {fan_in:?}", case.name);
    assert!(fan_in.max as usize <= case.file.len(), "{}: {fan_in:?}", case.name);
    let endpoint = file.close().unwrap();
    if rank == 0 {
        let written = check_image(case, path, base, value);
        assert_eq!(first.bytes_written, written, "{} under {hints:?}", case.name);
    }
    if everything {
        return crate::reading::read_everything(endpoint, case, hints, path, base);
    }
    endpoint
}

/// Waits for all ranks (a barrier). Collective.
fn meet(endpoint: &mut Endpoint) {
    let waiting = endpoint.waiting().clone();
    let mut words = [0];
    let all = tributary::collectives::allreduce(endpoint, &[tributary::schedule::ReduceOp::Sum], &mut words);
    waiting.wait(std::pin::pin!(all)).unwrap();
}

/// Checks that bytes go through shared memory of nodes if, and only if, the hints or `auto` take two layers and the hints
/// allow it.
fn check_in_memory(case: &Case, hints: &Hints, first: &CallReport, again: &CallReport) {
    use tributary::hints::{KernelHint, Switch};
    let ranks = case.file.len();
    let layer = KernelHint::TwoLayer;
    let allowed = hints.shared_memory != Switch::Disable;
    let asked = [hints.metadata_kernel(), hints.data_kernel()].contains(&layer);
    let in_nodes = allowed && asked && (2..ranks).contains(&hints.ranks_per_node) && hints.num_aggrs_per_node == 1;
    let chosen = [first, again].iter().any(|call| {
        call.auto.is_some_and(|choice| matches!(choice.kernel, tributary::engine::AutoKernel::TwoLayer { .. }))
    });
    if !(allowed && (asked || chosen)) {
        assert_eq!((first.in_memory, again.in_memory), (0, 0), "{} under {hints:?}", case.name);
    }
    if in_nodes && again.bytes > 0 && first.path == tributary::engine::Path::Exchange {
        let data = if hints.data_kernel() == layer { again.bytes } else { 0 };
        // Of its own bytes that overlap, a rank has each once.
        let overlaps = case.name.contains("overlapping") || case.name.contains("zero");
        assert!(overlaps || again.in_memory == data, "{} under {hints:?}", case.name);
        assert!(first.in_memory >= again.in_memory);
    }
}

/// Compares the file from `base` on with the expected image, whose written bytes are those of `value`; returns the
/// number of bytes that the case writes.
fn check_image(case: &Case, path: &Path, base: u64, value: impl Fn(u64) -> u8) -> u64 {
    let end = case.file.iter().filter_map(Extents::span).map(|(_, end)| end).max().unwrap_or(0);
    let end = end.max(base + BACKGROUND_LEN);
    let mut expected = vec![0u8; (end - base) as usize];
    expected[..BACKGROUND_LEN as usize].fill(BACKGROUND);
    let mut covered = 0;
    for extent in case.file.iter().flat_map(Extents::iter) {
        for offset in extent.offset..extent.end() {
            let byte = &mut expected[(offset - base) as usize];
            covered += u64::from(byte.is_multiple_of(2));
            *byte = value(offset);
        }
    }
    let file = crate::reading::seen_anew(path);
    assert_eq!(file.metadata().unwrap().len(), end, "{}: the file's length", case.name);
    let mut got = vec![0; expected.len()];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut got, base).unwrap();
    if let Some(at) = (0..got.len()).find(|&at| got[at] != expected[at]) {
        panic!("{}: byte {} is {}, but must be {}", case.name, base + at as u64, got[at], expected[at]);
    }
    covered
}

/// Returns hints for all combinations of kernels: (metadata, data) pairs, two layers inside and outside, the paper's
/// hybrid.
pub fn kernel_hints() -> Vec<String> {
    let mut all: Vec<String> = KERNELS.iter().map(|k| format!("trib_kernel={}", k.name)).collect();
    for outer in KERNELS {
        all.push(format!("trib_kernel=two_layer;trib_two_layer_outer={outer}"));
    }
    all.push("trib_kernel_meta=ascending_issend;trib_kernel_data=balanced".to_string());
    all.push("trib_kernel_meta=two_layer;trib_kernel_data=balanced".to_string());
    all.push("trib_kernel_meta=balanced;trib_kernel_data=two_layer".to_string());
    for (metadata, data) in [("two_layer", "two_layer"), ("balanced", "two_layer"), ("two_layer", "balanced")] {
        let kernels = format!("trib_kernel_meta={metadata};trib_kernel_data={data};trib_two_layer_outer=balanced");
        // Nodes with many members for one local aggregator.
        all.push(format!("{kernels};nc_num_aggrs_per_node=1;trib_ranks_per_node=9"));
    }
    all.push("trib_kernel_meta=balanced;trib_kernel_data=balanced;trib_rank_list=node_round_robin".to_string());
    all
}

/// Hints for each driver, with small windows, so that small cases take many rounds, and several nodes. A driver of
/// the registry without a row of its own gets a row for all.
pub static DRIVERS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let has_row = |name: &str| ROWS.iter().any(|row| row.starts_with(&format!("trib_driver={name};")));
    let others = settings::DRIVERS.into_iter().filter(|name| !has_row(name));
    let others = others.map(|name| format!("trib_driver={name};striping_unit=128;cb_buffer_size=640"));
    ROWS.into_iter().map(str::to_string).chain(others).collect()
});

const ROWS: [&str; 4] = [
    "trib_driver=lustre;striping_unit=256;striping_factor=3;cb_buffer_size=512",
    "trib_driver=lustre;striping_unit=512;striping_factor=2;cb_buffer_size=512;trib_placement=spread",
    "trib_driver=gpfs;striping_unit=128;cb_buffer_size=640",
    "trib_driver=posix;striping_unit=64;cb_buffer_size=700;cb_nodes=3;cb_config_list=*:*",
];

/// Returns hints for at least two throttles in both modes.
pub fn throttle_hints(kernels: &str) -> Vec<&'static str> {
    if is_coupled(kernels) {
        return vec![""];
    }
    vec![
        "trib_throttle_meta=2;trib_throttle_data=3;trib_throttle_mode=batch",
        "trib_throttle_meta=3;trib_throttle_data=1;trib_throttle_mode=window",
        "trib_throttle=none",
    ]
}

/// Without write-behind, and with the minimum and more.
const LATE: [&str; 6] = ["", "trib_write_behind=1M", "", "trib_write_behind=64M", "", ""];

/// Returns all hints that the suite tries on `ranks` ranks.
pub fn all_hints(ranks: usize) -> Vec<Hints> {
    // What is learned from the times of a call would make plans anew.
    let common = "romio_cb_write=enable;nc_num_aggrs_per_node=2;trib_tiny_call=0;trib_aggregators_fixed=true";
    let nodes = format!("trib_ranks_per_node={}", ranks.div_ceil(3).max(1));
    let with = |Setting { kernels, driver, throttle, numbers: [k, d, t] }: Setting| {
        let sieve = ["automatic", "enable", "disable"][(k + d + t) % 3];
        let buffers = 1 + (k + t) % 3;
        let late = LATE[(k + 2 * d + t) % LATE.len()];
        let text = format!(
            "{common};{nodes};{kernels};{driver};{throttle};{late};romio_ds_write={sieve};trib_write_buffers={buffers}"
        );
        Hints::parse(&text).unwrap()
    };
    matrix(&DRIVERS).into_iter().map(with).collect()
}

/// One setting of the matrix: hints for kernels, driver and throttle, and the number of each.
pub struct Setting {
    pub kernels: String,
    pub driver: String,
    pub throttle: &'static str,
    pub numbers: [usize; 3],
}

/// Returns the matrix of all tests of collective calls: all kernels with each of `drivers` (hints) and each throttle.
pub fn matrix(drivers: &[String]) -> Vec<Setting> {
    let mut all = Vec::new();
    for (k, kernels) in kernel_hints().into_iter().enumerate() {
        for (d, driver) in drivers.iter().enumerate() {
            for (t, throttle) in throttle_hints(&kernels).into_iter().enumerate() {
                all.push(Setting { kernels: kernels.clone(), driver: driver.clone(), throttle, numbers: [k, d, t] });
            }
        }
    }
    all
}

/// Runs the suite on the ranks of one endpoint, each case with a sixth of the hints, or a twelfth if there are more
/// ranks. (Each hint then meets a case. Programs in virtual time try many more combinations.) Collective.
pub fn run(endpoint: Endpoint, directory: &Path) {
    let part = if endpoint.ranks() <= 5 { 6 } else { 12 };
    run_part(endpoint, directory, part);
}

/// Runs the suite, each case with one in `part` of the hints. Each hint meets a case if there are `part` cases or
/// more, so every kernel meets every driver and throttle. A kernel's hints are a multiple of 3 apart from the next
/// kernel's; the shift by `h / part` keeps a case from meeting the same driver with all of them. Collective.
pub fn run_part(mut endpoint: Endpoint, directory: &Path, part: usize) {
    let ranks = endpoint.ranks();
    let cases = Case::all(ranks);
    for (h, hints) in all_hints(ranks).iter().enumerate() {
        for (c, case) in cases.iter().enumerate() {
            if (h + h / part + c).is_multiple_of(part) {
                let path = directory.join(format!("{ranks}-{h}-{c}"));
                endpoint = write_and_check(endpoint, case, hints, &path, ((h + h / part + c) / part).is_multiple_of(3));
                if endpoint.rank() == 0 {
                    std::fs::remove_file(&path).unwrap();
                }
            }
        }
    }
    for kernels in kernel_hints() {
        let hints = format!("romio_cb_write=enable;trib_tiny_call=0;cb_nodes=2;trib_ranks_per_node=4;{kernels}");
        for case in &Case::of_pages(ranks) {
            let path = directory.join(format!("{ranks}-pages"));
            endpoint = write_and_check(endpoint, case, &Hints::parse(&hints).unwrap(), &path, false);
        }
    }
    let disable = tributary::hints::Switch::Disable;
    let default = Hints { shared_memory: disable, ..Hints::default() };
    for case in &cases {
        let path = directory.join(format!("{ranks}-default"));
        endpoint = write_and_check(endpoint, case, &default, &path, true);
    }
    let direct = Hints { cb_write: disable, cb_read: disable, ..default };
    for case in &cases {
        endpoint = write_directly_and_check(endpoint, case, &direct, &directory.join(format!("{ranks}-direct")));
    }
}

/// Hints for paths through memory that the ranks share: with windows and rings from tiny to large, and without.
const SHARED: [&str; 7] = [
    "",
    "romio_cb_write=enable;romio_cb_read=enable",
    "romio_cb_write=enable;romio_cb_read=enable;cb_buffer_size=512;trib_driver=lustre;striping_unit=128;striping_factor=3",
    "romio_cb_write=enable;romio_cb_read=enable;cb_buffer_size=300;trib_driver=gpfs;striping_unit=100;romio_ds_write=enable",
    "romio_cb_write=enable;romio_cb_read=enable;cb_buffer_size=4096;romio_ds_write=disable",
    "romio_cb_write=enable;romio_cb_read=enable;cb_buffer_size=1;romio_ds_write=automatic",
    "romio_cb_write=automatic;cb_buffer_size=64;romio_cb_read=disable",
];

/// Runs the cases through memory that the ranks share. Collective.
pub fn run_shared(mut endpoint: Endpoint, directory: &Path) {
    let ranks = endpoint.ranks();
    for (h, text) in SHARED.iter().enumerate() {
        // Many ranks wait for each other at every window: fewer of them, of an odd size.
        let text = if ranks > 8 { text.replace("cb_buffer_size=1;", "cb_buffer_size=23;") } else { text.to_string() };
        for (c, case) in Case::all(ranks).iter().enumerate() {
            // A window of one byte and an offset beyond 2^33 would take days.
            let far = case.file.iter().filter_map(Extents::span).any(|(_, end)| end > 1 << 30);
            let late = LATE[(h + c) % LATE.len()];
            let hints = Hints::parse(&format!("trib_shared_memory=enable;{text};{late}")).unwrap();
            if !(far && text.contains("cb_buffer_size")) {
                let path = directory.join(format!("{ranks}-shared-{h}-{c}"));
                endpoint = write_and_check(endpoint, case, &hints, &path, true);
            }
        }
    }
}

/// Hints for kernels whose inner layer is memory that the ranks of a node share: both phases, one, and several groups
/// in a node.
const IN_NODES: [&str; 5] = [
    "trib_kernel=two_layer;nc_num_aggrs_per_node=1",
    "trib_kernel=two_layer;nc_num_aggrs_per_node=2;trib_two_layer_outer=ascending_isend",
    "trib_kernel=two_layer;nc_num_aggrs_per_node=1;trib_two_layer_outer=pairwise",
    "trib_kernel_meta=balanced;trib_kernel_data=two_layer;nc_num_aggrs_per_node=1;trib_two_layer_outer=spread_out",
    "trib_kernel_meta=two_layer;trib_kernel_data=balanced;nc_num_aggrs_per_node=1",
];

/// Runs the cases in which the ranks of each (pretended) node share memory, each with one in `part` of the hints.
/// Collective.
pub fn run_in_nodes(mut endpoint: Endpoint, directory: &Path, part: usize) {
    let ranks = endpoint.ranks();
    let common = "trib_shared_memory=enable;romio_cb_write=enable;romio_cb_read=enable;trib_tiny_call=0";
    let cases = Case::all(ranks);
    let mut number = 0;
    for kernels in IN_NODES {
        for driver in DRIVERS.iter() {
            for throttle in throttle_hints(kernels) {
                for per_node in [ranks.div_ceil(3), ranks.div_ceil(2)] {
                    // Where hosts hold no bytes of each other, every second time each writes its own.
                    let by_host = if number % 2 == 0 { "automatic" } else { "disable" };
                    let late = LATE[number / 2 % LATE.len()];
                    let text = format!(
                        "{common};{kernels};{driver};{throttle};{late};trib_ranks_per_node={per_node};trib_host_domains={by_host}"
                    );
                    let hints = Hints::parse(&text).unwrap();
                    for (c, case) in cases.iter().enumerate() {
                        if (number + c).is_multiple_of(part) {
                            let path = directory.join(format!("{ranks}-nodes-{number}-{c}"));
                            endpoint = write_and_check(endpoint, case, &hints, &path, true);
                            if endpoint.rank() == 0 {
                                std::fs::remove_file(&path).unwrap();
                            }
                        }
                    }
                    number += 1;
                }
            }
        }
    }
}

/// Checks that the path without exchange writes the same file. Collective; returns the endpoint.
fn write_directly_and_check(endpoint: Endpoint, case: &Case, hints: &Hints, path: &Path) -> Endpoint {
    let rank = endpoint.rank();
    let mut file = File::open(endpoint, path, Mode::Create, hints.clone()).unwrap();
    let bytes = buffer(&case.file[rank], &case.layout[rank]);
    let report = file.write_all(&case.file[rank], &case.layout[rank], &bytes).unwrap();
    crate::reading::read_back(&mut file, case, &bytes);
    let endpoint = file.close().unwrap();
    assert_eq!(report.bytes_written, report.bytes);
    if rank == 0 && report.bytes > 0 {
        let end = case.file.iter().filter_map(Extents::span).map(|(_, end)| end).max().unwrap();
        let base = case.file.iter().filter_map(Extents::span).map(|(start, _)| start).min().unwrap();
        let file = std::fs::File::open(path).unwrap();
        let mut got = vec![0; (end - base) as usize];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut got, base).unwrap();
        for extent in case.file.iter().flat_map(Extents::iter) {
            for offset in extent.offset..extent.end() {
                assert_eq!(got[(offset - base) as usize], value(offset), "{}: byte {offset}", case.name);
            }
        }
    }
    endpoint
}
