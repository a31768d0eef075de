//! Limits of a run: a run that exceeds them is refused before any work starts.
//!
//! Memory is limited to the memory that the system has free and the process may still map; files are limited to the free space
//! of the file system. Fixed limits, far above what anybody would wait for, refuse runs that take too long.

use std::path::Path;

use nix::sys::resource::{Resource, getrlimit};

use crate::Failure;

/// Maximum number of ranks that are planned, simulated or listed.
pub const MOST_RANKS: usize = 1 << 24;
/// Maximum number of ranks that run as threads of one process.
pub const MOST_THREADS: usize = 1 << 15;
/// Maximum number of calls, rounds or repetitions.
pub const MOST_TIMES: u64 = 1 << 24;
/// Maximum number of requests or messages that are processed one by one.
pub const MOST_MESSAGES: u64 = 1 << 40;

/// Maximum number of bytes of a message that is counted or simulated, so that sums over all messages fit into 64 bits.
pub const MOST_BYTES: u64 = 1 << 40;

/// Returns an error if `value` is above `most`.
pub fn at_most(what: &str, value: u64, most: u64) -> Result<(), Failure> {
    if value <= most { Ok(()) } else { Err(Failure::new(format!("{what}: {value}; allowed: {most} or fewer"))) }
}

/// Number of bytes from which on a run prints beforehand how much memory it takes.
const WORTH_SAYING: u64 = 1 << 30;

/// Returns an error if `what` needs more memory than the system has: `bytes`, or `None` for more than 64 bits can
/// count. If it needs much, prints on standard error how much.
pub fn in_memory(what: &str, bytes: Option<u64>) -> Result<(), Failure> {
    fits(what, "of memory", bytes, memory())?;
    if let Some(bytes) = bytes.filter(|&bytes| bytes >= WORTH_SAYING) {
        tributary::say(format_args!("{what}: takes about {} of memory", gigabytes(bytes)));
    }
    Ok(())
}

/// Checks memory like [`in_memory`], for a run that needs memory in proportion to its `ranks`: the error says how many
/// ranks would fit.
pub fn in_memory_of_ranks(what: &str, bytes: Option<u64>, ranks: u64) -> Result<(), Failure> {
    in_memory(what, bytes).map_err(|failure| match bytes.zip(memory()) {
        Some((bytes, free)) => {
            let fit = u128::from(ranks) * u128::from(free) / u128::from(bytes.max(1));
            Failure::new(format!("{failure}, about {fit} ranks of {ranks}"))
        }
        None => failure,
    })
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// Returns an error if the file system of `directory` has less than `bytes` bytes of free space.
pub fn in_directory(what: &str, bytes: u64, directory: &Path) -> Result<(), Failure> {
    let free = nix::sys::statvfs::statvfs(directory).ok();
    let free = free.map(|system| system.blocks_available().saturating_mul(system.fragment_size()));
    fits(what, &format!("in {}", directory.display()), Some(bytes), free)
}

fn fits(what: &str, place: &str, needed: Option<u64>, there: Option<u64>) -> Result<(), Failure> {
    let Some(there) = there else { return Ok(()) };
    if needed.is_some_and(|needed| needed <= there) {
        return Ok(());
    }
    let needed = needed.map_or_else(|| "more than 2^64 bytes".to_string(), gigabytes);
    Err(Failure::new(format!("{what}: needs {needed} {place}; allowed: what fits {}", gigabytes(there))))
}

/// Returns the number of bytes of memory that the system has free, or that this process may still map if that is less;
/// `None` if neither is known.
fn memory() -> Option<u64> {
    let mapped = line("/proc/self/status", "VmSize:").unwrap_or(0);
    let may = limit(Resource::RLIMIT_AS).map(|limit| limit.saturating_sub(mapped));
    line("/proc/meminfo", "MemAvailable:").into_iter().chain(may).min()
}

fn limit(of: Resource) -> Option<u64> {
    getrlimit(of).ok().map(|(soft, _)| soft)
}

/// Returns the value of `key` in a file such as /proc/meminfo, in bytes.
pub fn line(file: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    value.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_and_what_does_not() {
        assert!(in_memory("x", Some(1)).is_ok() && at_most("x", 3, 3).is_ok());
        let told = |outcome: Result<(), Failure>| outcome.unwrap_err().to_string();
        assert_eq!(told(at_most("calls", 4, 3)), "calls: 4; allowed: 3 or fewer");
        assert!(told(in_memory("x", None)).starts_with("x: needs more than 2^64 bytes of memory; allowed: what fits "));
        assert!(told(in_memory("n: 7", Some(1 << 62))).starts_with("n: 7: needs 4611686018.4 GB of memory; allowed: "));
        let of_ranks = told(in_memory_of_ranks("n: 7", Some(1 << 62), 1 << 40));
        let fit = of_ranks
            .strip_suffix(" ranks of 1099511627776")
            .and_then(|told| told.rsplit(' ').next()?.parse::<u64>().ok());
        assert!(of_ranks.contains(", about ") && fit.is_some_and(|fit| fit > 0 && fit < 1 << 30), "{of_ranks}");
        let told = told(in_directory("file", 1 << 62, Path::new("/")));
        assert!(told.starts_with("file: needs 4611686018.4 GB in /; allowed: what fits"), "{told}");
    }
}
