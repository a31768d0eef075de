//! Translates GIO's hints in an MPI_Info to the engine's, and makes the result of GIO_get_info.

use std::path::Path;

use tributary::hints::{DriverName, Environment, PlacementHint, RankListHint, Switch};
use tributary::{File, Hints, Result};
use tributary_bindings::hints::{give, in_force};

/// GIO's own names of hints that ROMIO has too, with ROMIO's names.
const NAMES: [(&str, &str); 4] = [
    ("cb_read", "romio_cb_read"),
    ("cb_write", "romio_cb_write"),
    ("ds_read", "romio_ds_read"),
    ("ds_write", "romio_ds_write"),
];

/// Keys of hints that GIO ignores unless their values are above 0.
const POSITIVE: [&str; 4] = ["cb_nodes", "striping_unit", "striping_factor", "overstriping_ratio"];

/// Returns the hints of the file `name`, from these entries of an info and from the environment. An entry that is not
/// allowed is left out, and a line is printed about it.
///
/// # Errors
/// A hint from the environment is not allowed: the errors of [`Environment::of_process`].
pub fn at_open(name: &Path, entries: &[(String, String)]) -> Result<Hints> {
    let mut asked = Environment::of_process()?.file_hints(&name.to_string_lossy());
    // GIO's own name wins over ROMIO's.
    let (own, others): (Vec<_>, Vec<_>) = entries.iter().partition(|(key, _)| romio(key) != key);
    for (key, value) in others.into_iter().chain(own) {
        let value = value.trim();
        if POSITIVE.contains(&key.as_str()) && value.parse().is_ok_and(|number: i64| number <= 0) {
            continue;
        }
        give(&mut asked, (romio(key), able(value)), "GIO_open", true);
    }
    Ok(asked.hints().clone())
}

/// Returns true if GIO chooses the stripes of a new file, as it does unless `file_striping` is `inherit` (then the file
/// gets those of its folder) or `striping_factor` is set.
pub fn chooses_stripes(hints: &Hints, entries: &[(String, String)]) -> bool {
    let inherits = |(key, value): &(String, String)| key == "file_striping" && value.eq_ignore_ascii_case("inherit");
    hints.striping_factor.is_none() && !entries.iter().any(inherits)
}

/// Returns the number of stripes that GIO chooses for a new file on Lustre: one for each host, times the stripes on a
/// server. Lustre reduces it to the number of its servers.
pub fn chosen_stripes(hints: &Hints, hosts: usize) -> u32 {
    const MOST: usize = 65_532;
    hosts.saturating_mul(hints.overstriping_ratio.into()).clamp(1, MOST) as u32
}

fn romio(key: &str) -> &str {
    NAMES.iter().find(|(own, _)| *own == key).map_or(key, |(_, romio)| romio)
}

fn able(value: &str) -> &str {
    match value {
        "true" => "enable",
        "false" => "disable",
        other => other,
    }
}

/// Returns the hints for an independent open by one rank while other ranks write to the file. The rank must write only
/// its own bytes: other bytes that it wrote back could be out of date.
pub fn independent(hints: &Hints) -> Hints {
    Hints {
        ds_write: Switch::Disable,
        // No write-behind: an independent write must return its own errors.
        write_behind: Some(0),
        cb_nodes: None,
        ranks_per_node: 0,
        placement: PlacementHint::Default,
        rank_list: RankListHint::Identity,
        ..hints.clone()
    }
}

/// Returns the entries for GIO_get_info: the program's own, overridden by the hints in force under GIO's names and
/// the engine's.
pub fn effective(file: &File, given: &[(String, String)]) -> Vec<(String, String)> {
    let mut all = given.to_vec();
    let mut tell = |key: &str, value: String| match all.iter_mut().find(|(known, _)| known == key) {
        Some(entry) => entry.1 = value,
        None => all.push((key.to_string(), value)),
    };
    let is_striped = file.settings().driver.is_striped();
    for (key, value) in in_force(file, |key| is_striped || key == "striping_unit") {
        if value == "auto" {
            continue;
        }
        if let Some((own, _)) = NAMES.iter().find(|(_, romio)| *romio == key) {
            tell(own, value.clone());
        }
        tell(key, value);
    }
    let aggregators: Vec<_> = file.settings().aggregators.iter().map(ToString::to_string).collect();
    tell("file_system_type", if file.settings().driver == DriverName::Lustre { "LUSTRE:" } else { "UFS:" }.to_string());
    tell("cb_node_list", shortened(&aggregators));
    all
}

/// Joins a list of ranks to a text, cut to the length that every MPI library allows for a value.
fn shortened(ranks: &[String]) -> String {
    const MOST: usize = 240;
    let mut text = String::new();
    for rank in ranks {
        if text.len() + rank.len() + 1 > MOST {
            return text + " ...";
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(rank);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entries: &[(&str, &str)]) -> Hints {
        let entries: Vec<_> = entries.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        at_open(Path::new("file"), &entries).unwrap()
    }

    #[test]
    fn names_of_gio_are_taken() {
        let hints = of(&[("ds_write", "false"), ("romio_ds_write", "enable"), ("cb_nodes", "3"), ("NUMA_ID", "0")]);
        assert_eq!((hints.ds_write, hints.cb_nodes), (Switch::Disable, Some(3)));
    }

    #[test]
    fn what_is_not_given_or_not_allowed_is_left_out() {
        let hints = of(&[("cb_nodes", "0"), ("striping_unit", "0"), ("cb_buffer_size", "much")]);
        assert_eq!(hints, Hints::default());
    }

    #[test]
    fn stripes_are_chosen_unless_they_are_given_or_inherited() {
        let chosen = |entries: &[(&str, &str)]| {
            let entries: Vec<_> = entries.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
            let hints = at_open(Path::new("file"), &entries).unwrap();
            chooses_stripes(&hints, &entries).then(|| chosen_stripes(&hints, 3))
        };
        assert_eq!(chosen(&[]), Some(3));
        assert_eq!(chosen(&[("file_striping", "automatic"), ("overstriping_ratio", "4")]), Some(12));
        assert_eq!(chosen(&[("overstriping_ratio", "0"), ("striping_factor", "0")]), Some(3));
        assert_eq!(chosen(&[("file_striping", "inherit")]), None);
        assert_eq!(chosen(&[("striping_factor", "8")]), None);
    }

    #[test]
    fn a_list_is_cut_where_it_is_too_long() {
        let ranks: Vec<_> = (0..1000).map(|rank| rank.to_string()).collect();
        assert!(shortened(&ranks).len() < 256 && shortened(&ranks).ends_with(" ..."));
        assert_eq!(shortened(&ranks[..3]), "0 1 2");
    }
}
