//! Copies the bytes of ranks into the windows one rank after the other, ascending, if several ranks have the same
//! bytes: the bytes of the highest rank stay.
//!
//! The range is processed in parts as long as the ring. In each part every rank has its turn. The last rank writes the
//! windows, and chooses the next part for which a rank has data. A last turn of all ranks shows that no data is left.

use std::sync::atomic::Ordering;

use super::arena::TURN;
use super::ring;
use super::window_writer::{DONE, DataKnown, WindowWriter, place_in_window};
use crate::access::{Source, Walk};
use crate::error::Result;
use crate::fabric::Endpoint;

/// Copies this rank's access into the windows when its turn comes. `first` is the value of the signal of turns before
/// the call. Bytes with data are marked by bits. Collective. O(pieces) for each rank, one after the other; one wait per
/// rank and part with data.
///
/// # Errors
/// Errors of the message transport.
pub async fn place(
    endpoint: &mut Endpoint,
    writer: &WindowWriter,
    mut walk: Walk<'_>,
    source: Source<'_>,
    first: u32,
) -> Result<()> {
    debug_assert_eq!(writer.known, DataKnown::ByBits);
    let (arena, windows) = (&*writer.arena, writer.windows);
    let (place, ranks) = (arena.team().place() as u32, arena.team().ranks().len() as u32);
    let mut mine = first.wrapping_add(place);
    loop {
        loop {
            let turn = arena.signal(TURN).get();
            if turn == mine {
                break;
            }
            endpoint.wait_for(arena.team(), TURN, turn).await?;
        }
        let from = arena.parts().part.load(Ordering::SeqCst);
        if from == DONE {
            ring::pass(arena, DONE);
            arena.signal(TURN).advance();
            return Ok(());
        }
        place_part(writer, &mut walk, source, from + windows.ring);
        let next = walk.position().map_or(DONE, |at| windows.number_at(at));
        arena.parts().upcoming.fetch_min(next, Ordering::SeqCst);
        ring::pass(arena, from + windows.ring);
        if place + 1 == ranks {
            // No rank has data between the previous part and this one.
            arena.call().taken.store(from, Ordering::SeqCst);
            arena.call().unwritten.store(from, Ordering::SeqCst);
            writer.try_write();
            arena.parts().part.store(arena.parts().upcoming.swap(DONE, Ordering::SeqCst), Ordering::SeqCst);
        }
        arena.signal(TURN).advance();
        mine = mine.wrapping_add(ranks);
    }
}

/// Copies this rank's pieces of the windows before `until`.
fn place_part(writer: &WindowWriter, walk: &mut Walk<'_>, source: Source<'_>, until: u64) {
    while let Some(number) = walk.position().map(|at| writer.windows.number_at(at)).filter(|&number| number < until) {
        // Bytes that are there already belong to lower ranks.
        place_in_window(writer, number, walk, source);
    }
}
