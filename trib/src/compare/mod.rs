//! `trib compare`: an MPI library's own path, the same with its best hints, and the preload library, in turns.
//!
//! | module | holds |
//! |---|---|
//! | `cases` | the patterns and their sizes |
//! | `lists` | list files of the patterns |
//! | `mpi` | the MPI library's tools, and ours |
//! | `build` | compiles the programs in C, once |
//! | `variant` | what takes turns, and which hints are tried |
//! | `run`, `process` | one run |
//! | `part`, `traffic`, `system_calls` | what a run tells: the program, our library, strace |
//! | `measure` | all runs of a pattern |
//! | `same` | compares files |
//! | `statistics` | medians and ratios |
//! | `machine` | what is measured on |
//! | `row`, `rows` | what was found, and the file that keeps it |
//! | `show`, `markdown` | tables |
//! | `program` | any other program |

mod build;
mod cases;
mod lists;
mod machine;
mod markdown;
mod measure;
mod mpi;
mod part;
mod process;
mod program;
mod row;
mod rows;
mod run;
mod same;
mod show;
mod statistics;
mod system_calls;
mod traffic;
mod variant;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::compare::{CompareOptions, Extent};
use crate::sweep::processors;
use crate::{Failure, listing, say};
use cases::{CASES, Case};
use lists::Lists;
use measure::{Plan, System};
use mpi::Mpi;
use part::Part;
use row::{Key, Row};
use rows::Rows;
use run::{Extra, Job};
use variant::Variant;

/// Lists, or compares patterns, or a program.
pub fn run(options: &CompareOptions) -> Result<(), Failure> {
    if options.list {
        return list();
    }
    check(&options.extent)?;
    if !options.command.is_empty() {
        return program::run(options);
    }
    let wanted = wanted(options)?;
    let peers: Vec<_> = options.tools.peers.iter().map(|text| variant::peer(text)).collect::<Result<_, _>>()?;
    options.markdown.iter().try_for_each(|path| markdown::check(path))?;
    let directories = directories(&options.extent)?;
    let mut rows = Rows::open(options.resume.as_deref())?;
    let setup = Setup::new(options, peers, &directories[0])?;
    let tasks = tasks(options, &wanted, &directories)?;
    let (mut found, mut left) = (Vec::new(), 0);
    let mut failed = 0;
    let start = Instant::now();
    let limit = Duration::try_from_secs_f64(60.0 * options.extent.minutes).unwrap_or(Duration::MAX);
    let bar = progress(tasks.len() as u64);
    for (number, task) in tasks.iter().enumerate() {
        if start.elapsed() > limit {
            left = tasks.len() - number;
            break;
        }
        let begin = Instant::now();
        let step = |text: &str| bar.set_message(format!("{}: {text}", task.name()));
        match setup.measure(task, &mut rows, &step) {
            Ok(new) => {
                if options.json {
                    new.iter().try_for_each(|row| say(serde_json::to_string(row)?))?;
                }
                found.extend(new);
            }
            Err(failure) if options.all => {
                failed += 1;
                bar.suspend(|| eprintln!("trib: {}: {failure}", task.name()));
            }
            Err(failure) => return Err(failure),
        }
        bar.inc(1);
        if bar.is_hidden() {
            eprintln!("{}/{} {}: {:.1} s", number + 1, tasks.len(), task.name(), begin.elapsed().as_secs_f64());
        }
    }
    bar.finish_and_clear();
    if !options.json {
        say(show::table(&found))?;
    }
    options.markdown.iter().try_for_each(|path| markdown::write(path, rows.all()))?;
    conclude(&found, failed, tasks.len())?;
    match left {
        0 => Ok(()),
        _ => Err(Failure::new(format!(
            "minutes: {left} of {} patterns are left after {}; allowed: more minutes, or --resume FILE",
            tasks.len(),
            options.extent.minutes
        ))),
    }
}

/// Files that differ are a failure, whatever the times.
fn conclude(found: &[Row], failed: usize, tasks: usize) -> Result<(), Failure> {
    let other: Vec<String> = found
        .iter()
        .flat_map(|row| row.peers.iter().map(move |(name, peer)| (row, name, peer)))
        .filter(|(row, _, peer)| !peer.bytes_equal || !row.bytes_equal)
        .map(|(row, ..)| format!("{} on {} ranks", row.key.pattern, row.key.ranks))
        .collect();
    if let Some(first) = other.first() {
        return Err(Failure::new(format!("{first}: the files have different bytes; allowed: the same")));
    }
    if failed > 0 {
        return Err(Failure::new(format!("{failed} of {tasks} patterns could not be measured")));
    }
    Ok(())
}

fn list() -> Result<(), Failure> {
    let mut table = listing::table(["pattern", "read", "what it does"]);
    for case in CASES {
        table.add_row([case.name, if case.reads { "-read" } else { "" }, case.about]);
    }
    say(table)
}

