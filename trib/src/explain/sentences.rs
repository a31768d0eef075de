//! Sentences that describe the numbers of an account.

use std::collections::BTreeMap;

use tributary::engine::{Path, Seconds};

use super::account::{Account, DirectionAccount, Owner, RankAccount};
use super::calls::CallAccount;
use crate::numbers::{brief as time, counted, grouped, percent, sized, speed};

/// Requests of fewer bytes are small: a disk seek or a file-system lock takes longer than the transfer of the bytes.
pub const SMALL: u64 = 64 << 10;
/// Shorter times, in seconds, are not worth a sentence.
pub const NOTABLE: f64 = 1e-3;

/// If phases together take less than this share of the time, sentences do not say that the longest phase is the reason.
const FEW: f64 = 0.3;

/// Returns the phases of calls as (name, time in seconds).
pub fn phases(seconds: &Seconds) -> [(&'static str, f64); 6] {
    [
        ("flatten", seconds.flatten),
        ("metadata", seconds.metadata),
        ("data", seconds.data),
        ("placement", seconds.placement),
        ("io", seconds.io),
        ("agreement", seconds.agreement),
    ]
}

/// The step of a call in which ranks copy data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Copying {
    /// Ranks copy in phases of their own, apart from the agreement.
    #[default]
    Apart,
    /// Ranks copy in the step in which they agree: each rank's data is beside the numbers to agree on.
    InAgreement,
    /// Ranks copy in the agreement in some calls, and in phases of their own in others.
    Mixed,
}

impl Copying {
    /// Returns how ranks copied in a call.
    pub fn of_call(call: &CallAccount) -> Self {
        let placement = call.report.as_ref().map_or(0.0, |report| report.seconds.placement);
        match call.path().as_str() {
            "shared" | "root" if placement == 0.0 && call.bytes > 0 => Self::InAgreement,
            _ => Self::Apart,
        }
    }

    /// Returns how ranks copied in all calls that moved bytes.
    pub fn of(account: &Account) -> Self {
        let mut all = account.calls.iter().filter(|call| call.bytes > 0).map(Self::of_call);
        let first = all.next().unwrap_or_default();
        if all.all(|other| other == first) { first } else { Self::Mixed }
    }
}

/// Returns a phrase that explains a phase.
pub fn meaning(phase: &str, copying: Copying) -> &'static str {
    match (phase, copying) {
        ("flatten", _) => "cutting lists by aggregator",
        ("metadata", _) => "telling aggregators the lists",
        ("data", _) => "exchanging data",
        ("placement", _) => "copying into windows",
        ("io", _) => "in the file system",
        (_, Copying::Apart) => "agreeing, and waiting for ranks that come late",
        (_, Copying::InAgreement) => "agreeing and copying in one step, and waiting for ranks that come late",
        (_, Copying::Mixed) => {
            "agreeing, in calls with little data copying in the same step, and waiting for ranks that come late"
        }
    }
}

