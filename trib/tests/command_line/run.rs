//! Tests `trib run` with launchers that are not on every machine: the command as text, and the variables of the ranks,
//! by stand-ins that accept only the documented options.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::installation::install;

// Links the package, so that cargo builds its library together with the test.
use tributary_mpiio as _;

/// Returns the path of the library to preload.
fn library() -> PathBuf {
    let path = std::env::current_exe().unwrap().with_file_name("libtributary_mpiio.so");
    path.canonicalize().unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
}

/// Runs `trib run` with programs of a folder first in PATH. No variable of the caller reaches the command.
fn run(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    command.args(["run", "--library"]).arg(library()).args(arguments).current_dir(folder);
    command.env_clear().env("PATH", format!("{}:/usr/bin:/bin", folder.display())).envs(environment.iter().copied());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace(&library().display().to_string(), "LIBRARY")
}

fn script(folder: &Path, name: &str, lines: &str) {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/bash\n{lines}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Shell program of a rank: prints variables of its environment, and ends with exit code 3.
const RANK: &str = r#"echo "LD_PRELOAD=$LD_PRELOAD TRIB_HINTS=$TRIB_HINTS TRIB_REPORT=$TRIB_REPORT A=$A"; exit 3"#;

/// Beginning of every stand-in: checks that the launcher itself has no library.
const WITHOUT: &str = r#"
[[ -z ${LD_PRELOAD-} ]] || { echo "the launcher has LD_PRELOAD"; exit 9; }
"#;

fn stand_ins(folder: &Path) {
    script(folder, "rank", RANK);
    // srun: ranks have the variables of the one list; with ALL also srun's own.
    script(
        folder,
        "srun",
        &format!(
            r#"{WITHOUT}
export=ALL
while [[ $1 == -* ]]; do
    case $1 in --export=*) export=${{1#--export=}} ;; -n) shift ;; *) exit 8 ;; esac
    shift
done
IFS=, read -ra items <<<"$export"
all="" list=()
for item in "${{items[@]}}"; do
    case $item in ALL) all=yes ;; *=*) list+=("$item") ;; *) list+=("$item=${{!item}}") ;; esac
done
[[ $all ]] || exec env -i PATH="$PATH" "${{list[@]}}" "$@"
exec env "${{list[@]}}" "$@""#
        ),
    );
    // flux run: `$$` is a dollar in a value.
    script(
        folder,
        "flux",
        &format!(
            r#"{WITHOUT}
[[ $1 == run ]] || exit 8
shift
while [[ $1 == -* ]]; do
    case $1 in --env=*) rule=${{1#--env=}}; export "${{rule//'$$'/'$'}}" ;; -n) shift ;; *) exit 8 ;; esac
    shift
done
exec "$@""#
        ),
    );
    for (name, option) in [("jsrun", "-E"), ("aprun", "-e")] {
        script(
            folder,
            name,
            &format!(
                r#"{WITHOUT}
while [[ $1 == -* ]]; do
    case $1 in {option}) export "$2"; shift ;; -n) shift ;; *) exit 8 ;; esac
    shift
done
exec "$@""#
            ),
        );
    }
}

#[test]
fn ranks_of_every_scheduler_get_the_library_and_the_launcher_does_not() {
    let folder = tempfile::tempdir().unwrap();
    stand_ins(folder.path());
    let hints = "cb_nodes=2;trib_rank_list=1,0";
    for command in ["srun -n 2 ./rank", "flux run -n 2 ./rank", "jsrun -n 2 ./rank", "aprun -n 2 ./rank"] {
        let words: Vec<&str> =
            ["--report", "json", "--hints", hints, "--"].into_iter().chain(command.split(' ')).collect();
        let output = run(folder.path(), &words, &[("A", "kept"), ("TRIB_HINTS", "cb_nodes=1 # so far")]);
        let due = format!("LD_PRELOAD=LIBRARY TRIB_HINTS=cb_nodes=1;{hints} TRIB_REPORT=json A=kept\n");
        assert_eq!((text(&output.stdout), output.status.code()), (due, Some(3)), "{command}: {}", text(&output.stderr));
        let said = text(&output.stderr);
        assert!(
            said.starts_with("trib: LIBRARY is preloaded into the ranks, by -") && said.lines().count() == 1,
            "{said}"
        );
    }
    // A list without ALL: what has commas goes by its name.
    let words = ["--hints", hints, "--", "srun", "--export=A", "-n", "2", "./rank"];
    let output = run(folder.path(), &words, &[("A", "kept"), ("B", "not")]);
    let due = format!("LD_PRELOAD=LIBRARY TRIB_HINTS={hints} TRIB_REPORT= A=kept\n");
    assert_eq!(text(&output.stdout), due, "{}", text(&output.stderr));
}

