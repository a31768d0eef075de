//! Simulates one write with every choice of kernels.

use std::sync::Arc;

use crate::machines::{at_a_time, check_memory};
use trib::Failure;
use trib::capture::scaled::ScaledWrite;
use trib::parallel::parallel_map;
use tributary::engine::Capture;
use tributary::engine::layers::Candidate;
use tributary::exchange::KERNELS;
use tributary::hints::DriverName;
use tributary::{Extents, Hints, Topology};
use tributary_benchmarks::{Pattern, PatternError};
use tributary_lab::forecast::{
    CollectiveWrite, CollectiveWriteOptions, FileDivision, MessageCounts, MetadataForm, SharedFile, costs,
};
use tributary_lab::sim::{self, Machine};

use super::KernelTimes;
use super::write::Write;

/// Name of the default choice when `auto` is not used, with its own throttle.
pub const DEFAULT: &str = "balanced";

/// Returns the kernels of the registry other than the default.
pub fn others() -> impl Iterator<Item = &'static str> {
    KERNELS.iter().map(|kernel| kernel.name).filter(|name| *name != DEFAULT)
}

/// Write on nodes of a simulated machine.
pub struct SimulatedWrite {
    machine: Machine,
    name: String,
    nodes: usize,
    sample: usize,
    written: WrittenData,
    topology: Topology,
    hints: Hints,
}

/// Source of the ranks' accesses: a pattern or a capture.
enum WrittenData {
    Pattern(Box<dyn Pattern>),
    Capture(Box<ScaledWrite>),
}

impl WrittenData {
    /// Creates the accesses of a pattern or a capture on `ranks` ranks, or on the largest smaller number that it
    /// allows.
    fn new(write: &Write, ranks: usize) -> Result<Self, Failure> {
        if let Some(path) = &write.capture {
            let own = Capture::open(path)?.header().ranks.max(1);
            if own > ranks {
                let allowed = "allowed: --nodes that have room for it";
                return Err(Failure::new(format!(
                    "{}: of {own} ranks, and the nodes have {ranks}; {allowed}",
                    write.name
                )));
            }
            return ScaledWrite::open(path, Some(ranks / own * own), None).map(|write| Self::Capture(Box::new(write)));
        }
        let chosen = write.parsed()?;
        // Some patterns need a square number of ranks.
        let square = ranks.isqrt().pow(2);
        let pattern = chosen.subject(Some(ranks)).or_else(|_| chosen.subject(Some(square)))?;
        pattern.into_file("trib-lab tune kernels").map(Self::Pattern)
    }

    fn ranks(&self) -> usize {
        match self {
            Self::Pattern(pattern) => pattern.ranks(),
            Self::Capture(write) => write.pattern.ranks(),
        }
    }

    fn extents(&self, rank: usize) -> Result<Extents, PatternError> {
        match self {
            Self::Pattern(pattern) => pattern.rank_access(rank, 0).map(|access| access.file),
            Self::Capture(write) => write.extents(rank),
        }
    }

    /// Returns the rank whose counts stand for those of `rank`.
    fn stand_in(&self, rank: usize) -> usize {
        match self {
            Self::Pattern(_) => rank,
            Self::Capture(write) => write.stand_in(rank),
        }
    }

    /// Returns the first byte that is written, and one past the last.
    fn range(&self) -> Result<(u64, u64), PatternError> {
        if let Self::Capture(write) = self {
            return Ok(write.range);
        }
        let mut range = (u64::MAX, 0);
        for rank in 0..self.ranks() {
            if let Some((start, end)) = self.extents(rank)?.span() {
                range = (range.0.min(start), range.1.max(end));
            }
        }
        Ok(range)
    }
}

/// Returns the fixed choices with name and hints: `given` hints, if any, and the default without `auto`.
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
    ];
    all.extend(others().map(|kernel| flat(kernel, kernel, "")));
    for local in [1, 2, 4, 8, 16].into_iter().filter(|local| local * 2 <= per_node) {
        let more = format!("nc_num_aggrs_per_node={local}");
        all.push(flat(&format!("two_layer, {local} per node"), "two_layer", &more));
    }
    all
}

