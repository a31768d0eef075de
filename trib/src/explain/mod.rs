//! `trib explain`: what a capture says of a program's collective calls, in sentences first and figures after.
//!
//! | module | holds |
//! |---|---|
//! | [`account`] | everything that is counted, of all ranks and calls |
//! | [`sizes`] | how long requests are |
//! | [`calls`] | each call: when ranks came, how long they took, who waited for whom |
//! | [`kinds`] | calls that follow one another and are alike |
//! | [`planned`] | fan-in and message sizes of a call, by the engine's own planning |
//! | [`predicted`] | what the simulator expects on a machine, and the hint that should help most |
//! | [`sentences`] | what the figures mean |
//! | [`advice`] | what would have to be otherwise for a call to be faster |
//! | [`text`], [`page`] | the account for a terminal, and as a page of HTML |
//! | [`tables`], [`chart`] | the tables and the drawings of the page |

mod account;
mod advice;
mod calls;
mod chart;
mod kinds;
mod page;
mod planned;
mod predicted;
mod sentences;
mod sizes;
mod tables;
mod text;

use std::path::Path;

use tributary::engine::Capture;

use crate::cli::capture::ExplainOptions;
use crate::{Failure, say};
use account::Account;
use advice::Advice;

/// Explains a capture.
///
/// # Errors
/// A file that is no whole capture; a page that cannot be written.
pub fn run(options: &ExplainOptions) -> Result<(), Failure> {
    let capture = Capture::open(&options.capture)?;
    let mut account = Account::of(&capture)?;
    if let Some(machine) = &options.machine {
        let with = (options.capture.as_path(), machine.as_str(), options.ranks_per_node);
        let predicted = predicted::predict(&account, &capture.topology()?, with)?;
        account.advice.push(Advice { about: "hint", call: Some(predicted.call), says: predicted.advice() });
        account.predicted = Some(predicted);
    }
    if options.json {
        return say(serde_json::to_string_pretty(&account)?);
    }
    let Some(path) = &options.html else { return say(text::of(&account)) };
    write(&account, path)?;
    say(format!("{}: {}", path.display(), account.file))
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
    std::fs::write(path, page::html(account)).map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))
}
