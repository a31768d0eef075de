//! Tests `trib run` on the MPI library of the tests: the library is in the ranks and not in the launcher, and the
//! command ends as the program does.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use tributary_testing::mpiexec;

use crate::compare::{library, tools};

/// C program that writes its rank in collective calls to the files of its odd arguments, prints what is preloaded into
/// itself and its launcher, and ends as an argument says.
const PROGRAM: &str = r#"
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int has_library(long process)
{
    char path[64], text[1 << 16];
    snprintf(path, sizeof path, "/proc/%ld/environ", process);
    FILE *file = fopen(path, "r");
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    return memmem(text, length, "libtributary_mpiio", 18) != 0;
}

static long above(long process)
{
    char path[64];
    long number = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%*d (%*[^)]) %*c %ld", &number) != 1) number = 0;
    if (file) fclose(file);
    return number;
}

int main(int count, char **arguments)
{
    int rank, ranks;
    MPI_File file;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int at = 1; at < count; at += 2) {
        MPI_File_open(MPI_COMM_WORLD, arguments[at], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
        for (int turn = 0; turn < 3; turn++) {
            unsigned char value = 16 * turn + rank;
            MPI_File_write_at_all(file, turn * ranks + rank, &value, 1, MPI_BYTE, MPI_STATUS_IGNORE);
        }
        MPI_File_close(&file);
    }
    printf("rank %d: %d, launcher %d %d\n", rank, has_library(getpid()), has_library(getppid()), has_library(above(getppid())));
    fflush(stdout);
    MPI_Finalize();
    if (count > 2 && rank == 0) {
        int how = atoi(arguments[2]);
        if (how < 0) kill(getpid(), -how);
        return how;
    }
    return 0;
}
"#;

/// Returns the path of the program, compiled once.
pub fn program() -> &'static Path {
    static MADE: LazyLock<PathBuf> = LazyLock::new(|| {
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("run_program");
        compile(PROGRAM, &made, &["-D_GNU_SOURCE"]);
        made
    });
    &MADE
}

fn compile(text: &str, made: &Path, options: &[&str]) {
    let source = made.with_extension("c");
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(tools().0);
    command.args(options).arg("-o").arg(made).arg(source).arg("-ldl");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Runs `trib run` with the program on 2 ranks, with options of `trib run` and words behind the program.
fn run(folder: &Path, options: &[&str], behind: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    command.args(["run", "--library"]).arg(library()).args(options).args(["--", &tools().1, "-n", "2"]);
    command.arg(program()).arg(folder.join("file")).args(behind).current_dir(folder);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("MPIEXEC_TIMEOUT", "60");
    let _alone = mpiexec::alone();
    command.envs(environment.iter().copied()).output().unwrap()
}

/// Tests AddressSanitizer, whose runtime ends a program in which another library is loaded before it.
#[test]
fn the_runtime_of_address_sanitizer_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("sanitized");
    compile(PROGRAM, &made, &["-D_GNU_SOURCE", "-g", "-fsanitize=address"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    command.args(["run", "--library"]).arg(library()).args(["--report", "json", "--", &tools().1, "-n", "2"]);
    command.arg(&made).arg(folder.path().join("file")).current_dir(folder.path());
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("MPIEXEC_TIMEOUT", "60");
    // Memory that MPI itself does not free is not this test's concern.
    command.env("ASAN_OPTIONS", "detect_leaks=0");
    let output = {
        let _alone = mpiexec::alone();
        command.output().unwrap()
    };
    let (out, error) = printed(&output);
    assert_eq!(output.status.code(), Some(0), "{out}{error}");
    assert!(error.lines().next().is_some_and(|line| line.contains(", behind libasan.so")), "{error}");
    assert!(error.contains("\"accelerated\":{\"write_at_all\""), "{error}");
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), [0, 1, 16, 17, 32, 33]);
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_trib"));
    let (out, _) = printed(&doctor.args(["doctor", "--library"]).arg(library()).arg("--").arg(&made).output().unwrap());
    assert!(out.contains("must come first in LD_PRELOAD; trib run puts it there"), "{out}");
}

