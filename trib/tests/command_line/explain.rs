//! Tests `trib explain` on all captures of real programs, and on captures made here whose times are known.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tributary::engine::capture::{Asked, Call, CallOutcome, Header, LeftCalls, NotCaptured, write};
use tributary::engine::{CallReport, Capture, Direction, Path as BytesPath, Seconds};
use tributary::hints::Unused;
use tributary::{BufferLayout, Extent, Extents};

use crate::capture::{corpus, fails, succeeds};

fn json(command: &[&str]) -> Value {
    serde_json::from_str(&succeeds(command)).unwrap()
}

fn sum(rows: &Value, of: &str, times: Option<&str>) -> u64 {
    let count = |row: &Value| times.map_or(1, |times| row[times].as_u64().unwrap());
    rows.as_array().unwrap().iter().map(|row| row[of].as_u64().unwrap() * count(row)).sum()
}

/// HTML elements without an end tag.
const VOID: [&str; 2] = ["meta", "br"];

/// Checks that every element ends where it must, and that the page needs no other file.
fn assert_is_whole_page(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>"));
    let mut open = Vec::new();
    let body = page.replacen("<!DOCTYPE html>", "", 1);
    for piece in body.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').unwrap_or_else(|| panic!("a tag does not end: {piece}"));
        let name = tag.split([' ', '/']).find(|word| !word.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{piece}");
        } else if !VOID.contains(&name) && !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?} do not end");
    for other in ["<script", "http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(other), "the page has {other}");
    }
    for (at, link) in page.match_indices("href=\"#").map(|(at, _)| (at, &page[at + 7..])) {
        let anchor = link.split('"').next().unwrap();
        assert_eq!(page.matches(&format!("id=\"{anchor}\"")).count(), 1, "link at {at} to {anchor}");
    }
    for bad in ["NaN", "inf\"", "inf "] {
        assert!(!page.contains(bad), "the page has {bad}");
    }
}

/// That the page's style has every class that its drawings have.
fn assert_has_colours(page: &str) {
    let (style, body) = page.split_once("</style>").unwrap();
    for class in ["write", "read", "wait", "exchange", "file", "cell", "bar", "bars", "key", "legend"] {
        let is_used = body.contains(&format!("class=\"{class}\"")) || body.contains(&format!("class=\"key {class}\""));
        assert!(!is_used || style.contains(&format!(".{class} {{")), "no style of {class}");
    }
}

#[test]
fn figures_agree_with_capture_info() {
    for capture in corpus() {
        let capture = capture.to_str().unwrap();
        let (info, explained) = (json(&["capture", "info", capture, "--json"]), json(&["explain", capture, "--json"]));
        assert_eq!(explained["calls"].as_array().unwrap().len() as u64, info["calls"].as_u64().unwrap(), "{capture}");
        for of in ["requests", "bytes", "memory_pieces"] {
            let expected = sum(&info["rows"], of, Some("count"));
            for rows in ["directions", "calls"] {
                assert_eq!(sum(&explained[rows], of, None), expected, "{capture}: {of} of {rows}");
            }
            assert_eq!(sum(&explained["kinds"], of, Some("count")), expected, "{capture}: {of} of kinds");
        }
        for of in ["requests", "bytes"] {
            assert_eq!(sum(&explained["by_rank"], of, None), sum(&info["rows"], of, Some("count")), "{capture}: {of}");
            for way in explained["directions"].as_array().unwrap() {
                assert_eq!(sum(&way["sizes"]["histogram"], of, None), way[of].as_u64().unwrap(), "{capture}: {of}");
            }
        }
        let ranks = info["header"]["ranks"].as_u64().unwrap();
        assert_eq!(explained["by_rank"].as_array().unwrap().len() as u64, ranks, "{capture}");
        assert_eq!(sum(&explained["by_rank"], "last_to", None), info["calls"].as_u64().unwrap(), "{capture}");
        // A row of `info` has consecutive calls; a kind has all that are alike.
        let kinds = explained["kinds"].as_array().unwrap();
        let of_a_row = |row: &Value| {
            ["direction", "requests", "bytes", "memory_pieces", "path", "why"].map(|of| row[of].to_string())
        };
        let rows: BTreeSet<_> = info["rows"].as_array().unwrap().iter().map(of_a_row).collect();
        let found: BTreeSet<_> = kinds.iter().map(of_a_row).collect();
        assert_eq!(found, rows, "{capture}");
        let calls = kinds.iter().flat_map(|kind| kind["ranges"].as_array().unwrap());
        let calls: u64 = calls.map(|range| range[1].as_u64().unwrap() - range[0].as_u64().unwrap() + 1).sum();
        assert_eq!(calls, info["calls"].as_u64().unwrap(), "{capture}");
    }
}

