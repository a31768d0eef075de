//! Defines FLASH-IO's three files: dimensions, variables and attributes, in the benchmark's order.

use std::fmt;
use std::str::FromStr;

use tributary_netcdf::{Format, Schema, Type, VariableId};

use crate::error::PatternError;
use crate::value::ValueKind;

/// Number of variables that describe the tree of blocks; they come first.
pub(super) const TREE: usize = 6;
/// Length of a block's list of neighbours: faces, parent and children in three dimensions.
const NEIGHBOURS: u64 = 6 + 1 + 8;
/// Names of the unknowns in the checkpoint: hydrodynamics, and 13 abundances (`IONMAX` of the benchmark).
const UNKNOWNS: [&str; 24] = [
    "dens", "velx", "vely", "velz", "pres", "ener", "temp", "gamc", "game", "enuc", "gpot", "f1__", "f2__", "f3__",
    "f4__", "f5__", "f6__", "f7__", "f8__", "f9__", "f10_", "f11_", "f12_", "f13_",
];
/// Names of the unknowns in the plot files.
const PLOTTED: [&str; 4] = ["dens", "temp", "pres", "f1__"];

/// One of FLASH-IO's three files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlashFile {
    /// The checkpoint (`ncmpi_chk`): 24 unknowns as doubles.
    #[default]
    Checkpoint,
    /// The plot file of cell centres (`ncmpi_plt_cnt`): 4 unknowns as floats.
    PlotCenter,
    /// The plot file of cell corners (`ncmpi_plt_crn`): the same 4 unknowns as floats, one more value along each
    /// dimension.
    PlotCorner,
}

impl fmt::Display for FlashFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Checkpoint => "checkpoint",
            Self::PlotCenter => "plot-center",
            Self::PlotCorner => "plot-corner",
        })
    }
}

impl FromStr for FlashFile {
    type Err = PatternError;

    /// Parses the name with which the file is displayed.
    fn from_str(text: &str) -> Result<Self, PatternError> {
        let all = [Self::Checkpoint, Self::PlotCenter, Self::PlotCorner];
        let wrong = || PatternError::argument("file", text, "checkpoint, plot-center, plot-corner");
        all.into_iter().find(|file| file.to_string() == text).ok_or_else(wrong)
    }
}

/// A variable of the file. Its first dimension counts blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FlashVariable {
    pub id: VariableId,
    pub kind: ValueKind,
    /// Number of elements of a block along each other dimension, slowest first.
    pub shape: Vec<u64>,
}

impl FlashVariable {
    /// Returns the number of elements of a block.
    pub fn block_elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Returns the size of a block, in bytes.
    pub fn block_bytes(&self) -> u64 {
        self.block_elements() * self.kind.size() as u64
    }
}

/// Defines a file of `blocks` blocks in all; `cells` is the number of cells of a block along x, y, z.
pub(super) fn define(
    file: FlashFile,
    cells: [u64; 3],
    blocks: i32,
) -> Result<(Schema, Vec<FlashVariable>), PatternError> {
    let more = u64::from(file == FlashFile::PlotCorner);
    let mut points = [0; 3];
    let mut zones = [0i32; 3];
    for d in 0..3 {
        points[d] = cells[d].saturating_add(more);
        let fits = i32::try_from(points[d]).ok().filter(|_| cells[d] > 0);
        zones[d] =
            fits.ok_or_else(|| PatternError::argument("cells of a block", cells[d], "1 to 2^31 - 2 a dimension"))?;
    }
    let mut schema = Schema::new(Format::Cdf5);
    let total = schema.define_dimension("dim_tot_blocks", blocks as u64)?;
    let mut dimension = |name, length| schema.define_dimension(name, length).map(|id| (id, length));
    let x = dimension("dim_nxb", points[0])?;
    let y = dimension("dim_nyb", points[1])?;
    let z = dimension("dim_nzb", points[2])?;
    let neighbours = dimension("dim_NGID", NEIGHBOURS)?;
    let space = dimension("dim_NDIM", 3)?;
    let two = dimension("dim_2", 2)?;
    let (number, unknowns) = match file {
        FlashFile::Checkpoint => ((Type::Double, ValueKind::Double), &UNKNOWNS[..]),
        _ => ((Type::Float, ValueKind::Float), &PLOTTED[..]),
    };
    let integer = (Type::Int, ValueKind::Int);
    let tree = [
        ("lrefine", integer, vec![]),
        ("nodetype", integer, vec![]),
        ("gid", integer, vec![neighbours]),
        ("coordinates", number, vec![space]),
        ("blocksize", number, vec![space]),
        ("bndbox", number, vec![space, two]),
    ];
    let unknowns = unknowns.iter().map(|&name| (name, number, vec![z, y, x]));
    let mut variables = Vec::new();
    for (name, (external, kind), dimensions) in tree.into_iter().chain(unknowns) {
        let ids: Vec<_> = std::iter::once(total).chain(dimensions.iter().map(|dimension| dimension.0)).collect();
        let id = schema.define_variable(name, external, &ids)?;
        variables.push(FlashVariable { id, kind, shape: dimensions.iter().map(|dimension| dimension.1).collect() });
    }
    attributes(&mut schema, blocks, zones)?;
    Ok((schema, variables))
}

/// Sets the attributes in which the benchmark describes its run: the first step at time 0.
fn attributes(schema: &mut Schema, blocks: i32, zones: [i32; 3]) -> Result<(), PatternError> {
    schema.put_global_attribute("file_creation_time", "now")?;
    schema.put_global_attribute("flash_version", "FLASH I/O benchmark using Pnetcdf")?;
    let numbers = [("total_blocks", blocks), ("nsteps", 0), ("nxb", zones[0]), ("nyb", zones[1]), ("nzb", zones[2])];
    for (name, number) in numbers {
        schema.put_global_attribute(name, number)?;
    }
    schema.put_global_attribute("time", 0.0f64)?;
    Ok(())
}
