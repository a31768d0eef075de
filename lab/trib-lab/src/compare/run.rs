//! Runs a pattern once with a variant.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::mpi::Mpi;
use super::part::MeasuredPart;
use trib::Failure;
use trib::compare::process::{self, ProcessOutput};
use trib::compare::slow_file::SlowFile;
use trib::compare::variant::{ProgramRunner, Variant};
use trib::launcher::preload;

/// Maximum time of a run. A run that takes longer is assumed to hang.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Pattern on a number of ranks, with its file and lists.
pub struct Job<'a> {
    /// Tools of the MPI library.
    pub mpi: &'a Mpi,
    /// Path of the C program.
    pub program: &'a Path,
    /// Path of our library.
    pub library: &'a Path,
    /// Name of the pattern in the C program.
    pub pattern: &'a str,
    /// Sizes of the pattern.
    pub sizes: Vec<u64>,
    /// Hints that the pattern's program sets; hints of a variant come after them.
    pub hints: &'static [&'static str],
    /// Number of ranks.
    pub ranks: u64,
    /// Path of the file to write and read.
    pub file: PathBuf,
    /// Slow file system that the file is on, if it is on one. Runs under strace are not slow.
    pub slow_file: Option<&'a SlowFile>,
    /// Path prefix of the list files.
    pub lists: Option<PathBuf>,
    /// Maximum number of repetitions.
    pub repeats: u64,
    /// Seconds after which a run starts no repetition.
    pub budget: f64,
    /// Maximum time of a run.
    pub limit: Duration,
}

/// Additional purposes of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extra<'a> {
    /// True if our library prints its report.
    pub report: bool,
    /// Path prefix of files for the ranks' system calls, if ranks run under strace.
    pub strace: Option<&'a Path>,
}

impl Job<'_> {
    /// Runs the parts `parts` (`write,read,...`) of the pattern.
    ///
    /// # Errors
    /// The run fails.
    pub fn run(&self, variant: &Variant, parts: &str, extra: Extra<'_>) -> Result<ProcessOutput, Failure> {
        let mut command = match &variant.runner {
            ProgramRunner::Peer(template) => self.shell(template, parts)?,
            runner => self.launch(variant, *runner == ProgramRunner::Ours, parts, extra)?,
        };
        process::run(&mut command, self.limit)
    }

    /// Runs the parts like [`Job::run`] and parses the output.
    ///
    /// # Errors
    /// The run fails.
    pub fn parts(&self, variant: &Variant, parts: &str) -> Result<Vec<MeasuredPart>, Failure> {
        Ok(MeasuredPart::all(&self.run(variant, parts, Extra::default())?.stdout))
    }

    fn launch(&self, variant: &Variant, preload: bool, parts: &str, extra: Extra<'_>) -> Result<Command, Failure> {
        let mut own = variant.launcher.clone();
        let library = self.library.display().to_string();
        // Nothing must be preloaded into strace, which sets the variable for the program that it runs.
        let slow_file = self.slow_file.filter(|_| extra.strace.is_none());
        let ours = if preload && extra.strace.is_none() { library.as_str() } else { "" };
        let list = slow_file.map_or(ours.to_string(), |slow| preload::before(slow.library(), ours));
        let variables =
            [(!list.is_empty()).then(|| (preload::NAME.to_string(), list)), slow_file.map(SlowFile::variable)];
        for (name, value) in variables.into_iter().flatten() {
            own.extend(self.mpi.family.for_ranks(&name, &value));
        }
        if extra.report {
            own.extend(self.mpi.family.for_ranks("TRIB_REPORT", "json"));
        }
        let mut command = self.mpi.launch(self.ranks, &own)?;
        if let Some(prefix) = extra.strace {
            let preload = if preload { format!("-E LD_PRELOAD={library} ") } else { String::new() };
            let script = format!("exec strace -f -qq -s 40 -e signal=none -o \"$0.$$\" {preload}\"$@\"");
            command.args(["sh", "-c", &script]).arg(prefix);
        }
        command.arg(self.program).args(["--pattern", self.pattern, "--parts", parts]);
        command.arg("--file").arg(&self.file);
        command.args(["--repeats", &self.repeats.to_string(), "--budget", &self.budget.to_string()]);
        if let Some(lists) = &self.lists {
            command.arg("--lists").arg(lists);
        }
        command.args(self.sizes.iter().flat_map(|size| ["--value".to_string(), size.to_string()]));
        command.args(self.hints(variant));
        Ok(command)
    }

    /// Measures the write, and the read if there is one, with the hints of all variants in alternation, in one run. The
    /// variants differ only in their hints.
    ///
    /// # Errors
    /// The run fails.
    pub fn in_turns(&self, variants: &[&Variant], parts: &str) -> Result<Vec<MeasuredPart>, Failure> {
        let Some((first, others)) = variants.split_first() else { return Ok(Vec::new()) };
        let mut command = self.launch(first, false, parts, Extra::default())?;
        for other in others {
            command.args(["--set", &other.setting]).args(self.hints(other));
        }
        Ok(MeasuredPart::all(&process::run(&mut command, self.limit)?.stdout))
    }

    /// Returns the hints of the pattern and the variant as options of the program.
    fn hints<'b>(&self, variant: &'b Variant) -> Vec<&'b str> {
        let named = [("--write-hint", &variant.hints[0]), ("--read-hint", &variant.hints[1])];
        let of = |(name, own): (&'static str, &'b Vec<String>)| {
            let all = self.hints.iter().copied().chain(own.iter().map(String::as_str));
            all.flat_map(move |hint| [name, hint])
        };
        named.into_iter().flat_map(of).collect()
    }

    /// Returns the command of another library, with its placeholders filled in.
    fn shell(&self, template: &str, parts: &str) -> Result<Command, Failure> {
        let lists = self.lists.as_ref().map(|lists| lists.display().to_string()).unwrap_or_default();
        let text = template
            .replace("{ranks}", &self.ranks.to_string())
            .replace("{lists}", &lists)
            .replace("{file}", &self.file.display().to_string())
            .replace("{parts}", parts)
            .replace("{repeats}", &self.repeats.to_string())
            .replace("{budget}", &self.budget.to_string());
        let mut command = self.mpi.command("sh", self.ranks)?;
        command.args(["-c", &text]);
        if let Some(slow) = self.slow_file {
            command.env(preload::NAME, slow.library()).envs([slow.variable()]);
        }
        Ok(command)
    }
}
