//! Pattern `ior`: the shared file of IOR.

use clap::{Args, ValueEnum};
use tributary_benchmarks::{Ior, IorOptions, Packet};

use super::{Parameters, RANKS, Subject};
use crate::Failure;
use crate::cli::values::size;

/// Kind of data that a transfer holds, as IOR's option `-l` names it.
#[derive(Clone, Copy, ValueEnum)]
pub enum IorData {
    /// IOR's `-l timestamp`.
    Timestamp,
    /// IOR's `-l offset`.
    Offset,
    /// IOR's `-l incompressible`.
    Incompressible,
}

/// IOR, one shared file: segmented or strided blocks, with IOR's own data
#[derive(Args)]
pub struct IorSource {
    /// Bytes of a transfer, a multiple of 8.
    #[arg(short = 't', long, value_name = "SIZE", value_parser = size, default_value = "256KiB")]
    transfer_size: u64,
    /// Bytes of a block, a multiple of the transfer.
    #[arg(short = 'b', long, value_name = "SIZE", value_parser = size, default_value = "1MiB")]
    block_size: u64,
    /// Segments: a segment holds a block of every rank. One: segmented; many, of blocks of a transfer: strided.
    #[arg(short = 's', long, value_name = "N", default_value_t = 1)]
    segments: u64,
    /// Signature of the data, 1 to 2^31 - 1.
    #[arg(short = 'G', long, value_name = "N", default_value_t = 1)]
    signature: u32,
    /// What a transfer holds.
    #[arg(short = 'l', long = "data", value_enum, value_name = "TYPE", default_value = "timestamp")]
    packet: IorData,
    /// All transfers in one collective call, instead of a call each.
    #[arg(long)]
    one_call: bool,
}

impl Parameters for IorSource {
    const NAME: &'static str = "ior";
    const CODE: &'static str = "\
The benchmark by which file systems are measured. A file is segments, a segment holds one block of every rank in rank \
order, a block is written in transfers; every transfer is a collective call, as with IOR's option -c. The file is the one \
IOR writes for the same options.";
    const ORIGIN: &'static str = "hpc/ior 4.1 (https://github.com/hpc/ior), user guide and `WriteOrRead`";
    const FORMULAS: &'static [(&'static str, &'static str)] = &[
        ("requests", "p * segments * block / transfer"),
        ("bytes", "p * segments * block"),
        ("metadata fan-in", "as many ranks as have blocks in an aggregator's stripes or range; at most p"),
        ("data fan-in", "with --one-call ceil(window / block) + 1 at most, less where they align; at most p"),
    ];
    const EXAMPLE: &'static str = "-t 64KiB -b 64KiB -s 16 --one-call --verify";
    const PICTURE: &'static str = "--ranks 4 -t 8 -b 16 -s 4 --stripe 64 --row 128";

    fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure> {
        let options = IorOptions {
            transfer: self.transfer_size,
            block: self.block_size,
            segments: self.segments,
            signature: self.signature,
            packet: match self.packet {
                IorData::Timestamp => Packet::Timestamp,
                IorData::Offset => Packet::Offset,
                IorData::Incompressible => Packet::Incompressible,
            },
            one_call: self.one_call,
        };
        Ok(Subject::file(Ior::new(ranks.unwrap_or(RANKS), options)?))
    }
}
