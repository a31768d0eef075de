//! Tests the job scripts of `lab/batch` without a cluster: a stand-in launcher, rows so small that they take a moment,
//! and jobs that are killed or told to end. Then `trib-lab figures` draws their results.
//!
//! `lab/batch/ask-slurm` checks the scripts with Slurm itself.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tributary::exchange::KERNELS;

use crate::program::{TRIB_LAB, trib};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// All job scripts, each with the number of ranks on a node.
const SCRIPTS: [(&str, u64); 6] = [
    ("cori-knl.slurm", 64),
    ("perlmutter.slurm", 128),
    ("frontier.slurm", 56),
    ("infiniband.slurm", 32),
    ("summit.lsf", 42),
    ("generic.pbs", 32),
];

/// Checks that `body.sh` lists all kernels of the registry, and those kernels for which throttles are tried.
#[test]
fn job_scripts_know_every_kernel() {
    let body = std::fs::read_to_string(format!("{ROOT}/lab/batch/body.sh")).unwrap();
    let between = |begin: &str, end: &str| body.split_once(begin).unwrap().1.split_once(end).unwrap().0.to_string();
    let all: Vec<_> = KERNELS.iter().map(|kernel| kernel.name).collect();
    let columns = between("COLUMNS_OF_5=${COLUMNS_OF_5:-", "}");
    assert_eq!(columns, format!("mpi preload {} two_layer hybrid", all.join(" ")));
    let throttled = KERNELS.iter().filter(|kernel| kernel.default_limit.is_some() && !kernel.coupled);
    let throttled: Vec<_> = throttled.map(|kernel| kernel.name).collect();
    assert_eq!(between("among \"$column\" \"", "\""), format!("{} hybrid", throttled.join(" ")));
}

/// Folder in which jobs run: programs of a cluster that do nothing, launchers, results.
struct Cluster(tempfile::TempDir);

