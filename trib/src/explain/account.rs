//! Computes all numbers of `trib explain` from a capture, over all ranks and calls.

use std::collections::BTreeMap;

use serde::Serialize;
use tributary::drivers::USUAL_WINDOW;
use tributary::engine::capture::{Asked, Call};
use tributary::engine::timeline::Round;
use tributary::engine::{Capture, FanIn, RankTimeline, Seconds};
use tributary::hints::Unused;
use tributary::{Hints, Rank, Topology};

use super::advice::{self, Advice};
use super::calls::{CallAccount, Visit};
use super::elsewhere::Elsewhere;
use super::estimate::{Amount, Estimate, Together};
use super::file_speed::FileSpeed;
use super::kinds::{Kind, kinds};
use super::planned::{InForce, Planned, plan};
use super::sentences;
use super::sizes::{Lengths, Sizes};
use crate::Failure;

/// Maximum number of kinds of calls that are planned: the kinds with the most bytes.
const PLANNED: usize = 16;

/// Source of hints that nobody set.
const CHOSEN: &str = "found, or chosen";

/// Everything that `trib explain` computes from a capture: numbers, sentences and advice.
#[derive(Serialize)]
pub struct Account {
    /// Name of the file, as the program gave it.
    pub file: String,
    /// Mode of the open: `create`, `update` or `read`.
    pub mode: String,
    /// Name of the program (argument 0).
    pub program: String,
    /// Version of Tributary that made the capture.
    pub library: String,
    /// Time from the open to the close, in seconds.
    pub seconds: f64,
    /// Number of ranks that opened the file.
    pub ranks: usize,
    /// Number of nodes on which these ranks ran.
    pub nodes: usize,
    /// Name of the file's storage driver.
    pub driver: String,
    /// Stripe or block size of the file, in bytes.
    pub unit: u64,
    /// Number of stripes of the file; 1 without stripes, 0 if unknown.
    pub factor: u32,
    /// Ranks of the aggregators, ascending.
    pub aggregators: Vec<Rank>,
    /// Number of collective calls made on the file, including calls that are not in the capture.
    pub calls_made: u64,
    /// Summary in one line: bytes, seconds, speed, paths and the first advice.
    pub verdict: String,
    /// Sentences that describe the numbers.
    pub summary: Vec<String>,
    /// Advice on how to make the calls faster.
    pub advice: Vec<Advice>,
    /// Totals of all writes, and of all reads; a direction without calls is left out.
    pub directions: Vec<DirectionAccount>,
    /// Groups of calls that are alike.
    pub kinds: Vec<Kind>,
    /// All calls in the capture, in order.
    pub calls: Vec<CallAccount>,
    /// Data that aggregators receive in the first call of each of the `PLANNED` kinds of calls that move the most bytes.
    pub planned: Vec<Planned>,
    /// Reason why calls cannot be planned; `None` if they are planned.
    pub not_planned: Option<String>,
    /// Totals of each rank, in rank order.
    pub by_rank: Vec<RankAccount>,
    /// Hints in force that were given or differ from their defaults.
    pub hints: Vec<Changed>,
    /// Hints that were given but have no effect; `None` if the capture does not record which hints were given.
    pub hints_unused: Option<Vec<Unused>>,
    /// Aggregators whose timelines are in the capture.
    pub owners: Vec<Owner>,
    /// Hints of the capture that this version does not know, as (key, value).
    pub hints_unknown: Vec<(String, String)>,
    /// Calls on the file that are not in the capture.
    pub elsewhere: Elsewhere,
    /// Expected time of the small independent calls, if they were collective; `None` if they took little time.
    pub if_collective: Option<Estimate>,
    /// Start and end of every call, by rank and then by call.
    pub timeline: Vec<Vec<Visit>>,
    /// Hints in force, as far as this version knows them.
    #[serde(skip)]
    pub in_force: Hints,
    /// Costs of the file that estimates assume.
    #[serde(skip)]
    pub file_speed: FileSpeed,
}

