//! The pattern of FLASH-IO: the checkpoint and the two plot files of an adaptive-mesh code. A rank's blocks of a
//! variable are contiguous.
//!
//! A rank holds 80 to 82 blocks (80 and its number mod 3), all blocks of all ranks are numbered in rank order, and the
//! slowest dimension of every variable counts blocks; so each rank writes one contiguous piece of each variable. A file
//! is written in one collective call. Source: benchmarks/FLASH-IO of PnetCDF, release 1.12 to 1.15
//! (`checkpoint_wr_ncmpi_par`, `plotfile_ncmpi_par`, `flash_benchmark_io`).

mod file;

use std::fs::File;
use std::io::{self, Write};

use tributary::access::{BufferLayout, Extents};
use tributary_netcdf::{Alignment, Layout, Requests, Schema};

use crate::blocks::times;
use crate::closed_form::{ClosedForm, Division};
use crate::error::PatternError;
use crate::meeting::{FanInBounds, FileSpan, common, fan_in, touched};
use crate::netcdf_case::{NetcdfCase, Put};
use crate::pattern::{Pattern, RankAccess, Totals};
use crate::serial;
use crate::value::{element_bytes, fill_elements};

pub use file::FlashFile;
use file::FlashVariable;

/// Options of the FLASH-IO pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlashOptions {
    /// File that is written. Default the checkpoint.
    pub file: FlashFile,
    /// Number of cells of a block along x, y, z (`nxb`, `nyb`, `nzb`). Default 8 x 8 x 8; the other usual size is 16
    /// x 16 x 16.
    pub cells: [u64; 3],
    /// Number of blocks of a rank. Default 80.
    pub blocks: u64,
    /// True if rank r has `r mod 3` more blocks, as in the benchmark. Default true.
    pub uneven: bool,
    /// Alignment of the first variable in bytes (`nc_var_align_size`). Default 1, as in the benchmark.
    pub alignment: u64,
}

impl Default for FlashOptions {
    fn default() -> Self {
        Self { file: FlashFile::Checkpoint, cells: [8; 3], blocks: 80, uneven: true, alignment: 1 }
    }
}

/// One file of FLASH-IO as a pattern.
#[derive(Debug, Clone)]
pub struct Flash {
    ranks: usize,
    options: FlashOptions,
    schema: Schema,
    layout: Layout,
    variables: Vec<FlashVariable>,
    totals: Totals,
}

impl Flash {
    /// Creates the pattern of the file that `ranks` ranks write.
    ///
    /// # Errors
    /// There are no ranks, blocks are empty, there are more than 2^31 - 1 blocks in all (the file states their number
    /// in 32 bits), or the file ends beyond 2^63 - 1 bytes.
    pub fn new(ranks: usize, options: FlashOptions) -> Result<Self, PatternError> {
        if ranks == 0 {
            return Err(PatternError::argument("ranks", 0, "1 or more"));
        }
        if options.blocks == 0 {
            return Err(PatternError::argument("blocks", 0, "1 or more a rank"));
        }
        let blocks = (ranks as u64).checked_mul(options.blocks).filter(|&blocks| blocks <= i32::MAX as u64);
        let blocks = blocks.map(|blocks| blocks + if options.uneven { extra(ranks as u64) } else { 0 });
        let blocks = blocks.and_then(|blocks| i32::try_from(blocks).ok()).ok_or_else(|| {
            let given = format!("{} on each of {ranks} ranks", options.blocks);
            PatternError::argument("blocks", given, "2147483647 in all")
        })?;
        let (schema, variables) = file::define(options.file, options.cells, blocks)?;
        let layout = schema.layout(alignment(options.alignment))?;
        let requests = variables.len() as u64 * ranks as u64;
        // Each variable fits the layout, so their sum does.
        let bytes = variables.iter().map(|variable| variable.block_bytes() * blocks as u64).sum();
        let totals = Totals { requests, bytes, file_size: layout.end_of_fixed() };
        Ok(Self { ranks, options, schema, layout, variables, totals })
    }

