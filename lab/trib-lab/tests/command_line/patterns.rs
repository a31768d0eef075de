//! Tests that every pattern is described, drawn, and written as lists.

use std::process::Command;

use serde_json::Value;
use tributary_testing::small;

use crate::program::{error, trib, trib_lab};

/// Returns the JSON that `trib replay` prints for a pattern.
fn replayed(pattern: &[String], more: &[&str]) -> Value {
    let mut command = Command::new(trib());
    command.env_remove("TRIB_HINTS").env_remove("TRIB_HINTS_FILE").arg("replay").args(pattern).args(more);
    let output = command.arg("--json").output().unwrap();
    assert!(output.status.success(), "{pattern:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn patterns_are_listed_with_their_parameters_and_numbers() {
    let text = |arguments: &[&str]| String::from_utf8(trib_lab(arguments).stdout).unwrap();
    let listed = text(&["patterns"]);
    let all: Value = serde_json::from_str(&text(&["patterns", "--json"])).unwrap();
    let names: Vec<_> = all.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["e3sm-f", "e3sm-g", "e3sm-i", "flash", "btio", "wrf", "ior", "s3d", "block4d", "list", "capture"]
    );
    for row in all.as_array().unwrap() {
        assert!(listed.contains(row["name"].as_str().unwrap()));
        assert!(
            row["closed_form"]["requests"].is_string() && !row["parameters"].as_array().unwrap().is_empty(),
            "{row}"
        );
    }
    let blocks = all[3]["parameters"].as_array().unwrap().iter().find(|p| p["option"] == "--blocks").unwrap();
    assert_eq!((&blocks["default"], &blocks["value"]), (&"80".into(), &"N".into()));

    // The numbers are those of the pattern with the parameters that are given: 24 + 6 pieces a rank.
    let flash = text(&["patterns", "flash", "--ranks", "1024", "--even", "--json"]);
    let flash: Value = serde_json::from_str(&flash).unwrap();
    for division in ["lustre", "gpfs"] {
        assert_eq!(flash["numbers"]["closed_form"][division]["requests"], 30 * 1024);
    }
    // Without required parameters, only the description is printed; a wrong parameter is an error.
    let wrf: Value = serde_json::from_str(&text(&["patterns", "wrf", "--json"])).unwrap();
    assert_eq!(wrf["numbers"], Value::Null);
    assert!(text(&["patterns", "list"]).contains("--lists FILE is missing"));
    assert!(error(&["patterns", "btio", "--ranks", "7"]).contains("square"));
}

#[test]
fn a_picture_is_svg() {
    let directory = tempfile::tempdir().unwrap();
    for pattern in small::patterns(directory.path()) {
        let file = directory.path().join("picture.svg").display().to_string();
        let words = pattern.iter().map(String::as_str);
        let drawn: Vec<_> = ["picture"].into_iter().chain(words).chain(["--ranks", "4", "--output", &file]).collect();
        let output = trib_lab(&drawn);
        assert!(output.status.success(), "{drawn:?}: {}", String::from_utf8_lossy(&output.stderr));
        let svg = std::fs::read_to_string(&file).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.len() < 400_000, "{pattern:?}: {} bytes", svg.len());
        for word in [&pattern[0], "rank 0", "rank 3", "aggregators"] {
            assert!(svg.contains(word), "{pattern:?}: {word}");
        }
    }
    let large = ["picture", "ior", "-t", "8", "-b", "8", "-s", "9999999999"].map(String::from);
    assert!(error(&large).contains("collective calls: 9999999999; allowed: 16777216 or fewer"));
}

/// Checks that a picture shows cells with bytes of several ranks as such: 388,763 interleaved pieces of 16 ranks are
/// not eight blocks. By default the part is drawn in which the pieces can be seen.
#[test]
fn a_picture_shows_who_owns_what_also_of_small_pieces() {
    let lines = |words: &[&str]| -> Vec<String> {
        let drawn = String::from_utf8(trib_lab(words).stdout).unwrap();
        drawn.lines().map(str::to_string).collect()
    };
    let count = |lines: &[String], label: &str| lines.iter().filter(|line| *line == label).count();

    let whole = lines(&["picture", "e3sm-f", "--from", "0"]);
    assert!(whole.iter().any(|line| line == "The file: 1,045,504 bytes a row, 16,336 a cell"));
    assert!(whole.iter().any(|line| line.contains("hatched: bytes of several ranks in a cell, here in 7")));
    // 12 rows that 16 ranks share, the first after the header; no rank has a block of its own.
    assert_eq!(count(&whole, "16 ranks"), 12, "{whole:#?}");
    assert!((0..16).all(|rank: usize| count(&whole, &rank.to_string()) <= 1), "{whole:#?}");

    let part = lines(&["picture", "e3sm-f"]);
    assert!(part.iter().any(|line| line.starts_with("The file, bytes 99,864 to ")), "{part:#?}");
    for rank in 0..16 {
        assert!(count(&part, &rank.to_string()) > 10, "rank {rank}: {part:#?}");
    }
    // A file of whole cells is drawn whole.
    let large = lines(&["picture", "ior"]);
    assert!(large.iter().any(|line| line.starts_with("The file: ")) && !large.concat().contains("hatched"));
}

