//! Reads the records of PyDarshan as JSON: `metadata`, `name_records` and `records` of a `DarshanReport`. `records` has
//! `DXT_MPIIO`, `DXT_POSIX` or both, each in the form of `to_dict()`.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::Deserialize;

use super::log::{Log, Module, Segment, Trace};

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    name_records: BTreeMap<String, String>,
    records: Records,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    job: Job,
    #[serde(default)]
    exe: String,
}

#[derive(Default, Deserialize)]
struct Job {
    #[serde(default)]
    nprocs: Option<usize>,
    #[serde(default)]
    start_time_sec: Option<f64>,
    #[serde(default)]
    log_ver: String,
}

#[derive(Deserialize)]
struct Records {
    #[serde(default, rename = "DXT_MPIIO")]
    mpiio: Vec<Record>,
    #[serde(default, rename = "DXT_POSIX")]
    posix: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    id: u64,
    rank: usize,
    #[serde(default)]
    hostname: String,
    write_count: usize,
    read_count: usize,
    write_segments: Vec<Recorded>,
    read_segments: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Recorded {
    offset: i64,
    length: i64,
    start_time: f64,
    end_time: f64,
}

/// Reads a log.
///
/// # Errors
/// The mistake in the log, and its position.
pub fn read(input: impl BufRead) -> Result<Log, String> {
    let report: Report = serde_json::from_reader(input)
        .map_err(|cause| format!("{cause}; allowed: PyDarshan's metadata, name_records and records"))?;
    let Metadata { job, exe } = report.metadata;
    let mut log = Log {
        version: job.log_ver,
        program: exe,
        started: job.start_time_sec.unwrap_or(0.0),
        ranks: job.nprocs,
        ..Log::default()
    };
    for (module, records) in [(Module::Mpiio, report.records.mpiio), (Module::Posix, report.records.posix)] {
        for record in records {
            log.traces.push(trace(module, record, &report.name_records)?);
        }
    }
    Ok(log)
}

fn trace(module: Module, record: Record, names: &BTreeMap<String, String>) -> Result<Trace, String> {
    let Record { id, rank, hostname, write_count, read_count, write_segments, read_segments } = record;
    let file = names.get(&id.to_string()).cloned().unwrap_or_else(|| id.to_string());
    if (write_segments.len(), read_segments.len()) != (write_count, read_count) {
        let found = format!("{} writes and {} reads", write_segments.len(), read_segments.len());
        return Err(format!(
            "cut: rank {rank} has {found} of {file}; allowed: {write_count} and {read_count}, as it says"
        ));
    }
    let segments = |all: Vec<Recorded>| {
        let one = |it: Recorded| Segment::new(it.offset.into(), it.length.into(), (it.start_time, it.end_time));
        let all: Result<Vec<_>, String> = all.into_iter().map(one).collect();
        all.map_err(|wrong| format!("rank {rank} of {file}: {wrong}"))
    };
    let (writes, reads) = (segments(write_segments)?, segments(read_segments)?);
    Ok(Trace { module, file, rank, host: hostname, file_system: String::new(), stripes: None, writes, reads })
}
