//! Finds ranks that a launcher refuses: Open MPI starts at most one rank a core on a host, unless an option or a variable
//! allows more.

use std::collections::HashSet;

use crate::launcher::{Family, Launcher};

/// Launcher options that name hosts and their slots, or allow more ranks than slots.
const OTHERWISE: [&str; 9] = [
    "oversubscribe",
    "hostfile",
    "machinefile",
    "default-hostfile",
    "host",
    "H",
    "use-hwthread-cpus",
    "map-by",
    "rankfile",
];
/// Environment variables of schedulers, which define slots themselves, and of Open MPI.
const VARIABLES: [&str; 8] = [
    "SLURM_JOB_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "PE_HOSTFILE",
    "OMPI_MCA_rmaps_base_oversubscribe",
    "OMPI_MCA_rmaps_default_mapping_policy",
    "PRTE_MCA_rmaps_default_mapping_policy",
    "OMPI_MCA_orte_default_hostfile",
];

/// Returns the problem of a command with more ranks than slots on this host, which Open MPI does not start.
pub fn too_few(launcher: &Launcher, words: &[String]) -> Option<String> {
    if launcher.family != Some(Family::OpenMpi) || VARIABLES.iter().any(|name| std::env::var_os(name).is_some()) {
        return None;
    }
    refused(words, cores()?)
}

fn refused(words: &[String], cores: usize) -> Option<String> {
    let is_otherwise = |word: &String| word.starts_with('-') && OTHERWISE.contains(&word.trim_start_matches('-'));
    if words.iter().any(is_otherwise) || words.iter().any(|word| word == ":") {
        return None;
    }
    let at = words.iter().position(|word| ["-n", "-np", "--n", "--np", "-c"].contains(&word.as_str()))?;
    let ranks: usize = words.get(at + 1)?.parse().ok()?;
    let first = &words[0];
    (ranks > cores).then(|| {
        format!(
            "launcher: {ranks} ranks on {cores} cores: Open MPI refuses to start them; write {first} --oversubscribe, or start fewer"
        )
    })
}

/// Returns the number of cores of this host, each with all its hardware threads, as Open MPI counts slots.
fn cores() -> Option<usize> {
    let all = std::fs::read_dir("/sys/devices/system/cpu").ok()?.flatten();
    let siblings =
        all.filter_map(|entry| std::fs::read_to_string(entry.path().join("topology/thread_siblings_list")).ok());
    let cores = siblings.collect::<HashSet<String>>().len();
    (cores > 0).then_some(cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_ranks_than_cores() {
        let said = |line: &str| refused(&line.split(' ').map(str::to_string).collect::<Vec<_>>(), 2);
        let due = "launcher: 4 ranks on 2 cores: Open MPI refuses to start them; write mpiexec --oversubscribe, or start fewer";
        assert_eq!(said("mpiexec -n 4 ./a").as_deref(), Some(due));
        for line in [
            "mpiexec -n 2 ./a",
            "mpiexec --oversubscribe -n 4 ./a",
            "mpiexec -hostfile h -np 4 ./a",
            "mpiexec ./a",
            "mpiexec -n 2 ./a : -n 2 ./b",
        ] {
            assert_eq!(said(line), None, "{line}");
        }
    }
}