/// Draws a round of an exchange, and checks that each refused picture gives one line.
#[test]
fn a_picture_of_an_exchange() {
    let text = |words: &[&str]| String::from_utf8(trib_lab(words).stdout).unwrap();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/data/example_trace.dat");
    let drawn = text(&["picture", "wrf", "--trace", trace, "--round", "2"]);
    for word in ["Round 2 of 0 to 2", "rank 24", "fan-in", "</svg>"] {
        assert!(drawn.contains(word), "{word}");
    }
    let folded = text(&["picture", "wrf", "--trace", trace, "--ranks", "8"]);
    assert!(folded.contains("8 ranks") && folded.contains("Round 0"));
    let lists = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/data/example_lists.txt");
    assert!(text(&["picture", "list", "--lists", lists]).contains("several ranks write it"));
    let refused = [
        (format!("picture wrf --trace {trace} --round 3"), "--round: 3; allowed: 0 to 2"),
        (format!("picture wrf --trace {trace} --row 64"), "--row: wrf is an exchange"),
        ("picture wrf".to_string(), "--trace FILE is missing"),
        ("picture list".to_string(), "--lists FILE is missing"),
        ("picture btio --ranks 4 --round 0".to_string(), "--round: btio"),
    ];
    for (line, expected) in refused {
        let words: Vec<_> = line.split(' ').map(String::from).collect();
        let said = error(&words);
        assert!(said.contains(expected) && said.trim().lines().count() == 1, "{line}: {said}");
    }
}

#[test]
fn every_pattern_has_a_page_of_help() {
    for command in ["patterns", "picture"] {
        let directory = tempfile::tempdir().unwrap();
        for pattern in small::patterns(directory.path()) {
            let help = String::from_utf8(trib_lab(&[command, &pattern[0], "--help"]).stdout).unwrap();
            assert!(help.contains(&format!("Usage: trib-lab {command} {}", pattern[0])), "{help}");
            assert!(help.contains("Parameters:") && help.lines().count() < 80, "{help}");
        }
    }
}

/// Checks that `trib-lab lists` writes as many bytes and extents, in as many calls, as the pattern has.
#[test]
fn lists_of_every_pattern_hold_its_extents() {
    let directory = tempfile::tempdir().unwrap();
    for pattern in small::patterns(directory.path()) {
        let lists = tempfile::tempdir().unwrap();
        let prefix = lists.path().join("list").display().to_string();
        let ranks = ["--ranks".to_string(), small::RANKS.to_string()];
        let output =
            trib_lab(&[&["lists".to_string(), "--output".to_string(), prefix.clone()], &pattern[..], &ranks].concat());
        assert!(output.status.success(), "{pattern:?}: {}", String::from_utf8_lossy(&output.stderr));
        let all = replayed(&pattern, &["--ranks", &small::RANKS.to_string()]);
        let (mut bytes, mut extents) = (0, 0);
        for step in 0..all["calls"].as_u64().unwrap() {
            let list = format!("list --lists {prefix}.{step}.file");
            let words: Vec<String> = list.split_whitespace().map(str::to_string).collect();
            let written = replayed(&words, &[]);
            bytes += written["bytes"].as_u64().unwrap();
            extents += written["extents"].as_u64().unwrap();
        }
        assert_eq!((bytes, extents), (all["bytes"].as_u64().unwrap(), all["extents"].as_u64().unwrap()), "{pattern:?}");
        let gaps = std::path::Path::new(&format!("{prefix}.0.memory")).exists();
        assert_eq!(gaps, pattern[0] == "btio", "{pattern:?}");
    }
    let words = ["lists", "flash"].map(str::to_string);
    assert!(error(&words).contains("--output PREFIX is missing"));
}