/// Checks that aggregators receive what ranks send.
#[test]
fn planned_windows_hold_the_bytes_of_their_call() {
    for capture in corpus() {
        let capture = capture.to_str().unwrap();
        let explained = json(&["explain", capture, "--json"]);
        assert_eq!(explained["not_planned"], Value::Null, "{capture}");
        let planned = explained["planned"].as_array().unwrap();
        assert!(!planned.is_empty(), "{capture}");
        for plan in planned {
            let call = &explained["calls"][plan["call"].as_u64().unwrap() as usize];
            assert_eq!(sum(&plan["windows"], "bytes", None), call["bytes"].as_u64().unwrap(), "{capture}: {plan}");
            for window in plan["windows"].as_array().unwrap() {
                let [senders, bytes, least, most] =
                    ["senders", "bytes", "least", "most"].map(|of| window[of].as_u64().unwrap());
                assert!(
                    senders * least <= bytes && bytes <= senders * most && senders <= call["ranks"].as_u64().unwrap()
                );
            }
        }
    }
}

#[test]
fn every_capture_is_explained_in_words_and_as_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("page.html");
    for capture in corpus() {
        let capture = capture.to_str().unwrap();
        let text = succeeds(&["explain", capture]);
        for words in ["collective call", "What would be faster", "Requests by length", "Time by phase"] {
            assert!(text.contains(words), "{capture}: no {words:?} in {text}");
        }
        let explained = json(&["explain", capture, "--json"]);
        // The answer comes first.
        let verdict = explained["verdict"].as_str().unwrap();
        assert!(text.starts_with(verdict) && verdict.contains("MiB/s"), "{capture}: {verdict}");
        let is_done = explained["advice"].as_array().unwrap().is_empty();
        assert_eq!((text.contains("\nNothing.\n"), verdict.ends_with("Nothing to do.")), (is_done, is_done), "{text}");
        // Messages are told of calls that sent some; phases are times, not parts of a whole; times have no noughts behind them.
        let exchanged = explained["calls"].as_array().unwrap().iter().any(|call| call["report"]["path"] == "exchange");
        assert!(exchanged || !text.contains("Fan-in"), "{capture}: {text}");
        assert!(!text.contains("of the total") && !text.contains(".000 ms"), "{capture}: {text}");
        let said = succeeds(&["explain", capture, "--html", page.to_str().unwrap()]);
        assert!(said.contains("page.html"), "{said}");
        let page = std::fs::read_to_string(&page).unwrap();
        assert_is_whole_page(&page);
        assert!(page.contains("class=\"verdict\"") && page.contains("class=\"chart\""), "{capture}");
        assert!(page.contains("class=\"bars\""), "{capture}");
        assert_has_colours(&page);
        for sentence in explained["summary"].as_array().unwrap() {
            let sentence = sentence.as_str().unwrap();
            assert!(text.contains(sentence), "{capture}: {sentence}");
            let escaped =
                sentence.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
            assert!(page.contains(&escaped), "{capture}: {sentence}");
        }
    }
}

