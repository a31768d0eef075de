//! Finds out, by the files of `/proc`, which ranks of this host have this library. Only for messages: it takes milliseconds,
//! and sees only processes of the same user.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::mpi::interposition::RANKS;

/// Text that all names of this library's files contain.
const NAME: &str = "tributary";
/// Maximum number of ranks that a message names.
const MOST_NAMED: usize = 8;

/// The library of a rank of this host, compared with this rank's.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Loaded {
    /// The library is loaded from the same file as on this rank.
    Same,
    /// The library is loaded from the same file, but TRIB_DISABLE turns it off.
    Off,
    /// The library is loaded from another file.
    Other(PathBuf),
    /// The library is not loaded.
    Not,
}

/// The ranks of this host, with their numbers in MPI_COMM_WORLD.
#[derive(Debug, Default)]
pub struct RanksHere(Vec<(usize, Loaded)>);

/// Returns the ranks of this host that the same launcher has started; None if the launcher does not number its ranks or the
/// system does not show them. Local.
pub fn here() -> Option<RanksHere> {
    let (launcher, own) = (launcher()?, own_file()?);
    let job = environment(std::process::id()).as_deref().and_then(namespace);
    let mut found: Vec<(usize, Loaded)> = Vec::new();
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let is_of_job = |environment: &String| namespace(environment) == job && launcher_of(pid) == Some(launcher);
        let Some(environment) = environment(pid).filter(is_of_job) else { continue };
        let (Some(rank), Some(maps)) = (rank(&environment), maps(pid).filter(|maps| maps.contains("/libmpi"))) else {
            continue;
        };
        found.push((rank, loaded(&maps, &environment, &own)));
    }
    found.sort_by_key(|(rank, _)| *rank);
    found.dedup_by_key(|(rank, _)| *rank);
    Some(RanksHere(found))
}

impl RanksHere {
    /// Returns true if a rank of this host does not have the library as this rank has it.
    pub fn is_any_missing(&self) -> bool {
        self.0.iter().any(|(_, loaded)| *loaded != Loaded::Same)
    }

    /// Returns text about the ranks of this host that do not have the library, for a file of `ranks` ranks.
    pub fn missing(&self, ranks: usize) -> String {
        let differ = self.0.iter().filter(|(_, loaded)| *loaded != Loaded::Same);
        let mut texts: Vec<String> = differ
            .map(|(rank, loaded)| match loaded {
                Loaded::Other(path) => format!("rank {rank} has another file of it, {}", path.display()),
                Loaded::Off => format!("rank {rank} has TRIB_DISABLE set"),
                Loaded::Same | Loaded::Not => format!("rank {rank} does not have it"),
            })
            .collect();
        let more = texts.len().saturating_sub(MOST_NAMED);
        texts.truncate(MOST_NAMED);
        if more > 0 {
            texts.push(format!("nor do {more} more"));
        }
        let here = self.0.len();
        match texts.is_empty() {
            false => texts.join(", "),
            true if here < ranks => {
                format!(
                    "the {here} ranks of this host have it; it is missing on some of the {} other ranks",
                    ranks - here
                )
            }
            true => "all ranks of this host have the same file".to_string(),
        }
    }
}

/// A name in the kernel that only one process of a host can have. The kernel frees the name when the value is dropped or the
/// process ends.
pub struct HostLock(#[allow(dead_code, reason = "held")] std::os::unix::net::UnixDatagram);

#[cfg(target_os = "linux")]
impl HostLock {
    fn address(name: &str) -> std::io::Result<std::os::unix::net::SocketAddr> {
        use std::os::linux::net::SocketAddrExt;
        std::os::unix::net::SocketAddr::from_abstract_name(format!("{NAME}-{name}"))
    }

    /// Takes the name; None if another process has it.
    pub fn take(name: &str) -> Option<Self> {
        std::os::unix::net::UnixDatagram::bind_addr(&Self::address(name).ok()?).ok().map(Self)
    }

    /// Returns true if a process has the name.
    pub fn is_taken(name: &str) -> bool {
        let connect = || std::os::unix::net::UnixDatagram::unbound()?.connect_addr(&Self::address(name)?);
        connect().is_ok()
    }
}

#[cfg(not(target_os = "linux"))]
impl HostLock {
    /// Returns None: there are no such names on this system.
    pub fn take(_: &str) -> Option<Self> {
        None
    }

    /// Returns false: there are no such names on this system.
    pub fn is_taken(_: &str) -> bool {
        false
    }
}

/// Returns a text that is the same for the ranks of this host that one launcher has started, and different for other
/// jobs. Returns None if the system does not show it. Found once. Local.
pub fn job() -> Option<&'static str> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    let found = || {
        let namespace = environment(std::process::id()).as_deref().and_then(namespace).unwrap_or_default();
        // SAFETY: it cannot fail and touches nothing.
        Some(format!("{}-{}-{namespace}", unsafe { libc::getuid() }, launcher()?))
    };
    FOUND.get_or_init(found).as_deref()
}

