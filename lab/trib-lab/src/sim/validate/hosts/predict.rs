//! Predicts cases by simulation.

use std::sync::Arc;

use trib::Failure;
use trib::parallel::{parallel_map, processors};
use tributary::engine::Direction;
use tributary::hints::DriverName;
use tributary::{Extents, Hints, Topology};
use tributary_lab::advice::advise;
use tributary_lab::forecast::{
    CollectiveWrite, CollectiveWriteOptions, FileDivision, MessageCounts, MetadataForm, SharedFile,
};
use tributary_lab::sim::Machine;

use super::case::{HostsCase, RowDirection};

/// Number of picoseconds in a second.
const SECOND: f64 = 1e12;

/// Pattern of a case: the accesses of all ranks.
pub struct KnownPattern {
    topology: Topology,
    accesses: Vec<Extents>,
}

impl KnownPattern {
    /// Returns the pattern of a case on `ranks` ranks of `hosts` hosts.
    ///
    /// # Errors
    /// Errors of the pattern; a pattern of several calls.
    pub fn new(case: &HostsCase, hosts: u64, ranks: u64) -> Result<Self, Failure> {
        let pattern = case.pattern(ranks as usize)?;
        if pattern.steps() != 1 {
            let steps = pattern.steps();
            return Err(Failure::new(format!("{}: {steps} calls; allowed: a pattern of one call", case.pattern)));
        }
        let topology = Topology::blocks(ranks as usize, (ranks / hosts) as usize)?;
        let accesses = (0..ranks as usize).map(|rank| pattern.rank_access(rank, 0).map(|access| access.file));
        Ok(Self { topology, accesses: accesses.collect::<Result<_, _>>()? })
    }

    /// Counts the messages of a call with these hints. O(extents log extents).
    ///
    /// # Errors
    /// Hints that do not fit.
    pub fn counted(&self, mut hints: Hints, rate: u64) -> Result<CountedCase, Failure> {
        hints.driver = DriverName::Posix;
        hints.check(self.accesses.len())?;
        let file = SharedFile::of_accesses(&self.topology, &hints, &self.accesses)?;
        let division = FileDivision { file, sample: 0, lists: MetadataForm::Packed };
        let access = |rank: usize| Ok::<_, tributary::Error>(self.accesses[rank].clone());
        let counts = Arc::new(MessageCounts::gather(self.accesses.len(), division, access, || ())?);
        Ok(CountedCase { hints, topology: self.topology.clone(), counts, rate: rate as f64 })
    }

    /// Returns the hints that `trib-lab advise` would find for a call in this direction on `machine`, with the hints
    /// that `case` has anyway.
    ///
    /// # Errors
    /// Errors of the simulator.
    pub fn advised(&self, machine: &Machine, case: &HostsCase, direction: RowDirection) -> Result<String, Failure> {
        let hints = case.hints(self.accesses.len())?;
        // Hints that do not fit, as more aggregators than ranks, have no time.
        let seconds = |hints: &Hints| {
            self.counted(hints.clone(), case.rate).ok().map(|counted| counted.seconds(machine, direction)).transpose()
        };
        let all = |candidates: &[Hints]| parallel_map(candidates, processors(), seconds).into_iter().collect();
        let place = (DriverName::Posix, self.topology.nodes());
        let advice = advise::<Failure>(machine, &hints, place, all, |_| ())?;
        Ok(advice.setting.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join("; "))
    }
}

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
        KnownPattern::new(case, hosts, ranks)?.counted(case.hints(ranks as usize)?, case.rate)
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
        let machine = at_rate(machine, self.rate);
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
        Ok(workload.run(&machine)?.seconds().total)
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
