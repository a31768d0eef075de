//! Emulated hosts on one machine: a network, a host name, shared memory and a /dev/shm of their own for every N ranks.
//!
//! A host is a process that holds namespaces (`holder`). A bridge in a namespace of its own joins the hosts
//! (`network`), so that nothing appears in the machine's own network, no name can be taken already, and any subnet is
//! free. Files are on a tmpfs that is mounted before the hosts are made (`files`), in a mount namespace of this
//! program's own. The processes that hold the namespaces end when this program does, however it ends; the kernel then
//! removes the namespaces.
//!
//! `trib-lab compare --hosts` measures on emulated hosts, `trib-lab hosts` runs any command there (`command`).

mod command;
mod cores;
mod files;
mod holder;
mod network;
mod plan;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::cli::compare::MeasureOptions;
use cores::Cores;
use files::Files;
use holder::Holder;
use plan::HostsPlan;
use trib::Failure;
use trib::cli::slow_file::SlowFileOptions;
use trib::compare::slow_file::SlowFile;
use trib::launcher::{Family, preload};

pub use command::run;
pub use plan::{bytes_a_second, check, check_shape};

/// Environment variables for the ranks' software on emulated hosts: libfabric uses the hosts' network; Open MPI lets
/// root start programs there, and more ranks than the machine has cores.
const VARIABLES: [(&str, &str); 6] = [
    ("FI_PROVIDER", "tcp"),
    ("FI_TCP_IFACE", "eth0"),
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
];

/// Place where the ranks of a run are.
#[derive(Debug, Clone, Default)]
pub enum RunPlace {
    /// Ranks are on this machine, as the launcher places them.
    #[default]
    Here,
    /// Ranks are on this machine, with this number of consecutive ranks under a host name of their own.
    Pretended(u64),
    /// Ranks are on this machine, divided among this number of host names.
    PretendedHosts(u64),
    /// Ranks are on emulated hosts.
    Emulated(Arc<Hosts>),
}

impl RunPlace {
    /// Returns the place that the options ask for. Makes the hosts. Where that is not possible, prints so and pretends
    /// host names.
    ///
    /// # Errors
    /// A rate that is refused; a step that should work for this user fails.
    pub fn of(measure: &MeasureOptions) -> Result<Self, Failure> {
        let Some(plan) = HostsPlan::of(measure) else {
            return Ok(measure.ranks_per_host.map_or(Self::Here, Self::Pretended));
        };
        match plan.obstacle() {
            None => Ok(Self::Emulated(Arc::new(Hosts::up(plan)?))),
            Some(why) if plan.shape.is_some() => {
                Err(Failure::new(format!("shape: {why}; allowed: what makes hosts, or no --shape")))
            }
            Some(why) => {
                eprintln!("trib-lab: hosts: {why}: host names are pretended instead, as --ranks-per-host does");
                Ok(Self::PretendedHosts(plan.hosts))
            }
        }
    }

    /// Returns the number of hosts of a run of `ranks` ranks.
    pub fn hosts(&self, ranks: u64) -> u64 {
        match self {
            Self::Here => 1,
            Self::Pretended(here) => ranks.div_ceil(*here),
            Self::PretendedHosts(hosts) => *hosts,
            Self::Emulated(hosts) => hosts.count(),
        }
    }

    /// Returns the number of ranks under each pretended host name, if host names are pretended.
    pub fn pretended(&self, ranks: u64) -> Option<u64> {
        match self {
            Self::Pretended(here) => Some(*here),
            Self::PretendedHosts(hosts) => Some((ranks / hosts).max(1)),
            _ => None,
        }
    }

    /// Returns the emulated hosts, if there are any.
    pub fn emulated(&self) -> Option<&Hosts> {
        match self {
            Self::Emulated(hosts) => Some(hosts),
            _ => None,
        }
    }
}

/// Emulated hosts, until they are dropped.
#[derive(Debug)]
pub struct Hosts {
    plan: HostsPlan,
    hosts: Vec<Holder>,
    _switch: Holder,
    files: Files,
    /// The limits of processor time; `None` if the hosts share the machine's processors. Dropped after the hosts.
    cores: Option<Cores>,
}

impl Hosts {
    /// Makes the hosts of a plan.
    ///
    /// # Errors
    /// A command fails; the error contains its message.
    fn up(plan: HostsPlan) -> Result<Self, Failure> {
        let files = Files::mount()?;
        std::fs::write(files.own("hosts"), plan.names_and_addresses())?;
        let switch = Holder::switch()?;
        let hosts: Vec<Holder> = (0..plan.hosts)
            .map(|host| Holder::host(&plan.name(host), &files.own("hosts")))
            .collect::<Result<_, _>>()?;
        network::join(&plan, &switch, &hosts)?;
        let cores = plan.cores.map(|cores| Cores::of(plan.hosts, cores)).transpose()?;
        let group =
            |host: usize| cores.as_ref().map_or_else(|| "/dev/null".into(), |cores| cores.processes(host as u64));
        let joined: Vec<_> = hosts.iter().enumerate().map(|(host, holder)| (holder.pid(), group(host))).collect();
        let made = Self { plan, hosts, _switch: switch, files, cores };
        files::write_program(&made.agent(), &made.plan.agent(&joined))?;
        Ok(made)
    }

