//! State that all measurements share (tools, program, our library), and the measurement of a task.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::floors::Rates;
use super::lists::StepLists;
use super::measure::{self, Plan, System};
use super::mpi::Mpi;
use super::part::MeasuredPart;
use super::row::{EMULATED, HOSTS_OF, Key, Row};
use super::rows::Rows;
use super::run::{Extra, Job, LIMIT};
use super::task::Task;
use super::{build, traffic};
use crate::cli::compare::CompareOptions;
use crate::hosts::Hosts;
use trib::Failure;
use trib::compare::machine;
use trib::compare::slow_file::SlowFile;
use trib::compare::variant::Variant;
use trib::launcher::library::library;

/// Maximum time of the first run on emulated hosts. An MPI library that does not support them may hang there.
const FIRST_LIMIT: Duration = Duration::from_secs(40);

/// State that all measurements share.
pub struct Setup<'a> {
    options: &'a CompareOptions,
    mpi: Mpi,
    /// Name and version of the MPI library.
    name: String,
    program: PathBuf,
    library: PathBuf,
    /// Version of our library, and the beginning of its file's SHA-256.
    revision: String,
    peers: Vec<(String, Variant)>,
    system_calls: bool,
    load: f64,
}

impl<'a> Setup<'a> {
    /// Finds the tools, builds the program, and checks that our library runs its calls.
    pub fn new(
        options: &'a CompareOptions,
        mpi: Mpi,
        peers: Vec<(String, Variant)>,
        directory: &Path,
    ) -> Result<Self, Failure> {
        let load = machine::load();
        let library = library(options.tools.library.as_deref())?;
        let program = build::program(&mpi)?;
        let traced =
            std::process::Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
        let system_calls = traced && !options.measure.no_system_calls;
        let (name, revision) = (String::new(), String::new());
        let mut setup = Self { options, mpi, name, program, library, revision, peers, system_calls, load };
        (setup.name, setup.revision) = setup.introduce(directory)?;
        Ok(setup)
    }

    /// Makes a tiny run. Returns the name and version of the MPI library, and the revision of our library.
    fn introduce(&self, directory: &Path) -> Result<(String, String), Failure> {
        let folder = folder_in(directory)?;
        let ranks = self.options.measure.ranks[0];
        let limit = if self.mpi.place.emulated().is_some() { FIRST_LIMIT } else { LIMIT };
        let job = Job { limit, ..self.job("pieces", vec![100, 64], ranks, folder.path(), None) };
        let first = Extra { report: true, strace: None };
        let output = job.run(&Variant::ours(), "about,write", first).map_err(|failure| self.on_hosts(failure))?;
        let parts = MeasuredPart::all(&output.stdout);
        let about = MeasuredPart::find(&parts, "about", &self.mpi.mpiexec)?;
        self.check_hosts(about)?;
        if about.ranks != ranks {
            let (mpiexec, mpicc) = (&self.mpi.mpiexec, &self.mpi.mpicc);
            return Err(Failure::new(format!(
                "mpiexec: {mpiexec} cannot start programs of {mpicc}; allowed: the launcher of the same MPI library"
            )));
        }
        if !traffic::is_reported(&output.stderr) {
            return Err(Failure::new(format!(
                "library: {} ran no calls of this program; allowed: libtributary_mpiio.so, and an MPI library with an ABI that it knows: {}",
                self.library.display(),
                output.stderr.lines().find(|line| line.starts_with("tributary:")).unwrap_or("it printed no reason")
            )));
        }
        let revision = build::revision(&self.library, traffic::version(&output.stderr).as_deref())?;
        Ok((name_of(about.library.as_deref().unwrap_or_default()), revision))
    }

    /// Adds to the failure of a first run on emulated hosts the possible reasons.
    fn on_hosts(&self, failure: Failure) -> Failure {
        if self.mpi.place.emulated().is_none() {
            return failure;
        }
        Failure::new(format!(
            "hosts: {}: this MPI library does not run there: {failure}; allowed: one that uses TCP between hosts, such as MPICH's \
             ch3:sock, or --ranks-per-host",
            self.mpi.mpiexec
        ))
    }

