//! Reads decompositions from a map file of the E3SM-IO benchmark (NetCDF classic; the file is memory-mapped).
//!
//! For decomposition k the file has `Dk.dims` (attribute), `Dk.nreqs` (number of entries of every rank), `Dk.offsets`
//! and `Dk.lengths` (the entries, rank after rank, in elements), and possibly `Dk.fill_starts`: the number of a
//! rank's entries that are requests. The entries after them are elements without an owner, to which a rank writes
//! fill values, but only in fill mode, which is not used here.

use std::path::Path;

use tributary_netcdf::reader::{FileReader, Ints, ReadError};

use crate::error::PatternError;
use crate::source::SharedBytes;

use super::decomposition::{Decompositions, Entry, compare_levels};

/// Maximum number of decompositions in a file (the G case has 6).
const MOST_DECOMPOSITIONS: u64 = 100;

/// The decompositions of a map file, which are checked: every entry lies inside its array and inside one row, and no
/// element occurs twice.
pub struct DecompositionMap {
    name: String,
    ranks: usize,
    dims: Vec<Vec<u64>>,
    parts: Vec<MapDecomposition>,
    /// Pairs (which, base) such that decomposition `which` is `base` on every level.
    levels: Vec<(usize, usize)>,
}

/// One decomposition: the position of each rank's entries in the file, and the number of them that are requests.
struct MapDecomposition {
    ranks: Vec<(usize, usize)>,
    offsets: Ints<SharedBytes>,
    lengths: Ints<SharedBytes>,
}

impl MapDecomposition {
    fn entries(&self, rank: usize) -> impl Iterator<Item = (i32, i32)> + '_ {
        let (start, count) = self.ranks.get(rank).copied().unwrap_or((0, 0));
        self.offsets.range(start..start + count).zip(self.lengths.range(start..start + count))
    }
}

impl DecompositionMap {
    /// Maps and checks a file. O(entries) time; memory only for the numbers of entries per rank.
    ///
    /// # Errors
    /// The file is missing, has another format, is damaged, or is no decomposition map. The message is one line that
    /// says which and where.
    pub fn open(path: &Path) -> Result<Self, PatternError> {
        Self::from_bytes(&path.display().to_string(), SharedBytes::map(path, "a NetCDF file")?)
    }

    /// Checks a map in memory. Errors call it `name`.
    ///
    /// # Errors
    /// The errors of [`DecompositionMap::open`].
    pub fn from_bytes(name: &str, bytes: impl Into<SharedBytes>) -> Result<Self, PatternError> {
        Self::read(&FileReader::new(name, bytes.into())?)
    }

    fn read(file: &FileReader<SharedBytes>) -> Result<Self, PatternError> {
        let count = file.dimension("num_decomp")?;
        if count == 0 || count > MOST_DECOMPOSITIONS {
            let problem = format!("is {count}; allowed: 1 to {MOST_DECOMPOSITIONS}");
            return Err(file.error("dimension num_decomp", problem).into());
        }
        let ranks = file.dimension("decomp_nprocs")?;
        if ranks == 0 {
            return Err(file.error("dimension decomp_nprocs", "is 0; allowed: 1 or more").into());
        }
        let (mut dims, mut parts) = (Vec::new(), Vec::new());
        for label in 1..=count {
            let shape = shape(file, label)?;
            parts.push(part(file, label, ranks, &shape)?);
            dims.push(shape);
        }
        let name = file.name().to_string();
        let mut map = Self { name, ranks: parts[0].ranks.len(), dims, parts, levels: Vec::new() };
        map.find_levels();
        map.check_disjoint()?;
        Ok(map)
    }

    /// Finds decompositions that repeat a one-dimensional decomposition on every level.
    fn find_levels(&mut self) {
        for which in 0..self.parts.len() {
            if let Some(base) = (0..self.parts.len()).find(|&base| compare_levels(self, which, base)) {
                self.levels.push((which, base));
            }
        }
    }

    /// Checks that no element belongs to two ranks, or to one rank twice. A decomposition that repeats another on every level
    /// need not be checked.
    fn check_disjoint(&self) -> Result<(), PatternError> {
        for (which, part) in self.parts.iter().enumerate() {
            if self.levels.iter().any(|level| level.0 == which) {
                continue;
            }
            let all = (0..self.ranks).flat_map(|rank| part.entries(rank)).filter(|entry| entry.1 > 0);
            let mut all: Vec<(i32, i32)> = all.collect();
            all.sort_unstable();
            let end = |entry: (i32, i32)| i64::from(entry.0) + i64::from(entry.1);
            if let Some(pair) = all.windows(2).find(|pair| end(pair[0]) > i64::from(pair[1].0)) {
                let place = format!("variable D{}.offsets", which + 1);
                return Err(PatternError::input(&self.name, place, format!("element {} has two owners", pair[1].0)));
            }
        }
        Ok(())
    }
}

