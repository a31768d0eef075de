//! What is known of a pattern on a number of ranks in a directory when it has been measured: a line of JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::statistics::Ratio;

/// One measured pattern.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// What was measured.
    #[serde(flatten)]
    pub key: Key,
    /// The machine: processor, cores.
    pub machine: String,
    /// The kind of file system.
    pub file_system: String,
    /// Programs that wanted to run, in the mean of the minute before: above the ranks, somebody else was there.
    pub load: f64,
    /// Calls of a repetition.
    pub calls: u64,
    /// Bytes of all ranks in a repetition.
    pub bytes: u64,
    /// Ours.
    pub ours: Measured,
    /// The others, by name: `default`, `best` and those of `--peer`.
    pub peers: BTreeMap<String, Peer>,
    /// Seconds of one copy through shared memory and one sequential write or read. None where no bytes move, or memory
    /// cannot be shared.
    pub floor_seconds: Option<f64>,
    /// Our time divided by the floor.
    pub floor_multiple: Option<f64>,
    /// Whether all files had the same bytes in every run.
    pub bytes_equal: bool,
    /// What our engine's report says of a repetition. None where it took no call.
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// What tells measurements apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// Name; that of a read ends in `-read`.
    pub pattern: String,
    /// The MPI library, with version and device.
    pub mpi: String,
    /// Number of ranks.
    pub ranks: u64,
    /// Where the file was.
    pub directory: String,
    /// How often everything took its turn.
    pub pairs: u64,
    /// Repetitions inside of a run at most.
    pub repeats: u64,
    /// Part of the usual sizes.
    pub scale: f64,
    /// The map of a case of E3SM, if one was given.
    pub map: Option<String>,
}

/// What a variant took: medians over runs, of each run's median repetition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    /// Seconds of the slowest rank.
    pub wall_seconds: f64,
    /// Processor seconds of all ranks.
    pub cpu_seconds: f64,
    /// Seconds of MPI_File_open and MPI_File_close around it, which the wall time does not have.
    pub open_close_seconds: f64,
    /// Context switches of all ranks.
    pub context_switches: f64,
    /// Page faults of all ranks.
    pub page_faults: f64,
    /// System calls of all ranks.
    pub system_calls: Option<f64>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_calls_missing: Option<String>,
    /// The most memory that any rank held.
    pub peak_bytes: f64,
    /// The sum of what all ranks held at most.
    pub job_peak_bytes: f64,
    /// By how much the memory of the rank that grew most did: that of an aggregator.
    pub aggregator_peak_bytes: f64,
    /// The wall time of every run.
    pub walls: Vec<f64>,
}

/// A peer, and how ours compares.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Peer {
    /// What was set.
    pub setting: String,
    /// What it took.
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
    /// Whether its file has the bytes that the default's has.
    pub bytes_equal: bool,
}

/// What our engine says of a repetition.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Traffic {
    /// Extents of all ranks.
    pub requests: Option<u64>,
    /// Messages of metadata and of data.
    pub messages: Option<u64>,
    /// Bytes of metadata and of data that were exchanged, what ranks give themselves included.
    pub wire_bytes: Option<u64>,
    /// Bytes of metadata by request.
    pub metadata_bytes_per_request: Option<f64>,
    /// Memory of an aggregator: see [`Measured`].
    pub aggregator_peak_bytes: Option<f64>,
}
