//! Bytes that one host has written and another is to see, on a file system whose hosts cache by themselves: NFS, FUSE
//! ([`FileSystem::is_coherent`](crate::drivers::FileSystem::is_coherent)).
//!
//! There a host sees what another has written once that one has closed the file and it has opened the file since (*close-to-open
//! consistency*). MPI promises more: a rank sees its own bytes at once, also those that an aggregator on another host has
//! written for it, and of two calls the later one's bytes stay. So
//!
//! - whoever has written in a collective call passes its bytes on before the ranks agree on the call's end
//!   ([`Storage::settle`](crate::drivers::Storage::settle)); an error of the file system, such as a full quota, is then the call's;
//! - what a rank has written by itself is passed on at the beginning of the next collective call;
//! - a rank opens the file anew before it reads what other hosts may have written: in a collective call, once all ranks have passed
//!   on theirs. What opening does not suffice for is the storage's matter
//!   ([`Storage::see_other_hosts`](crate::drivers::Storage::see_other_hosts)).
//!
//! Elsewhere, where all ranks are on one host, and in a file that is only read, nothing of this happens.

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
    /// Lets other hosts see what was written through this handle. Local.
    ///
    /// # Errors
    /// The system's: bytes have no place.
    pub(in crate::engine) fn pass_on(&self, storage: &dyn Storage) -> std::result::Result<(), StorageFailure> {
        if !self.hosts_cache_apart {
            return Ok(());
        }
        let failure = |cause| StorageFailure { operation: "close", offset: None, cause };
        guarded("close", None, || storage.settle().map_err(failure))
    }
}

impl File {
    /// Where hosts cache by themselves, begins a collective call, of this direction: passes on what this rank has written by itself, and for a call
    /// that reads opens the file anew once all ranks have. The inner outcome is that of this rank. Collective: a call that reads
    /// costs an agreement, which begins as every first one does: ranks in different calls find out here.
    ///
    /// # Errors
    /// Ranks are in different calls; those of the fabric. The inner ones are those of [`Setup::pass_on`].
    pub(in crate::engine) async fn meet_other_hosts(&mut self, direction: Direction) -> Result<Result<()>> {
        if self.setup.mode == Mode::Read {
            return Ok(Ok(()));
        }
        let ahead = std::mem::take(&mut self.handle.is_ahead);
        let passed = if ahead { self.pass_on() } else { Ok(()) };
        // A write that fills holes reads them.
        if direction == Direction::Read || self.setup.hints.ds_write == Switch::Enable {
            self.agree_without_data(direction.into(), Ok(()), Amount::NONE).await?;
            self.open_anew();
        }
        self.handle.is_behind = true;
        Ok(passed)
    }

    /// Passes on what this rank has written in a collective call; an error is one of the outcome. Local.
    #[inline]
    pub(in crate::engine) fn pass_outcome_on(&self, direction: Direction, outcome: &mut Outcome) {
        let writes = self.setup.hosts_cache_apart && direction == Direction::Write;
        if writes && outcome.bytes > 0 && outcome.error.is_none() {
            outcome.error = self.pass_on().err();
        }
    }

    /// Notes that this rank has written by itself.
    pub(in crate::engine) fn note_own_bytes(&mut self) {
        self.handle.is_ahead = true;
    }

    /// Notes that all ranks have met, so that other hosts' bytes may be there.
    pub(in crate::engine) fn note_others_bytes(&mut self) {
        self.handle.is_behind = true;
    }

    /// Opens the file anew where this rank is to read by itself what others may have written. Local.
    ///
    /// # Errors
    /// Those of [`Setup::pass_on`].
    pub(in crate::engine) fn catch_up(&mut self) -> Result<()> {
        if !self.setup.hosts_cache_apart || self.setup.mode == Mode::Read || !self.handle.is_behind {
            return Ok(());
        }
        let passed = self.pass_on();
        self.open_anew();
        (self.handle.is_ahead, self.handle.is_behind) = (false, false);
        passed
    }

    /// Closes this rank's handle; what is done next opens the file anew. Local.
    fn open_anew(&mut self) {
        self.handle.was_closed |= self.open_storage().is_some();
        self.close_storage();
    }

    /// The handle through which this rank's bytes are stored: none if it has never written. Local.
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
