//! Prints the report of a file that TRIB_REPORT asks for: which library ran the file's calls, and how long they took.
//! The file's first rank prints the report at close. `text` makes the table; this module the numbers, and JSON.

mod text;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::OnceLock;

use serde::Serialize;
use std::ffi::c_int;
use tributary::Hints;
use tributary::engine::{ExpectedSeconds, LearnedFacts, Limit, Path, Seconds, binding, capture};
use tributary::fabric::mpi::error_text;
use tributary::hints::{FileHints, Unused};
use tributary_bindings::hints::not_of_the_file;

use crate::file::backend::Runner;
use crate::file::counts::{CallCounts, ExchangeTotals, LeftToMpi, Ran};
use crate::file::deletions::DeletionsInVain;
use crate::file::failures::FailedCalls;
use crate::file::files::OpenFile;
use crate::file::gain::Gain;
use crate::file::hints::{effective, passed_on};
use crate::file::last_report;
use crate::file::rank_files::{self, RankFiles};
use crate::mpi::interposition;
use text::plural;

/// Hint that `calls::pnetcdf` adds to PnetCDF's hints.
const DRIVER_ADDED: &str = "nc_driver=mpiio";

/// The format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Table,
    Json,
}

/// The report of one file, or of all files that single ranks have opened, which is printed as a table or as JSON.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Name of the file; of several files their number and that of their ranks, as text.
    pub file: String,
    /// Number of files that single ranks have opened; left out if the report is of one file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// The version of this library.
    pub version: &'static str,
    /// The path of this library, as the dynamic linker knows it.
    pub library: String,
    /// The way in which calls reach the library.
    pub loaded: &'static str,
    #[serde(flatten)]
    pub engine: Option<Engine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_taken: Option<String>,
    pub accelerated: BTreeMap<String, Ran>,
    pub passed_through: Vec<LeftToMpi>,
    /// Independent calls that would gain from being collective; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub could_be_collective: Option<Gain>,
    /// True if several ranks have the file open, and the library can run its collective calls.
    #[serde(skip)]
    has_several_ranks: bool,
    /// Seconds of the first rank in functions that neither read nor write, by function.
    pub other_calls: BTreeMap<String, f64>,
    /// Calls that failed on the first rank with an error of this library; left out if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedCalls>,
    /// Number of independent calls of all ranks through this library's own handle of the file, past the host's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub past_cache: u64,
    /// Calls of MPI_File_delete since the last file was closed that found no file, if several ranks made such calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletions_in_vain: Option<DeletionsInVain>,
    /// Hint that this library has added to PnetCDF's hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint_added: Option<&'static str>,
    /// Hints that were set, in an info or in the environment, and had no effect.
    pub hints_not_used: Vec<Unused>,
    /// Source of each hint in force, by the hint's key. Hints that nobody set are left out.
    pub hint_sources: BTreeMap<String, String>,
    pub paths: BTreeMap<String, u64>,
    /// Number of calls by path and reason, as the table prints them.
    #[serde(skip)]
    paths_in_words: BTreeMap<String, u64>,
    pub plans_reused: u64,
    pub traffic: ExchangeTotals,
    pub seconds: Seconds,
    /// The part that limits the speed of the calls, file system or exchange; left out if there were no calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Expected times of the calls between whose ways measured times decided; left out if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedSeconds>,
    /// True if any call exchanged data by messages. Only then the report names kernels and aggregators.
    #[serde(skip)]
    exchanged: bool,
    #[serde(skip)]
    style: Style,
}

/// The engine's settings for the file.
#[derive(Debug, Serialize)]
pub struct Engine {
    pub ranks: usize,
    pub nodes: usize,
    pub driver: String,
    pub aggregators: usize,
    /// Number of components of the file's composite layout (Lustre). The report shows the stripes of the component
    /// with most stripes.
    pub components: u16,
    /// Reason why ranks of one host share no memory, if they were supposed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_shared_memory: Option<String>,
    pub kernel_meta: String,
    pub throttle_meta: String,
    pub kernel_data: String,
    pub throttle_data: String,
    /// Size of a window in bytes in the last call that exchanged data by messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Settings that the engine has learned from earlier calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<LearnedFacts>,
    pub hints: BTreeMap<&'static str, String>,
}

