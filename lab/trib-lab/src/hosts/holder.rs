//! Starts processes that hold namespaces. A process ends when its standard input ends: with this program, however this
//! program ends.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use trib::Failure;

/// Options of unshare for the namespaces of a host.
const OF_HOST: [&str; 4] = ["--mount", "--uts", "--ipc", "--net"];

/// Text that a holder prints when its namespaces are ready.
const READY: &str = "ready";

/// Shell script that ends the processes that still run in the network namespace when this program has ended: launchers
/// and ranks of a run.
const END_OTHERS: &str = "own=$(readlink /proc/$$/ns/net)\n\
    for at in /proc/[0-9]*; do\n\
    [ \"$at\" != /proc/$$ ] && [ \"$(readlink $at/ns/net)\" = \"$own\" ] && kill -9 ${at#/proc/}\n\
    done 2> /dev/null";

/// Process that holds namespaces.
#[derive(Debug)]
pub struct Holder {
    child: Child,
    namespaces: &'static [&'static str],
}

impl Holder {
    /// Starts the holder of a network without hosts, for a bridge.
    ///
    /// # Errors
    /// The errors of [`Holder::host`].
    pub fn switch() -> Result<Self, Failure> {
        Self::start(&["--net"], "ip link set lo up", &[])
    }

    /// Starts the holder of a host: a host name, the addresses of the other hosts (`/etc/hosts`), a /dev/shm and a
    /// network of its own.
    ///
    /// # Errors
    /// A step fails.
    pub fn host(name: &str, hosts: &Path) -> Result<Self, Failure> {
        let steps =
            "hostname \"$1\" && mount --bind \"$2\" /etc/hosts && mount -t tmpfs tmpfs /dev/shm && ip link set lo up";
        Self::start(&OF_HOST, steps, &[name, &hosts.display().to_string()])
    }

    fn start(namespaces: &'static [&'static str], steps: &str, arguments: &[&str]) -> Result<Self, Failure> {
        let script = format!("trap '' INT TERM HUP; {steps} && echo {READY} && cat > /dev/null\n{END_OTHERS}");
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

    /// Returns the error output of a holder that has ended.
    fn reason(&mut self) -> String {
        let mut said = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            let _ = errors.read_to_string(&mut said);
        }
        said.lines().next().unwrap_or("a namespace cannot be made").to_string()
    }

    /// Returns the holder's process id, by which its namespaces are entered.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the beginning of a command that runs in the holder's namespaces, as the process that is started.
    pub fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.pid().to_string()]).args(self.namespaces).arg("--");
        command
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