    /// Returns the closed form of the unknowns alone, without the tree variables, as in the papers: 24 requests per
    /// rank in the checkpoint.
    pub fn unknowns_form(&self, division: Division) -> ClosedForm {
        let unknowns = &self.variables[file::TREE..];
        let (count, one) = (unknowns.len() as u64, self.span(&unknowns[0]));
        let bytes = count * one.bytes;
        // If the stripes of all aggregators together divide a variable, an aggregator has the same senders in every variable.
        let same = match division {
            Division::Stripes { stripe, aggregators } => {
                stripe.checked_mul(aggregators).is_some_and(|all| one.bytes.is_multiple_of(all))
            }
            Division::Ranges { .. } => false,
        };
        let span = FileSpan { bytes: if same { one.bytes } else { bytes }, ..one };
        let met = self.met(division, span, unknowns);
        ClosedForm {
            requests: count * self.ranks as u64,
            bytes,
            metadata_fan_in: Some(met.metadata),
            data_fan_in: Some(met.data),
        }
    }

    /// Returns the offset of the first byte of the first unknown, which all other unknowns follow.
    pub fn begin_of_unknowns(&self) -> u64 {
        self.layout.begin(self.variables[file::TREE].id)
    }

    /// Returns the number of the first block of `rank`, which is the number of blocks of all lower ranks.
    fn first_block(&self, rank: usize) -> u64 {
        let rank = rank as u64;
        rank * self.options.blocks + if self.options.uneven { extra(rank) } else { 0 }
    }

    /// Returns the size and the alignment of a variable's part of the file.
    fn span(&self, variable: &FlashVariable) -> FileSpan {
        let bytes = variable.block_bytes() * self.first_block(self.ranks);
        FileSpan { bytes, grain: common(self.layout.begin(variable.id), bytes) }
    }

    /// Returns the bounds of the fan-in for adjoining variables that lie in `span`.
    fn met(&self, division: Division, span: FileSpan, variables: &[FlashVariable]) -> FanInBounds {
        let blocks = if self.options.uneven { 1 } else { self.options.blocks };
        let piece = variables.iter().map(|variable| variable.block_bytes() * self.options.blocks).min().unwrap_or(0);
        let grain = variables.iter().fold(0, |grain, variable| {
            common(grain, common(self.layout.begin(variable.id), variable.block_bytes() * blocks))
        });
        fan_in(division, span, self.ranks as u64, |bytes, of| touched(bytes, piece, common(grain, of)))
    }

    /// Returns a rank's part of a variable: start and count along each dimension.
    fn part(&self, rank: usize, variable: &FlashVariable) -> (Vec<u64>, Vec<u64>) {
        let first = self.first_block(rank);
        let (mut start, mut count) = (vec![first], vec![self.first_block(rank + 1) - first]);
        start.resize(variable.shape.len() + 1, 0);
        count.extend(&variable.shape);
        (start, count)
    }

    /// Writes the values of a rank's part of a variable to `bytes`.
    fn values(&self, rank: usize, number: usize, bytes: &mut [u8]) {
        let variable = &self.variables[number];
        let first = self.first_block(rank) * variable.block_elements();
        fill_elements(variable.kind, number, first, bytes);
    }
}

