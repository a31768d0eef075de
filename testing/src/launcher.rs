//! Waits for `mpiexec`, which may outlive its ranks: the `mpiexec` of Open MPI 4 sometimes never ends after
//! `MPI_Abort`, in `PMIx_server_finalize`, though all ranks have ended (one run of some hundred on a busy machine,
//! without Tributary too). The job is over then, and only a launcher is left, which must be killed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of ranks that run at the same time for each core of the machine. A run of 4 ranks leaves a third of two cores idle:
/// processes start one after the other, and ranks sleep. Ranks that poll starve each other if there are many.
const RANKS_PER_CORE: usize = 4;

/// The longest time that a launcher may be without ranks, at its start and at its end.
const WITHOUT_RANKS: Duration = Duration::from_secs(15);
/// Time between two searches for ranks: a search reads files of all processes, and the ranks need the cores.
const LOOKS: Duration = Duration::from_millis(500);

/// Ranks of this process that run now, and the signal that some have ended.
static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// The right to run a number of ranks, until it is dropped.
#[derive(Debug)]
pub struct Reserved(usize);

impl Drop for Reserved {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= self.0;
        ENDED.notify_all();
    }
}

/// Waits until `ranks` more ranks may run in the tests of this process: four ranks for each core run at a time. A program with more
/// ranks runs alone.
pub fn reserve(ranks: usize) -> Reserved {
    let most = RANKS_PER_CORE * std::thread::available_parallelism().map_or(1, usize::from);
    let own = ranks.min(most);
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut running =
        ENDED.wait_while(running, |running| *running + own > most).unwrap_or_else(PoisonError::into_inner);
    *running += own;
    Reserved(own)
}

/// Returns the environment of Open MPI's launchers: more ranks than cores are allowed, and root (as in containers); ranks that poll
/// let others run; files of the session are in the folder `sessions` of this run alone, because two runs that make or remove the
/// usual folder at the same time fail. Ranks of one host send by `ob1` in any case; without a name, Open MPI first opens all it has,
/// which takes 0.2 s of waiting a run. `OMPI_MCA_pml` chooses another.
pub fn open_mpi(sessions: &Path) -> impl Iterator<Item = (&'static str, OsString)> {
    let pml = std::env::var_os("OMPI_MCA_pml").is_none().then_some(("OMPI_MCA_pml", "ob1"));
    let folders = ["OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"].map(|name| (name, sessions.into()));
    let fixed = [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ];
    fixed.into_iter().chain(pml).map(|(name, value)| (name, value.into())).chain(folders)
}

/// Compiles a C source as the library `made`, which is to be preloaded, and returns its path.
///
/// # Panics
/// Panics if the source does not compile without a warning.
pub fn compile_preloaded(compiler: &str, source: &Path, made: &Path) -> PathBuf {
    // Under a temporary name until it is complete: tests of one binary compile it at the same time.
    let fresh = tempfile::tempdir_in(made.parent().expect("a folder")).expect("a folder");
    let library = fresh.path().join("library.so");
    let mut command = Command::new(compiler);
    command.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Werror", "-shared", "-fPIC", "-Wl,--as-needed", "-o"]);
    command.arg(&library).arg(source).args(["-ldl", "-lpthread"]);
    let output = command.output().unwrap_or_else(|cause| panic!("{command:?}: {cause}"));
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&library, made).expect("the library under its name");
    made.to_path_buf()
}

/// Returns a library to be preloaded into ranks, so that they let others run while they wait: `c/yield.c`, compiled beside this
/// program.
///
/// # Panics
/// Panics if there is no C compiler.
pub fn yielding() -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let this = std::env::current_exe().expect("the path of this program");
        let folder = tempfile::tempdir().expect("a folder for a source");
        // The source is in this program, because a crate of another folder may include this file.
        let source = folder.path().join("yield.c");
        std::fs::write(&source, include_str!("../c/yield.c")).expect("a file in an empty folder");
        compile_preloaded("cc", &source, &this.with_extension("yield.so"))
    })
}

/// Waits until a launcher has ended. Kills it at the limit, or when it has been without ranks for some seconds; only the limit gives
/// `None`.
pub fn wait(launcher: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    let (mut last_rank, mut looked) = (start, start);
    while start.elapsed() < limit {
        if let Some(status) = launcher.try_wait().expect("a child of this process") {
            return Some(status);
        }
        if looked.elapsed() > LOOKS {
            looked = Instant::now();
            if has_running_children(launcher.id()) {
                last_rank = looked;
            }
            if last_rank.elapsed() > WITHOUT_RANKS {
                eprintln!("the launcher has no ranks for {WITHOUT_RANKS:?} and does not end; it is killed");
                return Some(kill(launcher));
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(launcher);
    None
}

/// Returns the seconds that a run may take: the value of `MPIEXEC_TIMEOUT` (for a busy machine or a slow file
/// system), or else `usual`.
pub fn seconds(usual: u64) -> u64 {
    std::env::var("MPIEXEC_TIMEOUT").ok().and_then(|given| given.parse().ok()).unwrap_or(usual)
}

fn kill(launcher: &mut Child) -> ExitStatus {
    launcher.kill().and_then(|()| launcher.wait()).expect("a child of this process")
}

/// Returns true if a process has children that have not ended. Reads `/proc/*/stat`: number, name in parentheses,
/// state, parent.
fn has_running_children(parent: u32) -> bool {
    let processes = std::fs::read_dir("/proc").expect("a system with /proc").flatten();
    let stats = processes.filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok());
    let runs_below = |stat: String| {
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let (state, above) = (fields.next()?, fields.next()?.parse::<u32>().ok()?);
        Some(above == parent && !matches!(state, "Z" | "X"))
    };
    stats.filter_map(runs_below).any(|runs| runs)
}
