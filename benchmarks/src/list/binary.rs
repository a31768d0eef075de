//! Reads and writes the binary form of a list file: header, numbers of extents, extents; all little-endian.

use std::io::Write;
use std::path::Path;

use tributary::{Extent, Extents};

use crate::error::PatternError;

use super::lists::{LARGEST, ListSection, extent};

/// First bytes of a binary list file.
pub(super) const MAGIC: &[u8] = b"TRIBLIST";
const VERSION: u32 = 1;
/// Size of the header in bytes: magic, version, zero, ranks.
const HEADER: usize = 24;
/// Size of an extent in the file, in bytes.
const PAIR: usize = 16;

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Finds the position of each rank's extents in the file. O(ranks).
pub(super) fn sections(name: &str, bytes: &[u8]) -> Result<Vec<ListSection>, PatternError> {
    let wrong = |place: &str, problem: String| PatternError::input(name, place, problem);
    let size = bytes.len();
    if size < HEADER {
        return Err(wrong("header", format!("has {HEADER} bytes, and the file ends after {size}: truncated")));
    }
    if (word(&bytes[8..12]), word(&bytes[12..16])) != (u64::from(VERSION), 0) {
        let (version, zero) = (word(&bytes[8..12]), word(&bytes[12..16]));
        return Err(wrong("header", format!("has version {version} and {zero} behind it; allowed: {VERSION} and 0")));
    }
    let ranks = word(&bytes[16..24]);
    let rest = &bytes[HEADER..];
    if ranks == 0 {
        return Err(wrong("header", "has 0 ranks; allowed: 1 or more".to_string()));
    }
    if ranks > (rest.len() / 8) as u64 {
        let problem = format!("has {ranks} ranks, and the file ends after {size} bytes: truncated, or no number");
        return Err(wrong("header", problem));
    }
    let (counts, pairs) = rest.split_at(8 * ranks as usize);
    let mut at = size - pairs.len();
    let mut sections = Vec::with_capacity(ranks as usize);
    for (rank, count) in counts.chunks_exact(8).map(word).enumerate() {
        if count > ((size - at) / PAIR) as u64 {
            let problem = format!("has {count} extents, and the file ends after {size} bytes: truncated, or no number");
            return Err(wrong(&format!("rank {rank}"), problem));
        }
        let end = at + PAIR * count as usize;
        sections.push(ListSection { bytes: at..end, place: rank as u64 });
        at = end;
    }
    if at < size {
        return Err(wrong("end", format!("{} bytes behind the last extent", size - at)));
    }
    Ok(sections)
}

/// Iterates over the extents of rank `rank`, whose part of the file is `bytes`.
pub(super) fn entries<'a>(
    name: &'a str,
    bytes: &'a [u8],
    rank: u64,
) -> impl Iterator<Item = Result<Extent, PatternError>> + 'a {
    bytes.chunks_exact(PAIR).enumerate().map(move |(index, pair)| {
        let (offset, len) = (word(&pair[..8]), word(&pair[8..]));
        let checked = number("offset", offset).and(number("length", len)).and_then(|()| extent(offset, len));
        checked.map_err(|problem| PatternError::input(name, format!("rank {rank}, entry {index}"), problem))
    })
}

fn number(what: &str, value: u64) -> Result<(), String> {
    if value > LARGEST {
        return Err(format!("{what} is {}; allowed: 0 to 2^63 - 1", value as i64));
    }
    Ok(())
}

/// Writes the lists of `ranks` ranks to `out`, which should be buffered. Calls `extents` twice for every rank, once
/// for the length of its list, once for its extents; holds no more than one list. To record a pattern `p`:
/// `write_binary(out, p.ranks(), &mut |rank| Ok(p.rank_access(rank, 0)?.file))`.
///
/// # Errors
/// There are no ranks, `extents` fails, or writing to `out` fails.
pub fn write_binary(
    out: &mut dyn Write,
    ranks: usize,
    extents: &mut dyn FnMut(usize) -> Result<Extents, PatternError>,
) -> Result<(), PatternError> {
    if ranks == 0 {
        return Err(PatternError::argument("ranks", 0, "1 or more"));
    }
    let failed = |e: std::io::Error| PatternError::io(Path::new("list"), "write", &e);
    out.write_all(MAGIC).map_err(failed)?;
    out.write_all(&u64::from(VERSION).to_le_bytes()).map_err(failed)?;
    out.write_all(&(ranks as u64).to_le_bytes()).map_err(failed)?;
    for rank in 0..ranks {
        out.write_all(&extents(rank)?.count().to_le_bytes()).map_err(failed)?;
    }
    for rank in 0..ranks {
        for Extent { offset, len } in extents(rank)?.iter() {
            out.write_all(&offset.to_le_bytes()).map_err(failed)?;
            out.write_all(&len.to_le_bytes()).map_err(failed)?;
        }
    }
    out.flush().map_err(failed)
}
