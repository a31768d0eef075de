//! Runs a program once under `mpiexec`, in an empty folder of its own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tributary_testing::launcher;

use super::family::{Family, ours};
use super::report::Report;

/// Time limit of a run in seconds, after which the launcher ends it, unless `MPIEXEC_TIMEOUT` sets another.
const SECONDS: u64 = 60;
/// Additional time in seconds, after which the launcher itself is killed.
const GRACE: u64 = 15;

/// How a report says that the library came into the program.
const DOORS: [&str; 2] = ["preloaded", "component of Open MPI"];

/// A program to be run.
#[derive(Debug, Clone)]
pub struct Launch {
    family: Family,
    /// Path of the launcher, if it is not the family's.
    launcher: Option<PathBuf>,
    ranks: usize,
    command: Vec<String>,
    preloaded: Vec<PathBuf>,
    /// True if Open MPI loads this library as a component.
    by_component: bool,
    environment: BTreeMap<String, String>,
    seconds: u64,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The exit status of the launcher.
    pub status: ExitStatus,
    /// Standard output of all ranks.
    pub stdout: String,
    /// Standard error of all ranks.
    pub stderr: String,
    /// Files that the program left in its folder, by name.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The library's report on each file, in the order in which files were closed.
    pub reports: Vec<Report>,
    /// The temporary folder.
    pub folder: tempfile::TempDir,
}

impl Outcome {
    /// Returns the number of lines of standard error that have `text`, without reports.
    pub fn lines_with(&self, text: &str) -> usize {
        self.stderr.lines().filter(|line| line.contains(text) && !line.contains("tributary: {")).count()
    }
}

impl Launch {
    /// Creates a run of a program on `ranks` ranks, without the library.
    pub fn new(ranks: usize, program: &Path) -> Self {
        let command = vec![program.display().to_string()];
        let (preloaded, environment) = (Vec::new(), BTreeMap::new());
        let seconds = launcher::seconds(SECONDS);
        Self { family: ours(), launcher: None, ranks, command, preloaded, by_component: false, environment, seconds }
    }

    /// Runs the program with this library, which reports in JSON: preloads it, or has Open MPI load it as a component if
    /// TRIB_TEST_DOOR says so and the program runs on the family's Open MPI. (That of the wheels loads no components.)
    pub fn with_library(self) -> Self {
        let mut this = self.env("TRIB_REPORT", "json");
        if this.family == Family::OpenMpi && this.launcher.is_none() && is_component() {
            return this.by_component();
        }
        this.preloaded.push(library());
        this
    }

    /// Has Open MPI load this library as a component.
    pub fn by_component(self) -> Self {
        let path = format!("{}:SYSTEM_DEFAULT:USER_DEFAULT", components().display());
        self.by_component_with(component_path(), path)
    }

    /// Sets a variable by which Open MPI finds this library as a component.
    pub fn by_component_with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.by_component = true;
        self.env(name, value)
    }

    /// Preloads another library after this one.
    pub fn also_preload(mut self, library: &Path) -> Self {
        self.preloaded.push(library.to_path_buf());
        self
    }

    /// Sets these hints in the program's environment.
    pub fn hints(self, hints: &str) -> Self {
        self.env("TRIB_HINTS", hints)
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.command.push(argument.into());
        self
    }

    /// Sets a variable in the ranks' environment.
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.insert(name.to_string(), value.into());
        self
    }

    /// Uses the launcher of another family.
    pub fn family(mut self, family: Family) -> Self {
        self.family = family;
        self
    }

    /// Uses this launcher, which takes the options of the family's. Ranks that wait then do not let others run.
    pub fn launcher(mut self, launcher: &Path) -> Self {
        self.launcher = Some(launcher.to_path_buf());
        self
    }

    /// Sets the time limit in seconds, whatever `MPIEXEC_TIMEOUT` says.
    pub fn seconds(mut self, seconds: u64) -> Self {
        self.seconds = seconds;
        self
    }

    /// Runs the program, and expects success of all ranks.
    ///
    /// # Panics
    /// Panics if a rank fails, or does not end in time. The message has everything that the ranks printed.
    pub fn run(&self) -> Outcome {
        let outcome = self.try_run();
        assert!(outcome.status.success(), "{}: {}\n{}{}", self.line(), outcome.status, outcome.stdout, outcome.stderr);
        outcome
    }

    /// Runs the program, which may fail.
    ///
    /// # Panics
    /// Panics if the program does not end in time, or cannot be started.
    pub fn try_run(&self) -> Outcome {
        self.run_in_time()
            .unwrap_or_else(|printed| panic!("{}: not done in {} s\n{printed}", self.line(), self.seconds))
    }

    /// Runs the program, which may fail. If it does not end in time, the error is everything that the ranks printed.
    ///
    /// # Panics
    /// Panics if the program cannot be started.
    pub fn run_in_time(&self) -> Result<Outcome, String> {
        // Ranks that wait and do not let others run have the cores for themselves.
        let _reserved = launcher::reserve(if self.launcher.is_some() { usize::MAX } else { self.ranks });
        let (folder, prints) = (empty_folder(), empty_folder());
        let start = Instant::now();
        let mut child = self.start(folder.path(), prints.path());
        let status = launcher::wait(&mut child, Duration::from_secs(self.seconds + GRACE));
        let took = start.elapsed();
        let print =
            |name: &str| String::from_utf8_lossy(&std::fs::read(prints.path().join(name)).unwrap()).into_owned();
        let (stdout, stderr) = (print("stdout"), print("stderr"));
        let in_time = took < Duration::from_secs(self.seconds);
        let Some(status) = status.filter(|_| in_time) else { return Err(stdout + &stderr) };
        let reports = Report::all(&stderr);
        let loaded = DOORS[usize::from(self.by_component)];
        // The launcher may garble one of a thousand lines.
        let is_other = |report: &&Report| report.loaded != loaded && DOORS.contains(&report.loaded.as_str());
        let other = reports.iter().find(is_other);
        assert!(other.is_none(), "{}: not {loaded}: {other:?}", self.line());
        Ok(Outcome { status, files: files_in(folder.path()), stdout, stderr, reports, folder })
    }

    /// Returns a command line for the same run.
    fn line(&self) -> String {
        let environment = self.environment.iter().map(|(name, value)| format!("{name}='{value}' "));
        let preloaded = self.preloaded.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(":");
        let environment: String = environment.collect();
        format!("{environment}LD_PRELOAD={preloaded} on {} ranks: {}", self.ranks, self.command.join(" "))
    }

    fn start(&self, folder: &Path, prints: &Path) -> Child {
        let given = self.launcher.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let candidates = if given.is_empty() { self.family.launchers() } else { given };
        for launcher in &candidates {
            match self.command(launcher, folder, prints).spawn() {
                Ok(child) => return child,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => panic!("{launcher}: {error}"),
            }
        }
        panic!("none of {candidates:?} is there; install the launcher of {}, or set MPIEXEC", self.family.name());
    }

    fn command(&self, name: &str, folder: &Path, prints: &Path) -> Command {
        let mut command = Command::new(name);
        command.args(["-n", &self.ranks.to_string()]);
        let yielding = self.launcher.is_none().then(launcher::yielding);
        let preloaded = yielding.into_iter().chain(self.preloaded.iter().map(PathBuf::as_path));
        let preloaded = std::env::join_paths(preloaded).expect("paths without a colon");
        if !preloaded.is_empty() {
            command.args(self.family.for_ranks("LD_PRELOAD", &preloaded.to_string_lossy()));
        }
        for (name, value) in &self.environment {
            command.args(self.family.for_ranks(name, value));
        }
        let print = |name: &str| File::create(prints.join(name)).expect("a file in an empty folder");
        command.args(&self.command).current_dir(folder);
        command.stdin(Stdio::null()).stdout(print("stdout")).stderr(print("stderr"));
        command.env("MPIEXEC_TIMEOUT", self.seconds.to_string());
        command.envs(launcher::open_mpi(prints));
        command
    }
}

