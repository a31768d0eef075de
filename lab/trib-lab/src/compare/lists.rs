//! Writes list files: the extents of every rank and step, for the C program (E3SM) and for other libraries without
//! datatypes.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use tributary::{BufferLayout, Error, Extent, Extents};
use tributary_benchmarks::e3sm::{Content, E3smCase, ElementType, History, Options};
use tributary_benchmarks::list::write_binary;
use tributary_benchmarks::{E3sm, Flash, FlashOptions, Pattern, PatternError, RankAccess, S3d, S3dOptions};

use super::cases::{PatternCase, Sizes};
use crate::cli::compare::MeasureOptions;
use trib::Failure;

/// Number of bytes of a double.
const DOUBLE: u64 = 8;
/// Number of ghost points on each side of a BTIO cell.
const GHOSTS: u64 = 2;
/// Numbers of bytes of the NetCDF headers of the C program's S3D and BTIO.
const S3D_HEADER: u64 = 592;
const BTIO_HEADER: u64 = 356;
/// Lengths of the slowest dimension of S3D's arrays.
const S3D_ARRAYS: [u64; 4] = [11, 3, 1, 1];
/// Number of bytes between two arrays of S3D in memory.
const S3D_GAP: u64 = 64;

/// Accesses of every rank in every step of a pattern.
pub struct StepLists {
    ranks: u64,
    steps: u64,
    access: Box<dyn Fn(u64, u64) -> Result<RankAccess, PatternError>>,
}

impl StepLists {
    /// Returns the lists of a pattern with its sizes; none for a pattern without data.
    ///
    /// # Errors
    /// A decomposition map that cannot be used.
    pub fn of(
        case: &PatternCase,
        sizes: &Sizes,
        ranks: u64,
        measure: &MeasureOptions,
    ) -> Result<Option<Self>, Failure> {
        if !case.lists && !case.is_listed() {
            return Ok(None);
        }
        if case.name.starts_with("flash") {
            return Ok(Some(Self::of_flash(sizes, ranks)?));
        }
        if case.is_listed() {
            return Ok(Some(Self::of_e3sm(case.name, ranks, measure)?));
        }
        let (program, sizes) = (case.program, sizes.clone());
        let steps = steps(program, &sizes);
        let access = move |rank, step| {
            let (file, memory) = extents(program, &sizes, ranks, rank, step)?;
            let requests = file.count();
            let layout = memory.map_or(BufferLayout::Contiguous, BufferLayout::Extents);
            Ok(RankAccess { file, layout, requests })
        };
        Ok(Some(Self { ranks, steps, access: Box::new(access) }))
    }

    /// Returns the lists of FLASH's checkpoint; the last two sizes are blocks and cells. A program has room for more
    /// blocks than it uses, so that there is a gap in memory behind each variable.
    fn of_flash(sizes: &Sizes, ranks: u64) -> Result<Self, Failure> {
        let options = FlashOptions { blocks: sizes[3], cells: [sizes[4]; 3], ..FlashOptions::default() };
        let pattern = Flash::new(ranks as usize, options)?;
        let access = move |rank, step| {
            let RankAccess { file, requests, .. } = pattern.rank_access(rank as usize, step as usize)?;
            let (mut memory, mut at) = (Extents::empty(), 0);
            for piece in file.iter() {
                memory.push(&Extents::contiguous(at, piece.len)?)?;
                at += (piece.len + piece.len / 4).next_multiple_of(DOUBLE);
            }
            Ok(RankAccess { file, layout: BufferLayout::Extents(memory), requests })
        };
        Ok(Self { ranks, steps: 1, access: Box::new(access) })
    }

    fn of_e3sm(name: &str, ranks: u64, measure: &MeasureOptions) -> Result<Self, Failure> {
        let case = match name {
            "e3sm-g" => E3smCase::G,
            "e3sm-i" => E3smCase::I,
            // This includes bytes that are written over a file.
            _ => E3smCase::F,
        };
        let content = Content { case, history: History::H0, element: ElementType::Double, records: 1 };
        let options = Options { content, map: measure.map_of(name), ranks: Some(ranks as usize), fold: true };
        let pattern = E3sm::open(&options)?;
        let steps = pattern.steps() as u64;
        let access = move |rank, step| pattern.rank_access(rank as usize, step as usize);
        Ok(Self { ranks, steps, access: Box::new(access) })
    }

    /// Returns the bytes that all ranks write in all steps, in ascending order. O(extents log extents).
    ///
    /// # Errors
    /// A map that cannot be used.
    pub fn written(&self) -> Result<Vec<Extent>, Failure> {
        let mut all = Vec::new();
        for (step, rank) in (0..self.steps).flat_map(|step| (0..self.ranks).map(move |rank| (step, rank))) {
            all.extend((self.access)(rank, step)?.file.iter());
        }
        all.sort_unstable_by_key(|extent| extent.offset);
        Ok(all)
    }

