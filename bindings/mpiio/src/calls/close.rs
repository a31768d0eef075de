//! MPI_File_close: closes the engine's file, then MPI's, with the same result on all ranks; then prints the report.

use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tributary::Error;
use tributary::engine::StallWatchdog;

use crate::entry::Answer;
use crate::file::backend::CallOfUnopened;
use crate::file::deletions::{self, DeletionsInVain};
use crate::file::report::{self, Report};
use crate::file::sieving::Sieving;
use crate::file::{files, job, pending};
use crate::mpi::abi::SUCCESS;
use crate::mpi::abi::errors::class;
use crate::mpi::abi::word::{Word, to_word};
use crate::mpi::next::InterposedFunction;

/// Handles MPI_File_close. Collective over the file's ranks.
pub fn close(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    // SAFETY: the argument of MPI_File_close points to a handle, which is a pointer in every MPI library.
    let handle = arguments.first().filter(|&&place| place != 0).map(|&place| unsafe { *(place as *const Word) });
    let Some(handle) = handle else { return Answer::Pass };
    let begin = Instant::now();
    // Calls whose requests the program has freed may still be in flight: complete them.
    let mut sieved = SUCCESS;
    if let Some(shared) = files::find(handle) {
        pending::settle(&shared);
        sieved = shared.sieving.as_ref().map_or(SUCCESS, Sieving::close);
    }
    let Some((mut file, mut counts)) = files::remove(handle) else { return Answer::Pass };
    let (prints, path) = (file.backend.is_first, file.backend.path.clone());
    let has_one_rank = file.backend.has_one_rank;
    files::join_independent(&path, has_one_rank, &mut counts);
    if report::is_wanted() {
        file.backend.start_if_single_rank(function, true);
    }
    let unused = report::not_used(&file, &counts, None);
    let report = Report::wanted(&file, &counts);
    job::add(prints, &counts);
    let asked = std::mem::take(&mut file.asked);
    let (waiting, stall, mut backend) = (file.backend.waiting(), file.backend.stall_terms(), file.backend);
    let (is_reported, mut past_cache, mut deleted) = (backend.is_reported, counts.past_cache, None);
    let closed = pending::complete(waiting.as_ref(), async {
        let checked = backend.check_unopened(CallOfUnopened::Close, function).await;
        if checked.is_ok() {
            backend.start_for_capture(function, !counts.independent_calls().is_empty()).await?;
        }
        report::describe(&mut backend.runner, &asked, unused, &counts);
        let closed = backend.close(function).await;
        let mut closed = checked.and(closed)?;
        // The report counts independent calls and deletions of all ranks. If not all ranks know that there is a report,
        // nothing is sent.
        if !is_reported {
            return Ok(closed);
        }
        let deletions = if closed.has_several_ranks() { deletions::take() } else { [0; 2] };
        let mut numbers = [&counts.independent()[..], &[counts.past_cache], &deletions].concat();
        if closed.sum(&mut numbers).await.is_ok()
            && let Some((independent, &[sum, calls, ranks])) = numbers.split_last_chunk()
        {
            counts.set_independent(independent);
            (past_cache, deleted) = (sum, DeletionsInVain::from_sums([calls, ranks]));
        }
        Ok(closed)
    });
    if let Err(error) = &closed {
        counts.failures.note(function.full_name(), error, prints);
        job::add_failure(prints);
    }
    if let Some(mut report) = report {
        report.failed = counts.failures.failed();
        report.set_passed_through(&counts);
        // MPI's own close follows, so its time is not in the report.
        counts.took(function.name(), Some(0), begin.elapsed());
        report.other_calls =
            counts.other_calls().into_iter().map(|(call, seconds)| (call.to_string(), seconds)).collect();
        (report.past_cache, report.deletions_in_vain) = (past_cache, deleted);
        report.deliver(has_one_rank);
    }
    match closed {
        Ok(closed) => Answer::call(function, arguments, move |code| {
            let waiting = closed.waiting();
            let code = if code as c_int == SUCCESS { to_word(sieved) } else { code };
            match pending::complete(waiting.as_ref(), closed.agree(code as c_int, &path)) {
                Ok(()) => Answer::Return(code),
                Err(error) => Answer::code(class(&error)),
            }
        }),
        Err(error) => {
            // MPI's file is still open: its error handler is called. If an exception leaves it, the program may close MPI's file by
            // another call.
            let code = class(&error);
            let arguments = arguments.to_vec();
            let close = move |_| {
                let watchdog = watched(&error, stall, (function, &path));
                Answer::call(function, &arguments, move |_| {
                    drop(watchdog);
                    Answer::code(code)
                })
            };
            Answer::RaiseFirst { file: handle, code, then: Box::new(close) }
        }
    }
}

/// Returns a stall watchdog for MPI's close after `error`, if other ranks were in another call: MPI waits until they close
/// the file too. `stall` is (rank, seconds).
fn watched(
    error: &Error,
    stall: Option<(usize, usize)>,
    (function, path): (&'static InterposedFunction, &Path),
) -> Option<Arc<StallWatchdog>> {
    let (Error::CallsDiffer { calls, .. }, Some((rank, seconds))) = (error, stall) else { return None };
    Some(StallWatchdog::after_different_calls(path, rank, seconds, (function.full_name(), calls)))
}
