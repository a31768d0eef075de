//! Handles MPI_Finalize: writes the line about the job to the site's log, if the site wants one; prints the report of files that
//! single ranks have opened, and a line if a report is wanted but the program opened no file. Otherwise costs two loads and two branches.

use tributary_abi::function_name;

use crate::entry::{Answer, enter};
use crate::file::report::Report;
use crate::file::{files, job, rank_files, report};
use crate::mpi::abi::word::Word;
use crate::mpi::interposition::{self, Interposition, is_first_rank};
use crate::mpi::next::InterposedFunction;

/// The next definition of MPI_Finalize, which may belong to a tool that is preloaded after this library, such as Darshan.
static PLAIN: InterposedFunction = InterposedFunction::new(function_name!("MPI_Finalize"));
static PROFILING: InterposedFunction = InterposedFunction::new(function_name!("PMPI_Finalize"));

#[unsafe(export_name = "MPI_Finalize")]
extern "C-unwind" fn plain() -> Word {
    end(&PLAIN)
}

#[unsafe(export_name = "PMPI_Finalize")]
extern "C-unwind" fn profiling() -> Word {
    end(&PROFILING)
}

fn end(function: &'static InterposedFunction) -> Word {
    // Writes the buffered bytes of files that the program has not closed.
    tributary::engine::write_everything();
    let is_to_report = interposition::is_active(Interposition::Preloaded)
        && (job::has_line() || rank_files::is_any() || is_without_files());
    if is_to_report { enter(function, &[], report_first) } else { function.call(&[]) }
}

/// Returns true if this rank should report, but has opened no file.
fn is_without_files() -> bool {
    !files::is_any_seen() && report::is_wanted()
}

/// Writes the line about the job and the last report, then calls MPI_Finalize. Collective, as MPI_Finalize is.
fn report_first(_function: &'static InterposedFunction, _arguments: &[Word]) -> Answer {
    end_job();
    if is_without_files() && is_first_rank() {
        tributary::say(
            "no report: this program opened no file by MPI_File_open; the library takes collective reads and writes of MPI files only",
        );
    }
    Answer::Pass
}

/// Writes the line about the job, if the site wants one, and the report of files that single ranks have opened. Collective over the
/// ranks that do so together.
pub fn end_job() {
    let complaints = if job::has_line() { job::write_line() } else { Vec::new() };
    for complaint in complaints {
        if report::is_wanted() {
            tributary::say(complaint);
        }
    }
    let files = rank_files::is_any().then(rank_files::take).flatten();
    files.and_then(Report::of_rank_files).iter().for_each(Report::print);
}
