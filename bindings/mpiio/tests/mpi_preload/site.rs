//! Tests the site's file: hints, files and programs that are left to MPI, the line about a job; and programs with
//! more rights than their user.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::launch::{Launch, Outcome, library};
use crate::common::matrix::same;
use crate::common::programs::{Build, compile};
use crate::common::report::NotUsed;

const RANKS: usize = 3;

/// An installation with a site's file.
struct Installed(tempfile::TempDir);

impl Installed {
    fn with(text: &str) -> Self {
        let this = Self(tempfile::tempdir().unwrap());
        for folder in ["lib", "etc"] {
            std::fs::create_dir(this.path(folder)).unwrap();
        }
        std::fs::copy(library(), this.library()).unwrap();
        std::fs::write(this.conf(), text).unwrap();
        std::fs::set_permissions(this.0.path(), PermissionsExt::from_mode(0o755)).unwrap();
        this
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn library(&self) -> PathBuf {
        self.path("lib/libtributary_mpiio.so")
    }

    fn conf(&self) -> PathBuf {
        self.path("etc/tributary.conf")
    }

    fn launch(&self, program: &str) -> Launch {
        Launch::new(RANKS, &compile(program)).env("TRIB_REPORT", "json").also_preload(&self.library())
    }

    /// Adds an empty log to the site's file.
    fn log(&self, name: &str) -> PathBuf {
        let log = self.path(name);
        let before = std::fs::read_to_string(self.conf()).unwrap();
        std::fs::write(self.conf(), format!("{before}log {}\n", log.display())).unwrap();
        std::fs::write(&log, "").unwrap();
        log
    }
}

/// Returns the lines of a log as JSON values.
fn lines(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|cause| panic!("{line}: {cause}"))).collect()
}

/// Returns the reason why MPI ran the collective calls of the only file; None if the engine ran them.
fn left(outcome: &Outcome) -> Option<&str> {
    let [report] = &outcome.reports[..] else { panic!("not one report: {}", outcome.stderr) };
    assert_eq!(outcome.stdout.matches("write: SUCCESS").count(), 2 * RANKS, "{}", outcome.stdout);
    assert_eq!(report.passed_through.is_empty(), report.accelerated.contains_key("write_at_all"), "{report:?}");
    report.passed_through.first().map(|passed| passed.why.as_str())
}

#[test]
fn hints_of_the_site_are_below_all_others() {
    let installed = Installed::with(
        "hints *.dat:cb_nodes=1\nhints */out.nc:cb_nodes=2:cb_buffer_size=2M:striping_unit=4096\ncb_nodes=3\n",
    );
    let outcome = installed.launch("hints.c").hints("cb_nodes=3; trib_shared_memory=disable; trib_tiny_call=0").run();
    assert_eq!(left(&outcome), None);
    let report = &outcome.reports[0];
    for (key, value) in [("cb_nodes", "3"), ("cb_buffer_size", "1048576"), ("striping_unit", "4096")] {
        assert_eq!(report.hints.get(key).map(String::as_str), Some(value), "{key}: {report:?}");
    }
    let line = |number: usize| format!("{}, line {number}", installed.conf().display());
    let of_site = |unused: &&NotUsed| unused.source.starts_with(&*installed.conf().to_string_lossy());
    let told: Vec<_> = report.hints_not_used.iter().filter(of_site).collect();
    let told: Vec<_> = told.iter().map(|unused| (unused.value.as_str(), &unused.source, unused.why.as_str())).collect();
    // Hints of the site that others overrule are none that the user misses.
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].0 == "cb_nodes=3" && *told[0].1 == line(3) && told[0].2.starts_with("\"cb_nodes=3\" is no keyword; "),
        "{told:?}"
    );
}

