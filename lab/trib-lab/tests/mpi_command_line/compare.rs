//! Tests `trib-lab compare` on the MPI library of the tests, with sizes that take a moment. Checks that all numbers are
//! there, not their values.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tributary_testing::mpiexec;

// Links the package, so that cargo builds its libraries together with the test.
use tributary_gio as _;
use tributary_mpiio as _;

const TRIB_LAB: &str = env!("CARGO_BIN_EXE_trib-lab");

/// Returns the tools of this MPI library.
pub fn tools() -> (String, String) {
    let family = if mpiexec::is_mpich() { "mpich" } else { "openmpi" };
    let first = |variable, name: &str| {
        let named = format!("{name}.{family}");
        let is_there = |name: &String| Command::new(name).arg("--version").output().is_ok();
        std::env::var(variable).ok().or_else(|| Some(named).filter(is_there)).unwrap_or_else(|| name.to_string())
    };
    (first("MPICC", "mpicc"), first("MPIEXEC", "mpiexec"))
}

/// Returns the path of `trib`, which `lab/test` builds beside this program.
fn trib() -> String {
    let trib = Path::new(TRIB_LAB).with_file_name("trib");
    assert!(trib.exists(), "{} is not there; `cargo build -p trib` makes it", trib.display());
    trib.display().to_string()
}

/// Returns the library to preload. Cargo builds it for the tests, beside them.
pub fn library() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let path = this.parent().unwrap().join("libtributary_mpiio.so");
    assert!(path.exists(), "{} is not there", path.display());
    path
}

/// Runs `trib-lab compare` with the tools.
pub fn compare(arguments: &[&str]) -> Output {
    compare_with(&tools(), arguments)
}

/// Runs `trib-lab compare` with the compiler wrapper and launcher that are named.
pub fn compare_with((mpicc, mpiexec): &(String, String), arguments: &[&str]) -> Output {
    let mut command = Command::new(TRIB_LAB);
    command.args(["compare", "--mpicc", mpicc, "--mpiexec", mpiexec, "--library"]).arg(library());
    // Open MPI: more ranks than cores, and containers where all is root.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    let _alone = mpiexec::alone();
    command.args(arguments).output().unwrap()
}

