//! `TRIB_REPORT=html`: the report of a file as one page that needs nothing else, no script and no network.
//!
//! | module | holds |
//! |---|---|
//! | `html` | the few elements of HTML; text made safe |
//! | `ranks` | which rank and which aggregator was slow, and why |
//! | `timeline` | the drawings |
//! | `place` | where the page goes |

mod html;
pub mod place;
mod ranks;
mod timeline;

use std::collections::BTreeMap;

use tributary::Hints;
use tributary::engine::Diary;

use crate::report::Report;
use html::{counted, details, escape, grouped, list, paragraph, percent, table, time};
use ranks::{Late, late, phases, worked};

const STYLE: &str = include_str!("page.css");
/// Rows of a table of ranks or windows: the rest is told.
const ROWS: usize = 200;

/// A part of the page: its anchor, its title, its markup.
type Section = (&'static str, &'static str, String);

/// The page of a file; `diaries` of all its ranks, or none where they are not known.
pub fn page(report: &Report, diaries: &[Diary]) -> String {
    let late = late(diaries);
    let sections: Vec<Section> = [
        ("says", "In words", Some(words(report, diaries, &late))),
        ("calls", "Calls", Some(calls(report))),
        ("phases", "Time by phase", times(report)),
        ("ranks", "Ranks and aggregators", by_rank(diaries, &late)),
        ("timeline", "Timeline", drawings(diaries)),
        ("messages", "Fan-in and message sizes", messages(report, diaries)),
        ("hints", "Hints in force", in_force(report)),
        ("ignored", "Hints ignored, and why", Some(ignored(report))),
        ("more", "What this page does not know", Some(more(report))),
    ]
    .into_iter()
    .filter_map(|(id, title, body)| Some((id, title, body?)))
    .collect();
    let file = escape(&report.file);
    let links: String =
        sections.iter().map(|(id, title, _)| format!("<li><a href=\"#{id}\">{title}</a></li>\n")).collect();
    let body: String = sections
        .iter()
        .map(|(id, title, body)| format!("<section><h2 id=\"{id}\">{title}</h2>\n{body}</section>\n"))
        .collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width\"/><title>Tributary: {file}</title>\n\
         <style>{STYLE}</style></head>\n<body><a class=\"skip\" href=\"#says\">To what it says</a>\n\
         <h1>The collective calls on {file}</h1>\n<nav aria-label=\"Parts of this page\"><ul>\n{links}</ul></nav>\n\
         <main>\n{body}</main>\n<footer class=\"note\"><p>Tributary {}</p></footer></body></html>\n",
        escape(report.version)
    )
}

/// What the figures mean.
fn words(report: &Report, diaries: &[Diary], late: &[Late]) -> String {
    let (calls, bytes) =
        report.accelerated.values().fold((0, 0), |(calls, bytes), ran| (calls + ran.calls, bytes + ran.bytes));
    let passed: u64 = report.passed_through.iter().map(|passed| passed.calls).sum();
    let mut says = Vec::new();
    if let Some(engine) = &report.engine {
        says.push(format!(
            "{} on {}: the engine ran {} that moved {} bytes.",
            counted(engine.ranks as u64, "rank"),
            counted(engine.nodes as u64, "node"),
            counted(calls, "collective call"),
            grouped(bytes)
        ));
    }
    says.extend(report.not_taken.iter().map(|why| format!("The file was left to MPI: {why}.")));
    if passed > 0 {
        says.push(format!("The MPI library ran {} of this rank, file management among them.", counted(passed, "call")));
    }
    let mut by_time = phases(&report.seconds);
    by_time.sort_by(|one, other| other.1.total_cmp(&one.1));
    if by_time[0].1 > 0.0 {
        let [(first, most, what), (second, next, other), ..] = by_time;
        says.push(format!(
            "The calls took {} in all. The longest phases: {what} ({first}) {}, then {other} ({second}) {}.",
            time(report.seconds.total),
            time(most),
            time(next)
        ));
    }
    says.extend(ranks::slowest_rank(diaries, late));
    says.extend(ranks::slowest_aggregator(diaries));
    match report.hints_not_used.len() {
        0 => says.push("Every hint that was given is used.".to_string()),
        some => says.push(format!(
            "{} given and not used: see below.",
            if some == 1 { "One hint was".into() } else { format!("{some} hints were") }
        )),
    }
    list(&says)
}

