//! The handle of a file that a single rank has open, for collective calls of one piece of the file, and for writes of more
//! pieces that other ranks of the program might write between.
//!
//! Such a call needs no other rank, no plan and no lock: it is one system call, as in MPI. So a program in which each rank
//! opens, writes and closes a file of its own does not pay for the engine, which would ask the file system more at its open.
//! The engine opens the file in the first call that it makes faster, or whose hints ask for more.

use std::path::Path;
use std::time::Instant;

use tributary::access::Access;
use tributary::drivers::{Mode, OpenStorage, Storage, SystemFiles};
use tributary::engine::{Path as BytesPath, Reason, Seconds, capture, may_have_device_memory};
use tributary::hints::{DriverName, Hints, Switch};
use tributary::{CallReport, Direction, Error};

use crate::file::own_handle::{self, FileIdentity};

/// The handle of a single rank. It is opened in the first call that uses it.
pub struct SingleRankHandle {
    /// Identity of the file that MPI has opened; None if the file was not found.
    identity: Option<FileIdentity>,
    mode: Mode,
    storage: Option<Box<dyn Storage>>,
    /// True if the handle cannot be opened, or if the file system needs the engine.
    is_refused: bool,
    has_written: bool,
    /// True if the file is on a file system of one machine.
    is_of_one_machine: bool,
    /// True if a call has used this handle.
    is_used: bool,
}

impl SingleRankHandle {
    /// Creates the handle of a file that MPI has just opened. Local; opens nothing.
    pub fn new(identity: Option<FileIdentity>, mode: Mode) -> Self {
        Self {
            identity,
            mode,
            storage: None,
            is_refused: false,
            has_written: false,
            is_of_one_machine: false,
            is_used: false,
        }
    }

    /// Returns true if a call has used this handle.
    pub fn is_used(&self) -> bool {
        self.is_used
    }

    /// Moves the bytes of a collective call on the file at `path`, and returns their number and the report; a read counts
    /// only bytes before the end of the file. Calls `before` before the file is accessed. Returns None if the engine must
    /// run the call; then nothing has happened. `is_only_rank` is true if the program has no other rank. Local.
    ///
    /// # Errors
    /// An error of the system. Some of the bytes may then be moved.
    pub fn transfer(
        &mut self,
        access: Access<'_>,
        (path, hints): (&Path, &Hints),
        is_only_rank: bool,
        before: impl FnOnce(),
    ) -> Option<Result<(u64, CallReport), Error>> {
        let (direction, asked) = (access.direction(), access.file.bytes());
        // Another rank of the program may write the bytes between the pieces by data sieving.
        let is_locked = access.file.count() > 1 && direction == Direction::Write && !is_only_rank;
        // The only rank needs no locks, so the engine may write the pieces together.
        let is_for_engine = access.file.count() > 1 && is_only_rank;
        if is_for_engine || needs_engine(hints) || may_have_device_memory() || capture::is_wanted() {
            return None;
        }
        if access.file.count() == 0 {
            self.is_used = true;
            let nothing = CallReport { path: BytesPath::Nothing, reason: Reason::NoData, ..CallReport::default() };
            return Some(Ok((0, nothing)));
        }
        let begin = Instant::now();
        let storage = self.storage(path)?;
        before();
        let moved = own_handle::transfer(storage, access, is_locked, (0, path));
        self.has_written |= direction == Direction::Write;
        self.is_used = true;
        let seconds = begin.elapsed().as_secs_f64();
        Some(moved.map(|bytes| (bytes, report(direction, bytes, asked, seconds))))
    }

    /// Closes the handle.
    ///
    /// # Errors
    /// An error of the file system that appears only now, such as an exceeded quota.
    pub fn close(self, path: &Path) -> Result<(), Error> {
        // File systems of one machine report no errors at the close. The check would cost three calls of the system.
        let settles = self.has_written && !self.is_of_one_machine;
        self.storage.filter(|_| settles).map_or(Ok(()), |storage| own_handle::settle(&*storage, (0, path)))
    }

    /// Returns the open handle. Returns None if the file cannot be opened, is not the file that MPI has opened, or is on a
    /// file system of which the engine knows more.
    fn storage(&mut self, path: &Path) -> Option<&dyn Storage> {
        if self.storage.is_none() && !self.is_refused {
            self.storage = self.opened(path);
            self.is_refused = self.storage.is_none();
        }
        self.storage.as_deref()
    }

    fn opened(&mut self, path: &Path) -> Option<Box<dyn Storage>> {
        let identity = self.identity?;
        let found = SystemFiles.file_system(path)?;
        self.is_of_one_machine = found.is_of_one_machine();
        if found.is_daos || DriverName::Auto.resolved_on(Some(found)) != DriverName::Posix {
            return None;
        }
        own_handle::open_same(path, self.mode, Some(identity), false)
    }
}

/// Returns true if `hints` ask for something that only the engine does, or that it refuses. The hints about aggregators,
/// sieving and shared memory mean nothing for one piece of one rank.
fn needs_engine(hints: &Hints) -> bool {
    let &Hints { cb_nodes, cb_buffer_size, cb_read, cb_write, ds_read, ds_write, .. } = hints;
    let &Hints { tiny_call, ranks_per_node, shared_memory, stall_timeout, on_failure, .. } = hints;
    let usual = Hints {
        cb_nodes,
        cb_buffer_size,
        cb_read,
        cb_write,
        ds_read,
        ds_write,
        tiny_call,
        ranks_per_node,
        shared_memory,
        stall_timeout,
        on_failure,
        ..Hints::default()
    };
    [cb_read, cb_write].contains(&Switch::Enable) || *hints != usual
}

/// Returns the report of a call of one rank. The rank has `asked` for this number of bytes and moved `bytes` of them.
fn report(direction: Direction, bytes: u64, asked: u64, seconds: f64) -> CallReport {
    let (written, read) = if direction == Direction::Write { (bytes, 0) } else { (0, bytes) };
    CallReport {
        path: BytesPath::Direct,
        reason: Reason::SingleRank,
        aggregators: 1,
        requests: 1,
        bytes: asked,
        bytes_written: written,
        bytes_read: read,
        seconds: Seconds { io: seconds, wait: seconds, total: seconds, ..Seconds::default() },
        ..CallReport::default()
    }
}

#[cfg(test)]
mod tests {
    use super::needs_engine;
    use tributary::Hints;

    #[test]
    fn hints_that_change_a_call_of_one_piece_need_the_engine() {
        let needs = |text| needs_engine(&Hints::parse(text).unwrap());
        for text in ["", "cb_nodes=4;cb_buffer_size=1MiB", "romio_cb_write=disable;trib_stall_timeout=3"] {
            assert!(!needs(text), "{text}");
        }
        for text in ["romio_cb_read=enable", "trib_write_behind=auto", "direct_write=enable", "trib_driver=nfs"] {
            assert!(needs(text), "{text}");
        }
    }
}
