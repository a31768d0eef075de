//! Waits for `mpiexec`, which may outlive its ranks: the `mpiexec` of Open MPI 4 sometimes never ends after
//! `MPI_Abort`, in `PMIx_server_finalize`, though all ranks have ended (one run of some hundred on a busy machine,
//! without Tributary too). The job is over then, and only a launcher is left, which must be killed.

use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Maximum time that a launcher may be without ranks, at its start and at its end.
const WITHOUT_RANKS: Duration = Duration::from_secs(15);
/// Time between two searches for ranks: a search reads files of all processes, and the ranks need the cores.
const LOOKS: Duration = Duration::from_millis(500);

/// Waits until a launcher has ended. Kills it at the time limit, or if it has been without ranks for some seconds.
/// Returns `None` only at the limit.
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
