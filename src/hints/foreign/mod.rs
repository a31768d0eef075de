//! Reads hints that users have set for other MPI libraries, and translates them to hints of this library.
//!
//! | module | holds |
//! |---|---|
//! | [`romio`] | ROMIO's file of hints |
//! | [`cray`] | Cray's hints by the name of the file |
//! | [`variables`] | variables of Intel, ROMIO and Open MPI that correspond to hints |
//! | [`glob`] | shell patterns for names |
//!
//! [`why_not`] returns the reason why a key of another library is not used.

pub mod cray;
pub mod glob;
pub mod romio;
pub mod variables;

use super::file_hints::Given;

/// Known keys of other libraries that this library does not use, with the reason. A key that ends in `*` is a prefix, of a
/// library whose keys are not all known. The first line that matches counts. Sources: ROMIO of MPICH 4.3, "File Info" of the MPI
/// standard, `intro_mpi` of Cray.
const KNOWN: [(&str, &str); 43] = [
    ("ind_rd_buffer_size", "the MPI library runs independent reads"),
    ("ind_wr_buffer_size", "the MPI library runs independent writes"),
    ("direct_io", "use direct_write for large writes that bypass the page cache"),
    ("direct_read", "reads always use the page cache"),
    ("romio_cb_alltoall", "use trib_kernel to choose the exchange"),
    ("romio_cb_pfr", "the driver chooses the file domains"),
    ("romio_cb_fr_types", EXCHANGE),
    ("romio_cb_fr_type", EXCHANGE),
    ("romio_cb_fr_alignment", EXCHANGE),
    ("romio_cb_ds_threshold", EXCHANGE),
    ("romio_aggregator_list", "use trib_placement to choose the aggregators"),
    ("romio_filesystem_type", "it selects a driver of ROMIO; use trib_driver"),
    ("romio_min_fdomain_size", "the driver chooses the file domains"),
    ("romio_synchronized_flush", ROMIO),
    ("romio_visibility_immediate", ROMIO),
    ("romio_lustre_co_ratio", LUSTRE),
    ("romio_lustre_coll_threshold", LUSTRE),
    ("romio_lustre_ds_in_coll", LUSTRE),
    ("romio_lustre_start_iodevice", LUSTRE),
    ("romio_lustre_cb_ds_threshold", LUSTRE),
    ("romio_lustre_cb_lock_ahead_*", LUSTRE),
    ("romio_daos_*", ROMIO),
    ("romio_pvfs_*", ROMIO),
    ("romio_pvfs2_*", ROMIO),
    ("panfs_*", ROMIO),
    ("bg_nodes_pset", ROMIO),
    ("cray_cb_nodes_multiplier", "use cb_nodes for the number of aggregators"),
    ("cray_cb_write_lock_mode", CRAY),
    ("cray_*", CRAY),
    ("aggregator_placement_stride", "use trib_placement to choose the aggregators"),
    ("collective_buffering", "use romio_cb_write and romio_cb_read"),
    ("access_style", "the library sees the access in the calls"),
    ("cb_block_size", NONE),
    ("chunked", NONE),
    ("chunked_item", NONE),
    ("chunked_size", NONE),
    ("filename", NONE),
    ("file_perm", NONE),
    ("io_node_list", NONE),
    ("nb_proc", NONE),
    ("num_io_nodes", NONE),
    ("nc_*", ABOVE),
    ("pnetcdf_*", ABOVE),
];

const ROMIO: &str = "only ROMIO uses it";
const EXCHANGE: &str = "only ROMIO's exchange uses it";
const LUSTRE: &str = "only ROMIO's driver for Lustre uses it, and creates new files then";
const CRAY: &str = "only Cray's MPI uses it";
const NONE: &str = "a key of the MPI standard that this library does not use";

/// Reason why a hint is not used whose key no known library has.
pub const UNKNOWN: &str = "unknown key";

/// Reason why a hint is not used that is for a library above, such as PnetCDF. Such a library puts its own hints into
/// every info with which it opens a file.
pub const ABOVE: &str = "only PnetCDF reads it: set it in PNETCDF_HINTS, or in the info of ncmpi_create or ncmpi_open";

/// Returns the reason why a key that is no hint of this library is not used. Returns [`UNKNOWN`] for a key of no known
/// library, and for a key that matches only a prefix and looks like a misspelt one.
pub fn why_not(key: &str) -> &'static str {
    let is_other = || super::meant(key).is_none_or(|meant| meant == key);
    let is = |known: &str| match known.strip_suffix('*') {
        Some(start) => key.starts_with(start) && is_other(),
        None => known == key,
    };
    KNOWN.iter().find(|(known, _)| is(known)).map_or(UNKNOWN, |(_, why)| why)
}

/// Returns the known keys of other libraries.
pub fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(known, _)| *known).filter(|known| !known.ends_with('*'))
}

/// Returns the hint of this library that a hint of another library means; any other hint unchanged. If a program asks
/// ROMIO to make its writes visible at once, the library does not use write-behind.
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
        assert_eq!(why_not("nc_num_aggrs_per_node"), ABOVE);
        for unknown in ["colour", "romio_cb_wrte", "romio_nothing", "cray_cb_nodes_multiplyer", "nc_num_aggrs_per_nod"]
        {
            assert_eq!(why_not(unknown), UNKNOWN, "{unknown}");
        }
    }

    #[test]
    fn visibility_at_once_turns_write_behind_off() {
        use crate::hints::{FileHints, Hints};
        for (value, write_behind) in [("true", Some(0)), ("false", None)] {
            let mut hints = FileHints::default();
            hints.program("trib_write_behind", "auto", "TRIB_HINTS").unwrap();
            hints.program("romio_visibility_immediate", value, "MPI_Info").unwrap();
            assert_eq!(hints.hints(), &Hints { write_behind, ..Hints::default() });
            assert!(hints.programs().any(|own| own == ("romio_visibility_immediate", value)));
        }
    }
}
