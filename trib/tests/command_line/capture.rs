//! Tests `trib capture`, and captures as patterns. Other tests check captures of running programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Returns the paths of the project's captures of real programs.
pub fn corpus() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("benchmarks/captures")).unwrap();
    let captures =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|it| it == "tribcap"));
    let mut captures: Vec<_> = captures.collect();
    captures.sort();
    captures
}

fn trib(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trib")).args(arguments).output().unwrap()
}

pub fn succeeds(arguments: &[&str]) -> String {
    let output = trib(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

pub fn fails(arguments: &[&str], words: &str) {
    let output = trib(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.lines().count() == 1 && said.contains(words), "{arguments:?}: {said}");
}

#[test]
fn the_corpus_has_captures_and_says_how_each_was_made() {
    let about = std::fs::read_to_string(root().join("benchmarks/captures/README.md")).unwrap();
    let captures = corpus();
    assert!(captures.len() >= 8, "{captures:?}");
    for capture in captures {
        let name = capture.file_name().unwrap().to_str().unwrap();
        assert!(about.contains(&format!("`{name}`")), "{name} is not in the README of the captures");
    }
}

#[test]
fn every_capture_is_read_and_replayed() {
    for capture in corpus() {
        let capture = capture.to_str().unwrap();
        let info: Value = serde_json::from_str(&succeeds(&["capture", "info", capture, "--json"])).unwrap();
        let rows = info["rows"].as_array().unwrap();
        let calls: u64 = rows.iter().map(|row| row["count"].as_u64().unwrap()).sum();
        assert_eq!(info["calls"], calls, "{capture}");
        assert!(succeeds(&["capture", "info", capture]).contains(" a request"), "{capture}");
        let replayed: Value =
            serde_json::from_str(&succeeds(&["replay", "capture", capture, "--verify", "--json"])).unwrap();
        assert_eq!(replayed["verified"], true, "{capture}: {replayed}");
    }
}

/// Compares captures with a Python reader that was written from the description of the format alone.
#[test]
fn the_python_reader_finds_the_same_extents() {
    let reader = root().join("packages/python/tributary_io/captures.py");
    for capture in corpus() {
        let exported = succeeds(&["capture", "export", capture.to_str().unwrap(), "--call", "0"]);
        let expected: String =
            exported.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        let output = Command::new("python3").arg(&reader).arg(&capture).args(["--call", "0"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8(output.stdout).unwrap() == expected, "{}", capture.display());
    }
}

/// A notebook shows the page of `trib explain`, if the package has the program; otherwise the name of the capture.
#[test]
fn a_notebook_shows_the_page_of_a_capture() {
    let package = tempfile::tempdir().unwrap();
    let (modules, bin) = (package.path().join("tributary_io"), package.path().join("tributary_io/root/bin"));
    let about = package.path().join("tributary_io-0.0.0.dist-info");
    std::fs::create_dir_all(&bin).and_then(|()| std::fs::create_dir(&about)).unwrap();
    std::fs::write(about.join("METADATA"), "Metadata-Version: 2.1\nName: tributary-io\nVersion: 0.0.0\n").unwrap();
    for module in ["__init__.py", "captures.py"] {
        std::fs::copy(root().join("packages/python/tributary_io").join(module), modules.join(module)).unwrap();
    }
    let capture = corpus()[0].display().to_string();
    let shown = || {
        let text = "import sys; from tributary_io import captures; print(captures.Capture(sys.argv[1])._repr_html_())";
        let mut python = Command::new("python3");
        let output = python.args(["-c", text, &capture]).env("PYTHONPATH", package.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(shown(), "None\n", "without the program");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_trib"), bin.join("trib")).unwrap();
    let page = shown();
    assert!(page.starts_with("<iframe srcdoc=\"&lt;!DOCTYPE html&gt;") && page.contains("In words"), "{page}");
}

#[test]
fn an_exported_call_is_a_list_that_can_be_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("lists.txt");
    let capture = &corpus()[0];
    succeeds(&["capture", "export", capture.to_str().unwrap(), "--output", list.to_str().unwrap()]);
    succeeds(&["replay", "list", "--lists", list.to_str().unwrap(), "--plan-only"]);
}

#[test]
fn merged_captures_have_the_calls_of_all() {
    let directory = tempfile::tempdir().unwrap();
    let all = directory.path().join("all.tribcap");
    let one = corpus()[0].to_str().unwrap().to_string();
    succeeds(&["capture", "merge", &one, &one, "--output", all.to_str().unwrap()]);
    let calls = |path: &str| -> Value {
        serde_json::from_str::<Value>(&succeeds(&["capture", "info", path, "--json"])).unwrap()["calls"].clone()
    };
    assert_eq!(calls(all.to_str().unwrap()).as_u64().unwrap(), 2 * calls(&one).as_u64().unwrap());
    let replayed = succeeds(&["replay", "capture", all.to_str().unwrap(), "--verify", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&replayed).unwrap()["verified"], true);
}

#[test]
fn bad_input_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_string();
    let whole = std::fs::read(&corpus()[0]).unwrap();
    let mut version = whole.clone();
    version[8] = 7;
    for (name, bytes, words) in [
        ("cut", &whole[..whole.len() / 2], "cut: "),
        ("version", &version[..], "version 7"),
        ("other", &b"not at all, but long enough to be one"[..], "does not begin as a capture does"),
        ("empty", &b""[..], "0 bytes"),
    ] {
        std::fs::write(path(name), bytes).unwrap();
        fails(&["capture", "info", &path(name)], words);
        fails(&["replay", "capture", &path(name)], words);
    }
    let one = corpus()[0].to_str().unwrap().to_string();
    fails(&["capture", "info", &path("nowhere")], "nowhere");
    fails(&["capture", "export", &one, "--call", "100000"], "--call 100000");
    fails(&["replay", "capture", &one, "--ranks", "3"], "ranks: 3");
    fails(&["replay", "capture"], "the capture FILE is missing");
}
