//! The captures of a folder, by the runs of programs that made them. `trib run` makes a folder for each run; with TRIB_CAPTURE
//! the captures of several runs may be in one folder.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tributary::engine::Capture;

use crate::Failure;

/// Extension of the file name of a capture, and of a capture that is incomplete because its program ended first.
const ENDING: &str = "tribcap";
const UNFINISHED: &str = "unfinished";

/// The captures of one run of a program.
#[derive(Debug, Default)]
pub struct Run {
    /// Folder of the captures.
    pub folder: PathBuf,
    /// Paths of the captures, in the order in which their files were opened.
    pub captures: Vec<PathBuf>,
    /// Number of incomplete captures in the folder.
    pub unfinished: usize,
    /// Number of the scheduler's job, if the captures record it.
    job: Option<String>,
    /// Time of the last open, and of the first start of a process (`None` in captures that do not record it) and the last close, in
    /// seconds since 1970.
    opened: f64,
    started: Option<f64>,
    closed: f64,
}

/// Facts about a capture that tell its run.
struct Facts {
    path: PathBuf,
    job: Option<String>,
    opened: f64,
    started: Option<f64>,
    closed: f64,
}

impl Facts {
    /// Reads the header of a capture. A capture that cannot be read counts as one of the time when its file was changed.
    fn of(path: PathBuf) -> Self {
        if let Ok(capture) = Capture::open(&path) {
            let header = capture.header();
            let (job, started) = (header.job.clone(), header.started);
            return Self { path, job, opened: header.opened, started, closed: header.opened + header.seconds };
        }
        let changed = path.metadata().and_then(|it| it.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        let opened = changed.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        Self { path, job: None, opened, started: None, closed: opened }
    }
}

impl Run {
    /// Returns true if a capture is of this run: its process ran while those of the run did. Captures of earlier versions do not
    /// record this, and count as one run.
    fn has(&self, facts: &Facts) -> bool {
        match (self.started, facts.started) {
            (Some(started), Some(other)) => self.job == facts.job && other <= self.closed && started <= facts.closed,
            _ => true,
        }
    }

    fn add(&mut self, facts: Facts) {
        self.started = match (self.started, facts.started) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.opened = self.opened.max(facts.opened);
        self.closed = self.closed.max(facts.closed);
        self.job = self.job.take().or(facts.job);
        self.captures.push(facts.path);
    }
}

/// Returns the paths of captures in the order in which their files were opened.
pub fn by_time(captures: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    facts_by_time(captures).into_iter().map(|facts| facts.path).collect()
}

fn facts_by_time(captures: impl IntoIterator<Item = PathBuf>) -> Vec<Facts> {
    let mut all: Vec<Facts> = captures.into_iter().map(Facts::of).collect();
    all.sort_by(|one, other| one.opened.total_cmp(&other.opened).then_with(|| one.path.cmp(&other.path)));
    all
}

/// Returns the runs whose captures are in a folder, or in the folders in it. The newest comes last; there is at least one.
///
/// # Errors
/// The folder cannot be read, or has no capture.
pub fn runs(folder: &Path) -> Result<Vec<Run>, Failure> {
    let fail = |what: String| Failure::new(format!("{}: {what}", folder.display()));
    let mut runs = runs_in(folder).map_err(|cause| fail(cause.to_string()))?;
    for inner in entries(folder).map_err(|cause| fail(cause.to_string()))? {
        // A folder that cannot be read is none of the user's runs.
        runs.extend(if inner.is_dir() { runs_in(&inner).unwrap_or_default() } else { Vec::new() });
    }
    runs.sort_by(|one, other| one.opened.total_cmp(&other.opened).then_with(|| one.folder.cmp(&other.folder)));
    match runs.is_empty() {
        true => Err(fail(format!("no capture; allowed: a folder with files NAME.{ENDING}, as TRIB_CAPTURE names it"))),
        false => Ok(runs),
    }
}

fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
}

fn runs_in(folder: &Path) -> std::io::Result<Vec<Run>> {
    let all = entries(folder)?;
    let ends = |path: &Path, with: &str| path.extension().is_some_and(|ending| ending == with);
    let mut runs: Vec<Run> = Vec::new();
    for facts in facts_by_time(all.iter().filter(|path| ends(path, ENDING)).cloned()) {
        if let Some(run) = runs.iter_mut().rev().find(|run| run.has(&facts)) {
            run.add(facts);
        } else {
            let mut run = Run { folder: folder.to_path_buf(), ..Run::default() };
            run.add(facts);
            runs.push(run);
        }
    }
    let unfinished = all.iter().filter(|path| ends(path, UNFINISHED)).count();
    runs.last_mut().into_iter().for_each(|newest| newest.unfinished = unfinished);
    Ok(runs)
}
