//! `trib hints`, and the hints of a command: environment first, options over it.

use tributary::Hints;

use crate::cli::HintsOptions;
use crate::cli::replay::How;
use crate::{Failure, listing, say};

/// Environment and `KEY=VALUE` options.
fn with_options<'a>(options: impl IntoIterator<Item = &'a String>) -> Result<Hints, Failure> {
    let mut hints = Hints::from_env()?;
    for option in options {
        hints.apply(option)?;
    }
    Ok(hints)
}

/// The hints of a replay.
pub fn of_replay(options: &How) -> Result<Hints, Failure> {
    let mut hints = with_options(&options.hints)?;
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
            hints.set(key, value)?;
        }
    }
    Ok(hints)
}

/// Prints all hints.
pub fn run(options: &HintsOptions) -> Result<(), Failure> {
    let rows = with_options(&options.hints)?.table();
    if options.json {
        let row = |row: &tributary::hints::Row| {
            serde_json::json!({
                "key": row.key, "value": row.value, "default": row.default, "unit": row.unit,
                "allowed": row.allowed, "meaning": row.meaning,
            })
        };
        let rows: Vec<_> = rows.iter().map(row).collect();
        return say(serde_json::to_string_pretty(&rows)?);
    }
    let mut table = listing::table(["hint", "value", "default", "unit", "allowed", "meaning"]);
    for row in rows {
        let meaning = row.meaning.split_whitespace().collect::<Vec<_>>().join(" ");
        table.add_row([row.key, &row.value, &row.default, row.unit, row.allowed, &meaning]);
    }
    let order =
        "Set by --hint KEY=VALUE, TRIB_HINTS='key=value;...', or a file named by TRIB_HINTS_FILE, in this order.";
    say(format!("{table}\n{order}"))
}
