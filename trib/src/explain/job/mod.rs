//! All captures of a run as one job: where the time of the job's collective calls went, by file and by call, the
//! slowest first.
//!
//! | module | holds |
//! |---|---|
//! | `runs` | the captures of a folder, by runs |
//! | [`text`], [`page`] | the job as text for a terminal, and as an HTML page that prints on two sheets |

mod page;
mod runs;
mod text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tributary::engine::Capture;

use super::account::Account;
use super::file_speed::FileSpeed;
use super::sentences::{Copying, NOTABLE, meaning, phases, reason, reason_in_short, title};
use crate::Failure;
use crate::numbers::{brief as time, counted, percent};

pub use page::html;
pub use runs::{Run, by_time, runs};
pub use text::of as words;

/// Maximum number of calls that are kept: the slowest calls of all files.
const CALLS: usize = 100;
/// All captures of a run, with their sums and the slowest calls.
#[derive(Default, Serialize)]
pub struct Job {
    /// Names of the programs (argument 0).
    pub programs: Vec<String>,
    /// Time of the first open, in seconds since 1970.
    pub opened: f64,
    /// Time from the first open to the last close, in seconds.
    pub seconds: f64,
    /// Maximum over files of the number of ranks.
    pub ranks: usize,
    /// Maximum over files of the number of nodes.
    pub nodes: usize,
    /// Names and versions of the MPI libraries, if the captures record them.
    pub mpi: Vec<String>,
    /// Versions of Tributary that made the captures.
    pub libraries: Vec<String>,
    /// Time that a rank spent in calls, in seconds: the mean over ranks.
    pub in_calls: f64,
    /// Part of `in_calls` in which a rank waited for the last rank to enter the call, in seconds.
    pub waited: f64,
    /// Sentences that describe the numbers.
    pub summary: Vec<String>,
    /// Advice on what to do next.
    pub next: String,
    /// Every file; the file with the most time in calls comes first.
    pub files: Vec<OfFile>,
    /// Slowest calls of all files, the slowest first.
    pub calls: Vec<OfCall>,
    /// Number of incomplete captures, which the other numbers leave out.
    pub unfinished: usize,
    /// Number of earlier runs in the folder, which the other numbers leave out.
    pub earlier_runs: usize,
    /// True if each capture has a page beside it, to which the page of the job links.
    #[serde(skip)]
    pub has_pages: bool,
}

/// A file of the job, from one open to the close; each has its own capture.
#[derive(Serialize)]
pub struct OfFile {
    /// Path of the capture.
    pub capture: PathBuf,
    /// File name of the capture without the extension; unique in the folder.
    pub name: String,
    /// Name of the file, as the program gave it.
    pub file: String,
    /// Number of ranks that opened the file.
    pub ranks: usize,
    /// Number of collective calls in the capture.
    pub calls: usize,
    /// Number of bytes that all ranks wrote.
    pub written: u64,
    /// Number of bytes that all ranks read.
    pub read: u64,
    /// Time that a rank spent in calls on this file, in seconds: the mean over all ranks of the job.
    pub in_calls: f64,
    /// Part of `in_calls` in which a rank waited for the last rank to enter the call, in seconds.
    pub waited: f64,
    /// Longest phase of the calls: (name, time in seconds).
    pub longest: (&'static str, f64),
    /// Step in which the ranks copied data.
    #[serde(skip)]
    pub copying: Copying,
    /// Time of a rank in calls on this file that are not in the capture, in seconds: independent calls, and functions that neither
    /// read nor write.
    pub elsewhere: f64,
    /// Advice on how to make the calls on this file faster.
    pub advice: Vec<String>,
}

/// One call on a file of the job.
#[derive(Serialize)]
pub struct OfCall {
    /// Name of the file's capture: [`OfFile::name`].
    pub file: String,
    /// Number of the call in the capture, from 0.
    pub call: usize,
    /// Direction: `write` or `read`.
    pub direction: &'static str,
    /// Number of bytes that all ranks wrote, or read.
    pub bytes: u64,
    /// Time when the first rank entered the call, in seconds from the first open of the job.
    pub start: f64,
    /// Time from the arrival of the first rank to the departure of the last rank, in seconds.
    pub took: f64,
    /// Reason why the call took as long as it did.
    pub why: String,
    /// Reason why the call took as long as it did, in a few words.
    pub longest: String,
}

impl Job {
    /// Reads captures one after the other, so that the memory needed is that of the largest capture. `speed` has the measured costs
    /// of the file system.
    ///
    /// # Errors
    /// A capture is damaged; the message names the capture.
    pub fn of(captures: &[PathBuf], unfinished: usize, speed: Option<&FileSpeed>) -> Result<Self, Failure> {
        let mut job = Self { opened: f64::INFINITY, unfinished, ..Self::default() };
        let mut closed = f64::NEG_INFINITY;
        for path in captures {
            let capture = Capture::open(path)?;
            let account = Account::of(&capture, speed)?;
            let header = capture.header();
            let once = |all: &mut Vec<String>, one: &str| {
                if !all.iter().any(|known| known == one) {
                    all.push(one.to_string());
                }
            };
            once(&mut job.programs, &header.program);
            once(&mut job.libraries, &header.library);
            header.mpi.iter().for_each(|mpi| once(&mut job.mpi, mpi));
            job.opened = job.opened.min(header.opened);
            closed = closed.max(header.opened + header.seconds);
            job.ranks = job.ranks.max(account.ranks);
            job.nodes = job.nodes.max(account.nodes);
            job.add(path, &account, header.opened);
        }
        job.seconds = closed - job.opened;
        job.end();
        Ok(job)
    }

