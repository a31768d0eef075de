//! Windows from the file, each read by one rank, and every rank's bytes out of them.
//!
//! The place of a window has a state: which window it is for, and whether its bytes are there. Who finds a window that
//! nobody reads reads it; who finds it being read by another reads a later one ahead, as far as the ring goes. A place is
//! free for the next window when all ranks have passed the one before.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::arena::{Arena, PROGRESS, Windows};
use super::placing::DONE;
use crate::access::{Sink, Walk};
use crate::engine::storage::copy::copy;
use crate::engine::storage::{Storage, guarded, read_all};
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::topology::Rank;

/// What taking bytes out of windows needs.
pub struct Taking<'a> {
    /// The windows.
    pub arena: &'a Arena,
    /// Which.
    pub windows: Windows,
    /// Whether windows are read that this rank has not come to.
    pub reads_ahead: bool,
    /// How many ranks take.
    pub ranks: usize,
    /// This rank, and the file's name, for errors.
    pub rank: Rank,
    /// Likewise.
    pub path: &'a std::path::Path,
    /// The file, or why this rank cannot open it.
    pub storage: &'a Result<Arc<dyn Storage>>,
    /// The first error of this rank; the call goes on to its end all the same.
    pub error: RefCell<Option<Error>>,
    /// Time in the file system.
    pub busy: std::cell::Cell<Duration>,
}

/// A window's state: its number and whether it is there, or 0.
fn reading(number: u64) -> u64 {
    (number + 1) * 2
}

impl Taking<'_> {
    /// Takes all of an access into the caller's memory; returns its bytes. What lies behind the windows' end is left alone.
    ///
    /// # Errors
    /// The fabric's.
    pub async fn take(&self, endpoint: &mut Endpoint, mut walk: Walk<'_>, mut sink: Sink<'_>) -> Result<u64> {
        let Self { arena, windows, rank, .. } = *self;
        let mut taken = 0;
        while let Some(at) = walk.position().filter(|&at| at < windows.end) {
            let number = windows.of(at);
            self.pass(number);
            self.wait_for(endpoint, number).await?;
            arena.touch(&windows, number);
            let extent = windows.extent(number);
            let from = windows.base + number * windows.window;
            let place = arena.place(&windows, from).cast_const();
            walk.until(extent.end(), |piece| {
                let bytes = sink.piece(piece.memory, piece.len);
                // SAFETY: the window's bytes are there and stay until this rank has passed it; the piece lies in it.
                unsafe { copy(place.add((piece.offset - from) as usize), bytes.as_mut_ptr(), bytes.len()) };
                taken += piece.len;
            });
        }
        arena.position(rank).store(DONE, Ordering::SeqCst);
        arena.signal(PROGRESS).advance();
        Ok(taken)
    }

    /// This rank is done with what lies before a window.
    fn pass(&self, number: u64) {
        let position = self.arena.position(self.rank);
        if position.load(Ordering::Relaxed) < number {
            position.store(number, Ordering::SeqCst);
            self.arena.signal(PROGRESS).advance();
        }
    }

    async fn wait_for(&self, endpoint: &mut Endpoint, number: u64) -> Result<()> {
        let Self { arena, windows, .. } = *self;
        loop {
            let seen = arena.signal(PROGRESS).get();
            if arena.held(&windows, number).load(Ordering::Acquire) == reading(number) + 1 {
                return Ok(());
            }
            let free = arena.passed(self.ranks).saturating_add(windows.ring).min(windows.count());
            let free = if self.reads_ahead { free } else { free.min(number + 1) };
            let Some(mine) = (number..free).find(|&number| self.claim(number)) else {
                endpoint.wait_for(PROGRESS, seen).await?;
                continue;
            };
            self.read(mine);
            arena.held(&windows, mine).store(reading(mine) + 1, Ordering::Release);
            arena.signal(PROGRESS).advance();
        }
    }

    /// Takes it on to read a window, if nobody has.
    fn claim(&self, number: u64) -> bool {
        let state = self.arena.held(&self.windows, number);
        let before = state.load(Ordering::Acquire);
        let (mine, order) = (reading(number), Ordering::AcqRel);
        before < mine && state.compare_exchange(before, mine, order, Ordering::Acquire).is_ok()
    }

    fn read(&self, number: u64) {
        let begin = Instant::now();
        self.arena.touch(&self.windows, number);
        let extent = self.windows.extent(number);
        // SAFETY: this rank has claimed the window, and all have passed the one before it in its place.
        let bytes = unsafe { self.arena.bytes_mut(&self.windows, extent) };
        let outcome = match self.storage {
            Ok(storage) => guarded("read", extent.offset, || read_all(&**storage, bytes, extent.offset))
                .map_err(|failure| failure.of(self.rank, self.path)),
            Err(error) => Err(error.clone()),
        };
        if let Err(error) = outcome {
            self.error.borrow_mut().get_or_insert(error);
        }
        self.busy.set(self.busy.get() + begin.elapsed());
    }
}