impl Report {
    /// Creates the report of a file that is about to be closed. Returns None on ranks other than the file's first,
    /// and if TRIB_REPORT does not ask for a report.
    pub fn wanted(open: &OpenFile, counts: &CallCounts) -> Option<Self> {
        let style = wanted().filter(|_| open.backend.is_first)?;
        let (engine, not_taken) = match &open.backend.runner {
            Runner::Engine(file) => (Some(Engine::from_file(file)), None),
            Runner::NotOpened(_) => (None, Some("no collective read or write".to_string())),
            Runner::Mpi(why) => (None, Some(why.clone())),
            Runner::InUse(_) => (None, Some("a call is in progress".to_string())),
        };
        let hints_not_used = not_used(open, counts, not_taken.as_deref());
        let has_several_ranks = match &open.backend.runner {
            Runner::Engine(file) => file.settings().topology.ranks() > 1,
            Runner::NotOpened(unopened) => unopened.has_several_ranks(),
            Runner::Mpi(_) | Runner::InUse(_) => false,
        };
        Some(Self {
            engine,
            not_taken,
            accelerated: counts.ran.iter().map(|(call, ran)| (call.to_string(), ran.clone())).collect(),
            has_several_ranks,
            past_cache: counts.past_cache,
            hint_added: open.is_of_pnetcdf.then_some(DRIVER_ADDED),
            hints_not_used,
            hint_sources: open.asked.used().map(|(key, source)| (key.to_string(), source.to_string())).collect(),
            paths: counts.paths(Path::name),
            paths_in_words: counts.paths(Path::phrase),
            plans_reused: counts.plans_reused,
            traffic: counts.traffic(),
            seconds: counts.seconds(),
            limit: counts.seconds().limit(),
            expected: counts.expected(),
            exchanged: counts.has_exchanged(),
            ..Self::empty(open.backend.path.display().to_string(), style)
        })
    }

    /// Returns the report of a file at `path` that MPI could not open, with MPI's text for the `code`; None if no report is
    /// wanted. Local.
    pub fn of_failed_open(path: &std::path::Path, code: c_int) -> Option<Self> {
        let style = wanted()?;
        let why = format!("not opened: MPI_File_open: {}", error_text(code));
        Some(Self { not_taken: Some(why), ..Self::empty(path.display().to_string(), style) })
    }

    /// Returns the report of files that single ranks have opened; None if no report is wanted. Local.
    pub fn of_rank_files(all: RankFiles) -> Option<Self> {
        let RankFiles { files, ranks, left_to_mpi, accelerated, passed_through, other_calls, failed, .. } = all;
        let (what, whose) = (plural(files, "file"), plural(ranks, "rank"));
        let left = left_to_mpi.into_iter().map(|(why, files)| format!("{files} {}: {why}", plural(files, "file")));
        let left = left.collect::<Vec<_>>().join("; ");
        Some(Self {
            files: Some(files),
            not_taken: Some(left).filter(|left| !left.is_empty()),
            accelerated,
            passed_through,
            other_calls,
            failed: Some(failed).filter(|failed| failed.calls > 0),
            hints_not_used: all.hints_not_used,
            paths: all.paths,
            paths_in_words: all.paths_in_words,
            seconds: all.seconds,
            ..Self::empty(format!("{files} {what} that {ranks} {whose} opened by themselves"), wanted()?)
        })
    }

    /// Returns a report without numbers.
    fn empty(file: String, style: Style) -> Self {
        Self {
            file,
            files: None,
            version: env!("CARGO_PKG_VERSION"),
            library: interposition::path().display().to_string(),
            loaded: interposition::current().name(),
            engine: None,
            not_taken: None,
            accelerated: BTreeMap::new(),
            passed_through: Vec::new(),
            could_be_collective: None,
            has_several_ranks: false,
            other_calls: BTreeMap::new(),
            failed: None,
            past_cache: 0,
            deletions_in_vain: None,
            hint_added: None,
            hints_not_used: Vec::new(),
            hint_sources: BTreeMap::new(),
            paths: BTreeMap::new(),
            paths_in_words: BTreeMap::new(),
            plans_reused: 0,
            traffic: ExchangeTotals::default(),
            seconds: Seconds::default(),
            limit: None,
            expected: None,
            exchanged: false,
            style,
        }
    }

    /// Prints the report, or adds it to that of all files that single ranks have opened if the file `has_one_rank` of several of the
    /// program. Local.
    pub fn deliver(self, has_one_rank: bool) {
        last_report::keep(serde_json::to_string(&self).unwrap_or_default());
        if has_one_rank && rank_files::are_added() { rank_files::add(self.into()) } else { self.print() }
    }

    /// Sets the calls that MPI ran, by the counts of all ranks.
    pub fn set_passed_through(&mut self, counts: &CallCounts) {
        self.could_be_collective = self.has_several_ranks.then(|| Gain::of(&counts.independent_calls())).flatten();
        self.passed_through = counts.all_left_to_mpi();
    }

