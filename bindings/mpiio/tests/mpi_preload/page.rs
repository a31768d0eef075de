//! `TRIB_REPORT=html`: the page that a file leaves, under both paths of the engine, and where it cannot be.

use std::process::Command;

use crate::common::launch::{Launch, Outcome};
use crate::common::programs::compile;

const RANKS: usize = 3;
/// Files are written by collective calls that exchange, as between several hosts.
const EXCHANGE: &str = "trib_shared_memory=disable; trib_tiny_call=0; cb_nodes=2";
const PAGE: &str = "out.nc.tributary.html";

fn launch() -> Launch {
    Launch::new(RANKS, &compile("hints.c")).with_library().env("TRIB_REPORT", "html")
}

/// The text of the elements of a page, by Python's parser of XML, which ends at what is not well-formed. Each anchor that is
/// linked is there, and the page needs nothing else.
fn words(page: &str) -> String {
    const READER: &str = "
import sys, xml.etree.ElementTree as tree
page = sys.stdin.read()
root = tree.fromstring(page)
ids = [element.get('id') for element in root.iter() if element.get('id')]
assert len(ids) == len(set(ids)), ids
for element in root.iter():
    assert element.tag not in ('script', 'link', 'img', 'iframe'), element.tag
    target = element.get('href', '#' + ids[0])
    assert target[0] == '#' and target[1:] in ids, target
assert 'url(' not in page and '@import' not in page and '://' not in page
print(' '.join(' '.join(root.itertext()).split()))
";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("page.html");
    std::fs::write(&path, page).unwrap();
    let output =
        Command::new("python3").args(["-c", READER]).stdin(std::fs::File::open(&path).unwrap()).output().unwrap();
    assert!(output.status.success(), "{}\n{page}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn page_of(outcome: &Outcome) -> String {
    assert_eq!(outcome.stdout.matches("SUCCESS").count(), 2 * RANKS, "{}", outcome.stdout);
    String::from_utf8(outcome.files.get(PAGE).unwrap_or_else(|| panic!("no page: {}", outcome.stderr)).clone()).unwrap()
}

#[test]
fn a_page_has_what_the_library_knows() {
    for (hints, has) in [
        (EXCHANGE, &["Slowest aggregator: rank", "The rounds of call", "windows with data of"][..]),
        ("trib_direct_min=1M; cb_nodes=2", &["no call exchanged data by messages", "shared: "][..]),
    ] {
        let outcome = launch().hints(hints).run();
        assert!(outcome.stderr.contains(&format!("report in ./{PAGE}")), "{}", outcome.stderr);
        let words = words(&page_of(&outcome));
        let all = [
            "3 ranks on",
            "write_at_all",
            "No call was passed through",
            "rank 2",
            "Hints ignored",
            "unknown key",
            "TRIB_CAPTURE=DIR",
        ];
        for has in all.iter().chain(has) {
            assert!(words.contains(has), "{hints}: no {has:?} in {words}");
        }
        assert!(words.contains("cb_nodes 2 TRIB_HINTS"), "{hints}: {words}");
    }
}

/// No file is lost: a page has a number where its name is taken.
#[test]
fn a_name_that_is_taken_stays() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("pages/of a run");
    let program = launch().env("TRIB_REPORT_DIR", pages.display().to_string());
    let outcome = program.run();
    assert!(!outcome.files.contains_key(PAGE));
    std::fs::write(pages.join(PAGE), "mine").unwrap();
    program.run();
    assert_eq!(std::fs::read(pages.join(PAGE)).unwrap(), b"mine");
    words(&std::fs::read_to_string(pages.join("out.nc.2.tributary.html")).unwrap());
}

/// The program is as it was where the page cannot be stored; one line says why.
#[test]
fn a_page_that_cannot_be_stored_is_one_line() {
    let taken = tempfile::NamedTempFile::new().unwrap();
    let outcome = launch().env("TRIB_REPORT_DIR", taken.path().display().to_string()).run();
    let line = format!("no report: {}", taken.path().display());
    assert_eq!(outcome.stderr.matches(&line).count(), 1, "{}", outcome.stderr);
    assert_eq!(outcome.stdout.matches("SUCCESS").count(), 2 * RANKS, "{}", outcome.stdout);
}

/// One rank is not asked for a page: there is one, without what only ranks know that keep a diary.
#[test]
fn ranks_that_differ_do_not_wait_for_each_other() {
    let words = words(&page_of(&launch().hints(EXCHANGE).arg("1:TRIB_REPORT=json").run()));
    assert!(words.contains("3 ranks on") && !words.contains("Slowest"), "{words}");
}

/// The name of the file is text of the page, whatever is in it.
#[test]
fn a_name_is_text_of_the_page() {
    let name = "a <b> & 'c' \"d\"\u{1}.nc";
    let outcome =
        Launch::new(RANKS, &compile("abi.c")).with_library().env("TRIB_REPORT", "html").hints(EXCHANGE).arg(name).run();
    let page = outcome.files.get(&format!("{name}.tributary.html")).unwrap_or_else(|| panic!("{}", outcome.stderr));
    let words = words(std::str::from_utf8(page).unwrap());
    assert!(words.contains("a <b> & 'c' \"d\"\u{fffd}.nc"), "{words}");
    assert!(words.contains("read_at_all") && words.contains("Every hint that was given is used."), "{words}");
}
