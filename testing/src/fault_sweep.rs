//! Causes one fault on one rank in each run of a small C program. Every rank must report the same, or the job must
//! end with a message. `c/faults.c`, which is preloaded, causes the faults.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::{launcher, mpiexec};

/// Number of ranks of the small programs.
pub const RANKS: usize = 3;
/// Number of ints that a rank writes, between those of the other ranks.
const COUNT: i32 = 500;
/// Hints for two paths: by messages, to two aggregators, in several rounds; and through memory that the ranks share.
pub const WAYS: [&str; 2] = [
    "trib_shared_memory=disable; cb_nodes=2; cb_buffer_size=4096; trib_tiny_call=0; romio_cb_write=enable; romio_cb_read=enable",
    "",
];

/// The same paths, on which writes leave their bytes behind.
pub const BEHIND: [&str; 2] = [
    "trib_write_behind=1M; trib_shared_memory=disable; cb_nodes=2; cb_buffer_size=4096; trib_tiny_call=0; romio_cb_write=enable",
    "trib_write_behind=1M",
];

/// Names of the small programs' calls that return the result of a write.
const WRITES: [&str; 4] = ["write_all", "wait", "end", "again"];

/// The runs of a test in which the ranks must report the failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The ranks report it in each run.
    Always,
    /// The ranks report it in at least one run.
    Sometimes,
}

/// The result of a run of a small program, which ended within the time limit.
#[derive(Debug)]
pub struct ProgramResult {
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
    /// Contents of the file "small".
    pub file: Vec<u8>,
}

/// Returns the folder of the C sources that the tests of several bindings share.
pub fn sources() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/c"))
}

/// Compiles one of these sources as a library to be preloaded.
///
/// # Panics
/// Panics if the source does not compile without a warning.
pub fn preloadable(mpicc: &str, stem: &str, made: &Path) -> PathBuf {
    launcher::compile_preloaded(mpicc, &sources().join(format!("{stem}.c")), made)
}

/// Runs the small program of a binding, which is linked with the binding, with the hints `way` and a fault. Compiles
/// the preloaded library beside the program.
///
/// # Panics
/// Panics if the run takes longer than 30 seconds.
pub fn run_linked(program: &Path, way: &str, fault: &str) -> ProgramResult {
    static PRELOADED: OnceLock<String> = OnceLock::new();
    let preloaded = PRELOADED.get_or_init(|| {
        let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_string());
        let made = program.parent().expect("a folder").join(format!("faults.{}", mpicc.replace('/', "-")));
        preloadable(&mpicc, "faults", &made).display().to_string()
    });
    let folder = tempfile::tempdir().expect("a folder for the ranks");
    let file = folder.path().join("small");
    let arguments = [file.to_str().expect("UTF-8")];
    let limit = Duration::from_secs(30);
    let preloaded = ("LD_PRELOAD", preloaded.as_str());
    let environment = [preloaded, ("TRIB_HINTS", way), ("TRIB_TEST_FAULT", fault), ("MPIEXEC_TIMEOUT", "30")];
    let start = Instant::now();
    let output = mpiexec::start(RANKS, program, &arguments, &environment);
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(start.elapsed() < limit, "{fault}, `{way}`: not done in {limit:?}\n{stdout}{stderr}");
    ProgramResult { success: output.status.success(), stdout, stderr, file: std::fs::read(file).unwrap_or_default() }
}

/// Returns the contents of the file after a successful write.
pub fn written() -> Vec<u8> {
    let value = |at: i32| 1 + at % RANKS as i32 + 1000 * (at / RANKS as i32);
    (0..COUNT * RANKS as i32).flat_map(|at| value(at).to_ne_bytes()).collect()
}

/// Returns the output of each rank, in the order of ranks.
pub fn said(stdout: &str) -> Vec<&str> {
    stdout.split("rank ").skip(1).filter_map(|said| Some(said.split_once('\n')?.1)).collect()
}

impl ProgramResult {
    /// Checks that all ranks have reported the same, or that the job has ended with a reason.
    ///
    /// # Panics
    /// Panics if they have not, or if a successful write has written wrong bytes.
    pub fn check(&self, what: &str) {
        let Self { stdout, stderr, .. } = self;
        if !self.success {
            let why =
                ["tributary: ", "memory allocation of", "out of memory", "Fatal error in", "MPI_ERRORS_ARE_FATAL"];
            let says = stderr.lines().any(|line| why.iter().any(|why| line.contains(why)));
            assert!(says, "{what}: the job ended without a reason\n{stdout}{stderr}");
            return;
        }
        let said = said(stdout);
        assert_eq!(said.len(), RANKS, "{what}\n{stdout}{stderr}");
        assert!(said.iter().all(|own| *own == said[0]), "{what}: ranks differ\n{stdout}{stderr}");
        // A later call returns the error of a buffered write.
        let may_be_lost = what.contains(BEHIND[1]) && said[0].lines().any(|line| !line.ends_with(": SUCCESS"));
        if said[0].contains("write_all: SUCCESS\n") && !may_be_lost {
            assert!(self.file == written(), "{what}: other bytes in the file\n{stdout}{stderr}");
        }
    }