#[test]
fn a_dry_run_prints_the_command_and_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    stand_ins(folder.path());
    let at = std::path::absolute(folder.path()).unwrap();
    for (line, environment, due) in [
        ("-- srun -n 2 ./rank", &[][..], "srun --export=ALL,LD_PRELOAD=LIBRARY -n 2 ./rank"),
        (
            "--report -- srun --export=NONE ./rank",
            &[("LD_PRELOAD", "/d/libdarshan.so")],
            "srun --export=LD_PRELOAD=/d/libdarshan.so:LIBRARY,TRIB_REPORT=1 ./rank",
        ),
        (
            "--report -- aprun ./rank",
            &[("COLUMNS", "80")],
            "aprun -e LD_PRELOAD=LIBRARY -e TRIB_REPORT=1 -e COLUMNS=80 ./rank",
        ),
        ("-- flux run -n 2 ./rank", &[], "flux run --env=LD_PRELOAD=LIBRARY -n 2 ./rank"),
        (
            "--capture -- jsrun -n 2 ./rank",
            &[("SLURM_JOB_ID", "4711")],
            "jsrun -E LD_PRELOAD=LIBRARY -E TRIB_CAPTURE=HERE/captures/rank-DATE-4711 -n 2 ./rank",
        ),
        (
            "--hints cb_nodes=2 -- aprun ./rank : ./rank",
            &[],
            "aprun -e LD_PRELOAD=LIBRARY -e TRIB_HINTS=cb_nodes=2 ./rank : -e LD_PRELOAD=LIBRARY -e TRIB_HINTS=cb_nodes=2 ./rank",
        ),
        (
            "--report html -- mpiexec.hydra ./rank",
            &[],
            "mpiexec.hydra -genv LD_PRELOAD LIBRARY -genv TRIB_CAPTURE HERE/captures/rank-DATE ./rank",
        ),
        (
            "-- orterun ./rank",
            &[("TRIB_HINTS", "cb_nodes=1")],
            "orterun -x LD_PRELOAD=LIBRARY -x TRIB_HINTS=cb_nodes=1 ./rank",
        ),
        ("-- time srun ./rank", &[], "LD_PRELOAD=LIBRARY time srun ./rank"),
    ] {
        let words: Vec<&str> = ["--dry-run"].into_iter().chain(line.split(' ')).collect();
        let output = run(folder.path(), &words, environment);
        let printed = text(&output.stdout).replace(&at.display().to_string(), "HERE");
        // The directory of a run has the date, 20261130T000433Z.
        let printed = printed.split_once("/captures/rank-").map_or(printed.clone(), |(before, after)| {
            assert!(after.as_bytes()[8] == b'T' && after.as_bytes()[15] == b'Z', "{printed}");
            format!("{before}/captures/rank-DATE{}", &after[16..])
        });
        assert_eq!((printed.trim_end(), output.status.code()), (due, Some(0)), "{line}: {}", text(&output.stderr));
    }
}

/// Runs a program that was just copied. Another thread of this process may be starting a program, with the copy still
/// open for writing; then this tries again.
fn output_of(command: &mut Command) -> std::process::Output {
    loop {
        match command.output() {
            Err(cause) if cause.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            other => return other.unwrap(),
        }
    }
}

