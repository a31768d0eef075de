//! The pattern of BTIO: the NAS block-tridiagonal benchmark writes its solution, 5 numbers a point of a cubic grid,
//! every few steps.
//!
//! The number of ranks p is a square. The grid is cut into q = sqrt(p) parts along each dimension, and a rank owns
//! one of the q^3 cells in every layer along z: the multi-partition, whose cells lie on a diagonal. A rank's cells
//! are in one array with two ghost points around each, so the rank's buffer is not contiguous. Each write is one
//! record of a NetCDF variable. Source: NPB 2.4 and Parallel-NetCDF/BTIO at d45c270 (`make_set` for cells and sizes,
//! `header` for the array of cells, `pnetcdf_m` for file and calls, non-blocking); class sizes from NPB.

use std::fs::File;
use std::io::{self, Write};
use std::str::FromStr;

use tributary::access::{BufferLayout, Extents};
use tributary_netcdf::{Alignment, Format, Layout, Requests, Schema, Type, UNLIMITED, VariableId};

use crate::blocks::Blocks;
use crate::closed_form::{ClosedForm, Division};
use crate::error::PatternError;
use crate::meeting::{FileSpan, common, fan_in};
use crate::netcdf_case::{NetcdfCase, Put};
use crate::pattern::{Pattern, RankAccess, Totals};
use crate::serial;
use crate::value::{ValueKind, element_bytes, fill_elements};

/// Number of values at a point.
const NUMBERS: u64 = 5;
/// Number of bytes at a point.
const POINT: u64 = NUMBERS * 8;
/// Number of ghost points on each side of a cell.
const GHOSTS: u64 = 2;
/// Minimum number of points of a cell along a dimension in the benchmark.
const LEAST: u64 = 3;
/// Alignment hint that the benchmark sets.
const ALIGNMENT: Alignment = Alignment { header: None, variable: Some(1), record: None };

/// A problem size (class) of NPB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the letters are the names")]
pub enum BtioClass {
    S,
    W,
    A,
    B,
    C,
    D,
}

impl BtioClass {
    /// All classes, smallest first.
    pub const ALL: [Self; 6] = [Self::S, Self::W, Self::A, Self::B, Self::C, Self::D];

    /// Returns the number of grid points along each dimension.
    pub fn grid(self) -> u64 {
        match self {
            Self::S => 12,
            Self::W => 24,
            Self::A => 64,
            Self::B => 102,
            Self::C => 162,
            Self::D => 408,
        }
    }
}

impl FromStr for BtioClass {
    type Err = PatternError;

    /// Parses the class from its letter, large or small.
    fn from_str(text: &str) -> Result<Self, PatternError> {
        let named = |class: &Self| format!("{class:?}").eq_ignore_ascii_case(text);
        let wrong = || PatternError::argument("class", text, "S, W, A, B, C, D");
        Self::ALL.into_iter().find(named).ok_or_else(wrong)
    }
}

/// Options of the BTIO pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BtioOptions {
    /// Number of grid points along each dimension, at least 3 times sqrt(ranks). Default 64, class A
    /// ([`BtioClass::grid`]).
    pub grid: u64,
    /// Number of writes, each a collective call. Default 5; NPB itself writes every fifth of its steps, 40 times in
    /// classes A to C.
    pub iterations: usize,
}

impl Default for BtioOptions {
    fn default() -> Self {
        Self { grid: BtioClass::A.grid(), iterations: 5 }
    }
}

/// BTIO's file as a pattern.
#[derive(Debug, Clone)]
pub struct Btio {
    ranks: usize,
    /// Number of parts along each dimension, which is also the number of cells of a rank.
    parts: u64,
    iterations: usize,
    blocks: Blocks<3>,
    schema: Schema,
    variable: VariableId,
    layout: Layout,
    file_size: u64,
}

