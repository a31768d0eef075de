//! Staging of device memory: bytes that the processor may not access are copied to or from host memory. The host memory
//! has the size of the rank's bytes, and holds them one after the other in the order of the call.
//!
//! The runtime of the device copies each piece of a layout; adjacent pieces are copied together. Bytes between pieces
//! are not accessed on a device either. On a rank that cannot copy, the call has an error, on which all ranks agree.

use std::path::Path;

use crate::access::walk::pieces;
use crate::access::{Access, BufferLayout, Extent, Extents, Piece, Sink, Source};
use crate::device::Survey;
use crate::engine::trace::counts::Outcome;
use crate::error::{Error, FileOperation, IoCause, IoClass, Result};
use crate::topology::Rank;

/// Copies the `len` bytes of a write to `bytes`, if any of them are in device memory; otherwise leaves `bytes` empty. Errors
/// name `rank` and `path`. Local.
///
/// # Errors
/// There is no host memory, or the runtime of the device fails. The error is on this rank only.
#[cold]
pub fn stage_write(
    (rank, path): (Rank, &Path),
    layout: &BufferLayout,
    len: u64,
    source: Source<'_>,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    if !has_device_memory(layout, len, |at, len| source.address(at, len)) {
        return Ok(());
    }
    *bytes = room(rank, len)?;
    let mut survey = Survey::default();
    in_one(in_memory(layout, len), |StagedPiece { memory, at, len }| {
        let (from, to) = (source.address(memory, len), &mut bytes[at..][..len as usize]);
        match survey.runtime_at(from) {
            None => to.copy_from_slice(source.piece(memory, len)),
            Some(runtime) => {
                // SAFETY: the caller of `Source::from_raw_parts` has promised that a piece of the layout may be read.
                let copied = unsafe { runtime.to_host(from, to) };
                copied.map_err(|cause| {
                    not_copied(rank, path, FileOperation::CopyFromDevice(Box::new(runtime.name().to_string())), cause)
                })?;
            }
        }
        Ok(())
    })
}

/// Makes `bytes` the host memory for a read of `len` bytes by `rank`, if any of them go to device memory; otherwise leaves it
/// empty. Local.
///
/// # Errors
/// The same errors as [`stage_write`].
#[cold]
pub fn stage_read(rank: Rank, layout: &BufferLayout, len: u64, sink: &Sink<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    if has_device_memory(layout, len, |at, len| sink.address(at, len)) {
        *bytes = room(rank, len)?;
    }
    Ok(())
}

/// Copies the bytes that were read from `staged`, host memory, to the device memory of `to`. Memory for bytes past the end of
/// the file is unchanged. Errors name `rank` and `path`, and go into `outcome`. Local.
#[cold]
pub fn copy_to_device(
    (rank, path): (Rank, &Path),
    staged: &mut Sink<'_>,
    to: &mut Access<'_, Sink<'_>>,
    outcome: &mut Outcome,
) {
    let Access { file, layout, memory } = to;
    if outcome.error.is_none() {
        let bytes = &*staged.piece(0, file.bytes());
        outcome.error = match outcome.bytes < file.bytes() {
            false => put((rank, path), in_memory(layout, file.bytes()), bytes, memory),
            true => put((rank, path), before(end_of(file, outcome.bytes), file, layout), bytes, memory),
        }
        .err();
    }
}

fn put(
    (rank, path): (Rank, &Path),
    parts: impl Iterator<Item = StagedPiece>,
    bytes: &[u8],
    sink: &mut Sink<'_>,
) -> Result<()> {
    let mut survey = Survey::default();
    in_one(parts, |StagedPiece { memory, at, len }| {
        let (from, to) = (&bytes[at..][..len as usize], sink.address(memory, len));
        match survey.runtime_at(to) {
            None => sink.piece(memory, len).copy_from_slice(from),
            Some(runtime) => {
                // SAFETY: the caller of `Sink::from_raw_parts` has promised that a piece of the layout may be written.
                let copied = unsafe { runtime.to_device(from, to) };
                copied.map_err(|cause| {
                    not_copied(rank, path, FileOperation::CopyToDevice(Box::new(runtime.name().to_string())), cause)
                })?;
            }
        }
        Ok(())
    })
}