    /// Refuses an MPI library that takes several emulated hosts for one, as it would exchange through memory what
    /// belongs on the network, and MPICH on UCX: between emulated hosts one in about 40 programs of two ranks does not
    /// return from `MPI_Finalize`, without Tributary (MPICH 4.0.2, UCX 1.13, also with `UCX_TLS=tcp`).
    fn check_hosts(&self, about: &MeasuredPart) -> Result<(), Failure> {
        let is_on_ucx = about.library.as_ref().is_some_and(|library| library.contains("ch4:ucx"));
        match self.mpi.place.emulated() {
            Some(_) if is_on_ucx => Err(self.on_hosts(Failure::new("MPICH on UCX may not return from MPI_Finalize"))),
            Some(hosts) if about.hosts != hosts.count() => Err(Failure::new(format!(
                "hosts: {} sees {} and not {}; allowed: an MPI library that tells hosts by their names, or --ranks-per-host",
                self.mpi.mpiexec,
                about.hosts,
                hosts.count()
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the MPI library's name, and the hosts of `ranks` ranks.
    fn name_with_hosts(&self, ranks: u64) -> String {
        let name = &self.name;
        match (self.mpi.place.emulated(), self.mpi.place.pretended(ranks)) {
            (Some(hosts), _) => format!("{name}{EMULATED}{}", hosts.title(ranks)),
            (None, Some(here)) => format!("{name}{HOSTS_OF}{here}"),
            (None, None) => name.clone(),
        }
    }

    fn job(
        &self,
        pattern: &'static str,
        sizes: Vec<u64>,
        ranks: u64,
        folder: &Path,
        lists: Option<PathBuf>,
    ) -> Job<'_> {
        Job {
            mpi: &self.mpi,
            program: &self.program,
            library: &self.library,
            pattern,
            sizes,
            hints: &[],
            ranks,
            file: folder.join("file"),
            slow_file: None,
            lists,
            repeats: self.options.measure.repeats,
            budget: self.options.measure.budget,
            limit: LIMIT,
        }
    }

    /// Returns the rows of a task: existing ones, or new measurements.
    pub fn measure(&self, task: &Task, rows: &mut Rows, step: &dyn Fn(&str)) -> Result<Vec<Row>, Failure> {
        let keys: Vec<Key> = task.operations.iter().map(|&operation| self.key(task, operation)).collect();
        let there: Option<Vec<Row>> = keys.iter().map(|key| rows.find(key).cloned()).collect();
        if let Some(there) = there {
            return Ok(there);
        }
        let folder = folder_in(&task.directory)?;
        let held = folder_in(&task.directory)?;
        let lists = StepLists::of(task.case, &task.sizes, task.ranks, &self.options.measure)?;
        let measure = &self.options.measure;
        let clocks = self.mpi.place.emulated().map_or(held.path().to_path_buf(), Hosts::own);
        let slow_file = SlowFile::new(&measure.slow_file, folder.path(), &clocks)?;
        let needs_them = task.case.is_listed() || !self.peers.is_empty();
        let written = || lists.as_ref().map_or(Ok(Vec::new()), StepLists::written);
        let lists = lists.as_ref().filter(|_| needs_them).map(|lists| lists.write(held.path())).transpose()?;
        // Without lists, a library that takes lists cannot run.
        let peers = if task.case.lists { &self.peers[..] } else { &[] };
        let plan = Plan {
            job: Job {
                hints: task.case.hints,
                slow_file: slow_file.as_ref(),
                ..self.job(task.case.program, task.sizes.clone(), task.ranks, folder.path(), lists)
            },
            operations: task.operations.clone(),
            pairs: self.options.measure.pairs,
            peers,
            system_calls: self.system_calls,
            written: &written,
            rates: Rates::of(measure, self.mpi.place.hosts(task.ranks))?,
        };
        let file_system = machine::file_system(&task.directory);
        let system = System { machine: machine::name(), library: self.revision.clone(), file_system, load: self.load };
        let new = measure::measure(&plan, &keys, &system, step)?;
        new.iter()
            .filter(|row| rows.find(&row.key).is_none())
            .cloned()
            .collect::<Vec<_>>()
            .into_iter()
            .try_for_each(|row| rows.push(row))?;
        Ok(new)
    }

    fn key(&self, task: &Task, operation: usize) -> Key {
        let measure = &self.options.measure;
        let map = measure.map_of(task.case.name).and_then(Path::file_name);
        Key {
            pattern: if operation == 0 { task.case.name.to_string() } else { task.case.read_name() },
            mpi: self.name_with_hosts(task.ranks),
            ranks: task.ranks,
            directory: task.directory.display().to_string(),
            pairs: measure.pairs,
            repeats: measure.repeats,
            scale: measure.scale,
            map: map.map(|name| name.to_string_lossy().into_owned()),
            slow_file: measure.slow_file.title(),
        }
    }
}

/// Returns a temporary folder for the files of one task.
fn folder_in(directory: &Path) -> Result<tempfile::TempDir, Failure> {
    let made = tempfile::Builder::new().prefix("trib-compare-").tempdir_in(directory);
    made.map_err(|cause| Failure::new(format!("directory: {}: {cause}", directory.display())))
}

/// Returns a short name from the library's version text: `MPICH 4.0.2 (ch4:ucx)`, `Open MPI 4.1.4`.
fn name_of(library: &str) -> String {
    let after =
        |mark: &str| library.split(mark).nth(1).map(|rest| rest.split(['|', ',']).next().unwrap_or(rest).trim());
    match (after("MPICH Version:"), after("MPICH Device:"), after("Open MPI v")) {
        (Some(version), Some(device), _) => format!("MPICH {version} ({device})"),
        (.., Some(version)) => format!("Open MPI {version}"),
        _ => library.split(['|', ',']).next().unwrap_or(library).trim().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn names_of_mpi_libraries() {
        let mpich =
            "MPICH Version: 4.0.2|MPICH Release date: Thu|MPICH ABI: 14:2:2|MPICH Device: ch4:ucx|MPICH configure: x";
        assert_eq!(name_of(mpich), "MPICH 4.0.2 (ch4:ucx)");
        assert_eq!(name_of("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "Open MPI 4.1.4");
        assert_eq!(name_of("Another MPI 3|built"), "Another MPI 3");
    }
}
