//! Ranks one after the other, in ascending order, where several have the same bytes: the highest rank's stay.
//!
//! The range is done in parts of a whole ring. In each part every rank has its turn; the last one writes what is there.

use std::sync::atomic::Ordering;

use super::arena::TURN;
use super::copy::copy;
use super::drain::{Drain, Known};
use super::placing::DONE;
use crate::access::{Extent, Walk};
use crate::error::Result;
use crate::fabric::Endpoint;

/// Places an access in turn. `first` is what the signal of turns counted before the call. Bytes are known by bits. O(pieces)
/// for each rank, one after the other; a wait for each rank and part.
///
/// # Errors
/// The fabric's.
pub async fn place(
    endpoint: &mut Endpoint,
    drain: &Drain<'_>,
    mut walk: Walk<'_>,
    buffer: &[u8],
    first: u32,
) -> Result<()> {
    debug_assert_eq!(drain.known, Known::ByBits);
    let (windows, rank, ranks) = (drain.windows, drain.rank as u32, drain.ranks as u32);
    let parts = windows.count().div_ceil(windows.ring);
    for part in 0..parts {
        let mine = first.wrapping_add((part as u32).wrapping_mul(ranks)).wrapping_add(rank);
        loop {
            let turn = drain.arena.signal(TURN).get();
            if turn == mine {
                break;
            }
            endpoint.wait_for(TURN, turn).await?;
        }
        let until = (part + 1) * windows.ring;
        place_part(drain, &mut walk, buffer, until);
        let position = if part + 1 == parts { DONE } else { until };
        drain.arena.position(drain.rank).store(position, Ordering::SeqCst);
        if rank + 1 == ranks {
            drain.try_write();
        }
        drain.arena.signal(TURN).advance();
    }
    Ok(())
}

fn place_part(drain: &Drain<'_>, walk: &mut Walk<'_>, buffer: &[u8], until: u64) {
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
            let bytes = &buffer[piece.memory as usize..][..piece.len as usize];
            // SAFETY: it is this rank's turn; the piece lies in the window.
            unsafe { copy(bytes.as_ptr(), place.add((piece.offset - from) as usize), bytes.len()) };
            arena.mark(&windows, Extent { offset: piece.offset, len: piece.len });
            held += piece.len;
        });
        arena.held(&windows, number).fetch_add(held, Ordering::AcqRel);
    }
}
