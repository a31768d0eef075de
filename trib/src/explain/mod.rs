//! `trib explain`: describes a program's collective calls from a capture, in sentences and then in tables.
//!
//! | module | holds |
//! |---|---|
//! | `account` | all numbers computed from a capture, over all ranks and calls |
//! | `sizes` | minimum, median, maximum and histogram of request lengths |
//! | `calls` | each call: when ranks entered it, how long the call took, who waited for whom |
//! | `kinds` | groups of calls that are alike |
//! | `elsewhere` | calls on the file that the capture does not hold |
//! | `estimate`, `file_speed` | expected times of calls that ranks make together; the costs of the file system |
//! | `planned` | fan-in and message sizes of a call, from the engine's own planning |
//! | `sentences` | sentences that describe the numbers |
//! | `advice` | advice on how to make calls faster |
//! | `costly` | hints of the user that cost time |
//! | `text`, `page` | the account as text for a terminal, and as an HTML page |
//! | `job` | all captures of a run as one job; the runs of a folder |
//! | `tables`, `chart` | tables and charts of the page |

mod account;
mod advice;
mod calls;
mod chart;
mod costly;
mod elsewhere;
mod estimate;
mod file_speed;
mod job;
mod kinds;
mod page;
mod planned;
mod sentences;
mod sizes;
mod tables;
mod text;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tributary::engine::Capture;

use crate::cli::capture::ExplainOptions;
use crate::{Failure, listing, say};
pub use account::Account;
pub use calls::CallAccount;
pub use file_speed::FileSpeed;
use job::Job;

/// Explains a capture, or all captures of the newest run in a folder.
///
/// # Errors
/// The file is not a complete capture; the folder has no capture; the page cannot be written.
pub fn run(options: &ExplainOptions) -> Result<(), Failure> {
    let speed = options.measure.as_deref().map(|folder| FileSpeed::measured(folder, Duration::ZERO)).transpose()?;
    if options.capture.is_dir() {
        return run_on_folder(options, speed.as_ref());
    }
    let account = Account::of(&Capture::open(&options.capture)?, speed.as_ref())?;
    if options.json {
        return say(serde_json::to_string_pretty(&account)?);
    }
    let Some(path) = &options.html else { return say(text::of(&account, listing::width())) };
    store(path, &page::html(&account, None))?;
    say(format!("{}: {}", path.display(), account.file))
}

fn run_on_folder(options: &ExplainOptions, speed: Option<&FileSpeed>) -> Result<(), Failure> {
    let job = Job::newest(&job::runs(&options.capture)?, &options.capture, speed)?;
    if options.json {
        return say(serde_json::to_string_pretty(&job)?);
    }
    let Some(path) = &options.html else { return say(job::words(&job, listing::width())) };
    store(path, &job::html(&job))?;
    say(format!("{}: {}", path.display(), job.count()))
}

/// Returns the paths of captures in the order in which their files were opened.
pub fn by_time(captures: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    job::by_time(captures)
}

/// Writes the HTML page of several captures, taken as one job, to `path`, with links to the pages of captures in the same folder.
/// Returns the number of files as text.
///
/// # Errors
/// The errors of [`run`].
pub fn page_of_job(captures: &[PathBuf], path: &Path) -> Result<String, Failure> {
    let job = Job { has_pages: true, ..Job::of(captures, 0, None)? };
    store(path, &job::html(&job))?;
    Ok(job.count())
}

/// Writes the HTML page of a capture to `path`, with a link to the page of its `job`, if there is one. Returns the name of the file that the program accessed.
///
/// # Errors
/// The errors of [`run`].
pub fn page(capture: &Path, path: &Path, job: Option<&str>) -> Result<String, Failure> {
    let account = Account::of(&Capture::open(capture)?, None)?;
    store(path, &page::html(&account, job))?;
    Ok(account.file)
}

/// Returns the text that explains a capture, for standard error.
///
/// # Errors
/// The errors of [`run`].
pub fn words(capture: &Path) -> Result<String, Failure> {
    Ok(text::of(&Account::of(&Capture::open(capture)?, None)?, listing::width_of_errors()))
}

fn store(path: &Path, page: &str) -> Result<(), Failure> {
    std::fs::write(path, page).map_err(|cause| {
        let shown = path.display();
        Failure::new(format!("the page {shown} cannot be written: {cause}; name a file in a folder that is there"))
    })
}
