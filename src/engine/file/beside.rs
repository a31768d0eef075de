//! Collective calls in which another library, such as the MPI library, works on the same file. The engine keeps its own
//! calls and the other library's in order: another library lets a rank return as soon as the rank's own work is done, and
//! the engine lets a rank write before the ranks agree.

use std::pin::pin;

use crate::collectives::agree;
use crate::engine::facts::Amount;
use crate::engine::facts::calls::CallKind;
use crate::engine::file::File;
use crate::error::Result;
use crate::topology::Rank;

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
    let synced = file.handle.sync(&file.setup).and(synced);
    let synced = file.handle.keep_error(synced);
    let outcome = file.agree_on_end(CallKind::Sync, synced).await;
    if outcome.is_ok() {
        file.handle.all_have_synced();
    }
    outcome
}

/// Runs `other` on every rank, a part of a collective call `kind` in which another library changes the file. `other`
/// starts when all ranks have ended their earlier calls on the file, and no rank begins its next call before `other` has
/// ended on all ranks: without this order, a rank that another library lets return early could write bytes that a slower
/// rank then truncates or overwrites. Collective. Costs two agreements.
///
/// # Errors
/// The same on every rank: ranks are in different calls, an error of bytes that earlier writes have left behind, or the
/// error of `other` of the lowest rank. An operation was dropped before its end.
pub async fn run_between(file: &mut File, kind: CallKind, other: impl FnOnce(Rank) -> Result<()>) -> Result<()> {
    file.usable()?;
    file.handle.write_left_bytes();
    file.arrive(kind).await?;
    let outcome = other(file.endpoint.rank());
    file.handle.note_others_bytes();
    // The end of earlier writes means nothing any more.
    file.handle.all_have_synced();
    file.agree_on_end(kind, outcome).await
}

/// Waits until all ranks are here: no rank begins its next call on the file before all ranks have ended a collective
/// write that another library ran. Collective. Costs one agreement.
///
/// # Errors
/// The same on every rank: ranks are in different calls, or an error of bytes that earlier writes have left behind. An
/// operation was dropped before its end.
pub async fn wait_for_all(file: &mut File) -> Result<()> {
    file.usable()?;
    file.handle.note_others_bytes();
    file.arrive(CallKind::Agreement).await
}

impl File {
    /// Makes the first agreement of a call without data. Collective.
    async fn arrive(&mut self, kind: CallKind) -> Result<()> {
        let waiting = self.endpoint.waiting().clone();
        waiting.call(pin!(self.agree_without_data(kind, Ok(()), Amount::NONE))).await.map(drop)
    }

    /// Makes the outcome of a call that all ranks have begun the same on all ranks: an error of this rank's bytes that
    /// earlier writes have left behind, or else `own`. Collective. Costs one agreement.
    async fn agree_on_end(&mut self, kind: CallKind, own: Result<()>) -> Result<()> {
        let waiting = self.endpoint.waiting().clone();
        let deferred = self.handle.behind.as_ref().and_then(|behind| behind.bring_error());
        let own = deferred.map_or(own, Err);
        self.observers.begin(&waiting, self.name(kind));
        let outcome = waiting.call(pin!(agree(&mut self.endpoint, own))).await;
        self.observers.end();
        self.observers.left(outcome.is_err());
        if let Some(behind) = &self.handle.behind {
            behind.returned(&outcome);
        }
        outcome
    }
}
