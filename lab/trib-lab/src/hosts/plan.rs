//! Plan of the hosts to make, checked; their names and addresses, and the texts by which launchers find them.

use std::fmt::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::network::QUEUE;
use crate::cli::compare::MeasureOptions;
use trib::Failure;
use trib::launcher::Family;

/// First two bytes of the hosts' subnet, which nothing outside of the hosts sees.
const SUBNET: [u8; 2] = [10, 88];
/// Number of bits of the subnet's prefix.
pub const PREFIX: u8 = 16;
/// Programs that make hosts, each with options with which it does nothing.
const TOOLS: [&[&str]; 3] =
    [&["unshare", "--mount", "--uts", "--ipc", "--net", "true"], &["nsenter", "--version"], &["ip", "-V"]];

/// Plan of the hosts that the options ask for.
#[derive(Debug, Clone)]
pub struct HostsPlan {
    /// Number of hosts.
    pub hosts: u64,
    /// Rate of every link, in the notation of tc.
    pub shape: Option<String>,
    /// Number of milliseconds that bytes wait at a link with a rate at most; more bytes are dropped.
    pub queue: u64,
    /// Number of processors that a host may use; `None` for all of the machine's.
    pub cores: Option<f64>,
}

/// Refuses impossible options of hosts.
///
/// # Errors
/// The hosts do not divide a number of ranks, or do not share a directory.
pub fn check(measure: &MeasureOptions) -> Result<(), Failure> {
    let Some(hosts) = measure.hosts else { return Ok(()) };
    if let Some(ranks) = measure.ranks.iter().find(|ranks| !ranks.is_multiple_of(hosts)) {
        return Err(Failure::new(format!("hosts: {hosts} with {ranks} ranks; allowed: hosts that divide --ranks")));
    }
    measure.directories.iter().try_for_each(|directory| shared("directory", directory))?;
    shared("TMPDIR", &std::env::temp_dir())
}

/// Refuses a directory that hosts do not share; `what` names it.
///
/// # Errors
/// The hosts do not share the directory.
pub fn shared(what: &str, directory: &Path) -> Result<(), Failure> {
    if directory.starts_with("/dev/shm") {
        let own = directory.display();
        return Err(Failure::new(format!("{what}: {own}: every host has a /dev/shm of its own; allowed: others")));
    }
    Ok(())
}

/// Refuses a rate that is not a number and a unit of bits or bytes a second. tc makes the final check when the hosts
/// are made.
///
/// # Errors
/// The rate is not valid.
pub fn check_shape(measure: &MeasureOptions) -> Result<(), Failure> {
    check_rate(measure.shape.as_deref())
}

/// Refuses a rate that is not a number and a unit of bits or bytes a second.
///
/// # Errors
/// The rate is not valid.
pub fn check_rate(rate: Option<&str>) -> Result<(), Failure> {
    rate.map_or(Ok(()), |rate| bytes_a_second(rate).map(drop))
}

/// Returns the bytes a second of a rate in the notation of tc.
///
/// # Errors
/// The rate is not a number and a unit of bits or bytes a second.
pub fn bytes_a_second(rate: &str) -> Result<f64, Failure> {
    let unit = rate.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = rate[..rate.len() - unit.len()].parse::<f64>().ok().filter(|number| *number > 0.0);
    let bits = unit.strip_suffix("bit").map(|prefix| (prefix, 8.0));
    let factor = bits.or(unit.strip_suffix("bps").map(|prefix| (prefix, 1.0))).and_then(|(prefix, bits)| {
        let (letter, base) = prefix.strip_suffix('i').map_or((prefix, 1000f64), |letter| (letter, 1024.0));
        let power = ["", "k", "m", "g", "t"].iter().position(|known| *known == letter && prefix != "i")?;
        Some(base.powi(power as i32) / bits)
    });
    let bytes = number.zip(factor).map(|(number, factor)| number * factor);
    bytes.ok_or_else(|| {
        Failure::new(format!("shape: {rate}; allowed: a rate as tc writes it, such as 1gbit or 100mbit"))
    })
}

impl HostsPlan {
    /// Returns the plan of the hosts that the options ask for.
    pub fn of(measure: &MeasureOptions) -> Option<Self> {
        Some(Self { hosts: measure.hosts?, shape: measure.shape.clone(), queue: QUEUE, cores: measure.cores })
    }

    /// Returns the reason why hosts cannot be made here, if they cannot.
    pub fn obstacle(&self) -> Option<String> {
        if !nix::unistd::geteuid().is_root() {
            return Some("only root can make them".to_string());
        }
        let shaper: &[&str] = &["tc", "-V"];
        TOOLS.into_iter().chain(self.shape.iter().map(|_| shaper)).find_map(|words| {
            let output = match Command::new(words[0]).args(&words[1..]).output() {
                Ok(output) if output.status.success() => return None,
                Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_string(),
                Err(cause) => cause.to_string(),
            };
            let said = output.lines().next().unwrap_or("fails").to_string();
            Some(format!("they need {}, which says: {said}", words[0]))
        })
    }

    /// Returns the name of host number `host`.
    pub fn name(&self, host: u64) -> String {
        format!("trib-host{host}")
    }

    /// Returns the address of host number `host`; neither the first nor the last of 256.
    pub fn address(&self, host: u64) -> Ipv4Addr {
        let [a, b] = SUBNET;
        Ipv4Addr::new(a, b, (host / 250) as u8, (host % 250 + 1) as u8)
    }

    /// Returns the contents of /etc/hosts for every host.
    pub fn names_and_addresses(&self) -> String {
        (0..self.hosts).fold("127.0.0.1 localhost\n".to_string(), |mut text, host| {
            let _ = writeln!(text, "{} {}", self.address(host), self.name(host));
            text
        })
    }

    /// Returns the list of hosts for a launcher, which puts `slots` ranks on each host before it continues on the next.
    pub fn list(&self, family: Family, slots: u64) -> String {
        let line = |host| match family {
            Family::Mpich => format!("{}:{slots}\n", self.name(host)),
            Family::OpenMpi => format!("{} slots={slots}\n", self.name(host)),
        };
        (0..self.hosts).map(line).collect()
    }

    /// Returns a program that launchers call in place of ssh: options, a host, and a line for its shell. Each host has the
    /// process that holds its namespaces, and the file by which a process gets the host's processors.
    pub fn agent(&self, hosts: &[(u32, PathBuf)]) -> String {
        let mut text = "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\ncase $1 in\n".to_string();
        for (host, (pid, group)) in hosts.iter().enumerate() {
            let _ = writeln!(text, "{}) pid={pid} group='{}' ;;", self.name(host as u64), group.display());
        }
        text += "*) echo \"trib: $1: no such host\" >&2; exit 1 ;;\nesac\nshift\necho 0 > \"$group\" || exit 1\n";
        text + "exec nsenter --target \"$pid\" --mount --uts --ipc --net -- sh -c \"$*\"\n"
    }
}
