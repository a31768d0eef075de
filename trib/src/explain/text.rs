//! The account as text for a terminal: sentences, then tables.

use std::fmt::Write;

use comfy_table::Table;

use super::account::{Account, Owner};
use super::sentences::{Copying, meaning, phases, reason_in_short, title};
use crate::listing::{entry, table};
use crate::numbers::{brief as time, counted, grouped};

/// Maximum number of rows of a table; `--json` has all.
const ROWS: usize = 24;
/// Length of the longest bar, in characters.
const BAR: u64 = 40;

/// Returns the text of an account, with sentences folded at `width`, if there is one.
pub fn of(account: &Account, width: Option<usize>) -> String {
    let summary: String = account.summary.iter().map(|sentence| entry("", sentence, 0, width)).collect();
    let mut text = format!("{}\n{summary}\nWhat would be faster\n", entry("", &account.verdict, 0, width));
    match account.advice.len() {
        0 => text.push_str("Nothing.\n"),
        _ => text.extend(account.advice.iter().map(|advice| entry("-", &advice.says, 2, width))),
    }
    let sections = [
        histogram(account),
        times(account),
        slow(account),
        kinds(account),
        planned(account),
        late(account),
        aggregators(account),
        hints(account),
    ];
    sections.into_iter().flatten().for_each(|section| text.extend(["\n", &section]));
    text.trim_end().to_string()
}

fn section(title: &str, table: &Table, hidden: usize) -> String {
    let more =
        if hidden > 0 { format!("and {} more: --json has all\n", grouped(hidden as u64)) } else { String::new() };
    format!("{title}\n{table}\n{more}")
}

fn histogram(account: &Account) -> Option<String> {
    let mut text = "Requests by length, in bytes\n".to_string();
    for way in &account.directions {
        let most = way.sizes.histogram.iter().map(|class| class.requests).max()?;
        for class in &way.sizes.histogram {
            let bar = "#".repeat(class.requests.saturating_mul(BAR).div_ceil(most) as usize);
            let range = format!("{} to {}", grouped(class.from), grouped(class.to));
            let _ = writeln!(text, "{:5} {range:>32} {:>16} {bar}", way.direction, grouped(class.requests));
        }
    }
    (!account.directions.is_empty()).then_some(text)
}

fn times(account: &Account) -> Option<String> {
    let (all, copying) = (account.phases(), Copying::of(account));
    let mut table = table(["phase", "time", "what it is"]);
    for (phase, seconds) in phases(&all).into_iter().filter(|(_, seconds)| *seconds > 0.0) {
        table.add_row([title(phase, copying).to_string(), time(seconds), meaning(phase, copying).to_string()]);
    }
    table.add_row(["from start to end".to_string(), time(all.total), String::new()]);
    let title =
        "Time by phase, all calls: the rank with the most in each. Phases of different ranks run at the same time";
    (!account.calls.is_empty()).then(|| section(title, &table, 0))
}

/// Returns a table of the slowest calls.
fn slow(account: &Account) -> Option<String> {
    let mut calls = account.slowest_calls();
    let hidden = calls.len().saturating_sub(ROWS / 3);
    calls.truncate(ROWS / 3);
    calls.sort_by_key(|call| call.call);
    let mut table = table(["call", "started", "took", "last rank", "came late by", "others waited", "longest part"]);
    for call in &calls {
        table.add_row([
            call.call.to_string(),
            time(call.start),
            time(call.lasted()),
            call.last_rank.to_string(),
            time(call.late),
            time(call.waited),
            reason_in_short(call),
        ]);
    }
    let title = "The slowest calls, from the first rank's start to the last one's end";
    (!calls.is_empty()).then(|| section(title, &table, hidden))
}

