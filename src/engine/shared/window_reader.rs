//! Reads windows from the file into shared memory, each by one rank, and copies every rank's bytes out of them.
//!
//! The memory of a window in the ring has a state: the number of the window, and whether its bytes are there. A rank that
//! needs a window reads it, if no other rank does. If another rank reads it, this rank reads a later window ahead, within the
//! ring. The memory is free for the next window when all ranks have passed the window that is in it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::arena::{Arena, PROGRESS};
use super::ring;
use super::window_writer::DONE;
use crate::access::memory::copy;
use crate::access::{Sink, Walk};
use crate::engine::choose::windows::CallWindows;
use crate::engine::io::worker::Pace;
use crate::engine::io::{Storage, guarded, read_all};
use crate::error::{Error, FileOperation, Result};
use crate::fabric::Endpoint;
use crate::topology::Rank;
use crate::world;

/// Reads windows and takes this rank's bytes out of them.
pub struct WindowReader<'a> {
    /// Shared memory of the windows.
    pub arena: &'a Arena,
    /// Number, size and range of the call's windows.
    pub windows: CallWindows,
    /// True if this rank reads windows ahead.
    pub reads_ahead: bool,
    /// This rank, for error messages.
    pub rank: Rank,
    /// Path of the file, for error messages.
    pub path: &'a std::path::Path,
    /// This rank's handle of the file, or the error of opening it.
    pub storage: &'a Result<Arc<dyn Storage>>,
    /// First error of this rank; the rank continues with the call.
    pub error: RefCell<Option<Error>>,
    /// Time that this rank spent in the file system.
    pub busy: std::cell::Cell<Duration>,
}

/// Returns the state of the memory of window `number` while it is being read; 1 more when its bytes are there. (0 is
/// the state of unused memory.)
fn reading(number: u64) -> u64 {
    (number + 1) * 2
}

impl WindowReader<'_> {
    /// Copies the bytes of an access into the caller's memory, and returns their number. Memory for bytes past the end
    /// of the windows is unchanged.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub async fn take(&self, endpoint: &mut Endpoint, mut walk: Walk<'_>, mut sink: Sink<'_>) -> Result<u64> {
        let Self { arena, windows, .. } = *self;
        let mut taken = 0;
        while let Some(at) = walk.position().filter(|&at| at < windows.end) {
            let number = windows.number_at(at);
            self.pass(number);
            self.wait_for(endpoint, number).await?;
            arena.touch(&windows, number);
            let extent = windows.extent(number);
            let from = windows.base + number * windows.window;
            let place = arena.at(windows.first_place(number)).cast_const();
            let (before, mut pieces) = (taken, 0);
            walk.visit_before(extent.end(), |piece| {
                let bytes = sink.piece(piece.memory, piece.len);
                // SAFETY: the window's bytes are there, and stay until this rank has passed it; the piece lies in the
                // window.
                unsafe { copy(place.add((piece.offset - from) as usize), bytes.as_mut_ptr(), bytes.len()) };
                taken += piece.len;
                pieces += 1;
            });
            world::work(pieces, taken - before);
        }
        ring::pass(arena, DONE);
        arena.signal(PROGRESS).advance();
        Ok(taken)
    }

    /// Publishes that this rank has passed all windows before `number`.
    fn pass(&self, number: u64) {
        let position = &self.arena.own().position;
        if position.load(Ordering::Relaxed) < number {
            ring::pass(self.arena, number);
            self.arena.signal(PROGRESS).advance();
        }
    }

    async fn wait_for(&self, endpoint: &mut Endpoint, number: u64) -> Result<()> {
        let Self { arena, windows, .. } = *self;
        loop {
            let seen = arena.signal(PROGRESS).get();
            if arena.window(&windows, number).placed.load(Ordering::Acquire) == reading(number) + 1 {
                return Ok(());
            }
            let free = ring::passed(arena).saturating_add(windows.ring).min(windows.count());
            let free = if self.reads_ahead { free } else { free.min(number + 1) };
            let Some(mine) = (number..free).find(|&number| self.claim(number)) else {
                endpoint.wait_for(arena.team(), PROGRESS, seen).await?;
                continue;
            };
            self.read(mine);
            arena.window(&windows, mine).placed.store(reading(mine) + 1, Ordering::Release);
            arena.signal(PROGRESS).advance();
        }
    }

    /// Claims a window for reading; returns false if another rank has.
    fn claim(&self, number: u64) -> bool {
        let state = &self.arena.window(&self.windows, number).placed;
        let before = state.load(Ordering::Acquire);
        let (mine, order) = (reading(number), Ordering::AcqRel);
        before < mine && state.compare_exchange(before, mine, order, Ordering::Acquire).is_ok()
    }

    fn read(&self, number: u64) {
        let pace = Pace::begin();
        self.arena.touch(&self.windows, number);
        let extent = self.windows.extent(number);
        // SAFETY: this rank has claimed the window, and all have passed the one before it in its place.
        let bytes = unsafe { self.arena.bytes_mut(&self.windows, extent) };
        let outcome = match self.storage {
            Ok(storage) => guarded(FileOperation::Read, extent.offset, || read_all(&**storage, bytes, extent.offset))
                .map_err(|failure| failure.into_error(self.rank, self.path)),
            Err(error) => Err(error.clone()),
        };
        if let Err(error) = outcome {
            self.error.borrow_mut().get_or_insert(error);
        }
        let (took, is_slow) = pace.end(extent.len);
        // The time of a read says nothing of writes.
        self.arena.set_slow(is_slow.then_some(0));
        self.busy.set(self.busy.get() + took);
    }
}
