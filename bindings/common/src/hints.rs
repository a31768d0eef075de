//! Collects the hints of an open file, with the values that the library found or chose.

use tributary::hints::{FileHints, Switch};
use tributary::{File, Settings};

/// Returns the keys and values in force, in the order of the documentation. A hint that leaves a choice has the value
/// that was found or chosen; a hint about stripes only if `shows_stripes` returns true for its key.
pub fn in_force(file: &File, shows_stripes: impl Fn(&str) -> bool) -> Vec<(&'static str, String)> {
    let Settings { hints, driver, layout, window, aggregators, .. } = file.settings();
    let chosen = |key: &str| match key {
        "cb_nodes" => Some(aggregators.len().to_string()),
        "cb_buffer_size" => Some(window.to_string()),
        "trib_driver" => Some(driver.to_string()),
        "striping_unit" if shows_stripes(key) => Some(layout.unit.to_string()),
        "striping_factor" if layout.factor > 0 && shows_stripes(key) => Some(layout.factor.to_string()),
        _ => None,
    };
    hints.table().into_iter().map(|row| (row.key, chosen(row.key).unwrap_or(row.value))).collect()
}

/// Returns the reason why a hint that was set has no effect on the file: the file has other stripes, because it
/// existed before, or because the file system has fewer servers; or the file system takes no direct writes; or ranks
/// could not wait for buffered bytes. None if the hint has an effect, and for all other hints.
pub fn not_of_the_file(file: &File, key: &str) -> Option<String> {
    let Settings { hints, driver, layout, without_write_behind, .. } = file.settings();
    match key {
        "trib_write_behind" => without_write_behind.map(String::from),
        "direct_write" if hints.direct_write == Switch::Enable && layout.direct_from.is_none() => {
            let why =
                "the file is read only, its file system has no direct writes, or trib_announce_writes excludes them";
            Some(why.to_string())
        }
        "striping_factor" | "start_iodevice" | "overstriping_ratio" if !driver.is_striped() => {
            Some(format!("the driver {driver} has no stripes over servers"))
        }
        _ if !driver.is_striped() => None,
        "striping_unit" if hints.striping_unit.is_some_and(|unit| unit != layout.unit) => {
            Some(format!("the file has stripes of {} bytes", layout.unit))
        }
        "striping_factor" if hints.striping_factor.is_some_and(|count| count != layout.factor) => {
            Some(format!("the file has {} stripes", layout.factor))
        }
        _ => None,
    }
}

/// Sets a hint of an info that the program passed to MPI function `call`. MPI lets a library ignore hints, so a hint
/// that is not allowed is left out; if `reports`, this rank prints a line about it.
pub fn give(hints: &mut FileHints, (key, value): (&str, &str), call: &str, reports: bool) {
    if let Err(error) = hints.program(key, value, format!("MPI_Info of {call}"))
        && reports
    {
        tributary::say(format_args!("MPI_Info: {error}; the library ignores the hint"));
    }
}
