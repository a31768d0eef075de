//! Advice on how to make calls faster. Each rule inspects the account and returns a sentence, or `None`.

use serde::Serialize;

use super::account::Account;
use super::costly;
use super::elsewhere;
use super::kinds::Kind;
use super::sentences::{NOTABLE, SMALL, late};
use crate::numbers::{brief as time, counted, grouped, percent};

/// Maximum number of calls for which advice names a late rank.
const LATE: usize = 3;

/// One sentence of advice.
#[derive(Debug, Clone, Serialize)]
pub struct Advice {
    /// Name of the rule that gave the advice, for example `small_calls`.
    pub about: &'static str,
    /// Number of the call, if the advice is about a single call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    /// The advice as a sentence.
    pub says: String,
}

/// A rule: returns a sentence of advice for an account, or `None`.
type Rule = fn(&Account) -> Option<String>;

/// All rules, with their names.
const RULES: &[(&str, Rule)] = &[
    ("failed", failed),
    ("small_direct", small_direct),
    ("small_calls", small_calls),
    ("memory", memory),
    ("imbalance", imbalance),
    ("written_twice", written_twice),
    ("plans", plans),
    ("rounds", rounds),
];

/// Rules that say less than the advice about a costly hint.
const OF_HINTS: [&str; 2] = ["small_direct", "rounds"];

/// Returns all advice for an account.
pub fn of(account: &Account) -> Vec<Advice> {
    let (mut advice, costly) = (late_ranks(account), costly::advice(account));
    // What a hint costs is said once.
    let is_open = |about: &str| costly.is_empty() || !OF_HINTS.contains(&about);
    let rules = RULES.iter().filter(|(about, _)| is_open(about));
    let said = rules.filter_map(|(about, rule)| Some(Advice { about, call: None, says: rule(account)? }));
    let said: Vec<Advice> = said.collect();
    advice.extend(costly.into_iter().chain(said));
    let others = elsewhere::advice(account);
    // The first advice is about the calls that took longer.
    let is_first = account.elsewhere.seconds(account.ranks) > account.in_calls();
    if is_first { [others, advice].concat() } else { [advice, others].concat() }
}

/// Returns advice about calls that waited for a late rank: the [`LATE`] calls that their last rank entered latest.
fn late_ranks(account: &Account) -> Vec<Advice> {
    let mut calls: Vec<_> = account.calls.iter().filter(|call| call.is_of_waiting() && call.late >= NOTABLE).collect();
    calls.sort_by(|one, other| other.late.total_cmp(&one.late));
    let says = |call: &&super::calls::CallAccount| format!("Call {}: {}.", call.call, late(call));
    calls.iter().take(LATE).map(|call| Advice { about: "late_rank", call: Some(call.call), says: says(call) }).collect()
}

fn failed(account: &Account) -> Option<String> {
    let failed: Vec<_> = account.calls.iter().filter_map(|call| Some((call.call, call.error.as_ref()?))).collect();
    let (call, error) = failed.first()?;
    let count = counted(failed.len() as u64, "call");
    Some(format!("{count} failed; the first is call {call}: {error}."))
}

/// Returns the numbers of requests, bytes and calls of the kinds for which `fits` returns true.
fn totals<'a>(account: &'a Account, fits: impl Fn(&Kind) -> bool + 'a) -> (u64, u64, u64) {
    account.kinds.iter().filter(|kind| fits(kind) && kind.requests > 0).fold(
        (0, 0, 0),
        |(requests, bytes, calls), kind| {
            let count = kind.count as u64;
            (requests + kind.requests * count, bytes + kind.bytes * count, calls + count)
        },
    )
}

fn small_direct(account: &Account) -> Option<String> {
    let small = |kind: &Kind| kind.path == "direct" && kind.bytes / kind.requests.max(1) < SMALL;
    let (requests, bytes, calls) = totals(account, small);
    let (mean, key) = (bytes.checked_div(requests)?, account.kinds.iter().find(|kind| small(kind))?.direction);
    (requests > 8 * calls).then(|| {
        format!(
            "Pieces of {} bytes on average in {} requests go to the file one by one: collective buffering \
             (romio_cb_{key}=enable) would join them.",
            grouped(mean),
            grouped(requests)
        )
    })
}

