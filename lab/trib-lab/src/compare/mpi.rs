//! Tools of the MPI library under comparison: its family, compiler wrapper and launcher, and how variables reach its
//! ranks.

use std::process::Command;

use trib::compare::variant::{self, Variant};

use crate::cli::compare::{MpiName, Tools};
use crate::hosts::RunPlace;
use trib::Failure;
use trib::launcher::{self, Launcher};

pub use trib::launcher::Family;

/// Tools of one MPI library.
#[derive(Debug, Clone)]
pub struct Mpi {
    /// Family of the MPI library (MPICH, Open MPI).
    pub family: Family,
    /// Name of the compiler wrapper.
    pub mpicc: String,
    /// Name of the launcher.
    pub mpiexec: String,
    /// Place where ranks run: this machine, or emulated hosts.
    pub place: RunPlace,
}

impl Mpi {
    /// Returns the MPI library that the options name.
    ///
    /// # Errors
    /// No compiler wrapper finds an mpi.h of a known family; there is no launcher, or one of another family.
    pub fn of(tools: &Tools) -> Result<Self, Failure> {
        let or = |given: &Option<String>, variable, name: &str| {
            given.clone().or_else(|| std::env::var(variable).ok()).unwrap_or_else(|| name.to_string())
        };
        let (mpicc, mpiexec) = match tools.mpi {
            Some(MpiName::Mpich) => ("mpicc.mpich".to_string(), "mpiexec.mpich".to_string()),
            Some(MpiName::OpenMpi) => ("mpicc.openmpi".to_string(), "mpiexec.openmpi".to_string()),
            None => (or(&tools.mpicc, "MPICC", "mpicc"), or(&tools.mpiexec, "MPIEXEC", "mpiexec")),
        };
        let family = family_of(&mpicc)?;
        if let Some(other) = launcher(&mpiexec)?.filter(|other| *other != family) {
            let (of, not) = (other.name(), family.name());
            return Err(Failure::new(format!(
                "mpiexec: {mpiexec} belongs to {of}, but {mpicc} to {not}; allowed: both of one MPI library"
            )));
        }
        Ok(Self { family, mpicc, mpiexec, place: RunPlace::Here })
    }

    /// Returns a command that starts, itself or by a shell, a launcher of this MPI library for `ranks` ranks.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn command(&self, program: &str, ranks: u64) -> Result<Command, Failure> {
        match self.place.emulated() {
            Some(hosts) => hosts.command(program, ranks.div_ceil(hosts.count())),
            None => Ok(Command::new(program)),
        }
    }

    /// Returns the launcher's command for `ranks` ranks, without the program. `arguments` are for the launcher.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn launch(&self, ranks: u64, arguments: &[String]) -> Result<Command, Failure> {
        let mut command = self.command(&self.mpiexec, ranks)?;
        // Open MPI: allow more ranks than cores, let waiting ranks yield, and allow root, as in containers.
        if self.family == Family::OpenMpi {
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
        }
        command.args(["-n", &ranks.to_string()]).args(arguments);
        if let Some(here) = self.place.pretended(ranks) {
            if self.family == Family::Mpich {
                // These names have no addresses.
                command.args(self.family.for_ranks("MPICH_INTERFACE_HOSTNAME", "127.0.0.1"));
            }
            let name = format!("host$((${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}} / {here}))");
            command.arg("unshare");
            if !nix::unistd::geteuid().is_root() {
                // Users other than root need a user namespace first, where the kernel allows it.
                command.args(["--user", "--map-root-user"]);
            }
            command.args(["--uts", "sh", "-c", &format!("hostname {name} && exec \"$@\""), "sh"]);
        }
        Ok(command)
    }

    /// Returns the settings to try on `ranks` ranks.
    pub fn candidates(&self, ranks: u64) -> Vec<Variant> {
        variant::candidates(self.family, &self.mpiexec, ranks, self.place.hosts(ranks))
    }

    /// Returns the variant that is measured in addition to the defaults and the best hints, with its name.
    pub fn beside(&self, ranks: u64) -> Option<(&'static str, Variant)> {
        variant::beside(self.family, ranks, self.place.hosts(ranks))
    }

    /// Refuses a launcher that does not find emulated hosts.
    ///
    /// # Errors
    /// The launcher is neither hydra nor Open MPI's.
    pub fn check_launcher(&self) -> Result<(), Failure> {
        check_launcher(&self.mpiexec).map(|_| ())
    }
}

/// Returns the launcher called `name`, which finds emulated hosts.
///
/// # Errors
/// The launcher is neither hydra nor Open MPI's.
pub fn check_launcher(name: &str) -> Result<&'static Launcher, Failure> {
    launcher::asked(name)?.ok_or_else(|| {
        let allowed = "hydra (mpiexec of MPICH), or mpiexec of Open MPI";
        Failure::new(format!("hosts: {name} is a launcher that finds no emulated hosts; allowed: {allowed}"))
    })
}

/// Returns the family of a launcher, from its version; none if the family is not known.
fn launcher(name: &str) -> Result<Option<Family>, Failure> {
    Ok(launcher::asked(name)?.and_then(|launcher| launcher.family))
}

/// Returns the family of the mpi.h that the wrapper finds.
fn family_of(mpicc: &str) -> Result<Family, Failure> {
    let no_mpi = |why: &str| {
        Failure::new(format!(
            "mpicc: {mpicc}: {why}; allowed: the compiler wrapper of an MPI library (--mpi, --mpicc, $MPICC)"
        ))
    };
    let directory = tempfile::tempdir()?;
    let probe = directory.path().join("family.c");
    std::fs::write(
        &probe,
        "#include <mpi.h>\n#if defined(OPEN_MPI)\nfamily=openmpi\n#elif defined(MPICH_VERSION)\nfamily=mpich\n#endif\n",
    )?;
    let output = Command::new(mpicc).arg("-E").arg(&probe).output().map_err(|cause| no_mpi(&cause.to_string()))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match said.lines().find_map(|line| line.strip_prefix("family=")) {
        Some("openmpi") => Ok(Family::OpenMpi),
        Some("mpich") => Ok(Family::Mpich),
        _ => Err(no_mpi("finds no mpi.h of MPICH or Open MPI")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Tools {
        Tools { mpi: None, mpicc: None, mpiexec: None, library: None, peers: Vec::new() }
    }

    #[test]
    fn a_program_that_is_not_mpicc_is_refused_in_a_line() {
        for bad in ["/nowhere/mpicc", "true"] {
            let said = Mpi::of(&Tools { mpicc: Some(bad.to_string()), ..tools() }).unwrap_err().to_string();
            assert!(said.starts_with(&format!("mpicc: {bad}: ")) && said.contains("allowed"), "{said}");
        }
    }
}
