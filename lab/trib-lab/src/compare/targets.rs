//! Targets of speed, and the rows that miss them.
//!
//! Only targets that a single row can show are checked here; not those that need a real program (HDF5's tests, PnetCDF
//! above GIO) or rows of several numbers of ranks.

use serde::Serialize;

use super::row::{READ, Row};
use super::show::{mean, number};
use trib::Failure;

/// Number of pairs of a row to which targets apply, at the usual sizes.
const PAIRS: u64 = 7;
/// Minimum geometric mean of all wall ratios, by peer.
const MEANS: [(&str, f64); 2] = [("default", 2.0), ("best", 1.5)];
/// Maximum time of a small call, as a multiple of the time of the MPI library's own.
const SMALL_CALL: f64 = 1.1;
/// Seconds that a small call may take in addition, where each rank has a core, and where ranks share cores.
const SMALL_CALL_SECONDS: [f64; 2] = [5e-6, 20e-6];
/// Number of bytes that a job may hold in addition to the MPI library's own, for each host, which has at least one
/// aggregator: two windows of the usual `cb_buffer_size`.
const JOB_BYTES: f64 = 2.0 * 16.0 * 1048576.0;
/// Name of a peer that must not be faster than our library, as the best hints must not.
const GIO: &str = "gio";

/// Target that a row misses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Missed {
    /// Name of the missed number: a ratio, a multiple, or microseconds.
    pub what: String,
    /// Measured value.
    pub value: f64,
    /// Target value: a minimum (ratios) or a maximum.
    pub target: f64,
    /// Factor by which the target was missed.
    pub by: f64,
    /// Ratio that the row would have if our library took no longer than the floor. If it is below the target, the
    /// target is out of reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_floor: Option<f64>,
}

impl Missed {
    fn below(what: &str, value: Option<f64>, target: f64, at_floor: Option<f64>) -> Option<Self> {
        let value = value.filter(|value| value.is_finite() && *value < target)?;
        let by = if value > 0.0 { target / value } else { f64::MAX };
        Some(Self { what: what.to_string(), value, target, by, at_floor })
    }

    fn above(what: &str, value: f64, target: f64) -> Option<Self> {
        let is_judged = value.is_finite() && target.is_finite() && value > target;
        let by = if target > 0.0 { value / target } else { f64::MAX };
        is_judged.then(|| Self { what: what.to_string(), value, target, by, at_floor: None })
    }

    /// Returns as text the measured value, the target, and the value at the floor.
    pub fn numbers(&self) -> [String; 3] {
        // These numbers have more digits than elsewhere, because 0.996 is not 1.
        let exact = |value: f64| if value < 10.0 { format!("{value:.3}") } else { number(value) };
        [exact(self.value), exact(self.target), self.at_floor.map_or("-".to_string(), number)]
    }
}

/// Returns the minimum ratio of the best hints' time to ours.
fn ratio_target(pattern: &str) -> f64 {
    match pattern {
        "e3sm-f" | "e3sm-f-over" | "e3sm-g" | "e3sm-i" | "memory" => 2.0,
        "btio" | "btio-netcdf" | "flash" | "flash-over" | "s3d" | "block4d" => 1.5,
        _ => 1.0,
    }
}

/// Returns the maximum of our time as a multiple of the floor's time, for patterns with such a target.
fn floor_target(pattern: &str) -> Option<f64> {
    match pattern {
        "flash" | "btio" | "ior-segmented" | "ior-strided" | "ior-strided-64k" | "contiguous" => Some(1.5),
        "e3sm-f" | "e3sm-f-over" | "e3sm-g" | "e3sm-i" => Some(3.0),
        _ => None,
    }
}

/// Returns the number of MPI functions in each call of a pattern of small calls.
fn functions(pattern: &str) -> Option<f64> {
    match pattern {
        "tiny-same" | "tiny-moving" | "empty" | "first-move" | "set-view" | "view-write" | "sync" | "sync-written" => {
            Some(1.0)
        }
        "open-close" => Some(2.0),
        "first-write" => Some(3.0),
        _ => None,
    }
}

/// Returns the targets that a row misses.
pub fn missed(row: &Row) -> Vec<Missed> {
    let pattern = row.key.pattern.strip_suffix(READ).unwrap_or(&row.key.pattern);
    let of = |name: &str| row.peers.get(name);
    let at_floor = |ratio: Option<f64>| Some(ratio? * row.floor_multiple?);
    let (target, wall) = (ratio_target(pattern), of("best").and_then(|peer| peer.wall_ratio));
    let (cpu, gio) = (of("best").and_then(|peer| peer.cpu_ratio), of(GIO).and_then(|peer| peer.wall_ratio));
    let all = [
        Missed::below("best / ours", wall, target, at_floor(wall)),
        Missed::below("CPU best / ours", cpu, target, None),
        Missed::below("gio / ours", gio, 1.0, at_floor(gio)),
        floor_target(pattern)
            .zip(row.floor_multiple)
            .and_then(|(most, floor)| Missed::above("of the floor", floor, most)),
        functions(pattern).and_then(|functions| small_call(row, functions)),
        memory(row),
    ];
    all.into_iter().flatten().collect()
}