#[test]
fn files_and_programs_are_left_to_mpi_as_the_first_rank_reads() {
    let program = compile("hints.c");
    let name = program.file_name().unwrap().to_string_lossy().into_owned();
    let plain = Launch::new(RANKS, &program).run();
    for (line, is_left) in [
        ("leave */out.nc".to_string(), true),
        ("leave */out".to_string(), false),
        (format!("off {name}"), true),
        ("off hints".to_string(), false),
    ] {
        let installed = Installed::with(&format!("{line}\n"));
        let outcome = installed.launch("hints.c").run();
        assert_eq!(outcome.files, plain.files, "{line}");
        let due = format!("{}, line 1: {line}", installed.conf().display());
        assert_eq!(left(&outcome), is_left.then_some(due.as_str()), "{line}");
        // The user's way out, on the rank that decides and on one that does not.
        assert_eq!(left(&installed.launch("hints.c").arg("TRIB_CONF=/dev/null").run()), None, "{line}");
        let other = installed.launch("hints.c").arg("1:TRIB_CONF=/dev/null").run();
        assert_eq!(left(&other), is_left.then_some(due.as_str()), "{line}");
    }
    let installed = Installed::with("");
    let theirs = installed.path("theirs");
    std::fs::write(&theirs, "leave *\n").unwrap();
    let theirs = format!("TRIB_CONF={}", theirs.display());
    let due = format!("{theirs}, line 1: leave *");
    assert_eq!(left(&installed.launch("hints.c").arg(&theirs).run()), Some(due.as_str()));
    assert_eq!(left(&installed.launch("hints.c").arg(format!("1:{theirs}")).run()), None);
}

#[test]
fn a_file_of_trib_conf_that_is_wrong_is_an_error_of_all_ranks() {
    let installed = Installed::with("");
    let wrong = installed.path("wrong");
    std::fs::write(&wrong, "# ours\nleaf /home/*\n").unwrap();
    for (variable, says) in [
        (
            format!("TRIB_CONF={}", wrong.display()),
            format!("TRIB_CONF={}, line 2: `leaf /home/*`; allowed: ", wrong.display()),
        ),
        ("TRIB_CONF=/no/such".to_string(), "TRIB_CONF: /no/such: No such file".to_string()),
    ] {
        let outcome = installed.launch("hints.c").arg(variable).run();
        assert_eq!(
            outcome.stdout.matches("write: SUCCESS").count(),
            RANKS,
            "MPI runs the later call: {}",
            outcome.stdout
        );
        assert_eq!(outcome.lines_with(&says), 1, "{}", outcome.stderr);
    }
}

#[test]
fn a_job_is_one_line_of_the_sites_log() {
    let installed = Installed::with("leave */left*\n");
    let log = installed.log("jobs");
    let launch = installed.launch("hints.c").env("SLURM_JOB_ID", "4711").env("SLURM_STEP_ID", "2").env("USER", "anna");
    let outcome = launch.run();
    assert_eq!(left(&outcome), None);
    let [line] = &lines(&log)[..] else { panic!("{:?}", lines(&log)) };
    assert_eq!((&line["whole"], &line["ranks"], &line["hosts"]), (&true.into(), &RANKS.into(), &1.into()), "{line}");
    assert_eq!((&line["job"], &line["user"]), (&"4711".into(), &"anna".into()), "{line}");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!((&line["step"], &line["host"]), (&"2".into(), &host.trim().into()), "{line}");
    assert!(line.get("array").is_none(), "{line}");
    assert!(line["program"].as_str().unwrap().contains("/hints."), "{line}");
    assert_eq!(line["files"], serde_json::json!({"accelerated": 1, "left_to_mpi": 0}), "{line}");
    assert_eq!(
        line["calls"],
        serde_json::json!({"accelerated": 2, "left_to_mpi": 0, "independent": 0, "failed": 0}),
        "{line}"
    );
    assert_eq!(line["bytes"], serde_json::json!({"written": 2 * 16 * RANKS, "read": 0}), "{line}");
    assert!(line["time"].as_u64().unwrap() > 1_700_000_000 && line["seconds"].as_f64().unwrap() > 0.0, "{line}");
    // The first rank's reading decides.
    installed.launch("hints.c").arg("1:TRIB_CONF=/dev/null").run();
    assert_eq!(lines(&log).len(), 2);
    installed.launch("hints.c").arg("TRIB_CONF=/dev/null").run();
    installed.launch("hints.c").env("TRIB_DISABLE", "1").run();
    installed.launch("idle.c").run();
    assert_eq!(lines(&log).len(), 2, "not asked for, off, and without a file");
    std::fs::write(installed.conf(), format!("off *\nlog {}\n", log.display())).unwrap();
    installed.launch("hints.c").run();
    let line = &lines(&log)[2];
    assert_eq!(
        (&line["whole"], &line["calls"]["left_to_mpi"], &line["files"]["left_to_mpi"]),
        (&true.into(), &2.into(), &1.into())
    );
}

