//! Result for one pattern on a number of ranks in a directory: a line of JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use trib::compare::statistics::Ratio;

/// End of the name of a pattern's read.
pub const READ: &str = "-read";

/// Text in the name of an MPI library before the number of ranks that share a host name, if hosts are pretended.
pub const HOSTS_OF: &str = ", hosts of ";

/// Text in the name of an MPI library before the number of emulated hosts, the ranks of each and the shape of their
/// links.
pub const EMULATED: &str = ", emulated hosts ";

/// Results of one measured pattern.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Identification of the measurement.
    #[serde(flatten)]
    pub key: Key,
    /// Processor and number of cores of the machine.
    pub machine: String,
    /// Our library's version, and the beginning of its file's SHA-256. None in older rows, which did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// Type of the file system.
    pub file_system: String,
    /// Load average of the minute before. If it is above the number of ranks, other programs were running.
    pub load: f64,
    /// Number of calls of a repetition.
    pub calls: u64,
    /// Number of bytes of all ranks in a repetition.
    pub bytes: u64,
    /// Costs of the preload library.
    pub ours: Measured,
    /// Results of the other libraries by name: `default`, `best` and those of `--peer`.
    pub peers: BTreeMap<String, Peer>,
    /// Floor in seconds. Where links or files have a rate: the longer of both floors below. Otherwise one copy through
    /// shared memory and one sequential write or read. None if there is no data, or memory cannot be shared.
    pub floor_seconds: Option<f64>,
    /// Seconds that the file system needs for the bytes at least, if files have a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_floor_seconds: Option<f64>,
    /// Seconds that the links need at least for what our engine sends between hosts, if links have a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_floor_seconds: Option<f64>,
    /// Our time divided by the floor.
    pub floor_multiple: Option<f64>,
    /// True if all files had the same bytes in every run.
    pub bytes_equal: bool,
    /// Counts of our engine for a repetition; none if the engine ran no call.
    #[serde(flatten)]
    pub traffic: EngineTraffic,
}

/// Identification of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// Name of the pattern, with `-read` added for a read.
    pub pattern: String,
    /// MPI library, with version and device.
    pub mpi: String,
    /// Number of ranks.
    pub ranks: u64,
    /// Directory of the file.
    pub directory: String,
    /// Number of measurements of every variant.
    pub pairs: u64,
    /// Maximum number of repetitions inside a run.
    pub repeats: u64,
    /// Factor on the sizes of the pattern.
    pub scale: f64,
    /// Decomposition map of a case of E3SM, if one was given.
    pub map: Option<String>,
    /// Rate and latency of the file, as text, if it was on a slow file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_file: Option<String>,
}

impl Key {
    /// Returns the number of hosts, pretended or emulated.
    pub fn hosts(&self) -> u64 {
        let emulated = self.mpi.rsplit_once(EMULATED).and_then(|(_, text)| text.split(' ').next()?.parse().ok());
        let here = self.mpi.rsplit_once(HOSTS_OF).and_then(|(_, here)| here.parse().ok());
        emulated.or(here.filter(|here| *here > 0).map(|here: u64| self.ranks.div_ceil(here))).unwrap_or(1)
    }
}

/// Costs of a variant: medians over runs, of each run's median repetition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    /// Seconds of the slowest rank in a repetition.
    pub wall_seconds: f64,
    /// Processor seconds of all ranks.
    pub cpu_seconds: f64,
    /// Seconds of MPI_File_open and MPI_File_close, which the wall time does not include.
    pub open_close_seconds: f64,
    /// Number of context switches of all ranks.
    pub context_switches: f64,
    /// Number of page faults of all ranks.
    pub page_faults: f64,
    /// Number of system calls of all ranks, if they were counted.
    pub system_calls: Option<f64>,
    /// Reason why system calls were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_calls_missing: Option<String>,
    /// Peak memory of the largest rank, in bytes.
    pub peak_bytes: f64,
    /// Sum over ranks of each rank's peak memory in bytes. Shared memory is counted for each rank.
    pub job_peak_bytes: f64,
    /// Memory in bytes that all ranks held after the last call; shared memory is counted once. None where the kernel
    /// does not report it (Linux does from 4.14 on), in older rows, and for peers that do not print it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_pss_bytes: Option<f64>,
    /// Maximum over ranks of the growth of a rank's memory in bytes; an aggregator's memory grows most.
    pub aggregator_peak_bytes: f64,
    /// Seconds of a call: the median of the calls of a rank, on the rank where the median is longest. None if there are
    /// few calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_p50_seconds: Option<f64>,
    /// Seconds of a call: the 99th percentile of the calls of a rank, on the rank where it is longest. None if there
    /// are few calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_p99_seconds: Option<f64>,
    /// Wall time of every run in seconds.
    pub walls: Vec<f64>,
}

