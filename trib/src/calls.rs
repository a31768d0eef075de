//! Sums over the collective calls of a replay: a pattern makes one call per step.

use tributary::CallReport;
use tributary::engine::{FanIn, Path, Seconds};

/// A path that calls took, and the reason of the first of them.
struct Way {
    path: Path,
    why: String,
    calls: u64,
}

/// The sums over all calls of one direction.
#[derive(Default)]
pub struct Calls {
    /// Number of calls.
    pub count: u64,
    /// Number of calls that reused plan and metadata of the call before.
    pub plans_reused: u64,
    /// The largest number of aggregators of any call.
    pub aggregators: usize,
    /// Extents, as the ranks gave them.
    pub requests: u64,
    /// Bytes asked for.
    pub bytes: u64,
    /// Bytes that went to the file or came from it.
    pub bytes_in_file: u64,
    /// The largest number of rounds of any call.
    pub rounds: u64,
    /// Bytes of metadata messages.
    pub metadata_bytes: u64,
    /// Messages of the metadata phase.
    pub metadata_messages: u64,
    /// Messages of the data phase.
    pub data_messages: u64,
    /// Bytes that went through memory inside the nodes.
    pub in_memory: u64,
    /// Time by phase.
    pub seconds: Seconds,
    /// Fan-in of aggregators per round, over all calls.
    pub fan_in: FanIn,
    ways: Vec<Way>,
}

impl Calls {
    /// Adds one call, which moved `in_file` bytes to the file or from it.
    pub fn add(&mut self, in_file: u64, call: CallReport) {
        self.count += 1;
        self.plans_reused += u64::from(call.plan_reused);
        self.aggregators = self.aggregators.max(call.aggregators);
        self.requests += call.requests;
        self.bytes += call.bytes;
        self.bytes_in_file += in_file;
        self.rounds = self.rounds.max(call.rounds);
        self.metadata_bytes += call.metadata_bytes;
        self.metadata_messages += call.metadata_messages;
        self.data_messages += call.data_messages;
        self.in_memory += call.in_memory;
        self.seconds = sum(&self.seconds, &call.seconds);
        match self.ways.iter_mut().find(|way| way.path == call.path) {
            Some(way) => way.calls += 1,
            None => self.ways.push(Way { path: call.path, why: call.why.into_owned(), calls: 1 }),
        }
    }

    /// The path of all calls, such as `exchange` or `direct`; `mixed` if calls took different paths.
    pub fn path(&self) -> String {
        match &self.ways[..] {
            [] => format!("{:?}", Path::Nothing).to_lowercase(),
            [way] => format!("{:?}", way.path).to_lowercase(),
            _ => "mixed".to_string(),
        }
    }

    /// The reason for the path; if there are several paths, for each.
    pub fn why(&self) -> String {
        match &self.ways[..] {
            [way] => way.why.clone(),
            ways => {
                let one = |way: &Way| format!("{} {:?} ({})", way.calls, way.path, way.why).to_lowercase();
                ways.iter().map(one).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

fn sum(a: &Seconds, b: &Seconds) -> Seconds {
    Seconds {
        flatten: a.flatten + b.flatten,
        metadata: a.metadata + b.metadata,
        data: a.data + b.data,
        placement: a.placement + b.placement,
        io: a.io + b.io,
        agreement: a.agreement + b.agreement,
        total: a.total + b.total,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(path: Path, why: &str, rounds: u64) -> CallReport {
        let seconds = Seconds { io: 0.5, ..Seconds::default() };
        CallReport {
            path,
            why: why.to_string().into(),
            plan_reused: rounds == 3,
            aggregators: rounds as usize,
            requests: 1,
            bytes: 10,
            bytes_written: 9,
            bytes_read: 0,
            rounds,
            metadata_bytes: 2,
            metadata_messages: 3,
            data_messages: 4,
            in_memory: 5,
            seconds,
        }
    }

    #[test]
    fn sums_and_maxima() {
        let mut calls = Calls::default();
        assert_eq!(calls.path(), "nothing");
        calls.add(9, call(Path::Exchange, "small", 5));
        assert_eq!((calls.path(), calls.why()), ("exchange".into(), "small".into()));
        calls.add(9, call(Path::Direct, "large", 3));
        calls.add(9, call(Path::Direct, "huge", 1));
        assert_eq!((calls.count, calls.plans_reused, calls.rounds, calls.aggregators), (3, 1, 5, 5));
        assert_eq!((calls.requests, calls.bytes, calls.bytes_in_file, calls.data_messages), (3, 30, 27, 12));
        assert_eq!((calls.in_memory, calls.seconds.io), (15, 1.5));
        assert_eq!((calls.path(), calls.why()), ("mixed".into(), "1 exchange (small), 2 direct (large)".into()));
    }
}
