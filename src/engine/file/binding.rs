//! Functions on a file that bindings to other languages and libraries need, and programs do not; and collective calls in
//! which another library, such as the MPI library, works on the same file.
//!
//! The engine keeps its own calls and the other library's calls in order. This is necessary because another library lets a
//! rank return as soon as the rank's own work is done, and the engine lets a rank write before the ranks agree.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use crate::access::{AccessStats, Direction};
use crate::collectives::agree;
use crate::drivers::Mode;
use crate::engine::agree::calls::{CallForm, CallKind};
use crate::engine::choose::learned::LearnedFacts;
use crate::engine::choose::rules::WritersBeside;
use crate::engine::file::File;
use crate::engine::file::opening::FirstAgreement;
use crate::engine::file::transfer::Operation;
use crate::engine::file::without_data::Opening;
use crate::engine::io::SystemFiles;
use crate::engine::trace::capture::independent::{IndependentCalls, NotCaptured};
use crate::engine::trace::report::CallReport;
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::fabric::mpi::{end_job, is_running};
use crate::hints::{FileHints, Hints, OnFailure, Unused};
use crate::topology::Rank;

pub use super::transfer::Asked;

/// The result of a collective write or read on one rank.
pub struct Moved {
    /// Number of this rank's bytes that were written, or that were read before the end of the file.
    pub bytes: u64,
    /// The report of the call; the same on all ranks.
    pub report: CallReport,
}

/// Opens like [`File::open`], as a future that the caller polls. Collective.
///
/// # Errors
/// The same errors as [`File::open`].
pub fn open(endpoint: Endpoint, path: &Path, mode: Mode, hints: Hints) -> impl Future<Output = Result<File>> {
    File::opened(endpoint, opening(path, mode, hints))
}

