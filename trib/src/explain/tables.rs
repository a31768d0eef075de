//! The tables of the page, with the charts that belong to them.

use maud::{Markup, html};
use tributary::engine::Seconds;
use tributary::hints::Unused;

use super::account::{Account, Changed, Owner, RankAccount};
use super::calls::CallAccount;
use super::chart;
use super::kinds::Kind;
use super::sentences::{phases, reason_in_short};
use crate::numbers::{brief as time, counted, grouped};

/// Maximum number of rows of a table; `--json` has all.
const ROWS: usize = 200;
/// Maximum number of calls whose fan-in is drawn.
const DRAWN: usize = 4;

/// Returns a table that can be scrolled with the keyboard. The columns `numbers` hold numbers, the other columns text.
pub fn table(name: &str, header: &[&str], numbers: std::ops::Range<usize>, rows: &[Vec<String>]) -> Markup {
    linked_table(name, header, numbers, rows, false)
}

/// Returns a table as [`table`] does. If it `has_links`, the first cell of a row is the name of a capture, and a link to its page in
/// the same folder.
pub fn linked_table(
    name: &str,
    header: &[&str],
    numbers: std::ops::Range<usize>,
    rows: &[Vec<String>],
    has_links: bool,
) -> Markup {
    let class = |column: usize| numbers.contains(&column).then_some("number");
    html! {
        div.wide tabindex="0" role="region" aria-label=(name) {
            table {
                thead { tr { @for (column, title) in header.iter().enumerate() {
                    th scope="col" class=[class(column)] { (title) }
                } } }
                tbody { @for row in rows.iter().take(ROWS) { tr { @for (column, cell) in row.iter().enumerate() {
                    td class=[class(column)] {
                        @if has_links && column == 0 { a href=(page_of(cell)) { (cell) } } @else { (cell) }
                    }
                } } } }
            }
        }
        @if rows.len() > ROWS { p.note { "And " (grouped((rows.len() - ROWS) as u64)) " more: " code { "--json" } " has all." } }
    }
}

/// Returns the address of the page of a capture from another page in its folder.
fn page_of(name: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    format!("./{}.html", name.bytes().map(escaped).collect::<String>())
}

/// Returns an entry of a legend: a colour of a drawing and the meaning of the colour.
pub fn key(class: &str, says: &str) -> Markup {
    html! { span.legend { span class={ "key " (class) } {} (says) } }
}

/// Returns the table of kinds of calls, with the library's choices for each kind.
pub fn kinds(account: &Account) -> Option<Markup> {
    let row = |kind: &Kind| {
        vec![
            kind.calls(),
            kind.direction.to_string(),
            kind.path.clone(),
            grouped(kind.ranks),
            grouped(kind.requests),
            grouped(kind.bytes),
            kind.plans_reused.to_string(),
            kind.aggregators.to_string(),
            kind.rounds.to_string(),
            format!("{} + {}", grouped(kind.metadata_messages), grouped(kind.data_messages)),
            time(kind.lasted),
            kind.why.clone(),
        ]
    };
    let header = [
        "calls",
        "direction",
        "path",
        "ranks",
        "requests",
        "bytes",
        "plans reused",
        "aggre\u{ad}gators",
        "rounds",
        "messages",
        "took",
        "why",
    ];
    let rows: Vec<Vec<String>> = account.kinds.iter().map(row).collect();
    (!rows.is_empty()).then(|| {
        html! {
            p { "Calls that are alike are one row; ranks, requests and bytes are of one call, all else of \
                 all of them. Messages are of lists + of data." }
            (table("What was chosen", &header, 3..11, &rows))
        }
    })
}

