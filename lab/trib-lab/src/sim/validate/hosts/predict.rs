//! Predicts cases by simulation.

use std::sync::Arc;

use trib::Failure;
use tributary::engine::Direction;
use tributary::hints::DriverName;
use tributary::{Extents, Hints, Topology};
use tributary_lab::forecast::{
    CollectiveWrite, CollectiveWriteOptions, FileDivision, MessageCounts, MetadataForm, SharedFile,
};
use tributary_lab::sim::{self, Machine};

use super::case::{HostsCase, RowDirection};

/// Number of picoseconds in a second.
const SECOND: f64 = 1e12;

/// Case whose messages are counted: the same for all machines.
pub struct CountedCase {
    hints: Hints,
    topology: Topology,
    counts: Arc<MessageCounts>,
    /// Bytes per second of a link, and of a host's file.
    rate: f64,
}

impl CountedCase {
    /// Counts the messages of a case of `ranks` ranks on `hosts` hosts. O(extents log extents).
    ///
    /// # Errors
    /// Errors of the pattern; hints that do not fit; a pattern of several calls.
    pub fn new(case: &HostsCase, hosts: u64, ranks: u64) -> Result<Self, Failure> {
        let pattern = case.pattern(ranks as usize)?;
        if pattern.steps() != 1 {
            let steps = pattern.steps();
            return Err(Failure::new(format!("{}: {steps} calls; allowed: a pattern of one call", case.pattern)));
        }
        let mut hints = case.hints(ranks as usize)?;
        hints.driver = DriverName::Posix;
        let topology = Topology::blocks(ranks as usize, (ranks / hosts) as usize)?;
        let accesses = (0..ranks as usize).map(|rank| pattern.rank_access(rank, 0).map(|access| access.file));
        let accesses: Vec<Extents> = accesses.collect::<Result<_, _>>()?;
        let file = SharedFile::of_accesses(&topology, &hints, &accesses)?;
        let division = FileDivision { file, sample: 0, lists: MetadataForm::Packed };
        let access = |rank: usize| Ok::<_, tributary::Error>(accesses[rank].clone());
        let counts = Arc::new(MessageCounts::gather(ranks as usize, division, access, || ())?);
        Ok(Self { hints, topology, counts, rate: case.rate as f64 })
    }

    /// Returns the simulated seconds of the write or the read on `machine`, whose link and file have its own rates: those
    /// of the case take their places.
    ///
    /// # Errors
    /// Errors of the simulator.
    pub fn seconds(&self, machine: &Machine, direction: RowDirection) -> Result<f64, Failure> {
        let whole = match direction {
            RowDirection::Write => Direction::Write,
            RowDirection::Read => Direction::Read,
        };
        let mut machine = at_rate(machine, self.rate);
        let options = CollectiveWriteOptions {
            topology: self.topology.clone(),
            hints: self.hints.clone(),
            io: true,
            write_behind: true,
            blocks: false,
            empty_steps: false,
            whole: Some(whole),
        };
        let workload = CollectiveWrite::new(&machine, options, self.counts.clone())?;
        if workload.runs_ahead() {
            machine.eager_limit = u64::MAX;
        }
        let outcome = sim::run(&machine, &self.topology, &workload, 0, |_| ())?;
        Ok(outcome.seconds().total)
    }
}

/// Returns the machine with links and files of `rate` bytes a second. What links carry besides data stays in proportion.
fn at_rate(machine: &Machine, rate: f64) -> Machine {
    let mut machine = machine.clone();
    let byte = SECOND / rate;
    if let Some(storage) = &mut machine.storage {
        let scale = byte / storage.byte;
        machine.node.inject_byte *= scale;
        machine.node.eject_byte *= scale;
        storage.read_byte *= scale;
        storage.byte = byte;
    }
    machine
}
