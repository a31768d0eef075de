//! Pattern `list`: any extents, from a file.

use std::path::PathBuf;

use clap::Args;
use tributary_benchmarks::{ListPattern, Pattern};

use super::{Parameters, Subject};
use crate::Failure;

/// Any extents: a list of (offset, length) for each rank, from a text or binary file
#[derive(Args)]
pub struct ListSource {
    /// The lists; must be given. Text: `ranks P`, then for each rank `rank R` and lines `OFFSET LENGTH`; binary: see
    /// the documentation of tributary_benchmarks::list.
    #[arg(long, value_name = "FILE")]
    lists: Option<PathBuf>,
}

impl Parameters for ListSource {
    const NAME: &'static str = "list";
    const CODE: &'static str = "\
Whatever a program's trace shows: one list of extents a rank, in any order, also overlapping. The file is memory-mapped, so \
lists may be longer than memory. Bytes are a hash of offset and rank; where ranks overlap the highest rank's stay \
(`trib_overlap=rank_order` is set). benchmarks/data/example_lists.txt is a small example, the one of the picture.";
    const ORIGIN: &'static str = "the user";
    const FORMULAS: &'static [(&'static str, &'static str)] = &[
        ("requests", "the lines of all lists"),
        ("bytes", "the sum of their lengths"),
        ("metadata fan-in", "depends on the data; at most p"),
        ("data fan-in", "depends on the data; at most p"),
    ];
    const EXAMPLE: &'static str = "--lists benchmarks/data/example_lists.txt --verify";
    const PICTURE: &'static str = "--lists benchmarks/data/example_lists.txt --row 1024 --stripe 512";

    fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure> {
        let path = self.lists.as_ref().ok_or_else(|| Failure::missing("--lists FILE"))?;
        let list = ListPattern::open(path)?;
        match ranks.filter(|&ranks| ranks != list.ranks()) {
            Some(ranks) => Err(Failure::new(format!("ranks: {ranks}; {} is for {}", path.display(), list.ranks()))),
            None => Ok(Subject::file(list)),
        }
    }
}
