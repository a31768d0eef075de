//! `trib-lab explain`: compares the simulated times of a capture's largest write with the measured ones, and finds the
//! hint that should help most.

use serde::Serialize;
use tributary::engine::Capture;
use tributary::{Hints, Topology};
use tributary_lab::forecast::Parts;

use crate::advise::{Expected, Prospect, expect};
use crate::cli::advise::AdviseOptions;
use crate::cli::explain::ExplainOptions;
use crate::machines;
use trib::explain::{Account, CallAccount};
use trib::numbers::{ratio, time};
use trib::{Failure, listing, say};

/// Predicted and measured time of a phase.
#[derive(Debug, Clone, Serialize)]
pub struct Phase {
    /// Name of the phase.
    pub phase: &'static str,
    /// Predicted seconds of the aggregator that ends last.
    pub predicted: f64,
    /// Measured seconds, maximum over ranks.
    pub measured: f64,
}

/// Prediction for one call of a capture.
#[derive(Debug, Clone, Serialize)]
pub struct Predicted {
    /// Name of the machine.
    pub machine: String,
    /// Number of the call in the capture.
    pub call: usize,
    /// Phases of the call; the last one is the total. None if the ranks would exchange nothing in the call.
    pub phases: Vec<Phase>,
    /// Number of settings that were simulated on top of the hints in force, one at a time.
    pub tried: usize,
    /// Hint that gains most; none if no hint gains anything.
    pub best: Option<Best>,
    /// Note for the user before the comparison, or in its place.
    pub note: Option<String>,
}

/// Hint that is expected to help most.
#[derive(Debug, Clone, Serialize)]
pub struct Best {
    /// Hint, or hints that belong together, as text for `TRIB_HINTS`.
    pub hint: String,
    /// Predicted seconds with the hint.
    pub seconds: f64,
    /// Predicted time without the hint divided by the time with it.
    pub gain: f64,
}

/// Predicts the write of a capture and prints the comparison.
///
/// # Errors
/// A file that is no complete capture, or has no write; an unknown machine.
pub fn run(options: &ExplainOptions) -> Result<(), Failure> {
    let capture = Capture::open(&options.capture)?;
    let with = (options.capture.as_path(), options.machine.as_str(), options.ranks_per_node);
    let predicted = predict(&Account::of(&capture, None)?, &capture.topology()?, with)?;
    if options.json { say(serde_json::to_string_pretty(&predicted)?) } else { say(predicted.text()) }
}

/// Hints that describe this host and have no meaning for a write on several hosts.
const OF_THE_HOST: [&str; 2] = ["trib_driver", "trib_ranks_per_node"];

/// Simulates the largest write of a capture on a machine with the hints in force; then each candidate on top of these.
/// Where ranks share memory, or write their own bytes, there is nothing to simulate, and the result says so.
/// `ranks_per_node` is by default the capture's.
///
/// # Errors
/// An unknown machine; a capture without a write; hints that do not fit.
fn predict(
    account: &Account,
    topology: &Topology,
    (capture, machine, ranks_per_node): (&std::path::Path, &str, Option<usize>),
) -> Result<Predicted, Failure> {
    machines::machine(machine)?;
    let mut of_node = vec![0; topology.nodes()];
    (0..topology.ranks()).for_each(|rank| of_node[topology.node_of(rank)] += 1);
    let options = AdviseOptions {
        capture: capture.to_path_buf(),
        machine: machine.to_string(),
        storage: None,
        ranks: None,
        ranks_per_node: ranks_per_node.or(of_node.into_iter().max()),
        call: None,
        sample: None,
        hints: changed(&account.in_force),
        output: None,
        json: false,
    };
    let Expected { machine, call, parts, tried, best } = match expect(&options)? {
        Prospect::Exchanged(expected) => expected,
        Prospect::NotExchanged { machine, call, says } => {
            let note = Some(format!("Of call {call} {says}"));
            return Ok(Predicted { machine, call, phases: Vec::new(), tried: 0, best: None, note });
        }
    };
    let measured = account.calls.get(call).and_then(|call| call.report.as_ref());
    let path = account.calls.get(call).map_or(String::new(), CallAccount::path);
    let note = (path != "exchange").then(|| {
        format!("Here call {call} went another way ({path}); predicted is an exchange by messages between nodes of {machine}.")
    });
    let seconds = measured.map(|report| report.seconds).unwrap_or_default();
    let Parts { metadata, data, file, other, total } = parts;
    let phase = |phase, predicted, measured| Phase { phase, predicted, measured };
    let phases = vec![
        phase("metadata", metadata, seconds.metadata),
        phase("data", data, seconds.data),
        phase("io", file, seconds.io),
        phase("flatten and placement", other, seconds.flatten + seconds.placement),
        phase("total", total, seconds.total),
    ];
    let best = best.map(|(setting, seconds)| {
        let hint = setting.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join("; ");
        Best { hint, seconds, gain: total / seconds }
    });
    Ok(Predicted { machine, call, phases, tried, best, note })
}

/// Returns the hints that differ from their defaults, except the hints about the host.
fn changed(hints: &Hints) -> Vec<String> {
    let rows = hints.table().into_iter();
    let rows = rows.filter(|row| row.value != row.default && !OF_THE_HOST.contains(&row.key) && !row.value.is_empty());
    rows.map(|row| format!("{}={}", row.key, row.value)).collect()
}

impl Predicted {
    /// Returns the prediction as a table of the phases, and the advice.
    fn text(&self) -> String {
        let mut lines = vec![format!("Predicted against measured: call {} on {}", self.call, self.machine)];
        let mut table = listing::table(["phase", "predicted", "measured", "measured / predicted"]);
        for Phase { phase, predicted, measured } in &self.phases {
            table.add_row([phase.to_string(), time(*predicted), time(*measured), ratio(*measured, *predicted)]);
        }
        if !self.phases.is_empty() {
            lines.extend([table.to_string()].into_iter().chain(self.note.clone()));
        }
        lines.push(self.advice());
        lines.join("\n")
    }

    /// Returns the advice as a sentence.
    fn advice(&self) -> String {
        let tried = trib::numbers::counted(self.tried as u64, "setting");
        match &self.best {
            None if self.phases.is_empty() => self.note.clone().unwrap_or_default(),
            Some(Best { hint, seconds, gain }) => format!(
                "Of {tried} that were simulated for {}, the hint that should help most is {hint}: {} for call {}, {gain:.2} times \
                 as fast.",
                self.machine,
                trib::numbers::time(*seconds),
                self.call
            ),
            None => format!(
                "None of {tried} that were simulated for {} would be faster for call {}.",
                self.machine, self.call
            ),
        }
    }
}
