//! Runs the command of a comparison once, with everything that it needs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use regex::Regex;
use tempfile::TempDir;

use super::contender::{Contender, FOR_HINTS};
use super::runs::{INSIDE, RunCosts};
use super::{BEST, OURS};
use crate::Failure;
use crate::cli::compare::CompareOptions;
use crate::compare::slow_file::{FileTotals, SlowFile};
use crate::compare::variant::{self, INDEPENDENT};
use crate::compare::{build, disabled, process};
use crate::launcher::command::Ready;
use crate::launcher::component;
use crate::launcher::library::library;
use crate::launcher::{self, Family, Launcher, linked, program};

/// Maximum time of a run. A run that takes longer is assumed to hang.
const LIMIT: Duration = Duration::from_secs(3600);

/// Placeholder for the folder of a run in the command and in `--prepare`.
const DIRECTORY: &str = "{directory}";

/// Launcher, libraries and folders with which the command is run.
pub struct Start<'a> {
    words: &'a [String],
    prepare: Option<&'a str>,
    timer: Option<&'a Regex>,
    launcher: Option<&'static Launcher>,
    /// Directory in which each run has a folder. Nobody else has files in it, such as the MPI library in /dev/shm.
    directory: TempDir,
    /// Path of the library that measures the time inside MPI-IO, which is preloaded in every run.
    inside: String,
    library: PathBuf,
    /// Component of Open MPI that is loaded instead of the preloaded library; as for `trib run`, if the user names no library.
    component: Option<component::Loaded>,
    /// Slow file system of the directory, if one is asked for.
    slow_file: Option<SlowFile>,
    /// Folder for files of hints.
    hints: TempDir,
}

impl<'a> Start<'a> {
    /// Checks the options and finds launcher, libraries and folders.
    ///
    /// # Errors
    /// There is no launcher, library, compiler or directory; the user has set hints although the best are to be found.
    pub fn from_options(options: &'a CompareOptions) -> Result<Self, Failure> {
        let (words, program) = (&options.command, &options.program);
        if let Some(name) = FOR_HINTS.iter().find(|name| program.best && std::env::var_os(name).is_some()) {
            return Err(Failure::new(format!("best: {name} is set; allowed: no hints in the environment")));
        }
        let launcher = launcher::of(&words[0])?;
        let directory = directory(options.directory.as_deref())?;
        let (timer, prepare) = (program.timer.as_ref(), program.prepare.as_deref());
        let (inside, library) = (build::inside()?.display().to_string(), library(options.library.as_deref())?);
        let clocks = directory.path().parent().unwrap_or(Path::new("."));
        let slow_file = SlowFile::new(&options.slow_file, directory.path(), clocks)?;
        let hints = tempfile::tempdir()?;
        let component = launcher.and_then(|launcher| component::of(launcher, words, &library));
        let component = component.filter(|_| options.library.is_none());
        let start = Self { words, prepare, timer, launcher, directory, inside, library, component, slow_file, hints };
        // These errors are reported before anything runs.
        if program.best {
            start.known_family()?;
        }
        Ok(start)
    }

    /// Returns the family of the MPI library, if it is known: that of the launcher, or else that which the program is linked with.
    pub fn family(&self) -> Option<Family> {
        let of_program = || linked::family_at(&program::of(self.words, self.launcher.is_some())?);
        self.launcher.and_then(|launcher| launcher.family).or_else(of_program)
    }

    /// Returns the contender with our library.
    pub fn ours(&self) -> Contender {
        let (setting, variables) = match &self.component {
            Some(loaded) => ("component of Open MPI", vec![loaded.variable.clone()]),
            None => ("preload library", Vec::new()),
        };
        Contender { setting: setting.to_string(), variables, ..Contender::new(OURS) }
    }

    fn known_family(&self) -> Result<Family, Failure> {
        self.family().ok_or_else(|| {
            let name = &self.words[0];
            Failure::new(format!(
                "best: neither {name} nor the program says which MPI library it is; allowed: those of MPICH, Open MPI"
            ))
        })
    }

    /// Returns the contenders with the hints to try, for `ranks` ranks on `hosts` hosts.
    ///
    /// # Errors
    /// The MPI library is not known; files of hints cannot be written.
    pub fn candidates(&self, ranks: u64, hosts: u64) -> Result<Vec<Contender>, Failure> {
        let all = variant::candidates(self.known_family()?, &self.words[0], ranks, hosts).into_iter().enumerate();
        all.map(|(number, variant)| Contender::from_variant(BEST, &variant, number, self.hints.path())).collect()
    }

    /// Returns the contender in which ROMIO lets every rank write by itself.
    ///
    /// # Errors
    /// The file of hints cannot be written.
    pub fn independent(&self) -> Result<Contender, Failure> {
        Contender::from_variant(INDEPENDENT, &variant::independent(), 0, self.hints.path())
    }