/// Returns the name that a PMIx launcher gives a job.
fn namespace(environment: &str) -> Option<String> {
    variable(environment, "PMIX_NAMESPACE").map(String::from)
}

/// Returns the process that has started the ranks of this host: the nearest ancestor that is no rank itself, nor the shell of a
/// rank. Found once. Local.
fn launcher() -> Option<u32> {
    static FOUND: OnceLock<Option<u32>> = OnceLock::new();
    *FOUND.get_or_init(|| launcher_of(std::process::id()))
}

fn launcher_of(pid: u32) -> Option<u32> {
    let mut at = pid;
    loop {
        let parent = parent(at)?;
        if environment(parent).is_none_or(|environment| rank(&environment).is_none()) {
            return (at != pid || is_rank(pid)).then_some(parent);
        }
        at = parent;
    }
}

fn is_rank(pid: u32) -> bool {
    environment(pid).is_some_and(|environment| rank(&environment).is_some())
}

fn parent(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()?;
    (parent != 0).then_some(parent)
}

/// Returns the environment with which a process was started, one variable a line.
fn environment(pid: u32) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    Some(String::from_utf8_lossy(&bytes).replace('\0', "\n"))
}

fn variable<'a>(environment: &'a str, name: &str) -> Option<&'a str> {
    environment.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

fn rank(environment: &str) -> Option<usize> {
    RANKS.iter().find_map(|name| variable(environment, name)?.parse().ok())
}

fn maps(pid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()
}

/// Returns device and inode of the file that this library was loaded from, as the system lists them.
fn own_file() -> Option<String> {
    let own = own_file as *const () as usize;
    let maps = maps(std::process::id())?;
    maps.lines().find(|line| range(line).is_some_and(|(start, end)| (start..end).contains(&own))).and_then(file)
}

fn range(line: &str) -> Option<(usize, usize)> {
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    Some((usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?))
}

/// Returns device and inode of the mapped file in a line of `/proc/PID/maps`.
fn file(line: &str) -> Option<String> {
    let mut fields = line.split_whitespace().skip(3);
    Some(format!("{} {}", fields.next()?, fields.next()?))
}

fn loaded(maps: &str, environment: &str, own: &str) -> Loaded {
    let is_off = variable(environment, "TRIB_DISABLE").is_some_and(|value| !value.is_empty() && value != "0");
    if maps.lines().any(|line| file(line).as_deref() == Some(own)) {
        return if is_off { Loaded::Off } else { Loaded::Same };
    }
    let path = |line: &str| line.split_whitespace().nth(5).map(PathBuf::from);
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.contains(NAME) && Path::new(&*name).extension().is_some()
    };
    maps.lines().filter_map(path).find(is_ours).map_or(Loaded::Not, Loaded::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "fd:01 42";

    #[test]
    fn ranks_are_compared_by_their_files() {
        let line = |inode: u32, path: &str| format!("7f00-7f10 r-xp 00000000 fd:01 {inode} {path}\n");
        let mpi = line(1, "/usr/lib/libmpi.so");
        let of = |maps: &str, environment: &str| loaded(&(mpi.clone() + maps), environment, OWN);
        let ours = line(42, "/new/libtributary_mpiio.so");
        assert_eq!(of(&ours, "PMI_RANK=1"), Loaded::Same);
        assert_eq!(of(&ours, "TRIB_DISABLE=1"), Loaded::Off);
        assert_eq!(of(&ours, "TRIB_DISABLE=0"), Loaded::Same);
        assert_eq!(of("", ""), Loaded::Not);
        let old = "/old/libtributary_mpiio.so";
        assert_eq!(of(&line(41, old), ""), Loaded::Other(old.into()));
    }

    #[test]
    fn a_message_names_the_ranks_or_where_they_are() {
        let here = RanksHere(vec![(0, Loaded::Same), (1, Loaded::Not), (2, Loaded::Other("/old/a.so".into()))]);
        assert_eq!(here.missing(4), "rank 1 does not have it, rank 2 has another file of it, /old/a.so");
        let here = RanksHere(vec![(0, Loaded::Same), (1, Loaded::Same)]);
        assert!(!here.is_any_missing());
        assert!(here.missing(4).ends_with("missing on some of the 2 other ranks"));
    }

    #[test]
    fn this_process_has_a_file() {
        assert!(own_file().is_some_and(|file| file.contains(' ')));
        let lock = HostLock::take(&format!("test-{}", std::process::id()));
        assert!(lock.is_none() || HostLock::is_taken(&format!("test-{}", std::process::id())));
    }
}
