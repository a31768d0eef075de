//! Encodes and decodes a capture as a whole (docs/reference/capture.md has the format): a preamble of 24 bytes, the
//! header in JSON, the index, the reports, and the blocks of the ranks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::trace::capture::independent::NotCaptured;
use crate::error::{Error, Result};
use crate::hints::Unused;

/// The first bytes of a capture.
pub const MAGIC: [u8; 8] = *b"TRIBCAPT";
/// Version of the capture's format.
pub const VERSION: u32 = 1;
/// Number of bytes before the header.
pub const PREAMBLE: usize = 24;
/// Number of bytes of an encoded entry of the index.
pub const ENTRY: usize = 32;
/// Maximum length of a header that is read, in bytes. A header has a few bytes for each rank.
const LONGEST_HEADER: u64 = 1 << 30;

/// The header of a capture: facts about the captured file that are the same on all ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Name of the file, as the program gave it.
    pub file: String,
    /// `create`, `update` or `read`.
    pub mode: String,
    /// Name of the program (argument 0), on rank 0.
    pub program: String,
    /// Version of Tributary that made the capture.
    pub library: String,
    /// Name and version of the MPI library; `None` if the ranks were threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpi: Option<String>,
    /// Number of the scheduler's job; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Time at which the process of rank 0 started, in seconds since 1970; `None` if the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<f64>,
    /// Time of the open, in seconds since 1970.
    pub opened: f64,
    /// Time from the open to the close, in seconds.
    pub seconds: f64,
    /// Number of ranks.
    pub ranks: usize,
    /// Nodes of the ranks, from rank 0 on, as (node, number of consecutive ranks).
    pub nodes: Vec<(usize, usize)>,
    /// Name of the storage driver of the file, as in the hint `trib_driver`.
    pub driver: String,
    /// Stripe or block size of the file, in bytes.
    pub unit: u64,
    /// Number of stripes of the file; 1 without stripes, 0 if unknown.
    pub factor: u32,
    /// Ranks of the aggregators, ascending.
    pub aggregators: Vec<usize>,
    /// Value of every hint in force, by key.
    pub hints: BTreeMap<String, String>,
    /// The hints that the user gave, if rank 0 has called `binding::describe_hints`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Calls that are not in the capture, if rank 0 has called `binding::describe_not_captured`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_captured: Option<NotCaptured>,
}

/// The hints that the user gave for a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Source of each hint in force that somebody gave (for example the environment), by key.
    pub sources: BTreeMap<String, String>,
    /// Hints that were given but have no effect, with the reasons.
    pub unused: Vec<Unused>,
}

/// Entry of the index for one part of the capture: the block of a rank, or the reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartEntry {
    /// Offset of the part in the capture, in bytes.
    pub offset: u64,
    /// Length of the part in bytes.
    pub len: u64,
    /// Number of calls in the part: the first calls on the file.
    pub recorded: u64,
    /// Number of calls made on the file, modulo 2^32; above `recorded` if the capture was full.
    pub made: u32,
    /// CRC-32 of the part (as in zlib and IEEE 802.3).
    pub checksum: u32,
}

/// Returns the encoded preamble, header and index. The index has an entry for the reports, and then one for each rank.
///
/// # Errors
/// [`Error::Internal`] if the header cannot be written as JSON.
pub fn front(header: &Header, index: &[PartEntry]) -> Result<Vec<u8>> {
    let json = header_json(header)?;
    let mut body = json;
    for entry in index {
        let integers = [entry.offset, entry.len, entry.recorded];
        integers.iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
        body.extend_from_slice(&entry.made.to_le_bytes());
        body.extend_from_slice(&entry.checksum.to_le_bytes());
    }
    let header_len = (body.len() - index.len() * ENTRY) as u64;
    let mut front = MAGIC.to_vec();
    front.extend_from_slice(&VERSION.to_le_bytes());
    front.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    front.extend_from_slice(&header_len.to_le_bytes());
    front.extend_from_slice(&body);
    Ok(front)
}

/// Returns the length of [`front`] in bytes, for an index of `parts` entries.
///
/// # Errors
/// The same errors as [`front`].
pub fn front_len(header: &Header, parts: usize) -> Result<u64> {
    Ok((PREAMBLE + header_json(header)?.len() + parts * ENTRY) as u64)
}