    /// Makes hosts whose links have the rate `shape`, in the notation of tc, and queues of `queue` milliseconds, or of the
    /// default. Each may use `cores` processors, or all of the machine's.
    ///
    /// # Errors
    /// Hosts cannot be made here.
    pub fn of(hosts: u64, shape: Option<String>, queue: Option<u64>, cores: Option<f64>) -> Result<Self, Failure> {
        let plan = HostsPlan { hosts, shape, queue: queue.unwrap_or(network::QUEUE), cores };
        match plan.obstacle() {
            Some(why) => Err(Failure::new(format!("hosts: {why}"))),
            None => Self::up(plan),
        }
    }

    /// Returns [`Hosts::command`] with a slow file system for the files of all hosts, if `slow` has a rate. The slow file
    /// system ends with the second value.
    ///
    /// # Errors
    /// The errors of [`Hosts::command`] and [`SlowFile::new`].
    pub fn slow_command(
        &self,
        program: &str,
        slots: u64,
        slow: &SlowFileOptions,
    ) -> Result<(Command, Option<SlowFile>), Failure> {
        let mut command = self.command(program, slots)?;
        let slow_file = SlowFile::new(slow, &self.directory(), &self.own())?;
        if let Some(slow) = &slow_file {
            let inherited = std::env::var(preload::NAME).unwrap_or_default();
            command.env(preload::NAME, preload::before(slow.library(), &inherited)).envs([slow.variable()]);
        }
        Ok((command, slow_file))
    }

    /// Returns the directory for files, which all hosts share.
    pub fn directory(&self) -> PathBuf {
        self.files.directory()
    }

    /// Returns the directory for files of the hosts themselves, which all hosts share.
    pub fn own(&self) -> PathBuf {
        self.files.own("")
    }

    /// Returns the path of the program that runs a line of a shell on a host.
    fn agent(&self) -> PathBuf {
        self.files.own("agent")
    }

    /// Returns the number of hosts.
    pub fn count(&self) -> u64 {
        self.plan.hosts
    }

    /// Returns the name of the hosts in rows, for `ranks` ranks: `4 x 4`, and the shape.
    pub fn title(&self, ranks: u64) -> String {
        let shape = self.plan.shape.as_ref().map_or(String::new(), |shape| format!(", {shape}"));
        let cores = self.plan.cores.map_or(String::new(), |cores| format!(", {cores} cores"));
        format!("{} x {}{shape}{cores}", self.plan.hosts, ranks / self.plan.hosts)
    }

    /// Returns a command that runs on the first host. A launcher of either family that the command starts, itself or by
    /// a shell, finds the hosts in its environment, and puts `slots` ranks on each host before it continues on the
    /// next.
    ///
    /// # Errors
    /// The list of hosts cannot be written.
    pub fn command(&self, program: &str, slots: u64) -> Result<Command, Failure> {
        let mut command = self.hosts[0].enter();
        // In a namespace of mounts the working directory is lost.
        let here = std::env::current_dir()?;
        plan::shared("current directory", &here)?;
        let group = self.cores.as_ref().map_or_else(|| "/dev/null".into(), |cores| cores.processes(0));
        command
            .args(["sh", "-c", "echo 0 > \"$0\" && cd \"$1\" && shift && exec \"$@\""])
            .args([group, here])
            .arg(program);
        command.envs(VARIABLES);
        for family in [Family::Mpich, Family::OpenMpi] {
            let list = self.files.own(&format!("list-{}-{slots}", family.name()));
            std::fs::write(&list, self.plan.list(family, slots))?;
            command.envs(self.environment(family, &list));
        }
        Ok(command)
    }

    fn environment(&self, family: Family, list: &Path) -> Vec<(&'static str, PathBuf)> {
        let agent = self.agent();
        let list = list.to_path_buf();
        match family {
            Family::Mpich => {
                vec![("HYDRA_LAUNCHER", "ssh".into()), ("HYDRA_LAUNCHER_EXEC", agent), ("HYDRA_HOST_FILE", list)]
            }
            // The names of version 4 and of version 5.
            Family::OpenMpi => vec![
                ("OMPI_MCA_plm_rsh_agent", agent.clone()),
                ("OMPI_MCA_orte_default_hostfile", list.clone()),
                ("PRTE_MCA_plm_ssh_agent", agent),
                ("PRTE_MCA_prte_default_hostfile", list),
            ],
        }
    }
}

#[cfg(test)]
mod tests;
