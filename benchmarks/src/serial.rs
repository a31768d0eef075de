//! Shared code for patterns of regular arrays: argument checks, data as a function of the file offset, and serial
//! writing.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use tributary::Extent;
use tributary::access::Extents;

use crate::error::PatternError;
use crate::pattern::Pattern;
use crate::value::{ValueKind, element_bytes, fill_bytes, fill_elements};

/// Returns an error if the pattern has no such rank or step.
pub(crate) fn check(pattern: &dyn Pattern, rank: usize, step: usize) -> Result<(), PatternError> {
    for (what, value, count) in [("rank", rank, pattern.ranks()), ("step", step, pattern.steps())] {
        if value >= count {
            return Err(PatternError::argument(what, value, format!("0 to {}", count.saturating_sub(1))));
        }
    }
    Ok(())
}

/// Returns an error if `data` does not have `bytes` bytes.
pub(crate) fn check_size(data: &[u8], bytes: u64) -> Result<(), PatternError> {
    match data.len() as u64 == bytes {
        true => Ok(()),
        false => Err(PatternError::argument("buffer", format!("{} bytes", data.len()), format!("{bytes} bytes"))),
    }
}

/// Maximum number of bytes that [`write_extents`] writes at once.
const CHUNK: u64 = 1 << 20;

/// Writes extents into the file one after the other, each with the bytes of its seed ([`fill_bytes`]), after setting
/// the file's length to 0.
pub(crate) fn write_extents(
    file: &File,
    all: impl Iterator<Item = Result<(usize, Extent), PatternError>>,
) -> Result<(), PatternError> {
    let failed = |cause: io::Error| PatternError::io(Path::new("serial file"), "write", &cause);
    file.set_len(0).map_err(failed)?;
    let mut chunk = Vec::new();
    for extent in all {
        let (seed, extent) = extent?;
        let mut at = extent.offset;
        while at < extent.end() {
            chunk.resize((extent.end() - at).min(CHUNK) as usize, 0);
            fill_bytes(seed, at, &mut chunk);
            file.write_all_at(&chunk, at).map_err(failed)?;
            at += chunk.len() as u64;
        }
    }
    Ok(())
}

/// Writes the whole file, after setting its length to 0: the bytes that `all` writes, one after the other.
pub(crate) fn write(
    file: &File,
    all: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<(), PatternError> {
    let written = || {
        let mut target = file;
        target.set_len(0)?;
        target.rewind()?;
        let mut out = BufWriter::with_capacity(1 << 20, target);
        all(&mut out)?;
        out.flush()
    };
    written().map_err(|cause| PatternError::io(Path::new("serial file"), "write", &cause))
}

/// Fills `data` with the bytes of the extents `file` in a file that consists of doubles.
pub(crate) fn fill_doubles(file: &Extents, data: &mut [u8]) -> Result<(), PatternError> {
    check_size(data, file.bytes())?;
    let mut rest = data;
    for extent in file.iter() {
        let (bytes, behind) = rest.split_at_mut(extent.len as usize);
        doubles(extent.offset, bytes);
        rest = behind;
    }
    Ok(())
}

/// Writes a file of `size` bytes that consists of doubles.
pub(crate) fn write_doubles(file: &File, size: u64) -> Result<(), PatternError> {
    write(file, |out| {
        let mut left = size;
        for element in 0..size.div_ceil(8) {
            let bytes = element_bytes(ValueKind::Double, 0, element);
            out.write_all(&bytes[..left.min(8) as usize])?;
            left = left.saturating_sub(8);
        }
        Ok(())
    })
}

/// Fills `bytes` with the bytes from `offset` on of a file that consists of doubles.
fn doubles(offset: u64, bytes: &mut [u8]) {
    let within = (offset % 8) as usize;
    let first = if within == 0 { 0 } else { (8 - within).min(bytes.len()) };
    let (cut, whole) = bytes.split_at_mut(first);
    cut.copy_from_slice(&element_bytes(ValueKind::Double, 0, offset / 8)[within..][..first]);
    fill_elements(ValueKind::Double, 0, offset.div_ceil(8), whole);
}
