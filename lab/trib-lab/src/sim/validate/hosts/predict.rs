//! Predicts cases by simulation: the engine itself, in virtual time.

use std::sync::Arc;

use trib::Failure;
use trib::parallel::{parallel_map, processors};
use tributary::engine::Direction;
use tributary::hints::{DriverName, Overlap};
use tributary::{Hints, Topology};
use tributary_benchmarks::Pattern;
use tributary_lab::advice::advise;
use tributary_lab::runs::Run;
use tributary_lab::sim::Machine;

use super::case::{HostsCase, RowDirection};

/// Number of picoseconds in a second.
const SECOND: f64 = 1e12;
/// Seed of the order of ranks.
const SEED: u64 = 1;

/// A case whose pattern is known: its runs on any machine.
pub struct KnownCase {
    pattern: Arc<dyn Pattern>,
    topology: Topology,
    hints: Hints,
    /// Bytes per second of a link, and of a host's file.
    rate: f64,
}

impl KnownCase {
    /// Returns a case of `ranks` ranks on `hosts` hosts.
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
        if pattern.overlaps() {
            hints.overlap = Overlap::RankOrder;
        }
        let topology = Topology::blocks(ranks as usize, (ranks / hosts) as usize)?;
        Ok(Self { pattern: pattern.into(), topology, hints, rate: case.rate as f64 })
    }

    /// Returns the hints that `trib-lab advise` would find for the call in this direction on `machine`, with the hints that the
    /// case has anyway, if others may write the file (as in `trib replay`).
    ///
    /// # Errors
    /// Errors of the simulator.
    pub fn advised(&self, machine: &Machine, direction: RowDirection) -> Result<String, Failure> {
        // Hints that do not fit, as more aggregators than ranks, have no time.
        let seconds = |hints: &Hints| {
            hints.check(self.topology.ranks()).ok().map(|()| self.seconds_with(hints, machine, direction)).transpose()
        };
        let all = |candidates: &[Hints]| parallel_map(candidates, processors(), seconds).into_iter().collect();
        let place = (DriverName::Posix, self.topology.nodes());
        let advice = advise::<Failure>(machine, &self.hints, place, all, |_| ())?;
        Ok(advice.setting.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join("; "))
    }

    /// Returns the simulated seconds of the write or the read on `machine`, whose link and file have its own rates: those
    /// of the case take their places.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn seconds(&self, machine: &Machine, direction: RowDirection) -> Result<f64, Failure> {
        self.seconds_with(&self.hints, machine, direction)
    }

    fn seconds_with(&self, hints: &Hints, machine: &Machine, direction: RowDirection) -> Result<f64, Failure> {
        let run = Run {
            machine: at_rate(machine, self.rate),
            topology: self.topology.clone(),
            hints: hints.clone(),
            direction: match direction {
                RowDirection::Write => Direction::Write,
                RowDirection::Read => Direction::Read,
            },
            calls: 0..1,
            is_sole: false,
            seed: SEED,
        };
        Ok(run.of(self.pattern.clone())?.reported())
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
