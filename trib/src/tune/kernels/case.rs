//! One write, simulated with every choice of kernels.

use std::sync::Arc;

use clap::FromArgMatches;
use tributary::engine::choice::Candidate;
use tributary::hints::DriverName;
use tributary::{Hints, Topology};
use tributary_benchmarks::{Pattern, PatternError};
use tributary_lab::forecast::{
    CollectiveWrite, CollectiveWriteOptions, Division, Lists, MessageCounts, SharedFile, costs,
};
use tributary_lab::sim::{self, Machine};

use super::Row;
use crate::Failure;
use crate::sim::memory;
use crate::source::Chosen;

/// The default without `auto`, with its own throttle.
pub const DEFAULT: &str = "balanced";

/// A pattern on nodes of a machine.
pub struct Case {
    machine: Machine,
    name: String,
    nodes: usize,
    sample: usize,
    pattern: Box<dyn Pattern>,
    topology: Topology,
    hints: Hints,
}

/// The fixed choices: name, and hints. Of `given` hints, if any, and the default without `auto`.
fn fixed(per_node: usize, given: &[String]) -> Vec<(String, String)> {
    let flat = |name: &str, kernel: &str, more: &str| {
        (name.to_string(), format!("trib_kernel_meta={kernel}; trib_kernel_data={kernel}; {more}"))
    };
    let default = flat(DEFAULT, DEFAULT, "");
    if !given.is_empty() {
        return std::iter::once(default).chain(given.iter().map(|hints| (hints.clone(), hints.clone()))).collect();
    }
    let throttle = |limit: u32| format!("trib_throttle_meta={limit}; trib_throttle_data={limit}");
    let window = |limit: u32| format!("{}; trib_throttle_mode=window", throttle(limit));
    let mut all = vec![
        default,
        flat("balanced, batches of 8", DEFAULT, &throttle(8)),
        flat("balanced, batches of 32", DEFAULT, &throttle(32)),
        flat("balanced, batches of 128", DEFAULT, &throttle(128)),
        flat("balanced, window of 32", DEFAULT, &window(32)),
        flat("balanced, window of 128", DEFAULT, &window(128)),
        flat("balanced, no throttle", DEFAULT, &throttle(0)),
        flat("ascending_issend", "ascending_issend", ""),
        flat("pairwise", "pairwise", ""),
    ];
    for local in [1, 2, 4, 8, 16].into_iter().filter(|local| local * 2 <= per_node) {
        let more = format!("nc_num_aggrs_per_node={local}");
        all.push(flat(&format!("two_layer, {local} per node"), "two_layer", &more));
    }
    all
}

impl Case {
    /// Prepares a case.
    ///
    /// # Errors
    /// A pattern that does not exist, or not on so many ranks.
    pub fn new(machine: &Machine, name: &str, nodes: usize, sample: usize) -> Result<Self, Failure> {
        let machine = Machine { connection: None, ..machine.clone() };
        let per_node = machine.ranks_per_node;
        let chosen = parsed(name)?;
        // Some patterns want square numbers.
        let most = nodes * per_node;
        let square = most.isqrt().pow(2);
        let pattern = chosen.subject(Some(most)).or_else(|_| chosen.subject(Some(square)))?;
        let pattern = pattern.into_file("trib tune kernels")?;
        let driver = machine.storage.map_or(DriverName::Lustre, |storage| storage.driver);
        let topology = Topology::blocks(pattern.ranks(), per_node)?;
        let hints = Hints { driver, ..Hints::default() };
        Ok(Self { machine, name: name.to_string(), nodes, sample, pattern, topology, hints })
    }

    /// Simulates it: with every fixed choice, or with `choices`, and with `auto`.
    ///
    /// # Errors
    /// Those of the pattern, the hints and the simulator.
    pub fn row(&self, choices: &[String]) -> Result<Row, Failure> {
        let counted = self.counted()?;
        let per_node = self.topology.ranks_on(0);
        let seconds = |hints: &str| self.seconds(&counted, hints);
        let mut times = std::collections::BTreeMap::new();
        for (name, hints) in fixed(per_node, choices) {
            times.insert(name, seconds(&hints)?.1);
        }
        let (chosen, auto) = seconds("")?;
        let (file, counts) = &counted;
        let chooser = costs::chooser(&self.machine, &self.topology, file.aggregators.len(), &self.hints);
        let predicted = (costs::alternatives(&chooser, counts).into_iter())
            .map(|Candidate { way, seconds: predicted, .. }| {
                let kernel = if way.local > 0 { "two_layer" } else { DEFAULT };
                let local = way.local;
                let hints =
                    format!("trib_kernel_meta={kernel}; trib_kernel_data={kernel}; nc_num_aggrs_per_node={local}");
                Ok((predicted, seconds(&hints)?.1))
            })
            .collect::<Result<_, Failure>>()?;
        Ok(Row {
            machine: self.machine.name.clone(),
            pattern: self.name.clone(),
            nodes: self.nodes,
            ranks: self.topology.ranks(),
            chosen,
            auto,
            fixed: times,
            predicted,
        })
    }

    /// What the ranks send. The same for all kernels.
    fn counted(&self) -> Result<(SharedFile, Arc<MessageCounts>), Failure> {
        let mut range = (u64::MAX, 0);
        for rank in 0..self.pattern.ranks() {
            if let Some((start, end)) = self.pattern.rank_access(rank, 0)?.file.span() {
                range = (range.0.min(start), range.1.max(end));
            }
        }
        let file = SharedFile::of(&self.topology, &self.hints, range)?;
        let division = Division { domains: file.domains.clone(), range, sample: self.sample, lists: Lists::Packed };
        let access = |rank| self.pattern.rank_access(rank, 0).map(|access| access.file);
        let counts = MessageCounts::gather::<PatternError>(self.pattern.ranks(), division, access, || ())?;
        Ok((file, Arc::new(counts)))
    }

    /// The kernels in force, and the time.
    fn seconds(&self, counted: &(SharedFile, Arc<MessageCounts>), hints: &str) -> Result<(String, f64), Failure> {
        let mut with = self.hints.clone();
        with.apply(hints)?;
        let (file, counts) = counted;
        let write = CollectiveWriteOptions {
            topology: self.topology.clone(),
            aggregators: file.aggregators.clone(),
            hints: with,
            striping: None,
            write_behind: true,
            blocks: false,
            empty_steps: false,
        };
        let workload = CollectiveWrite::new(&self.machine, write, counts.clone())?;
        memory::check(self.topology.ranks() as u64, workload.under_way())?;
        let outcome = sim::run(&self.machine, &self.topology, &workload, 0, |_| {})?;
        let hints = workload.hints();
        let local = match hints.num_aggrs_per_node {
            local if hints.kernel_data.to_string() == "two_layer" => format!(", {local} per node"),
            _ => String::new(),
        };
        Ok((format!("{}{local}", hints.kernel_data), workload.outcome(&outcome.phases).last.total))
    }
}

/// The pattern of a name with parameters.
///
/// # Errors
/// A name or parameters that do not exist.
pub fn parsed(text: &str) -> Result<Chosen, Failure> {
    let fail = |cause: clap::Error| {
        let line = cause.to_string().lines().next().unwrap_or_default().to_string();
        Failure::new(format!("pattern: {text}: {line}"))
    };
    let command = <Chosen as clap::Subcommand>::augment_subcommands(clap::Command::new("pattern"));
    let words = std::iter::once("pattern").chain(text.split_whitespace());
    Chosen::from_arg_matches(&command.try_get_matches_from(words).map_err(fail)?).map_err(fail)
}
