//! `trib run --compare`: once without the library, once with it, and the gain in a line.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Instant;

use super::{Plan, child, not_started};
use crate::Failure;
use crate::cli::run::RunOptions;
use crate::compare;

/// What a run took, in seconds.
struct Took {
    /// Inside MPI_File_* on the rank with the longest time there; none where no rank called it.
    inside: Option<f64>,
    whole: f64,
    ranks: usize,
}

/// Runs the command twice, and ends as it ended the second time; or the first, if that went wrong.
///
/// # Errors
/// What can be refused before anything is started; figures that cannot be read.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    let inside = compare::inside()?;
    let (status, without) = once(options, &inside, false)?;
    if !status.success() {
        eprintln!("trib: run: it ended like this without the library: {status}");
        child::end_as(status);
    }
    let (status, with) = once(options, &inside, true)?;
    eprintln!("trib: {}", line(&without, &with));
    child::end_as(status)
}

fn once(options: &RunOptions, inside: &Path, is_with: bool) -> Result<(ExitStatus, Took), Failure> {
    let folder = tempfile::tempdir()?;
    let plan = Plan::measured(options, inside, is_with, folder.path())?;
    eprintln!("trib: {}", if is_with { plan.line.as_str() } else { "first without the library" });
    let mut command = plan.ready.command();
    let begin = Instant::now();
    let status = child::run(&mut command).unwrap_or_else(|cause| not_started(&command, &cause));
    let whole = begin.elapsed().as_secs_f64();
    let (inside, ranks) = compare::seconds_inside(folder.path())?;
    Ok((status, Took { inside, whole, ranks }))
}

/// The gain: times inside MPI-IO where they were measured, or else of all.
fn line(without: &Took, with: &Took) -> String {
    let (before, after, what) = match (without.inside, with.inside) {
        (Some(before), Some(after)) => (before, after, format!("inside MPI-IO, {} ranks", with.ranks)),
        _ => (without.whole, with.whole, "from start to end, as no rank was seen to call MPI_File_*".to_string()),
    };
    let ratio = if after > 0.0 { before / after } else { 1.0 };
    let [start, end] = [without.whole, with.whole];
    format!(
        "{ratio:.2} times as fast with the library: {before:.4} s without it, {after:.4} s with it ({what}); from start to end \
         {start:.2} s and {end:.2} s; one run of each, `trib compare -- COMMAND` makes more"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gain_is_of_the_time_inside_where_there_is_one() {
        let took = |inside, whole| Took { inside, whole, ranks: 2 };
        let said = line(&took(Some(3.0), 5.0), &took(Some(1.5), 3.0));
        assert!(
            said.starts_with("2.00 times as fast with the library: 3.0000 s without it, 1.5000 s with it (inside"),
            "{said}"
        );
        let said = line(&took(None, 5.0), &took(None, 10.0));
        assert!(said.starts_with("0.50 times as fast with the library: 5.0000 s without it"), "{said}");
    }
}