/// Returns the table of calls, the slowest first.
pub fn calls(account: &Account) -> Option<Markup> {
    let calls = account.slowest_calls();
    let row = |call: &&CallAccount| {
        vec![
            call.call.to_string(),
            time(call.start),
            time(call.lasted()),
            call.last_rank.to_string(),
            time(call.late),
            time(call.waited),
            format!("{} ({})", call.slowest.0, time(call.slowest.1)),
            reason_in_short(call),
        ]
    };
    let header =
        ["call", "started", "took", "last to come", "late by", "others waited", "last to leave", "longest part"];
    let rows: Vec<Vec<String>> = calls.iter().take(ROWS + 1).map(row).collect();
    (!rows.is_empty()).then(|| {
        html! {
            p { "The slowest first. A call takes from the first rank's start to the last one's end; a rank is late by how much it \
                 came after the median of all ranks." }
            (table("Calls", &header, 0..6, &rows[..rows.len().min(ROWS)]))
            @if calls.len() > ROWS { p.note { "And " (grouped((calls.len() - ROWS) as u64)) " faster ones." } }
        }
    })
}

/// Returns a table of what aggregators receive in the planned calls, and charts of the fan-in.
pub fn fan_in(account: &Account) -> Option<Markup> {
    if let Some(why) = &account.not_planned {
        return Some(html! { p { "It is not known: " (why) } });
    }
    let rows: Vec<Vec<String>> = account
        .exchanged()
        .map(|plan| {
            let (least, most) = plan.message_bytes();
            vec![
                plan.call.to_string(),
                plan.aggregators.len().to_string(),
                grouped(plan.rounds),
                format!("{} / {} / {}", plan.fan_in.min, plan.fan_in.median, plan.fan_in.max),
                grouped(plan.metadata_messages),
                grouped(plan.metadata_bytes),
                grouped(plan.data_messages),
                format!("{} to {}", grouped(least), grouped(most)),
            ]
        })
        .collect();
    let header = [
        "call",
        "aggregators",
        "rounds",
        "fan-in: min / median / max",
        "messages of lists",
        "their bytes",
        "messages of data",
        "bytes of one",
    ];
    (!rows.is_empty()).then(|| {
        html! {
            p { "By the engine's own planning over the captured extents, as messages of flat kernels, of calls that exchanged." }
            (table("Fan-in", &header, 1..8, &rows))
            @for plan in account.exchanged().take(DRAWN) {
                figure {
                    (chart::fan_in(plan))
                    figcaption { "Call " (plan.call) ": ranks that an aggregator has data from, round by round. "
                        @if let Some(more) = chart::left_out(plan) { (more) } }
                }
            }
        }
    })
}

/// Returns the table of ranks; the ranks that kept others waiting longest come first.
pub fn ranks(account: &Account) -> Option<Markup> {
    let row = |rank: &&RankAccount| {
        vec![
            rank.rank.to_string(),
            rank.node.to_string(),
            grouped(rank.requests),
            grouped(rank.bytes),
            time(rank.in_calls),
            time(rank.waited),
            grouped(rank.last_to as u64),
            time(rank.kept_waiting),
        ]
    };
    let rows: Vec<Vec<String>> = account.latest_ranks().iter().map(row).collect();
    let header =
        ["rank", "node", "requests", "bytes", "in calls", "waited", "calls it came last to", "kept others waiting"];
    (!account.calls.is_empty()).then(|| {
        html! {
            p { "Those first that kept the others waiting." }
            (table("Ranks", &header, 0..8, &rows))
            @if let Some(phases) = phases_of_ranks(account) { (phases) }
        }
    })
}

