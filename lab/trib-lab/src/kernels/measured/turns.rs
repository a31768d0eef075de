//! Measures one write with every choice of kernels, in turns.

use std::collections::BTreeMap;
use std::path::Path;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use trib::agreement::agreed;
use trib::calls::Calls;
use trib::cli::replay::FileFormat;
use trib::rank_program::{ReplayTask, Wished};
use trib::{Failure, verify};
use tributary::hints::Overlap;
use tributary::{Endpoint, Hints};
use tributary_benchmarks::Pattern;

use super::cases::PretendedWrite;
use super::passes::Passes;
use crate::cli::kernels::Measured;
use crate::kernels::simulated_write::{DEFAULT, others};

/// Name of the choice that is judged.
pub const AUTO: &str = "auto";

/// Seconds of each write, by the choice of kernels and by turn.
pub type Times = BTreeMap<String, Vec<f64>>;

/// Measured times of a case.
pub struct Timed {
    /// Kernels that `auto` chose.
    pub chosen: String,
    /// Seconds of the first pass, which begins with a new file.
    pub first: Times,
    /// Mean seconds of a later pass; empty if there is none.
    pub again: Times,
}

/// Case to measure, with its file and options.
pub struct Turns<'a> {
    /// Case that is measured.
    pub case: &'a PretendedWrite,
    /// Pattern that is written.
    pub pattern: &'a dyn Pattern,
    /// Hints that all choices share.
    pub hints: &'a Hints,
    /// Path of the file.
    pub path: &'a Path,
    /// Options of the command: numbers of turns and passes.
    pub options: &'a Measured,
}

/// Returns the choices with name and hints. `auto` is the first.
fn all_choices(per_node: usize) -> Vec<(String, String)> {
    let of = |name: &str, kernel: &str, more: &str| {
        (name.to_string(), format!("trib_kernel_meta={kernel}; trib_kernel_data={kernel}; {more}"))
    };
    let mut all = vec![
        of(AUTO, "auto", ""),
        of(DEFAULT, DEFAULT, ""),
        of("balanced, no throttle", DEFAULT, "trib_throttle_meta=0; trib_throttle_data=0"),
        of(
            "balanced, window of 50",
            DEFAULT,
            "trib_throttle_mode=window; trib_throttle_meta=50; trib_throttle_data=50",
        ),
    ];
    all.extend(others().map(|kernel| of(kernel, kernel, "")));
    for local in [1, 2].into_iter().filter(|local| local * 2 <= per_node) {
        let name = format!("two_layer, {local} per node");
        all.push(of(&name, "two_layer", &format!("nc_num_aggrs_per_node={local}")));
    }
    all
}

impl Turns<'_> {
    /// Measures the case: first a turn in which every choice's file is compared with that of a serial write, then the
    /// turns that count. Each turn has its own order of choices, because a write is affected by the one
    /// before. Collective; the same times on all ranks.
    ///
    /// # Errors
    /// Errors of the engine and the pattern; a file with wrong bytes.
    pub fn run(&self, mut endpoint: Endpoint) -> Result<(Timed, Endpoint), Failure> {
        let mut choices = Vec::new();
        for (name, hints) in all_choices(self.case.per_node) {
            choices.push((name, self.hints(&hints, endpoint.ranks())?));
        }
        let mut timed = Timed { chosen: String::new(), first: Times::new(), again: Times::new() };
        for turn in 0..=self.options.turns as usize {
            choices.shuffle(&mut SmallRng::seed_from_u64(turn as u64));
            for (name, hints) in &choices {
                let calls;
                (calls, endpoint) = self.write(endpoint, hints)?;
                if turn == 0 {
                    let compared = self.compare(endpoint.rank(), name);
                    agreed(&mut endpoint, compared)?;
                    continue;
                }
                if name == AUTO {
                    timed.chosen = taken(&calls);
                }
                self.add(&mut timed, name, &calls.each);
            }
        }
        Ok((timed, endpoint))
    }

    fn hints(&self, choice: &str, ranks: usize) -> Result<Hints, Failure> {
        let mut hints = self.hints.clone();
        hints.ranks_per_node = self.case.per_node;
        if self.pattern.overlaps() {
            hints.overlap = Overlap::RankOrder;
        }
        hints.apply(choice)?;
        hints.check(ranks)?;
        Ok(hints)
    }

    fn write(&self, endpoint: Endpoint, hints: &Hints) -> Result<(Calls, Endpoint), Failure> {
        let pattern = &Passes { pattern: self.pattern, count: self.options.passes as usize };
        let (path, calls) = (self.path, Wished::Write);
        let task = ReplayTask { pattern, path, hints, buffer: None, format: FileFormat::Raw, calls, compared: false };
        let (outcome, endpoint) = task.run(endpoint)?;
        Ok((outcome.done.into_calls(), endpoint))
    }

    fn compare(&self, rank: usize, choice: &str) -> Result<(), Failure> {
        if rank > 0 {
            return Ok(());
        }
        let compared = verify::compare(self.pattern, FileFormat::Raw, self.path);
        compared.map_err(|failure| Failure::new(format!("{} with {choice}: {failure}", self.case.write.name)))
    }

    fn add(&self, timed: &mut Timed, name: &str, each: &[f64]) {
        let (first, later) = each.split_at(self.pattern.steps().min(each.len()));
        timed.first.entry(name.to_string()).or_default().push(first.iter().sum());
        if self.options.passes > 1 {
            let mean = later.iter().sum::<f64>() / (self.options.passes - 1) as f64;
            timed.again.entry(name.to_string()).or_default().push(mean);
        }
    }
}

/// Returns the names of the kernels of the first exchange, or the path if there is none.
fn taken(calls: &Calls) -> String {
    match [0, 1].map(|phase| calls.taken(phase).into_iter().next()) {
        [Some(metadata), Some(data)] if metadata != data => format!("{data}; metadata {metadata}"),
        [_, data] => data.unwrap_or_else(|| calls.path()),
    }
}