    /// Returns the job of the newest of several runs, whose captures are in `folder`.
    ///
    /// # Errors
    /// The errors of [`Job::of`].
    pub fn newest(runs: &[Run], folder: &Path, speed: Option<&FileSpeed>) -> Result<Self, Failure> {
        let Some((newest, earlier)) = runs.split_last() else { return Self::of(&[], 0, speed) };
        let mut job = Self::of(&newest.captures, newest.unfinished, speed)?;
        job.earlier_runs = earlier.len();
        if !earlier.is_empty() {
            let (folder, own) = (folder.display(), newest.folder.display());
            let runs = counted(runs.len() as u64, "run");
            job.summary.insert(
                0,
                format!("{folder} has captures of {runs}. This is the newest, of {}, in {own}.", job.date()),
            );
        }
        Ok(job)
    }

    /// Adds a file. Until [`Job::end`] is called, times of files are sums over ranks, and starts of calls count from
    /// 1970.
    fn add(&mut self, path: &Path, account: &Account, opened: f64) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let moved = |direction: &str| account.directions.iter().find(|way| way.direction == direction);
        let parts = phases(&account.phases());
        let longest = parts.into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default();
        self.calls.extend(account.calls.iter().map(|call| OfCall {
            file: name.clone(),
            call: call.call,
            direction: call.direction,
            bytes: call.bytes,
            start: opened + call.start,
            took: call.lasted(),
            why: reason(call),
            longest: reason_in_short(call),
        }));
        self.calls.sort_by(|one, other| other.took.total_cmp(&one.took));
        self.calls.truncate(CALLS);
        self.files.push(OfFile {
            capture: path.to_path_buf(),
            name,
            file: account.file.clone(),
            ranks: account.ranks,
            calls: account.calls.len(),
            written: moved("write").map_or(0, |way| way.bytes),
            read: moved("read").map_or(0, |way| way.bytes),
            in_calls: account.by_rank.iter().map(|rank| rank.in_calls).sum(),
            waited: account.by_rank.iter().map(|rank| rank.waited).sum(),
            longest,
            copying: Copying::of(account),
            elsewhere: account.elsewhere.seconds(account.ranks),
            advice: account.advice.iter().map(|advice| advice.says.clone()).collect(),
        });
    }

