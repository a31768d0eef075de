//! Gives each emulated host processors of its own: a cgroup with a limit of processor time. Without it, hosts use the time of
//! others whose ranks wait, which no real host can.

use std::fs::{create_dir, read_to_string, remove_dir, write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use trib::Failure;

/// Shortest period in microseconds in which a host may use its share of processor time.
const PERIOD: f64 = 2000.0;
/// Shortest share in microseconds that the system takes.
const SHARE: f64 = 1000.0;

/// The cgroups of the hosts, until they are dropped.
#[derive(Debug)]
pub struct Cores {
    /// Folder of this program's cgroups, one for each host.
    folder: PathBuf,
    hosts: u64,
}

impl Cores {
    /// Makes a cgroup for each host, which may use `cores` processors, in part or whole.
    ///
    /// # Errors
    /// The system has no cgroups of processor time, or this user may not make one.
    pub fn of(hosts: u64, cores: f64) -> Result<Self, Failure> {
        let (mount, is_second) = mounted(&read_to_string("/proc/self/mounts")?)
            .ok_or_else(|| Failure::new("cores: the system has no mounted cgroups of processor time".to_string()))?;
        let made = Self { folder: mount.join(format!("trib-hosts-{}", std::process::id())), hosts };
        let period = PERIOD.max((SHARE / cores).ceil());
        let quota = (cores * period).ceil();
        let make = || {
            create_dir(&made.folder)?;
            for folder in [&mount, &made.folder].into_iter().filter(|_| is_second) {
                write(folder.join("cgroup.subtree_control"), "+cpu")?;
            }
            (0..hosts).try_for_each(|host| {
                let own = made.of_host(host);
                create_dir(&own)?;
                if is_second {
                    return write(own.join("cpu.max"), format!("{quota} {period}"));
                }
                write(own.join("cpu.cfs_period_us"), period.to_string())?;
                write(own.join("cpu.cfs_quota_us"), quota.to_string())
            })
        };
        let outcome: std::io::Result<()> = make();
        outcome.map_err(|cause| Failure::new(format!("cores: {}: {cause}", made.folder.display())))?;
        Ok(made)
    }

    fn of_host(&self, host: u64) -> PathBuf {
        self.folder.join(format!("host{host}"))
    }

    /// Returns the file to which a process writes 0 to join the cgroup of a host.
    pub fn processes(&self, host: u64) -> PathBuf {
        self.of_host(host).join("cgroup.procs")
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        // Processes of the hosts may still be ending.
        for folder in (0..self.hosts).map(|host| self.of_host(host)).chain([self.folder.clone()]) {
            let _ = (0..50).find(|_| {
                !folder.exists() || remove_dir(&folder).is_ok() || {
                    sleep(Duration::from_millis(20));
                    false
                }
            });
        }
    }
}

/// Returns the place where cgroups of processor time are mounted, and true if they are of the second version.
fn mounted(mounts: &str) -> Option<(PathBuf, bool)> {
    let fields = |line: &'_ str| {
        let mut words = line.split(' ').skip(1).map(str::to_string);
        Some((words.next()?, words.next()?, words.next()?))
    };
    let all: Vec<_> = mounts.lines().filter_map(fields).collect();
    let first = all.iter().find(|(_, kind, options)| kind == "cgroup" && options.split(',').any(|one| one == "cpu"));
    let second = || {
        all.iter().find(|(at, kind, _)| {
            let has = || read_to_string(Path::new(at).join("cgroup.controllers")).unwrap_or_default();
            kind == "cgroup2" && has().split_whitespace().any(|one| one == "cpu")
        })
    };
    first.map(|(at, ..)| (at.into(), false)).or_else(|| second().map(|(at, ..)| (at.into(), true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_processor_time_are_found_where_they_are_mounted() {
        let first = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n\
            cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu,cpuacct 0 0\n";
        assert_eq!(mounted(first), Some(("/sys/fs/cgroup/cpu".into(), false)));
        assert_eq!(mounted("proc /proc proc rw 0 0\n"), None);
    }
}
