//! The hints of an open file, with what the library found or chose.

use tributary::File;
use tributary::hints::{FileHints, Switch};

/// Returns the keys and values in force, in the order of the documentation. A hint that leaves a choice has the value
/// that was found or chosen; one of stripes only if `tells_stripes` of its key.
pub fn in_force(file: &File, tells_stripes: impl Fn(&str) -> bool) -> Vec<(&'static str, String)> {
    let layout = file.layout();
    let chosen = |key: &str| match key {
        "cb_nodes" => Some(file.aggregators().len().to_string()),
        "cb_buffer_size" => Some(file.window().to_string()),
        "trib_driver" => Some(file.driver().to_string()),
        "striping_unit" if tells_stripes(key) => Some(layout.unit.to_string()),
        "striping_factor" if layout.factor > 0 && tells_stripes(key) => Some(layout.factor.to_string()),
        _ => None,
    };
    file.hints().table().into_iter().map(|row| (row.key, chosen(row.key).unwrap_or(row.value))).collect()
}

/// Why a hint that was given has no effect on the file: it has other stripes, as a file that was there before, or that a file
/// system with fewer servers has made; its file system takes no direct writes. None where it has an effect, and for all other
/// hints.
pub fn not_of_the_file(file: &File, key: &str) -> Option<String> {
    let (hints, layout) = (file.hints(), file.layout());
    match key {
        "direct_write" if hints.direct_write == Switch::Enable && layout.direct_from.is_none() => {
            let why =
                "the file is read only, its file system has no direct writes, or trib_announce_writes excludes them";
            Some(why.to_string())
        }
        "striping_factor" | "start_iodevice" if !file.driver().is_striped() => {
            Some(format!("the driver {} has no stripes over servers", file.driver()))
        }
        _ if !file.driver().is_striped() => None,
        "striping_unit" if hints.striping_unit.is_some_and(|unit| unit != layout.unit) => {
            Some(format!("the file has stripes of {} bytes", layout.unit))
        }
        "striping_factor" if hints.striping_factor.is_some_and(|count| count != layout.factor) => {
            Some(format!("the file has {} stripes", layout.factor))
        }
        _ => None,
    }
}

/// Gives the file a hint of an info that was passed to `call`. MPI lets a library ignore hints, so one that is not allowed is
/// left out; the rank that `reports` says so in one line.
pub fn give(hints: &mut FileHints, (key, value): (&str, &str), call: &str, reports: bool) {
    if let Err(error) = hints.program(key, value, format!("MPI_Info of {call}"))
        && reports
    {
        tributary::say(format_args!("MPI_Info: {error}; the library ignores the hint"));
    }
}
