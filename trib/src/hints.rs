//! `trib hints`, and the hints of a command: environment first, options over it.

use tributary::Hints;
use tributary::hints::{Environment, FileHints};

use crate::cli::HintsOptions;
use crate::cli::replay::How;
use crate::{Failure, listing, say};

/// What the environment has for a file without a name, and `KEY=VALUE` options.
fn with_options<'a>(options: impl IntoIterator<Item = &'a String>) -> Result<FileHints, Failure> {
    let mut asked = Environment::of_process()?.file_hints("");
    for option in options {
        asked.text(option)?;
    }
    Ok(asked)
}

/// The hints of a replay.
pub fn of_replay(options: &How) -> Result<Hints, Failure> {
    let mut asked = with_options(&options.hints)?;
    let named = [
        ("trib_kernel_meta", &options.kernel),
        ("trib_kernel_data", &options.kernel),
        ("trib_kernel_meta", &options.kernel_meta),
        ("trib_kernel_data", &options.kernel_data),
        ("trib_throttle_meta", &options.throttle),
        ("trib_throttle_data", &options.throttle),
        ("trib_driver", &options.driver),
        ("trib_ranks_per_node", &options.ranks_per_node),
    ];
    for (key, value) in named {
        if let Some(value) = value {
            asked.program(key, value, "the command line")?;
        }
    }
    Ok(asked.hints().clone())
}

/// Prints all hints.
pub fn run(options: &HintsOptions) -> Result<(), Failure> {
    let rows = with_options(&options.hints)?.hints().table();
    if options.json {
        let row = |row: &tributary::hints::Row| {
            serde_json::json!({
                "key": row.key, "value": row.value, "default": row.default, "unit": row.unit,
                "allowed": row.allowed, "meaning": row.meaning, "when": row.when,
            })
        };
        let rows: Vec<_> = rows.iter().map(row).collect();
        return say(serde_json::to_string_pretty(&rows)?);
    }
    let mut table = listing::table(["hint", "value", "default", "unit", "allowed", "meaning"]);
    for row in rows {
        let meaning = row.meaning.split_whitespace().collect::<Vec<_>>().join(" ");
        // With a blank on either side, a list of words can go on in the next line.
        let allowed = row.allowed.replace('|', " | ");
        table.add_row([row.key, &row.value, &row.default, row.unit, &allowed, &meaning]);
    }
    listing::keep_words(&mut table);
    let order = "Set by --hint KEY=VALUE, TRIB_HINTS='key=value;...', a file named by TRIB_HINTS_FILE, or what there is for \
                 other MPI libraries (docs/reference/hints.md), in this order; Cray's MPICH_MPIIO_HINTS goes over all.";
    say(format!("{table}\n{order}"))
}