/// What ran, which way, and what was passed through.
fn calls(report: &Report) -> String {
    let mut out = String::new();
    let mut part = |title: &str, header: &[&str], numbers, rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            out += &format!("<h3>{}</h3>\n{}", escape(title), table(title, header, numbers, &rows));
        }
    };
    let ran = report.accelerated.iter();
    let ran = ran.map(|(call, ran)| vec![call.to_string(), grouped(ran.calls), grouped(ran.bytes)]).collect();
    part("Accelerated", &["function", "calls", "bytes of all ranks"], 1..3, ran);
    let passed = report.passed_through.iter();
    let passed = passed.map(|one| vec![one.call.to_string(), grouped(one.calls), one.why.clone()]).collect();
    part("Passed through to the MPI library", &["function", "calls of the first rank", "why"], 1..2, passed);
    let paths = report.paths.iter();
    let paths = paths.map(|(path, calls)| vec![grouped(*calls), path.clone()]).collect();
    part("Which way the bytes went", &["calls", "path, and what decided it"], 0..1, paths);
    if report.passed_through.is_empty() {
        out += &paragraph("No call was passed through to the MPI library.");
    }
    out
}

/// The phases, each of its slowest rank.
fn times(report: &Report) -> Option<String> {
    let total = report.seconds.total;
    let most = phases(&report.seconds).iter().map(|(_, spent, _)| *spent).fold(0.0, f64::max);
    let row = |(name, spent, what): (&str, f64, &str)| {
        format!(
            "<tr><td>{name}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"track\">\
             <span class=\"bar\" style=\"width: {:.1}%\"></span></td><td>{what}</td></tr>\n",
            time(spent),
            percent(spent, total),
            100.0 * spent / most.max(f64::MIN_POSITIVE)
        )
    };
    let rows: String = phases(&report.seconds).into_iter().map(row).collect();
    (total > 0.0).then(|| {
        format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Time by phase\"><table><thead><tr>\
             <th scope=\"col\">phase</th><th scope=\"col\" class=\"number\">time</th><th scope=\"col\" class=\"number\">of the \
             total</th><th scope=\"col\">compared</th><th scope=\"col\">what it is</th></tr></thead><tbody>{rows}</tbody></table>\
             </div>\n<p class=\"note\">All calls, {} in all. Of each call and phase the slowest rank, and the file system works \
             while ranks exchange: the parts may be more than the total.</p>\n",
            time(total)
        )
    })
}