/// Returns the table of the phases of each rank whose times are in the capture.
fn phases_of_ranks(account: &Account) -> Option<Markup> {
    let mut ranks: Vec<_> = account.by_rank.iter().filter_map(|rank| Some((rank, rank.seconds?))).collect();
    ranks.sort_by(|(one, _), (other, _)| other.worked().total_cmp(&one.worked()));
    // Phases in which any rank spent time.
    let mut shown = phases(&Seconds::default()).map(|(phase, _)| (phase, false));
    for (_, seconds) in &ranks {
        shown.iter_mut().zip(phases(seconds)).for_each(|((_, shown), (_, spent))| *shown |= spent > 0.0);
    }
    let row = |(rank, seconds): &(&RankAccount, Seconds)| {
        let spent = phases(seconds).into_iter().zip(shown).filter(|(_, (_, shown))| *shown);
        std::iter::once(rank.rank.to_string()).chain(spent.map(|((_, spent), _)| time(spent))).collect()
    };
    let rows: Vec<Vec<String>> = ranks.iter().map(row).collect();
    let header: Vec<&str> =
        std::iter::once("rank").chain(shown.into_iter().filter(|(_, shown)| *shown).map(|(phase, _)| phase)).collect();
    (header.len() > 1).then(|| {
        html! {
            p { "Time by phase of each rank alone, those first that worked longest inside calls." }
            (table("Phases of ranks", &header, 0..7, &rows))
        }
    })
}

/// Returns the table of hints that were given or differ from their defaults.
pub fn hints(account: &Account) -> Option<Markup> {
    let source = |hint: &Changed| hint.source.clone().unwrap_or_else(|| "not in the capture".to_string());
    let row = |hint: &Changed| {
        vec![hint.key.to_string(), hint.value.clone(), source(hint), hint.default.clone(), hint.meaning.clone()]
    };
    let rows: Vec<Vec<String>> = account.hints.iter().map(row).collect();
    Some(html! {
        @if rows.is_empty() { p { "Every hint has its default." } }
        @else { (table("Hints", &["hint", "value", "given by", "default", "meaning"], 0..0, &rows)) }
        @for (key, value) in &account.hints_unknown { p { code { (key) "=" (value) } ": this version does not know it." } }
        p.note {
            "Driver " (account.driver) ", unit " (grouped(account.unit)) " bytes, " (counted(u64::from(account.factor), "stripe"))
            "; " (counted(account.aggregators.len() as u64, "aggregator")) "."
        }
    })
}

/// Returns the table of hints that were given but have no effect.
pub fn hints_unused(account: &Account) -> Option<Markup> {
    let Some(unused) = &account.hints_unused else {
        return Some(html! { p { "The capture does not say which hints were given." } });
    };
    let row = |all: &Unused| vec![all.key.clone(), all.value.clone(), all.source.to_string(), all.why.clone()];
    let rows: Vec<Vec<String>> = unused.iter().map(row).collect();
    (!rows.is_empty())
        .then(|| table("Hints ignored", &["hint", "value", "given by", "why it is not used"], 0..0, &rows))
}

/// Returns the table of aggregators, the slowest first, and a chart of the rounds of the call whose rounds took
/// longest.
pub fn aggregators(account: &Account) -> Option<Markup> {
    let mut owners: Vec<&Owner> = account.owners.iter().collect();
    owners.sort_by(|one, other| other.worked().total_cmp(&one.worked()));
    let row = |owner: &&Owner| {
        let mut row = vec![owner.rank.to_string(), grouped(owner.windows), grouped(owner.covered)];
        row.push(owner.senders());
        row.extend([owner.seconds.data, owner.seconds.placement, owner.seconds.io].map(time));
        row
    };
    let rows: Vec<Vec<String>> = owners.iter().map(row).collect();
    let header = ["aggregator", "windows", "bytes they cover", "ranks with data for one", "data", "placement", "io"];
    (!rows.is_empty()).then(|| {
        html! {
            p { "Those first that took longest. Times are of each rank alone." }
            (table("Aggregators", &header, 0..7, &rows))
            @if let Some((call, drawing)) = chart::rounds(account) {
                figure {
                    (drawing)
                    figcaption {
                        "The rounds of call " (call) ", the longest, of each aggregator:"
                        (key("exchange", "exchange, above")) (key("file", "in the file system, below")) "."
                    }
                }
            }
        }
    })
}