fn header_json(header: &Header) -> Result<Vec<u8>> {
    serde_json::to_vec(header).map_err(|cause| Error::internal(0, format!("header of a capture: {cause}")))
}

/// Reads header and index of a capture of `len` bytes. `read(offset, len)` returns bytes of the capture.
///
/// # Errors
/// The outer error is the error of `read`; the inner error says why the capture is damaged.
pub fn read_front<E>(
    len: u64,
    mut read: impl FnMut(u64, u64) -> std::result::Result<Vec<u8>, E>,
) -> std::result::Result<std::result::Result<(Header, Vec<PartEntry>), String>, E> {
    if len < PREAMBLE as u64 {
        return Ok(Err(format!("{len} bytes; a capture has more than {PREAMBLE}")));
    }
    let preamble = read(0, PREAMBLE as u64)?;
    let (checksum, header_len) = match read_preamble(&preamble) {
        Ok(known) => known,
        Err(wrong) => return Ok(Err(wrong)),
    };
    if header_len > LONGEST_HEADER || header_len > len - PREAMBLE as u64 {
        return Ok(Err(format!("cut: its header has {header_len} bytes, the file {len}")));
    }
    let header_bytes = read(PREAMBLE as u64, header_len)?;
    let header: Header = match serde_json::from_slice(&header_bytes) {
        Ok(header) => header,
        Err(cause) => return Ok(Err(format!("damaged header: {cause}"))),
    };
    let index_len = (header.ranks as u64).saturating_add(1).saturating_mul(ENTRY as u64);
    if index_len > len - PREAMBLE as u64 - header_len {
        return Ok(Err(format!("cut: {} ranks have an index of {index_len} bytes, the file has {len}", header.ranks)));
    }
    let index_bytes = read(PREAMBLE as u64 + header_len, index_len)?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header_bytes);
    hasher.update(&index_bytes);
    if hasher.finalize() != checksum {
        return Ok(Err("damaged: the checksum of header and index is another".to_string()));
    }
    let index: Vec<PartEntry> = index_bytes.chunks_exact(ENTRY).map(entry).collect();
    let inside = |entry: &&PartEntry| entry.offset.checked_add(entry.len).is_none_or(|end| end > len);
    if let Some(cut) = index.iter().find(inside) {
        return Ok(Err(format!("cut: a part ends at byte {}, the file has {len}", cut.offset.saturating_add(cut.len))));
    }
    Ok(Ok((header, index)))
}

/// Returns the checksum of header and index, and the length of the header in bytes.
fn read_preamble(bytes: &[u8]) -> std::result::Result<(u32, u64), String> {
    let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
    if bytes[..8] != MAGIC {
        return Err("it does not begin as a capture does".to_string());
    }
    if half(8) != VERSION {
        return Err(format!("version {} of the format; this library reads version {VERSION}", half(8)));
    }
    Ok((half(12), u64::from(half(16)) | u64::from(half(20)) << 32))
}

fn entry(bytes: &[u8]) -> PartEntry {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
    let last = word(24);
    PartEntry { offset: word(0), len: word(8), recorded: word(16), made: last as u32, checksum: (last >> 32) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part that lies outside of the file is refused before anything of its length is allocated.
    #[test]
    fn no_part_is_longer_than_the_file() {
        let json = r#"{"file":"f","mode":"read","program":"p","library":"0","opened":0.0,"seconds":0.0,"ranks":1,
            "nodes":[[0,1]],"driver":"posix","unit":1,"factor":0,"aggregators":[0],"hints":{}}"#;
        let header: Header = serde_json::from_str(json).unwrap();
        let start = front_len(&header, 2).unwrap();
        for (offset, len, is_right) in [
            (start, 10, true),
            (start, 11, false),
            (start + 10, 1, false),
            (start, u64::MAX, false),
            (u64::MAX, 2, false),
        ] {
            let index = [PartEntry::default(), PartEntry { offset, len, ..PartEntry::default() }];
            let whole = [front(&header, &index).unwrap(), vec![0; 10]].concat();
            let read = |at: u64, len: u64| Ok::<_, ()>(whole[at as usize..][..len as usize].to_vec());
            let read = read_front(whole.len() as u64, read).unwrap();
            assert_eq!(read.is_ok(), is_right, "{len} bytes at {offset}: {read:?}");
        }
    }
}