    /// Prints the report to standard error with one write, so that launchers do not mix it with other ranks' output.
    pub fn print(&self) {
        let text = match self.style {
            Style::Json => format!("tributary: {}\n", serde_json::to_string(self).unwrap_or_default()),
            Style::Table => format!("{}\n", self.text()),
        };
        // An error of standard error cannot be reported anywhere.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

impl From<Report> for RankFiles {
    fn from(report: Report) -> Self {
        Self {
            files: 1,
            ranks: 1,
            left_to_mpi: report.not_taken.into_iter().map(|why| (why, 1)).collect(),
            accelerated: report.accelerated,
            passed_through: report.passed_through,
            other_calls: report.other_calls,
            failed: report.failed.unwrap_or_default(),
            hints_not_used: report.hints_not_used,
            paths: report.paths,
            paths_in_words: report.paths_in_words,
            seconds: report.seconds,
        }
    }
}

/// Passes the hints that were set, those that were `unused`, and calls that are not captured to the engine, which writes them into a
/// capture. Local.
pub fn describe(runner: &mut Runner, asked: &FileHints, unused: Vec<Unused>, counts: &CallCounts) {
    if let Runner::Engine(file) = runner
        && capture::is_wanted()
    {
        binding::describe_hints(file, asked, unused);
        binding::describe_not_captured(file, counts.not_captured(), counts.independent_calls());
    }
}

/// Returns true if reports or captures are wanted, which have the times of all calls. Local.
pub fn is_timed() -> bool {
    is_wanted() || capture::is_wanted()
}

/// Returns the hints that were set and had no effect: first hints that were ignored, then hints in force that nothing
/// used.
pub fn not_used(open: &OpenFile, counts: &CallCounts, not_taken: Option<&str>) -> Vec<Unused> {
    let exchanged = counts.has_exchanged();
    let why = |key: &str| match (&open.backend.runner, not_taken) {
        (_, Some(why)) => Some(format!("MPI ran the calls of the file: {why}")),
        (_, None) if !exchanged && Hints::is_only_of_exchanges(key) => {
            Some("no call exchanged data by messages".to_string())
        }
        (Runner::Engine(file), None) => not_of_the_file(file, key),
        _ => None,
    };
    let all = open.asked.unused().iter().cloned().chain(open.asked.without_effect(why));
    // The program has not set hints that it passes on from MPI_File_get_info of another file.
    let passed_on = passed_on(&open.asked);
    let is_passed_on = |unused: &Unused| passed_on.contains(&(unused.key.clone(), unused.value.clone()));
    all.filter(|unused| !is_passed_on(unused)).collect()
}

impl Engine {
    fn from_file(file: &tributary::File) -> Self {
        let hints = file.settings().hints;
        Self {
            ranks: file.settings().topology.ranks(),
            nodes: file.settings().topology.nodes(),
            driver: file.settings().driver.to_string(),
            aggregators: file.settings().aggregators.len(),
            components: file.settings().layout.components,
            no_shared_memory: file.settings().without_shared_memory.map(String::from),
            kernel_meta: hints.metadata_kernel().to_string(),
            throttle_meta: hints.throttle_meta().to_string(),
            kernel_data: hints.data_kernel().to_string(),
            throttle_data: hints.throttle_data().to_string(),
            window: binding::exchange_window(file),
            learned: binding::learned(file),
            hints: effective(file).into_iter().collect(),
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Returns true if TRIB_REPORT asks for reports.
pub fn is_wanted() -> bool {
    wanted().is_some()
}

/// Returns the format of the reports that TRIB_REPORT asks for. Reads the variable once.
fn wanted() -> Option<Style> {
    static WANTED: OnceLock<Option<Style>> = OnceLock::new();
    *WANTED.get_or_init(|| match tributary::variable("TRIB_REPORT")?.to_str()? {
        "" | "0" => None,
        "json" => Some(Style::Json),
        page if is_page(page) => None,
        _ => Some(Style::Table),
    })
}

/// Returns true if a value of TRIB_REPORT asks for a page of HTML. The library made pages once; now `trib explain`
/// does, outside the program.
fn is_page(value: &str) -> bool {
    value == "html" || value.starts_with("html:")
}

/// Prints how to get a page of HTML, if TRIB_REPORT asks for one. One rank calls this once.
pub fn answer_page() {
    if tributary::variable("TRIB_REPORT").is_some_and(|value| value.to_str().is_some_and(is_page)) {
        tributary::say(format_args!(
            "TRIB_REPORT=html was removed, and there is no report; use TRIB_REPORT=1 or json. For a page, run with \
             TRIB_CAPTURE=DIR, then: trib explain DIR/NAME.tribcap --html PAGE"
        ));
    }
}