fn printed(output: &Output) -> (String, String) {
    let [out, error] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    (out, error)
}

#[test]
fn ranks_have_the_library_and_their_launcher_has_not() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["--report", "json", "--hints", "cb_nodes=1"], &[], &[]);
    let (out, error) = printed(&output);
    assert_eq!(output.status.code(), Some(0), "{error}");
    for rank in 0..2 {
        assert!(out.contains(&format!("rank {rank}: 1, launcher 0 0\n")), "{out}");
    }
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), [0, 1, 16, 17, 32, 33]);
    let option = if mpiexec::is_mpich() { "by -genv of hydra" } else { "by -x of Open MPI" };
    assert!(
        error.starts_with(&format!("trib: {} is preloaded into the ranks, {option}\n", library().display())),
        "{error}"
    );
    let report = error.lines().find_map(|line| line.split_once("tributary: {")).map(|(_, rest)| format!("{{{rest}"));
    let report: serde_json::Value = serde_json::from_str(&report.unwrap_or_else(|| panic!("{error}"))).unwrap();
    assert!(report["accelerated"].to_string().contains("write_at_all"), "{report}");
}

#[test]
fn a_command_ends_as_the_launcher_does() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), &[], &["3"], &[]).status.code(), Some(3));
    // Which code a launcher has for a killed rank differs from run to run: hydra ends with 15 or 255.
    assert!(!run(folder.path(), &[], &["-15"], &[]).status.success());
}

/// Each rank would be a job of its own, and all would write one file.
#[test]
fn a_launcher_of_another_mpi_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // The launcher is recognised by its name and not started.
    let other = if mpiexec::is_mpich() { "orterun" } else { "mpiexec.hydra" };
    for name in ["run", "compare"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
        command.arg(name).arg("--library").arg(library()).args(["--", other, "-n", "2"]).arg(program()).arg("file");
        let (out, error) = printed(&command.current_dir(folder.path()).output().unwrap());
        assert!(error.starts_with("trib: launcher: that of ") && error.lines().count() == 1, "{error}");
        assert!(out.is_empty() && !folder.path().join("file").exists(), "{out}");
    }
}

/// Preloads a library that counts calls as Darshan does, in the environment or by the command itself: it sees all
/// calls.
#[test]
fn what_is_preloaded_already_stays_in_front() {
    let folder = tempfile::tempdir().unwrap();
    let counting = folder.path().join("counting.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../bindings/mpiio/tests/programs/counting.c");
    compile(&std::fs::read_to_string(source).unwrap(), &counting, &["-shared", "-fPIC"]);
    let path = counting.display().to_string();
    let output = run(folder.path(), &["--report", "json"], &[], &[("LD_PRELOAD", &path)]);
    let (_, error) = printed(&output);
    for rank in 0..2 {
        assert!(error.contains(&format!("counting: rank {rank}: 1 opens, 3 writes, 0 reads")), "{error}");
    }
    assert!(error.contains(", behind counting.so\n") && error.contains("\"write_at_all\""), "{error}");
}

