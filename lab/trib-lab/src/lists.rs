//! `trib-lab lists`: writes a pattern's extents to list files, for other programs.
//!
//! `PREFIX.S.file` has the file extents of every rank in call S. If the memory of any rank has gaps, `PREFIX.S.memory`
//! has the memory extents. Both are in the binary form that `trib replay list` reads.

use std::fs::File;
use std::io::BufWriter;

use tributary::{BufferLayout, Extents};
use tributary_benchmarks::list::write_binary;
use tributary_benchmarks::{Pattern, PatternError};

use crate::cli::patterns::ListsOptions;
use trib::{Failure, say};

/// Writes the lists.
pub fn run(options: &ListsOptions) -> Result<(), Failure> {
    let pattern = options.pattern.subject(options.place.ranks)?.into_file("lists")?;
    let pattern = &*pattern;
    let prefix = options.place.output.as_ref().ok_or_else(|| Failure::missing("--output PREFIX"))?;
    for step in 0..pattern.steps() {
        write(pattern, &format!("{}.{step}.file", prefix.display()), &mut |rank| {
            Ok(pattern.rank_access(rank, step)?.file)
        })?;
        let mut memory = |rank| memory(pattern, rank, step);
        let gaps =
            (0..pattern.ranks()).try_fold(false, |any, rank| Ok::<_, PatternError>(any || memory(rank)?.count() > 0));
        if gaps? {
            write(pattern, &format!("{}.{step}.memory", prefix.display()), &mut memory)?;
        }
    }
    let (ranks, requests) = (pattern.ranks(), pattern.totals().requests);
    say(format!("{}: {ranks} ranks, {requests} requests, {} call(s)", prefix.display(), pattern.steps()))
}

/// Returns the extents of a rank's bytes in memory; none if they are contiguous.
fn memory(pattern: &dyn Pattern, rank: usize, step: usize) -> Result<Extents, PatternError> {
    Ok(match pattern.rank_access(rank, step)?.layout {
        BufferLayout::Contiguous => Extents::empty(),
        BufferLayout::Extents(extents) => extents,
    })
}

fn write(
    pattern: &dyn Pattern,
    path: &str,
    extents: &mut dyn FnMut(usize) -> Result<Extents, PatternError>,
) -> Result<(), Failure> {
    let file = File::create(path).map_err(|cause| Failure::new(format!("{path}: {cause}")))?;
    write_binary(&mut BufWriter::new(file), pattern.ranks(), extents)
        .map_err(|cause| Failure::new(format!("{path}: {cause}")))
}