    /// Returns the number of calls of the fault's kind on each rank. Has only ranks that have the fault and came to
    /// their end.
    pub fn calls(&self) -> BTreeMap<usize, u64> {
        // The launcher may print it in the middle of another rank's line.
        let told = self.stderr.split("faults: rank ").skip(1).filter_map(|told| {
            let (rank, rest) = told.split_once(": ")?;
            Some((rank.parse().ok()?, rest.split_once(" calls")?.0.parse().ok()?))
        });
        told.collect()
    }

    /// Asserts that this run did not make the call that should fail: the rank that writes may depend on timing.
    ///
    /// # Panics
    /// Panics if the run made the call.
    pub fn came_before(&self, kind: &str, call: u64, what: &str) {
        let calls = self.calls();
        let too_few = !calls.is_empty() && calls.values().sum::<u64>() < call;
        assert!(too_few, "{what}: {kind} call {call} of {calls:?} did not fail\n{}{}", self.stdout, self.stderr);
    }

    /// Returns the calls that failed, as the ranks reported them; all ranks report the same.
    ///
    /// # Panics
    /// Panics as [`ProgramResult::check`] does.
    pub fn failed(&self, what: &str) -> Vec<&str> {
        self.check(what);
        assert!(self.success, "{what}: the job ended\n{}{}", self.stdout, self.stderr);
        said(&self.stdout)[0].lines().filter(|line| !line.ends_with(": SUCCESS")).collect()
    }
}

/// The small program of one binding, as a function that runs it with hints (first argument) and a fault (second
/// argument).
pub struct Small<'a>(pub &'a dyn Fn(&str, &str) -> ProgramResult);

impl Small<'_> {
    /// Runs the program such that call number `call` of the kind `kind` fails on `rank`.
    pub fn run(&self, way: &str, kind: &str, rank: usize, call: u64) -> ProgramResult {
        (self.0)(way, &format!("{kind}:{rank}:{call}"))
    }

    /// Returns the number of calls of a kind on each rank, counted in one run.
    ///
    /// # Panics
    /// Panics if a run without a fault fails.
    pub fn calls(&self, way: &str, kind: &str) -> [u64; RANKS] {
        let ended = (self.0)(way, &format!("{kind}:-1:0"));
        assert_eq!(ended.failed(&format!("{kind}, no fault")), [""; 0], "{}", ended.stderr);
        let calls = ended.calls();
        std::array::from_fn(|rank| {
            *calls.get(&rank).unwrap_or_else(|| panic!("no count of {kind} on rank {rank}\n{}", ended.stderr))
        })
    }

    /// Lets every call of a kind fail, one in each run, on the first rank and on the last. If there are more than
    /// `most` calls, tries `most` of them, spread evenly, or the number of [`most_tried`].
    ///
    /// # Panics
    /// Panics if there are no calls of the kind, and as [`ProgramResult::check`] does.
    pub fn sweep(&self, kind: &str, ways: &[&str], most: u64) {
        for way in ways {
            let calls = self.calls(way, kind);
            for rank in [0, RANKS - 1] {
                let all = calls[rank];
                assert!(all > 0, "{kind} on rank {rank}: nothing to fail");
                for call in (1..=all).step_by(all.div_ceil(most_tried(most)) as usize) {
                    let what = format!("{kind} on rank {rank}, call {call} of {all}, `{way}`");
                    tell(call, all, &what);
                    self.run(way, kind, rank, call).check(&what);
                }
            }
        }
    }

    /// Lets every call of a kind fail on every rank, one in each run, `most` of them as in [`Small::sweep`]. The
    /// calls that report the failure must be among `due`. Not all ranks make calls of every kind, but one must.
    ///
    /// # Panics
    /// Panics if that is not so, and as [`ProgramResult::failed`] does.
    pub fn fails_with(&self, kind: &str, ways: &[&str], most: u64, due: &[&str], heard: Heard) {
        for way in ways {
            let mut failures = 0;
            for (rank, all) in self.calls(way, kind).into_iter().enumerate() {
                for call in (1..=all).step_by(all.div_ceil(most_tried(most)).max(1) as usize) {
                    let what = format!("{kind} on rank {rank}, call {call} of {all}, `{way}`");
                    tell(call, all, &what);
                    let ended = self.run(way, kind, rank, call);
                    let failed = ended.failed(&what);
                    if failed.is_empty() {
                        if heard == Heard::Always {
                            ended.came_before(kind, call, &what);
                        }
                        continue;
                    }
                    assert!(failed.iter().all(|line| due.contains(line)), "{what}: {failed:?}\n{}", ended.stderr);
                    failures += 1;
                }
            }
            // On the rank that makes such a call.
            if failures == 0 {
                let ended = (self.0)(way, &format!("{kind}:-1:1"));
                let mut failed = ended.failed(&format!("{kind} on all ranks, `{way}`"));
                // Another rank may write in each call. Where all writes have failed, there is nothing to read; a buffered
                // write may have returned success before it failed.
                let is_lost = |line: &str| {
                    let wrote = |call| said(&ended.stdout)[0].contains(&format!("{call}: SUCCESS\n"));
                    line.ends_with(": SUCCESS, other bytes") && (due.contains(&line) || !WRITES.iter().any(wrote))
                };
                failed.retain(|line| !is_lost(line));
                // If several ranks have errors, later calls return those that the first has not.
                let cause = |line: &str| line.rsplit(": ").next().map(str::to_string);
                let first = failed.first().filter(|first| due.contains(*first)).map(|first| cause(first));
                let is_due = first.is_some_and(|first| failed.iter().all(|line| cause(line) == first));
                assert!(is_due, "{kind} on all ranks, `{way}`: {failed:?}\n{}", ended.stderr);
            }
        }
    }
}