/// Writes a capture of four ranks on two nodes. Each rank writes 64 KiB in pieces of 16 bytes in every call; a call
/// takes 1 ms, and ranks start it 5 ms after the one before. `start` returns another start time of a rank and call in
/// microseconds, if any.
fn made(path: &Path, calls: u64, start: impl Fn(usize, u64) -> Option<u64>) {
    let real = Capture::open(&corpus()[0]).unwrap().header().clone();
    let (file, program) = ("a <file> & \"more\"".to_string(), "./program".to_string());
    let (nodes, driver) = (vec![(0, 2), (1, 2)], "posix".to_string());
    let (aggregators, asked) = (vec![0, 2], None);
    let header = Header { file, program, ranks: 4, nodes, driver, aggregators, asked, seconds: 1.0, ..real };
    let outcome =
        |call| CallOutcome { call, direction: "write".to_string(), report: Some(CallReport::default()), error: None };
    let outcomes: Vec<CallOutcome> = (0..calls).map(outcome).collect();
    let mut of_rank = |rank: usize| {
        let piece = |call: u64, index: u64| Extent { offset: (call * 4096 + index) * 64 + rank as u64 * 16, len: 16 };
        let one = |call: u64| {
            let usual = call * 6000;
            let last = (0..4).filter_map(|rank| start(rank, call)).max().unwrap_or(usual).max(usual);
            let start = start(rank, call).unwrap_or(usual);
            let [start, took] = [start, last + 1000 - start].map(Duration::from_micros);
            let file = Extents::from_list((0..4096).map(|index| piece(call, index)))?;
            let (direction, memory) = (Direction::Write, BufferLayout::Contiguous);
            Ok(Call { direction, failed: false, file, memory, start, took })
        };
        (0..calls).map(one).collect()
    };
    write(path, &header, &outcomes, &mut of_rank).unwrap();
}

fn advice(explained: &Value, about: &str) -> Vec<Value> {
    explained["advice"].as_array().unwrap().iter().filter(|advice| advice["about"] == about).cloned().collect()
}

#[test]
fn a_rank_that_comes_late_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("late.tribcap");
    // Rank 2 comes 30 ms after the others, and after the call before.
    made(&path, 4, |rank, call| (call == 3 && rank == 2).then_some(18_000 + 30_000));
    let explained = json(&["explain", path.to_str().unwrap(), "--json"]);
    let late = advice(&explained, "late_rank");
    assert_eq!(late.len(), 1, "{late:?}");
    assert_eq!(late[0]["call"], 3);
    let says = late[0]["says"].as_str().unwrap();
    assert!(says.contains("rank 2 alone came 30 ms late") && says.contains("load imbalance, not I/O"), "{says}");
    let call = &explained["calls"][3];
    assert_eq!(call["last_rank"], 2);
    assert!((call["waited"].as_f64().unwrap() - 0.030).abs() < 1e-9, "{call}");
    let rank = &explained["by_rank"][2];
    assert!((rank["kept_waiting"].as_f64().unwrap() - 0.030).abs() < 1e-9 && rank["waited"] == 0.0, "{rank}");
    let text = succeeds(&["explain", path.to_str().unwrap()]);
    assert!(text.contains("rank 2 kept the others waiting the most"), "{text}");
}

#[test]
fn a_rank_that_left_late_is_no_imbalance() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("left.tribcap");
    made(&path, 2, |_, _| None);
    let even = json(&["explain", path.to_str().unwrap(), "--json"]);
    assert!(advice(&even, "late_rank").is_empty(), "{even}");
    // Rank 1 is held in call 0 by 20 ms and goes on at once.
    let capture = Capture::open(&path).unwrap();
    let held = directory.path().join("held.tribcap");
    let mut calls = |rank: usize| {
        let mut calls = capture.rank(rank)?;
        if rank == 1 {
            calls[0].took += Duration::from_millis(20);
            calls[1].start = calls[0].start + calls[0].took + Duration::from_millis(5);
        }
        calls[1].took = Duration::from_millis(27) - calls[1].start;
        Ok(calls)
    };
    write(&held, capture.header(), &capture.outcomes().unwrap(), &mut calls).unwrap();
    let late = advice(&json(&["explain", held.to_str().unwrap(), "--json"]), "late_rank");
    assert!(late[0]["says"].as_str().unwrap().contains("because it had left call 0 late"), "{late:?}");
}

