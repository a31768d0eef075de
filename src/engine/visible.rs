//! Makes bytes that one host has written visible on other hosts, on a file system whose hosts cache independently: NFS,
//! FUSE ([`FileSystem::is_coherent`](crate::drivers::FileSystem::is_coherent)).
//!
//! On such a file system, a host sees what another host has written after the other host closed the file and this host
//! opened it again (*close-to-open consistency*). MPI promises more: a rank sees its own bytes at once, also bytes that
//! an aggregator on another host has written for it, and of two calls the bytes of the later call stay. So
//!
//! - a rank that has written in a collective call makes its bytes visible before the ranks agree on the end of the call
//!   ([`Storage::settle`]); an error of the file system, such as a full quota, is then
//!   an error of the call;
//! - bytes that a rank has written in independent calls are made visible at the beginning of the next collective call;
//! - a rank opens the file again before it reads what other hosts may have written: in a collective call, after all
//!   ranks have made their bytes visible. If opening is not enough, the storage does more
//!   ([`Storage::see_other_hosts`]).
//!
//! Nothing of this happens on other file systems, if all ranks are on one host, or in a file that is only read.

use std::sync::Arc;

use crate::drivers::{Mode, Storage};
use crate::engine::direction::Direction;
use crate::engine::facts::Amount;
use crate::engine::file::File;
use crate::engine::setup::Setup;
use crate::engine::storage::window_queue::Outcome;
use crate::engine::storage::{StorageFailure, guarded};
use crate::error::Result;
use crate::hints::Switch;

impl Setup {
    /// Lets other hosts see the bytes that were written through this handle. Local.
    ///
    /// # Errors
    /// An error of the file system that appears only now, such as a full disk or quota.
    pub(in crate::engine) fn pass_on(&self, storage: &dyn Storage) -> std::result::Result<(), StorageFailure> {
        if !self.hosts_cache_apart {
            return Ok(());
        }
        let failure = |cause| StorageFailure { operation: "close", offset: None, cause };
        guarded("close", None, || storage.settle().map_err(failure))
    }
}

impl File {
    /// Begins a collective call if hosts cache independently: makes bytes visible that this rank has written in
    /// independent calls; a call that reads then opens the file again after all ranks have done so. The inner result is
    /// this rank's outcome. Collective: a call that reads costs one more agreement, which also finds ranks in different
    /// calls.
    ///
    /// # Errors
    /// Ranks are in different calls; errors of the message transport. The inner errors are the errors of
    /// [`Setup::pass_on`].
    pub(in crate::engine) async fn meet_other_hosts(&mut self, direction: Direction) -> Result<Result<()>> {
        if self.setup.mode == Mode::Read {
            return Ok(Ok(()));
        }
        let ahead = std::mem::take(&mut self.handle.is_ahead);
        let passed = if ahead { self.pass_on() } else { Ok(()) };
        // A write that fills holes also reads.
        if direction == Direction::Read || self.setup.hints.ds_write == Switch::Enable {
            self.agree_without_data(direction.into(), Ok(()), Amount::NONE).await?;
            self.open_anew();
        }
        self.handle.is_behind = true;
        Ok(passed)
    }

    /// Lets other hosts see the bytes that this rank has written in a collective call. Puts an error into `outcome`.
    /// Local.
    #[inline]
    pub(in crate::engine) fn pass_outcome_on(&self, direction: Direction, outcome: &mut Outcome) {
        let writes = self.setup.hosts_cache_apart && direction == Direction::Write;
        if writes && outcome.bytes > 0 && outcome.error.is_none() {
            outcome.error = self.pass_on().err();
        }
    }

    /// Records that this rank has written in an independent call.
    pub(in crate::engine) fn note_own_bytes(&mut self) {
        self.handle.is_ahead = true;
    }

    /// Records that all ranks have made a collective call, so that other hosts may have written bytes.
    pub(in crate::engine) fn note_others_bytes(&mut self) {
        self.handle.is_behind = true;
    }

    /// Opens the file again before this rank reads, in an independent call, what other hosts may have written. Local.
    ///
    /// # Errors
    /// The errors of [`Setup::pass_on`].
    pub(in crate::engine) fn catch_up(&mut self) -> Result<()> {
        if !self.setup.hosts_cache_apart || self.setup.mode == Mode::Read || !self.handle.is_behind {
            return Ok(());
        }
        let passed = self.pass_on();
        self.open_anew();
        (self.handle.is_ahead, self.handle.is_behind) = (false, false);
        passed
    }

    /// Closes this rank's handle; the next access opens the file again. Local.
    fn open_anew(&mut self) {
        self.handle.was_closed |= self.open_storage().is_some();
        self.close_storage();
    }

    /// Returns the handle to sync this rank's bytes; `None` if this rank has never written. Local.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(in crate::engine) fn storage_to_sync(&mut self) -> Result<Option<Arc<dyn Storage>>> {
        if self.handle.was_closed && self.setup.mode != Mode::Read {
            return self.storage().map(Some);
        }
        Ok(self.open_storage().cloned())
    }

    fn pass_on(&self) -> Result<()> {
        let Some(storage) = self.open_storage() else { return Ok(()) };
        self.setup.pass_on(&**storage).map_err(|failure| failure.into_error(self.endpoint.rank(), &self.setup.path))
    }
}