/// Compares the time of a small call, in microseconds, with the MPI library's own; returns the target if it is missed.
fn small_call(row: &Row, functions: f64) -> Option<Missed> {
    let calls = row.calls as f64 * functions;
    let own = row.peers.get("default")?.measured.wall_seconds;
    let beside = SMALL_CALL_SECONDS[usize::from(row.key.ranks > cores(&row.machine))];
    Missed::above("us a call", 1e6 * row.ours.wall_seconds / calls, 1e6 * (SMALL_CALL * own / calls + beside))
}

/// Compares the memory that the job holds after its last call, in MB, with that of the MPI library alone; returns the
/// target if it is missed.
fn memory(row: &Row) -> Option<Missed> {
    let beside = row.ours.job_pss_bytes? - row.peers.get("default")?.measured.job_pss_bytes?;
    Missed::above("MB of the job beside default's", beside / 1e6, JOB_BYTES * row.key.hosts() as f64 / 1e6)
}

/// Returns the number of cores in a text of `machine::name`; infinitely many if the text has none.
fn cores(machine: &str) -> u64 {
    let last = machine.rsplit(", ").next().and_then(|text| text.split(' ').next());
    last.and_then(|number| number.parse().ok()).unwrap_or(u64::MAX)
}

/// Targets that the rows of one table meet and miss.
pub struct Verdict {
    /// Number of rows that meet all their targets, and number of rows.
    pub met: (usize, usize),
    /// Missed targets, with the row's pattern or the name of a mean over rows; the farthest missed first.
    pub missed: Vec<(String, Missed)>,
    /// True if the targets apply to these rows.
    pub is_whole: bool,
}

/// Compares the rows of one table with the targets.
pub fn verdict(rows: &[&Row]) -> Verdict {
    let of_rows: Vec<(&Row, Vec<Missed>)> = rows.iter().map(|row| (*row, missed(row))).collect();
    let met = of_rows.iter().filter(|(_, missed)| missed.is_empty()).count();
    let means = MEANS.iter().filter_map(|(name, target)| {
        let missed = Missed::below(&format!("{name} / ours"), mean(rows.iter().copied(), name), *target, None)?;
        Some(("geometric mean".to_string(), missed))
    });
    let rows_missed =
        of_rows.iter().flat_map(|(row, missed)| missed.iter().map(|one| (row.key.pattern.clone(), one.clone())));
    let mut missed: Vec<_> = means.chain(rows_missed).collect();
    missed.sort_by(|(_, a), (_, b)| b.by.total_cmp(&a.by));
    let is_whole = rows.iter().all(|row| row.key.pairs >= PAIRS && row.key.scale >= 1.0);
    Verdict { met: (met, rows.len()), missed, is_whole }
}

impl Verdict {
    /// Returns the number of rows that meet their targets as a sentence without its end.
    pub fn sentence(&self) -> String {
        let (met, all) = self.met;
        let rest = if self.is_whole {
            ""
        } else {
            " (targets are of 7 pairs or more at the usual sizes: these are fewer or smaller)"
        };
        format!("{met} of {all} rows meet all of their targets{rest}")
    }
}

/// Returns a row as a line of JSON, with the targets that it misses.
///
/// # Errors
/// A number that JSON does not have.
pub fn line(row: &Row) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct Line<'a> {
        #[serde(flatten)]
        row: &'a Row,
        targets_missed: Vec<Missed>,
    }
    Ok(serde_json::to_string(&Line { row, targets_missed: missed(row) })?)
}

#[cfg(test)]
mod tests {
    use super::super::cases::names;
    use super::super::row::tests::row;
    use super::*;

    /// Returns a row in which the best hints take `best` times as long as ours, in wall time and processor time.
    fn with(pattern: &str, default: f64, best: f64) -> Row {
        let mut row = row(pattern);
        for (name, ratio) in [("default", default), ("best", best)] {
            let peer = row.peers.get_mut(name).unwrap();
            (peer.wall_ratio, peer.cpu_ratio) = (Some(ratio), Some(ratio));
            peer.measured.wall_seconds = ratio * row.ours.wall_seconds;
        }
        row
    }

    fn whats(row: &Row) -> Vec<(String, f64)> {
        missed(row).into_iter().map(|missed| (missed.what, missed.target)).collect()
    }

    #[test]
    fn ratios_are_held_to_their_patterns_target() {
        for (pattern, target) in [
            ("e3sm-f", 2.0),
            ("e3sm-i-read", 2.0),
            ("memory", 2.0),
            ("s3d-read", 1.5),
            ("block4d", 1.5),
            ("append", 1.0),
            ("overlap-read", 1.0),
        ] {
            assert_eq!(whats(&with(pattern, target, target)), [], "{pattern}");
            let both = ["best / ours", "CPU best / ours"].map(|what| (what.to_string(), target));
            assert_eq!(whats(&with(pattern, target, target - 0.001)), both, "{pattern}");
        }
    }

