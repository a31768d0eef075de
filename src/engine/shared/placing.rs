//! A rank's bytes into the windows, while complete ones go to the file.

use std::sync::atomic::Ordering;

use super::arena::{Arena, PROGRESS, Windows};
use super::drain::{Drain, Known};
use crate::access::{Extent, Source, Walk};
use crate::engine::storage::copy::copy;
use crate::error::Result;
use crate::fabric::Endpoint;

/// A position behind all windows.
pub const DONE: u64 = u64::MAX;

/// Places all of an access: for each of its windows, waits until its place is free, copies, and tells that it has passed.
/// O(pieces + windows with data).
///
/// # Errors
/// The fabric's.
pub async fn place(endpoint: &mut Endpoint, drain: &Drain<'_>, mut walk: Walk<'_>, source: Source<'_>) -> Result<()> {
    let Drain { arena, windows, rank, .. } = *drain;
    while let Some(at) = walk.position() {
        let number = windows.of(at);
        // What this rank has nothing for is passed, and so is what lies before.
        arena.position(rank).store(number, Ordering::SeqCst);
        drain.try_write();
        wait_for_place(endpoint, drain, number).await?;
        arena.touch(&windows, number);
        let limit = windows.extent(number).end();
        let (held, sum) = match drain.known {
            Known::BySum(tiling) => {
                let mut sum = 0u64;
                let held = copy_pieces(arena, &windows, number, &mut walk, limit, source, |piece| {
                    sum = sum.wrapping_add(tiling.piece(piece.offset, piece.end()));
                });
                (held, sum)
            }
            Known::ByBits => {
                let mut twice = false;
                let held = copy_pieces(arena, &windows, number, &mut walk, limit, source, |piece| {
                    twice |= arena.mark(&windows, piece);
                });
                if twice {
                    arena.again().store(1, Ordering::SeqCst);
                }
                (held, 0)
            }
        };
        arena.sum(&windows, number).fetch_add(sum, Ordering::AcqRel);
        arena.held(&windows, number).fetch_add(held, Ordering::AcqRel);
    }
    arena.position(rank).store(DONE, Ordering::SeqCst);
    drain.try_write();
    Ok(())
}

/// Copies the pieces of one window; returns their bytes.
#[inline]
fn copy_pieces(
    arena: &Arena,
    windows: &Windows,
    number: u64,
    walk: &mut Walk<'_>,
    limit: u64,
    source: Source<'_>,
    mut note: impl FnMut(Extent),
) -> u64 {
    let from = windows.base + number * windows.window;
    let place = arena.place(windows, from);
    let mut held = 0;
    walk.until(limit, |piece| {
        let bytes = source.piece(piece.memory, piece.len);
        // SAFETY: the window is this rank's to touch, and the piece lies in it: it begins at or behind `from`, since pieces
        // ascend, and ends before `limit`. Where ranks overlap the bytes are of no meaning, and the call is done again.
        unsafe { copy(bytes.as_ptr(), place.add((piece.offset - from) as usize), bytes.len()) };
        note(Extent { offset: piece.offset, len: piece.len });
        held += piece.len;
    });
    held
}

/// Waits until the window that had the place is written.
async fn wait_for_place(endpoint: &mut Endpoint, drain: &Drain<'_>, number: u64) -> Result<()> {
    loop {
        let seen = drain.arena.signal(PROGRESS).get();
        if number < drain.arena.unwritten().load(Ordering::SeqCst) + drain.windows.ring {
            return Ok(());
        }
        drain.try_write();
        if number >= drain.arena.unwritten().load(Ordering::SeqCst) + drain.windows.ring {
            endpoint.wait_for(PROGRESS, seen).await?;
        }
    }
}
