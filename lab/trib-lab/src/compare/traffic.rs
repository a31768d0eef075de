//! Reads the preload library's report of a file: requests, messages, bytes.

use serde::Deserialize;

use super::row::EngineTraffic;

/// Fields of a report that are used.
#[derive(Debug, Deserialize)]
struct PreloadReport {
    file: String,
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    accelerated: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    traffic: Option<Sums>,
}

/// Sums over the calls of a file.
#[derive(Debug, Default, Deserialize)]
struct Sums {
    requests: u64,
    metadata_messages: u64,
    metadata_bytes: u64,
    data_messages: u64,
    data_bytes: u64,
    /// An older library does not report it.
    #[serde(default)]
    between_hosts: Option<u64>,
}

/// Text before a report in a line.
const MARK: &str = "tributary: {";

/// Returns true if `text` has a report.
pub fn is_reported(text: &str) -> bool {
    text.contains(MARK)
}

fn reports(text: &str) -> impl DoubleEndedIterator<Item = PreloadReport> + '_ {
    let line = |line: &str| line.split_once(MARK).map(|(_, rest)| format!("{{{rest}"));
    text.lines().filter_map(line).filter_map(|line| serde_json::from_str::<PreloadReport>(&line).ok())
}

/// Returns the version of the library that reports; none if the report has none.
pub fn version(text: &str) -> Option<String> {
    reports(text).find_map(|report| report.version)
}

/// Returns the counts in the last report of `file` in which calls of the operation (`write` or `read`) were made;
/// `text` is the standard error of the run.
pub fn of(text: &str, file: &str, operation: &str) -> EngineTraffic {
    let is_it =
        |report: &PreloadReport| report.file == file && report.accelerated.keys().any(|call| call.contains(operation));
    let Some(sums) = reports(text).rev().find(is_it).and_then(|report| report.traffic) else {
        return EngineTraffic::default();
    };
    EngineTraffic {
        requests: Some(sums.requests),
        messages: Some(sums.metadata_messages + sums.data_messages),
        wire_bytes: Some(sums.metadata_bytes + sums.data_bytes),
        metadata_bytes_per_request: (sums.requests > 0).then(|| sums.metadata_bytes as f64 / sums.requests as f64),
        between_hosts: sums.between_hosts,
        aggregator_peak_bytes: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_report_of_the_file_counts() {
        let report = |file, call, bytes| {
            format!(
                "tributary: {{\"file\": \"{file}\", \"accelerated\": {{\"{call}\": {{}}}}, \"traffic\": {{\"requests\": 4, \
                 \"metadata_messages\": 1, \"metadata_bytes\": {bytes}, \"data_messages\": 2, \"data_bytes\": 100}}}}\n"
            )
        };
        let text = [
            "noise\n".into(),
            report("a", "write_all", 8),
            report("a", "write_at_all", 10),
            report("a", "read_all", 1),
        ]
        .concat()
            + &report("b", "write_all", 99);
        assert_eq!(version(&text), None);
        let newer = "tributary: {\"file\": \"a\", \"version\": \"0.2\"}";
        assert_eq!(version(newer).as_deref(), Some("0.2"));
        assert!(is_reported(&text) && !is_reported("noise"));
        let found = of(&text, "a", "write");
        assert_eq!((found.requests, found.messages, found.wire_bytes), (Some(4), Some(3), Some(110)));
        assert_eq!(found.metadata_bytes_per_request, Some(2.5));
        assert_eq!(of(&text, "c", "write").requests, None);
    }
}