    #[test]
    fn gio_is_a_peer_to_be_met_and_others_are_not() {
        let mut row = with("append", 1.0, 1.0);
        for name in ["gio", "another"] {
            let mut peer = row.peers["best"].clone();
            peer.wall_ratio = Some(0.5);
            row.peers.insert(name.to_string(), peer);
        }
        row.floor_multiple = Some(3.0);
        let missed = missed(&row);
        assert_eq!((missed.len(), &*missed[0].what, missed[0].by), (1, "gio / ours", 2.0));
        assert_eq!(missed[0].at_floor, Some(1.5));
    }

    #[test]
    fn the_floor_counts_where_it_can_be_reached() {
        for (pattern, most) in [("flash", 1.5), ("ior-strided-64k-read", 1.5), ("e3sm-g", 3.0)] {
            let mut row = with(pattern, 2.0, 2.0);
            row.floor_multiple = Some(most);
            assert_eq!(whats(&row), [], "{pattern}");
            row.floor_multiple = Some(most + 0.01);
            assert_eq!(whats(&row), [("of the floor".to_string(), most)]);
        }
        let mut row = with("pieces", 2.0, 2.0);
        row.floor_multiple = Some(100.0);
        assert_eq!(whats(&row), []);
    }

    #[test]
    fn small_calls_have_microseconds_for_each_function() {
        // 10 calls of 10 us each by the MPI library: 11 and 5 us are allowed; 2 functions a call have twice the 5.
        for (pattern, ranks, allowed) in
            [("sync", 2, 160e-6), ("open-close", 2, 210e-6), ("view-write", 2, 160e-6), ("tiny-same-read", 16, 310e-6)]
        {
            let mut row = with(pattern, 1.0, 1.0);
            row.calls = 10;
            row.key.ranks = ranks;
            row.machine = "A processor, model 3, 2 cores".to_string();
            row.peers.get_mut("default").unwrap().measured.wall_seconds = 100e-6;
            row.ours.wall_seconds = allowed - 1e-9;
            assert_eq!(whats(&row), [], "{pattern}");
            row.ours.wall_seconds = allowed + 1e-9;
            let missed = missed(&row);
            assert_eq!((missed.len(), &*missed[0].what), (1, "us a call"), "{pattern}");
        }
    }

    #[test]
    fn a_job_may_hold_two_windows_more_on_each_host() {
        let mut row = with("append", 1.0, 1.0);
        row.ours.job_pss_bytes = Some(100e6 + 40e6);
        assert_eq!(whats(&row), []);
        row.peers.get_mut("default").unwrap().measured.job_pss_bytes = Some(100e6);
        assert_eq!(whats(&row), [("MB of the job beside default's".to_string(), 33.554432)]);
        for hosts in [", hosts of 3", ", emulated hosts 2 x 2", ", emulated hosts 2 x 2, 1gbit"] {
            row.key.mpi = format!("MPICH 4{hosts}");
            assert_eq!(whats(&row), [], "{hosts}");
        }
    }

    #[test]
    fn what_is_farthest_away_comes_first() {
        let rows = [with("flash", 3.0, 1.4), with("append", 0.5, 0.5), with("btio", 3.0, 3.0)];
        let verdict = verdict(&rows.iter().collect::<Vec<_>>());
        assert_eq!(verdict.met, (1, 3));
        let order: Vec<_> = verdict.missed.iter().map(|(who, missed)| (&**who, &*missed.what)).collect();
        let due = [
            ("append", "best / ours"),
            ("append", "CPU best / ours"),
            ("geometric mean", "default / ours"),
            ("geometric mean", "best / ours"),
            ("flash", "best / ours"),
            ("flash", "CPU best / ours"),
        ];
        assert_eq!(order, due);
        assert_eq!(verdict.missed[0].1.numbers(), ["0.500", "1.000", "-"]);
        assert!(verdict.is_whole && verdict.sentence() == "1 of 3 rows meet all of their targets");
    }

    #[test]
    fn a_try_is_told_from_a_judgement() {
        let mut row = with("append", 3.0, 3.0);
        row.key.pairs = 6;
        assert!(!verdict(&[&row]).is_whole && verdict(&[&row]).sentence().contains("of 7 pairs or more"));
        (row.key.pairs, row.key.scale) = (7, 0.5);
        assert!(!verdict(&[&row]).is_whole);
    }

    #[test]
    fn every_pattern_that_has_a_target_is_there() {
        let names = names();
        let special =
            |name: &str| ratio_target(name) > 1.0 || floor_target(name).is_some() || functions(name).is_some();
        assert_eq!(names.iter().filter(|name| special(name)).count(), 25);
    }

    #[test]
    fn lines_have_what_is_missed_and_are_rows() {
        let text = line(&with("append", 3.0, 0.5)).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&value["targets_missed"][0]["what"], &value["targets_missed"][0]["by"]),
            (&"best / ours".into(), &2.0.into())
        );
        assert_eq!(serde_json::from_str::<Row>(&text).unwrap().key.pattern, "append");
    }
}
