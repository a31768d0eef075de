//! Reads hints that users have set for other MPI libraries, and translates them to hints of this library.
//!
//! | module | holds |
//! |---|---|
//! | [`romio`] | ROMIO's file of hints |
//! | [`cray`] | Cray's hints by the name of the file |
//! | [`variables`] | variables of Intel, ROMIO and Open MPI that correspond to hints |
//! | [`glob`] | shell patterns for names |
//!
//! [`why_not`] says why a key of another library is not used.

pub mod cray;
pub mod glob;
pub mod romio;
pub mod variables;

use super::file_hints::Given;

/// Known keys of other libraries that this library does not use, with the reason. A key that ends in `*` is a prefix.
const KNOWN: [(&str, &str); 15] = [
    ("ind_rd_buffer_size", "the MPI library runs independent reads"),
    ("ind_wr_buffer_size", "the MPI library runs independent writes"),
    ("direct_io", "use direct_write for large writes that bypass the page cache"),
    ("direct_read", "reads always use the page cache"),
    ("romio_cb_alltoall", "use trib_kernel to choose the exchange"),
    ("romio_cb_pfr", "the driver chooses the file domains"),
    ("romio_cb_*", "only ROMIO's exchange uses it"),
    ("romio_lustre_*", "only ROMIO's driver for Lustre uses it, and creates new files then"),
    ("romio_*", "only ROMIO uses it"),
    ("cray_cb_nodes_multiplier", "use cb_nodes for the number of aggregators"),
    ("cray_*", "only Cray's MPI uses it"),
    ("collective_buffering", "use romio_cb_write and romio_cb_read"),
    ("nc_*", ABOVE),
    ("pnetcdf_*", ABOVE),
    ("access_style", "the library sees the access in the calls"),
];

/// Reason why a hint is not used whose key no known library has.
pub const UNKNOWN: &str = "unknown key";

/// Reason why a hint is not used that is for a library above, such as PnetCDF. Such a library puts its own hints into
/// every info with which it opens a file.
pub const ABOVE: &str = "the library above, such as PnetCDF, reads it";

/// Returns the reason why a key that is no hint of this library is not used.
pub fn why_not(key: &str) -> &'static str {
    let is = |known: &str| known.strip_suffix('*').map_or(known == key, |start| key.starts_with(start));
    KNOWN.iter().find(|(known, _)| is(known)).map_or(UNKNOWN, |(_, why)| why)
}

/// Returns the hint of this library that a hint of another library means; any other hint unchanged. A program that asks
/// ROMIO for the visibility of its writes at once leaves no bytes behind.
pub(super) fn translated(given: Given) -> Given {
    match (given.key.as_str(), given.value.as_str()) {
        ("romio_visibility_immediate", "true") => Given::new("trib_write_behind", "0", given.source),
        _ => given,
    }
}

/// Returns the reason why a value that is valid in another library is not used here; `None` if it is used.
pub(super) fn why_not_this(given: &Given) -> Option<&'static str> {
    let least = ["cb_nodes", "striping_unit", "striping_factor"];
    match given.key.as_str() {
        key if least.contains(&key) && given.value.parse().is_ok_and(|number: i64| number <= 0) => {
            Some("0 or less means that the library chooses")
        }
        "cb_config_list" if !given.value.starts_with('*') && !given.value.is_empty() => {
            Some("lists of host names are not supported; use trib_placement")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hints::find;

    #[test]
    fn reasons_are_for_keys_that_are_not_ours() {
        for (key, why) in KNOWN {
            assert!(find(key).is_none() && !why.is_empty(), "{key}");
        }
        assert_eq!(why_not("romio_cb_alltoall"), "use trib_kernel to choose the exchange");
        assert_eq!(why_not("romio_visibility_immediate"), "only ROMIO uses it");
        assert_eq!(why_not("colour"), "unknown key");
    }

    #[test]
    fn visibility_at_once_leaves_nothing_behind() {
        use crate::hints::{FileHints, Hints};
        for (value, behind) in [("true", Some(0)), ("false", None)] {
            let mut hints = FileHints::default();
            hints.program("trib_write_behind", "auto", "TRIB_HINTS").unwrap();
            hints.program("romio_visibility_immediate", value, "MPI_Info").unwrap();
            assert_eq!(hints.hints(), &Hints { write_behind: behind, ..Hints::default() });
            assert!(hints.programs().any(|own| own == ("romio_visibility_immediate", value)));
        }
    }
}
