//! The result for one pattern on a number of ranks in a directory: a line of JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use trib::compare::statistics::Ratio;

/// How the name of a pattern's read ends.
pub const READ: &str = "-read";

/// What stands in the name of an MPI library before the number of ranks that have a host name together, if hosts are pretended.
pub const HOSTS_OF: &str = ", hosts of ";

/// What stands there before the number of emulated hosts, the ranks of each and the shape of their links.
pub const EMULATED: &str = ", emulated hosts ";

/// One measured pattern.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// What identifies the measurement.
    #[serde(flatten)]
    pub key: Key,
    /// The machine: processor, cores.
    pub machine: String,
    /// Our library: its version, and the beginning of its file's SHA-256. None in rows of before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// The kind of file system.
    pub file_system: String,
    /// Load average of the minute before. Above the number of ranks, other programs were running.
    pub load: f64,
    /// Calls of a repetition.
    pub calls: u64,
    /// Bytes of all ranks in a repetition.
    pub bytes: u64,
    /// The preload library.
    pub ours: Measured,
    /// The other libraries by name: `default`, `best` and those of `--peer`.
    pub peers: BTreeMap<String, Peer>,
    /// The floor: seconds of one copy through shared memory and one sequential write or read. None if there is no data, or
    /// memory cannot be shared.
    pub floor_seconds: Option<f64>,
    /// Our time divided by the floor.
    pub floor_multiple: Option<f64>,
    /// Whether all files had the same bytes in every run.
    pub bytes_equal: bool,
    /// The report of our engine for a repetition. None if it ran no call.
    #[serde(flatten)]
    pub traffic: EngineTraffic,
}

/// What identifies a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// Name of the pattern, with `-read` added for a read.
    pub pattern: String,
    /// The MPI library, with version and device.
    pub mpi: String,
    /// Number of ranks.
    pub ranks: u64,
    /// The directory of the file.
    pub directory: String,
    /// How often every variant was measured.
    pub pairs: u64,
    /// Repetitions inside a run at most.
    pub repeats: u64,
    /// Factor on the sizes.
    pub scale: f64,
    /// The map of a case of E3SM, if one was given.
    pub map: Option<String>,
}

impl Key {
    /// Number of hosts, pretended and emulated ones.
    pub fn hosts(&self) -> u64 {
        let emulated = self.mpi.rsplit_once(EMULATED).and_then(|(_, text)| text.split(' ').next()?.parse().ok());
        let here = self.mpi.rsplit_once(HOSTS_OF).and_then(|(_, here)| here.parse().ok());
        emulated.or(here.filter(|here| *here > 0).map(|here: u64| self.ranks.div_ceil(here))).unwrap_or(1)
    }
}

/// The costs of a variant: medians over runs, of each run's median repetition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    /// Seconds of the slowest rank.
    pub wall_seconds: f64,
    /// Processor seconds of all ranks.
    pub cpu_seconds: f64,
    /// Seconds of MPI_File_open and MPI_File_close, which the wall time does not include.
    pub open_close_seconds: f64,
    /// Context switches of all ranks.
    pub context_switches: f64,
    /// Page faults of all ranks.
    pub page_faults: f64,
    /// System calls of all ranks.
    pub system_calls: Option<f64>,
    /// The reason why they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_calls_missing: Option<String>,
    /// Peak memory of the largest rank, in bytes.
    pub peak_bytes: f64,
    /// The sum of what all ranks held at most. What they share is counted for each.
    pub job_peak_bytes: f64,
    /// What all ranks held after the last call; what they share is counted once. None where the kernel does not tell (Linux
    /// does from 4.14 on), in rows of before this was measured, and of peers that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_pss_bytes: Option<f64>,
    /// By how much the memory of the rank that grew most did: that of an aggregator.
    pub aggregator_peak_bytes: f64,
    /// Seconds of a call: the median of the calls of a rank, on the rank where that is longest. None of few calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_p50_seconds: Option<f64>,
    /// The same of the 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_p99_seconds: Option<f64>,
    /// The wall time of every run.
    pub walls: Vec<f64>,
}

/// Another library, and its ratios to ours.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Peer {
    /// Its settings.
    pub setting: String,
    /// Its costs.
    #[serde(flatten)]
    pub measured: Measured,
    /// Its wall time divided by ours: the median of the pairs.
    pub wall_ratio: Option<f64>,
    /// The same with least and most.
    pub wall_ratios: Option<Ratio>,
    /// Its processor time divided by ours.
    pub cpu_ratio: Option<f64>,
    /// The same with least and most.
    pub cpu_ratios: Option<Ratio>,
    /// Whether its file has the same bytes as that of the MPI library's defaults.
    pub bytes_equal: bool,
}

/// The report of our engine for a repetition.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct EngineTraffic {
    /// Extents of all ranks.
    pub requests: Option<u64>,
    /// Messages of metadata and of data.
    pub messages: Option<u64>,
    /// Bytes of metadata and data that were exchanged, including those that ranks keep themselves.
    pub wire_bytes: Option<u64>,
    /// Bytes of metadata by request.
    pub metadata_bytes_per_request: Option<f64>,
    /// Memory of an aggregator: see [`Measured`].
    pub aggregator_peak_bytes: Option<f64>,
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A row of before libraries and shared memory were told, as files have them: a write of 5 calls, seven pairs at the usual
    /// sizes, without ratios.
    pub const OLD: &str = r#"{"pattern":"btio","mpi":"MPICH 4","ranks":4,"directory":"/tmp","pairs":7,"repeats":3,"scale":1.0,"map":null,"machine":"m","file_system":"tmpfs","load":0.5,"calls":5,"bytes":40,"ours":{"wall_seconds":0.5,"cpu_seconds":1.0,"open_close_seconds":0.1,"context_switches":1.0,"page_faults":1.0,"system_calls":null,"peak_bytes":1.0,"job_peak_bytes":4.0,"aggregator_peak_bytes":1.0,"walls":[0.5,0.6]},"peers":{},"floor_seconds":null,"floor_multiple":null,"bytes_equal":true,"requests":7,"messages":3,"wire_bytes":40,"metadata_bytes_per_request":0.5,"aggregator_peak_bytes":1.0}
"#;

    /// A row of a pattern with both peers, which have no ratios yet.
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