/// Every rank, those first that worked longest; then the aggregators.
fn by_rank(diaries: &[Diary], late: &[Late]) -> Option<String> {
    if diaries.is_empty() {
        return None;
    }
    let mut order: Vec<usize> = (0..diaries.len()).collect();
    order.sort_by(|one, other| worked(&diaries[*other].seconds).total_cmp(&worked(&diaries[*one].seconds)));
    let row = |rank: &usize| {
        let (diary, late) = (&diaries[*rank], late[*rank]);
        let mut row = vec![rank.to_string(), grouped(diary.requests), grouped(diary.bytes), time(diary.seconds.total)];
        row.extend([late.waited, late.kept_waiting].map(time));
        row.extend(phases(&diary.seconds).map(|(_, spent, _)| time(spent)));
        row
    };
    let header = [
        "rank",
        "requests",
        "bytes",
        "in calls",
        "waited",
        "kept others waiting",
        "flatten",
        "metadata",
        "data",
        "placement",
        "io",
        "agreement",
    ];
    let rows: Vec<_> = order.iter().take(ROWS).map(row).collect();
    let mut out = paragraph("Those first that worked longest inside calls. Times are of each rank alone.");
    out += &details(
        &format!("{} and their phases", counted(diaries.len() as u64, "rank")),
        &table("Ranks", &header, 0..12, &rows),
    );
    let owner = |rank: &usize| {
        let diary = &diaries[*rank];
        let fan_in = |of: Option<&(u32, u64)>| of.map_or(0, |(ranks, _)| *ranks);
        let mut row = vec![rank.to_string(), grouped(diary.windows), grouped(diary.covered)];
        row.push(format!("{} to {}", fan_in(diary.fan_in.first()), fan_in(diary.fan_in.last())));
        row.extend([diary.seconds.data, diary.seconds.placement, diary.seconds.io].map(time));
        row
    };
    let owners: Vec<_> = order.iter().filter(|rank| diaries[**rank].windows > 0).take(ROWS).map(owner).collect();
    let header = ["aggregator", "windows", "bytes they cover", "ranks with data for one", "data", "placement", "io"];
    if !owners.is_empty() {
        out += &details(&counted(owners.len() as u64, "aggregator"), &table("Aggregators", &header, 0..7, &owners));
    }
    Some(out)
}

/// The drawings, and a table of what they show.
fn drawings(diaries: &[Diary]) -> Option<String> {
    let key = |class: &str, what: &str| format!("<span class=\"key {class}\"></span>{what}");
    let calls = timeline::calls(diaries)?;
    let made = diaries.iter().map(|diary| diary.calls).max().unwrap_or(0);
    let drawn = diaries.iter().map(|diary| diary.visits.len() as u64).max().unwrap_or(0);
    let some = if drawn < made {
        format!(" Drawn are the first {} of {}.", grouped(drawn), counted(made, "call"))
    } else {
        String::new()
    };
    let mut out = format!(
        "<figure>\n{calls}<figcaption>Each rank, from the end of the open:{}{}{}.{some}</figcaption></figure>\n",
        key("write", "write"),
        key("read", "read"),
        key("wait", "waiting for the last rank to come")
    );
    if let Some((call, rounds)) = timeline::rounds(diaries) {
        out += &format!(
            "<figure>\n{rounds}<figcaption>The rounds of call {call}, the longest, of each aggregator:{}{}.</figcaption></figure>\n",
            key("write", "exchange, above"),
            key("read", "in the file system, below")
        );
        let rows: Vec<_> = diaries
            .iter()
            .enumerate()
            .flat_map(|(rank, diary)| diary.rounds.iter().map(move |round| (rank, round)))
            .filter(|(_, round)| round.call == call)
            .take(ROWS)
            .map(|(rank, round)| {
                let mut row =
                    vec![rank.to_string(), round.round.to_string(), round.ranks.to_string(), grouped(round.bytes)];
                let times =
                    [round.exchange.0, round.exchange.1 - round.exchange.0, round.io.0, round.io.1 - round.io.0];
                row.extend(times.map(time));
                row
            })
            .collect();
        let header =
            ["aggregator", "round", "ranks", "bytes", "exchange began", "exchange took", "file began", "file took"];
        out += &details(&format!("The rounds of call {call} as a table"), &table("Rounds", &header, 0..8, &rows));
    }
    Some(out)
}

