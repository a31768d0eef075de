//! Runs tests that need several ranks: a `#[test]` starts itself again under `mpiexec`.
//!
//! ```text
//! // tests/mpi_suite/agreement.rs, a module of main.rs there
//! use tributary_testing::mpiexec::{under_mpiexec, world};
//!
//! #[test]
//! fn ranks_agree() {
//!     under_mpiexec("agreement::ranks_agree", &[1, 2, 5], || {
//!         let (world, endpoint) = world(); // every rank is here
//!     });
//! }
//! ```
//!
//! The test's name is given as `cargo test -- --list` prints it (with its modules, if it is in one). The test runs once
//! for each number of ranks. It fails when a rank panics, when the ranks do not end in time, when there is no `mpiexec`,
//! and when the ranks never ran the test: nothing is skipped.

use std::io::{Read, Seek, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tributary::mpi;

use crate::launcher::{self, Reserved};

/// Environment variable with the name of the test that the ranks are to run.
const INNER: &str = "TRIB_INNER";
/// Environment variable with the expected number of ranks.
const RANKS: &str = "TRIB_INNER_RANKS";
/// Text that a rank prints after its part of the test.
const DONE: &str = "TRIB_INNER_DONE";
/// Environment variable with a directory for the ranks' files.
const DIRECTORY: &str = "TRIB_INNER_DIRECTORY";
/// Time limit of the ranks in seconds, unless `MPIEXEC_TIMEOUT` is set; the launcher ends them then.
const TIMEOUT: u64 = 120;
/// Additional seconds for the launcher, after which it is killed.
const GRACE: u64 = 15;

/// A lock against all other programs with ranks.
pub fn alone() -> Reserved {
    launcher::reserve(usize::MAX)
}

/// Runs `inner` on each number of ranks in `ranks`, one after the other. Must be the first call in the test `test`.
///
/// # Panics
/// Panics if a run fails; the message has everything that its ranks printed.
pub fn under_mpiexec(test: &str, ranks: &[usize], inner: fn()) {
    under_mpiexec_with(test, ranks, &[], inner);
}

/// Does what [`under_mpiexec`] does, with environment variables for the ranks.
///
/// # Panics
/// Panics if a run fails; the message has everything that its ranks printed.
pub fn under_mpiexec_with(test: &str, ranks: &[usize], environment: &[(&str, &str)], inner: fn()) {
    if std::env::var(INNER).is_ok_and(|name| name == test) {
        inner();
        println!("{DONE}");
        return;
    }
    assert!(!ranks.is_empty(), "{test}: no number of ranks to run on");
    for &n in ranks {
        let _reserved = launcher::reserve(n);
        let output = launch(test, n, environment);
        let printed = String::from_utf8_lossy(&output.stdout);
        let ran = printed.matches(DONE).count();
        if !output.status.success() || ran != n {
            std::io::stderr().write_all(&output.stdout).unwrap();
            std::io::stderr().write_all(&output.stderr).unwrap();
            panic!("{test} on {n} ranks: mpiexec ended with {}, {ran} ranks got through (output above)", output.status);
        }
    }
}

/// Runs `inner` on `ranks` ranks. Expects that it fails on all of them, at once and not at the time limit, and that
/// the ranks print `cause`.
///
/// # Panics
/// Panics if the run succeeds, if it takes longer than 30 seconds, and if no rank prints `cause`.
pub fn must_fail_under_mpiexec(test: &str, ranks: usize, cause: &str, inner: fn()) {
    if std::env::var(INNER).is_ok_and(|name| name == test) {
        return inner();
    }
    let _reserved = launcher::reserve(ranks);
    let start = Instant::now();
    let output = launch(test, ranks, &[]);
    let printed = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(!output.status.success(), "{test} on {ranks} ranks did not fail:\n{printed}");
    assert!(printed.contains(cause), "{test} on {ranks} ranks did not print `{cause}`:\n{printed}");
    assert!(start.elapsed() < Duration::from_secs(30), "{test} on {ranks} ranks took {:?}", start.elapsed());
}

/// Initialises MPI on a rank of a test, and checks the number of ranks: with another MPI library than `mpiexec`'s,
/// every process would be a program of one rank.
///
/// # Panics
/// Panics outside [`under_mpiexec`], and if the ranks do not see each other.
pub fn world() -> (mpi::World, mpi::MpiEndpoint) {
    let expected: usize = std::env::var(RANKS).expect("inside under_mpiexec").parse().expect("a number of ranks");
    let world = mpi::initialise().unwrap();
    let endpoint = world.endpoint().unwrap();
    let ranks = tributary::Transport::ranks(&endpoint);
    assert_eq!(ranks, expected, "mpiexec does not belong to the MPI of this program, {}", mpi::library());
    (world, endpoint)
}

/// Returns an empty directory that all ranks share. It is removed when the ranks have ended.
///
/// # Panics
/// Panics outside [`under_mpiexec`].
pub fn directory() -> std::path::PathBuf {
    std::env::var_os(DIRECTORY).expect("inside under_mpiexec").into()
}

/// Returns true if the tests run on MPICH or one of its derivatives: by the MPI library of this rank or, outside of
/// ranks, by the library that `MPICC` belongs to.
pub fn is_mpich() -> bool {
    match mpi::library().as_str() {
        "" => !compiles_for_open_mpi(&std::env::var("MPICC").unwrap_or_default()),
        library => !library.starts_with("Open MPI"),
    }
}

/// Returns true if this is a compiler wrapper of Open MPI. Only those know the option `--showme`; others pass it to
/// their compiler.
fn compiles_for_open_mpi(mpicc: &str) -> bool {
    let said = Command::new(mpicc).arg("--showme:version").output();
    said.is_ok_and(|output| output.status.success() && String::from_utf8_lossy(&output.stdout).contains("Open MPI"))
}

fn launch(test: &str, ranks: usize, environment: &[(&str, &str)]) -> Output {
    let this = std::env::current_exe().expect("the path of this test program");
    let directory = tempfile::tempdir().expect("a directory for the ranks");
    let (count, place) = (ranks.to_string(), directory.path().to_str().expect("a path in UTF-8"));
    let inner = [(INNER, test), (RANKS, &count), (DIRECTORY, place)];
    let arguments = [test, "--exact", "--test-threads=1", "--nocapture"];
    start_now(ranks, &this, &arguments, &[&inner, environment].concat())
}

/// Starts `program` on `ranks` ranks, with environment variables, when so many more may run, and waits for its end.
///
/// # Panics
/// Panics if there is no launcher of this MPI library.
pub fn start(ranks: usize, program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let _reserved = launcher::reserve(ranks);
    start_now(ranks, program, arguments, environment)
}

fn start_now(ranks: usize, program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let candidates = launchers();
    let seconds = launcher::seconds(TIMEOUT);
    let sessions = tempfile::tempdir().expect("a folder for a run");
    // The launcher does not have what its ranks preload.
    let (preloaded, environment): (Vec<_>, Vec<_>) = environment.iter().partition(|(name, _)| *name == "LD_PRELOAD");
    let preloaded = preloaded.iter().map(|(_, path)| Path::new(path)).filter(|path| !path.as_os_str().is_empty());
    let preloaded = std::env::join_paths([launcher::yielding()].into_iter().chain(preloaded)).expect("no colons");
    for name in &candidates {
        let [mut stdout, mut stderr] = std::array::from_fn(|_| tempfile::tempfile().expect("a temporary file"));
        let print = |file: &std::fs::File| file.try_clone().expect("a second descriptor");
        let outcome = Command::new(name)
            .args(["-n", &ranks.to_string()])
            .args(["/usr/bin/env", &format!("LD_PRELOAD={}", preloaded.to_string_lossy())])
            .arg(program)
            .args(arguments)
            .env("MPIEXEC_TIMEOUT", seconds.to_string())
            .envs(launcher::open_mpi(sessions.path()))
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(print(&stdout))
            .stderr(print(&stderr))
            .spawn();
        match outcome {
            Ok(mut child) => {
                let status = launcher::wait(&mut child, Duration::from_secs(seconds + GRACE));
                let [stdout, stderr] = [&mut stdout, &mut stderr].map(all_of);
                let printed = || [&stdout[..], &stderr].map(String::from_utf8_lossy).concat();
                let status = status.unwrap_or_else(|| panic!("{}: not done\n{}", program.display(), printed()));
                return Output { status, stdout, stderr };
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => panic!("{}: {name}: {error}", program.display()),
        }
    }
    panic!("{}: none of {candidates:?} is there; install one, or set MPIEXEC", program.display());
}

/// Returns everything that a process has written to a file.
fn all_of(file: &mut std::fs::File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("an open file");
    bytes
}

/// Returns names of possible launchers: `$MPIEXEC`, or the usual names of the launcher that belongs to `$MPICC`.
fn launchers() -> Vec<String> {
    if let Ok(given) = std::env::var("MPIEXEC") {
        return vec![given];
    }
    let names = match is_mpich() {
        true => ["mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpiexec.openmpi"],
        false => ["mpiexec.openmpi", "orterun", "mpiexec", "mpiexec"],
    };
    names.map(String::from).to_vec()
}