/// Opens like [`open`], if the agreement on `first_agreement` allows it; otherwise returns the endpoint. `name` is the
/// name of the call for the stall watchdog. Collective, with the same operations and the same condition on all ranks.
///
/// # Errors
/// The same errors as [`File::open`].
pub fn open_after(
    endpoint: Endpoint,
    (path, name): (&Path, &'static str),
    mode: Mode,
    hints: Hints,
    first_agreement: &mut FirstAgreement<'_>,
) -> impl Future<Output = Result<std::result::Result<File, Endpoint>>> {
    File::opened_after(endpoint, opening(path, mode, hints), name, first_agreement)
}

fn opening(path: &Path, mode: Mode, hints: Hints) -> Opening {
    Opening { path: path.into(), mode, hints, files: Arc::new(SystemFiles) }
}

/// Returns the outcome of a rank that has no endpoint yet. Ends the job first if the outcome is an error, unless the
/// environment's hints say `trib_on_failure=return`. Without MPI no other rank waits, so nothing ends. Local.
///
/// # Errors
/// The error of the outcome.
pub fn abort_job_on_error<T>(outcome: Result<T>) -> Result<T> {
    if let Err(error) = &outcome
        && is_running()
        && Hints::from_env().is_ok_and(|hints| hints.on_failure == OnFailure::Abort)
    {
        end_job(error);
    }
    outcome
}

/// Makes a collective write or read. Collective: the other ranks make the same call, in any of the three forms.
///
/// # Errors
/// The same errors as [`File::write_all`] and [`File::read_all`].
pub fn transfer(file: &mut File, mut asked: Asked<'_>) -> Result<Moved> {
    let report = file.transfer(&mut asked)?;
    Ok(Moved { bytes: asked.moved(), report })
}

/// Makes a collective write or read, as a future that the caller polls. Collective.
///
/// # Errors
/// The same errors as [`transfer`].
pub async fn transfer_async(file: &mut File, mut asked: Asked<'_>) -> Result<Moved> {
    let report = file.transfer_async(&mut asked).await?;
    Ok(Moved { bytes: asked.moved(), report })
}

/// Starts a non-blocking collective write or read. Collective.
pub fn start<'a>(file: &'a mut File, asked: Asked<'a>) -> Operation<'a, Moved> {
    file.start(asked, |bytes, report| Moved { bytes, report })
}

/// Takes part in a collective write or read with an error instead of an access. The call fails on every rank with the
/// error of the lowest rank that has one, and this error is returned. Collective: the other ranks write or read, by
/// `direction`, or refuse too.
pub fn refuse(file: &mut File, direction: Direction, error: Error) -> Error {
    let rank = file.endpoint.rank();
    let outcome = file.transfer(&mut Asked::refusal(direction, error));
    outcome.err().unwrap_or_else(|| Error::internal(rank, "a refused call succeeded"))
}

/// Sets the size like [`File::set_len`], for a caller that has already checked the length. Collective.
///
/// # Errors
/// The same errors as [`File::set_len`], or the `checked` error of the lowest rank, on every rank.
pub fn set_len_after(file: &mut File, checked: Result<u64>) -> Result<()> {
    file.complete(async |file| file.change_len(checked).await)
}

/// Waits until the buffered bytes of this rank's collective writes are in the file. Local; [`File::sync`] does so on
/// all ranks.
///
/// # Errors
/// The error of such a write, which no other call returns then.
pub fn write_left_bytes(file: &mut File) -> Result<()> {
    let Some(write_behind) = &file.handle.write_behind else { return Ok(()) };
    write_behind.write();
    write_behind.take_error().map_or(Ok(()), Err)
}

/// Closes like [`File::close`], as a future that the caller polls, and also agrees on `own`, the outcome of something
/// that the caller closed. Collective.
///
/// # Errors
/// The same errors as [`File::close`], or the `own` error of the lowest rank, on every rank.
pub fn close_after(file: File, own: Result<()>) -> impl Future<Output = Result<Endpoint>> {
    file.closed(own)
}

/// Sets the name of the next collective calls for messages: the line of the stall watchdog (`StallWatchdog`), and the
/// error of ranks in different calls. Local.
pub fn call_them(file: &mut File, name: &'static str) {
    call_as(file, name, CallForm::Blocking);
}

/// Sets the name of the next collective calls like [`call_them`], and the form of the next writes and reads. Ranks whose
/// calls have different forms all get an error ([`Error::CallsDiffer`]). Local.
pub fn call_as(file: &mut File, name: &'static str, form: CallForm) {
    (file.calls.name, file.calls.form) = (Some(name), form);
}

/// Sets what this rank knows of another library that may write the file between collective calls, by data sieving. Each
/// rank sets it before each call, or none does. Local.
pub fn set_writers_beside(file: &mut File, beside: WritersBeside) {
    file.calls.early.set(beside);
}

/// Returns true if a rank may write its pieces before other ranks are in the next call, although [`set_writers_beside`] named
/// another writer. Until the end of that call, this rank must keep the other library from data sieving. The same on all
/// ranks. Local.
pub fn lets_ranks_write_early(file: &File) -> bool {
    file.calls.early.are_agreed_on()
}

/// Stores the hints of the file for its capture: the sources of the hints in force, and the `unused` hints with the
/// reasons. The values of rank 0 count. Does nothing if calls are not captured. Local.
pub fn describe_hints(file: &mut File, asked: &FileHints, unused: Vec<Unused>) {
    file.observers.describe_hints(asked, unused);
}

/// Stores the calls on the file that are not captured, for its capture: the `independent` calls of this rank, and `others`,
/// of which those of rank 0 count. Does nothing if calls are not captured. Local.
pub fn describe_not_captured(file: &mut File, others: NotCaptured, independent: Vec<IndependentCalls>) {
    file.observers.describe_not_captured(others, independent);
}

/// Returns the maximum size of a window in bytes in the last exchange by messages; `None` before the first. Local.
pub fn exchange_window(file: &File) -> Option<u64> {
    file.calls.plans.current().map(|plan| plan.domains.window_bytes())
}

/// Returns what was learned from exchanges on this file, or on the last file on the same file system; `None` if it
/// changes nothing. Local.
pub fn learned(file: &File) -> Option<LearnedFacts> {
    LearnedFacts::of(&file.calls.learned, &file.setup.exchange.roles.aggregators)
}

/// Syncs like [`File::sync`], and also runs `other` on every rank. Ranks may wait for each other in `other`: it starts
/// when all ranks are known to be in this call. Collective. Costs two agreements.
///
/// # Errors
/// The same errors as [`File::sync`], or the error of `other` of the lowest rank, on every rank.
pub async fn sync_with(file: &mut File, other: impl FnOnce(Rank) -> Result<()>) -> Result<()> {
    file.usable()?;
    file.handle.note_others_bytes();
    file.arrive(CallKind::Sync).await?;
    let synced = other(file.endpoint.rank());
    let synced = file.handle.sync_written().and(synced);
    let synced = file.handle.keep_error(synced);
    let outcome = file.agree_on_end(CallKind::Sync, synced).await;
    if outcome.is_ok() {
        file.handle.all_have_synced();
    }
    outcome
}

/// Runs `other` on every rank, a part of a collective call `kind` in which another library changes the file. `other` starts
/// when all ranks have ended their earlier calls on the file. No rank begins its next call before `other` has ended on all
/// ranks. Otherwise a rank that another library lets return early could write bytes that a slower rank then truncates or
/// overwrites. Collective. Costs two agreements.
///
/// # Errors
/// The same on every rank: ranks are in different calls, an error of buffered bytes of earlier writes, or the error of
/// `other` of the lowest rank. An operation was dropped before its end.
pub async fn run_between(file: &mut File, kind: CallKind, other: impl FnOnce(Rank) -> Result<()>) -> Result<()> {
    file.usable()?;
    file.handle.write_left_bytes();
    file.arrive(kind).await?;
    let outcome = other(file.endpoint.rank());
    file.handle.note_others_bytes();
    // The other library may have changed the size: forget where earlier writes end.
    file.handle.all_have_synced();
    file.agree_on_end(kind, outcome).await
}

/// Waits until all ranks are here: no rank begins its next call on the file before all ranks have ended a collective
/// write that another library ran. Collective. Costs one agreement.
///
/// # Errors
/// The same on every rank: ranks are in different calls, or an error of buffered bytes of earlier writes. An operation
/// was dropped before its end.
pub async fn wait_for_all(file: &mut File) -> Result<()> {
    file.usable()?;
    file.handle.note_others_bytes();
    file.arrive(CallKind::Agreement).await
}

impl File {
    /// Makes the first agreement of a call without data. Collective.
    async fn arrive(&mut self, kind: CallKind) -> Result<()> {
        let waiting = self.endpoint.waiting().clone();
        waiting.call(pin!(self.agree_without_data(kind, Ok(()), AccessStats::NONE))).await.map(drop)
    }

    /// Agrees on the outcome of a call that all ranks have begun: an error of buffered bytes of this rank's earlier writes,
    /// or else `own`. Collective. Costs one agreement.
    async fn agree_on_end(&mut self, kind: CallKind, own: Result<()>) -> Result<()> {
        let waiting = self.endpoint.waiting().clone();
        let deferred = self.handle.write_behind.as_ref().and_then(|write_behind| write_behind.bring_error());
        let own = deferred.map_or(own, Err);
        self.observers.begin(&waiting, self.name(kind));
        let outcome = waiting.call(pin!(agree(&mut self.endpoint, own))).await;
        self.observers.end();
        self.observers.left(outcome.is_err());
        if let Some(write_behind) = &self.handle.write_behind {
            write_behind.returned(&outcome);
        }
        outcome
    }
}