    /// Runs the command once with a contender, in a new folder, and adds the costs to `runs`.
    ///
    /// # Errors
    /// The run fails, no rank called MPI_File_*, no slow file was read or written, or the output has no time that the timer finds.
    pub fn once(&self, contender: &Contender, runs: &mut RunCosts) -> Result<(), Failure> {
        let (records, folder) = (tempfile::tempdir()?, tempfile::tempdir_in(self.directory.path())?);
        let filled = |text: &str| text.replace(DIRECTORY, &folder.path().display().to_string());
        if let Some(prepare) = self.prepare {
            process::run(Command::new("sh").args(["-c", &filled(prepare)]), LIMIT)
                .map_err(|failure| Failure::new(format!("prepare: {failure}")))?;
        }
        let words = contender.command.as_deref().unwrap_or(self.words);
        let words: Vec<String> = words.iter().map(|word| filled(word)).collect();
        let before = self.file_totals()?;
        let output = process::run(&mut self.command(&words, contender, records.path())?, LIMIT)?;
        runs.add(records.path(), output.seconds)?;
        runs.add_file(before, self.file_totals()?);
        if runs.file_bytes.last() == Some(&0) {
            let what = words.join(" ");
            return Err(Failure::new(format!(
                "file-rate: {what}: no byte was read or written in {DIRECTORY}; allowed: commands that name files there"
            )));
        }
        // Another library may write without MPI-IO.
        if runs.functions.is_empty() && contender.command.is_none() {
            let what = words.join(" ");
            return Err(Failure::new(format!(
                "command: {what}: no rank called MPI_File_*; allowed: programs that write or read by MPI-IO"
            )));
        }
        if let Some(timer) = self.timer {
            runs.timed_seconds.push(timed(timer, &(output.stdout + &output.stderr))?);
        }
        Ok(())
    }

    /// Returns the bytes and calls of the reads and writes so far below the directory; None if files are not slow.
    fn file_totals(&self) -> Result<Option<FileTotals>, Failure> {
        self.slow_file.as_ref().map(SlowFile::totals).transpose()
    }

    fn command(&self, words: &[String], contender: &Contender, records: &Path) -> Result<Command, Failure> {
        let is_ours = contender.name == OURS;
        let ours = (is_ours && self.component.is_none()).then(|| self.library.display().to_string());
        // Runs without our library switch it off, because its component may be installed, or the program linked with it.
        let disabled = (!is_ours && contender.command.is_none()).then(disabled);
        let slow = self.slow_file.as_ref();
        let preload = [Some(self.inside.clone()), slow.map(|slow| slow.library().to_string()), ours];
        let preload: Vec<String> = preload.into_iter().flatten().collect();
        let own = [("LD_PRELOAD", preload.join(":")), (INSIDE, records.display().to_string())];
        let own = own
            .map(|(name, value)| (name.to_string(), value))
            .into_iter()
            .chain(slow.map(SlowFile::variable))
            .chain(disabled);
        let variables: Vec<_> = own.chain(contender.variables.iter().cloned()).collect();
        let ready = Ready::new(self.launcher, words, &variables, |name| std::env::var(name).ok())?;
        let mut command = Command::new(&words[0]);
        command.envs(ready.environment).args(&ready.words[1..]);
        Ok(command)
    }
}

/// Makes the directory in which each run has a folder: in memory, unless another place is given.
fn directory(given: Option<&Path>) -> Result<TempDir, Failure> {
    let memory = Path::new("/dev/shm");
    let default = || if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let directory = given.map_or_else(default, Path::to_path_buf);
    tempfile::Builder::new().prefix("trib-compare-").tempdir_in(&directory).map_err(|cause| {
        Failure::new(format!("directory: {}: {cause}; allowed: one that can be written", directory.display()))
    })
}

/// Returns the seconds that a program printed: the sum of the first group of each match.
fn timed(timer: &Regex, printed: &str) -> Result<f64, Failure> {
    let fail = |why: &str| Failure::new(format!("timer: {timer}: {why}; allowed: what finds seconds in its output"));
    let found = timer.captures_iter(printed).filter_map(|groups| groups.get(1));
    let numbers: Vec<f64> = found
        .map(|group| group.as_str().parse().map_err(|_| fail(&format!("{} is no number", group.as_str()))))
        .collect::<Result<_, _>>()?;
    if numbers.is_empty() {
        return Err(fail("it matches nothing that the command printed"));
    }
    Ok(numbers.into_iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_added_and_what_is_none_is_said() {
        let printed = "write: 0.5 s\nread: x s\nwrite: 0.25 s\n";
        let of = |timer: &str| timed(&Regex::new(timer).unwrap(), printed).map_err(|failure| failure.to_string());
        assert_eq!(of("write: (\\S+)"), Ok(0.75));
        assert_eq!(
            of("read: (\\S+)").unwrap_err(),
            "timer: read: (\\S+): x is no number; allowed: what finds seconds in its output"
        );
        assert!(of("total (\\S+)").unwrap_err().contains("it matches nothing that the command printed"));
    }
}