/// Returns the name of a phase for readers.
pub fn title(phase: &'static str, copying: Copying) -> &'static str {
    match (phase, copying) {
        ("agreement", Copying::InAgreement) => "agreement and copying",
        (phase, _) => phase,
    }
}

/// Returns a number of bytes as text, for example `52,428,800 bytes (50.00 MiB)`.
fn in_bytes(bytes: u64) -> String {
    match sized(bytes).split_once(" (") {
        Some((count, unit)) => format!("{count} bytes ({unit}"),
        None => counted(bytes, "byte"),
    }
}

/// Returns a summary in one line: bytes, seconds, speed, paths, and the first sentence of the first advice if there is any.
pub fn verdict(account: &Account) -> String {
    let seconds = account.phases().total;
    let next = match account.advice.first() {
        None => "Nothing to do.".to_string(),
        Some(first) => format!("To do: {}", first.says.split_inclusive(". ").next().unwrap_or_default().trim_end()),
    };
    if account.calls.is_empty() || seconds <= 0.0 {
        return format!("No collective call took any time. {next}");
    }
    let moved = account.directions.iter().map(|way| {
        let verb = if way.direction == "read" { "read" } else { "written" };
        format!("{} {verb}", in_bytes(way.bytes))
    });
    let moved = moved.collect::<Vec<_>>().join(" and ");
    let bytes = account.directions.iter().map(|way| way.bytes).sum();
    let mut paths = BTreeMap::<&str, usize>::new();
    account.kinds.iter().for_each(|kind| *paths.entry(went(&kind.path)).or_default() += kind.count);
    let mut paths: Vec<_> = paths.into_iter().collect();
    paths.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let all = account.calls.len();
    let paths: Vec<String> =
        paths.into_iter().map(|(went, count)| format!("{} {went}", calls_of(count, all))).collect();
    format!("{moved} in {}: {}. {}. {next}", time(seconds), speed(bytes, seconds), paths.join(", "))
}

/// Returns the sentences of an account.
pub fn of(account: &Account) -> Vec<String> {
    let mut sentences = vec![what_it_did(account)];
    sentences.extend(account.directions.iter().map(requests));
    sentences.extend(account.elsewhere.sentences());
    // An estimate that is worth it stands in the advice.
    let little = account.if_collective.iter().filter(|estimate| !estimate.is_worth());
    sentences.extend(little.map(|estimate| format!("Together they would gain little. {}", estimate.text())));
    sentences.extend(missing(account));
    if account.calls.is_empty() {
        return sentences;
    }
    sentences.push(where_time_went(account));
    sentences.extend(ways(account));
    sentences.extend(wrong_expectation(account));
    sentences.extend(plans_reused(account));
    sentences.extend(waiting(account));
    sentences.extend(slowest(account));
    sentences.extend(slowest_rank(account));
    sentences.extend(slowest_aggregator(account));
    sentences.extend(fan_in(account));
    sentences.extend(file_system(account));
    sentences.extend(joined(account));
    sentences.extend(without_data(account));
    sentences
}

/// Times an expected time must be wrong to be worth a sentence.
const WRONG: f64 = 1.5;

/// Returns a sentence if calls took much longer, or shorter, than was expected of the way that they took.
fn wrong_expectation(account: &Account) -> Option<String> {
    let (mut expected, mut took, mut calls) = (0.0, 0.0, 0);
    for report in account.calls.iter().filter_map(|call| call.report.as_ref()) {
        let Some(times) = report.expected else { continue };
        expected += if report.path == Path::Exchange { times.exchange } else { times.hosts };
        took += times.took;
        calls += 1;
    }
    let is_wrong = took > NOTABLE && (took > WRONG * expected || expected > WRONG * took);
    let text = || {
        let calls = counted(calls, "call");
        let (took, expected) = (time(took), time(expected));
        format!(
            "{calls} chosen by expected times took {took}, not {expected} as expected: the file or the network was faster or slower than in earlier calls."
        )
    };
    is_wrong.then(text)
}

fn what_it_did(account: &Account) -> String {
    let Account { program, file, ranks, nodes, calls, .. } = account;
    let on = format!("{} of {}", counted(*ranks as u64, "rank"), counted(*nodes as u64, "node"));
    format!("{program} made {} on {file}, on {on}.", counted(calls.len() as u64, "collective call"))
}

fn requests(way: &DirectionAccount) -> String {
    let DirectionAccount { direction, calls, requests, bytes, sizes, contiguous_memory, .. } = way;
    let lengths = match (sizes.min, sizes.max) {
        (0, 0) => return format!("{} moved nothing.", counted(*calls as u64, direction)),
        (min, max) if min == max => format!("of {} bytes each", grouped(max)),
        (min, max) => format!("of {} to {} bytes, {} at the median", grouped(min), grouped(max), grouped(sizes.median)),
    };
    let memory = percent(*contiguous_memory, 1.0);
    format!(
        "{} moved {} bytes in {} {lengths}; {memory} of the bytes are contiguous in memory.",
        counted(*calls as u64, direction),
        grouped(*bytes),
        counted(*requests, "request"),
    )
}

fn missing(account: &Account) -> Option<String> {
    let (has, made) = (account.calls.len() as u64, account.calls_made);
    let (has, made) = if has < made { (grouped(has), grouped(made)) } else { return None };
    Some(format!("The capture has the first {has} of {made} calls: the others are past the limit in TRIB_CAPTURE."))
}

fn where_time_went(account: &Account) -> String {
    let (in_calls, open) = (account.in_calls(), account.seconds);
    let mut parts = phases(&account.phases());
    parts.sort_by(|one, other| other.1.total_cmp(&one.1));
    let copying = Copying::of(account);
    let largest: Vec<String> = parts
        .iter()
        .take(2)
        .filter(|(_, seconds)| *seconds > 0.0)
        .map(|(phase, seconds)| format!("{} ({}) {}", meaning(phase, copying), title(phase, copying), time(*seconds)))
        .collect();
    let all: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    let most = match largest.join(", then ") {
        most if most.is_empty() => String::new(),
        most if all < FEW * in_calls => {
            format!(
                "; all phases together took only {}: ranks waited for each other, or for a processor. Longest was {most}",
                time(all)
            )
        }
        most => format!("; the longest phases are {most}"),
    };
    let open = time(open);
    format!("A rank was in calls for {} on average; the file was open for {open}{most}.", time(in_calls))
}

/// Returns sentences about the four most frequent paths and reasons: how many calls took each, the most frequent first.
fn ways(account: &Account) -> Vec<String> {
    let mut ways: Vec<(String, String, usize)> = Vec::new();
    for kind in &account.kinds {
        match ways.iter_mut().find(|(path, why, _)| (path, why) == (&kind.path, &kind.why)) {
            Some((.., count)) => *count += kind.count,
            None => ways.push((kind.path.clone(), kind.why.clone(), kind.count)),
        }
    }
    ways.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
    let all = account.calls.len();
    let more = ways.len().saturating_sub(4);
    let mut said: Vec<String> = ways
        .iter()
        .take(4)
        .map(|(path, why, count)| format!("{} {}: {why}.", calls_of(*count, all), went(path)))
        .collect();
    if more > 0 {
        said.push(format!("{more} more reasons are in the table of calls."));
    }
    said
}

fn calls_of(count: usize, all: usize) -> String {
    match (count, all) {
        (1, 1) => "The call".to_string(),
        (count, all) if count == all => format!("All {} calls", grouped(all as u64)),
        (count, all) => format!("{} of {} calls", grouped(count as u64), grouped(all as u64)),
    }
}

fn went(path: &str) -> &'static str {
    match path {
        "exchange" => "went through aggregators (exchange)",
        "shared" => "went through memory that ranks share (shared)",
        "root" => "went through rank 0 (root)",
        "direct" => "went from each rank to the file (direct)",
        "nothing" => "moved nothing (nothing)",
        _ => "failed",
    }
}

