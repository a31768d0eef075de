//! The pattern of IOR: every rank writes blocks of a shared file in transfers. The file equals the one that IOR
//! writes with the same options.
//!
//! A file is `-s` segments; a segment holds one block of `-b` bytes of every rank, in rank order; a block is written in
//! transfers of `-t` bytes. One segment of large blocks is what is called segmented, many segments of blocks as small as
//! a transfer strided. With `-c` every transfer is one collective call. The data are IOR's packets for `-G SIGNATURE`
//! and `-l TYPE`. Source: hpc/ior 4.1 (`WriteOrRead` in ior.c for the offsets, the memory pattern in utilities.c, the
//! user guide for the options).

use std::fs::File;
use std::io::Write;
use std::str::FromStr;

use tributary::access::{BufferLayout, Extents};

use crate::closed_form::{ClosedForm, Division};
use crate::error::PatternError;
use crate::meeting::{FileSpan, common, fan_in, touched};
use crate::pattern::{Pattern, RankAccess, Totals};
use crate::serial;

/// Size of IOR's words, in bytes.
const WORD: u64 = 8;

/// The data of a transfer (IOR's `-l`). All words are little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Packet {
    /// `t`, IOR's default: word i has the rank in the upper half, and the signature plus i in the lower; the same in
    /// every transfer.
    #[default]
    Timestamp,
    /// `o`: as `t`, but the first word of every 4 KiB is the file offset of the transfer.
    Offset,
    /// `i`: every word has two random numbers of the rank, except the first word of every 4 KiB, which is as in `o`.
    Incompressible,
}

impl FromStr for Packet {
    type Err = PatternError;

    /// Parses the name or its first letter, as IOR does.
    fn from_str(text: &str) -> Result<Self, PatternError> {
        match text.to_ascii_lowercase().as_str() {
            "t" | "timestamp" => Ok(Self::Timestamp),
            "o" | "offset" => Ok(Self::Offset),
            "i" | "incompressible" => Ok(Self::Incompressible),
            _ => {
                let allowed = "timestamp, offset, incompressible, or their first letters";
                Err(PatternError::argument("packet", text, allowed))
            }
        }
    }
}

/// IOR's options that decide what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IorOptions {
    /// `-t`: size of a transfer in bytes, a multiple of 8. Default 262,144.
    pub transfer: u64,
    /// `-b`: size of a block in bytes, a multiple of the transfer's. Default 1,048,576.
    pub block: u64,
    /// `-s`: number of segments. Default 1.
    pub segments: u64,
    /// `-G`: signature of the data, 1 to 2^31 - 1. Default 1 (IOR's own default is the time of day, which no second
    /// run could repeat).
    pub signature: u32,
    /// `-l`: kind of data. Default timestamp.
    pub packet: Packet,
    /// True to write all transfers of a rank in one collective call, instead of one call each. Default false, as in
    /// IOR.
    pub one_call: bool,
}

impl Default for IorOptions {
    fn default() -> Self {
        Self {
            transfer: 1 << 18,
            block: 1 << 20,
            segments: 1,
            signature: 1,
            packet: Packet::Timestamp,
            one_call: false,
        }
    }
}

/// IOR's shared file as a pattern.
#[derive(Debug, Clone)]
pub struct Ior {
    ranks: u64,
    options: IorOptions,
    steps: usize,
    totals: Totals,
}

impl Ior {
    /// Creates the pattern of IOR on `ranks` ranks.
    ///
    /// # Errors
    /// IOR refuses the sizes, there are no ranks or more than 2^31 - 1, the signature is out of range, or the file
    /// ends beyond 2^63 - 1 bytes.
    pub fn new(ranks: usize, options: IorOptions) -> Result<Self, PatternError> {
        let IorOptions { transfer, block, segments, signature, one_call, .. } = options;
        if ranks == 0 || ranks > i32::MAX as usize {
            return Err(PatternError::argument("ranks", ranks, "1 to 2^31 - 1"));
        }
        if transfer == 0 || !transfer.is_multiple_of(WORD) {
            return Err(PatternError::argument("transfer size", transfer, "multiples of 8 bytes"));
        }
        if block == 0 || !block.is_multiple_of(transfer) {
            let allowed = format!("multiples of the transfer size, {transfer}");
            return Err(PatternError::argument("block size", block, allowed));
        }
        if segments == 0 {
            return Err(PatternError::argument("segments", 0, "1 or more"));
        }
        if signature == 0 || signature > i32::MAX as u32 {
            return Err(PatternError::argument("signature", signature, "1 to 2^31 - 1"));
        }
        let ranks = ranks as u64;
        let bytes = ranks.checked_mul(block).and_then(|segment| segment.checked_mul(segments));
        let Some(bytes) = bytes.filter(|&bytes| bytes <= i64::MAX as u64) else {
            let given = format!("{segments} segments of {ranks} blocks of {block} bytes");
            return Err(PatternError::argument("segments", given, "a file below 2^63 bytes"));
        };
        let transfers = segments * (block / transfer);
        let steps = if one_call { 1 } else { transfers };
        let steps =
            usize::try_from(steps).map_err(|_| PatternError::argument("transfers", steps, "below 2^32 here"))?;
        let totals = Totals { requests: transfers * ranks, bytes, file_size: bytes };
        Ok(Self { ranks, options, steps, totals })
    }

    /// Returns the offset in the file at which transfer `number` of a rank begins.
    fn transfer(&self, rank: u64, number: u64) -> u64 {
        let IorOptions { transfer, block, .. } = self.options;
        let per_block = block / transfer;
        (number / per_block * self.ranks + rank) * block + number % per_block * transfer
    }