/// Links the program with a library that counts calls as Darshan does, and has its name. Preloaded in front of it, our
/// library hides the collective writes; `trib run` puts Darshan first.
#[test]
fn a_darshan_that_the_program_is_linked_with_counts_all_calls() {
    let folder = tempfile::tempdir().unwrap();
    let (darshan, made) = (folder.path().join("libdarshan.so"), folder.path().join("linked"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../bindings/mpiio/tests/programs/counting.c");
    let counting = std::fs::read_to_string(source).unwrap();
    compile(&counting, &darshan, &["-shared", "-fPIC", "-Wl,-soname,libdarshan.so"]);
    let at = folder.path().display().to_string();
    let (search, found) = (format!("-L{at}"), format!("-Wl,-rpath,{at}"));
    compile(PROGRAM, &made, &["-D_GNU_SOURCE", &search, &found, "-Wl,--no-as-needed", "-ldarshan"]);
    let start = |command: &mut Command| {
        command.arg(&made).arg(folder.path().join("file")).current_dir(folder.path());
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("MPIEXEC_TIMEOUT", "60");
        let output = {
            let _alone = mpiexec::alone();
            command.output().unwrap()
        };
        let (out, error) = printed(&output);
        assert_eq!(output.status.code(), Some(0), "{out}{error}");
        error
    };
    let counts = |error: &str, writes: usize| {
        (0..2).all(|rank| error.contains(&format!("counting: rank {rank}: 1 opens, {writes} writes, 0 reads")))
    };
    let (ours, mut hidden) = (library().display().to_string(), Command::new(tools().1));
    let error = start(match mpiexec::is_mpich() {
        true => hidden.args(["-n", "2", "-genv", "LD_PRELOAD", &ours]),
        false => hidden.args(["-n", "2", "-x", &format!("LD_PRELOAD={ours}")]),
    });
    assert!(counts(&error, 0), "{error}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    command.args(["run", "--library"]).arg(library()).args(["--report", "json", "--", &tools().1, "-n", "2"]);
    let error = start(&mut command);
    assert!(counts(&error, 3) && error.contains("\"accelerated\":{\"write_at_all\""), "{error}");
    assert!(error.lines().next().is_some_and(|line| line.ends_with(", behind libdarshan.so")), "{error}");
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_trib"));
    let (out, _) = printed(&doctor.args(["doctor", "--library"]).arg(library()).arg("--").arg(&made).output().unwrap());
    assert!(out.contains("libdarshan.so: the program is linked with it, so it must come before the library"), "{out}");
}

#[test]
fn a_page_and_words_of_every_file_when_the_program_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["--report", "html", "--explain"], &["3"], &[]);
    let (out, error) = printed(&output);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(out.contains("rank 0: 1, launcher 0 0\n") && !out.contains("tribcap"), "{out}");
    let [first] = &runs(&folder.path().join("captures"))[..] else { panic!("not one run: {error}") };
    let page = std::fs::read_to_string(folder.path().join("captures").join(first).join("file.html")).unwrap();
    assert!(page.contains("<h2 id=\"says\">In words</h2>"), "{page}");
    assert!(error.contains(&format!("captures/{first}/file.html: ")), "{error}");
    // A second run has captures of its own, with nothing of the first.
    let output = run(folder.path(), &["--capture"], &[], &[("SLURM_JOB_ID", "4711")]);
    let (_, error) = printed(&output);
    let both = runs(&folder.path().join("captures"));
    let second = both.iter().find(|run| *run != first).unwrap();
    assert!(second.starts_with("run_program-") && second.ends_with("Z-4711"), "{second}");
    assert!(error.contains(&format!("captures/{second}/file.tribcap\n")) && !error.contains("html"), "{error}");
    // The newest is explained.
    let mut explain = Command::new(env!("CARGO_BIN_EXE_trib"));
    let (out, _) = printed(&explain.args(["explain", "captures"]).current_dir(folder.path()).output().unwrap());
    let due = format!("in captures/{second}.");
    assert!(out.contains("captures has captures of 2 runs. This is the newest, of ") && out.contains(&due), "{out}");
}

/// Returns the names of the folders in a folder.
fn runs(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The program opens one file after the other; their names have another order. Runs with TRIB_CAPTURE share a folder.
#[test]
fn captures_are_in_the_order_of_time_and_runs_apart() {
    let folder = tempfile::tempdir().unwrap();
    let (_, error) = printed(&run(folder.path(), &["--explain"], &["0", "also"], &[]));
    let places =
        ["/file, on 2 ranks", "/also, on 2 ranks"].map(|file| error.find(file).unwrap_or_else(|| panic!("{error}")));
    assert!(places[0] < places[1], "{error}");
    let captures = folder.path().join("flat").display().to_string();
    for others in [&["0", "also"][..], &[]] {
        let output = run(folder.path(), &["--report", "json"], others, &[("TRIB_CAPTURE", &captures)]);
        assert!(output.status.success(), "{}", printed(&output).1);
    }
    let mut explain = Command::new(env!("CARGO_BIN_EXE_trib"));
    let (out, _) = printed(&explain.args(["explain", &captures, "--json"]).output().unwrap());
    let job: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&job["earlier_runs"], job["files"].as_array().unwrap().len()), (&1.into(), 1), "{out}");
    assert_eq!(job["files"][0]["name"], "file.2", "{out}");
}

