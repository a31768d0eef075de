//! `trib-lab advise`: finds the hints with which the write of a capture would be faster on a machine.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;
use tributary::engine::{Direction, Path, PredictedPath};
use tributary::hints::{DriverName, Switch};
use tributary::{Hints, Topology};
use tributary_benchmarks::Pattern;
use tributary_lab::advice::candidates::with;
use tributary_lab::advice::search::WORTH;
use tributary_lab::advice::{Advice, Setting, Stage, Trial, advise, dialects};
use tributary_lab::forecast::{
    CollectiveWrite, CollectiveWriteOptions, FileDivision, MessageCounts, MetadataForm, Parts, SharedFile,
};
use tributary_lab::machines::MACHINES;
use tributary_lab::runs::{RANK, Run};
use tributary_lab::sim::Machine;
use tributary_lab::sim::storage::Storage;

use crate::cli::advise::AdviseOptions;
use crate::machines::{at_a_time, check_memory, machine};
use trib::capture::scaled::ScaledWrite;
use trib::listing::table;
use trib::numbers::{counted, grouped};
use trib::parallel::{parallel_map, processors};
use trib::{Failure, limits, progress, say};

/// Number of divisions of the file that are counted in one pass over the extents; more take more memory.
const AT_ONCE: usize = 6;

/// Number of bytes that runs of the engine may take at the same time.
const RUNS: u64 = 4 << 30;
/// Default number of rounds that are simulated of a write.
const SAMPLE: usize = 2;

/// Inputs of the command, checked before anything long runs.
struct Prepared {
    machine: Machine,
    topology: Topology,
    driver: DriverName,
    hints: Hints,
    write: ScaledWrite,
    sample: usize,
    /// True if the engine itself runs in virtual time: with the driver `posix` on its file system, where that has been compared
    /// with measurements. Otherwise the messages of a write are simulated, of some of its rounds.
    runs_engine: bool,
}

/// Simulates the candidates and prints the advice.
pub fn run(options: &AdviseOptions) -> Result<(), Failure> {
    let prepared = prepare(options)?;
    let Prepared { machine, topology, driver, hints, .. } = &prepared;
    if let Some(why) = prepared.not_exchanged()? {
        return nothing(&prepared, &why, options);
    }
    let mut counts = CountsByDivision::default();
    let candidates = Stage::ALL.iter().map(|stage| stage.candidates(machine, *driver, topology.nodes()).len());
    // The default hints are the first candidate.
    let bar = progress(1 + candidates.sum::<usize>() as u64, "candidates");
    let seconds = |candidates: &[Hints]| {
        counts.count(&prepared, candidates)?;
        counts.all_seconds(&prepared, candidates, || bar.inc(1))
    };
    let advice = advise(machine, hints, (*driver, topology.nodes()), seconds, |_| {})?;
    bar.finish_and_clear();
    let file_hints = dialects::ours(&advice.setting);
    if let Some(path) = &options.output {
        let about = format!("# {}\n", headline(&prepared, &advice));
        std::fs::write(path, about + &file_hints)
            .map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))?;
    }
    match options.json {
        true => say(serde_json::to_string_pretty(&as_json(&prepared, &advice)?)?),
        false => say(as_text(&prepared, &advice, options)?),
    }
}

/// Reads and checks the options of the command.
fn prepare(options: &AdviseOptions) -> Result<Prepared, Failure> {
    let mut machine = machine(&options.machine)?;
    if let Some(other) = &options.storage {
        machine.storage = Some(file_servers(other)?);
    }
    let write = ScaledWrite::open(&options.capture, options.ranks, options.call)?;
    let ranks = write.pattern.ranks();
    let topology = Topology::blocks(ranks, options.ranks_per_node.unwrap_or(machine.ranks_per_node))?;
    let driver = machine.storage.map_or(DriverName::Lustre, |storage| storage.driver);
    let mut hints = Hints { driver, ..Hints::default() };
    options.hints.iter().try_for_each(|hint| hints.apply(hint))?;
    hints.check(ranks)?;
    let driver = hints.driver;
    let runs_engine = driver == DriverName::Posix && machine.storage.is_some_and(|storage| storage.driver == driver);
    if runs_engine {
        limits::in_memory(&format!("{ranks} ranks"), (ranks as u64).checked_mul(RANK))?;
    }
    let sample = options.sample.unwrap_or(SAMPLE);
    Ok(Prepared { machine, topology, driver, hints, write, sample, runs_engine })
}

