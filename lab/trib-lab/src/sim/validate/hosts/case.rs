//! Writes and reads on emulated hosts that are measured and predicted.

use std::path::Path;

use serde::{Deserialize, Serialize};
use trib::Failure;
use tributary::Hints;
use tributary_benchmarks::Pattern;

use crate::kernels::write::Write;

/// Number of ranks of a host.
const RANKS_OF_HOST: u64 = 4;
/// Bytes per second of a file of a host, and the rate of a link in the notation of tc: the same rates in bytes.
const RATES: [(u64, &str); 2] = [(25_000_000, "200mbit"), (100_000_000, "800mbit")];
/// Patterns, with sizes so that a write takes tenths of a second.
const PATTERNS: [&str; 6] = [
    "e3sm-f",
    "btio --grid 64 --iterations 1",
    "s3d --points 48x48x48",
    "flash --blocks 10",
    "ior -t 64KiB -b 64KiB -s 16 --one-call",
    "ior -t 1MiB -b 1MiB --one-call",
];
/// Captures of the folder of `--captures`.
const CAPTURES: [&str; 3] = ["e3sm-f", "e3sm-g", "e3sm-i"];
/// Maximum number of bytes of a capture that is written and read with few aggregators too.
const LARGE: u64 = 64 << 20;
/// Kernels of both phases.
const KERNELS: [&str; 6] = ["balanced", "ascending_isend", "ascending_issend", "pairwise", "spread_out", "two_layer"];
/// Numbers of aggregators.
const AGGREGATORS: [u64; 4] = [4, 1, 2, 3];
/// Sizes of windows in bytes.
const WINDOWS: [u64; 4] = [1 << 20, 256 << 10, 4 << 20, 16 << 20];

/// Direction of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowDirection {
    /// Ranks write a new file.
    Write,
    /// Ranks read the file.
    Read,
}

/// Write of a pattern with fixed hints, and read of the same file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostsCase {
    /// Pattern with its parameters.
    pub pattern: String,
    /// Kernel of both phases.
    pub kernel: String,
    /// Number of aggregators.
    pub aggregators: u64,
    /// Size of a window in bytes.
    pub window: u64,
    /// Number of windows that an aggregator has in memory; `None` leaves it to the library.
    pub buffers: Option<u64>,
    /// Bytes per second of a link, and of a host's file.
    pub rate: u64,
    /// True if the machine is fitted to the write of this case; the read is predicted then.
    pub fits_write: bool,
    /// True if the machine is fitted to the read of this case.
    pub fits_read: bool,
    /// Hints that `trib-lab advise` finds, or no hints, in which case the library chooses; `None` if kernel, aggregators and
    /// window are those above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
}

/// Returns the number of ranks on `hosts` hosts.
pub fn ranks(hosts: u64, quick: bool) -> u64 {
    hosts * if quick { 1 } else { RANKS_OF_HOST }
}

/// Returns the rate of a link in the notation of tc.
pub fn shape(rate: u64) -> String {
    format!("{}bit", rate * 8)
}

/// Returns the cases of `hosts` hosts: every pattern with every kernel on both rates; aggregators and windows take turns.
/// Every third write and read is fitted. With `captures`, the cases of E3SM are captures of real runs in that folder.
pub fn all(hosts: u64, captures: Option<&Path>, quick: bool) -> Result<Vec<HostsCase>, Failure> {
    if quick {
        return Ok(few(hosts));
    }
    let mut patterns: Vec<String> = Vec::new();
    for name in CAPTURES.iter().filter(|_| captures.is_some()) {
        let path = captures.map(|folder| folder.join(format!("{name}.tribcap"))).unwrap_or_default();
        patterns.push(format!("capture {}", path.display()));
    }
    patterns.extend(PATTERNS.iter().map(ToString::to_string));
    patterns.retain(|pattern| {
        let refused = Write { name: pattern.clone(), capture: None }
            .parsed()
            .and_then(|write| write.subject(Some(ranks(hosts, quick) as usize)))
            .err();
        refused.iter().for_each(|why| tributary::say(format_args!("{pattern} is left out: {why}")));
        refused.is_none()
    });
    let mut cases = Vec::new();
    for (of_pattern, pattern) in patterns.into_iter().enumerate() {
        let is_large = is_large(&pattern, ranks(hosts, quick))?;
        for (of_rate, (rate, _)) in RATES.into_iter().enumerate() {
            for (of_kernel, kernel) in KERNELS.into_iter().enumerate() {
                if is_large && (of_rate > 0 || of_kernel % 3 > 0) {
                    continue;
                }
                let turn = of_pattern + of_kernel + of_rate;
                let aggregators = if is_large { hosts } else { AGGREGATORS[turn % 4].min(hosts) };
                let window = WINDOWS[(of_pattern + 2 * of_kernel + of_kernel / 2 + of_rate) % 4];
                let buffers = (turn % 5 == 2).then_some(1);
                let fits = |direction: usize| (of_pattern + of_kernel + of_rate + direction).is_multiple_of(3);
                cases.push(HostsCase {
                    pattern: pattern.clone(),
                    kernel: kernel.to_string(),
                    aggregators,
                    window,
                    buffers,
                    rate,
                    fits_write: fits(0),
                    fits_read: fits(1),
                    chosen: None,
                });
            }
        }
    }
    Ok(cases)
}