fn plans_reused(account: &Account) -> Option<String> {
    let reused: usize = account.kinds.iter().map(|kind| kind.plans_reused).sum();
    let all = account.calls.len();
    (reused > 0).then(|| format!("{} used the plan of the call before.", calls_of(reused, all)))
}

/// Returns the rank that kept the others waiting longest.
pub fn latest(account: &Account) -> Option<&RankAccount> {
    account.by_rank.iter().max_by(|one, other| one.kept_waiting.total_cmp(&other.kept_waiting))
}

fn waiting(account: &Account) -> Option<String> {
    let latest = latest(account).filter(|_| account.ranks > 1)?;
    let (all, in_calls) = (account.calls.len(), account.in_calls());
    let waited = account.by_rank.iter().map(|rank| rank.waited).sum::<f64>() / account.ranks as f64;
    let share = percent(waited, in_calls);
    if waited < NOTABLE && waited < 0.1 * in_calls {
        return Some(format!(
            "No rank kept the others waiting for long: {} on average, {share} of the time in calls.",
            time(waited)
        ));
    }
    let last = match (latest.last_to, all) {
        (1, 1) => String::new(),
        (some, all) => format!(" to {} of {} calls", grouped(some as u64), grouped(all as u64)),
    };
    Some(format!(
        "A rank waited {} on average for the last one to come, {share} of the time in calls; rank {} kept the others waiting \
         the most: it came last{last}, and they waited {} for it.",
        time(waited),
        latest.rank,
        time(latest.kept_waiting),
    ))
}