/// Returns the file servers of another machine.
fn file_servers(name: &str) -> Result<Storage, Failure> {
    let known = || {
        let with_servers =
            MACHINES.iter().filter(|(name, _)| machine(name).is_ok_and(|machine| machine.storage.is_some()));
        with_servers.map(|(name, _)| *name).collect::<Vec<_>>().join("|")
    };
    machine(name)?.storage.ok_or_else(|| {
        Failure::new(format!(
            "--storage: {name} has no file system; allowed: {}, or a machine file with [storage]",
            known()
        ))
    })
}

impl Prepared {
    /// Returns the reason why the library would send nothing of the write between ranks, if it would not. Then there is
    /// nothing to simulate, and hints of exchanges would be listed as not used.
    fn not_exchanged(&self) -> Result<Option<String>, Failure> {
        let Self { machine, topology, hints, write, .. } = self;
        let (layout, driver) = SharedFile::placed(hints)?;
        let mut write_to_come = PredictedPath::new(topology.clone(), layout, driver, hints.clone())?;
        let ranks = topology.ranks();
        if write_to_come.shares_memory() {
            let all = counted(ranks as u64, "rank");
            return Ok(Some(format!("{all} on one node of {}, where they share memory", machine.name)));
        }
        let bar = progress(ranks as u64, "paths");
        for rank in 0..ranks {
            write_to_come.add(rank, &write.extents(rank)?);
            bar.inc(1);
        }
        bar.finish_and_clear();
        let (path, reason) = write_to_come.path();
        Ok((path != Path::Exchange).then(|| format!("path {path}: {reason}")))
    }

    /// Returns the times of the call in a run of the engine; none if the hints do not fit.
    fn run_engine(&self, hints: &Hints) -> Result<Option<Parts>, Failure> {
        if hints.check(self.topology.ranks()).is_err() {
            return Ok(None);
        }
        let call = self.write.call;
        let run = Run {
            machine: self.machine.clone(),
            topology: self.topology.clone(),
            hints: hints.clone(),
            direction: Direction::Write,
            calls: call..call + 1,
            is_sole: true,
            seed: 1,
        };
        let took = run.of(self.write.pattern.clone())?;
        Ok(took.reports.first().map(|report| Parts::reported(&report.seconds)))
    }
}

/// Prints that there is nothing to advise, and why.
fn nothing(prepared: &Prepared, why: &str, options: &AdviseOptions) -> Result<(), Failure> {
    let ScaledWrite { pattern, call, .. } = &prepared.write;
    let header = pattern.pattern().header();
    let text = format!("{} of {}, call {call}: {}", header.file, header.program, without_messages(why));
    if let Some(path) = &options.output {
        let fail = |cause| Failure::new(format!("{}: {cause}", path.display()));
        std::fs::write(path, format!("# {text}\n")).map_err(fail)?;
    }
    if !options.json {
        return say(text);
    }
    let Prepared { machine, topology, .. } = prepared;
    say(serde_json::to_string_pretty(&json!({
        "file": header.file, "program": header.program, "call": call, "machine": machine.name,
        "ranks": topology.ranks(), "nodes": topology.nodes(), "hints": {}, "not_exchanged": why,
    }))?)
}

/// Returns the message for the user about a write of which nothing is sent between ranks.
fn without_messages(why: &str) -> String {
    format!(
        "nothing would be sent between ranks ({why}). So kernels, throttles and aggregators have no effect, nothing was \
         simulated, and no hint is advised. What can matter there is in docs/tuning.md of the source, \"On one host\"; --ranks-per-node \
         asks for ranks on several nodes."
    )
}

