//! `trib explain`: what a capture says of a program's collective calls, in sentences first and figures after.
//!
//! | module | holds |
//! |---|---|
//! | `account` | everything that is counted, of all ranks and calls |
//! | `sizes` | how long requests are |
//! | `calls` | each call: when ranks came, how long they took, who waited for whom |
//! | `kinds` | calls that follow one another and are alike |
//! | `planned` | fan-in and message sizes of a call, by the engine's own planning |
//! | `sentences` | what the figures mean |
//! | `advice` | what would have to be otherwise for a call to be faster |
//! | `text`, `page` | the account for a terminal, and as a page of HTML |
//! | `job` | all captures of a folder as one job |
//! | `tables`, `chart` | the tables and the drawings of the page |

mod account;
mod advice;
mod calls;
mod chart;
mod job;
mod kinds;
mod page;
mod planned;
mod sentences;
mod sizes;
mod tables;
mod text;

use std::path::{Path, PathBuf};

use tributary::engine::Capture;

use crate::cli::capture::ExplainOptions;
use crate::numbers::counted;
use crate::{Failure, say};
pub use account::Account;
pub use calls::CallAccount;
use job::Job;

/// Explains a capture, or all of a folder.
///
/// # Errors
/// A file that is no whole capture, a folder without one; a page that cannot be written.
pub fn run(options: &ExplainOptions) -> Result<(), Failure> {
    if options.capture.is_dir() {
        return run_on_folder(options);
    }
    let capture = Capture::open(&options.capture)?;
    let account = Account::of(&capture)?;
    if options.json {
        return say(serde_json::to_string_pretty(&account)?);
    }
    let Some(path) = &options.html else { return say(text::of(&account)) };
    write(&account, path)?;
    say(format!("{}: {}", path.display(), account.file))
}

fn run_on_folder(options: &ExplainOptions) -> Result<(), Failure> {
    let (captures, unfinished) = job::captures(&options.capture)?;
    let job = Job::of(&captures, unfinished)?;
    if options.json {
        return say(serde_json::to_string_pretty(&job)?);
    }
    let Some(path) = &options.html else { return say(job::words(&job)) };
    store(path, &job::html(&job))?;
    say(format!("{}: {}", path.display(), counted(job.files.len() as u64, "file")))
}

/// Writes the page of several captures, as of one job; how many files it has.
///
/// # Errors
/// As [`run`].
pub fn page_of_job(captures: &[PathBuf], path: &Path) -> Result<usize, Failure> {
    let job = Job::of(captures, 0)?;
    store(path, &job::html(&job))?;
    Ok(job.files.len())
}

/// Writes the page of a capture; the name of the file that was captured.
///
/// # Errors
/// As [`run`].
pub fn page(capture: &Path, path: &Path) -> Result<String, Failure> {
    let account = Account::of(&Capture::open(capture)?)?;
    write(&account, path)?;
    Ok(account.file)
}

/// What a capture says, in words.
///
/// # Errors
/// As [`run`].
pub fn words(capture: &Path) -> Result<String, Failure> {
    Ok(text::of(&Account::of(&Capture::open(capture)?)?))
}

fn write(account: &Account, path: &Path) -> Result<(), Failure> {
    store(path, &page::html(account))
}

fn store(path: &Path, page: &str) -> Result<(), Failure> {
    std::fs::write(path, page).map_err(|cause| {
        let shown = path.display();
        Failure::new(format!("the page {shown} cannot be written: {cause}; name a file in a folder that is there"))
    })
}