/// Checks the fan-in: two nodes have two aggregators; each takes half of the file, and all ranks have bytes everywhere.
#[test]
fn fan_in_is_that_of_the_extents() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan.tribcap");
    made(&path, 1, |_, _| None);
    let explained = json(&["explain", path.to_str().unwrap(), "--json"]);
    let plan = &explained["planned"][0];
    assert_eq!(plan["aggregators"], serde_json::json!([0, 2]));
    assert_eq!(plan["fan_in"], serde_json::json!({ "min": 4, "median": 4, "max": 4 }));
    let sizes = &explained["directions"][0]["sizes"];
    assert_eq!((&sizes["min"], &sizes["median"], &sizes["max"]), (&16.into(), &16.into(), &16.into()));
    for window in plan["windows"].as_array().unwrap() {
        assert_eq!((&window["bytes"], &window["least"]), (&(128 << 10).into(), &(32 << 10).into()), "{window}");
    }
}

#[test]
fn hints_that_are_not_their_defaults_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("a.tribcap"), directory.path().join("b.tribcap"));
    made(&path, 1, |_, _| None);
    let capture = Capture::open(&path).unwrap();
    let mut header = capture.header().clone();
    for (key, value) in [("cb_nodes", "1"), ("trib_of_tomorrow", "yes"), ("romio_cb_write", "perhaps")] {
        header.hints.insert(key.to_string(), value.to_string());
    }
    write(&other, &header, &capture.outcomes().unwrap(), &mut |rank| capture.rank(rank)).unwrap();
    let explained = json(&["explain", other.to_str().unwrap(), "--json"]);
    let named: Vec<_> = explained["hints"].as_array().unwrap().iter().map(|hint| hint["key"].clone()).collect();
    // The capture of `made` was recorded when two windows were the default.
    assert_eq!(named, ["cb_nodes", "trib_write_buffers"]);
    assert_eq!(explained["planned"][0]["aggregators"], serde_json::json!([0]));
    let unknown = serde_json::json!([["romio_cb_write", "perhaps"], ["trib_of_tomorrow", "yes"]]);
    assert_eq!(explained["hints_unknown"], unknown);
    // A driver that does not exist is reported; the rest of the account is there.
    header.driver = "tape".to_string();
    write(&other, &header, &capture.outcomes().unwrap(), &mut |rank| capture.rank(rank)).unwrap();
    assert!(
        succeeds(&["explain", other.to_str().unwrap()]).contains("Fan-in is not known: driver of the capture: tape")
    );
}

#[test]
fn hints_have_their_sources_and_ignored_ones_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("a.tribcap"), directory.path().join("b.tribcap"));
    let page = directory.path().join("page.html");
    made(&path, 1, |_, _| None);
    let capture = Capture::open(&path).unwrap();
    assert!(succeeds(&["explain", path.to_str().unwrap()]).contains("does not say which hints were given"));
    let mut header = capture.header().clone();
    header.hints.insert("cb_nodes".to_string(), "1".to_string());
    let (key, value, why) = ("colour".to_string(), "<blue>".to_string(), "unknown key".to_string());
    let unused = vec![Unused { key, value, source: "MPI_Info of MPI_File_open".into(), why }];
    let sources = [("cb_nodes".to_string(), "TRIB_HINTS_FILE=hints, line 2".to_string())].into();
    header.asked = Some(Asked { sources, unused });
    write(&other, &header, &capture.outcomes().unwrap(), &mut |rank| capture.rank(rank)).unwrap();
    assert_eq!(Capture::open(&other).unwrap().header(), &header);
    let other = other.to_str().unwrap();
    let explained = json(&["explain", other, "--json"]);
    assert_eq!(explained["hints"][0]["source"], "TRIB_HINTS_FILE=hints, line 2");
    assert_eq!(explained["hints_unused"][0]["why"], "unknown key");
    let text = succeeds(&["explain", other]);
    assert!(text.contains("TRIB_HINTS_FILE=hints, line 2") && text.contains("MPI_Info of MPI_File_open"), "{text}");
    succeeds(&["explain", other, "--html", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(&page).unwrap();
    assert_is_whole_page(&page);
    assert!(page.contains("&lt;blue&gt;") && page.contains("unknown key"), "{page}");
}

/// The calls of `made` are as fast as they can be. Only calls that are not in the capture took longer.
#[test]
fn calls_that_are_not_captured_are_advised_on() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("a.tribcap"), directory.path().join("b.tribcap"));
    made(&path, 1, |_, _| None);
    let capture = Capture::open(&path).unwrap();
    let others = [("set_view", 0.5), ("open", 0.25)].map(|(name, seconds)| (name.to_string(), seconds)).into();
    let left = LeftCalls { function: "write_all".to_string(), why: "atomic mode".to_string(), calls: 3 };
    let text = |not_captured| {
        let header = Header { not_captured: Some(not_captured), ..capture.header().clone() };
        write(&other, &header, &capture.outcomes().unwrap(), &mut |rank| capture.rank(rank)).unwrap();
        succeeds(&["explain", other.to_str().unwrap()])
    };
    let said = text(NotCaptured { others, ..NotCaptured::default() });
    for part in [
        "To do: Rank 0 was longer in functions that neither read nor write, 750 ms",
        "set_view 500 ms, open 250 ms. Set a view once",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let said = text(NotCaptured { left: vec![left], ..NotCaptured::default() });
    assert!(said.contains("MPI ran 3 collective calls of write_all: atomic mode."), "{said}");
    assert!(!said.contains("Nothing"), "{said}");
}