/// Hints that decide how a file is divided.
type DivisionKey = (Option<usize>, Option<u32>, Option<u64>, Option<u64>, Switch);

fn key(hints: &Hints) -> DivisionKey {
    (hints.cb_nodes, hints.striping_factor, hints.striping_unit, hints.cb_buffer_size, hints.direct_write)
}

/// Message counts of all ranks and aggregators, by the hints that divide the file.
#[derive(Default)]
struct CountsByDivision(HashMap<DivisionKey, Option<Arc<MessageCounts>>>);

impl CountsByDivision {
    /// Counts the messages for the candidates; forgets counts that no candidate needs.
    fn count(&mut self, prepared: &Prepared, candidates: &[Hints]) -> Result<(), Failure> {
        let Prepared { topology, write, sample, .. } = prepared;
        if prepared.runs_engine {
            return Ok(());
        }
        let ScaledWrite { pattern, range, .. } = write;
        self.0.retain(|known, _| candidates.iter().any(|hints| key(hints) == *known));
        let mut missing: Vec<(DivisionKey, SharedFile)> = Vec::new();
        for hints in candidates {
            let key = key(hints);
            if self.0.contains_key(&key) || missing.iter().any(|(other, _)| *other == key) {
                continue;
            }
            match SharedFile::of(topology, hints, *range) {
                Ok(file) => missing.push((key, file)),
                Err(_) => drop(self.0.insert(key, None)),
            }
        }
        for some in missing.chunks(AT_ONCE) {
            let division = |(_, file): &(DivisionKey, SharedFile)| FileDivision {
                file: file.clone(),
                sample: *sample,
                lists: MetadataForm::Packed,
            };
            let bar = progress(pattern.ranks() as u64, "counting");
            let divisions = some.iter().map(division).collect();
            let (stand_in, extents) = (|rank| write.stand_in(rank), |rank| write.extents(rank));
            let counted = MessageCounts::gather_all(pattern.ranks(), divisions, stand_in, extents, || bar.inc(1))?;
            bar.finish_and_clear();
            for ((key, _), counts) in some.iter().zip(counted) {
                self.0.insert(*key, Some(Arc::new(counts)));
            }
        }
        Ok(())
    }

    /// Returns the simulated seconds of each candidate; simulates several at a time where there is memory. Calls
    /// `tried` after each.
    fn all_seconds(
        &self,
        prepared: &Prepared,
        candidates: &[Hints],
        tried: impl Fn() + Sync,
    ) -> Result<Vec<Option<f64>>, Failure> {
        let all = parallel_map(candidates, self.at_a_time(prepared, candidates), |hints| {
            let seconds = self.seconds(prepared, hints);
            tried();
            seconds
        });
        all.into_iter().collect()
    }

    /// Returns the number of candidates to simulate at a time.
    fn at_a_time(&self, prepared: &Prepared, candidates: &[Hints]) -> usize {
        if prepared.runs_engine {
            let of_a_run = (prepared.topology.ranks() as u64 * RANK).max(1);
            return ((RUNS / of_a_run) as usize).clamp(1, processors());
        }
        let known = candidates.iter().filter_map(|hints| self.0.get(&key(hints))?.as_ref());
        let aggregators = known.map(|counts| counts.file().aggregators.len()).max().unwrap_or(0) as u64;
        let ranks = prepared.topology.ranks() as u64;
        at_a_time(ranks, ranks * (aggregators + 1))
    }

    /// Returns the simulated seconds of a write with these hints; none if the hints do not fit.
    fn seconds(&self, prepared: &Prepared, hints: &Hints) -> Result<Option<f64>, Failure> {
        Ok(self.parts(prepared, hints)?.map(|parts| parts.total))
    }

