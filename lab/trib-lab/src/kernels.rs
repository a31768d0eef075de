//! `trib-lab tune kernels`: checks whether `auto` chooses good kernels, in the simulator or by measurement.

mod measured;
mod show;
mod simulated_write;
pub mod write;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use crate::machines::machine;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trib::{Failure, progress, say, text};

use self::simulated_write::SimulatedWrite;
use self::write::Write;
use crate::cli::kernels::KernelsOptions;

/// Default machines.
const MACHINES: [&str; 4] = ["cori-knl", "summit", "perlmutter", "frontier"];
/// Default numbers of nodes.
const NODES: [usize; 5] = [1, 4, 16, 64, 256];
/// Default patterns.
const PATTERNS: [&str; 6] =
    ["e3sm-f", "e3sm-g", "flash", "btio --class D --iterations 1", "ior -t 16KiB -b 16KiB -s 64 --one-call", "s3d"];

/// Simulated times of one write.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KernelTimes {
    /// Name of the machine.
    pub machine: String,
    /// Pattern with its parameters.
    pub pattern: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of ranks.
    pub ranks: usize,
    /// Kernels that `auto` chose.
    pub chosen: String,
    /// Seconds with `auto`.
    pub auto: f64,
    /// Seconds with every fixed choice, by the choice's name.
    pub fixed: BTreeMap<String, f64>,
    /// Predicted and simulated seconds of the choices that `auto` compares.
    pub predicted: Vec<(f64, f64)>,
}

impl KernelTimes {
    /// Returns the fastest fixed choice.
    pub fn best(&self) -> Option<(&str, f64)> {
        let fixed = self.fixed.iter().map(|(name, seconds)| (name.as_str(), *seconds));
        fixed.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Returns the seconds of `balanced`, the default when `auto` is not used.
    pub fn default(&self) -> Option<f64> {
        self.fixed.get(simulated_write::DEFAULT).copied()
    }

    fn is_of(&self, machine: &str, pattern: &str, nodes: usize) -> bool {
        (self.machine.as_str(), self.pattern.as_str(), self.nodes) == (machine, pattern, nodes)
    }
}

/// Runs the command.
pub fn run(options: &KernelsOptions) -> Result<(), Failure> {
    match options.measured.measure {
        Some(fabric) => measured::run(options, fabric),
        None => simulate(options),
    }
}

fn simulate(options: &KernelsOptions) -> Result<(), Failure> {
    let or = |given: &[String], all: &[&str]| match given {
        [] => all.iter().map(ToString::to_string).collect(),
        given => given.to_vec(),
    };
    let nodes = if options.nodes.is_empty() { NODES.to_vec() } else { options.nodes.clone() };
    let names = or(&options.machines, &MACHINES);
    let writes = Write::all(&options.patterns, &options.captures, &PATTERNS)?;
    options.markdown.iter().try_for_each(|path| show::check(path, &writes))?;
    let machines = names.iter().map(|name| machine(name)).collect::<Result<Vec<_>, _>>()?;
    let mut rows: Vec<KernelTimes> = options.resume.as_deref().map_or(Ok(Vec::new()), known)?;
    let mut cases = Vec::new();
    for &nodes in &nodes {
        for machine in &machines {
            for write in &writes {
                let is_known = rows.iter().any(|row| row.is_of(&machine.name, &write.name, nodes));
                if !is_known && nodes.saturating_mul(machine.ranks_per_node) <= options.most {
                    cases.push(SimulatedWrite::new(machine, write, nodes, options.sample)?);
                }
            }
        }
    }
    let bar = progress(cases.len() as u64, "cases");
    for case in cases {
        let row = case.row(&options.choices)?;
        if let Some(path) = &options.resume {
            keep(path, &row)?;
        }
        rows.push(row);
        bar.inc(1);
    }
    bar.finish_and_clear();
    rows.sort_by(|a, b| (&a.machine, a.nodes, &a.pattern).cmp(&(&b.machine, b.nodes, &b.pattern)));
    options.markdown.iter().try_for_each(|path| show::write(path, &rows))?;
    match options.json {
        true => say(serde_json::to_string_pretty(&show::object(&rows))?),
        false => say(show::text(&rows)),
    }
}

/// Returns the rows of an earlier run; none if there is no such file.
pub fn known<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Failure> {
    let fail = |cause: &dyn std::fmt::Display| Failure::new(format!("resume: {}: {cause}", path.display()));
    match text::read(path) {
        Ok(text) => text.lines().map(|line| serde_json::from_str(line).map_err(|cause| fail(&cause))).collect(),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(cause) => Err(fail(&cause)),
    }
}

/// Appends a result to the file of `--resume`.
pub fn keep(path: &Path, row: &impl Serialize) -> Result<(), Failure> {
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    let line = serde_json::to_string(row)?;
    file.and_then(|mut file| writeln!(file, "{line}"))
        .map_err(|cause| Failure::new(format!("resume: {}: {cause}", path.display())))
}
