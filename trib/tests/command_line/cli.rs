//! Tests what `trib` prints, also when something is wrong.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tributary::exchange::KERNELS;
use tributary::hints::KernelHint;
use tributary_benchmarks::GeneratorOptions;
use tributary_benchmarks::e3sm::generator::Generator;
use tributary_benchmarks::e3sm::map_file::write_map;
use tributary_testing::settings::DRIVERS;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    command.env_remove("TRIB_HINTS").env_remove("TRIB_HINTS_FILE").args(arguments);
    command
}

fn trib(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs a command and returns its standard output, which must be one JSON object.
fn json(arguments: &[&str]) -> Value {
    let output = trib(arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a command that must fail with one line of error and nothing on standard output, and returns the line.
fn error(arguments: &[&str]) -> String {
    error_of(&mut command(arguments))
}

fn error_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success());
    assert_eq!(text(&output.stdout), "", "{command:?}");
    let line = text(&output.stderr);
    assert!(line.starts_with("trib: ") && line.trim_end().lines().count() == 1, "{line}");
    line
}

/// Writes a map of ranks with few bytes to a file of the directory, and returns the path.
fn written_map(directory: &Path, ranks: usize) -> String {
    let map = directory.join("map.nc");
    let options = GeneratorOptions { columns_per_rank: 6, groups: 3, seed: 0 };
    let mut file = std::fs::File::create(&map).unwrap();
    write_map(&Generator::new(ranks, options).unwrap(), &mut file).unwrap();
    map.display().to_string()
}

#[test]
fn the_main_job_verifies_and_its_json_has_every_key() {
    let all = json(&["replay", "e3sm-f", "--verify", "--json"]);
    let keys = [
        "/pattern",
        "/ranks",
        "/nodes",
        "/aggregators",
        "/requests",
        "/bytes",
        "/rounds",
        "/driver",
        "/fabric",
        "/kernel/metadata",
        "/kernel/data",
        "/throttle/metadata",
        "/throttle/data",
        "/metadata_bytes",
        "/messages/metadata",
        "/messages/data",
        "/seconds/flatten",
        "/seconds/metadata",
        "/seconds/data",
        "/seconds/placement",
        "/seconds/io",
        "/seconds/agreement",
        "/seconds/total",
        "/fan_in/min",
        "/fan_in/median",
        "/fan_in/max",
        "/verified",
        "/sha256",
    ];
    for key in keys {
        assert!(all.pointer(key).is_some_and(|value| !value.is_null()), "{key} in {all}");
    }
    assert_eq!((&all["ranks"], &all["verified"], &all["pattern"]), (&16.into(), &true.into(), &"e3sm-f".into()));
    assert_eq!(all["sha256"].as_str().unwrap().len(), 64);
}

#[test]
fn a_file_is_not_read_again_for_a_digest_that_nobody_wants() {
    let options = ["replay", "flash", "--ranks", "4", "--blocks", "1", "--no-digest"];
    let all = json(&[&options[..], &["--json"]].concat());
    assert!(all["sha256"].is_null() && all["bytes_written"].as_u64() > Some(0), "{all}");
    assert!(text(&trib(&options).stdout).contains("not computed"));
}

#[test]
fn the_table_says_what_the_json_says() {
    let table = text(&trib(&["replay", "e3sm-f", "--verify", "--kernel", "two_layer", "--ranks-per-node", "4"]).stdout);
    let words = [
        "e3sm-f",
        "4 node(s)",
        "two_layer (ascending_issend)",
        "metadata exchange",
        "fan-in per round",
        "388,763",
        "yes, byte for byte",
    ];
    for word in words {
        assert!(table.contains(word), "{word} in\n{table}");
    }
}

#[test]
fn every_kernel_and_driver_writes_the_same_file() {
    let directory = tempfile::tempdir().unwrap();
    let map = written_map(directory.path(), 13);
    let mut digests = std::collections::BTreeSet::new();
    for kernel in KernelHint::all().map(|kernel| kernel.to_string()) {
        for driver in DRIVERS {
            let hints = "striping_unit=16KiB;striping_factor=3;cb_buffer_size=64KiB;nc_num_aggrs_per_node=2";
            let all = json(&[
                "replay",
                "e3sm-f",
                "--map",
                &map,
                "--verify",
                "--json",
                "--kernel",
                &kernel,
                "--driver",
                driver,
                "--ranks-per-node",
                "5",
                "--hint",
                hints,
            ]);
            assert_eq!((&all["verified"], &all["driver"]), (&true.into(), &driver.into()));
            let aggregators = match driver {
                "gpfs" => 6,
                "nfs" => 12,
                _ => 3,
            };
            assert!(all["rounds"].as_u64().unwrap() > 1 && all["aggregators"] == aggregators, "{all}");
            digests.insert(all["sha256"].as_str().unwrap().to_string());
        }
    }
    assert_eq!(digests.len(), 1);
}

#[test]
fn the_output_stays_when_asked_and_goes_when_not() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept").display().to_string();
    let all = json(&["replay", "e3sm-f", "--output", &kept, "--json"]);
    assert_eq!((&all["output"], &all["verified"]), (&kept.clone().into(), &Value::Null));
    assert_eq!(std::fs::metadata(&kept).unwrap().len(), 99_864 + 12_445_216);
    // An old, longer file is replaced, not written into.
    std::fs::write(&kept, vec![7; 20 << 20]).unwrap();
    assert_eq!(json(&["replay", "e3sm-f", "--output", &kept, "--json", "--verify"])["verified"], true);
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    let elsewhere = tempfile::tempdir().unwrap();
    command.env("TMPDIR", elsewhere.path()).args(["replay", "e3sm-f", "--verify"]);
    assert!(command.output().unwrap().status.success());
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0, "temporary files are removed");
}