impl Cluster {
    fn new() -> Self {
        let cluster = Self(tempfile::tempdir().unwrap());
        let bin = cluster.path("bin");
        std::fs::create_dir(&bin).unwrap();
        for launcher in ["srun", "jsrun", "mpiexec"] {
            symlink(format!("{ROOT}/lab/trib-lab/tests/data/stand_in_launcher"), bin.join(launcher)).unwrap();
        }
        symlink("/bin/true", bin.join("lfs")).unwrap();
        for (program, words) in [("scontrol", "requeued"), ("bsub", "requeued"), ("qsub", "requeued")] {
            let text = format!("#!/bin/sh\necho {words} \"$@\"\n");
            std::fs::write(bin.join(program), text).unwrap();
            let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(bin.join(program), executable).unwrap();
        }
        // The batch host, and one node.
        std::fs::write(cluster.path("hosts"), "batch\nnode\nnode\n").unwrap();
        std::fs::write(cluster.path("nodes"), "node\nnode\n").unwrap();
        cluster
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns a job on one node. `more` are variables that the user sets.
    fn job(&self, script: &str, more: &[(&str, &str)]) -> Command {
        let mut command = Command::new("bash");
        command.arg(format!("{ROOT}/lab/batch/{script}"));
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        let set = [
            ("PATH", path.as_str()),
            ("TRIBUTARY", ROOT),
            ("TRIB", &trib()),
            ("TRIB_LAB", TRIB_LAB),
            ("FABRIC", "threads"),
            ("CODES", "flash"),
            ("FLASH", "flash --blocks 1 --block-size 1"),
            ("E3SM_F", "e3sm-f --type float"),
            ("BTIO", "btio --grid 24 --iterations 1"),
            ("COLUMNS_OF_5", "balanced two_layer hybrid"),
            ("RUNS", "2"),
            ("SLURM_JOB_NUM_NODES", "1"),
            ("SLURM_JOB_ID", "17"),
            ("LSB_JOBID", "17"),
            ("PBS_JOBID", "17.server"),
        ];
        command.envs(set).envs([
            ("RESULTS", self.path("results")),
            ("SCRATCH", self.path("scratch")),
            ("MEMBERWORK", self.path("scratch")),
            ("CALLS", self.path("calls")),
            ("LSB_DJOB_HOSTFILE", self.path("hosts")),
            ("PBS_NODEFILE", self.path("nodes")),
        ]);
        for name in ["NODES", "HINTS", "WITHOUT", "PRELOAD", "RESUBMIT", "TRIB_HINTS", "TRIB_HINTS_FILE"] {
            command.env_remove(name);
        }
        command.envs(more.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Returns how often each row is in the results.
    fn rows(&self) -> BTreeMap<String, usize> {
        let mut rows = BTreeMap::new();
        for file in std::fs::read_dir(self.path("results")).unwrap().map(|entry| entry.unwrap().path()) {
            if file.extension().is_some_and(|extension| extension == "jsonl") {
                for line in std::fs::read_to_string(file).unwrap().lines() {
                    let row: Value = serde_json::from_str(line).unwrap();
                    *rows.entry(row["row"].as_str().unwrap().to_string()).or_default() += 1;
                }
            }
        }
        rows
    }

    /// Waits until the launcher that was told to stop has ended; returns the number of its process group.
    fn stopped(&self) -> String {
        let begun = Instant::now();
        loop {
            let pid = std::fs::read_to_string(self.path("calls.stopped")).unwrap_or_default();
            if pid.ends_with('\n') {
                return pid.trim().to_string();
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "the launcher was never told to stop");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn figures(&self) -> Output {
        let mut trib_lab = Command::new(TRIB_LAB);
        trib_lab.arg("figures").arg(self.path("results")).arg("--output").arg(self.path("figures"));
        trib_lab.output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits for the end of a job, checks that it succeeded, and returns its output.
fn ended(job: Child) -> String {
    let output = job.wait_with_output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn signal(signal: &str, process: &str) {
    assert!(Command::new("kill").args([signal, "--", process]).status().unwrap().success());
}

/// Returns true if a process of the group runs. A process that has ended and was not waited for does not count.
fn runs(group: &str) -> bool {
    let stats = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path().join("stat"));
    stats.filter_map(|stat| std::fs::read_to_string(stat).ok()).any(|stat| {
        // Behind the name, which is in parentheses: state, parent, group.
        let words: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        words[0] != "Z" && words[2] == group
    })
}

#[test]
fn every_script_runs_its_rows_and_the_next_job_none() {
    for (script, ranks) in SCRIPTS {
        let cluster = Cluster::new();
        let said = ended(cluster.job(script, &[]).spawn().unwrap());
        assert!(said.contains("6 rows written, 0 left"), "{script}: {said}");
        let machine = if script == "generic.pbs" { "pbs" } else { script.split('.').next().unwrap() };
        let table = cluster.path("results").join(format!("{machine}-1.jsonl"));
        let first = std::fs::read_to_string(&table).unwrap_or_else(|error| panic!("{script}: {error}"));
        let row: Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
        assert_eq!((&row["machine"], &row["ranks"]), (&machine.into(), &ranks.into()), "{script}");
        assert_eq!((&row["result"]["ranks"], row["result"]["sha256"].is_string()), (&ranks.into(), true), "{script}");
        let again = ended(cluster.job(script, &[]).spawn().unwrap());
        assert!(again.contains("0 rows written, 0 left"), "{script}: {again}");
        assert!(cluster.rows().values().all(|times| *times == 1) && cluster.rows().len() == 6, "{:?}", cluster.rows());
    }
}

#[test]
fn a_job_that_was_killed_goes_on_where_it_was() {
    let cluster = Cluster::new();
    let throttles = ("THROTTLES", "1 4 all 99999");
    let codes = ("CODES", "e3sm-f flash btio");
    let more = [throttles, codes, ("NODES", "2"), ("RUNS", "1")];
    let mut job = cluster.job("infiniband.slurm", &[&more[..], &[("STOP_AT", "5")]].concat()).spawn().unwrap();
    let launcher = cluster.stopped();
    job.kill().unwrap();
    job.wait().unwrap();
    signal("-KILL", &format!("-{launcher}"));
    assert_eq!(cluster.rows().len(), 4);
    // The result is cut in the middle of a line, as if the job had been killed a moment later.
    let table = cluster.path("results").join("infiniband-2.jsonl");
    let whole = std::fs::read_to_string(&table).unwrap();
    std::fs::write(&table, format!("{whole}{{\"row\":\"infiniband 2 e3")).unwrap();
    let drawn = cluster.figures();
    assert!(text(&drawn.stdout).contains("infiniband-2.jsonl:5: an incomplete line"), "{}", text(&drawn.stderr));

    let said = ended(cluster.job("infiniband.slurm", &more).spawn().unwrap());
    assert!(said.contains("an incomplete line is dropped") && said.contains("0 left"), "{said}");
    let rows = cluster.rows();
    assert!(rows.values().all(|times| *times == 1), "{rows:?}");
    // Throttles 1, 4, 32 and 64 of the balanced algorithm, and two columns; twice three columns of the others.
    assert_eq!(rows.len(), 6 + 3 + 3, "{rows:?}");
    assert!(rows.contains_key("infiniband 2 e3sm-f balanced 64 1"), "{rows:?}");

    let drawn = cluster.figures();
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    assert!(text(&drawn.stdout).contains("4 figures") && !text(&drawn.stdout).contains("NOT THE SAME"));
    let page = std::fs::read_to_string(cluster.path("figures/figures.html")).unwrap();
    for name in ["figure-4-e3sm-f", "figure-5-e3sm-f", "figure-5-flash", "figure-5-btio"] {
        let svg = cluster.path("figures").join(format!("{name}-2-nodes-64-ranks.svg"));
        let svg = std::fs::read_to_string(&svg).unwrap_or_else(|error| panic!("{}: {error}", svg.display()));
        assert!(svg.contains("on 2 nodes of infiniband (64 ranks)") && page.contains(svg.trim()), "{name}");
    }
}

#[test]
fn a_job_that_is_told_to_end_ends_and_submits_itself_again() {
    for (script, sent) in [("cori-knl.slurm", "-USR1"), ("summit.lsf", "-USR2"), ("generic.pbs", "-TERM")] {
        let cluster = Cluster::new();
        let job = cluster.job(script, &[("STOP_AT", "2"), ("RESUBMIT", "yes")]).spawn().unwrap();
        let launcher = cluster.stopped();
        let begun = Instant::now();
        signal(sent, &job.id().to_string());
        let said = ended(job);
        assert!(begun.elapsed() < Duration::from_secs(60), "{said}");
        assert!(said.contains("1 rows written, 5 left") && said.contains("requeued"), "{script}: {said}");
        while runs(&launcher) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{script}: the launcher is still there");
        }
        let said = ended(cluster.job(script, &[("RESUBMIT", "yes")]).spawn().unwrap());
        assert!(said.contains("5 rows written, 0 left") && !said.contains("requeued"), "{script}: {said}");
        assert_eq!(cluster.rows().len(), 6);
    }
}

#[test]
fn a_row_that_never_ends_or_fails_is_given_up() {
    let cluster = Cluster::new();
    let more = [("RUNS", "1"), ("ROW_SECONDS", "1"), ("STOP_AT", "1"), ("ATTEMPTS", "1")];
    let said = ended(cluster.job("frontier.slurm", &more).spawn().unwrap());
    assert!(said.contains("flash balanced 32 1: no result") && said.contains("2 rows written, 1 left"), "{said}");
    let failing = [("RUNS", "1"), ("ATTEMPTS", "2"), ("COLUMNS_OF_5", "balanced no_such_kernel"), ("RESUBMIT", "yes")];
    for (left, requeued, words) in [(1, true, "no_such_kernel"), (1, true, "allowed"), (0, false, "given up after 2")] {
        let said = ended(cluster.job("frontier.slurm", &failing).spawn().unwrap());
        assert!(said.contains(&format!("{left} left")) && said.contains(words), "{said}");
        assert_eq!(said.contains("requeued"), requeued, "{said}");
    }
}

#[test]
fn two_jobs_do_not_run_the_same_rows() {
    let cluster = Cluster::new();
    let first = cluster.job("perlmutter.slurm", &[("STOP_AT", "1"), ("RUNS", "1")]).spawn().unwrap();
    let launcher = cluster.stopped();
    let said = ended(cluster.job("perlmutter.slurm", &[("RUNS", "1")]).spawn().unwrap());
    assert!(said.contains("1 nodes: another job is measuring them") && said.contains("0 rows written"), "{said}");
    signal("-KILL", &format!("-{launcher}"));
    let said = ended(first);
    assert!(said.contains("2 rows written, 1 left"), "{said}");
}

#[test]
fn what_is_set_wrongly_is_one_line() {
    let cluster = Cluster::new();
    let wrong = [
        (("TRIB", "nowhere/trib"), "TRIB=nowhere/trib is not a program"),
        (("CODES", "flash s3d"), "pattern s3d is not known"),
        (("PRELOAD", "nowhere.so"), "PRELOAD=nowhere.so: no such file"),
    ];
    for (set, words) in wrong {
        let output = cluster.job("frontier.slurm", &[set]).output().unwrap();
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(words) && said.lines().count() == 1, "{said}");
    }
}