/// Returns a sentence about the slowest call and the reason.
fn slowest(account: &Account) -> Option<String> {
    let call = *account.slowest_calls().first()?;
    let which =
        if account.calls.len() == 1 { "The call".to_string() } else { format!("The slowest call, {},", call.call) };
    Some(format!("{which} took {}: {}.", time(call.lasted()), reason(call)))
}

/// Returns a sentence about the rank that worked longest inside calls.
fn slowest_rank(account: &Account) -> Option<String> {
    let busiest = account.by_rank.iter().max_by(|one, other| one.worked().total_cmp(&other.worked()))?;
    let mean = account.by_rank.iter().map(RankAccount::worked).sum::<f64>() / account.ranks as f64;
    let parts = phases(busiest.seconds.as_ref().filter(|_| account.ranks > 1 && mean > 0.0)?);
    let working = parts.iter().filter(|(phase, _)| *phase != "agreement");
    let (phase, spent) = working.max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(format!(
        "The rank that worked longest inside calls is {}, {} in its own phases, {:.1} times the mean; the longest is {} \
         ({phase}) {}.",
        busiest.rank,
        time(busiest.worked()),
        busiest.worked() / mean,
        meaning(phase, Copying::Apart),
        time(*spent),
    ))
}

/// Returns a sentence about the aggregator that took longest and the reason, from the timelines of the aggregators.
fn slowest_aggregator(account: &Account) -> Option<String> {
    /// A value above this multiple of the mean is clearly more than others have.
    const MORE: f64 = 1.25;
    let owners = &account.owners;
    let slowest = owners.iter().max_by(|one, other| one.worked().total_cmp(&other.worked()))?;
    let mean = |of: &dyn Fn(&Owner) -> f64| owners.iter().map(of).sum::<f64>() / owners.len() as f64;
    let times = slowest.worked() / mean(&Owner::worked).max(f64::MIN_POSITIVE);
    let bytes = slowest.covered as f64 / mean(&|owner| owner.covered as f64).max(1.0);
    let reason = match (owners.len(), times > MORE, bytes > MORE) {
        (1, ..) => "it is the only one".to_string(),
        (_, false, _) => "the others took about as long".to_string(),
        (_, true, true) => format!("its windows cover {bytes:.1} times the bytes of the mean"),
        (_, true, false) => {
            "its windows cover no more than those of the others: the processor, the node or the file servers \
                             of this one are slower"
                .to_string()
        }
    };
    let parts = phases(&slowest.seconds);
    let longest =
        parts.iter().filter(|(phase, _)| *phase != "agreement").max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(format!(
        "The slowest aggregator is rank {}, {} for {}, the longest part {} ({}): {reason}.",
        slowest.rank,
        time(slowest.worked()),
        counted(slowest.windows, "window"),
        meaning(longest.0, Copying::Apart),
        time(longest.1),
    ))
}

/// Returns the reason why a call took as long as it did, as text.
pub fn reason(call: &CallAccount) -> String {
    if call.is_of_waiting() {
        return late(call);
    }
    let (rank, worked) = call.slowest;
    let (all, longest) = in_phases(call);
    let phase = match longest {
        None => String::new(),
        Some(_) if all < FEW * worked => {
            format!("; its phases took only {}: ranks waited for each other, or for a processor", time(all))
        }
        Some((phase, seconds)) => {
            format!("; the longest phase is {}, {}", title(phase, Copying::of_call(call)), time(seconds))
        }
    };
    format!("{} after the last rank had come, until rank {rank} returned{phase}", time(worked))
}

