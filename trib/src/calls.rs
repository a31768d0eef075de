//! Sums over the collective calls of a replay: a pattern makes one call per step.

use tributary::CallReport;
use tributary::engine::{AutoChoice, AutoKernel, FanIn, Path};

/// A path that calls took, by its name, and the reason of the first such call.
struct PathTaken {
    path: Path,
    why: String,
    calls: u64,
}

/// Sums over all calls of one direction (writes or reads).
#[derive(Default)]
pub struct Calls {
    /// Number of calls.
    pub count: u64,
    /// Number of calls that reused plan and metadata of an earlier call.
    pub plans_reused: u64,
    /// Sum of the reports of all calls.
    pub sum: CallReport,
    /// Seconds of each call, in the order of the calls.
    pub each: Vec<f64>,
    /// Fan-in of aggregators per round, over all calls.
    pub fan_in: FanIn,
    ways: Vec<PathTaken>,
    /// Kernels that `auto` chose for metadata and for data in exchanges, without repeats.
    taken: Vec<[AutoKernel; 2]>,
}

impl Calls {
    /// Adds the report of one call to the sums.
    pub fn add(&mut self, call: CallReport) {
        self.count += 1;
        self.plans_reused += u64::from(call.plan_reused);
        self.sum += &call;
        self.each.push(call.seconds.total);
        let taken = taken(&call);
        if call.path == Path::Exchange && !self.taken.contains(&taken) {
            self.taken.push(taken);
        }
        match self.ways.iter_mut().find(|way| way.path.name() == call.path.name()) {
            Some(way) => way.calls += 1,
            None => self.ways.push(PathTaken { path: call.path, why: call.why().to_string(), calls: 1 }),
        }
    }

    /// Returns the number of bytes that went to the file or came from it.
    pub fn bytes_in_file(&self) -> u64 {
        self.sum.bytes_written + self.sum.bytes_read
    }

    /// Returns the path of all calls, such as `exchange` or `direct`; `mixed` if calls took different paths.
    pub fn path(&self) -> String {
        match &self.ways[..] {
            [] => Path::Nothing.to_string(),
            [way] => way.path.to_string(),
            _ => "mixed".to_string(),
        }
    }

    /// Returns the path of all calls as a phrase, such as `through aggregators`.
    pub fn path_phrase(&self) -> &'static str {
        match &self.ways[..] {
            [] => Path::Nothing.phrase(),
            [way] => way.path.phrase(),
            _ => "mixed",
        }
    }

    /// Returns true if any call exchanged data by messages, so that it had aggregators and kernels.
    pub fn has_exchanged(&self) -> bool {
        self.ways.iter().any(|way| way.path == Path::Exchange)
    }

    /// Returns the names of the kernels that `auto` chose, for metadata (phase 0) or data (phase 1), without repeats;
    /// none if no call was an exchange.
    pub fn taken(&self, phase: usize) -> Vec<String> {
        let mut names = Vec::new();
        for name in self.taken.iter().map(|taken| taken[phase].to_string()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the reason for the path; if there are several paths, the reason for each.
    pub fn why(&self) -> String {
        match &self.ways[..] {
            [way] => way.why.clone(),
            ways => {
                let one = |way: &PathTaken| format!("{} {} ({})", way.calls, way.path.phrase(), way.why);
                ways.iter().map(one).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// Returns the kernels that `auto` chose for metadata and for data; the flat kernel where there was no choice.
fn taken(call: &CallReport) -> [AutoKernel; 2] {
    let of = |is_open: fn(&AutoChoice) -> bool| call.auto.filter(is_open).map(|choice| choice.kernel);
    [of(|choice| choice.metadata), of(|choice| choice.data)].map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use tributary::engine::Seconds;

    use super::*;

    fn call(path: Path, why: &str, rounds: u64) -> CallReport {
        let seconds = Seconds { io: 0.5, ..Seconds::default() };
        CallReport {
            path,
            text: Some(why.to_string().into()),
            plan_reused: rounds == 3,
            aggregators: rounds as usize,
            requests: 1,
            bytes: 10,
            bytes_written: 9,
            rounds,
            metadata_bytes: 2,
            metadata_messages: 3,
            data_messages: 4,
            in_memory: 5,
            seconds,
            ..CallReport::default()
        }
    }

    #[test]
    fn sums_and_maxima() {
        let mut calls = Calls::default();
        assert_eq!(calls.path(), "nothing");
        calls.add(call(Path::Exchange, "small", 5));
        assert_eq!((calls.path(), calls.why()), ("exchange".into(), "small".into()));
        calls.add(call(Path::Direct, "large", 3));
        calls.add(call(Path::Direct, "huge", 1));
        assert_eq!((calls.count, calls.plans_reused, calls.sum.rounds, calls.sum.aggregators), (3, 1, 5, 5));
        assert_eq!((calls.sum.requests, calls.sum.bytes, calls.bytes_in_file()), (3, 30, 27));
        assert_eq!((calls.sum.data_messages, calls.sum.in_memory, calls.sum.seconds.io), (12, 15, 1.5));
        assert_eq!(
            (calls.path(), calls.why()),
            ("mixed".into(), "1 through aggregators (small), 2 each rank by itself (large)".into())
        );
    }

    #[test]
    fn what_auto_took_is_a_value_of_the_report() {
        let exchange = |kernel, metadata| {
            let auto = AutoChoice { kernel, metadata, data: true };
            CallReport { auto: Some(auto), ..call(Path::Exchange, "small", 1) }
        };
        let mut calls = Calls::default();
        calls.add(call(Path::Direct, "large", 1));
        assert!(calls.taken(0).is_empty());
        calls.add(call(Path::Exchange, "small", 1));
        calls.add(exchange(AutoKernel::Flat, true));
        assert_eq!((calls.taken(0), calls.taken(1)), (vec!["balanced".into()], vec!["balanced".into()]));
        calls.add(exchange(AutoKernel::TwoLayer { per_node: 2 }, false));
        let two_layer = "two_layer with 2 local aggregators a node";
        assert_eq!(
            (calls.taken(0), calls.taken(1)),
            (vec!["balanced".into()], vec!["balanced".into(), two_layer.into()])
        );
        calls.add(exchange(AutoKernel::TwoLayer { per_node: 2 }, true));
        assert_eq!(calls.taken(0), ["balanced", two_layer]);
    }
}
