//! Accidents by seed: random programs in virtual time, whose bytes and errors are compared with an exact model of MPI's rules.

pub mod model;
pub mod program;
pub mod run;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use program::{Call, Program};
pub use run::{Finding, judge, judge_and_show};

use crate::virtual_time::file::Faults;

/// What many programs have shown.
#[derive(Debug, Default)]
pub struct Summary {
    /// Number of programs that were right.
    pub passed: u64,
    /// The first program that was not, and what was wrong.
    pub failed: Option<(Program, String)>,
    /// Sum of hashes of all events: the same for the same programs.
    pub digest: u64,
    /// Number of turns of tasks.
    pub turns: u64,
}

impl Summary {
    fn add(mut self, other: Self) -> Self {
        self.passed += other.passed;
        self.digest = self.digest.wrapping_add(other.digest);
        self.turns += other.turns;
        let earlier = |one: &(Program, String), two: &(Program, String)| one.0.seed <= two.0.seed;
        self.failed = match (self.failed, other.failed) {
            (Some(one), Some(two)) => Some(if earlier(&one, &two) { one } else { two }),
            (one, two) => one.or(two),
        };
        self
    }
}

/// Runs the programs of seeds, of at most `ranks` ranks each, on all cores, until one is wrong or `is_over`. Calls `tell` after
/// each program with the number of those that have passed.
pub fn run_many(
    seeds: Range<u64>,
    ranks: usize,
    is_over: impl Fn() -> bool + Sync,
    tell: impl Fn(u64) + Sync,
) -> Summary {
    let (next, all) = (AtomicU64::new(seeds.start), AtomicU64::new(0));
    let has_failed = AtomicBool::new(false);
    let work = || {
        let mut sum = Summary::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end || has_failed.load(Ordering::Relaxed) || is_over() {
                return sum;
            }
            let program = Program::of(seed, ranks);
            let finding = judge(&program);
            sum.turns += finding.turns;
            // A sum: it does not depend on the order in which threads come to their ends.
            sum.digest = sum.digest.wrapping_add(finding.digest ^ seed);
            match finding.wrong {
                None => sum.passed += 1,
                Some(wrong) => {
                    has_failed.store(true, Ordering::Relaxed);
                    sum.failed = Some((program, wrong));
                }
            }
            tell(all.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let done = threads.into_iter().map(|thread| thread.join().expect("a thread that judges"));
        done.fold(Summary::default(), Summary::add)
    })
}

/// Shrinks a program that is wrong, and writes it to `folder`, as a test that is run from then on. Returns the path, what was wrong
/// with the shrunk program, and the program as JSON.
///
/// # Errors
/// The file cannot be written.
pub fn write_as_test(program: &Program, folder: &Path) -> std::io::Result<(PathBuf, String, String)> {
    let least = shrink(program);
    let wrong = judge(&least).wrong.unwrap_or_default();
    let text = serde_json::to_string(&least).map_err(std::io::Error::other)?;
    std::fs::create_dir_all(folder)?;
    let path = folder.join(format!("{}.json", program.seed));
    std::fs::write(&path, format!("{text}\n"))?;
    Ok((path, wrong, text))
}

/// Runs the programs that [`write_as_test`] has written to `folder`, and returns their number.
///
/// # Panics
/// Panics if one of them is wrong, or no program.
pub fn run_found(folder: &Path) -> usize {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    for path in &paths {
        let text = std::fs::read_to_string(path).expect("a program");
        let program: Program =
            serde_json::from_str(&text).unwrap_or_else(|wrong| panic!("{}: {wrong}", path.display()));
        if let Some(wrong) = judge(&program).wrong {
            panic!("{}: {wrong}", path.display());
        }
    }
    paths.len()
}

/// Returns a program that fails as well and has less of everything.
pub fn shrink(program: &Program) -> Program {
    let mut least = program.clone();
    let fails = |program: &Program| judge(program).wrong.is_some();
    loop {
        let before = least.clone();
        for smaller in smaller(&before) {
            if smaller != least && fails(&smaller) {
                least = smaller;
                break;
            }
        }
        if least == before {
            return least;
        }
    }
}

/// Returns programs with one thing less.
fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let calls = program.calls.len();
    for part in [calls / 2, calls / 4, 1] {
        if part > 0 {
            for at in (0..calls).step_by(part).rev() {
                let mut less = program.clone();
                less.calls.drain(at..(at + part).min(calls));
                all.push(less);
            }
        }
    }
    for at in 0..program.hints.len() {
        let mut less = program.clone();
        less.hints.remove(at);
        all.push(less);
    }
    for kind in 0..7 {
        let mut less = program.clone();
        let Faults { short, interrupted, io, space, open, slow, memory, .. } = &mut less.faults;
        *[short, interrupted, io, space, open, slow, memory][kind] = 0;
        all.push(less);
    }
    all.push(Program { killed_after: None, ..program.clone() });
    all.push(Program { lost_cores: 0, ..program.clone() });
    all.push(Program { shares_memory: true, ..program.clone() });
    let one_host = Program { hosts: vec![0; program.hosts.len()], ..program.clone() };
    all.push(one_host);
    if program.hosts.len() > 1 {
        let last = program.hosts.len() - 1;
        let mut less = program.clone();
        less.hosts.pop();
        less.calls.iter_mut().for_each(|call| call.without(last));
        all.push(less);
    }
    all
}