/// Returns the rows that the command printed.
pub fn rows(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the path of the C program, which a tiny comparison builds and the command keeps.
fn program() -> PathBuf {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().display().to_string();
    let tiny = "--pattern sync --ranks 1 --pairs 1 --scale 0.001 --no-system-calls --json --directory";
    rows(&compare(&tiny.split(' ').chain([place.as_str()]).collect::<Vec<_>>()));
    let kept = std::fs::read_dir(Path::new(TRIB_LAB).parent().unwrap().join("compare")).unwrap();
    let programs = kept.map(|entry| entry.unwrap().path().join("program")).filter(|program| program.is_file());
    // Tests the ROMIO component of Open MPI, whose library has had this name since release 4; MPICH's never had it.
    let name = b"libmpi.so.40";
    let is_of_openmpi = |path: &PathBuf| std::fs::read(path).unwrap().windows(name.len()).any(|part| part == name);
    let programs = programs.filter(|program| is_of_openmpi(program) != mpiexec::is_mpich());
    // Takes the peer that was built last: others may be built from other sources.
    programs.max_by_key(|program| program.metadata().unwrap().modified().unwrap()).unwrap()
}

#[test]
fn a_comparison_tells_everything_and_is_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    let (rows_file, page) = (at("rows.jsonl"), at("page.md"));
    std::fs::write(&page, "a\n<!-- trib-lab compare: full table -->\n<!-- trib-lab compare: end -->\nb\n").unwrap();
    let place = at("");
    let line = "--pattern contiguous --pattern contiguous-read --pattern sync --ranks 2 --pairs 2 --scale 0.01 --json";
    let is_shared_told = Path::new("/proc/self/smaps_rollup").exists();
    let options = ["--directory", &place, "--resume", &rows_file, "--markdown", &page];
    let words: Vec<&str> = line.split(' ').chain(options).collect();
    let found = rows(&compare(&words));
    let names: Vec<&str> = found.iter().map(|row| row["pattern"].as_str().unwrap()).collect();
    assert_eq!(names, ["contiguous", "contiguous-read", "sync"]);
    // OMPIO does no collective I/O on 2 ranks by default: it is measured with a component that does, too.
    let is_individual = !mpiexec::is_mpich();
    for row in &found {
        let vulcan = &row["peers"]["vulcan"];
        assert_eq!(vulcan.is_object(), is_individual, "{row}");
        assert!(!is_individual || vulcan["wall_ratio"].as_f64() > Some(0.0) && vulcan["bytes_equal"] == true, "{row}");
        assert_eq!((&row["ranks"], &row["pairs"], &row["bytes_equal"]), (&2.into(), &2.into(), &true.into()), "{row}");
        check_row(row);
        for of in [&row["ours"], &row["peers"]["default"]] {
            assert_eq!(of["job_pss_bytes"].is_number(), is_shared_told, "{row}");
        }
    }
    // The hundredth part of 32 MiB a rank, in whole words.
    assert_eq!((&found[0]["bytes"], &found[0]["requests"]), (&(2 * 335_544).into(), &2.into()));
    assert!(found[0]["floor_multiple"].as_f64().unwrap() > 0.0 && found[0]["metadata_bytes_per_request"].is_number());
    assert!(found[2]["floor_multiple"].is_null());
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.starts_with("a\n<!--") && written.ends_with("end -->\nb\n"), "{written}");
    assert!(written.contains("| contiguous-read |"), "{written}");
    assert_eq!(written.contains("component `individual`"), is_individual, "{written}");
    let library = format!(" Tributary {} (SHA-256 ", env!("CARGO_PKG_VERSION"));
    assert!(written.contains(&library) && written.contains("\n**Targets**: "), "{written}");
    assert!(written.contains(" of 3 rows meet all of their targets (targets are of 7 pairs or more"), "{written}");

    let before = std::fs::read_to_string(&rows_file).unwrap();
    assert_eq!(before.lines().count(), 3);
    assert_eq!(rows(&compare(&words)), found);
    assert_eq!(std::fs::read_to_string(&rows_file).unwrap(), before, "nothing is measured again");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2, "no file of a run is left");
}

/// Files with a rate are slow for every library alike, and rows tell how long the file system needs at least.
#[test]
fn slow_files_are_slow_for_all() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().display().to_string();
    let line = "--pattern contiguous --ranks 2 --pairs 1 --repeats 1 --scale 0.01 --json --file-rate 10000000 --file-latency 500";
    let found = rows(&compare(&line.split(' ').chain(["--directory", &place]).collect::<Vec<_>>()));
    let row = &found[0];
    assert_eq!(row["slow_file"], "files of 10000000 bytes/s a host, 500 us a call");
    let floor = row["file_floor_seconds"].as_f64().unwrap();
    assert_eq!((floor, &row["floor_seconds"]), (2.0 * 335_544.0 / 1e7 + 5e-4, &row["file_floor_seconds"]));
    for of in [&row["ours"], &row["peers"]["default"], &row["peers"]["best"]] {
        assert!(of["wall_seconds"].as_f64().unwrap() > 0.9 * floor, "{row}");
    }
    assert!(row["network_floor_seconds"].is_null() && row["bytes_equal"] == true, "{row}");
    let refused = compare(&["--pattern", "contiguous", "--file-latency", "500"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("--file-rate"), "{said}");
}

/// Returns the wall time of every run.
fn walls(of: &Value) -> Vec<f64> {
    of["walls"].as_array().unwrap().iter().map(|wall| wall.as_f64().unwrap()).collect()
}