/// How much went in how many messages.
fn messages(report: &Report, diaries: &[Diary]) -> Option<String> {
    let traffic = &report.traffic;
    if traffic.requests == 0 {
        return None;
    }
    let bytes: u64 = report.accelerated.values().map(|ran| ran.bytes).sum();
    let mean = |bytes: u64, count: u64| {
        bytes.checked_div(count).map_or("none".to_string(), |mean| format!("{} bytes", grouped(mean)))
    };
    let mut rows = [
        ["requests of all ranks".into(), grouped(traffic.requests), mean(bytes, traffic.requests)],
        [
            "messages of lists".into(),
            grouped(traffic.metadata_messages),
            mean(traffic.metadata_bytes, traffic.metadata_messages),
        ],
        ["messages of data".into(), grouped(traffic.data_messages), mean(traffic.data_bytes, traffic.data_messages)],
    ]
    .into_iter()
    .map(Vec::from)
    .collect::<Vec<_>>();
    let mut fan_in = BTreeMap::<u32, u64>::new();
    for (ranks, windows) in diaries.iter().flat_map(|diary| &diary.fan_in) {
        *fan_in.entry(*ranks).or_default() += windows;
    }
    rows.extend(fan_in.iter().map(|(ranks, windows)| {
        vec![format!("windows with data of {}", counted(u64::from(*ranks), "rank")), grouped(*windows), String::new()]
    }));
    let note = "The fan-in of a window is the number of ranks that have data for it, the aggregator included. Where ranks share \
                memory, or write their own pieces, there are no messages.";
    Some(table("Fan-in and message sizes", &["what", "how many", "mean size"], 1..3, &rows) + &paragraph(note))
}

/// Every hint in force, those first that somebody set.
fn in_force(report: &Report) -> Option<String> {
    let engine = report.engine.as_ref()?;
    let (set, left): (Vec<_>, Vec<_>) =
        engine.hints.iter().partition(|(key, _)| report.hint_sources.contains_key(**key));
    let defaults: BTreeMap<_, _> = Hints::default().table().into_iter().map(|row| (row.key, row.value)).collect();
    let source = |key: &str, value: &str| match report.hint_sources.get(key) {
        Some(source) => source.clone(),
        None if defaults.get(key).is_some_and(|default| default == value) => "default".to_string(),
        None => "found in the file, or chosen".to_string(),
    };
    let row = |(key, value): &(&&'static str, &String)| vec![key.to_string(), value.to_string(), source(key, value)];
    let rows = |of: &[(&&'static str, &String)]| of.iter().map(row).collect::<Vec<_>>();
    let header = ["hint", "value", "given by"];
    let mut out = paragraph(&format!(
        "Metadata {}, throttle {}; data {}, throttle {}; {} of {}, driver {}.",
        engine.kernel_meta,
        engine.throttle_meta,
        engine.kernel_data,
        engine.throttle_data,
        counted(engine.aggregators as u64, "aggregator"),
        counted(engine.ranks as u64, "rank"),
        engine.driver
    ));
    out += &match set.is_empty() {
        true => paragraph("No hint was given that is in force."),
        false => table("Hints that were given", &header, 0..0, &rows(&set)),
    };
    let title = format!("{} as the library and the file system have them", counted(left.len() as u64, "other hint"));
    Some(out + &details(&title, &table("Other hints", &header, 0..0, &rows(&left))))
}

fn ignored(report: &Report) -> String {
    let unused = report.hints_not_used.iter();
    let row = |all: &tributary::hints::Unused| {
        vec![all.key.clone(), all.value.clone(), all.source.to_string(), all.why.clone()]
    };
    let rows: Vec<_> = unused.map(row).collect();
    match rows.is_empty() {
        true => paragraph("None: every hint that was given is used."),
        false => table("Hints ignored", &["hint", "value", "given by", "why it is not used"], 0..0, &rows),
    }
}

/// How to learn the rest.
fn more(report: &Report) -> String {
    let name = std::path::Path::new(&report.file).file_name().unwrap_or_default().to_string_lossy();
    let name = escape(&name);
    let json = serde_json::to_string_pretty(report).unwrap_or_default();
    format!(
        "<p>This library has no simulator. Run the program with <code>TRIB_CAPTURE=DIR</code>. Then \
         <code>trib explain DIR/{name}.tribcap</code> shows every request, each call and who waited for whom, and \
         <code>trib advise DIR/{name}.tribcap --machine MACHINE</code> simulates which hints should help most.</p>\n{}",
        details("All figures of this page's tables as JSON", &format!("<pre>{}</pre>\n", escape(&json)))
    )
}