/// Tests an installation as `bindings/install` makes it.
#[test]
fn an_installed_trib_finds_the_library_beside_itself() {
    let prefix = tempfile::tempdir().unwrap();
    let at = |name: &str| prefix.path().join(name);
    std::fs::create_dir(at("bin")).and_then(|()| std::fs::create_dir(at("lib"))).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_trib"), at("bin/trib")).unwrap();
    let dry = || {
        let mut command = Command::new(at("bin/trib"));
        output_of(command.args(["run", "--dry-run", "--", "true"]).env_remove("LD_PRELOAD"))
    };
    let said = text(&dry().stderr);
    assert!(said.starts_with("trib: library: none beside this program; allowed: --library PATH"), "{said}");
    std::fs::copy(library(), at("lib/libtributary_mpiio.so")).unwrap();
    let due = format!("LD_PRELOAD={} true\n", at("lib/libtributary_mpiio.so").canonicalize().unwrap().display());
    assert_eq!(text(&dry().stdout), due);
}

/// Open MPI 4 loads the installed component. Under Open MPI 5, if the user names a library, and under PnetCDF 1.15, the
/// library is preloaded.
#[test]
fn an_installed_trib_has_open_mpi_load_the_component() {
    let prefix = tempfile::tempdir().unwrap();
    let root = prefix.path().canonicalize().unwrap();
    let at = |name: &str| root.join(name).display().to_string();
    install(&root, &library());
    script(&root, "orterun", "echo \"orterun (OpenRTE) $VERSION\"");
    let dry_of = |program: &str, version: &str, folders: &str, library: &[&str]| {
        let mut command = Command::new(at("bin/trib"));
        command.args(["run", "--dry-run"]).args(library).args(["--", &at("orterun"), "-n", "2", program]);
        command.current_dir(&root).env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("VERSION", version);
        let output = output_of(command.env("OMPI_MCA_mca_base_component_path", folders));
        text(&output.stdout).trim_end().replace(&at(""), "")
    };
    let dry = |version: &str, folders: &str, library: &[&str]| dry_of("./rank", version, folders, library);
    let loaded = |folders: &str| {
        format!("orterun -x OMPI_MCA_mca_base_component_path=lib/tributary/openmpi:{folders} -n 2 ./rank")
    };
    let preloaded = "orterun -x LD_PRELOAD=lib/libtributary_mpiio.so -n 2 ./rank";
    assert_eq!(dry("4.1.4", "", &[]), loaded("SYSTEM_DEFAULT:USER_DEFAULT"));
    assert_eq!(dry("4.0.7", "/a:/b", &[]), loaded("/a:/b"));
    assert_eq!(dry("5.0.7", "", &[]), preloaded);
    assert_eq!(dry("4.1.4", "", &["--library", &at("lib/libtributary_mpiio.so")]), preloaded);
    // PnetCDF 1.15 chooses its driver before Open MPI loads the component.
    script(&root, "with_gio", "# nc_driver\0");
    assert_eq!(dry_of("./with_gio", "4.1.4", "", &[]), preloaded.replace("./rank", "./with_gio"));
}

