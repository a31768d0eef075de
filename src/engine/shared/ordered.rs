//! Ranks one after the other, in ascending order, where several have the same bytes: the highest rank's stay.
//!
//! The range is done in parts of a whole ring. In each part every rank has its turn; the last one writes what is there, and
//! goes on with the first part behind it that a rank has data for. In a last round all learn that there is none.

use std::sync::atomic::Ordering;

use super::arena::TURN;
use super::drain::{Drain, Known};
use super::placing::DONE;
use crate::access::{Extent, Source, Walk};
use crate::engine::storage::copy::copy;
use crate::error::Result;
use crate::fabric::Endpoint;

/// Places an access in turn. `first` is what the signal of turns counted before the call. Bytes are known by bits. O(pieces)
/// for each rank, one after the other; a wait for each rank and each part with data.
///
/// # Errors
/// The fabric's.
pub async fn place(
    endpoint: &mut Endpoint,
    drain: &Drain<'_>,
    mut walk: Walk<'_>,
    source: Source<'_>,
    first: u32,
) -> Result<()> {
    debug_assert_eq!(drain.known, Known::ByBits);
    let (arena, windows, rank, ranks) = (drain.arena, drain.windows, drain.rank as u32, drain.ranks as u32);
    let mut mine = first.wrapping_add(rank);
    loop {
        loop {
            let turn = arena.signal(TURN).get();
            if turn == mine {
                break;
            }
            endpoint.wait_for(TURN, turn).await?;
        }
        let from = arena.part().load(Ordering::SeqCst);
        if from == DONE {
            arena.position(drain.rank).store(DONE, Ordering::SeqCst);
            arena.signal(TURN).advance();
            return Ok(());
        }
        place_part(drain, &mut walk, source, from + windows.ring);
        let next = walk.position().map_or(DONE, |at| windows.of(at));
        arena.upcoming().fetch_min(next, Ordering::SeqCst);
        arena.position(drain.rank).store(from + windows.ring, Ordering::SeqCst);
        if rank + 1 == ranks {
            // What lies between this part and the one before has no data.
            arena.unwritten().store(from, Ordering::SeqCst);
            drain.try_write();
            arena.part().store(arena.upcoming().swap(DONE, Ordering::SeqCst), Ordering::SeqCst);
        }
        arena.signal(TURN).advance();
        mine = mine.wrapping_add(ranks);
    }
}

fn place_part(drain: &Drain<'_>, walk: &mut Walk<'_>, source: Source<'_>, until: u64) {
    let (arena, windows) = (drain.arena, drain.windows);
    while let Some(at) = walk.position() {
        let number = windows.of(at);
        if number >= until {
            return;
        }
        let from = windows.base + number * windows.window;
        let place = arena.place(&windows, from);
        let mut held = 0;
        walk.until(windows.extent(number).end(), |piece| {
            let bytes = source.piece(piece.memory, piece.len);
            // SAFETY: it is this rank's turn; the piece lies in the window.
            unsafe { copy(bytes.as_ptr(), place.add((piece.offset - from) as usize), bytes.len()) };
            arena.mark(&windows, Extent { offset: piece.offset, len: piece.len });
            held += piece.len;
        });
        arena.held(&windows, number).fetch_add(held, Ordering::AcqRel);
    }
}