    /// Returns the numbers of the transfers that a rank writes in call `step`.
    fn numbers(&self, step: usize) -> std::ops::Range<u64> {
        let IorOptions { transfer, block, segments, one_call, .. } = self.options;
        match one_call {
            true => 0..segments * (block / transfer),
            false => step as u64..step as u64 + 1,
        }
    }

    /// Writes to `bytes` the data of the transfer of `rank` at `offset` of the file.
    fn packet(&self, rank: u64, offset: u64, bytes: &mut [u8]) {
        let signature = u64::from(self.options.signature);
        let upper = rank << 32;
        let incompressible = random_word(self.options.signature.wrapping_add(rank as u32));
        for (number, place) in bytes.chunks_exact_mut(WORD as usize).enumerate() {
            let word = match self.options.packet {
                Packet::Timestamp => upper | (signature + number as u64),
                // IOR multiplies the lower half of the offset in 32 bits.
                _ if number % 512 == 0 => upper | u64::from((offset as u32).wrapping_mul((number / 512) as u32 + 1)),
                Packet::Offset => upper | (signature + number as u64),
                Packet::Incompressible => incompressible,
            };
            place.copy_from_slice(&word.to_le_bytes());
        }
    }
}

impl Pattern for Ior {
    fn name(&self) -> &str {
        "ior"
    }

    fn ranks(&self) -> usize {
        self.ranks as usize
    }

    fn describe(&self) -> String {
        let IorOptions { transfer, block, segments, signature, packet, one_call } = self.options;
        let calls = if one_call { "one call" } else { "a call a transfer" };
        format!(
            "IOR on a shared file: {} ranks, {segments} segments (-s), blocks of {block} bytes (-b), transfers of \
             {transfer} bytes (-t), signature {signature} (-G), {packet:?} packets (-l), {calls}",
            self.ranks
        )
    }

    fn steps(&self) -> usize {
        self.steps
    }

    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError> {
        serial::check(self, rank, step)?;
        let IorOptions { transfer, block, segments, one_call, .. } = self.options;
        let numbers = self.numbers(step);
        let first = self.transfer(rank as u64, numbers.start);
        let file = match one_call {
            // Below 2^63, as the whole file is.
            true => Extents::strided(first, block, (self.ranks * block) as i64, segments)?,
            false => Extents::contiguous(first, transfer)?,
        };
        Ok(RankAccess { file, layout: BufferLayout::Contiguous, requests: numbers.end - numbers.start })
    }

    fn fill(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        serial::check(self, rank, step)?;
        let numbers = self.numbers(step);
        let transfer = self.options.transfer;
        serial::check_size(data, (numbers.end - numbers.start) * transfer)?;
        for (bytes, number) in data.chunks_exact_mut(transfer as usize).zip(numbers) {
            self.packet(rank as u64, self.transfer(rank as u64, number), bytes);
        }
        Ok(())
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the closed form. In one call the blocks of all ranks adjoin. If a call has one transfer, the ranks'
    /// transfers are a block apart: the bound is the number that fit between the ends of a window and a transfer.
    fn closed_form(&self, division: Division) -> ClosedForm {
        let IorOptions { transfer, block, one_call, .. } = self.options;
        let Totals { requests, bytes, .. } = self.totals;
        let met = match one_call {
            true => {
                let span = FileSpan { bytes, grain: bytes };
                fan_in(division, span, self.ranks, |bytes, grain| touched(bytes, block, common(grain, block)))
            }
            false => {
                let span = FileSpan { bytes: (self.ranks - 1) * block + transfer, grain: transfer };
                fan_in(division, span, self.ranks, |bytes, grain| {
                    let grain = common(grain, transfer);
                    (bytes + transfer - grain).div_ceil(block).max(u64::from(bytes > 0))
                })
            }
        };
        ClosedForm { requests, bytes, metadata_fan_in: Some(met.metadata), data_fan_in: Some(met.data) }
    }

    fn write_serially(&self, file: &File) -> Result<(), PatternError> {
        let IorOptions { transfer, block, segments, .. } = self.options;
        let mut bytes = vec![0u8; transfer as usize];
        let mut offset = 0;
        serial::write(file, |out| {
            for _segment in 0..segments {
                for rank in 0..self.ranks {
                    for _transfer in 0..block / transfer {
                        self.packet(rank, offset, &mut bytes);
                        out.write_all(&bytes)?;
                        offset += transfer;
                    }
                }
            }
            Ok(())
        })
    }
}

/// Returns a word of two numbers of the C library's `rand_r` with this seed, the first in the upper half. IOR starts
/// from the same seed for every word, so all words of a rank are equal.
fn random_word(seed: u32) -> u64 {
    let mut state = seed;
    let mut number = || {
        let bits = [(11, 2048), (10, 1024), (10, 1024)].map(|(width, limit)| {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (width, u64::from(state >> 16) % limit)
        });
        bits.iter().fold(0, |number, (width, bits)| number << width | bits)
    };
    let upper = number();
    upper << 32 | number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_of_the_gnu_c_library() {
        let table: [(u32, u64, u64); 5] = [
            (0, 1_012_484, 1_716_955_679),
            (1, 476_707_713, 1_186_278_907),
            (42, 681_191_333, 928_546_885),
            (2_147_483_647, 1_670_702_726, 99_100_226),
            (123_456_789, 1_561_111_752, 731_231_783),
        ];
        for (seed, first, second) in table {
            assert_eq!(random_word(seed), first << 32 | second, "seed {seed}");
        }
    }
}