/// A hint that costs time is named with the time that the calls would take without it; a hint that nobody set is not.
#[test]
fn hints_that_cost_are_named_with_the_time_without_them() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("a.tribcap"), directory.path().join("b.tribcap"));
    made(&path, 8, |_, _| None);
    let capture = Capture::open(&path).unwrap();
    let explained = |(key, value): (&str, &str), is_set: bool, report: CallReport| {
        let mut header = capture.header().clone();
        header.hints.insert(key.to_string(), value.to_string());
        let sources = [(key.to_string(), "TRIB_HINTS".to_string())];
        header.asked = is_set.then(|| Asked { sources: sources.into(), unused: Vec::new() });
        let mut outcomes = capture.outcomes().unwrap();
        outcomes.iter_mut().for_each(|outcome| outcome.report = Some(report.clone()));
        write(&other, &header, &outcomes, &mut |rank| capture.rank(rank)).unwrap();
        advice(&json(&["explain", other.to_str().unwrap(), "--json"]), "costly_hint")
    };
    let took = |path, total| {
        let seconds = Seconds { data: total, total, ..Seconds::default() };
        CallReport { path, seconds, rounds: 1024, aggregators: 1, bytes: 1 << 18, ..CallReport::default() }
    };
    let cases = [
        (("trib_shared_memory", "disable"), BytesPath::Exchange, "ranks of one host send each other messages"),
        (("cb_buffer_size", "4096"), BytesPath::Windows, "a call takes up to 1,024 rounds"),
        (("cb_nodes", "1"), BytesPath::Exchange, "fewer hosts than there are exchange the data"),
        (("romio_cb_write", "disable"), BytesPath::Direct, "each piece is a call on the file of its own"),
    ];
    for ((key, value), path, how) in cases {
        let [costs] = &explained((key, value), true, took(path, 0.5))[..] else { panic!("{key}") };
        let says = costs["says"].as_str().unwrap();
        assert!(
            says.starts_with(&format!("{key}={value} of TRIB_HINTS costs: {how}. Without it 8 calls would")),
            "{says}"
        );
        assert!(says.ends_with("instead of 4 s (an estimate)."), "{says}");
        for none in [explained((key, value), true, took(path, 1e-5)), explained((key, value), false, took(path, 0.5))] {
            assert!(none.is_empty(), "{key}: {none:?}");
        }
    }
}

#[test]
fn names_are_words_of_the_page_and_no_markup() {
    let directory = tempfile::tempdir().unwrap();
    let (path, page) = (directory.path().join("a.tribcap"), directory.path().join("a.html"));
    for calls in [0, 1, 300] {
        made(&path, calls, |_, _| None);
        succeeds(&["explain", path.to_str().unwrap(), "--html", page.to_str().unwrap()]);
        let page = std::fs::read_to_string(&page).unwrap();
        assert_is_whole_page(&page);
        assert!(page.contains("a &lt;file&gt; &amp;"), "{page}");
        succeeds(&["explain", path.to_str().unwrap()]);
        let mut narrow = Command::new(env!("CARGO_BIN_EXE_trib"));
        let narrow = narrow.args(["explain", path.to_str().unwrap()]).env("COLUMNS", "80").output().unwrap();
        let text = String::from_utf8(narrow.stdout).unwrap();
        let sentences = text.split("Requests by length").next().unwrap();
        assert!(sentences.lines().all(|line| line.chars().count() <= 80), "{sentences}");
    }
}

