//! Tests `trib-lab reproduce`.

use crate::program::{error, json, said, trib_lab};

/// Measures the quick subset of all papers. The command fails if a verdict is not the one in `lab/papers`.
#[test]
fn no_verdict_has_changed() {
    let found = json(&["reproduce", "--quick", "--json"]);
    for paper in found.as_array().unwrap() {
        let claims = paper["claims"].as_array().unwrap();
        assert!(!claims.is_empty(), "{}: no quick claim", paper["paper"]);
        for claim in claims {
            assert_eq!(claim["verdict"], claim["found_last"], "{claim}");
            assert_eq!(claim["verdict"] == "not reproduced", claim["reason"].is_string(), "{claim}");
            assert!(!claim["values"].as_array().unwrap().is_empty(), "{claim}");
        }
    }
}

#[test]
fn a_page_and_pictures_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let (page, pictures) = (directory.path().join("page.html"), directory.path().join("pictures"));
    let (page_word, pictures_word) = (page.to_str().unwrap(), pictures.to_str().unwrap());
    let text = said(&["reproduce", "locality", "--claim", "figure-7", "--html", page_word, "--figures", pictures_word]);
    assert!(text.contains("reproduced") && text.contains("claim"), "{text}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("figure-7"), "{page}");
    let pictures: Vec<_> = std::fs::read_dir(pictures).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!pictures.is_empty());
    for picture in pictures {
        let svg = std::fs::read_to_string(&picture).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{}", picture.display());
    }
}

#[test]
fn a_full_disk_loses_no_finding() {
    let output = trib_lab(&["reproduce", "main", "--claim", "equation-2", "--html", "/dev/full"]);
    let (text, line) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(!output.status.success() && text.contains("1 claim: 1 reproduced"), "{text}");
    assert!(line.lines().count() == 1 && line.contains("/dev/full: No space left on device"), "{line}");
}

#[test]
fn all_claims_are_listed() {
    let list = said(&["reproduce", "--list"]);
    for paper in ["main (SC 2020)", "equation-5", "not reproduced"] {
        assert!(list.contains(paper), "{list}");
    }
}

#[test]
fn bad_input_is_one_line() {
    for (arguments, words) in [
        (&["nobody"][..], "paper: nobody; allowed: main"),
        (&["--claim", "nothing-has-this-name"], "--claim nothing-has-this-name: no claim of these papers matches"),
        (&["--claim", "engine-5e"], "or, with --html or --figures, of a figure"),
        (&["--quick", "--html", "/no/such/place/page.html"], "no such directory"),
        (&["--quick", "--figures", "/proc/nowhere"], "figures: /proc/nowhere"),
        (&["--jobs", "0"], "--jobs"),
    ] {
        let line = error(&[&["reproduce"], arguments].concat());
        assert!(line.contains(words), "{line}");
    }
}