/// If ranks cannot know that all ranks have the library, each first rank of a file writes a line, and nobody waits.
#[test]
fn files_of_some_ranks_are_told_by_their_first() {
    let installed = Installed::with("");
    let log = installed.log("jobs");
    installed.launch("many.c").arg("self").arg("60").run();
    let own = lines(&log);
    assert_eq!(own.len(), RANKS, "{own:?}");
    for line in own {
        assert!(line["whole"] == false && line.get("hosts").is_none() && line["ranks"] == RANKS, "{line}");
        assert_eq!(line["files"], serde_json::json!({"accelerated": 60, "left_to_mpi": 0}), "{line}");
    }
    // After a file of all ranks they know of each other, and files of some are in the one line.
    std::fs::write(&log, "").unwrap();
    let outcome = installed.launch("groups.c").run();
    let [line] = &lines(&log)[..] else { panic!("{:?}", lines(&log)) };
    let files = line["files"]["accelerated"].as_u64().unwrap() as usize;
    assert!(line["whole"] == true && files > 1 && files >= outcome.files.len(), "{line}");
}

#[test]
fn a_log_that_cannot_be_written_is_told_in_a_report_and_fails_nothing() {
    let plain = Launch::new(RANKS, &compile("split.c")).run();
    let installed = Installed::with("log /nowhere/jobs\nlog syslog\n");
    let outcome = installed.launch("split.c").run();
    same(&outcome, &plain, "with a log that cannot be written");
    let line = "tributary: site's log /nowhere/jobs: write: No such file or directory";
    assert_eq!(outcome.stderr.matches(line).count(), 1, "{}", outcome.stderr);
    let silent = installed.launch("split.c").env("TRIB_REPORT", "").run();
    assert!(!silent.stderr.contains("tributary"), "{}", silent.stderr);
}

/// Only root can give a program to another user: other users skip this test.
#[test]
fn a_setuid_program_reads_no_variable_of_its_user() {
    let installed = Installed::with("hints *:cb_nodes=1\n");
    let log = installed.log("jobs");
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        eprintln!("not tried: only root can give a program to another user");
        return;
    }
    let linked = ["-Wl,--no-as-needed", "-L", &installed.path("lib").display().to_string(), "-l:libtributary_mpiio.so"]
        .map(String::from);
    let path = format!("-Wl,-rpath,{}", installed.path("lib").display());
    let options = linked.into_iter().chain([path]).collect();
    let built = Build { name: Some("hints-setuid"), options, ..Build::default() }.compile("hints.c");
    let (program, folder) = (installed.path("program"), installed.path("run"));
    std::fs::copy(built, &program).unwrap();
    std::fs::create_dir(&folder).unwrap();
    for path in [&folder, &program, &log] {
        chown(path, Some(65534), Some(65534)).unwrap();
    }
    let conf = installed.path("theirs");
    std::fs::write(&conf, "leaf\n").unwrap();
    let run = |mode: u32| {
        std::fs::set_permissions(&program, PermissionsExt::from_mode(mode)).unwrap();
        let output = Command::new("timeout")
            .args(["60", &program.display().to_string()])
            .current_dir(&folder)
            .env("TRIB_REPORT", "json")
            .env("TRIB_CAPTURE", folder.join("captures"))
            .env("TRIB_CONF", &conf)
            .env("TRIB_HINTS", "cb_nodes=none")
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .output()
            .unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}");
        said
    };
    let said = run(0o4755);
    assert_eq!(said.matches("write: SUCCESS").count(), 2, "{said}");
    assert!(!said.contains("tributary: {") && !said.contains("TRIB_") && !folder.join("captures").exists(), "{said}");
    let [line] = &lines(&log)[..] else { panic!("{:?}", lines(&log)) };
    assert_eq!(
        (&line["uid"], &line["user"], &line["calls"]["accelerated"]),
        (&0.into(), &Value::Null, &2.into()),
        "{line}"
    );
    // The same program with the rights of its user reads them all.
    let said = run(0o755);
    assert!(said.contains("of TRIB_HINTS: `none` is not allowed") && said.contains("tributary: {"), "{said}");
}