/// Numbers that nothing can be measured with.
fn check(extent: &Extent) -> Result<(), Failure> {
    if !(extent.scale > 0.0 && extent.scale <= 1.0) {
        return Err(Failure::new(format!("scale: {}; allowed: above 0, up to 1", extent.scale)));
    }
    if !(extent.budget >= 0.0 && extent.budget.is_finite()) {
        return Err(Failure::new(format!("budget: {}; allowed: 0 seconds or more", extent.budget)));
    }
    if !(extent.minutes > 0.0) {
        return Err(Failure::new(format!("minutes: {}; allowed: above 0", extent.minutes)));
    }
    for map in [&extent.map_f, &extent.map_g].into_iter().flatten().filter(|map| !map.is_file()) {
        return Err(Failure::new(format!(
            "map: {}: no such file; allowed: a decomposition map of E3SM-IO",
            map.display()
        )));
    }
    Ok(())
}

/// Patterns with their operations: write (0), read (1).
fn wanted(options: &CompareOptions) -> Result<Vec<(&'static Case, Vec<usize>)>, Failure> {
    let names = cases::names();
    if let Some(unknown) = options.patterns.iter().find(|name| !names.contains(name)) {
        return Err(Failure::new(format!("pattern: {unknown}; allowed: {}", names.join(", "))));
    }
    let asks = |name: &str| options.all || options.patterns.iter().any(|wanted| wanted == name);
    let operations = |case: &Case| [asks(case.name).then_some(0), (case.reads && asks(&case.read_name())).then_some(1)];
    let wanted: Vec<_> =
        CASES.iter().map(|case| (case, operations(case).into_iter().flatten().collect::<Vec<_>>())).collect();
    let wanted: Vec<_> = wanted.into_iter().filter(|(_, operations)| !operations.is_empty()).collect();
    if wanted.is_empty() {
        return Err(Failure::new(
            "pattern: none is named; allowed: --pattern NAME, --all, or -- and a command (--list names them)",
        ));
    }
    Ok(wanted)
}

/// Where files are written.
fn directories(extent: &Extent) -> Result<Vec<PathBuf>, Failure> {
    let memory = PathBuf::from("/dev/shm");
    let default = || if memory.is_dir() { memory.clone() } else { std::env::temp_dir() };
    let all = if extent.directories.is_empty() { vec![default()] } else { extent.directories.clone() };
    for directory in &all {
        tempfile::tempfile_in(directory).map_err(|cause| {
            Failure::new(format!("directory: {}: {cause}; allowed: one that can be written", directory.display()))
        })?;
    }
    Ok(all)
}

/// A pattern, on a number of ranks, in a directory.
struct Task {
    case: &'static Case,
    operations: Vec<usize>,
    sizes: cases::Sizes,
    ranks: u64,
    directory: PathBuf,
}

impl Task {
    fn name(&self) -> String {
        format!("{}, {} ranks, {}", self.case.name, self.ranks, self.directory.display())
    }
}