    /// Writes the files of all steps; returns the path prefix of their names.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, Failure> {
        let prefix = folder.join("list");
        for step in 0..self.steps {
            let name = |what: &str| folder.join(format!("list.{step}.{what}"));
            self.write_one(&name("file"), &|rank| Ok((self.access)(rank, step)?.file))?;
            let memory = |rank| {
                Ok(match (self.access)(rank, step)?.layout {
                    BufferLayout::Contiguous => Extents::empty(),
                    BufferLayout::Extents(extents) => extents,
                })
            };
            let gaps =
                (0..self.ranks).try_fold(false, |any, rank| Ok::<_, PatternError>(any || memory(rank)?.count() > 0))?;
            if gaps {
                self.write_one(&name("memory"), &memory)?;
            }
        }
        Ok(prefix)
    }

    fn write_one(&self, path: &Path, extents: &dyn Fn(u64) -> Result<Extents, PatternError>) -> Result<(), Failure> {
        let file = File::create(path).map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))?;
        write_binary(&mut BufWriter::new(file), self.ranks as usize, &mut |rank| extents(rank as u64))?;
        Ok(())
    }
}

/// Returns the number of steps in which the program has data.
fn steps(program: &str, sizes: &[u64]) -> u64 {
    match program {
        "append" | "tiny-moving" => sizes[0],
        "btio" | "btio-netcdf" => sizes[1],
        "ior" => sizes[0] / sizes[1] * sizes[2],
        _ => 1,
    }
}

/// Returns a rank's extents in a step: in the file, and in memory if it has gaps. The C program describes the same
/// extents by datatypes.
fn extents(
    program: &str,
    sizes: &[u64],
    ranks: u64,
    rank: u64,
    step: u64,
) -> Result<(Extents, Option<Extents>), PatternError> {
    let gaps = || Extents::strided(0, sizes[1], 2 * sizes[1] as i64, sizes[0]);
    Ok(match program {
        "btio" => btio(sizes[0], ranks, rank, step)?,
        "btio-netcdf" => {
            let (file, memory) = btio(sizes[0], ranks, rank, step)?;
            (file.shift(BTIO_HEADER)?, memory)
        }
        "s3d" => s3d(sizes, ranks, rank)?,
        "block4d" => (block4d(sizes, rank)?, None),
        "ior" => {
            let transfers = sizes[0] / sizes[1];
            let at = (step / transfers * ranks + rank) * sizes[0] + step % transfers * sizes[1];
            (Extents::contiguous(at, sizes[1])?, None)
        }
        "memory" => {
            let bytes = sizes[0] * sizes[1];
            (Extents::contiguous(rank * bytes, bytes)?, Some(gaps()?))
        }
        "pieces" => (Extents::strided(rank * sizes[1], sizes[1], (ranks * sizes[1]) as i64, sizes[0])?, Some(gaps()?)),
        "append" => {
            let at = (step * sizes[1] * ranks + rank) * sizes[2];
            (Extents::strided(at, sizes[2], (ranks * sizes[2]) as i64, sizes[1])?, None)
        }
        "tiny-moving" => (Extents::contiguous((step * ranks + rank) * 8, 8)?, None),
        _ => (Extents::contiguous(rank * sizes[0], sizes[0])?, None),
    })
}

/// Returns a rank's cells in BTIO: one in every layer, on a diagonal, with ghost points around them in memory.
fn btio(side: u64, ranks: u64, rank: u64, step: u64) -> Result<(Extents, Option<Extents>), Error> {
    let parts = ranks.isqrt();
    let cell = side / parts;
    let (point, room) = (5 * DOUBLE, cell + 2 * GHOSTS);
    let (mut file, mut memory) = (Extents::empty(), Extents::empty());
    for layer in 0..parts {
        let (x, y) = ((rank % parts + layer) % parts, (rank / parts + parts - layer) % parts);
        let starts = [layer, y, x].map(|place| place * cell);
        file.push(&Extents::subarray(step * side.pow(3) * point, point, &[side; 3], &[cell; 3], &starts)?)?;
        memory.push(&Extents::subarray(layer * room.pow(3) * point, point, &[room; 3], &[cell; 3], &[GHOSTS; 3])?)?;
    }
    Ok((file, Some(memory)))
}

/// Returns a rank's block of S3D's four arrays, each with memory of its own.
fn s3d(sizes: &[u64], ranks: u64, rank: u64) -> Result<(Extents, Option<Extents>), PatternError> {
    let three = |at: usize| [sizes[at], sizes[at + 1], sizes[at + 2]];
    let options = S3dOptions { points: Some(three(0)), grid: Some(three(3)), call_per_array: false };
    let file = S3d::new(ranks as usize, options)?.rank_access(rank as usize, 0)?.file.shift(S3D_HEADER)?;
    let points: u64 = (0..3).map(|d| sizes[d] / sizes[3 + d]).product();
    let (mut memory, mut at) = (Extents::empty(), 0);
    for length in S3D_ARRAYS {
        memory.push(&Extents::contiguous(at, length * points * DOUBLE)?)?;
        at += length * points * DOUBLE + S3D_GAP;
    }
    Ok((file, Some(memory)))
}

/// Returns a rank's block of the lattice; x varies fastest, in the file and among the ranks.
fn block4d(sizes: &[u64], rank: u64) -> Result<Extents, Error> {
    let (mut whole, mut own, mut starts, mut rest) = ([0; 4], [0; 4], [0; 4], rank);
    for dimension in 0..4 {
        let (slot, parts) = (3 - dimension, sizes[4 + dimension]);
        whole[slot] = sizes[dimension];
        own[slot] = sizes[dimension] / parts;
        starts[slot] = rest % parts * own[slot];
        rest /= parts;
    }
    Extents::subarray(0, sizes[8], &whole, &own, &starts)
}