/// Returns the time of all phases of a call in seconds, and the longest phase with its time, if any took time.
fn in_phases(call: &CallAccount) -> (f64, Option<(&'static str, f64)>) {
    let all = phases(&call.report.as_ref().map(|report| report.seconds).unwrap_or_default());
    let longest = all.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
    (all.iter().map(|(_, seconds)| seconds).sum(), longest.filter(|(_, seconds)| *seconds > 0.0))
}

/// Returns the reason why a call took as long as it did in a few words, for a table of many calls.
pub fn reason_in_short(call: &CallAccount) -> String {
    if call.is_of_waiting() {
        return format!("waiting for rank {}, {}", call.last_rank, time(call.waited));
    }
    match in_phases(call).1 {
        None => "not measured".to_string(),
        Some((phase, seconds)) => format!("{}, {}", title(phase, Copying::of_call(call)), time(seconds)),
    }
}

/// Returns the reason why the last rank of a call came late, as text.
pub fn late(call: &CallAccount) -> String {
    let CallAccount { last_rank, late, late_alone, left_late, .. } = *call;
    let who = if late_alone > 0.5 * late {
        format!("rank {last_rank} alone came {} late", time(late))
    } else {
        format!("several ranks came late, rank {last_rank} last, by {}", time(late))
    };
    match call.call {
        0 => format!("{who}, after the open: load imbalance, not I/O"),
        number if left_late > 0.5 * late => format!("{who}, because it had left call {} late", number - 1),
        _ => format!("{who}, as it did more than others between the calls: load imbalance, not I/O"),
    }
}

/// Returns a sentence about the small requests that collective buffering has joined, if there were many.
fn joined(account: &Account) -> Option<String> {
    let is_joined = |path: &str| matches!(path, "exchange" | "shared" | "root");
    let joined = || account.kinds.iter().filter(|kind| is_joined(&kind.path));
    let [requests, bytes, calls] = joined().fold([0, 0, 0], |[requests, bytes, calls], kind| {
        let count = kind.count as u64;
        [requests + kind.requests * count, bytes + kind.bytes * count, calls + count]
    });
    let mean = bytes.checked_div(requests)?;
    (mean < SMALL && requests > 8 * calls).then(|| {
        format!(
            "Collective buffering pays here: without it each of {} requests, {} bytes on average, would be a call to the file \
             system of its own.",
            grouped(requests),
            grouped(mean)
        )
    })
}

/// Returns a sentence if the file system takes most of the time.
fn file_system(account: &Account) -> Option<String> {
    let phases = account.phases();
    let bytes: u64 = account.directions.iter().map(|way| way.bytes).sum();
    let others = [phases.flatten, phases.metadata, phases.data, phases.placement, phases.agreement];
    let is_most = phases.io > others.iter().sum() && phases.io > 0.5 * account.in_calls();
    (is_most && phases.io > NOTABLE).then(|| {
        format!(
            "The file system takes most of it, {} for {} ({}): a faster exchange would gain little.",
            time(phases.io),
            in_bytes(bytes),
            speed(bytes, phases.io)
        )
    })
}

fn without_data(account: &Account) -> Option<String> {
    let without = account.by_rank.iter().filter(|rank| rank.bytes == 0).count();
    (without > 0 && without < account.ranks).then(|| {
        format!(
            "{} of {} ranks have no data in any call: they only agree and wait.",
            grouped(without as u64),
            grouped(account.ranks as u64)
        )
    })
}

fn fan_in(account: &Account) -> Option<String> {
    let most = account.exchanged().max_by_key(|plan| plan.fan_in.max)?;
    let bytes = match most.message_bytes() {
        (least, largest) if least == largest => grouped(largest),
        (least, largest) => format!("{} to {}", grouped(least), grouped(largest)),
    };
    let ranks = match most.fan_in {
        fan_in if fan_in.min == fan_in.max => counted(u64::from(fan_in.max), "rank"),
        fan_in => format!("{} to {} ranks", fan_in.min, fan_in.max),
    };
    Some(format!(
        "Call {} as messages of flat kernels: {}, {}; an aggregator has data from {ranks} in a round, {bytes} bytes \
         from each.",
        most.call,
        counted(most.aggregators.len() as u64, "aggregator"),
        counted(most.rounds, "round"),
    ))
}