/// Ranks that write small pieces by themselves would gain from collective calls: nobody says that there is nothing to do.
#[test]
fn independent_calls_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("independent");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../bindings/mpiio/tests/programs/independent.c");
    compile(&std::fs::read_to_string(source).unwrap(), &made, &[]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    command.args(["run", "--library"]).arg(library()).args(["--explain", "--", &tools().1, "-n", "2"]);
    command.arg(&made).args(["16384", "64"]).current_dir(folder.path());
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("MPIEXEC_TIMEOUT", "60");
    let output = {
        let _alone = mpiexec::alone();
        command.output().unwrap()
    };
    let (_, error) = printed(&output);
    for part in [
        "No collective call took any time. To do: Make 32,768 small independent calls collective, which took ",
        "An estimate: in a few collective calls of all ranks they would take ",
        "MPI-IO: the functions that end in _all, called by all ranks of the file.",
        "Ranks made 32,768 independent calls of write_at, 64 bytes each, in ",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!error.contains("Nothing"), "{error}");
}

#[test]
fn a_page_of_the_job_where_it_has_several_files() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["--report", "html"], &["0", "other"], &[]);
    let (_, error) = printed(&output);
    assert_eq!(output.status.code(), Some(0), "{error}");
    let [name] = &runs(&folder.path().join("captures"))[..] else { panic!("not one run: {error}") };
    assert!(error.contains(&format!("captures/{name}/job.html: all of the job, 2 files\n")), "{error}");
    let made = folder.path().join("captures").join(name);
    let page = std::fs::read_to_string(made.join("job.html")).unwrap();
    for words in [
        "made 6 collective calls on 2 files, on 2 ranks of 1 node",
        "<dt>MPI</dt>",
        "<td><a href=\"./file.html\">file</a></td>",
        "<td><a href=\"./other.html\">other</a></td>",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    for file in ["file.html", "other.html"] {
        let page = std::fs::read_to_string(made.join(file)).unwrap();
        assert!(page.contains("<a href=\"job.html\">All files of the job</a>"), "{file}: {page}");
    }
    assert!(page.contains("<dd>MPICH ") || page.contains("<dd>Open MPI v"), "{page}");
}

#[test]
fn the_gain_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["--compare", "--hints", "cb_nodes=1"], &[], &[]);
    let (out, error) = printed(&output);
    assert_eq!(output.status.code(), Some(0), "{error}");
    // The first run is without the library, the second with it; the launcher never has it. Later runs print nothing.
    assert!(out.contains("rank 0: 0, launcher 0 0\n") && out.contains("rank 0: 1, launcher 0 0\n"), "{out}");
    assert_eq!(out.matches("rank 0: ").count(), 2, "{out}");
    let gain = error.lines().last().unwrap();
    assert!(gain.contains("(inside MPI-IO, 2 ranks)") && gain.contains(" pairs of runs): "), "{error}");
    assert!(gain.contains("with the library") || gain.contains("differ too much to tell"), "{error}");
    let output = run(folder.path(), &["--compare"], &["3"], &[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(printed(&output).1.contains("it ended like this without the library: exit status: 3"), "{output:?}");
}

/// Tests a program that can run only twice, because it changes its files: the command ends as the first run with the
/// library ends.
#[test]
fn a_program_that_does_not_run_a_third_time_is_compared_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("twice");
    let text = "#!/bin/sh\necho run >> runs\ntest $(wc -l < runs) -le 2 || exit 9\nexec \"$@\"\n";
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    command.args(["run", "--library"]).arg(library()).args(["--compare", "--"]).arg(&script).arg("true");
    let output = command.current_dir(folder.path()).output().unwrap();
    let (_, error) = printed(&output);
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert!(error.contains("it does not run again (exit status: 9); the runs before count"), "{error}");
    assert!(error.lines().last().unwrap().contains("(one run of each)"), "{error}");
}