#[test]
fn maps_are_folded_only_when_asked() {
    let directory = tempfile::tempdir().unwrap();
    let map = written_map(directory.path(), 16);
    let line = error(&["replay", "e3sm-f", "--map", &map, "--ranks", "12"]);
    assert!(line.contains("for 16 ranks, not 12") && line.contains("--fold"), "{line}");
    for ranks in ["12", "1", "17"] {
        let all = json(&["replay", "e3sm-f", "--map", &map, "--ranks", ranks, "--fold", "--verify", "--json"]);
        assert_eq!((&all["verified"], all["ranks"].to_string()), (&true.into(), ranks.to_string()));
    }
}

#[test]
fn bad_input_is_one_line_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    let map = written_map(directory.path(), 4);
    let whole = std::fs::read(&map).unwrap();
    std::fs::write(at("cut.nc"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(at("text.nc"), "not a map").unwrap();
    let (missing, cut, words) = (at("missing.nc"), at("cut.nc"), at("text.nc"));
    let nowhere = at("nowhere/file");
    let here = at("");
    let coupled = KERNELS.iter().find(|kernel| kernel.coupled).unwrap().name;
    let cases: &[(&[&str], &[&str])] = &[
        (&["--map", &missing], &["missing.nc", "No such file"]),
        (&["--map", &cut], &["cut.nc"]),
        (&["--map", &words], &["text.nc"]),
        (&["--ranks", "0"], &["'0' for '--ranks <P>'", "1 to 16777216"]),
        (&["--hint", "striping_unit=0"], &["striping_unit", "`0`", "allowed"]),
        (&["--hint", "cb_nodes=0"], &["cb_nodes", "`0`"]),
        (&["--hint", "trib_kernel_dta=balanced"], &["trib_kernel_dta", "did you mean trib_kernel_data"]),
        (&["--hint", "trib_rank_list=0,0,1"], &["trib_rank_list", "rank 0 twice"]),
        (&["--hint", "balanced"], &["balanced", "key=value"]),
        (&["--kernel", "magic"], &["trib_kernel", "`magic`", "two_layer"]),
        (&["--kernel", coupled, "--throttle", "8"], &["trib_throttle", "`8`", coupled]),
        (&["--hint", "trib_placement=list:0,99"], &["trib_placement", "99"]),
        (&["--output", &nowhere], &["nowhere/file", "No such file"]),
        (&["--output", &here], &["directory"]),
        (&["--output", "/dev/full"], &["rank 0", "write of /dev/full", "No space left", "incomplete"]),
    ];
    for (arguments, expected) in cases {
        let line = error(&[&["replay", "e3sm-f"], *arguments].concat());
        for word in *expected {
            assert!(line.contains(word), "{arguments:?}: {word} in {line}");
        }
    }
}

/// Checks a limit of the file size. Its signal would end the process without a message; the error must be that of a
/// full disk.
#[test]
fn a_file_size_limit_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept").display().to_string();
    for path in ["enable", "disable"] {
        let limited = format!("ulimit -f 2000; exec {} \"$@\"", env!("CARGO_BIN_EXE_trib"));
        let write = format!("romio_cb_write={path}");
        let arguments = ["-c", &limited, "sh", "replay", "e3sm-f", "--output", &kept, "--hint", &write];
        let output = Command::new("sh").args(arguments).output().unwrap();
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(line.contains("rank ") && line.contains("File too large") && line.contains("is incomplete"), "{line}");
    }
}