/// Totals of all writes, or of all reads.
#[derive(Serialize)]
pub struct DirectionAccount {
    /// `write` or `read`.
    pub direction: &'static str,
    /// Number of calls.
    pub calls: usize,
    /// Number of requests (extents of the file) of all ranks.
    pub requests: u64,
    /// Number of bytes that all ranks wrote, or read.
    pub bytes: u64,
    /// Statistics of the request lengths.
    pub sizes: Sizes,
    /// Number of contiguous pieces of memory of all ranks.
    pub memory_pieces: u64,
    /// Share of the bytes that a rank has in one contiguous piece of memory in its call: 0 to 1.
    pub contiguous_memory: f64,
    /// Time of each phase in seconds, summed over calls; for each call the maximum over ranks.
    pub seconds: Seconds,
}

/// Totals of one rank over all calls.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RankAccount {
    /// Number of the rank.
    pub rank: Rank,
    /// Number of the rank's node.
    pub node: usize,
    /// Number of the rank's requests.
    pub requests: u64,
    /// Number of bytes that the rank wrote and read.
    pub bytes: u64,
    /// Time that the rank spent in calls, in seconds.
    pub in_calls: f64,
    /// Part of `in_calls` in which the rank waited for the last rank to enter the call, in seconds.
    pub waited: f64,
    /// Number of calls that this rank entered last.
    pub last_to: usize,
    /// Time that the other ranks waited for this rank, in seconds: the mean over the other ranks, summed over calls.
    pub kept_waiting: f64,
    /// Time of each phase on this rank only, in seconds; `None` if the capture has no timeline of the rank.
    pub seconds: Option<Seconds>,
}

impl RankAccount {
    /// Returns the time of the phases in which the rank works, in seconds: all but agreement, in which a rank mostly
    /// waits.
    pub fn worked(&self) -> f64 {
        self.seconds.map_or(0.0, |all| all.flatten + all.metadata + all.data + all.placement + all.io)
    }
}

/// An aggregator and its windows, from the timeline of its rank.
#[derive(Serialize)]
pub struct Owner {
    /// Rank of the aggregator.
    pub rank: Rank,
    /// Number of windows of the aggregator: parts of the file that it writes or reads in one round.
    pub windows: u64,
    /// Number of bytes of the file in these windows.
    pub covered: u64,
    /// Fan-in of these windows: the number of ranks with data for a window.
    pub fan_in: FanIn,
    /// Time of each phase on this rank only, in seconds.
    pub seconds: Seconds,
    /// First windows of the aggregator, with the times of the exchange and of the write or read.
    pub rounds: Vec<Round>,
}

impl Owner {
    /// Returns the time in which the aggregator works, in seconds.
    pub fn worked(&self) -> f64 {
        self.seconds.data + self.seconds.placement + self.seconds.io
    }

    /// Returns the minimum and maximum number of ranks with data for one window, as text.
    pub fn senders(&self) -> String {
        let FanIn { min, max, .. } = self.fan_in;
        if min == max { max.to_string() } else { format!("{min} to {max}") }
    }
}

/// A hint in force that was given or differs from its default.
#[derive(Serialize)]
pub struct Changed {
    /// Key of the hint.
    pub key: &'static str,
    /// Value in force.
    pub value: String,
    /// Source of the value, for example the environment; `None` if the capture does not record the source.
    pub source: Option<String>,
    /// Default value of the hint.
    pub default: String,
    /// Description of the hint.
    pub meaning: String,
}