    /// Returns the times of a candidate by phase; none if its hints do not fit.
    fn parts(&self, prepared: &Prepared, hints: &Hints) -> Result<Option<Parts>, Failure> {
        let Prepared { machine, topology, .. } = prepared;
        if prepared.runs_engine {
            return prepared.run_engine(hints);
        }
        let Some(counts) = self.0.get(&key(hints)).and_then(Option::as_ref) else { return Ok(None) };
        let write = CollectiveWriteOptions {
            topology: topology.clone(),
            hints: hints.clone(),
            io: machine.storage.is_some(),
            write_behind: true,
            blocks: false,
            empty_steps: false,
        };
        let Ok(workload) = CollectiveWrite::new(machine, write, counts.clone()) else { return Ok(None) };
        check_memory(topology.ranks() as u64, workload.under_way())?;
        let outcome = workload.run(machine)?;
        Ok(Some(workload.outcome(&outcome.phases).last))
    }
}

/// Returns the name of the captured file, without its directory.
fn name(prepared: &Prepared) -> String {
    let path = std::path::Path::new(&prepared.write.pattern.pattern().header().file);
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn headline(prepared: &Prepared, advice: &Advice) -> String {
    let Prepared { machine, topology, write: ScaledWrite { pattern, .. }, .. } = prepared;
    let gain = advice.before / advice.after;
    let left_out =
        if machine.storage.is_none() { ", without file I/O: --storage MACHINE adds a file system" } else { "" };
    format!(
        "{} of {} on {}, {} on {}: {:.4} s with the defaults, {:.4} s with this, {gain:.2} times as fast (simulated{left_out})",
        pattern.pattern().header().file,
        pattern.pattern().header().program,
        machine.name,
        counted(topology.ranks() as u64, "rank"),
        counted(topology.nodes() as u64, "node"),
        advice.before,
        advice.after,
    )
}

fn as_text(prepared: &Prepared, advice: &Advice, options: &AdviseOptions) -> Result<String, Failure> {
    let ScaledWrite { pattern, call, .. } = &prepared.write;
    let mut rows = table(["stage", "tried", "best", "seconds", "of the defaults"]);
    for trials in advice.trials.chunk_by(|one, other| one.stage == other.stage) {
        let fits = trials.iter().filter_map(|trial| Some((trial, trial.seconds?)));
        let Some((best, seconds)) = fits.min_by(|one, other| one.1.total_cmp(&other.1)) else { continue };
        rows.add_row([
            best.stage.map_or("defaults", |stage| stage.about()).to_string(),
            grouped(trials.len() as u64),
            shown(&best.setting, "; "),
            format!("{seconds:.4}"),
            format!("{:.2}", seconds / advice.before),
        ]);
    }
    let totals = pattern.totals();
    let head = format!(
        "{}\n{}\ncall {call} of {}, {} requests in all calls\n{rows}",
        headline(prepared, advice),
        pattern.describe(),
        pattern.steps(),
        grouped(totals.requests),
    );
    if advice.setting.is_empty() {
        return Ok(format!("{head}\nThe defaults are as good as any candidate: set no hints."));
    }
    let cray = dialects::cray(&advice.setting, &format!("*{}", name(prepared)));
    let romio = dialects::romio(&advice.setting);
    let mut text = format!("{head}\n\nTRIB_HINTS=\"{}\"\n", shown(&advice.setting, "; "));
    if let Some(path) = &options.output {
        text += &format!("TRIB_HINTS_FILE={}\n", path.display());
    }
    let lfs = dialects::lfs(&advice.setting);
    if !lfs.is_empty() {
        text += &format!("\nFor a directory of new files on Lustre, whose stripes they get without any hint:\n{lfs}\n");
    }
    if !romio.is_empty() {
        text += &format!("\nWithout Tributary, as far as ROMIO has them (a file for ROMIO_HINTS):\n{romio}");
        text += &format!("\nand Cray's library:\nMPICH_MPIIO_HINTS=\"{cray}\"\n");
    }
    Ok(text.trim_end().to_string())
}

fn shown(setting: &Setting, between: &str) -> String {
    setting.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(between)
}

fn as_json(prepared: &Prepared, advice: &Advice) -> Result<serde_json::Value, Failure> {
    let Prepared { machine, topology, write: ScaledWrite { pattern, call, .. }, hints, .. } = prepared;
    let map = |setting: &Setting| setting.iter().cloned().collect::<std::collections::BTreeMap<_, _>>();
    let trial = |trial: &Trial| {
        json!({
            "stage": trial.stage.map(|stage| stage.about()), "hints": map(&trial.setting), "seconds": trial.seconds,
        })
    };
    let header = pattern.pattern().header();
    let advised = with(hints, &advice.setting)?;
    Ok(json!({
        "file": header.file, "program": header.program, "call": call, "machine": machine.name,
        "ranks": topology.ranks(), "nodes": topology.nodes(),
        "hints": map(&advice.setting), "before_seconds": advice.before, "after_seconds": advice.after,
        "gain": advice.before / advice.after, "not_exchanged": null, "driver": advised.driver.to_string(),
        "trials": advice.trials.iter().map(trial).collect::<Vec<_>>(),
        "lfs": dialects::lfs(&advice.setting), "romio": dialects::romio(&advice.setting), "cray": dialects::cray(&advice.setting, "*"),
    }))
}

/// Simulated times of a write with its own hints, and the best change.
pub struct Expected {
    /// Name of the machine.
    pub machine: String,
    /// Number of the write in the capture.
    pub call: usize,
    /// Seconds of the write by phase.
    pub parts: Parts,
    /// Number of candidates that were simulated, each by itself on top of the hints.
    pub tried: usize,
    /// Best candidate, and its seconds; none if no candidate is faster.
    pub best: Option<(Setting, f64)>,
}

/// Forecast of a write.
pub enum Prospect {
    /// Ranks exchange the bytes, so the write was simulated.
    Exchanged(Expected),
    /// Ranks exchange nothing.
    NotExchanged {
        /// Name of the machine.
        machine: String,
        /// Number of the write in the capture.
        call: usize,
        /// Message for the user.
        says: String,
    },
}

/// Simulates a write with the hints of `options`, then with every candidate on top of these, one at a time; unless
/// nothing of it would be sent.
///
/// # Errors
/// The errors of [`run`].
pub fn expect(options: &AdviseOptions) -> Result<Prospect, Failure> {
    let prepared = prepare(options)?;
    if let Some(why) = prepared.not_exchanged()? {
        let says = without_messages(&why);
        return Ok(Prospect::NotExchanged { machine: prepared.machine.name, call: prepared.write.call, says });
    }
    let Prepared { machine, topology, driver, hints, .. } = &prepared;
    let mut counts = CountsByDivision::default();
    counts.count(&prepared, std::slice::from_ref(hints))?;
    let parts = counts.parts(&prepared, hints)?;
    let parts = parts.ok_or_else(|| Failure::new("hints of the capture: they do not fit the machine"))?;
    let (mut tried, mut best) = (0, None::<(Setting, f64)>);
    for stage in Stage::ALL {
        let settings = stage.candidates(machine, *driver, topology.nodes());
        let candidates = settings.iter().map(|setting| with(hints, setting)).collect::<tributary::Result<Vec<_>>>()?;
        counts.count(&prepared, &candidates)?;
        for (setting, seconds) in settings.into_iter().zip(counts.all_seconds(&prepared, &candidates, || ())?) {
            let Some(seconds) = seconds else { continue };
            tried += 1;
            let least = best.as_ref().map_or(parts.total * (1.0 - WORTH), |(_, least)| *least);
            if seconds < least {
                best = Some((setting, seconds));
            }
        }
    }
    let (machine, call) = (machine.name.clone(), prepared.write.call);
    Ok(Prospect::Exchanged(Expected { machine, call, parts, tried, best }))
}
