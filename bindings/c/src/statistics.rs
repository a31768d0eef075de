//! Returns statistics of the last collective call to C programs.

use std::ffi::{c_char, c_int};

use serde::Serialize;
use tributary::engine::Path;
use tributary::{CallReport, Error, Rank};

use super::file::{opened, trib_file};
use super::lists::{copy, put};
use super::status::{guarded, trib_status};

/// The path that the data of a call took.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum trib_path {
    /// No rank had data.
    #[default]
    TRIB_PATH_NOTHING = 0,
    /// Aggregators wrote or read the data, which all ranks exchanged with them by messages.
    TRIB_PATH_EXCHANGE = 1,
    /// Every rank wrote or read its own extents.
    TRIB_PATH_DIRECT = 2,
    /// Data went through memory that all ranks share, or that the ranks of each host share: none went from one host
    /// to another.
    TRIB_PATH_SHARED = 3,
    /// Rank 0 wrote all data, which was so little that it travelled with the messages of agreement.
    TRIB_PATH_ROOT = 4,
}

/// Statistics of the last collective write or read that succeeded. They cover all ranks and are the same on each. All are
/// 0 before the first such call.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct trib_statistics {
    /// Number of collective writes and reads of this file that have succeeded so far.
    pub calls: i64,
    /// The path that the data took; `trib_report_json` says why.
    pub path: trib_path,
    /// 1 if the plan of the previous call was reused, else 0.
    pub plan_reused: c_int,
    /// Number of ranks that wrote or read the file for the others.
    pub aggregators: i64,
    /// Number of extents in the file that all ranks together passed.
    pub requests: i64,
    /// Number of bytes that all ranks together asked to write or read.
    pub bytes: i64,
    /// Number of bytes that all ranks together wrote to the file; a byte that several ranks gave counts once.
    pub bytes_written: i64,
    /// Number of bytes that all ranks together read, without bytes beyond the end of the file.
    pub bytes_read: i64,
    /// Number of rounds: the maximum number of windows with data on any aggregator.
    pub rounds: i64,
    /// Number of bytes of metadata messages, in which ranks send their extents to aggregators.
    pub metadata_bytes: i64,
    /// Number of metadata messages.
    pub metadata_messages: i64,
    /// Number of messages with data.
    pub data_messages: i64,
    /// Number of bytes of metadata and data that ranks of one node exchanged through shared memory: 0 if the kernel
    /// is not `two_layer`, or if the ranks of a node share no memory.
    pub in_memory: i64,
    /// Seconds of splitting the access by aggregator. This and all times below are the maximum over the ranks.
    pub seconds_flatten: f64,
    /// Seconds of exchanging metadata, which tell aggregators the extents.
    pub seconds_metadata: f64,
    /// Seconds of exchanging data.
    pub seconds_data: f64,
    /// Seconds of copying into windows or out of them.
    pub seconds_placement: f64,
    /// Seconds in the file system. Ranks exchange other windows (pieces of the file) meanwhile.
    pub seconds_io: f64,
    /// Seconds of agreeing on the range of the file, on errors and on these numbers.
    pub seconds_agreement: f64,
    /// Seconds from the start of the call to its end.
    pub seconds_total: f64,
}

impl trib_statistics {
    fn from_report(calls: u64, report: &CallReport) -> Self {
        let path = match report.path {
            Path::Nothing => trib_path::TRIB_PATH_NOTHING,
            Path::Exchange => trib_path::TRIB_PATH_EXCHANGE,
            Path::Direct | Path::Independent => trib_path::TRIB_PATH_DIRECT,
            Path::Windows | Path::Hosts | Path::Slots => trib_path::TRIB_PATH_SHARED,
            Path::Root => trib_path::TRIB_PATH_ROOT,
        };
        Self {
            calls: calls as i64,
            path,
            plan_reused: c_int::from(report.plan_reused),
            aggregators: report.aggregators as i64,
            requests: report.requests as i64,
            bytes: report.bytes as i64,
            bytes_written: report.bytes_written as i64,
            bytes_read: report.bytes_read as i64,
            rounds: report.rounds as i64,
            metadata_bytes: report.metadata_bytes as i64,
            metadata_messages: report.metadata_messages as i64,
            data_messages: report.data_messages as i64,
            in_memory: report.in_memory as i64,
            seconds_flatten: report.seconds.flatten,
            seconds_metadata: report.seconds.metadata,
            seconds_data: report.seconds.data,
            seconds_placement: report.seconds.placement,
            seconds_io: report.seconds.io,
            seconds_agreement: report.seconds.agreement,
            seconds_total: report.seconds.total,
        }
    }
}

/// Returns the statistics of the last collective call that succeeded. Not collective.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_get_statistics(
    file: *mut trib_file,
    statistics: *mut trib_statistics,
) -> trib_status {
    // SAFETY: the caller's promises: an open file; `statistics` is null or may be written.
    guarded(|| unsafe {
        if statistics.is_null() {
            return Err(Error::argument("statistics", "NULL", "a pointer to a trib_statistics"));
        }
        let file = opened(file)?;
        put(
            statistics,
            file.last.as_ref().map(|last| trib_statistics::from_report(file.calls, last)).unwrap_or_default(),
        );
        Ok(())
    })
}

/// The report that `trib_report_json` prints as JSON.
#[derive(Serialize)]
struct StatisticsReport<'a> {
    file: String,
    driver: String,
    ranks: usize,
    nodes: usize,
    aggregators: &'a [Rank],
    calls: u64,
    last_call: Option<&'a CallReport>,
}

/// Describes the file, its driver, ranks and aggregators, and the last collective call that succeeded, as one JSON object.
/// Stores at most `size` bytes at `text`, with a terminating 0; a longer text is cut. Sets `*length`, unless `length` is
/// NULL, to the length of the whole text without the 0. Not collective; the text is the same on all ranks. No operation
/// may be in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn trib_report_json(
    file: *mut trib_file,
    text: *mut c_char,
    size: usize,
    length: *mut usize,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, `size` bytes at `text`, `length` null or to be written.
    guarded(|| unsafe {
        let trib_file { busy, path, calls, last, .. } = opened(file)?;
        let engine = busy.file()?;
        let report = StatisticsReport {
            file: path.display().to_string(),
            driver: engine.settings().driver.to_string(),
            ranks: engine.settings().topology.ranks(),
            nodes: engine.settings().topology.nodes(),
            aggregators: engine.settings().aggregators,
            calls: *calls,
            last_call: last.as_ref(),
        };
        let internal = |cause: serde_json::Error| Error::internal(0, cause.to_string());
        copy(&serde_json::to_string(&report).map_err(internal)?, text, size, length)
    })
}
