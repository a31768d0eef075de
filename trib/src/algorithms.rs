//! `trib algorithms`: the collective algorithms of the registry.

use tributary::collectives::{ALGORITHMS, Algorithm};

use crate::cli::AlgorithmsOptions;
use crate::{Failure, listing, say};

/// Prints all algorithms.
pub fn run(options: &AlgorithmsOptions) -> Result<(), Failure> {
    if options.json {
        let rows: Vec<_> = ALGORITHMS.iter().map(|algorithm| object(algorithm)).collect();
        return say(serde_json::to_string_pretty(&rows)?);
    }
    let mut table = listing::table(["operation", "name", "what", "cost", "source"]);
    for algorithm in ALGORITHMS {
        let Algorithm { operation, name, about, cost, source, .. } = algorithm;
        table.add_row([operation.name(), name, about, cost, source]);
    }
    say(format!("{table}\nt_s: start of a message, t_w: a byte, p: ranks, m: bytes of a block."))
}

fn object(algorithm: &Algorithm) -> serde_json::Value {
    serde_json::json!({
        "operation": algorithm.operation.name(),
        "name": algorithm.name,
        "about": algorithm.about,
        "cost": algorithm.cost,
        "source": algorithm.source,
        "irregular": algorithm.irregular,
    })
}