#[test]
fn bad_input_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_string();
    let whole = std::fs::read(&corpus()[0]).unwrap();
    let (mut version, mut damaged) = (whole.clone(), whole.clone());
    version[8] = 7;
    *damaged.last_mut().unwrap() ^= 1;
    for (name, bytes, words) in [
        ("cut", &whole[..whole.len() / 2], "cut: "),
        ("version", &version[..], "version 7"),
        ("damaged", &damaged[..], "another checksum"),
        ("other", &b"not at all, but long enough to be one"[..], "does not begin as a capture does"),
        ("empty", &b""[..], "0 bytes"),
    ] {
        std::fs::write(path(name), bytes).unwrap();
        fails(&["explain", &path(name)], words);
        fails(&["explain", &path(name), "--html", &path("page.html")], words);
        assert!(!Path::new(&path("page.html")).exists());
    }
    let one = corpus()[0].to_str().unwrap().to_string();
    fails(&["explain", &path("nowhere")], "nowhere");
    fails(&["explain", &one, "--html", &path("no/such/page.html")], "page.html");
    fails(&["explain", &one, "--json", "--html", &path("page.html")], "--json");
}

/// Checks the data that ranks record while their calls are captured: seconds in each phase, and the number of ranks
/// with data for each window.
#[test]
fn phases_of_every_rank_and_measured_fan_in_are_shown() {
    let directory = tempfile::tempdir().unwrap();
    let mut replay = Command::new(env!("CARGO_BIN_EXE_trib"));
    replay.env("TRIB_CAPTURE", directory.path()).args(["replay", "btio", "--grid", "32", "--ranks", "4"]);
    replay.args(["--hint", "cb_nodes=2;trib_tiny_call=0;romio_cb_write=enable"]);
    let output = replay.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let capture = std::fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
    let (capture, page) = (capture.to_str().unwrap(), directory.path().join("page.html"));
    let explained = json(&["explain", capture, "--json"]);
    let owners = explained["owners"].as_array().unwrap();
    assert!(owners.len() == 2 && owners.iter().all(|owner| owner["fan_in"]["max"] == 4), "{owners:?}");
    let ranks = explained["by_rank"].as_array().unwrap();
    assert!(ranks.iter().all(|rank| rank["seconds"]["total"].as_f64().unwrap() > 0.0), "{ranks:?}");
    let text = succeeds(&["explain", capture]);
    for words in ["The rank that worked longest inside calls is ", "ranks with data for one"] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    succeeds(&["explain", capture, "--html", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(&page).unwrap();
    assert_is_whole_page(&page);
    assert!(page.contains("Phases of ranks"), "{page}");
}

/// Explains a folder with two captures as one job. The second has twice the calls of the first, and its ranks come
/// late.
#[test]
fn a_folder_is_one_job() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let name = |name: &str| folder.path().join(name);
    fails(&["explain", at], "no capture; allowed: a folder with files NAME.tribcap");
    made(&name("a.nc.tribcap"), 4, |_, _| None);
    made(&name("b.nc.tribcap"), 8, |rank, call| (rank == 3).then_some(call * 6000 + 4000));
    std::fs::write(name("c.nc.tribcap.unfinished"), "").unwrap();
    std::fs::write(name("notes"), "").unwrap();

    let job = json(&["explain", at, "--json"]);
    let files = job["files"].as_array().unwrap();
    assert_eq!((&files[0]["name"], &files[1]["name"]), (&"b.nc".into(), &"a.nc".into()), "the slowest first");
    assert_eq!((&files[0]["calls"], &files[1]["calls"], &job["unfinished"]), (&8.into(), &4.into(), &1.into()));
    // Each call takes 1 ms from when all have come; three of four ranks wait 4 ms in every one of b's.
    let seconds = |of: &Value, key: &str| of[key].as_f64().unwrap();
    for (found, due) in [
        (seconds(&files[1], "in_calls"), 4e-3),
        (seconds(&files[0], "in_calls"), 8.0 * (3.0 * 5e-3 + 1e-3) / 4.0),
        (seconds(&files[0], "waited"), 8.0 * 3.0 * 4e-3 / 4.0),
        (seconds(&job, "in_calls"), 4e-3 + 8.0 * 4e-3),
        (seconds(&job, "seconds"), 1.0),
        (seconds(&job["calls"][0], "took"), 5e-3),
    ] {
        assert!((found - due).abs() < 1e-6, "{found}, not {due}: {job}");
    }
    let one = json(&["explain", name("b.nc.tribcap").to_str().unwrap(), "--json"]);
    assert_eq!(files[0]["advice"][0], one["advice"][0]["says"]);
    assert_eq!(files[0]["written"], one["directions"][0]["bytes"]);
    assert_eq!(job["calls"].as_array().unwrap().len(), 12);
    let next = job["next"].as_str().unwrap();
    assert!(next.starts_with("b.nc: ") && next.ends_with(&format!("trib explain {at}/b.nc.tribcap")), "{next}");

    let text = succeeds(&["explain", at]);
    let page = folder.path().join("page.html");
    assert!(
        succeeds(&["explain", at, "--html", page.to_str().unwrap()])
            .contains("page.html: 1 file (opened 2 times in all)")
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert_is_whole_page(&page);
    for sentence in job["summary"].as_array().unwrap() {
        assert!(text.contains(sentence.as_str().unwrap()) && page.contains(sentence.as_str().unwrap()), "{sentence}");
    }
    for words in ["1 capture more: the program ended before", "MPI", "2026-", "UTC"] {
        assert!(text.contains(words) && page.contains(words), "{words}: {text}");
    }

    std::fs::write(name("d.nc.tribcap"), "damaged").unwrap();
    fails(&["explain", at], "d.nc.tribcap");
}

/// Writes a capture of a run whose processes started at `started`, in seconds since 1970; its file was open for a second after that.
fn of_run(path: &Path, started: f64) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    made(path, 1, |_, _| None);
    let capture = Capture::open(path).unwrap();
    let (outcomes, calls) = (capture.outcomes().unwrap(), (0..4).map(|rank| capture.rank(rank).unwrap()));
    let (calls, header) = (calls.collect::<Vec<_>>(), capture.header().clone());
    let header = Header { started: Some(started), opened: started + 0.5, ..header };
    write(path, &header, &outcomes, &mut |rank| Ok(calls[rank].clone())).unwrap();
}

/// Runs have folders of their own, or share one: each is a job, and the newest is explained.
#[test]
fn the_newest_of_several_runs_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let name = |name: &str| folder.path().join(name);
    of_run(&name("flat.tribcap"), 1000.0);
    of_run(&name("flat.2.tribcap"), 1000.1);
    let job = json(&["explain", at, "--json"]);
    assert_eq!((&job["earlier_runs"], job["files"].as_array().unwrap().len()), (&0.into(), 2), "{job}");
    of_run(&name("program-1/z.tribcap"), 3000.0);
    of_run(&name("program-2/a.tribcap"), 2000.0);
    of_run(&name("flat.3.tribcap"), 2500.0);
    let job = json(&["explain", at, "--json"]);
    assert_eq!((&job["earlier_runs"], &job["files"][0]["name"]), (&3.into(), &"z".into()), "{job}");
    let text = succeeds(&["explain", at]);
    let due =
        format!("{at} has captures of 4 runs. This is the newest, of 1970-01-01 00:50:00 UTC, in {at}/program-1.");
    assert!(text.contains(&due), "{text}");
    let other = json(&["explain", name("program-2").to_str().unwrap(), "--json"]);
    assert_eq!((&other["earlier_runs"], &other["files"][0]["name"]), (&0.into(), &"a".into()), "{other}");
}