fn room(rank: Rank, len: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let none = |_| Error::NoMemory { rank, bytes: len, what: "device memory, copied".to_string() };
    bytes.try_reserve_exact(len as usize).map_err(none)?;
    bytes.resize(len as usize, 0);
    Ok(bytes)
}

fn not_copied(rank: Rank, path: &Path, operation: FileOperation, cause: String) -> Error {
    Error::Io {
        rank,
        operation,
        path: path.display().to_string(),
        offset: None,
        class: IoClass::Other,
        cause: IoCause::from_text(cause),
    }
}

/// Returns true if a piece of the layout is in device memory. One query per piece, fewer if pieces are small and close
/// together.
fn has_device_memory(layout: &BufferLayout, len: u64, place: impl Fn(u64, u64) -> usize) -> bool {
    let mut survey = Survey::default();
    in_memory(layout, len).any(|StagedPiece { memory, len, .. }| survey.runtime_at(place(memory, len)).is_some())
}

/// Bytes that are contiguous both in memory and in the order of the call.
struct StagedPiece {
    /// Offset in the caller's memory.
    memory: u64,
    /// Offset among this rank's bytes of the call.
    at: usize,
    len: u64,
}

/// Returns the pieces of a layout of `len` bytes.
fn in_memory(layout: &BufferLayout, len: u64) -> impl Iterator<Item = StagedPiece> {
    let (whole, pieces) = match layout {
        BufferLayout::Contiguous => ((len > 0).then_some(Extent { offset: 0, len }), None),
        BufferLayout::Extents(extents) => (None, Some(extents.iter())),
    };
    let mut at = 0;
    whole.into_iter().chain(pieces.into_iter().flatten()).map(move |Extent { offset, len }| {
        let part = StagedPiece { memory: offset, at, len };
        at += len as usize;
        part
    })
}

/// Returns the pieces of an access before the file's `end`.
fn before<'a>(end: u64, file: &'a Extents, layout: &'a BufferLayout) -> impl Iterator<Item = StagedPiece> + 'a {
    let mut at = 0;
    let clipped = move |piece: Piece| {
        let part = StagedPiece { memory: piece.memory, at, len: piece.len.min(end.saturating_sub(piece.offset)) };
        at += piece.len as usize;
        part
    };
    pieces(file, layout).map(clipped).filter(|part| part.len > 0)
}

/// Calls `each` for the pieces; joins adjacent pieces first.
fn in_one(parts: impl Iterator<Item = StagedPiece>, mut each: impl FnMut(StagedPiece) -> Result<()>) -> Result<()> {
    let mut open: Option<StagedPiece> = None;
    for part in parts {
        match &mut open {
            Some(last) if (last.memory + last.len, last.at + last.len as usize) == (part.memory, part.at) => {
                last.len += part.len;
            }
            _ => open.replace(part).map_or(Ok(()), &mut each)?,
        }
    }
    open.map_or(Ok(()), each)
}

/// Returns the end of a file of which `got` bytes of the extents `file` could be read.
fn end_of(file: &Extents, got: u64) -> u64 {
    if got >= file.bytes() {
        return u64::MAX;
    }
    let before = |end: u64| file.iter().map(|extent| extent.len.min(end.saturating_sub(extent.offset))).sum::<u64>();
    let (mut low, mut high) = file.span().unwrap_or_default();
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) < got { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_file_from_the_bytes_read() {
        let file =
            Extents::from_extents([(100, 10), (0, 5), (50, 10)].map(|(offset, len)| Extent { offset, len })).unwrap();
        for (got, end) in [(0, 0), (3, 3), (5, 5), (6, 51), (15, 60), (24, 109)] {
            assert_eq!(end_of(&file, got), end, "{got} bytes");
        }
        assert_eq!(end_of(&file, 25), u64::MAX);
        assert_eq!(end_of(&Extents::empty(), 0), u64::MAX);
    }
}