    /// Turns sums over ranks into means, and makes the job's sentences and advice.
    fn end(&mut self) {
        for file in &mut self.files {
            file.in_calls /= self.ranks as f64;
            file.waited /= self.ranks as f64;
        }
        self.calls.iter_mut().for_each(|call| call.start -= self.opened);
        self.files.sort_by(|one, other| other.in_calls.total_cmp(&one.in_calls));
        self.in_calls = self.files.iter().map(|file| file.in_calls).sum();
        self.waited = self.files.iter().map(|file| file.waited).sum();
        self.summary = self.sentences();
        self.next = self.next();
    }

    fn sentences(&self) -> Vec<String> {
        let calls: usize = self.files.iter().map(|file| file.calls).sum();
        let mut said = vec![
            format!(
                "{} made {} on {}, on {} of {}, in {} from the first open to the last close.",
                self.programs.join(", "),
                counted(calls as u64, "collective call"),
                self.count(),
                counted(self.ranks as u64, "rank"),
                counted(self.nodes as u64, "node"),
                time(self.seconds),
            ),
            format!(
                "A rank was in these calls for {} on average, {} of that time; {} of it waiting for ranks that came late.",
                time(self.in_calls),
                percent(self.in_calls, self.seconds),
                percent(self.waited, self.in_calls),
            ),
        ];
        if let [slowest, _, ..] = &self.files[..] {
            said.push(format!(
                "{} took the most of it: {}, {}.",
                slowest.name,
                time(slowest.in_calls),
                percent(slowest.in_calls, self.in_calls)
            ));
        }
        if let Some(file) = self.files.first().filter(|file| file.calls > 0) {
            let OfFile { name, longest: (phase, seconds), copying, .. } = file;
            said.push(format!(
                "The longest phase of {name} is {} ({}), {}.",
                meaning(phase, *copying),
                title(phase, *copying),
                time(*seconds)
            ));
        }
        if let Some(OfCall { file, call, took, why, .. }) = self.calls.first() {
            said.push(format!("The slowest call is {call} of {file}, {}: {why}.", time(*took)));
        }
        let elsewhere: f64 = self.files.iter().map(|file| file.elsewhere).sum();
        if elsewhere >= NOTABLE && elsewhere > self.in_calls {
            said.push(format!(
                "A rank was longer in independent calls and in functions that neither read nor write, {}, which the figures leave \
                 out.",
                time(elsewhere)
            ));
        }
        if self.programs.len() > 1 {
            said.push("The folder has captures of several programs: the figures are of all of them.".to_string());
        }
        if self.unfinished > 0 {
            let count = counted(self.unfinished as u64, "capture");
            said.push(format!(
                "{count} more: the program ended before the file was closed, so what it has is not known."
            ));
        }
        said
    }

    /// Returns the number of files as text, and how often they were opened if some were opened several times.
    pub fn count(&self) -> String {
        let names: BTreeSet<&str> = self.files.iter().map(|file| file.file.as_str()).collect();
        let files = counted(names.len() as u64, "file");
        match self.files.len() {
            opens if opens > names.len() => format!("{files} (opened {opens} times in all)"),
            _ => files,
        }
    }

    fn next(&self) -> String {
        let took = |file: &&OfFile| file.in_calls + file.elsewhere;
        let with_advice = self.files.iter().filter(|file| !file.advice.is_empty());
        let slowest = with_advice.max_by(|one, other| took(one).total_cmp(&took(other)));
        let Some(OfFile { name, advice, capture, .. }) = slowest else { return "Nothing stands out.".to_string() };
        format!("{name}: {} More: trib explain {}", advice.first().map_or("", String::as_str), capture.display())
    }

    /// Returns the date and time of the first open, as text.
    fn date(&self) -> String {
        let at = jiff::Timestamp::from_second(self.opened as i64).ok();
        at.map_or("unknown".to_string(), |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
    }

    /// Returns facts about the job, as (name, value).
    fn about(&self) -> Vec<(&'static str, String)> {
        let or = |all: &[String]| if all.is_empty() { "not in the captures".to_string() } else { all.join(", ") };
        vec![
            ("program", or(&self.programs)),
            ("date", self.date()),
            ("hosts", self.nodes.to_string()),
            ("ranks", self.ranks.to_string()),
            ("MPI", or(&self.mpi)),
            ("Tributary", or(&self.libraries)),
        ]
    }
}