impl Pattern for Flash {
    fn name(&self) -> &str {
        "flash"
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn describe(&self) -> String {
        let FlashOptions { file, cells, blocks, uneven, .. } = self.options;
        let last = if uneven { format!(" to {}", blocks.saturating_add(2)) } else { String::new() };
        format!(
            "FLASH-IO {file}: {} variables, {blocks}{last} blocks of {} cells a rank, {} ranks",
            self.variables.len(),
            times(&cells),
            self.ranks
        )
    }

    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError> {
        serial::check(self, rank, step)?;
        let mut file = Extents::empty();
        for variable in &self.variables {
            let (start, count) = self.part(rank, variable);
            file.push(&self.layout.extents(variable.id, &start, &count)?)?;
        }
        Ok(RankAccess { file, layout: BufferLayout::Contiguous, requests: self.variables.len() as u64 })
    }

    fn fill(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        serial::check(self, rank, step)?;
        let blocks = self.first_block(rank + 1) - self.first_block(rank);
        serial::check_size(data, blocks * self.variables.iter().map(FlashVariable::block_bytes).sum::<u64>())?;
        let mut rest = data;
        for (number, variable) in self.variables.iter().enumerate() {
            let (bytes, behind) = rest.split_at_mut((blocks * variable.block_bytes()) as usize);
            self.values(rank, number, bytes);
            rest = behind;
        }
        Ok(())
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the closed form. The pieces of a variable adjoin in rank order. The tree variables are so small that
    /// the pieces of all ranks lie in few windows. For the unknowns alone see [`Flash::unknowns_form`].
    fn closed_form(&self, division: Division) -> ClosedForm {
        let Totals { requests, bytes, file_size } = self.totals;
        let begin = self.layout.begin(self.variables[0].id);
        let span = FileSpan { bytes: file_size - begin, grain: common(begin, file_size) };
        let whole = self.met(division, span, &self.variables);
        // With round-robin stripes, an aggregator has at most the sum of its senders in all variables.
        let metadata = match division {
            Division::Ranges { .. } => whole.metadata,
            Division::Stripes { .. } => {
                let tree = self.variables[..file::TREE].iter();
                let of_tree =
                    tree.map(|variable| self.met(division, self.span(variable), std::slice::from_ref(variable)));
                let of_unknowns = self.unknowns_form(division).metadata_fan_in.unwrap_or(u64::MAX);
                of_tree.fold(of_unknowns, |sum, met| sum.saturating_add(met.metadata)).min(whole.metadata)
            }
        };
        ClosedForm { requests, bytes, metadata_fan_in: Some(metadata), data_fan_in: Some(whole.data) }
    }

    /// Writes the file with zeros in place of the header, which ranks do not write.
    fn write_serially(&self, file: &File) -> Result<(), PatternError> {
        let blocks = self.first_block(self.ranks);
        serial::write(file, |out| {
            let mut at = 0;
            for (number, variable) in self.variables.iter().enumerate() {
                let begin = self.layout.begin(variable.id);
                io::copy(&mut io::Read::take(io::repeat(0), begin - at), out)?;
                for element in 0..blocks * variable.block_elements() {
                    out.write_all(&element_bytes(variable.kind, number, element)[..variable.kind.size()])?;
                }
                at = begin + blocks * variable.block_bytes();
            }
            Ok(())
        })
    }

    fn netcdf(&self) -> Option<&dyn NetcdfCase> {
        Some(self)
    }
}

impl NetcdfCase for Flash {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn alignment(&self) -> Alignment {
        alignment(self.options.alignment)
    }

    fn puts(&self, rank: usize, step: usize) -> Result<Vec<Put>, PatternError> {
        serial::check(self, rank, step)?;
        let puts = self.variables.iter().enumerate().map(|(number, variable)| {
            let (start, count) = self.part(rank, variable);
            let mut data = vec![0; (count[0] * variable.block_bytes()) as usize];
            self.values(rank, number, &mut data);
            Put { variable: variable.id, requests: Requests::from_iter([(start, count)]), data }
        });
        Ok(puts.collect())
    }
}

/// Returns the sum of `r mod 3` over all ranks r below `ranks`.
fn extra(ranks: u64) -> u64 {
    ranks / 3 * 3 + u64::from(ranks % 3 == 2)
}

fn alignment(variable: u64) -> Alignment {
    Alignment { variable: Some(variable), ..Alignment::default() }
}