/// All of them. A pattern that does not take a number of ranks is left out of all, and refused if it is named.
fn tasks(
    options: &CompareOptions,
    wanted: &[(&'static Case, Vec<usize>)],
    directories: &[PathBuf],
) -> Result<Vec<Task>, Failure> {
    let mut tasks = Vec::new();
    for directory in directories {
        for &ranks in &options.extent.ranks {
            for (case, operations) in wanted {
                match case.sizes(ranks, options.extent.scale, processors() as u64) {
                    Ok(sizes) => {
                        let (operations, directory) = (operations.clone(), directory.clone());
                        tasks.push(Task { case, operations, sizes, ranks, directory });
                    }
                    Err(failure) if options.all => eprintln!("trib: left out: {failure}"),
                    Err(failure) => return Err(failure),
                }
            }
        }
    }
    Ok(tasks)
}

/// What all measurements have in common.
struct Setup<'a> {
    options: &'a CompareOptions,
    mpi: Mpi,
    /// The MPI library in words.
    name: String,
    program: PathBuf,
    library: PathBuf,
    peers: Vec<(String, Variant)>,
    system_calls: bool,
    load: f64,
}

impl<'a> Setup<'a> {
    /// Finds the tools, builds the program, and sees that our library takes its calls.
    fn new(options: &'a CompareOptions, peers: Vec<(String, Variant)>, directory: &Path) -> Result<Self, Failure> {
        let load = machine::load();
        let mpi = Mpi::of(&options.tools)?;
        let library = mpi::library(&options.tools, mpi.family)?;
        let program = build::program(&mpi)?;
        let traced =
            std::process::Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
        let system_calls = traced && !options.extent.no_system_calls;
        let mut setup = Self { options, mpi, name: String::new(), program, library, peers, system_calls, load };
        setup.name = setup.introduce(directory)?;
        Ok(setup)
    }

    /// A tiny run, which tells what MPI this is.
    fn introduce(&self, directory: &Path) -> Result<String, Failure> {
        let folder = folder_in(directory)?;
        let ranks = self.options.extent.ranks[0];
        let job = self.job("empty", vec![1], ranks, folder.path(), None);
        let output = job.run(&Variant::ours(), "about,write", Extra { report: true, strace: None })?;
        let parts = Part::all(&output.stdout);
        let about = Part::find(&parts, "about", &self.mpi.mpiexec)?;
        if about.ranks != ranks {
            let (mpiexec, mpicc) = (&self.mpi.mpiexec, &self.mpi.mpicc);
            return Err(Failure::new(format!(
                "mpiexec: {mpiexec}: does not start the programs of {mpicc}; allowed: its own launcher"
            )));
        }
        if !traffic::is_reported(&output.stderr) {
            return Err(Failure::new(format!(
                "library: {}: takes no calls of this program; allowed: one that was built with MPICC={}",
                self.library.display(),
                self.mpi.mpicc
            )));
        }
        Ok(name_of(about.library.as_deref().unwrap_or_default()))
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
            ranks,
            file: folder.join("file"),
            lists,
            repeats: self.options.extent.repeats,
            budget: self.options.extent.budget,
        }
    }

    /// The rows of a task: those that are there, or new ones.
    fn measure(&self, task: &Task, rows: &mut Rows, step: &dyn Fn(&str)) -> Result<Vec<Row>, Failure> {
        let keys: Vec<Key> = task.operations.iter().map(|&operation| self.key(task, operation)).collect();
        let there: Option<Vec<Row>> = keys.iter().map(|key| rows.find(key).cloned()).collect();
        if let Some(there) = there {
            return Ok(there);
        }
        let folder = folder_in(&task.directory)?;
        let held = tempfile::tempdir()?;
        let lists = Lists::of(task.case, &task.sizes, task.ranks, &self.options.extent)?;
        let needs_them = task.case.program == "lists" || !self.peers.is_empty();
        let lists = lists.filter(|_| needs_them).map(|lists| lists.write(held.path())).transpose()?;
        // A peer that takes lists has nothing to do where there are none.
        let peers = if task.case.lists { &self.peers[..] } else { &[] };
        let plan = Plan {
            job: self.job(task.case.program, task.sizes.clone(), task.ranks, folder.path(), lists),
            operations: task.operations.clone(),
            pairs: self.options.extent.pairs,
            peers,
            system_calls: self.system_calls,
        };
        let file_system = machine::file_system(&task.directory);
        let system = System { machine: machine::name(), file_system, load: self.load };
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
        let extent = &self.options.extent;
        let map = match task.case.name {
            "e3sm-f" => &extent.map_f,
            "e3sm-g" => &extent.map_g,
            _ => &None,
        };
        Key {
            pattern: if operation == 0 { task.case.name.to_string() } else { task.case.read_name() },
            mpi: self.name.clone(),
            ranks: task.ranks,
            directory: task.directory.display().to_string(),
            pairs: extent.pairs,
            repeats: extent.repeats,
            scale: extent.scale,
            map: map.as_ref().and_then(|map| map.file_name()).map(|name| name.to_string_lossy().into_owned()),
        }
    }
}

/// A folder for the files of one task; it goes with them.
fn folder_in(directory: &Path) -> Result<tempfile::TempDir, Failure> {
    let made = tempfile::Builder::new().prefix("trib-compare-").tempdir_in(directory);
    made.map_err(|cause| Failure::new(format!("directory: {}: {cause}", directory.display())))
}

/// `MPICH 4.0.2 (ch4:ucx)`, `Open MPI 4.1.4`: of what the library says of itself.
fn name_of(library: &str) -> String {
    let after =
        |mark: &str| library.split(mark).nth(1).map(|rest| rest.split(['|', ',']).next().unwrap_or(rest).trim());
    match (after("MPICH Version:"), after("MPICH Device:"), after("Open MPI v")) {
        (Some(version), Some(device), _) => format!("MPICH {version} ({device})"),
        (.., Some(version)) => format!("Open MPI {version}"),
        _ => library.split(['|', ',']).next().unwrap_or(library).trim().to_string(),
    }
}

/// A bar on standard error, where somebody looks on.
fn progress(length: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {elapsed} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn libraries_say_who_they_are() {
        let mpich =
            "MPICH Version: 4.0.2|MPICH Release date: Thu|MPICH ABI: 14:2:2|MPICH Device: ch4:ucx|MPICH configure: x";
        assert_eq!(name_of(mpich), "MPICH 4.0.2 (ch4:ucx)");
        assert_eq!(name_of("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "Open MPI 4.1.4");
        assert_eq!(name_of("Another MPI 3|built"), "Another MPI 3");
    }
}