impl SimulatedWrite {
    /// Prepares the simulation of a write on `nodes` nodes of a machine.
    ///
    /// # Errors
    /// A pattern that does not exist or does not allow this number of ranks; errors of reading a capture.
    pub fn new(machine: &Machine, write: &Write, nodes: usize, sample: usize) -> Result<Self, Failure> {
        let machine = Machine { connection: None, ..machine.clone() };
        let per_node = machine.ranks_per_node;
        let written = WrittenData::new(write, nodes * per_node)?;
        let driver = machine.storage.map_or(DriverName::Lustre, |storage| storage.driver);
        let topology = Topology::blocks(written.ranks(), per_node)?;
        let hints = Hints { driver, ..Hints::default() };
        Ok(Self { machine, name: write.name.clone(), nodes, sample, written, topology, hints })
    }

    /// Simulates the write with every fixed choice, or with `choices`, and with `auto`.
    ///
    /// # Errors
    /// Errors of the pattern, the hints and the simulator.
    pub fn row(&self, choices: &[String]) -> Result<KernelTimes, Failure> {
        let counted = self.counted()?;
        let per_node = self.topology.ranks_on(0);
        let seconds = |hints: &str| self.seconds(&counted, hints);
        let aggregators = counted.file().aggregators.len();
        let ranks = self.topology.ranks() as u64;
        let jobs = at_a_time(ranks, ranks * (aggregators as u64 + 1));
        let times = parallel_map(&fixed(per_node, choices), jobs, |(name, hints)| {
            Ok::<_, Failure>((name.clone(), seconds(hints)?.1))
        });
        let times = times.into_iter().collect::<Result<_, _>>()?;
        let (chosen, auto) = seconds("")?;
        let chooser = costs::chooser(&self.machine, &self.topology, aggregators, &self.hints);
        let alternatives = costs::alternatives(&chooser, &counted);
        let predicted = parallel_map(&alternatives, jobs, |Candidate { way, seconds: predicted, .. }| {
            let kernel = if way.local > 0 { "two_layer" } else { DEFAULT };
            let local = way.local;
            let hints = format!("trib_kernel_meta={kernel}; trib_kernel_data={kernel}; nc_num_aggrs_per_node={local}");
            Ok::<_, Failure>((*predicted, seconds(&hints)?.1))
        });
        let predicted = predicted.into_iter().collect::<Result<_, _>>()?;
        Ok(KernelTimes {
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

    /// Returns the counts of the ranks' messages, which are the same for all kernels.
    fn counted(&self) -> Result<Arc<MessageCounts>, Failure> {
        let (written, range) = (&self.written, self.written.range()?);
        let file = SharedFile::of(&self.topology, &self.hints, range)?;
        let division = FileDivision { file, sample: self.sample, lists: MetadataForm::Packed };
        let (stand_in, extents) = (|rank| written.stand_in(rank), |rank| written.extents(rank));
        let counts = MessageCounts::gather_all(written.ranks(), vec![division], stand_in, extents, || ())?.pop();
        let counts = counts.ok_or_else(|| Failure::new("counts: none; allowed: those of one division"))?;
        Ok(Arc::new(counts))
    }

    /// Returns the kernels that the simulation used, and the seconds of the write.
    fn seconds(&self, counts: &Arc<MessageCounts>, hints: &str) -> Result<(String, f64), Failure> {
        let mut with = self.hints.clone();
        with.apply(hints)?;
        let write = CollectiveWriteOptions {
            topology: self.topology.clone(),
            hints: with,
            io: false,
            write_behind: true,
            blocks: false,
            empty_steps: false,
        };
        let workload = CollectiveWrite::new(&self.machine, write, counts.clone())?;
        check_memory(self.topology.ranks() as u64, workload.under_way())?;
        let outcome = sim::run(&self.machine, &self.topology, &workload, 0, |_| {})?;
        let hints = workload.hints();
        let local = match hints.num_aggrs_per_node {
            local if hints.data_kernel().to_string() == "two_layer" => format!(", {local} per node"),
            _ => String::new(),
        };
        Ok((format!("{}{local}", hints.data_kernel()), workload.outcome(&outcome.phases).last.total))
    }
}