impl Btio {
    /// Creates the pattern of BTIO on `ranks` ranks.
    ///
    /// # Errors
    /// The number of ranks is no square, a cell has fewer than 3 points, there are no iterations, or the file ends
    /// beyond 2^63 - 1 bytes.
    pub fn new(ranks: usize, options: BtioOptions) -> Result<Self, PatternError> {
        let BtioOptions { grid, iterations } = options;
        let parts = ranks.isqrt();
        if ranks == 0 || parts * parts != ranks {
            let [below, above] = [0, 1].map(|more| (parts.max(1) as u128 + more).pow(2));
            let allowed = format!("square numbers, as {below} or {above}");
            return Err(PatternError::argument("ranks", ranks, allowed));
        }
        let parts = parts as u64;
        if grid / parts < LEAST {
            let allowed = format!("{} or more on {ranks} ranks: cells of {LEAST} points or more", parts * LEAST);
            return Err(PatternError::argument("grid", grid, allowed));
        }
        if iterations == 0 {
            return Err(PatternError::argument("iterations", 0, "1 or more"));
        }
        let blocks = Blocks::new("grid", POINT, [grid; 3], [parts; 3], iterations as u64)?;
        let (schema, variable) = define(grid)?;
        let layout = schema.layout(ALIGNMENT)?;
        let Some(file_size) = layout.file_bytes(iterations as u64) else {
            return Err(PatternError::argument("iterations", iterations, "a file below 2^63 bytes"));
        };
        Ok(Self { ranks, parts, iterations, blocks, schema, variable, layout, file_size })
    }

    /// Returns the position in the grid of cells of a rank's cell in layer `layer`: one further along x and one back
    /// along y from layer to layer.
    fn place(&self, rank: usize, layer: u64) -> [u64; 3] {
        let (x, y) = (rank as u64 % self.parts, rank as u64 / self.parts);
        [(x + layer) % self.parts, (y + self.parts - layer) % self.parts, layer]
    }

    /// Returns a rank's cells in the order of their layers, each as the first points and the numbers of points along
    /// x, y, z.
    fn cells(&self, rank: usize) -> impl Iterator<Item = ([u64; 3], [u64; 3])> + '_ {
        (0..self.parts).map(move |layer| self.blocks.block(self.place(rank, layer)))
    }

    /// Returns a cell as a part of the NetCDF variable: start and count along each dimension.
    fn part(step: usize, starts: [u64; 3], counts: [u64; 3]) -> ([u64; 5], [u64; 5]) {
        ([step as u64, starts[2], starts[1], starts[0], 0], [1, counts[2], counts[1], counts[0], NUMBERS])
    }

    /// Returns the number of grid points along each dimension.
    fn grid(&self) -> u64 {
        self.blocks.cuts[0].size
    }

    /// Fills a cell's bytes, row by row.
    fn fill_cell(&self, step: usize, starts: [u64; 3], counts: [u64; 3], data: &mut [u8]) {
        let grid = self.grid();
        let rows = (0..counts[2]).flat_map(|z| (0..counts[1]).map(move |y| (starts[2] + z, starts[1] + y)));
        for (bytes, (z, y)) in data.chunks_exact_mut((counts[0] * POINT) as usize).zip(rows) {
            let point = ((step as u64 * grid + z) * grid + y) * grid + starts[0];
            fill_elements(ValueKind::Double, self.variable.0, point * NUMBERS, bytes);
        }
    }
}