/// Checks the fields that a row of two pairs has for every pattern.
fn check_row(row: &Value) {
    assert_eq!(row["ours"]["walls"].as_array().unwrap().len(), 2);
    for peer in ["default", "best"] {
        let peer = &row["peers"][peer];
        assert!(peer["wall_ratio"].as_f64().unwrap() > 0.0 && peer["bytes_equal"] == true, "{peer}");
        // Pair by pair, from the walls that the row has.
        let pairs = walls(peer).into_iter().zip(walls(&row["ours"]));
        let mut due: Vec<f64> = pairs.map(|(theirs, ours)| theirs / ours).collect();
        due.sort_by(f64::total_cmp);
        let told = ["min", "median", "max"].map(|which| peer["wall_ratios"][which].as_f64().unwrap());
        assert_eq!(told, [due[0], (due[0] + due[1]) / 2.0, due[1]], "{row}");
        assert!(peer.get("cpu_ratio").is_some());
    }
    for key in ["context_switches", "page_faults", "peak_bytes", "cpu_seconds", "open_close_seconds"] {
        assert!(row["ours"][key].is_number(), "{key}: {row}");
    }
    assert!(row["ours"]["system_calls"].is_number() || row["ours"]["system_calls_missing"].is_string());
    assert!(row["aggregator_peak_bytes"].is_number());
    assert!(row["library"].as_str().is_some_and(|text| text.contains("SHA-256")), "{row}");
    // Compares the row's ratio with the text that the command prints.
    let ratio = row["peers"]["best"]["wall_ratio"].as_f64().unwrap();
    let missed = row["targets_missed"].as_array().unwrap();
    assert_eq!(missed.iter().any(|missed| missed["what"] == "best / ours"), ratio < 1.0, "{row}");
}

/// Runs patterns with views and syncs, which our library handles only where the engine is open: these write before.
#[test]
fn patterns_that_open_the_engine() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().display().to_string();
    let line = "--pattern sync-written --pattern view-write --pattern e3sm-i --pattern e3sm-i-read --ranks 2 --pairs 1 \
                --repeats 1 --scale 0.01 --no-system-calls --json --directory";
    let found = rows(&compare(&line.split_whitespace().chain([place.as_str()]).collect::<Vec<_>>()));
    let names: Vec<&str> = found.iter().map(|row| row["pattern"].as_str().unwrap()).collect();
    assert_eq!(names, ["e3sm-i", "e3sm-i-read", "view-write", "sync-written"]);
    for row in &found {
        assert!(row["bytes_equal"] == true && row["requests"].as_u64() > Some(0), "{row}");
    }
    // One sync after each of 8-byte writes, one write after each of the views: 1 and 2 of each, of 2 ranks.
    assert_eq!([&found[2]["calls"], &found[2]["bytes"]], [&Value::from(4), &Value::from(32)], "{}", found[2]);
    assert_eq!([&found[3]["calls"], &found[3]["bytes"]], [&Value::from(2), &Value::from(16)], "{}", found[3]);
}

const WITH_TWO_RANKS: &str =
    "flash flash-read s3d s3d-read ior-segmented ior-strided memory pieces pieces-read append tiny-moving";

/// Checks that lists of the crate and datatypes of the C program are the same patterns: both write the same bytes.
#[test]
fn lists_and_datatypes_are_the_same_patterns() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().display().to_string();
    let peer = format!(
        "lists={} -n {{ranks}} {} --pattern lists --lists {{lists}} --file {{file}} --parts {{parts}} \
         --repeats {{repeats}} --budget {{budget}}",
        tools().1,
        program().display()
    );
    // Four ranks where the pattern is a grid of them; elsewhere two, which have a core each.
    for (ranks, names) in [("4", "btio btio-read btio-netcdf btio-netcdf-read block4d"), ("2", WITH_TWO_RANKS)] {
        let line = "--pairs 1 --repeats 1 --budget 0 --scale 0.001 --no-system-calls --json --ranks";
        let patterns = names.split(' ').flat_map(|name| ["--pattern", name]);
        let options = ["--directory", &place, "--peer", &peer];
        let words: Vec<&str> = patterns.chain(line.split(' ')).chain([ranks]).chain(options).collect();
        let found = rows(&compare(&words));
        assert_eq!(found.len(), names.split(' ').count());
        for row in found {
            assert_eq!(row["peers"]["lists"]["bytes_equal"], true, "{}", row["pattern"]);
            assert!(row["peers"]["lists"]["wall_ratio"].is_number(), "{}", row["pattern"]);
        }
    }
}