fn kinds(account: &Account) -> Option<String> {
    let mut table =
        table(["calls", "direction", "bytes", "path", "plan reused", "aggregators", "rounds", "messages", "why"]);
    for kind in account.kinds.iter().take(ROWS) {
        table.add_row([
            kind.calls(),
            kind.direction.to_string(),
            grouped(kind.bytes),
            kind.path.clone(),
            kind.plans_reused.to_string(),
            kind.aggregators.to_string(),
            kind.rounds.to_string(),
            format!("{} + {}", grouped(kind.metadata_messages), grouped(kind.data_messages)),
            kind.why.clone(),
        ]);
    }
    let hidden = account.kinds.len().saturating_sub(ROWS);
    (hidden > 0 || !account.kinds.is_empty())
        .then(|| section("What was chosen (messages: of lists + of data)", &table, hidden))
}

fn planned(account: &Account) -> Option<String> {
    if let Some(why) = &account.not_planned {
        return Some(format!("Fan-in is not known: {why}\n"));
    }
    let mut table =
        table(["call", "aggregator", "round", "from ranks", "bytes", "smallest message", "largest message"]);
    let windows = || account.exchanged().flat_map(|plan| plan.windows.iter().map(move |window| (plan.call, window)));
    for (call, window) in windows().take(ROWS) {
        table.add_row([
            call.to_string(),
            format!("rank {}", window.aggregator),
            window.round.to_string(),
            window.senders.to_string(),
            grouped(window.bytes),
            grouped(window.least),
            grouped(window.most),
        ]);
    }
    let count = windows().count();
    let title = "Fan-in by aggregator and round, as messages of flat kernels";
    (count > 0).then(|| section(title, &table, count.saturating_sub(ROWS)))
}

/// Returns a table of the ranks that kept others waiting longest.
fn late(account: &Account) -> Option<String> {
    let ranks: Vec<_> = account.latest_ranks().into_iter().filter(|rank| rank.last_to > 0).collect();
    let mut table = table(["rank", "node", "bytes", "in calls", "waited", "came last to", "kept others waiting"]);
    for rank in ranks.iter().take(ROWS / 3) {
        table.add_row([
            rank.rank.to_string(),
            rank.node.to_string(),
            grouped(rank.bytes),
            time(rank.in_calls),
            time(rank.waited),
            counted(rank.last_to as u64, "call"),
            time(rank.kept_waiting),
        ]);
    }
    let hidden = ranks.len().saturating_sub(ROWS / 3);
    (account.ranks > 1 && !ranks.is_empty()).then(|| section("Ranks that came last", &table, hidden))
}

fn aggregators(account: &Account) -> Option<String> {
    let mut table =
        table(["aggregator", "windows", "bytes they cover", "ranks with data for one", "data", "placement", "io"]);
    for owner in account.owners.iter().take(ROWS) {
        let Owner { rank, windows, covered, seconds, .. } = owner;
        let [data, placement, io] = [seconds.data, seconds.placement, seconds.io].map(time);
        let senders = owner.senders();
        table.add_row([rank.to_string(), grouped(*windows), grouped(*covered), senders, data, placement, io]);
    }
    let hidden = account.owners.len().saturating_sub(ROWS);
    (!account.owners.is_empty()).then(|| section("Aggregators: time of each rank alone", &table, hidden))
}

fn hints(account: &Account) -> Option<String> {
    let mut text = match account.hints.len() {
        0 => "Every hint has its default.\n".to_string(),
        _ => {
            let mut table = table(["hint", "value", "given by", "default", "meaning"]);
            for hint in &account.hints {
                let source = hint.source.as_deref().unwrap_or("not in the capture");
                table.add_row([hint.key, &hint.value, source, &hint.default, &hint.meaning]);
            }
            section("Hints in force that were given or are not their defaults", &table, 0)
        }
    };
    for (key, value) in &account.hints_unknown {
        let _ = writeln!(text, "{key}={value}: this version does not know it");
    }
    match account.hints_unused.as_deref() {
        None => text += "The capture does not say which hints were given.\n",
        Some([]) => {}
        Some(unused) => {
            text += "\nHints ignored, and why\n";
            let mut table = table(["hint", "value", "given by", "why it is not used"]);
            for all in unused {
                table.add_row([all.key.as_str(), &all.value, &all.source, &all.why]);
            }
            let _ = writeln!(text, "{table}");
        }
    }
    Some(text)
}