impl Decompositions for DecompositionMap {
    fn name(&self) -> &str {
        &self.name
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn dims(&self) -> &[Vec<u64>] {
        &self.dims
    }

    fn visit(&self, which: usize, rank: usize, visitor: &mut dyn FnMut(Entry)) {
        let Some(part) = self.parts.get(which) else { return };
        for (offset, length) in part.entries(rank) {
            visitor(Entry { offset: offset as u64, length: length as u64 });
        }
    }

    fn is_levels_of(&self, which: usize, base: usize) -> bool {
        self.levels.contains(&(which, base))
    }
}

/// Returns the dimensions `Dk.dims`, checked against `Dk.ndims` if the file has it.
fn shape(file: &FileReader<SharedBytes>, label: u64) -> Result<Vec<u64>, ReadError> {
    let place = format!("D{label}.dims");
    let dims = file.attribute_ints(&place)?;
    let wrong = |problem: String| Err(file.error(&format!("attribute {place}"), problem));
    if dims.is_empty() {
        return wrong("is empty".to_string());
    }
    if let Some(bad) = dims.iter().find(|&&length| length <= 0) {
        return wrong(format!("holds {bad}; allowed: 1 or more"));
    }
    let shape: Vec<u64> = dims.iter().map(|&length| length as u64).collect();
    if shape.iter().try_fold(1u64, |product, &d| product.checked_mul(d)).is_none_or(|p| p > i64::MAX as u64) {
        return wrong(format!("is {shape:?}: more than 2^63 - 1 elements"));
    }
    let ndims = file.attribute_ints(&format!("D{label}.ndims"))?;
    if ndims != [dims.len() as i32] {
        return Err(
            file.error(&format!("attribute D{label}.ndims"), format!("is {ndims:?}; D{label}.dims is {shape:?}"))
        );
    }
    Ok(shape)
}

/// Returns the entries of decomposition `label` after checking each.
fn part(file: &FileReader<SharedBytes>, label: u64, ranks: u64, shape: &[u64]) -> Result<MapDecomposition, ReadError> {
    let name = |part: &str| format!("D{label}.{part}");
    let total = file.dimension(&name("total_nreqs"))?;
    let nreqs = file.ints(&name("nreqs"), ranks)?;
    let fills =
        if file.has_variable(&name("fill_starts")) { Some(file.ints(&name("fill_starts"), ranks)?) } else { None };
    let part = MapDecomposition {
        ranks: rank_ranges(file, label, total, &nreqs, fills.as_ref())?,
        offsets: file.ints(&name("offsets"), total)?,
        lengths: file.ints(&name("lengths"), total)?,
    };
    for (index, (offset, length)) in part.offsets.iter().zip(part.lengths.iter()).enumerate() {
        if let Some((part, problem)) = entry_problem(offset, length, shape) {
            return Err(file.error(&format!("variable {}", name(part)), format!("entry {index} {problem}")));
        }
    }
    Ok(part)
}

/// Returns the number of the first entry, and the number of requests, of every rank.
fn rank_ranges(
    file: &FileReader<SharedBytes>,
    label: u64,
    total: u64,
    nreqs: &Ints<SharedBytes>,
    fills: Option<&Ints<SharedBytes>>,
) -> Result<Vec<(usize, usize)>, ReadError> {
    let place = format!("variable D{label}.nreqs");
    let mut start = 0u64;
    let mut ranges = Vec::new();
    for (rank, count) in nreqs.iter().enumerate() {
        if count < 0 {
            return Err(file.error(&place, format!("rank {rank} has {count}; allowed: 0 or more")));
        }
        let requests = fills.and_then(|fills| fills.range(rank..rank + 1).next()).unwrap_or(count);
        if requests < 0 || requests > count {
            let problem = format!("rank {rank} has {requests}; allowed: 0 to its D{label}.nreqs, {count}");
            return Err(file.error(&format!("variable D{label}.fill_starts"), problem));
        }
        ranges.push((start as usize, requests as usize));
        start += count as u64;
    }
    if start != total {
        return Err(file.error(&place, format!("sums to {start}; the dimension D{label}.total_nreqs is {total}")));
    }
    Ok(ranges)
}

/// Returns the file's variable and a description of the problem if an entry is wrong; None if it is right.
fn entry_problem(offset: i32, length: i32, shape: &[u64]) -> Option<(&'static str, String)> {
    let elements: u64 = shape.iter().product();
    let row = shape.last().copied().unwrap_or(1);
    let (Ok(first), Ok(count)) = (u64::try_from(offset), u64::try_from(length)) else {
        let part = if offset < 0 { "offsets" } else { "lengths" };
        return Some((part, format!("is {}; allowed: 0 or more", offset.min(length))));
    };
    if first + count > elements {
        return Some(("offsets", format!("ends at element {}; the array {shape:?} has {elements}", first + count)));
    }
    if first % row + count > row {
        return Some(("lengths", format!("is {count} from element {first} on: over the end of a row of {row}")));
    }
    None
}