#[test]
fn a_command_ends_as_its_program_does() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "killed", "kill -SEGV $$");
    let output = run(folder.path(), &["--", "./killed"], &[]);
    assert_eq!(output.status.signal(), Some(11), "{output:?}");
    assert!(text(&output.stderr).contains("is no launcher that is known"), "{output:?}");
    let output = run(folder.path(), &["--", "./nothing"], &[]);
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).contains("\ntrib: run: ./nothing: No such file"), "{output:?}");
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "rank", "echo started");
    for (words, says) in [
        (&["--hints", "cb_nodes=0", "--", "./rank"][..], "hint cb_nodes: `0` is not allowed"),
        (&["--hints", "trib_kernl_data=auto", "--", "./rank"], "did you mean trib_kernel_data?"),
        (&["--hints", "romio_cb_wrte=enable", "--", "./rank"], "did you mean romio_cb_write?"),
        (&["--", "/nowhere/mpiexec", "./rank"], "mpiexec: /nowhere/mpiexec: No such file"),
    ] {
        let output = run(folder.path(), words, &[]);
        let said = text(&output.stderr);
        assert!(said.starts_with("trib: ") && said.contains(says) && said.lines().count() == 1, "{said}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    }
    std::fs::write(folder.path().join("junk.so"), "junk").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    let output =
        command.args(["run", "--library", "junk.so", "--", "./rank"]).current_dir(folder.path()).output().unwrap();
    assert!(text(&output.stderr).contains("/junk.so cannot be loaded: file too short; allowed: "), "{output:?}");
    let output = run(folder.path(), &["--", "./rank"], &[("TRIB_HINTS", "cb_nodes=many")]);
    assert!(text(&output.stderr).contains("hint cb_nodes of TRIB_HINTS: `many` is not allowed"), "{output:?}");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
}

/// Checks that a command that is waited for ends as its program does, and that signals reach it.
#[test]
fn a_command_that_is_waited_for_ends_as_its_program_does() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "coded", "exit 7");
    script(folder.path(), "killed", "kill -SEGV $$");
    let output = run(folder.path(), &["--explain", "--", "./coded"], &[]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert!(text(&output.stderr).contains("the library ran no collective read or write"), "{output:?}");
    assert_eq!(run(folder.path(), &["--capture", "--", "./killed"], &[]).status.signal(), Some(11));
    assert_eq!(run(folder.path(), &["--capture", "--", "./nothing"], &[]).status.code(), Some(127));

    script(folder.path(), "waiting", "trap 'exit 9' TERM\ntouch ready\nfor turn in {1..600}; do sleep 0.1; done");
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    command.args(["run", "--library"]).arg(library()).args(["--capture", "--", "./waiting"]).current_dir(folder.path());
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    let start = std::time::Instant::now();
    while !folder.path().join("ready").exists() {
        assert!(start.elapsed().as_secs() < 60, "the command has not begun");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn a_variable_that_looks_like_one_of_ours_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["--", "true"], &[("TRIB_HINT", "cb_nodes=1")]);
    let said = text(&output.stderr);
    assert!(
        said.starts_with("trib: variable TRIB_HINT: `cb_nodes=1` is not read; did you mean TRIB_HINTS?\n"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(0));
    let said = text(&run(folder.path(), &["--", "true"], &[("TRIB_HINTS", "cb_node=3")]).stderr);
    assert!(said.starts_with("trib: hint cb_node=3 of TRIB_HINTS: unknown key; did you mean cb_nodes?\n"), "{said}");
}

/// Checks the line about a program without an MPI library, where a report was asked for.
#[test]
fn a_report_of_a_program_without_mpi_is_not_to_be_expected() {
    let folder = tempfile::tempdir().unwrap();
    let says = "trib: true is linked with no MPI library: there is a report only if it, or what it starts, opens a file by MPI_File_open";
    for (options, due) in [(&["--report", "--", "true"][..], 1), (&["--", "true"], 0)] {
        let output = run(folder.path(), options, &[]);
        assert_eq!((output.status.code(), text(&output.stderr).matches(says).count()), (Some(0), due), "{output:?}");
    }
    let said = text(&run(folder.path(), &["--report", "--explain", "--", "true"], &[]).stderr);
    assert!(said.contains("the report above says why; without one, there was no MPI file"), "{said}");
}

/// The line about the library is right for every value of TRIB_DISABLE: the library itself reads it so.
#[test]
fn a_library_that_is_off_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (value, is_off) in [("", false), ("0", false), ("1", true), ("yes", true), ("true", true)] {
        let said = text(&run(folder.path(), &["--", "true"], &[("TRIB_DISABLE", value)]).stderr);
        assert_eq!(said.contains("; TRIB_DISABLE is set, so MPI runs all calls"), is_off, "{value}: {said}");
    }
}
