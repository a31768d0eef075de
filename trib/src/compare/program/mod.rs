//! Measures any unmodified program: in turns with the MPI library's own I/O, with the MPI library's best hints, and with
//! our library.
//!
//! | module | holds |
//! |---|---|
//! | `start` | the launcher, the libraries and the folders of all runs; one run |
//! | `contender` | a way to run the program: hints, and the library to preload |
//! | `runs` | the costs of a contender's runs |
//! | `outcome` | the results of all contenders, and their table |

mod contender;
mod outcome;
mod runs;
mod start;

use super::variant::{self, BESIDE, VULCAN, WITH_VULCAN, is_individual};
use crate::Failure;
use crate::cli::compare::CompareOptions;
use crate::launcher::Family;
use crate::parallel::processors;
use contender::Contender;
use outcome::ProgramOutcome;
use runs::RunCosts;
pub use runs::{INSIDE, seconds_inside};
use start::Start;

/// Names of the two contenders that every comparison has.
const DEFAULT: &str = "default";
const OURS: &str = "ours";
/// Name of the contender with the fastest hints.
const BEST: &str = "best";

/// Ratio of a contender's time to our library's time above which the contender runs only once, if it is measured in addition to
/// the defaults and the best hints: on a slow file system, ranks that write small pieces by themselves would take most of the time.
const FAR_BEHIND: f64 = 10.0;

/// Contender, and the costs of its runs.
struct Turn {
    contender: Contender,
    runs: RunCosts,
}

impl Turn {
    fn new(contender: Contender) -> Self {
        Self { contender, runs: RunCosts::default() }
    }

    /// Returns true if the contender has run, and should not run a second time because our library takes only `ours` seconds.
    fn is_far_behind(&self, ours: f64) -> bool {
        let is_beside = BESIDE.contains(&self.contender.name.as_str());
        is_beside && self.runs.count() > 0 && self.runs.least() > FAR_BEHIND * ours
    }
}

/// Runs the command with all contenders, one after the other, as often as the options say, and prints the results.
///
/// # Errors
/// A run fails or writes nothing by MPI-IO; hints or a timer that do not fit.
pub fn run(options: &CompareOptions) -> Result<(), Failure> {
    let peers = options.peers.iter().map(|text| {
        let (name, command) = variant::named_peer(text)?;
        Ok(Contender::peer(name, command))
    });
    let peers: Vec<Contender> = peers.collect::<Result<_, Failure>>()?;
    let start = Start::from_options(options)?;
    let bar = crate::progress(options.pairs, "");
    bar.set_message("the first run");
    let mut first = Turn::new(Contender::new(DEFAULT));
    start.once(&first.contender, &mut first.runs)?;
    // The numbers of ranks and hosts are known from the first run.
    let (ranks, hosts) = (first.runs.ranks as u64, first.runs.hosts as u64);
    let mut turns = vec![first];
    if options.program.best {
        let step = |text: &str| bar.set_message(text.to_string());
        turns.extend(best(&start, (ranks, hosts), &turns[0].runs, &step)?.map(Turn::new));
    }
    turns.extend(beside(&start, options, ranks)?.map(Turn::new));
    turns.extend(peers.into_iter().map(Turn::new));
    turns.push(Turn::new(start.ours()));
    for pair in 1..=options.pairs as usize {
        bar.set_message(format!("pair {pair} of {}", options.pairs));
        let ours = turns.last().map_or(f64::INFINITY, |ours| ours.runs.least());
        for turn in turns.iter_mut().filter(|turn| turn.runs.count() < pair && !turn.is_far_behind(ours)) {
            start.once(&turn.contender, &mut turn.runs)?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    ProgramOutcome::from_turns(options, turns).print(options.json)
}

/// Tries hints and returns those with which the MPI library is fastest; none if its defaults are the fastest.
fn best(
    start: &Start,
    (ranks, hosts): (u64, u64),
    defaults: &RunCosts,
    step: &dyn Fn(&str),
) -> Result<Option<Contender>, Failure> {
    let mut tried: Vec<(Contender, RunCosts)> = Vec::new();
    for contender in start.candidates(ranks, hosts)? {
        step(&format!("trying hints, {}", contender.setting));
        let mut runs = RunCosts::default();
        // Hints with which this MPI library fails are not candidates. If ranks share cores, which makes runs slow, tries each
        // candidate only once.
        let rounds = if ranks > processors() as u64 { 1 } else { 2 };
        if (0..rounds).all(|_| start.once(&contender, &mut runs).is_ok()) {
            tried.push((contender, runs));
        }
    }
    let fastest = tried.into_iter().min_by(|(_, a), (_, b)| a.least().total_cmp(&b.least()));
    Ok(fastest.filter(|(_, runs)| runs.least() < defaults.least()).map(|(contender, _)| contender))
}

/// Returns the contender in addition to the defaults and the best hints: on few ranks of Open MPI a collective
/// component, unless the command names one; with the best hints of MPICH, each rank by itself.
fn beside(start: &Start, options: &CompareOptions, ranks: u64) -> Result<Option<Contender>, Failure> {
    let Some(family) = start.family() else { return Ok(None) };
    let names_one =
        options.command.iter().any(|word| word.contains("fcoll")) || std::env::var_os(WITH_VULCAN.0).is_some();
    if is_individual(family, ranks) && !names_one {
        return Ok(Some(Contender::new(VULCAN).with(WITH_VULCAN.0, WITH_VULCAN.1)));
    }
    (options.program.best && family == Family::Mpich).then(|| start.independent()).transpose()
}

#[cfg(test)]
mod tests {
    use super::variant::INDEPENDENT;
    use super::*;

    #[test]
    fn only_ranks_by_themselves_may_be_far_behind() {
        let turn = |name, seconds: &[f64]| Turn {
            contender: Contender::new(name),
            runs: RunCosts { wall_seconds: seconds.to_vec(), inside_seconds: seconds.to_vec(), ..RunCosts::default() },
        };
        assert!(turn(INDEPENDENT, &[11.0]).is_far_behind(1.0));
        assert!(!turn(INDEPENDENT, &[9.0]).is_far_behind(1.0));
        assert!(!turn(INDEPENDENT, &[]).is_far_behind(1.0), "it runs once");
        assert!(!turn(INDEPENDENT, &[11.0]).is_far_behind(f64::INFINITY), "ours has not run yet");
        assert!(!turn(BEST, &[11.0]).is_far_behind(1.0));
    }
}