/// Checks that a window takes the memory of its data, not the size in the hint.
#[test]
fn a_buffer_larger_than_memory_is_only_a_limit() {
    for driver in DRIVERS {
        let hint = "cb_buffer_size=4096TiB";
        let all = json(&["replay", "e3sm-f", "--verify", "--json", "--driver", driver, "--hint", hint]);
        assert_eq!((&all["verified"], &all["rounds"]), (&true.into(), &1.into()));
    }
}

/// Runs with a variable that names the only MPI library to try, as where none is installed.
#[test]
fn without_an_mpi_library_the_error_says_how_one_is_found() {
    let line = error_of(command(&["replay", "e3sm-f", "--fabric", "mpi"]).env("TRIB_MPI", "/none/libmpi.so"));
    for word in ["MPI library: none can be loaded (/none/libmpi.so: ", "TRIB_MPI", "LD_LIBRARY_PATH", "libmpi.so.12"] {
        assert!(line.contains(word), "{word} in {line}");
    }
}

#[test]
fn a_plan_counts_what_a_run_exchanges() {
    let common = [
        "replay",
        "e3sm-f",
        "--json",
        "--driver",
        "lustre",
        "--ranks-per-node",
        "4",
        "--hint",
        "striping_factor=4;striping_unit=256KiB;cb_buffer_size=1MiB",
    ];
    let run = json(&common);
    let plan = json(&[&common[..], &["--plan-only"]].concat());
    let same = [
        "pattern",
        "ranks",
        "nodes",
        "aggregators",
        "requests",
        "bytes",
        "rounds",
        "driver",
        "metadata_bytes",
        "messages",
        "fan_in",
    ];
    for key in same {
        assert_eq!(run[key], plan[key], "{key}");
    }
    assert!(plan["metadata_bytes_per_request"]["codec"].as_f64().unwrap() < 1.0);
    assert!((plan["metadata_bytes_per_request"]["pairs"].as_f64().unwrap() - 16.0).abs() < 0.1, "{plan}");
}