/// Returns the path of the library under test. Cargo builds the library for the tests, beside them.
///
/// # Panics
/// Panics if the library does not exist.
pub fn library() -> PathBuf {
    let this = std::env::current_exe().expect("the path of this test program");
    let folders = [this.parent(), this.parent().and_then(Path::parent)];
    let paths = folders.into_iter().flatten().map(|folder| folder.join("libtributary_mpiio.so"));
    let found = paths.clone().find(|path| path.exists());
    found.unwrap_or_else(|| panic!("none of {:?} is there", paths.collect::<Vec<_>>()))
}

/// Returns true if this test program runs its ranks on the emulated hosts of .ci/hosts, two on each.
pub fn on_emulated_hosts() -> bool {
    std::env::var_os("TRIB_HOSTS_AGENT").is_some()
}

/// Returns the variable by which ranks find components of Open MPI. The launcher of Open MPI 5 itself sets the usual one for
/// the ranks, so its former name is taken there.
fn component_path() -> &'static str {
    static NAME: OnceLock<&'static str> = OnceLock::new();
    NAME.get_or_init(|| {
        let version = |name: &String| Command::new(name).arg("--version").output().ok();
        let said = Family::OpenMpi.launchers().iter().find_map(version).map(|output| output.stdout).unwrap_or_default();
        let is_five = String::from_utf8_lossy(&said).contains(") 5.");
        if is_five { "OMPI_MCA_mca_component_path" } else { "OMPI_MCA_mca_base_component_path" }
    })
}

/// Returns true if TRIB_TEST_DOOR asks for the component of Open MPI.
///
/// # Panics
/// Panics if the variable has another value, or if the tests run on another MPI library.
pub fn is_component() -> bool {
    match std::env::var("TRIB_TEST_DOOR").as_deref() {
        Err(_) | Ok("" | "preload") => false,
        Ok("component") if ours() == Family::OpenMpi => true,
        Ok("component") => panic!("TRIB_TEST_DOOR=component needs Open MPI; set MPICC to its compiler wrapper"),
        Ok(other) => panic!("TRIB_TEST_DOOR={other}; allowed: preload, component"),
    }
}

/// Returns a folder with this library under the name of a component of Open MPI.
pub fn components() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("components");
        let fresh = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder in the target directory");
        let made = fresh.path().join("component");
        std::fs::create_dir_all(&folder).expect("a folder in the target directory");
        std::os::unix::fs::symlink(library(), &made).expect("a link to the library");
        // Other test programs may be using the link.
        std::fs::rename(&made, folder.join("mca_io_tributary.so")).expect("the link under its name");
        folder
    })
}

fn empty_folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for a run")
}

/// Returns the contents of the files in a folder, by name.
fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("the folder of a run").map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.path().is_file());
    let read = |entry: std::fs::DirEntry| {
        let bytes = std::fs::read(entry.path()).expect("a file of a run");
        (entry.file_name().to_string_lossy().into_owned(), bytes)
    };
    files.map(read).collect()
}
