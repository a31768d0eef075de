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
    /// Seconds of each call, in their order.
    pub each: Vec<f64>,
    /// Fan-in of aggregators per round, over all calls.
    pub fan_in: FanIn,
    ways: Vec<Way>,
    /// What `auto` took for metadata and for data in exchanges, without repeats.
    taken: Vec<[String; 2]>,
}

/// The kernels that `auto` takes where a report says of no other.
const DEFAULT: &str = "balanced";

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
        self.seconds += call.seconds;
        self.each.push(call.seconds.total);
        let taken = taken(&call.why);
        if call.path == Path::Exchange && !self.taken.contains(&taken) {
            self.taken.push(taken);
        }
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

    /// The kernels that `auto` took, of metadata (0) or data (1), without repeats; none if no call was an exchange.
    pub fn taken(&self, phase: usize) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for taken in &self.taken {
            if !names.contains(&taken[phase].as_str()) {
                names.push(&taken[phase]);
            }
        }
        names
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

/// What `auto` took for metadata and data, from a report's reason: `...; two_layer with 2 a node for metadata and data, as ...`.
fn taken(why: &str) -> [String; 2] {
    let said = why.split("; ").find_map(|part| part.starts_with("two_layer").then(|| part.split_once(" for "))?);
    let (kernel, phases) = said.unwrap_or_default();
    let has = |phase: &str| phases.split([' ', ',']).any(|word| word == phase);
    ["metadata", "data"].map(|phase| if has(phase) { kernel } else { DEFAULT }.to_string())
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

    #[test]
    fn what_auto_took_is_in_the_reason() {
        let mut calls = Calls::default();
        calls.add(9, call(Path::Direct, "large", 1));
        assert!(calls.taken(0).is_empty());
        calls.add(9, call(Path::Exchange, "small", 1));
        assert_eq!((calls.taken(0), calls.taken(1)), (vec!["balanced"], vec!["balanced"]));
        calls.add(9, call(Path::Exchange, "small; two_layer with 2 a node for data, as predicted to be faster", 1));
        assert_eq!((calls.taken(0), calls.taken(1)), (vec!["balanced"], vec!["balanced", "two_layer with 2 a node"]));
        let both = "a; two_layer with 1 a node for metadata and data, as tried";
        assert_eq!(taken(both), ["two_layer with 1 a node", "two_layer with 1 a node"]);
        assert_eq!(taken("a; balanced for metadata and data, as tried"), ["balanced", "balanced"]);
    }
}
