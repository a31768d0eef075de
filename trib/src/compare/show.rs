//! Rows for people: a table on the terminal.

use super::row::Row;
use super::statistics::{Ratio, geometric_mean};
use crate::listing;

/// The table, and what it says in all.
pub fn table(rows: &[Row]) -> String {
    let mut table = listing::table([
        "pattern",
        "ranks",
        "directory",
        "default",
        "best",
        "ours",
        "default/ours",
        "best/ours",
        "CPU best/ours",
        "of floor",
        "equal",
    ]);
    for row in rows {
        let [default, best] = ["default", "best"].map(|name| row.peers.get(name));
        let time = |seconds: Option<f64>| seconds.map_or("-".to_string(), seconds_of);
        table.add_row([
            row.key.pattern.clone(),
            row.key.ranks.to_string(),
            row.key.directory.clone(),
            time(default.map(|peer| peer.measured.wall_seconds)),
            time(best.map(|peer| peer.measured.wall_seconds)),
            time(Some(row.ours.wall_seconds)),
            ratio(default.and_then(|peer| peer.wall_ratios)),
            ratio(best.and_then(|peer| peer.wall_ratios)),
            best.and_then(|peer| peer.cpu_ratio).map_or("-".to_string(), |ratio| format!("{ratio:.2}")),
            row.floor_multiple.map_or("-".to_string(), |multiple| format!("{multiple:.1}")),
            if row.bytes_equal { "yes" } else { "NO" }.to_string(),
        ]);
    }
    let means = ["default", "best"].map(|name| {
        let mean = mean(rows, name).map_or("-".to_string(), |mean| format!("{mean:.2}"));
        format!("{name}/ours {mean}")
    });
    format!("{table}\ngeometric mean: {}; a ratio above 1: ours is faster", means.join(", "))
}

/// The geometric mean of a peer's ratios.
pub fn mean(rows: &[Row], peer: &str) -> Option<f64> {
    let ratios: Vec<f64> = rows.iter().filter_map(|row| row.peers.get(peer)?.wall_ratio).collect();
    geometric_mean(&ratios)
}

/// The median, with least and most.
pub fn ratio(ratio: Option<Ratio>) -> String {
    ratio.map_or("-".to_string(), |Ratio { median, min, max }| format!("{median:.2} ({min:.2} to {max:.2})"))
}

/// A time in the unit that fits.
pub fn seconds_of(seconds: f64) -> String {
    match seconds {
        0.0 => "0".to_string(),
        _ if seconds < 1e-3 => format!("{:.1} us", seconds * 1e6),
        _ if seconds < 1.0 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.3} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits() {
        let all = [0.0, 2.26e-6, 0.0123, 1.5].map(seconds_of);
        assert_eq!(all, ["0", "2.3 us", "12.30 ms", "1.500 s"]);
    }
}
