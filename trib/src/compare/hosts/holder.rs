//! Processes that hold namespaces. One ends when its standard input does: with this program, however that ends.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Failure;

/// The namespaces of a host.
const OF_HOST: [&str; 4] = ["--mount", "--uts", "--ipc", "--net"];

/// What a holder prints when its namespaces are as they should be.
const READY: &str = "ready";

/// A process that holds namespaces.
#[derive(Debug)]
pub struct Holder {
    child: Child,
    namespaces: &'static [&'static str],
}

impl Holder {
    /// A network without hosts, in which a bridge can be.
    ///
    /// # Errors
    /// As [`Holder::host`].
    pub fn switch() -> Result<Self, Failure> {
        Self::start(&["--net"], "ip link set lo up", &[])
    }

    /// A host: its name, its addresses of others (`/etc/hosts`), a /dev/shm and a network of its own.
    ///
    /// # Errors
    /// A step fails.
    pub fn host(name: &str, hosts: &Path) -> Result<Self, Failure> {
        let steps =
            "hostname \"$1\" && mount --bind \"$2\" /etc/hosts && mount -t tmpfs tmpfs /dev/shm && ip link set lo up";
        Self::start(&OF_HOST, steps, &[name, &hosts.display().to_string()])
    }

    fn start(namespaces: &'static [&'static str], steps: &str, arguments: &[&str]) -> Result<Self, Failure> {
        let script = format!("{steps} && echo {READY} && exec cat > /dev/null");
        let mut command = Command::new("unshare");
        command.args(namespaces).args(["sh", "-c", &script, "sh"]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|cause| Failure::new(format!("hosts: unshare: {cause}")))?;
        let mut holder = Self { child, namespaces };
        if holder.is_ready() { Ok(holder) } else { Err(Failure::new(format!("hosts: {}", holder.reason()))) }
    }

    fn is_ready(&mut self) -> bool {
        let mut line = String::new();
        let read = self.child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
        read.is_some_and(|read| read.is_ok()) && line.trim() == READY
    }

    /// What one that has ended says.
    fn reason(&mut self) -> String {
        let mut said = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            let _ = errors.read_to_string(&mut said);
        }
        said.lines().next().unwrap_or("a namespace cannot be made").to_string()
    }

    /// Its number, by which its namespaces are entered.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The beginning of a command that runs in its namespaces, under the number of the process that is started.
    pub fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.pid().to_string()]).args(self.namespaces).arg("--");
        command
    }
}

/// Ends what still runs in the network namespace of a process, except itself: ranks of a launcher that was ended before them.
fn end_others(holder: u32) {
    let network = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let Some(own) = network(&holder.to_string()) else { return };
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in names.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        if pid != holder as i32 && network(&pid.to_string()).as_ref() == Some(&own) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        end_others(self.pid());
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