/// Returns the path of the peer on GIO's interface, linked with our engine in GIO's place.
fn gio_peer() -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gio_peer");
    let built = std::env::current_exe().unwrap().with_file_name("libtributary_gio.a");
    let sources = ["gio_peer.c", "options.c", "lists.c", "plan.c", "payload.c", "usage.c", "record.c"];
    let mut command = Command::new(tools().0);
    command.args(["-Wall", "-Wextra", "-Werror", "-O2", "-I"]).arg(project.join("bindings/gio/include"));
    command.args(sources.map(|name| project.join("lab/trib-lab/programs").join(name))).arg("-o").arg(&made);
    command.arg(built).args(["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    made
}

#[test]
fn a_peer_on_the_interface_of_gio_writes_and_reads_the_same_bytes() {
    let (peer, mpiexec) = (gio_peer().display().to_string(), tools().1);
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().display().to_string();
    let peer_command = format!(
        "gio={mpiexec} -n {{ranks}} {peer} --lists {{lists}} --file {{file}} --parts {{parts}} --repeats {{repeats}} \
         --budget {{budget}} --write-hint cb_nodes=1"
    );
    let line = "--pattern flash --pattern flash-read --pattern pieces --pattern pieces-read --ranks 2 --pairs 1 --scale 0.001 \
                --no-system-calls --json --directory";
    let options = [place.as_str(), "--peer", &peer_command];
    let found = rows(&compare(&line.split_whitespace().chain(options).collect::<Vec<_>>()));
    assert_eq!(found.len(), 4);
    for row in &found {
        let gio = &row["peers"]["gio"];
        assert!(gio["bytes_equal"] == true && gio["wall_ratio"].as_f64() > Some(0.0), "{row}");
        assert_eq!(gio["job_pss_bytes"].is_number(), row["ours"]["job_pss_bytes"].is_number(), "{row}");
    }
    let output = mpiexec::start(1, Path::new(&peer), &["--file", "nowhere"], &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("compare: options: not complete; allowed: --lists PREFIX --file PATH"), "{said}");
}

/// Tests the script that measures real programs, with a stand-in that prints IOR's tables: the row of the measured run
/// has the time, the other is ignored.
#[test]
fn real_programs_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let (ior, kept) = (folder.path().join("ior"), folder.path().join("rows.jsonl"));
    let run = format!("{} --pattern tiny-moving --value 5 --parts write --file", program().display());
    let rows = "write 1 2 3 4 5 6 0.5 8 9 0\nwrite 1 2 3 4 5 6 7 8 9 10 0.01 NA NA 0 4";
    std::fs::write(&ior, format!("#!/bin/sh\nfor last; do :; done\n{run} $last >&2 && printf '{rows}\\n'\n")).unwrap();
    std::fs::set_permissions(&ior, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/programs/measure");
    let measure = |only: &str, ranks: &str| {
        let mut command = Command::new(&script);
        command.arg(folder.path()).args(["--hosts", "1", "--ranks", ranks, "--pairs", "2", "--only", only]);
        command.args(["--mpiexec", &tools().1, "--trib", &trib(), "--library"]).arg(library()).arg("--rows").arg(&kept);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("MPICC", tools().0);
        let _alone = mpiexec::alone();
        command.output().unwrap()
    };
    let output = measure("64 KiB x 32, write", "2");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Both ranks print the row.
    let due = "| IOR 64 KiB x 32, write | 1 | 1 | ";
    assert!(table.contains(due) && table.contains(" | 1.00 (1.00-1.00) | "), "{table}");
    // Two ranks have no kept results, and one program no geometric mean.
    assert!(
        table.starts_with("\nbed processors: one host, 2 ranks, ") && table.ends_with("Targets met: 0 of 0.\n"),
        "{table}"
    );
    assert_eq!(std::fs::read_to_string(&kept).unwrap().lines().count(), 1);
    std::fs::remove_file(&ior).unwrap();
    std::fs::write(&ior, "").unwrap();
    assert_eq!(
        String::from_utf8_lossy(&measure("64 KiB x 32, write", "2").stdout),
        table,
        "rows that are there are not measured again"
    );
    // With 16 ranks the targets are those of the kept results.
    let row = std::fs::read_to_string(&kept).unwrap().replace("\"ranks\": 2", "\"ranks\": 16");
    std::fs::write(&kept, row).unwrap();
    let output = measure("64 KiB x 32, write", "16");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.code() == Some(2)
            && table.contains("\nTargets met: 0 of 1. Missed:\n- IOR 64 KiB x 32, write: best / ours 1.000, to be 1."),
        "{table}"
    );
    let output = measure("BTIO", "2");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("measure: BTIO 64^3: ") && said.contains("btio is not there"),
        "{said}"
    );
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let (_, mpiexec) = tools();
    for (arguments, expected) in [
        ("--pattern nothing", "pattern: nothing; allowed: e3sm-f, "),
        ("--ranks 2", "pattern: none is named"),
        ("--pattern btio --ranks 2", "ranks: 2 with pattern btio; allowed: square numbers"),
        ("--pattern sync --ranks 0", "--ranks"),
        ("--pattern sync --pairs 0", "--pairs"),
        ("--pattern sync --scale 2", "scale: 2; allowed: above 0, up to 1"),
        ("--pattern sync --minutes 0", "minutes: 0; allowed: above 0"),
        ("--pattern sync --directory /nowhere", "directory: /nowhere: No such file"),
        ("--pattern sync --markdown /dev/null", "no place for a table; allowed: "),
        ("--pattern e3sm-f --map-f nothing.nc", "map: nothing.nc: no such file; allowed: "),
        ("--pattern e3sm-i --map-i nothing.nc", "map: nothing.nc: no such file; allowed: "),
        ("--pattern sync --peer x", "peer: x; allowed: NAME=COMMAND"),
    ] {
        let arguments = arguments.replace("MPIEXEC", &mpiexec);
        said(&compare(&arguments.split(' ').collect::<Vec<_>>()), expected);
    }
}

#[test]
fn tools_that_do_not_fit_are_said_in_one_line() {
    for (words, expected) in [
        ("--mpicc true", "mpicc: true: finds no mpi.h of MPICH or Open MPI; allowed: "),
        ("--mpicc /nowhere/mpicc", "mpicc: /nowhere/mpicc: No such file"),
        ("--mpiexec /nowhere/mpiexec", "mpiexec: /nowhere/mpiexec: No such file"),
        ("--library nothing.so", "library: nothing.so: no such file; name a "),
        ("--library /dev/null", "library: /dev/null: no such file; name a "),
    ] {
        let (mpicc, mpiexec) = tools();
        let others = [("--mpicc", mpicc), ("--mpiexec", mpiexec)];
        let others = others.iter().filter(|(name, _)| !words.contains(name)).flat_map(|(name, tool)| [*name, tool]);
        let mut command = Command::new(TRIB_LAB);
        command.args(["compare", "--pattern", "sync", "--ranks", "1"]).args(words.split(' ')).args(others);
        said(&command.output().unwrap(), expected);
    }
}

pub fn said(output: &Output, expected: &str) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{expected}: no failure");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("trib-lab: ") && said.contains(expected), "{said}, and not {expected}");
}