impl Account {
    /// Computes the account of a capture. O(extents of the capture) time; O(encoded capture + ranks x calls) memory.
    /// `speed` has the measured costs of the file system.
    ///
    /// # Errors
    /// The capture is damaged.
    pub fn of(capture: &Capture, speed: Option<&FileSpeed>) -> Result<Self, Failure> {
        let (header, topology) = (capture.header(), capture.topology()?);
        let read = (0..header.ranks).map(|rank| capture.rank_and_timeline(rank)).collect::<Result<Vec<_>, _>>()?;
        let (all, timelines): (Vec<_>, Vec<_>) = read.into_iter().unzip();
        let timeline: Vec<Vec<Visit>> = all.iter().map(|calls| calls.iter().map(Visit::of).collect()).collect();
        let calls = calls(capture, &all, &timeline)?;
        let kinds = kinds(&calls);
        let InForce { hints, unknown } = InForce::of(header);
        let (planned, not_planned) = match plans(capture, &all, &kinds, &hints) {
            Ok(planned) => (planned, None),
            Err(failure) => (Vec::new(), Some(failure.to_string())),
        };
        let mut by_rank = by_rank(&all, &calls, &timeline, &topology);
        for (rank, timeline) in by_rank.iter_mut().zip(&timelines) {
            rank.seconds = timeline.as_ref().map(|timeline| timeline.seconds);
        }
        let mut account = Self {
            file: header.file.clone(),
            mode: header.mode.clone(),
            program: header.program.clone(),
            library: header.library.clone(),
            seconds: header.seconds,
            ranks: header.ranks,
            nodes: topology.nodes(),
            driver: header.driver.clone(),
            unit: header.unit,
            factor: header.factor,
            aggregators: header.aggregators.clone(),
            calls_made: capture.calls_made(),
            verdict: String::new(),
            summary: Vec::new(),
            advice: Vec::new(),
            directions: ways(&all, &calls),
            kinds,
            planned,
            not_planned,
            by_rank,
            calls,
            hints: changed(&hints, header.asked.as_ref()),
            hints_unused: header.asked.as_ref().map(|asked| asked.unused.clone()),
            owners: owners(timelines),
            hints_unknown: unknown,
            elsewhere: Elsewhere::of(capture)?,
            if_collective: None,
            timeline,
            in_force: hints,
            file_speed: speed.cloned().unwrap_or_else(|| FileSpeed::usual(&header.driver)),
        };
        if speed.is_none() {
            account.file_speed.see(&account.kinds, account.nodes);
            account.file_speed.see_small(&account.elsewhere.independent);
        }
        account.if_collective = account.elsewhere.if_collective(&account);
        account.summary = sentences::of(&account);
        account.advice = advice::of(&account);
        account.verdict = sentences::verdict(&account);
        Ok(account)
    }

    /// Estimates how long calls on this file take that its ranks make together.
    pub fn estimate(&self, amount: Amount) -> Estimate {
        let window = self.in_force.cb_buffer_size.unwrap_or(USUAL_WINDOW);
        Estimate::of(Together { ranks: self.ranks, nodes: self.nodes, window }, amount, self.file_speed.clone())
    }

    /// Returns the calls, the slowest first.
    pub fn slowest_calls(&self) -> Vec<&CallAccount> {
        let mut calls: Vec<_> = self.calls.iter().collect();
        calls.sort_by(|one, other| other.lasted().total_cmp(&one.lasted()));
        calls
    }

    /// Returns the ranks; the ranks that kept others waiting longest come first.
    pub fn latest_ranks(&self) -> Vec<&RankAccount> {
        let mut ranks: Vec<_> = self.by_rank.iter().collect();
        ranks.sort_by(|one, other| other.kept_waiting.total_cmp(&one.kept_waiting));
        ranks
    }

    /// Iterates over the plans of calls that took the path `exchange`.
    pub fn exchanged(&self) -> impl Iterator<Item = &Planned> {
        let is_one = |call: usize| self.calls.get(call).is_some_and(|call| call.path() == "exchange");
        self.planned.iter().filter(move |plan| is_one(plan.call))
    }

    /// Returns the time that a rank spent in calls, in seconds: the mean over ranks.
    pub fn in_calls(&self) -> f64 {
        self.by_rank.iter().map(|rank| rank.in_calls).sum::<f64>() / self.ranks as f64
    }

    /// Returns the time of each phase in seconds, summed over all calls.
    pub fn phases(&self) -> Seconds {
        let mut all = Seconds::default();
        self.directions.iter().for_each(|way| all += way.seconds);
        all
    }
}

impl Changed {
    /// Returns true if the hint was set: by the program, the environment or the site.
    pub fn is_given(&self) -> bool {
        self.source.as_deref().is_some_and(|source| source != CHOSEN)
    }
}

fn calls(capture: &Capture, all: &[Vec<Call>], timeline: &[Vec<Visit>]) -> Result<Vec<CallAccount>, Failure> {
    let outcomes = capture.outcomes()?;
    let visits = |call: usize| timeline.iter().filter_map(|visits| visits.get(call).copied()).collect::<Vec<_>>();
    let (mut calls, mut before): (Vec<CallAccount>, Option<Vec<Visit>>) = (Vec::new(), None);
    for (number, (outcome, first)) in outcomes.iter().zip(all.first().into_iter().flatten()).enumerate() {
        let mut call = CallAccount::new(outcome, first, number);
        all.iter().filter_map(|rank| rank.get(number)).for_each(|own| call.add(own));
        let now = visits(number);
        call.set_times(&now, before.as_deref());
        before = Some(now);
        calls.push(call);
    }
    Ok(calls)
}