/// Defines the tests that let calls of a binding fail: `$small` runs the binding's small program with hints and a
/// fault; then follow the binding's words for an I/O error and for no space.
#[macro_export]
macro_rules! failing_calls {
    ($small:ident, io: $io:literal, space: $space:literal) => {
        use $crate::fault_sweep::{BEHIND, Heard, Small, WAYS, written};

        #[test]
        fn every_call_of_mpi_fails_once() {
            Small(&$small).sweep("mpi", &WAYS, 5);
        }

        #[test]
        fn requests_for_memory_fail() {
            Small(&$small).sweep("memory", &WAYS, 3);
        }

        #[test]
        fn storing_fails_on_one_rank() {
            Small(&$small).fails_with("sync", &WAYS, 1, &[concat!("sync: ", $io)], Heard::Always);
        }

        /// A close may fail without an error if nothing was written through its descriptor.
        #[test]
        fn closing_fails_on_one_rank() {
            let due = [concat!("close: ", $io)];
            Small(&$small).fails_with("close", &WAYS[..1], u64::MAX, &due, Heard::Sometimes);
        }

        #[test]
        fn writes_and_reads_fail_on_one_rank() {
            let no_space = [concat!("write_all: ", $space), concat!("again: ", $space)];
            Small(&$small).fails_with("space", &WAYS, 1, &no_space, Heard::Always);
            Small(&$small).fails_with("read", &WAYS, 1, &[concat!("read_all: ", $io)], Heard::Always);
        }

        /// The next call, or the sync, returns the error of a buffered write.
        #[test]
        fn writes_left_behind_fail_on_one_rank() {
            Small(&$small).sweep("memory", &BEHIND, 2);
            Small(&$small).sweep("mpi", &BEHIND, 2);
            let no_space = [concat!("again: ", $space), concat!("sync: ", $space), concat!("write_all: ", $space)];
            Small(&$small).fails_with("space", &BEHIND, 3, &no_space, Heard::Always);
        }

        #[test]
        fn short_and_interrupted_calls_are_made_again() {
            for fault in ["short:-1:1", "interrupted:-1:2"] {
                let ended = $small(WAYS[0], fault);
                assert_eq!(ended.failed(fault), [""; 0]);
                assert!(ended.file == written(), "{fault}: other bytes in the file");
            }
        }
    };
}

/// Returns the number of cases that a test is to try: `usual`; with TRIB_TEST_ALL=1 all; with another value of this
/// variable that number.
///
/// # Panics
/// Panics if the value is no number above 0.
pub fn most_tried(usual: u64) -> u64 {
    match asked() {
        None => usual.max(1),
        Some(1) => u64::MAX,
        Some(most) => most,
    }
}

fn asked() -> Option<u64> {
    let value = std::env::var("TRIB_TEST_ALL").ok()?;
    let number = value.parse().ok().filter(|number| *number > 0);
    Some(number.unwrap_or_else(|| panic!("TRIB_TEST_ALL: `{value}`; allowed: 1 for all, or how many of each kind")))
}

/// Prints the progress of a complete test: one line in fifty, also while the test's output is captured.
pub fn tell(at: u64, all: u64, what: &str) {
    if asked().is_some() && (at == 1 || at == all || at.is_multiple_of(50)) {
        let _ = writeln!(std::io::stderr(), "sweep: {what}");
    }
}
