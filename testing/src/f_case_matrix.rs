//! Writes the E3SM F case collectively with every kernel setting, driver and throttle, and compares with the file
//! that one process writes element by element.

use std::path::{Path, PathBuf};
use std::time::Instant;

use tributary::engine;
use tributary::{Endpoint, File, Mode};
use tributary_benchmarks::{E3smF, ElementType, Pattern, RankAccess};

use crate::settings::{DRIVERS, KERNELS, hints, throttles};

/// Number of ranks of both maps.
pub const RANKS: usize = 16;
/// Hints for four nodes, four aggregators and eight local aggregators.
const COMMON: &str = "romio_cb_write=enable;trib_tiny_call=0;trib_ranks_per_node=4;nc_num_aggrs_per_node=2;striping_factor=4;trib_aggregators_fixed=true";

/// Hints with small windows for the shipped map, so that a write takes many rounds.
pub const SMALL: &str = "striping_unit=64KiB;cb_buffer_size=128KiB";
/// Hints with windows for the real map.
pub const REAL: &str = "striping_unit=256KiB;cb_buffer_size=1MiB";

/// Returns the bytes of the file that one process writes.
pub fn serial(case: &E3smF, directory: &Path) -> Vec<u8> {
    let path = directory.join("serial");
    case.write_serially(&std::fs::File::create(&path).unwrap()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    bytes
}

/// Returns the case on the benchmark's own map, if that file exists here.
pub fn real_map() -> Option<E3smF> {
    let given = std::env::var_os("TRIB_E3SM_MAP").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/e3sm/map_f_case_16p.nc");
    let path = given.unwrap_or(beside);
    if !path.exists() {
        eprintln!("skipped: {} is not there; TRIB_E3SM_MAP names the benchmark's map_f_case_16p.nc", path.display());
        return None;
    }
    Some(E3smF::from_map_file(&path, ElementType::Double).unwrap())
}

/// Writes `case` with one in `part` of all settings (each kernel with each driver and each throttle that the kernel
/// has); rank 0 compares each file with `expected`. Collective.
pub fn run(mut endpoint: Endpoint, case: &E3smF, expected: &[u8], directory: &Path, windows: &str, part: usize) {
    let access = case.rank_access(endpoint.rank(), 0).unwrap();
    let mut buffer = vec![0; access.file.bytes() as usize];
    case.fill(endpoint.rank(), 0, &mut buffer).unwrap();
    let (start, mut count) = (Instant::now(), 0);
    for (k, (name, kernels)) in KERNELS.iter().copied().enumerate() {
        for (d, driver) in DRIVERS.into_iter().enumerate() {
            let all = throttles(kernels).iter().enumerate();
            for (t, throttle) in all.filter(|(t, _)| (k + d + t).is_multiple_of(part)) {
                let hints = format!("{COMMON};{windows};{kernels};{throttle};trib_driver={driver}");
                let what = format!("{name}, {driver}, {throttle}");
                let path = directory.join(format!("{k}-{d}-{t}"));
                endpoint = write(endpoint, case, &access, &buffer, &hints, &path, &what);
                if endpoint.rank() == 0 {
                    compare(&path, expected, &what);
                }
                count += 1;
            }
        }
    }
    if endpoint.rank() == 0 {
        let pattern = case.describe();
        eprintln!("{pattern}: {count} files in {:.1} s", start.elapsed().as_secs_f64());
    }
}

fn write(
    endpoint: Endpoint,
    case: &E3smF,
    access: &RankAccess,
    buffer: &[u8],
    text: &str,
    path: &Path,
    what: &str,
) -> Endpoint {
    let mut file = File::open(endpoint, path, Mode::Create, hints(&[text])).unwrap();
    assert_eq!(file.settings().topology.nodes(), 4, "{what}");
    let of_node = match text {
        text if text.contains("trib_driver=gpfs") => 2,
        text if text.contains("trib_driver=nfs") => 4,
        _ => 1,
    };
    assert_eq!(file.settings().aggregators.len(), 4 * of_node, "{what}");
    let report = file.write_all(&access.file, &access.layout, buffer).unwrap();
    let totals = case.totals();
    assert_eq!(report.path, engine::Path::Exchange, "{what}: {}", report.why());
    assert_eq!((report.requests, report.bytes), (totals.requests, totals.bytes), "{what}");
    assert_eq!(report.bytes_written, totals.bytes, "{what}");
    assert!(report.rounds > 1, "{what}: {} rounds", report.rounds);
    let fan_in = file.fan_in().unwrap();
    assert!(fan_in.max > 1 && fan_in.max as usize <= RANKS, "{what}: {fan_in:?}");
    let mut back = vec![0xa4; buffer.len()];
    let read = file.read_all(&access.file, &access.layout, &mut back).unwrap();
    assert!(back == buffer, "{what}: other bytes are read than were written");
    assert_eq!((read.call.bytes_read, read.call.rounds), (totals.bytes, report.rounds), "{what}");
    file.close().unwrap()
}

fn compare(path: &Path, expected: &[u8], what: &str) {
    let got = std::fs::read(path).unwrap();
    assert_eq!(got.len(), expected.len(), "{what}: the file's length");
    if got != expected {
        let at = (0..got.len()).find(|&at| got[at] != expected[at]).unwrap_or_default();
        let wrong = (0..got.len()).filter(|&at| got[at] != expected[at]).count();
        panic!("{what}: {wrong} bytes differ, the first at {at}: {}, but must be {}", got[at], expected[at]);
    }
    std::fs::remove_file(path).unwrap();
}
