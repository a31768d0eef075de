//! Prints or writes explanations of the captures when the program of `trib run` has ended: a page or text for each capture, in the
//! order of the opens.

use std::path::{Path, PathBuf};

use crate::cli::run::{ReportForm, RunOptions};
use crate::explain;

/// File name of the page about the whole job, beside the pages of its files.
const JOB: &str = "job.html";

/// Returns the paths of the captures in a directory, in the order in which their files were opened; none if there is no such
/// directory.
fn captures(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    explain::by_time(entries.filter(|path| path.extension().is_some_and(|ending| ending == "tribcap")))
}

/// Explains the captures in `directory`, that of this run, on standard error, because standard output is the program's. Returns
/// true if all could be explained.
pub fn say(options: &RunOptions, directory: &Path) -> bool {
    let fresh = captures(directory);
    if fresh.is_empty() {
        let place = directory.display();
        let why = match options.report {
            Some(ReportForm::Table | ReportForm::Json) => {
                "the report above says why; without one, there was no MPI file"
            }
            Some(ReportForm::Html) | None => "trib run --report -- COMMAND says why",
        };
        eprintln!("trib: run: no capture in {place}: the library ran no collective read or write; {why}");
    }
    let mut all_said = true;
    if options.report == Some(ReportForm::Html) && fresh.len() > 1 {
        let page = directory.join(JOB);
        match explain::page_of_job(&fresh, &page) {
            Ok(files) => eprintln!("trib: page {}: all of the job, {files}", page.display()),
            Err(failure) => {
                eprintln!("trib: {}: {failure}", page.display());
                all_said = false;
            }
        }
    }
    for capture in &fresh {
        let mut took = |outcome: Result<(), crate::Failure>| {
            if let Err(failure) = outcome {
                eprintln!("trib: {}: {failure}", capture.display());
                all_said = false;
            }
        };
        if options.report == Some(ReportForm::Html) {
            let page = capture.with_extension("html");
            took(
                explain::page(capture, &page, (fresh.len() > 1).then_some(JOB))
                    .map(|file| eprintln!("trib: page {}: {file}", page.display())),
            );
        }
        if options.explain {
            took(explain::words(capture).map(|words| eprintln!("{words}")));
        }
        if options.report != Some(ReportForm::Html) && !options.explain {
            eprintln!("trib: capture {}", capture.display());
        }
    }
    all_said
}
