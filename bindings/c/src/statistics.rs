//! What the last collective call did.

use std::ffi::{c_char, c_int};

use serde::Serialize;
use tributary::engine::Path;
use tributary::{CallReport, Error, Rank};

use super::file::{opened, trib_file};
use super::lists::put;
use super::status::{guarded, trib_status};
use super::text::copy;

/// How the bytes of a call went.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum trib_path {
    /// There was nothing to write, or to read.
    #[default]
    TRIB_PATH_NOTHING = 0,
    /// Through aggregators.
    TRIB_PATH_EXCHANGE = 1,
    /// Every rank wrote, or read, its own extents.
    TRIB_PATH_DIRECT = 2,
    /// Through memory that all ranks share.
    TRIB_PATH_SHARED = 3,
    /// To rank 0 with the agreement: little data, all of which it wrote.
    TRIB_PATH_ROOT = 4,
}

/// The last collective write or read that went well, over all ranks: the same on each. All 0 before the first.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct trib_statistics {
    /// Collective writes and reads of this file that went well so far.
    pub calls: i64,
    /// How the bytes went; `trib_report_json` says why.
    pub path: trib_path,
    /// 1 when the plan of the call before was used again.
    pub plan_reused: c_int,
    /// Ranks that wrote, or read, the file for all.
    pub aggregators: i64,
    /// Extents of the file, as the ranks gave them.
    pub requests: i64,
    /// Bytes asked to be written, or read.
    pub bytes: i64,
    /// Bytes that got into the file; what several ranks wrote counts once.
    pub bytes_written: i64,
    /// Bytes that were read: those before the end of the file.
    pub bytes_read: i64,
    /// The most windows with data that any aggregator had.
    pub rounds: i64,
    /// Bytes of the messages that told aggregators of extents.
    pub metadata_bytes: i64,
    /// Messages that told aggregators of extents.
    pub metadata_messages: i64,
    /// Messages with data.
    pub data_messages: i64,
    /// Bytes of extents and data that went between ranks of a node in memory that they share: 0 where the inner layer of
    /// `two_layer` is messages, or there is none.
    pub in_memory: i64,
    /// Seconds, the most of any rank: cutting the access by aggregator.
    pub seconds_flatten: f64,
    /// Telling aggregators of extents.
    pub seconds_metadata: f64,
    /// Exchanging data.
    pub seconds_data: f64,
    /// Copying into windows, or out of them.
    pub seconds_placement: f64,
    /// In the file system, while others are exchanged.
    pub seconds_io: f64,
    /// Agreeing on ranges, errors and these numbers.
    pub seconds_agreement: f64,
    /// From start to end.
    pub seconds_total: f64,
}

impl trib_statistics {
    fn of(calls: u64, report: &CallReport) -> Self {
        let path = match report.path {
            Path::Nothing => trib_path::TRIB_PATH_NOTHING,
            Path::Exchange => trib_path::TRIB_PATH_EXCHANGE,
            Path::Direct => trib_path::TRIB_PATH_DIRECT,
            Path::Shared => trib_path::TRIB_PATH_SHARED,
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

/// What the last collective call that went well did. Not collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_get_statistics(file: *mut trib_file, statistics: *mut trib_statistics) -> trib_status {
    // SAFETY: the caller's promises: an open file; `statistics` is null or may be written.
    guarded(|| unsafe {
        if statistics.is_null() {
            return Err(Error::argument("statistics", "NULL", "where they are to be put"));
        }
        let file = opened(file)?;
        put(statistics, file.last.as_ref().map(|last| trib_statistics::of(file.calls, last)).unwrap_or_default());
        Ok(())
    })
}

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    file: String,
    driver: String,
    ranks: usize,
    nodes: usize,
    aggregators: &'a [Rank],
    calls: u64,
    last_call: Option<&'a CallReport>,
}

/// File, driver, ranks, aggregators and the last collective call that went well, as one JSON object, for the `size` bytes at
/// `text`: it ends with 0, cut where it does not fit. `*length`, unless `length` is NULL, becomes the length of the whole
/// text, without the 0. Not collective, and the same on all ranks. No operation may be in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trib_report_json(
    file: *mut trib_file,
    text: *mut c_char,
    size: usize,
    length: *mut usize,
) -> trib_status {
    // SAFETY: the caller's promises: an open file, `size` bytes at `text`, `length` null or to be written.
    guarded(|| unsafe {
        let trib_file { busy, path, calls, last, .. } = opened(file)?;
        let engine = busy.file()?;
        let report = Report {
            file: path.display().to_string(),
            driver: engine.driver().to_string(),
            ranks: engine.topology().ranks(),
            nodes: engine.topology().nodes(),
            aggregators: engine.aggregators(),
            calls: *calls,
            last_call: last.as_ref(),
        };
        let internal = |cause: serde_json::Error| Error::Internal { rank: 0, what: cause.to_string() };
        copy(&serde_json::to_string(&report).map_err(internal)?, text, size, length)
    })
}