/// Results of another library, and its ratios to ours.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Peer {
    /// Settings of the library, as text.
    pub setting: String,
    /// Costs of the library.
    #[serde(flatten)]
    pub measured: Measured,
    /// Library's wall time divided by ours: the median of the pairs.
    pub wall_ratio: Option<f64>,
    /// Library's wall time divided by ours: median, least and most of the pairs.
    pub wall_ratios: Option<Ratio>,
    /// Library's processor time divided by ours: the median of the pairs.
    pub cpu_ratio: Option<f64>,
    /// Library's processor time divided by ours: median, least and most of the pairs.
    pub cpu_ratios: Option<Ratio>,
    /// True if the library's file has the same bytes as the file of the MPI library's defaults.
    pub bytes_equal: bool,
}

/// Counts that our engine reports for a repetition.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct EngineTraffic {
    /// Number of extents of all ranks.
    pub requests: Option<u64>,
    /// Number of messages with metadata and with data.
    pub messages: Option<u64>,
    /// Number of bytes of metadata and data that were exchanged, including bytes that ranks keep themselves.
    pub wire_bytes: Option<u64>,
    /// Number of bytes of metadata for each request.
    pub metadata_bytes_per_request: Option<f64>,
    /// Number of bytes that went from one host to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_hosts: Option<u64>,
    /// Memory of an aggregator in bytes; see [`Measured`].
    pub aggregator_peak_bytes: Option<f64>,
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Row in the form before library and shared memory were recorded: a write of 5 calls, seven pairs at the usual
    /// sizes, without ratios.
    pub const OLD: &str = r#"{"pattern":"btio","mpi":"MPICH 4","ranks":4,"directory":"/tmp","pairs":7,"repeats":3,"scale":1.0,"map":null,"machine":"m","file_system":"tmpfs","load":0.5,"calls":5,"bytes":40,"ours":{"wall_seconds":0.5,"cpu_seconds":1.0,"open_close_seconds":0.1,"context_switches":1.0,"page_faults":1.0,"system_calls":null,"peak_bytes":1.0,"job_peak_bytes":4.0,"aggregator_peak_bytes":1.0,"walls":[0.5,0.6]},"peers":{},"floor_seconds":null,"floor_multiple":null,"bytes_equal":true,"requests":7,"messages":3,"wire_bytes":40,"metadata_bytes_per_request":0.5,"aggregator_peak_bytes":1.0}
"#;

    /// Returns a row of a pattern with both peers, which have no ratios yet.
    pub fn row(pattern: &str) -> Row {
        let mut row: Row = serde_json::from_str(OLD).unwrap();
        row.key.pattern = pattern.to_string();
        for name in ["default", "best"] {
            let peer = Peer {
                setting: "defaults".to_string(),
                measured: row.ours.clone(),
                wall_ratio: None,
                wall_ratios: None,
                cpu_ratio: None,
                cpu_ratios: None,
                bytes_equal: true,
            };
            row.peers.insert(name.to_string(), peer);
        }
        row
    }

    #[test]
    fn rows_of_before_are_read_and_stay_what_they_were() {
        let row: Row = serde_json::from_str(OLD).unwrap();
        assert_eq!((&row.library, row.ours.job_pss_bytes), (&None, None));
        let again: serde_json::Value = serde_json::to_value(&row).unwrap();
        assert_eq!(again, serde_json::from_str::<serde_json::Value>(OLD).unwrap());
    }
}
