//! Computes the median of the runs of each row. This also sorts by pattern, nodes, column and throttle, as the figures
//! do.

use std::collections::BTreeMap;

use tributary::hints::KernelHint;

use super::rows::{RunRow, Seconds};

/// Returns the columns in order: the MPI library's own I/O, the preload library, the kernels in the order of the
/// registry. Other columns follow by name.
fn columns() -> Vec<String> {
    let kernels = KernelHint::all().map(|kernel| kernel.to_string());
    ["mpi", "preload"].map(str::to_string).into_iter().chain(kernels).collect()
}

/// Patterns in the paper's order; others follow by name.
const CODES: [&str; 3] = ["e3sm-f", "flash", "btio"];

/// Median of the runs with the same settings.
#[derive(Debug, Clone)]
pub struct Median {
    /// Name of the pattern.
    pub code: String,
    /// Number of nodes.
    pub nodes: u64,
    /// Number of ranks.
    pub ranks: u64,
    /// Name of the kernels, or of the library that wrote instead.
    pub column: String,
    /// Throttle; none for the kernel's own.
    pub throttle: Option<u64>,
    /// Number of runs.
    pub runs: usize,
    /// Phases of the run whose total is the median (the lower one of an even number). They are of one run, so they add
    /// up.
    pub seconds: Seconds,
    /// Smallest and largest total in seconds.
    pub range: (f64, f64),
}

/// Returns the medians, in the order of the figures.
pub fn medians(rows: &[RunRow]) -> Vec<Median> {
    let mut groups: BTreeMap<_, Vec<&RunRow>> = BTreeMap::new();
    let columns = columns();
    for row in rows {
        let code = (place(&CODES, &row.code), &row.code);
        let column = (place(&columns, &row.column), &row.column);
        groups.entry((code, row.nodes, row.ranks, column, row.throttle)).or_default().push(row);
    }
    groups.into_values().filter_map(median).collect()
}

fn place<Name: AsRef<str>>(names: &[Name], name: &str) -> usize {
    names.iter().position(|known| known.as_ref() == name).unwrap_or(names.len())
}

fn median(mut runs: Vec<&RunRow>) -> Option<Median> {
    runs.sort_by(|a, b| a.seconds.total().total_cmp(&b.seconds.total()));
    let (least, most) = (runs.first()?, runs.last()?);
    let row = runs[(runs.len() - 1) / 2];
    Some(Median {
        code: row.code.clone(),
        nodes: row.nodes,
        ranks: row.ranks,
        column: row.column.clone(),
        throttle: row.throttle,
        runs: runs.len(),
        seconds: row.seconds,
        range: (least.seconds.total(), most.seconds.total()),
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Returns a row of 2 nodes whose phases take a quarter, a half and a quarter of the total.
    pub fn row(code: &str, column: &str, throttle: Option<u64>, total: f64) -> RunRow {
        let seconds = match column {
            "mpi" => Seconds::Whole(total),
            _ => Seconds::Phases { metadata: total / 4.0, data: total / 2.0, total },
        };
        RunRow { nodes: 2, ranks: 16, code: code.into(), column: column.into(), throttle, seconds, digest: None }
    }

    #[test]
    fn the_median_is_a_run_and_the_order_is_the_papers() {
        let rows = [
            row("btio", "balanced", Some(32), 4.0),
            row("e3sm-f", "balanced", Some(32), 9.0),
            row("e3sm-f", "balanced", Some(32), 1.0),
            row("e3sm-f", "balanced", Some(32), 2.0),
            row("e3sm-f", "balanced", Some(4), 8.0),
            row("e3sm-f", "mpi", None, 3.0),
        ];
        let medians = medians(&rows);
        let order: Vec<_> = medians.iter().map(|m| (m.code.as_str(), m.column.as_str(), m.throttle, m.runs)).collect();
        let expected = [
            ("e3sm-f", "mpi", None, 1),
            ("e3sm-f", "balanced", Some(4), 1),
            ("e3sm-f", "balanced", Some(32), 3),
            ("btio", "balanced", Some(32), 1),
        ];
        assert_eq!(order, expected);
        assert_eq!((medians[2].seconds.total(), medians[2].range), (2.0, (1.0, 9.0)));
    }
}
