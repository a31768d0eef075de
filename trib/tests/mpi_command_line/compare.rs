//! Tests `trib compare` on the MPI library of the tests, with programs that take a moment. Checks that all numbers are
//! there, not their values.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tributary_testing::mpiexec;

use crate::installation::install;

const TRIB: &str = env!("CARGO_BIN_EXE_trib");

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

/// Returns the library to preload. Cargo builds it for the tests, beside them.
pub fn library() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let path = this.parent().unwrap().join("libtributary_mpiio.so");
    assert!(path.exists(), "{} is not there", path.display());
    path
}

/// Runs `trib compare`.
fn compare(arguments: &[&str]) -> Output {
    let mut command = Command::new(TRIB);
    command.arg("compare");
    if !arguments.contains(&"--library") {
        command.arg("--library").arg(library());
    }
    let _alone = mpiexec::alone();
    as_root(command.args(arguments)).output().unwrap()
}

/// Lets Open MPI start more ranks than cores, and in containers where all is root.
fn as_root(command: &mut Command) -> &mut Command {
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1")
}

/// Returns the JSON object that the command printed.
fn found(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Compiles `../data/moving.c` and returns the path of the program.
fn program(directory: &Path) -> String {
    let made = directory.join("moving");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/moving.c");
    let output = Command::new(tools().0).args(["-Wall", "-O2", source, "-o"]).arg(&made).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    made.display().to_string()
}

#[test]
fn a_program_is_run_with_and_without_the_library() {
    let directory = tempfile::tempdir().unwrap();
    let (program, file) = (program(directory.path()), directory.path().join("file").display().to_string());
    let mpiexec = tools().1;
    let words = ["--", &mpiexec, "-n", "2", &program, "5", &file];
    let found = &found(&compare(&[&["--pairs", "2", "--json"], &words[..]].concat()));
    let counts = ["ranks", "hosts", "pairs"].map(|key| found[key].as_u64());
    assert_eq!(counts, [Some(2), Some(1), Some(2)], "{found}");
    let peers = found["peers"].as_object().unwrap();
    let due: &[&str] = if mpiexec::is_mpich() { &["default"] } else { &["default", "vulcan"] };
    assert_eq!(peers.keys().collect::<Vec<_>>(), due, "{found}");
    for ratio in ["inside_ratio", "wall_ratio", "cpu_ratio"] {
        assert!(peers.values().all(|peer| peer[ratio]["median"].as_f64() > Some(0.0)), "{found}");
    }
    for side in peers.values().chain([&found["ours"]]) {
        // 5 calls of each of 2 ranks.
        assert_eq!(side["functions"]["MPI_File_write_at_all"]["calls"], 10.0, "{found}");
        assert_eq!(side["inside_seconds"].as_array().unwrap().len(), 2);
        assert!(side.get("timed_seconds").is_none(), "{found}");
    }
}

/// Open MPI loads the installed component in comparisons, as under `trib run`, and only in the runs with the library: also
/// if Open MPI finds a component in the user's folder.
#[test]
fn an_installed_trib_compares_by_the_component_of_open_mpi() {
    if mpiexec::is_mpich() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let trib = install(&root, &library());
    let own = root.join(".openmpi/components");
    std::fs::create_dir_all(&own).unwrap();
    std::os::unix::fs::symlink(root.join("lib/libtributary_mpiio.so"), own.join("mca_io_tributary.so")).unwrap();
    // The ranks tell what is preloaded, and what the library has written of its calls.
    let (program, place) = (program(&root), root.display().to_string());
    let text = format!("#!/bin/sh\necho \"$LD_PRELOAD\" >>{place}/preloaded\nexec {program} 5 {place}/file\n");
    let rank = root.join("rank");
    std::fs::write(&rank, text).unwrap();
    std::fs::set_permissions(&rank, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let run = |arguments: &[&str], captures: &str| {
        let mut command = Command::new(&trib);
        command.args(arguments).args(["--", &tools().1, "-n", "2"]).arg(&rank).env("HOME", &root);
        command.env("TRIB_CAPTURE", root.join(captures)).env_remove("LD_PRELOAD");
        let output = as_root(&mut command).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let preloaded = std::fs::read_to_string(root.join("preloaded")).unwrap();
        assert!(preloaded.lines().all(|list| list.ends_with("inside.so") && !list.contains("mpiio")), "{preloaded}");
        (output, std::fs::read_dir(root.join(captures)).map_or(0, Iterator::count))
    };
    let _alone = mpiexec::alone();
    let (output, captures) = run(&["compare", "--pairs", "1", "--json"], "compare");
    assert_eq!((found(&output)["loaded"].as_str(), captures), (Some("component of Open MPI"), 1));
    let (output, captures) = run(&["run", "--compare"], "run");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("mca_io_tributary.so in the ranks, as a component\n"), "{said}");
    // The program is short: each pair of runs has one run with the library.
    let pairs = said.rsplit_once(" pairs of runs)").map_or(1, |(before, _)| {
        before.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{said}"))
    });
    assert_eq!(captures, pairs, "{said}");
}

/// Tests a program that prints its time, and writes where the command says. The prepared file is there before each run.
#[test]
fn a_program_is_measured_by_its_own_timer_and_with_the_best_hints() {
    let (built, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (program, place) = (program(built.path()), directory.path().display().to_string());
    let mpiexec = tools().1;
    let peer = format!("other={mpiexec} -n 2 {program} 2 {{directory}}/file");
    let options =
        ["--pairs", "2", "--best", "--json", "--timer", "wall: (\\S+)", "--directory", &place, "--peer", &peer];
    let prepare = ["--prepare", "test -z \"$(ls {directory})\" && echo before > {directory}/file"];
    let command = ["--", &mpiexec, "-n", "2", &program, "5", "{directory}/file"];
    let found = &found(&compare(&[&options[..], &prepare, &command].concat()));
    let peers = found["peers"].as_object().unwrap();
    assert!(peers.contains_key("default") && peers["other"]["setting"] == "as given", "{found}");
    let beside = if mpiexec::is_mpich() { "independent" } else { "vulcan" };
    assert!(peers.contains_key(beside), "{found}");
    for peer in peers.values() {
        assert!(peer["timed_ratio"]["median"].as_f64() > Some(0.0) && peer["setting"].is_string(), "{found}");
    }
    for side in peers.values().chain([&found["ours"]]) {
        let timed = side["timed_seconds"].as_array().unwrap();
        let (timed, inside) = (timed[0].as_f64().unwrap(), side["inside_seconds"][0].as_f64().unwrap());
        assert!(timed > 0.0 && timed < 10.0 * inside, "{found}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "no folder of a run is left");
}

/// Tests that a slow file holds all libraries: nobody is faster than the rate, and the bytes that reach the file count.
#[test]
fn files_are_slow_for_every_library() {
    let (built, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (program, place) = (program(built.path()), directory.path().display().to_string());
    let mpiexec = tools().1;
    let slow = ["--file-rate", "1k", "--file-latency", "1000", "--pairs", "1", "--json", "--directory", &place];
    for more in [&[][..], &["--file-servers", "1", "--file-slow", "0:2"]] {
        let command = ["--", &mpiexec, "-n", "2", &program, "20", "{directory}/file"];
        let found = &found(&compare(&[&slow, more, &command[..]].concat()));
        for side in found["peers"].as_object().unwrap().values().chain([&found["ours"]]) {
            let bytes = side["file_bytes"][0].as_f64().unwrap();
            let seconds = side["inside_seconds"][0].as_f64().unwrap();
            let factor = if more.is_empty() { 1.0 } else { 2.0 };
            assert!(bytes > 0.0 && side["file_calls"][0].as_u64() > Some(0), "{found}");
            assert!(seconds > 0.9 * factor * bytes / 1024.0, "{seconds} s for {bytes} bytes: {found}");
        }
    }
    let command =
        [&slow[..4], &["--pairs", "1", "--", &mpiexec, "-n", "2", &program, "20", "{directory}/file"]].concat();
    let table = String::from_utf8_lossy(&compare(&command).stdout).into_owned();
    let row = table.lines().find(|line| line.contains("time in units of the floor")).expect(&table);
    let parts: Vec<f64> = row.split_whitespace().filter_map(|cell| cell.parse().ok()).collect();
    assert!(parts.len() == 2 && parts.iter().all(|part| (0.9..20.0).contains(part)), "{table}");
    let elsewhere = format!("{}/file", built.path().display());
    let command = [&slow[..4], &["--", &mpiexec, "-n", "2", &program, "20", &elsewhere]].concat();
    said(&compare(&command), "no byte was read or written in {directory}; allowed: ");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "no clock is left");
}

/// Tests a program that loads MPI as Python loads mpi4py: the MPI library is not among those in which the linker looks
/// for the program's functions.
#[test]
fn a_program_that_loads_mpi_locally_is_measured() {
    const MODULE: &str = r#"
#include <mpi.h>
void run(const char *path)
{
    MPI_File file;
    MPI_Init(0, 0);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, 0, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
}
"#;
    const PROGRAM: &str = r#"
#include <dlfcn.h>
int main(int count, char **arguments)
{
    void *module = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    ((void (*)(const char *))dlsym(module, "run"))(arguments[count - 1]);
    return 0;
}
"#;
    let (mpicc, mpiexec) = tools();
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name).display().to_string();
    for (compiler, name, text, options) in
        [(mpicc.as_str(), "module", MODULE, &["-shared", "-fPIC"][..]), ("cc", "program", PROGRAM, &["-ldl"])]
    {
        std::fs::write(place(&format!("{name}.c")), text).unwrap();
        let mut command = Command::new(compiler);
        command.args(["-o", &place(name), &place(&format!("{name}.c"))]).args(options);
        assert!(command.status().unwrap().success(), "{command:?}");
    }
    let (program, module, file) = (place("program"), place("module"), place("file"));
    let found = found(&compare(&["--json", "--pairs", "1", "--", &mpiexec, "-n", "1", &program, &module, &file]));
    for side in [&found["peers"]["default"], &found["ours"]] {
        assert_eq!(side["functions"]["MPI_File_write_at_all"]["calls"], 1.0, "{found}");
    }
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let (_, mpiexec) = tools();
    for (arguments, expected) in [
        ("--pairs 0 -- true", "--pairs"),
        ("--directory /nowhere -- MPIEXEC -n 1 true", "directory: /nowhere: No such file"),
        ("--library nothing.so -- MPIEXEC -n 1 true", "library: nothing.so: no such file; name a "),
        ("--library /dev/null -- MPIEXEC -n 1 true", "library: /dev/null: no such file; name a "),
        ("--peer x -- MPIEXEC -n 1 true", "peer: x; allowed: NAME=COMMAND"),
        ("-- /nowhere/mpiexec true", "/nowhere/mpiexec: No such file"),
        ("-- MPIEXEC -n 1 sleep 0.2", "no rank called MPI_File_*"),
        ("--best -- ./program", "best: neither ./program nor the program says which MPI library it is; allowed: "),
        ("--timer time -- MPIEXEC -n 1 true", "allowed: a regular expression with a group"),
        ("--file-rate 0 -- MPIEXEC -n 1 true", "--file-rate"),
        ("--file-latency 3 -- MPIEXEC -n 1 true", "--file-rate"),
        ("--file-rate 1M --file-slow 0:0 -- MPIEXEC -n 1 true", "--file-slow"),
        ("--file-rate 1M --file-servers 2 --file-slow 2:9 -- MPIEXEC -n 1 true", "server 2 of 2; allowed: 0 to 1"),
        ("--prepare false -- MPIEXEC -n 1 true", "prepare: sh: exit status: 1"),
    ] {
        let arguments = arguments.replace("MPIEXEC", &mpiexec);
        said(&compare(&arguments.split(' ').collect::<Vec<_>>()), expected);
    }
}

fn said(output: &Output, expected: &str) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{expected}: no failure");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("trib: ") && said.contains(expected), "{said}, and not {expected}");
}
