//! Everything that is counted in a capture, of all ranks and calls.

use std::collections::BTreeMap;

use serde::Serialize;
use tributary::engine::capture::{Asked, Call};
use tributary::engine::timeline::Round;
use tributary::engine::{Capture, FanIn, RankTimeline, Seconds};
use tributary::hints::Unused;
use tributary::{Hints, Rank, Topology};

use super::advice::{self, Advice};
use super::calls::{CallAccount, Visit};
use super::kinds::{Kind, kinds};
use super::planned::{InForce, Planned, plan};
use super::sentences;
use super::sizes::{Lengths, Sizes};
use crate::Failure;

/// Most kinds of calls that are planned: those with the most bytes.
const PLANNED: usize = 16;

/// What a capture says.
#[derive(Serialize)]
pub struct Account {
    /// The file, as the program named it.
    pub file: String,
    /// `create`, `update` or `read`.
    pub mode: String,
    /// The program.
    pub program: String,
    /// The version of the library.
    pub library: String,
    /// From the open to the close, in seconds.
    pub seconds: f64,
    /// Ranks.
    pub ranks: usize,
    /// Nodes.
    pub nodes: usize,
    /// The driver, and unit and factor of stripes.
    pub driver: String,
    /// In bytes.
    pub unit: u64,
    /// Stripes.
    pub factor: u32,
    /// The aggregators.
    pub aggregators: Vec<Rank>,
    /// Calls on the file, also those that are not in the capture.
    pub calls_made: u64,
    /// The answer in a line.
    pub verdict: String,
    /// What the figures mean, a sentence each.
    pub summary: Vec<String>,
    /// What would have to be otherwise for calls to be faster.
    pub advice: Vec<Advice>,
    /// Writes and reads, those of them that there are.
    pub directions: Vec<DirectionAccount>,
    /// Calls that are alike.
    pub kinds: Vec<Kind>,
    /// Every call.
    pub calls: Vec<CallAccount>,
    /// What aggregators receive in the first call of each kind, of the kinds with the most bytes.
    pub planned: Vec<Planned>,
    /// Why calls are not planned, where they are not.
    pub not_planned: Option<String>,
    /// Every rank.
    pub by_rank: Vec<RankAccount>,
    /// Hints that have not their defaults.
    pub hints: Vec<Changed>,
    /// Hints that were given and are not used; nothing where the capture does not say so.
    pub hints_unused: Option<Vec<Unused>>,
    /// Every aggregator of whose windows the capture has times.
    pub owners: Vec<Owner>,
    /// Hints of the capture that this version does not know, and their values.
    pub hints_unknown: Vec<(String, String)>,
    /// Each rank's start and end of every call, in seconds from the end of its open.
    pub timeline: Vec<Vec<Visit>>,
    /// The hints in force.
    #[serde(skip)]
    pub in_force: Hints,
}

/// All writes, or all reads.
#[derive(Serialize)]
pub struct DirectionAccount {
    /// `write` or `read`.
    pub direction: &'static str,
    /// Calls.
    pub calls: usize,
    /// Requests of all ranks.
    pub requests: u64,
    /// Bytes of all ranks.
    pub bytes: u64,
    /// Request lengths.
    pub sizes: Sizes,
    /// Pieces of memory.
    pub memory_pieces: u64,
    /// The part of the bytes that is of calls whose bytes are in one piece of a rank's memory: 0 to 1.
    pub contiguous_memory: f64,
    /// Time by phase: for each call the most of any rank.
    pub seconds: Seconds,
}

/// What a rank did in all calls.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RankAccount {
    /// The rank.
    pub rank: Rank,
    /// Its node.
    pub node: usize,
    /// Requests.
    pub requests: u64,
    /// Bytes.
    pub bytes: u64,
    /// Seconds in calls.
    pub in_calls: f64,
    /// Of these, waiting for the last rank to come.
    pub waited: f64,
    /// Calls to which it came last.
    pub last_to: usize,
    /// What it kept the others waiting, on average over them: seconds.
    pub kept_waiting: f64,
    /// Time by phase, of this rank alone; nothing where the capture has no timeline of it.
    pub seconds: Option<Seconds>,
}

impl RankAccount {
    /// Seconds in the phases in which a rank works: in that of agreement it mostly waits.
    pub fn worked(&self) -> f64 {
        self.seconds.map_or(0.0, |all| all.flatten + all.metadata + all.data + all.placement + all.io)
    }
}

/// An aggregator, as its timeline has it.
#[derive(Serialize)]
pub struct Owner {
    /// The rank.
    pub rank: Rank,
    /// Its windows.
    pub windows: u64,
    /// Bytes of the file that they cover.
    pub covered: u64,
    /// Ranks that a window had data of.
    pub fan_in: FanIn,
    /// Time by phase, of this rank alone.
    pub seconds: Seconds,
    /// Its first windows: when each was exchanged, and written or read.
    pub rounds: Vec<Round>,
}

impl Owner {
    /// How many ranks had data for one of its windows.
    pub fn senders(&self) -> String {
        let FanIn { min, max, .. } = self.fan_in;
        if min == max { max.to_string() } else { format!("{min} to {max}") }
    }
}

/// A hint in force.
#[derive(Serialize)]
pub struct Changed {
    /// Its key.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// Where it was given; nothing where the capture does not say so.
    pub source: Option<String>,
    /// What it would be.
    pub default: String,
    /// What it does.
    pub meaning: String,
}

impl Account {
    /// Reads a capture. O(its extents) time; memory O(the encoded capture, and ranks times calls).
    ///
    /// # Errors
    /// A damaged capture.
    pub fn of(capture: &Capture) -> Result<Self, Failure> {
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
            timeline,
            in_force: hints,
        };
        account.summary = sentences::of(&account);
        account.advice = advice::of(&account);
        account.verdict = sentences::verdict(&account);
        Ok(account)
    }

    /// The plans of calls that exchanged messages.
    pub fn exchanged(&self) -> impl Iterator<Item = &Planned> {
        let is_one = |call: usize| self.calls.get(call).is_some_and(|call| call.path() == "exchange");
        self.planned.iter().filter(move |plan| is_one(plan.call))
    }

    /// Seconds that a rank was in calls, on average.
    pub fn in_calls(&self) -> f64 {
        self.by_rank.iter().map(|rank| rank.in_calls).sum::<f64>() / self.ranks as f64
    }

    /// Time by phase, of all calls.
    pub fn phases(&self) -> Seconds {
        let mut all = Seconds::default();
        self.directions.iter().for_each(|way| all += way.seconds);
        all
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

/// Plans the first call of each kind, of those with the most bytes.
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
    let source =
        |key: &str| asked.map(|asked| asked.sources.get(key).map_or("found, or chosen", String::as_str).to_string());
    let row = |row: tributary::hints::HintRow| Changed {
        key: row.key,
        value: row.value,
        source: source(row.key),
        default: row.default,
        meaning: row.meaning.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    changed.map(row).collect()
}