#[test]
fn hints_are_listed_and_environment_gives_way_to_options() {
    let listed = text(&trib(&["hints"]).stdout);
    assert!(listed.contains("cb_buffer_size") && listed.contains("trib_kernel_data"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    command.env("TRIB_HINTS", "cb_nodes=7;cb_buffer_size=1MiB").args(["hints", "--json", "--hint", "cb_nodes=5"]);
    let rows: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let value = |key: &str| rows.as_array().unwrap().iter().find(|row| row["key"] == key).unwrap()["value"].clone();
    assert_eq!((value("cb_nodes"), value("cb_buffer_size")), ("5".into(), "1048576".into()));
    // Hints that users have set for other MPI libraries are read as under the drop-in library.
    command.env("OMPI_MCA_io_ompio_num_aggregators", "3").env("MPICH_MPIIO_HINTS", "*:striping_unit=4096");
    command.env("OMPI_MCA_io_ompio_bytes_per_agg", "65536").env("I_MPI_EXTRA_FILESYSTEM_FORCE", "lustre");
    let rows: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let value = |key: &str| rows.as_array().unwrap().iter().find(|row| row["key"] == key).unwrap()["value"].clone();
    let values = ["cb_nodes", "cb_buffer_size", "striping_unit", "trib_driver"].map(value);
    assert_eq!(values, ["5", "1048576", "4096", "lustre"].map(Value::from));
}

#[test]
fn one_hint_is_shown_and_a_key_that_is_none_is_refused() {
    let one = text(&trib(&["hints", "cb_nodes"]).stdout);
    assert!(
        one.starts_with("cb_nodes=auto") && one.contains("\n  allowed  ") && one.contains("\n  set it   "),
        "{one}"
    );
    assert_eq!(json(&["hints", "cb_nodes", "--json"]).as_array().unwrap().len(), 1);
    for (arguments, says) in [
        (&["hints", "cb_node"][..], "hint: cb_node; allowed: a key of this library; did you mean cb_nodes?"),
        (&["hints", "--hint", "cb_node=2"], "hint cb_node does not exist; did you mean cb_nodes?"),
        (&["hints", "--hint", "colour=red"], "hint colour does not exist; `trib hints` lists all keys"),
        (&["replay", "ior", "--hnt", "cb_nodes=2"], "a similar argument exists: '--hint'"),
        (&["explian"], "'explain'"),
        (&["explain", "/nowhere/file.tribcap"], "capture: /nowhere/file.tribcap: No such file"),
    ] {
        let output = trib(arguments);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(says) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn help_shows_the_way() {
    for arguments in [&["--help"][..], &["replay", "--help"], &["hints", "--help"], &["compare", "--help"]] {
        let help = text(&trib(arguments).stdout);
        assert!(help.contains("Usage: trib"), "{help}");
    }
    let help = text(&trib(&["replay", "--help"]).stdout);
    assert!(KernelHint::all().all(|kernel| help.contains(&kernel.to_string())), "{help}");
}

/// On a pipe each hint has one line; COLUMNS folds the lines, and breaks no words.
#[test]
fn the_hints_fit_the_terminal() {
    let listed = |columns: Option<&str>, arguments: &[&str]| {
        let mut command = command(arguments);
        command.env_remove("COLUMNS").envs(columns.map(|columns| ("COLUMNS", columns)));
        text(&command.output().unwrap().stdout)
    };
    let long = "trib_machine=/a/path/longer/than/any/column/would/be/otherwise";
    let rows = json(&["hints", "--json"]);
    let piped = listed(None, &["hints", "--hint", long]);
    assert_eq!(piped.lines().count(), rows.as_array().unwrap().len() + 1, "{piped}");
    assert!(piped.lines().any(|line| line.starts_with(&format!("{long}  Path of a JSON file"))), "{piped}");
    for row in rows.as_array().unwrap() {
        let key = row["key"].as_str().unwrap();
        for folded in [listed(Some("80"), &["hints", "--hint", long]), listed(Some("60"), &["hints", key])] {
            assert!(folded.lines().all(|line| line.chars().count() <= 80), "{folded}");
            assert!(folded.contains(&format!("{key}=")), "{folded}");
        }
        let one = listed(Some("60"), &["hints", key]);
        let words: Vec<&str> = one.split_whitespace().collect();
        let whole = ["default", "meaning", "when"].map(|part| row[part].as_str().unwrap());
        assert!(whole.iter().flat_map(|part| part.split_whitespace()).all(|word| words.contains(&word)), "{one}");
    }
}

/// Every page has the sections in which readers look, and values of options in its synopsis.
#[test]
fn manual_pages_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let output = trib(&["manual", folder.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let pages: Vec<_> =
        std::fs::read_dir(folder.path().join("man/man1")).unwrap().map(|entry| entry.unwrap()).collect();
    assert!(pages.len() > 20);
    for page in pages {
        let (name, text) = (page.file_name(), std::fs::read_to_string(page.path()).unwrap());
        for section in ["SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"] {
            assert_eq!(text.matches(&format!(".SH {section}\n")).count(), 1, "{section} of {name:?}");
        }
        assert!(!text.contains(".SH EXTRA") && text.contains("TRIB_HINTS"), "{name:?}");
        assert!(text.contains(&format!(".TH {} 1 ", name.to_str().unwrap().trim_end_matches(".1"))), "{text}");
    }
    let run = std::fs::read_to_string(folder.path().join("man/man1/trib-run.1")).unwrap();
    assert!(run.contains(r"[\fB\-\-hints\fR \fI<HINTS>\fR]") && run.contains(r"\-\- \fICOMMAND\fR"), "{run}");
    let site = std::fs::read_to_string(folder.path().join("man/man5/tributary.conf.5")).unwrap();
    assert!(site.starts_with(".TH tributary.conf 5 ") && !site.contains('@'), "{site}");
}

/// The sample of the site's file has no setting in force but its version, and each of its settings is one that doctor accepts.
#[test]
fn the_sample_of_the_site_s_file_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../packages/site/tributary.conf");
    let text_of = std::fs::read_to_string(sample).unwrap();
    let mut in_force = text_of.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    assert_eq!((in_force.next(), in_force.next()), (Some("version 1"), None), "{text_of}");
    let is_setting = |line: &&str| line.starts_with(|letter: char| letter.is_ascii_lowercase());
    let settings: Vec<&str> = text_of.lines().map(|line| line.trim_start_matches('#')).filter(is_setting).collect();
    assert_eq!(settings.len(), 8, "{settings:?}");
    let log = folder.path().display().to_string();
    let all: Vec<String> = settings.iter().map(|line| line.replace("/var/log/tributary", &log)).collect();
    // The library would not run at all.
    let all: Vec<&str> =
        all.iter().map(String::as_str).filter(|line| *line != "off *" && *line != "log syslog").collect();
    let conf = folder.path().join("tributary.conf");
    std::fs::write(&conf, all.join("\n") + "\n").unwrap();
    let output = command(&["hints"]).env("TRIB_CONF", &conf).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = command(&["doctor", "--json"]).env("TRIB_CONF", &conf).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of_site = |problem: &&Value| problem.as_str().is_some_and(|text| text.contains("tributary.conf"));
    let problems: Vec<_> = found["problems"].as_array().unwrap().iter().filter(of_site).collect();
    assert!(problems.is_empty(), "{problems:?}");
}
