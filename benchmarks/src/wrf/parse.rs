//! Reads the file of a trace, whose layout the comment of [`super`] describes. Every number is checked before it is
//! used; a message of no bytes is left out.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use tributary::Rank;

use crate::error::PatternError;
use crate::source::SharedBytes;

use super::trace::{PeerBytes, Trace, TransferTable};

/// First bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// Size of a number in the file, in bytes.
const WORD: usize = 4;

pub(super) fn open(path: &Path) -> Result<Trace, PatternError> {
    bytes(&path.display().to_string(), &SharedBytes::map(path, "a trace of WRF")?)
}

pub(super) fn bytes(name: &str, bytes: &[u8]) -> Result<Trace, PatternError> {
    if !bytes.starts_with(GZIP) {
        return plain(name, bytes);
    }
    let mut decoded = Vec::new();
    GzDecoder::new(bytes)
        .read_to_end(&mut decoded)
        .map_err(|cause| PatternError::input(name, "gzip data", format!("cannot be unpacked: {cause}")))?;
    plain(name, &decoded)
}

fn plain(name: &str, bytes: &[u8]) -> Result<Trace, PatternError> {
    let wrong = |place: String, problem: String| PatternError::input(name, place, problem);
    let size = bytes.len();
    if !size.is_multiple_of(WORD) {
        return Err(wrong("end".into(), format!("at {size} bytes, which is no multiple of {WORD}: truncated")));
    }
    let mut header = NumberReader { name, place: "header".to_string(), bytes };
    let ranks = header.number("ranks", 1, u64::from(u32::MAX))? as usize;
    let rounds = header.number("rounds", 1, u64::from(u32::MAX))? as usize;
    let mut lengths = header.part("block lengths", ranks as u64)?;
    let (mut sends, mut receives) = (TransferTable::default(), TransferTable::default());
    let mut rest = header;
    for rank in 0..ranks {
        lengths.place = format!("block of rank {rank}");
        let length = lengths.number("length", 0, i32::MAX as u64)?;
        rest.place = format!("block of rank {rank}");
        let mut block = rest.part("numbers", length)?;
        half(&mut block, "sends", ranks, rounds, &mut sends)?;
        half(&mut block, "receives", ranks, rounds, &mut receives)?;
        if !block.bytes.is_empty() {
            let problem = format!("has {} numbers behind its last round", block.bytes.len() / WORD);
            return Err(wrong(format!("block of rank {rank}"), problem));
        }
    }
    if !rest.bytes.is_empty() {
        return Err(wrong("end".into(), format!("{} bytes behind the last block", rest.bytes.len())));
    }
    Trace::new(name.to_string(), ranks, rounds, sends, receives)
}

/// Reads the sends or the receives of a block: the counts of all rounds, then round by round the peers and their
/// bytes.
fn half(
    block: &mut NumberReader<'_>,
    what: &str,
    ranks: usize,
    rounds: usize,
    table: &mut TransferTable,
) -> Result<(), PatternError> {
    let mut counts = block.part(&format!("numbers of {what}"), rounds as u64)?;
    for round in 0..rounds {
        let count = counts.number(&format!("number of {what} in round {round}"), 0, ranks as u64)?;
        let label = format!("{what} of round {round}");
        let mut peers = block.part(&label, count)?;
        let mut bytes = block.part(&label, count)?;
        let mut transfers = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let peer = peers.number(&format!("peer among the {label}"), 0, ranks as u64 - 1)? as Rank;
            transfers.push(PeerBytes { peer, bytes: bytes.number(&format!("size among the {label}"), 0, u64::MAX)? });
        }
        transfers.sort_unstable();
        if let Some(pair) = transfers.windows(2).find(|pair| pair[0].peer == pair[1].peer) {
            return Err(block.wrong(format!("names rank {} twice among the {label}", pair[0].peer)));
        }
        table.push(transfers.into_iter().filter(|transfer| transfer.bytes > 0));
    }
    Ok(())
}

/// The numbers that are not read yet, in a named part of the file.
struct NumberReader<'a> {
    name: &'a str,
    place: String,
    bytes: &'a [u8],
}

impl<'a> NumberReader<'a> {
    fn wrong(&self, problem: String) -> PatternError {
        PatternError::input(self.name, &self.place, problem)
    }

    /// Splits off the next `count` numbers.
    fn part(&mut self, what: &str, count: u64) -> Result<Self, PatternError> {
        let here = (self.bytes.len() / WORD) as u64;
        if count > here {
            return Err(self.wrong(format!("has {count} {what}, and {here} numbers are left: truncated, or no count")));
        }
        let (part, rest) = self.bytes.split_at(count as usize * WORD);
        self.bytes = rest;
        Ok(NumberReader { name: self.name, place: self.place.clone(), bytes: part })
    }

    /// Returns the next number, which must be from `least` to `most`. `what` names it in errors.
    fn number(&mut self, what: &str, least: u64, most: u64) -> Result<u64, PatternError> {
        let Some((word, rest)) = self.bytes.split_first_chunk::<WORD>() else {
            return Err(self.wrong(format!("ends before its {what}: truncated")));
        };
        self.bytes = rest;
        let value = i32::from_le_bytes(*word);
        match u64::try_from(value) {
            Ok(value) if (least..=most).contains(&value) => Ok(value),
            _ => {
                let most = most.min(i32::MAX as u64);
                Err(self.wrong(format!("{what} is {value}; allowed: {least} to {most}")))
            }
        }
    }
}