/// Returns true if a pattern is written and read with all aggregators only, by a few kernels.
fn is_large(pattern: &str, ranks: u64) -> Result<bool, Failure> {
    let write = Write { name: pattern.to_string(), capture: None }.parsed()?;
    Ok(write.subject(Some(ranks as usize))?.into_file("sim validate")?.totals().bytes > LARGE)
}

/// Returns, for each pattern and rate of `cases`, a case in which the library chooses, and one for each of the `hints`
/// that are advised for it; none for patterns that are large.
pub fn chosen(
    cases: &[HostsCase],
    ranks: u64,
    hints: impl Fn(&HostsCase) -> Result<Vec<String>, Failure>,
) -> Result<Vec<HostsCase>, Failure> {
    let mut all: Vec<HostsCase> = Vec::new();
    for case in cases {
        let is_known = all.iter().any(|other| (&other.pattern, other.rate) == (&case.pattern, case.rate));
        if is_known || is_large(&case.pattern, ranks)? {
            continue;
        }
        let library = HostsCase {
            kernel: "auto".to_string(),
            aggregators: 0,
            window: 0,
            buffers: None,
            fits_write: false,
            fits_read: false,
            chosen: Some(String::new()),
            ..case.clone()
        };
        let advised = hints(&library)?;
        all.push(library.clone());
        let mut known = vec![String::new()];
        for hints in advised {
            if !known.contains(&hints) {
                known.push(hints.clone());
                all.push(HostsCase { chosen: Some(hints), ..library.clone() });
            }
        }
    }
    Ok(all)
}

/// Returns a few tiny cases.
fn few(hosts: u64) -> Vec<HostsCase> {
    let case = |kernel: &str, aggregators, fits_write| HostsCase {
        pattern: "ior -t 16KiB -b 16KiB -s 8 --one-call".to_string(),
        kernel: kernel.to_string(),
        aggregators,
        window: 64 << 10,
        buffers: None,
        rate: RATES[1].0,
        fits_write,
        fits_read: !fits_write,
        chosen: None,
    };
    vec![case("balanced", hosts, true), case("two_layer", 1, false)]
}

impl HostsCase {
    /// Returns the pattern on `ranks` ranks.
    ///
    /// # Errors
    /// Errors of the pattern.
    pub fn pattern(&self, ranks: usize) -> Result<Box<dyn Pattern>, Failure> {
        let write = Write { name: self.pattern.clone(), capture: None };
        write.parsed()?.subject(Some(ranks))?.into_file("trib-lab sim validate")
    }

    /// Returns the hints of the file. Ranks always exchange their bytes, and nothing is learned from other calls.
    ///
    /// # Errors
    /// Hints that do not fit.
    pub fn hints(&self, ranks: usize) -> Result<Hints, Failure> {
        let Self { kernel, aggregators, window, .. } = self;
        let mut hints = Hints::default();
        hints.apply(
            "romio_cb_write=enable; romio_cb_read=enable; trib_host_domains=disable; trib_tiny_call=0; \
             trib_aggregators_fixed=true",
        )?;
        match &self.chosen {
            Some(chosen) => hints.apply(chosen)?,
            None => hints.apply(&format!(
                "trib_kernel_meta={kernel}; trib_kernel_data={kernel}; cb_nodes={aggregators}; \
                 cb_buffer_size={window}; nc_num_aggrs_per_node=1"
            ))?,
        }
        if let Some(buffers) = self.buffers {
            hints.set("trib_write_buffers", &buffers.to_string())?;
        }
        hints.check(ranks)?;
        Ok(hints)
    }

    /// Returns true if the machine is fitted to the row of this direction.
    pub fn is_fitted(&self, direction: RowDirection) -> bool {
        match direction {
            RowDirection::Write => self.fits_write,
            RowDirection::Read => self.fits_read,
        }
    }
}