impl Pattern for Btio {
    fn name(&self) -> &str {
        "btio"
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn describe(&self) -> String {
        let grid = self.grid();
        let class = BtioClass::ALL.into_iter().find(|class| class.grid() == grid);
        let class = class.map(|class| format!(" (class {class:?})")).unwrap_or_default();
        format!(
            "NPB BTIO: {grid}x{grid}x{grid} points of 5 doubles{class}, {} writes, {} ranks of {} cells",
            self.iterations, self.ranks, self.parts
        )
    }

    fn steps(&self) -> usize {
        self.iterations
    }

    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError> {
        serial::check(self, rank, step)?;
        let (mut file, mut memory, mut requests) = (Extents::empty(), Extents::empty(), 0);
        // As the benchmark declares its array: a cell of the largest size and one, and the ghosts.
        let side = self.grid() / self.parts + 1 + 2 * GHOSTS;
        for (cell, (starts, counts)) in (0..).zip(self.cells(rank)) {
            let (start, count) = Self::part(step, starts, counts);
            file.push(&self.layout.extents(self.variable, &start, &count)?)?;
            let inside = [1, counts[2], counts[1], counts[0]];
            let sizes = [self.parts, side, side, side];
            memory.push(&Extents::subarray(0, POINT, &sizes, &inside, &[cell, GHOSTS, GHOSTS, GHOSTS])?)?;
            requests += counts[2] * counts[1];
        }
        Ok(RankAccess { file, layout: BufferLayout::Extents(memory), requests })
    }

    fn fill(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        serial::check(self, rank, step)?;
        let bytes = |counts: [u64; 3]| counts.iter().product::<u64>() * POINT;
        serial::check_size(data, self.cells(rank).map(|(_, counts)| bytes(counts)).sum())?;
        let mut rest = data;
        for (starts, counts) in self.cells(rank) {
            let (cell, behind) = rest.split_at_mut(bytes(counts) as usize);
            self.fill_cell(step, starts, counts, cell);
            rest = behind;
        }
        Ok(())
    }

    fn totals(&self) -> Totals {
        let (writes, grid) = (self.iterations as u64, self.grid());
        let requests = writes * self.parts * grid * grid;
        Totals { requests, bytes: writes * self.blocks.bytes(), file_size: self.file_size }
    }

    /// Returns the closed form. A row of the grid is cut into q pieces, a plane into p; all ranks own parts of a
    /// layer of cells.
    fn closed_form(&self, division: Division) -> ClosedForm {
        let Totals { requests, bytes, .. } = self.totals();
        let begin = self.layout.begin(self.variable);
        let within = |bytes, grain| self.blocks.within(begin, bytes, grain);
        let record = self.blocks.bytes();
        let met = fan_in(division, FileSpan { bytes: record, grain: common(begin, record) }, self.ranks as u64, within);
        ClosedForm { requests, bytes, metadata_fan_in: Some(met.metadata), data_fan_in: Some(met.data) }
    }

    /// Writes the file with zeros in place of the header, which ranks do not write.
    fn write_serially(&self, file: &File) -> Result<(), PatternError> {
        let elements = self.iterations as u64 * self.grid().pow(3) * NUMBERS;
        serial::write(file, |out| {
            io::copy(&mut io::Read::take(io::repeat(0), self.layout.begin(self.variable)), out)?;
            (0..elements)
                .try_for_each(|element| out.write_all(&element_bytes(ValueKind::Double, self.variable.0, element)))
        })
    }

    fn netcdf(&self) -> Option<&dyn NetcdfCase> {
        Some(self)
    }
}

impl NetcdfCase for Btio {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn alignment(&self) -> Alignment {
        ALIGNMENT
    }

    /// Returns one put for each cell, as the benchmark posts them.
    fn puts(&self, rank: usize, step: usize) -> Result<Vec<Put>, PatternError> {
        serial::check(self, rank, step)?;
        let puts = self.cells(rank).map(|(starts, counts)| {
            let mut data = vec![0; (counts.iter().product::<u64>() * POINT) as usize];
            self.fill_cell(step, starts, counts, &mut data);
            let requests = Requests::from_iter([Self::part(step, starts, counts)]);
            Put { variable: self.variable, requests, data }
        });
        Ok(puts.collect())
    }
}

/// Defines the benchmark's file: one record variable over the grid.
fn define(grid: u64) -> Result<(Schema, VariableId), PatternError> {
    let mut schema = Schema::new(Format::Cdf5);
    let five = schema.define_dimension("FIVE_DBL", NUMBERS)?;
    let x = schema.define_dimension("X", grid)?;
    let y = schema.define_dimension("Y", grid)?;
    let z = schema.define_dimension("Z", grid)?;
    let dumps = schema.define_dimension("NUM_DUMPS", UNLIMITED)?;
    let variable = schema.define_variable("var", Type::Double, &[dumps, z, y, x, five])?;
    Ok((schema, variable))
}
