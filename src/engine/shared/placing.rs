//! Copies a rank's bytes into the windows in shared memory, while complete windows are written.

use std::sync::atomic::Ordering;

use super::arena::{Arena, PROGRESS};
use super::window_writer::{DataKnown, WindowWriter};
use crate::access::{Extent, Source, Walk};
use crate::engine::policy::windows::CallWindows;
use crate::access::memory::{copy, copy_atomically};
use crate::engine::storage::present::mark_shared;
use crate::error::Result;
use crate::fabric::Endpoint;

/// Number of a window behind all windows: the position of a rank that has finished.
pub const DONE: u64 = u64::MAX;

/// Copies an access into the windows. For each window: waits until its memory is free, copies the bytes, and publishes
/// this rank's new position. Collective. O(pieces + windows with data).
///
/// # Errors
/// Errors of the message transport.
pub async fn place(
    endpoint: &mut Endpoint,
    writer: &WindowWriter<'_>,
    mut walk: Walk<'_>,
    source: Source<'_>,
) -> Result<()> {
    let WindowWriter { arena, windows, .. } = *writer;
    while let Some(at) = walk.position() {
        let number = windows.number_at(at);
        // This rank has passed all windows before its next window with data.
        arena.own().position.store(number, Ordering::SeqCst);
        if writer.is_slow() {
            // First fill what there is room for: other ranks can write it meanwhile.
            arena.signal(PROGRESS).advance();
        } else {
            writer.try_write();
        }
        wait_for_place(endpoint, writer, number).await?;
        if place_in_window(writer, number, &mut walk, source) {
            arena.call().is_repeated.store(1, Ordering::SeqCst);
        }
    }
    arena.own().position.store(DONE, Ordering::SeqCst);
    writer.try_write();
    if writer.is_slow() {
        arena.signal(PROGRESS).advance();
    }
    while writer.is_slow() {
        // Several ranks write what is left.
        let seen = arena.signal(PROGRESS).get();
        writer.try_write();
        if arena.call().taken.load(Ordering::SeqCst) >= windows.count() {
            break;
        }
        endpoint.wait_for(arena.team(), PROGRESS, seen).await?;
    }
    Ok(())
}

/// Copies the pieces of one window, and records that their bytes are present. Returns true if the map shows that other
/// pieces have some of these bytes.
#[inline]
pub fn place_in_window(writer: &WindowWriter<'_>, number: u64, walk: &mut Walk<'_>, source: Source<'_>) -> bool {
    // If ranks overlap, they may copy to the same bytes at the same time. The bytes then have no defined value, and the call
    // is repeated with one rank after the other. Between threads the copies must be atomic; processes share no variable, only
    // memory that each of them has mapped.
    match writer.arena.team().has_threads() {
        false => place_pieces(writer, number, walk, source, |piece, to| {
            // SAFETY: a place of the window that this rank may access; the other ranks are processes of their own.
            unsafe { copy(piece.as_ptr(), to, piece.len()) }
        }),
        true => place_pieces(writer, number, walk, source, |piece, to| {
            // SAFETY: a place of the window that this rank may access; other ranks that copy there meanwhile do it here, too.
            unsafe { copy_atomically(piece, to) }
        }),
    }
}

/// Does what [`place_in_window`] does. `copy` copies the bytes of a piece to a place of the window that has room for them.
#[inline]
fn place_pieces(
    writer: &WindowWriter<'_>,
    number: u64,
    walk: &mut Walk<'_>,
    source: Source<'_>,
    copy: impl Fn(&[u8], *mut u8),
) -> bool {
    let WindowWriter { arena, ref windows, .. } = *writer;
    arena.touch(windows, number);
    let (placed, sum, twice) = match writer.known {
        DataKnown::BySum(tiling, _) => {
            let mut sum = 0u64;
            let placed = copy_pieces(arena, windows, number, (walk, source), copy, |piece| {
                sum = sum.wrapping_add(tiling.piece(piece.offset, piece.end()));
            });
            (placed, sum, false)
        }
        DataKnown::ByBits => {
            let (present, mut twice) = (arena.present(windows), false);
            let placed = copy_pieces(arena, windows, number, (walk, source), copy, |piece| {
                let place = windows.place(piece.offset);
                twice |= mark_shared(present, place..place + piece.len);
            });
            (placed, 0, twice)
        }
    };
    arena.window(windows, number).sum.fetch_add(sum, Ordering::AcqRel);
    arena.window(windows, number).placed.fetch_add(placed, Ordering::AcqRel);
    twice
}

/// Copies the pieces of one window, and calls `note` with each piece. Returns the number of bytes.
#[inline]
fn copy_pieces(
    arena: &Arena,
    windows: &CallWindows,
    number: u64,
    (walk, source): (&mut Walk<'_>, Source<'_>),
    copy: impl Fn(&[u8], *mut u8),
    mut note: impl FnMut(Extent),
) -> u64 {
    let from = windows.base + number * windows.window;
    let memory = arena.at(windows.first_place(number));
    let mut placed = 0;
    walk.visit_before(windows.extent(number).end(), |piece| {
        let bytes = source.piece(piece.memory, piece.len);
        // The piece lies in the window: it begins at `from` or later, because pieces ascend, and ends before the window's end.
        copy(bytes, memory.wrapping_add((piece.offset - from) as usize));
        note(Extent { offset: piece.offset, len: piece.len });
        placed += piece.len;
    });
    placed
}

/// Waits until the earlier window in the memory of window `number` is written.
async fn wait_for_place(endpoint: &mut Endpoint, writer: &WindowWriter<'_>, number: u64) -> Result<()> {
    loop {
        let seen = writer.arena.signal(PROGRESS).get();
        if number < writer.arena.call().unwritten.load(Ordering::SeqCst) + writer.windows.ring {
            return Ok(());
        }
        writer.try_write();
        if number >= writer.arena.call().unwritten.load(Ordering::SeqCst) + writer.windows.ring {
            endpoint.wait_for(writer.arena.team(), PROGRESS, seen).await?;
        }
    }
}
