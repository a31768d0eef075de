//! Translates environment variables of Intel MPI, ROMIO and Open MPI to hints.
//!
//! Sources: Intel MPI Library Developer Reference, "File System Support" and "Other Environment Variables"; ROMIO's
//! ROMIO_FSTYPE_FORCE; `ompi_info --param io ompio --level 9` of Open MPI 4.1.

/// The meaning of another library's variable in this library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// The variable sets this hint to this value.
    Hint(&'static str, String),
    /// The variable has no effect in this library, for this reason.
    Nothing(String),
}

/// Prefix of the variables that are parameters of Open MPI's OMPIO.
pub const OMPIO: &str = "OMPI_MCA_io_ompio_";

/// Names of the variables that have a meaning, in ascending precedence. If two names mean the same, the later name is
/// the newer.
pub const NAMES: [&str; 13] = [
    ROMIO_FORCE,
    "I_MPI_EXTRA_FILESYSTEM",
    "I_MPI_EXTRA_FILESYSTEM_LIST",
    "I_MPI_EXTRA_FILESYSTEM_FORCE",
    "I_MPI_EXTRA_FILESYSTEM_NFS_DIRECT",
    "I_MPI_FILESYSTEM",
    "I_MPI_FILESYSTEM_LIST",
    "I_MPI_FILESYSTEM_FORCE",
    "I_MPI_FILESYSTEM_CB_NODES",
    "I_MPI_FILESYSTEM_CB_CONFIG_LIST",
    "I_MPI_FILESYSTEM_NFS_DIRECT",
    "I_MPI_FILESYSTEM_GPFS_DIRECT",
    "I_MPI_LUSTRE_STRIPE_AWARE",
];

const ROMIO_FORCE: &str = "ROMIO_FSTYPE_FORCE";

/// Returns the meaning of the variable `name`, one of [`NAMES`] or one that begins with [`OMPIO`]. `is_on` is true
/// unless Intel's switch for file systems is off.
pub fn meaning(name: &str, value: &str, is_on: bool) -> Meaning {
    let nothing = |why: &str| Meaning::Nothing(why.to_string());
    if let Some(parameter) = name.strip_prefix(OMPIO) {
        return ompio(parameter, value);
    }
    match name {
        ROMIO_FORCE => nothing("it selects a driver of ROMIO; use trib_driver"),
        "I_MPI_EXTRA_FILESYSTEM_FORCE" | "I_MPI_FILESYSTEM_FORCE" if is_on => driver(value),
        "I_MPI_EXTRA_FILESYSTEM_FORCE" | "I_MPI_FILESYSTEM_FORCE" => nothing("I_MPI_FILESYSTEM switches it off"),
        "I_MPI_FILESYSTEM_CB_NODES" => Meaning::Hint("cb_nodes", value.to_string()),
        "I_MPI_FILESYSTEM_CB_CONFIG_LIST" => Meaning::Hint("cb_config_list", value.to_string()),
        "I_MPI_FILESYSTEM_NFS_DIRECT" | "I_MPI_EXTRA_FILESYSTEM_NFS_DIRECT" | "I_MPI_FILESYSTEM_GPFS_DIRECT" => {
            nothing("writes use the page cache")
        }
        "I_MPI_LUSTRE_STRIPE_AWARE" => nothing("the driver for Lustre always uses the stripes"),
        _ => nothing("the file system of the file, or trib_driver, determines the driver"),
    }
}

/// Returns true unless the value of Intel's switch for file systems (under its old or new name) means off.
pub fn is_on(value: Option<&str>) -> bool {
    !value.is_some_and(|value| ["disable", "no", "off", "0"].iter().any(|off| value.trim().eq_ignore_ascii_case(off)))
}

/// Returns the hint that selects the driver for a file system, by the name that MPI libraries give the file system.
fn driver(file_system: &str) -> Meaning {
    let name = file_system.trim().to_ascii_lowercase();
    let driver = match name.as_str() {
        "lustre" => "lustre",
        "gpfs" => "gpfs",
        "nfs" => "nfs",
        "ufs" | "xfs" | "testfs" => "posix",
        _ => return Meaning::Nothing("there is no driver for it; allowed: lustre, gpfs, ufs, nfs".to_string()),
    };
    Meaning::Hint("trib_driver", driver.to_string())
}

fn ompio(parameter: &str, value: &str) -> Meaning {
    let nothing = |why: &str| Meaning::Nothing(why.to_string());
    match parameter {
        "num_aggregators" => Meaning::Hint("cb_nodes", value.to_string()),
        "bytes_per_agg" => Meaning::Hint("cb_buffer_size", value.to_string()),
        "cycle_buffer_size" => nothing("the library does not limit the size of a write; see cb_buffer_size"),
        "grouping_option" | "max_aggregators_ratio" | "aggregators_cutoff_threshold" => {
            nothing("only OMPIO uses it; use cb_nodes and trib_placement")
        }
        "overwrite_amode" => nothing("the file keeps the mode of the open"),
        "coll_timing_info" | "record_file_offset_info" | "verbose_info_parsing" => {
            nothing("only OMPIO prints it; use TRIB_REPORT")
        }
        "priority" | "delete_priority" => nothing("only Open MPI uses it"),
        _ => nothing("unknown parameter"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_meaning_or_a_reason() {
        for name in NAMES {
            match meaning(name, "lustre", true) {
                Meaning::Hint(key, _) => assert!(super::super::super::find(key).is_some(), "{name}: {key}"),
                Meaning::Nothing(why) => assert!(!why.is_empty(), "{name}"),
            }
        }
    }

    #[test]
    fn drivers_by_the_names_of_others() {
        let hint = |driver: &str| Meaning::Hint("trib_driver", driver.to_string());
        assert_eq!(meaning("I_MPI_FILESYSTEM_FORCE", "Lustre", true), hint("lustre"));
        assert_eq!(meaning("I_MPI_EXTRA_FILESYSTEM_FORCE", "gpfs", true), hint("gpfs"));
        for (name, value, is_on) in
            [(ROMIO_FORCE, "ufs:", true), ("I_MPI_FILESYSTEM_FORCE", "gpfs", false), ("I_MPI_FILESYSTEM", "1", true)]
        {
            assert!(matches!(meaning(name, value, is_on), Meaning::Nothing(_)), "{name}={value}");
        }
        assert!(is_on(None) && is_on(Some("1")) && is_on(Some("gibberish")) && !is_on(Some(" OFF")));
    }
}