/// Plans the first call of each of the [`PLANNED`] kinds of calls that move the most bytes.
fn plans(capture: &Capture, all: &[Vec<Call>], kinds: &[Kind], hints: &Hints) -> Result<Vec<Planned>, Failure> {
    let topology = capture.topology()?;
    let mut largest: Vec<&Kind> = kinds.iter().filter(|kind| kind.bytes > 0).collect();
    largest.sort_by_key(|kind| std::cmp::Reverse(kind.bytes.saturating_mul(kind.count as u64)));
    largest.truncate(PLANNED);
    largest.sort_by_key(|kind| kind.first);
    let planned = |kind: &&Kind| {
        let ranks: Vec<&Call> = all.iter().filter_map(|calls| calls.get(kind.first)).collect();
        plan(capture.header(), &topology, hints, (kind.first, &ranks))
    };
    largest.iter().map(planned).collect()
}

fn ways(all: &[Vec<Call>], calls: &[CallAccount]) -> Vec<DirectionAccount> {
    let mut lengths = BTreeMap::<&str, Lengths>::new();
    for call in all.iter().flatten() {
        lengths.entry(call.direction.name()).or_default().add(&call.file);
    }
    let way = |direction: &'static str| {
        let own: Vec<&CallAccount> = calls.iter().filter(|call| call.direction == direction).collect();
        let sum = |of: fn(&CallAccount) -> u64| own.iter().map(|call| of(call)).sum::<u64>();
        let bytes = sum(|call| call.bytes);
        let mut seconds = Seconds::default();
        own.iter().filter_map(|call| call.report.as_ref()).for_each(|report| seconds += report.seconds);
        (!own.is_empty()).then(|| DirectionAccount {
            direction,
            calls: own.len(),
            requests: sum(|call| call.requests),
            bytes,
            sizes: lengths.get(direction).map(Lengths::sizes).unwrap_or_default(),
            memory_pieces: sum(|call| call.memory_pieces),
            contiguous_memory: sum(|call| call.contiguous_bytes) as f64 / bytes.max(1) as f64,
            seconds,
        })
    };
    ["write", "read"].into_iter().filter_map(way).collect()
}

fn by_rank(all: &[Vec<Call>], calls: &[CallAccount], timeline: &[Vec<Visit>], topology: &Topology) -> Vec<RankAccount> {
    let account = |(rank, own): (Rank, &Vec<Call>)| {
        let mut account = RankAccount { rank, node: topology.node_of(rank), ..RankAccount::default() };
        for ((call, visit), of_all) in own.iter().zip(&timeline[rank]).zip(calls) {
            account.requests += call.file.count();
            account.bytes += call.file.bytes();
            account.in_calls += visit.end - visit.start;
            account.waited += visit.waits(of_all.last_start);
            if of_all.last_rank == rank {
                account.last_to += 1;
                account.kept_waiting += of_all.waited;
            }
        }
        account
    };
    all.iter().enumerate().map(account).collect()
}

fn owners(timelines: Vec<Option<RankTimeline>>) -> Vec<Owner> {
    let owner = |(rank, timeline): (Rank, Option<RankTimeline>)| {
        let RankTimeline { windows, covered, seconds, fan_in, rounds } =
            timeline.filter(|timeline| timeline.windows > 0)?;
        Some(Owner { rank, windows, covered, fan_in: FanIn::of(fan_in), seconds, rounds })
    };
    timelines.into_iter().enumerate().filter_map(owner).collect()
}

fn changed(hints: &Hints, asked: Option<&Asked>) -> Vec<Changed> {
    let given = |key: &str| asked.is_some_and(|asked| asked.sources.contains_key(key));
    let changed = hints.table().into_iter().filter(|row| row.value != row.default || given(row.key));
    let source = |key: &str| asked.map(|asked| asked.sources.get(key).map_or(CHOSEN, String::as_str).to_string());
    let row = |row: tributary::hints::HintRow| Changed {
        key: row.key,
        value: row.value,
        source: source(row.key),
        default: row.default,
        meaning: row.meaning.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    changed.map(row).collect()
}
