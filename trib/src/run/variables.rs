//! Sets the environment variables of the ranks for `trib run`, apart from the library to preload.

use std::path::Path;
use std::sync::OnceLock;

use tributary::engine::capture::CaptureTarget;

use crate::cli::run::{CAPTURES, ReportForm, RunOptions};
use crate::launcher::{self, program};
use crate::{Failure, hints, listing};

/// Returns the environment variables of the ranks, checked.
///
/// # Errors
/// Hints that do not exist or are not allowed, of the options or the environment.
pub fn of(options: &RunOptions) -> Result<Vec<(String, String)>, Failure> {
    let mut variables = Vec::new();
    let mut set = |name: &str, value: &str| variables.push((name.to_string(), value.to_string()));
    hints::check(&options.hints)?;
    if !options.hints.is_empty() {
        // The last value of a key holds, so the options come after the environment.
        let before = std::env::var("TRIB_HINTS").ok().filter(|text| !text.trim().is_empty());
        let lines = before.iter().chain(&options.hints).flat_map(|text| text.lines());
        let pairs = lines.map(|line| line.split('#').next().unwrap_or_default().trim()).filter(|line| !line.is_empty());
        set("TRIB_HINTS", &pairs.collect::<Vec<_>>().join(";"));
    }
    match options.report {
        Some(ReportForm::Table) => {
            set("TRIB_REPORT", "1");
            // The ranks have no terminal to ask for its width.
            if let Some(width) = listing::width_of_errors() {
                set("COLUMNS", &width.to_string());
            }
        }
        Some(ReportForm::Json) => set("TRIB_REPORT", "json"),
        Some(ReportForm::Html) | None => {}
    }
    if let Some(target) = captures(options)? {
        let value = target.value();
        let bad = || Failure::new(format!("capture: {}; allowed: UTF-8", target.directory.display()));
        set("TRIB_CAPTURE", value.to_str().ok_or_else(bad)?);
    }
    Ok(variables)
}

/// Returns the directory for captures and their limit, if the options ask for captures: a directory of this run, PROGRAM-DATE-JOB, in
/// the directory of the option, of TRIB_CAPTURE, or the default. The path is absolute, because ranks may run in another
/// directory than this process.
///
/// # Errors
/// There is no current directory. A value of the option or of TRIB_CAPTURE that is not allowed.
pub fn captures(options: &RunOptions) -> Result<Option<CaptureTarget>, Failure> {
    if options.capture.is_none() && !options.explain && options.report != Some(ReportForm::Html) {
        return Ok(None);
    }
    let named = std::env::var_os("TRIB_CAPTURE").filter(|value| !value.is_empty());
    let value = options.capture.clone().or(named).unwrap_or_else(|| CAPTURES.into());
    let target = CaptureTarget::parse(&value)?;
    let fail = |cause| Failure::new(format!("capture: {}: {cause}", target.directory.display()));
    let directory = std::path::absolute(&target.directory).map_err(fail)?;
    Ok(Some(CaptureTarget { directory: directory.join(name_of_run(options, &directory)), ..target }))
}

/// Returns the name of the directory of this run: the program, the date, UTC, and the scheduler's job if there is one, with a number
/// if `directory` has that name. The same in all calls of this process.
fn name_of_run(options: &RunOptions, directory: &Path) -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let is_launched = launcher::of(&options.command[0]).is_ok_and(|launcher| launcher.is_some());
        let program = program::of(&options.command, is_launched).unwrap_or_else(|| (&options.command[0]).into());
        let program = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let date = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let parts = [program, date].into_iter().chain(tributary::job());
        let allowed = |letter: char| if letter.is_alphanumeric() || "._-+".contains(letter) { letter } else { '_' };
        let name: String = parts.collect::<Vec<_>>().join("-").chars().map(allowed).collect();
        let numbered = |number: u32| if number == 1 { name.clone() } else { format!("{name}-{number}") };
        (1..).map(numbered).find(|name| !directory.join(name).exists()).unwrap_or_default()
    })
}
