//! Pattern `capture`: the calls of a real program, from its capture.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tributary::engine::Direction;
use tributary_benchmarks::{Captured, Pattern};

use super::{Parameters, Subject};
use crate::Failure;

/// The collective calls of a real program, from a capture (`TRIB_CAPTURE=DIR`)
#[derive(Args)]
pub struct CaptureSource {
    /// The capture; must be given.
    #[arg(value_name = "FILE")]
    capture: Option<PathBuf>,
    /// Which calls: the writes or the reads; by default the writes, or the reads of a file that was only read. Either
    /// are replayed as writes.
    #[arg(long, value_enum, value_name = "CALLS")]
    calls: Option<Which>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    Write,
    Read,
}

impl Parameters for CaptureSource {
    const NAME: &'static str = "capture";
    const CODE: &'static str = "\
Whatever a program did under the preload library, the C API or the crate while `TRIB_CAPTURE` named a directory: the extents \
of every rank in every collective call, in the file and in memory. Bytes are a hash of offset, call and rank; where ranks \
overlap the highest rank's stay (`trib_overlap=rank_order` is set). benchmarks/captures has those of real programs.";
    const ORIGIN: &'static str = "the user";
    const FORMULAS: &'static [(&'static str, &'static str)] = &[
        ("requests", "the extents of all ranks and calls"),
        ("bytes", "the sum of their lengths"),
        ("metadata fan-in", "only the data can tell; at most p"),
        ("data fan-in", "only the data can tell; at most p"),
    ];
    const EXAMPLE: &'static str = "benchmarks/captures/btio.tribcap --verify";
    const PICTURE: &'static str = "benchmarks/captures/btio.tribcap --row 2560 --stripe 40960 --bytes 81920";

    fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure> {
        let path = self.capture.as_ref().ok_or_else(|| Failure::missing("the capture FILE"))?;
        let direction = self.calls.map(|calls| match calls {
            Which::Write => Direction::Write,
            Which::Read => Direction::Read,
        });
        let calls = Captured::open(path, direction)?;
        match ranks.filter(|&ranks| ranks != calls.ranks()) {
            Some(ranks) => Err(Failure::new(format!("ranks: {ranks}; {} is of {}", path.display(), calls.ranks()))),
            None => Ok(Subject::file(calls)),
        }
    }
}