fn small_calls(account: &Account) -> Option<String> {
    let limit = account.in_force.tiny_call.max(1);
    let small: Vec<&Kind> = account.kinds.iter().filter(|kind| kind.bytes > 0 && kind.bytes <= limit).collect();
    let calls: usize = small.iter().map(|kind| kind.count).sum();
    let lasted: f64 = small.iter().map(|kind| kind.lasted - kind.waited).sum();
    let all: f64 = account.kinds.iter().map(|kind| kind.lasted).sum();
    (calls >= 8 && lasted > 0.2 * all).then(|| {
        format!(
            "{} of {} calls move {} bytes or less each, and take {} of the time in calls: such a call costs what ranks need to \
             agree. Fewer calls that move more would be faster (several variables or steps in one call).",
            grouped(calls as u64),
            grouped(account.calls.len() as u64),
            grouped(limit),
            percent(lasted, all)
        )
    })
}

fn memory(account: &Account) -> Option<String> {
    let way = account.directions.iter().max_by_key(|way| way.memory_pieces)?;
    let mean = way.bytes.checked_div(way.memory_pieces)?;
    (mean < 1024 && way.contiguous_memory < 0.5).then(|| {
        format!(
            "The bytes of the {}s lie in {} of memory, {} bytes long on average: each is copied by itself. A contiguous buffer, \
             or one without ghost cells, saves that.",
            way.direction,
            counted(way.memory_pieces, "piece"),
            grouped(mean)
        )
    })
}

fn imbalance(account: &Account) -> Option<String> {
    let most = account.by_rank.iter().max_by_key(|rank| rank.bytes)?;
    let mean = account.by_rank.iter().map(|rank| rank.bytes).sum::<u64>() as f64 / account.ranks as f64;
    (most.bytes as f64 > 1.5 * mean && most.bytes > 1 << 20).then(|| {
        format!(
            "Rank {} moves {} bytes, {:.1} times the mean: a call takes as long as the rank with the most.",
            most.rank,
            grouped(most.bytes),
            most.bytes as f64 / mean
        )
    })
}

fn written_twice(account: &Account) -> Option<String> {
    let writes = account.calls.iter().filter(|call| call.direction == "write");
    let reports = writes.filter_map(|call| call.report.as_ref());
    let twice: u64 = reports.map(|report| report.bytes.saturating_sub(report.bytes_written)).sum();
    (twice > 0).then(|| {
        format!(
            "{} bytes are written by several ranks in the same call; only one rank's stay. Let one rank write them.",
            grouped(twice)
        )
    })
}

fn plans(account: &Account) -> Option<String> {
    let anew = |kind: &&Kind| {
        let planning = kind.seconds.flatten + kind.seconds.metadata;
        kind.path == "exchange" && kind.count > 2 && kind.plans_reused == 0 && planning > 0.2 * kind.seconds.total
    };
    let kind = account.kinds.iter().find(anew)?;
    Some(format!(
        "Calls {} move as much each time, but none could use the plan of the one before: some rank's list is another, or has \
         moved by no multiple of a stripe. The same list again would save {} of {}.",
        kind.calls(),
        time(kind.seconds.flatten + kind.seconds.metadata),
        time(kind.seconds.total)
    ))
}

fn rounds(account: &Account) -> Option<String> {
    let kind = account.kinds.iter().filter(|kind| kind.path == "exchange").max_by_key(|kind| kind.rounds)?;
    (kind.rounds >= 16).then(|| {
        format!(
            "Call {} takes {} rounds on {}: more aggregators (cb_nodes) or larger windows (cb_buffer_size) would \
             need fewer.",
            kind.first,
            grouped(kind.rounds),
            counted(kind.aggregators as u64, "aggregator")
        )
    })
}
