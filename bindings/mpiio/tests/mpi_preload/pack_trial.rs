//! Compares three forms of one datatype: flattened, packed by MPI, and by MPI's definitions. All must have the same
//! bytes in the same order.

use tributary::{BufferLayout, Extent, Extents};
use tributary_mpiio::abi::types::{Measures, measures};
use tributary_mpiio::datatype::{FlatMemory, FlatType, flattened};
use tributary_testing::mpiexec::is_mpich;

use super::recipe::{Made, Recipe, packed};
use super::typemap::typemap;

/// Maximum distance of bytes from the buffer's address, such that two bytes can encode a position.
const REACH: i64 = 1 << 15;
/// Position that is encoded in two bytes which MPI_Pack left unchanged: no byte lies there.
const UNTOUCHED: i64 = -REACH;
/// Maximum number of bytes of data in an element: more would only take time.
const LARGE: u64 = 6000;

/// The result for one datatype.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Agrees,
    /// The flattened datatype matches its definition, but MPI packs other bytes.
    PackDiffers(String),
    /// The flattened datatype matches its definition; MPI_Pack was not called, because this MPI crashes.
    NotPacked,
    /// MPI refuses to make the datatype.
    Refused,
    /// The datatype reaches too far, or has too many bytes.
    Large,
    Wrong(String),
}

/// Memory whose bytes encode their position: one copy has the lower half of each position, one the upper.
pub struct Probe([Vec<u8>; 2]);

impl Probe {
    pub fn new() -> Self {
        let positions = || 0..2 * REACH as usize;
        Self([positions().map(|at| at as u8).collect(), positions().map(|at| (at >> 8) as u8).collect()])
    }

    /// Returns the positions of an element's bytes, relative to the buffer's address, in the order in which MPI packs
    /// them.
    pub fn positions(&self, made: &Made) -> Result<Vec<i64>, i32> {
        let plane = |plane: &Vec<u8>| packed(plane[REACH as usize..].as_ptr(), 1, made.handle);
        let (low, high) = (plane(&self.0[0])?, plane(&self.0[1])?);
        Ok(low.iter().zip(&high).map(|(&low, &high)| i64::from(low) + 256 * i64::from(high) - REACH).collect())
    }

    /// Flattens the datatype and compares it with MPI_Pack: in memory, and as a file view from `displacement` on.
    pub fn try_one(&self, recipe: &Recipe, large: u32, displacement: i64) -> Outcome {
        let Ok(made) = recipe.make(large) else {
            return Outcome::Refused;
        };
        let all = measures(made.handle).unwrap();
        if all.size > LARGE || (all.size > 0 && !within_reach(&all)) {
            return Outcome::Large;
        }
        let Ok(defined) = typemap(recipe) else {
            return Outcome::Refused;
        };
        if kills_pack(recipe) {
            return compare(&made, &defined, displacement).map_or_else(Outcome::Wrong, |()| Outcome::NotPacked);
        }
        let packed = self.positions(&made).unwrap();
        let is_same = defined.len() == packed.len()
            && defined.iter().zip(&packed).all(|(at, from)| at == from || (*from == UNTOUCHED && has_padding(recipe)));
        match (compare(&made, &defined, displacement), is_same) {
            (Ok(()), true) => Outcome::Agrees,
            (Ok(()), false) => Outcome::PackDiffers(format!("{defined:?}, MPI packs {packed:?}")),
            (Err(what), _) => Outcome::Wrong(what),
        }
    }
}

/// Returns true if MPI does not pack all bytes: MPICH packs only the 10 bytes of a `long double` that have a meaning,
/// of 16.
fn has_padding(recipe: &Recipe) -> bool {
    is_mpich() && (recipe.constructor().starts_with("MPI_LONG_DOUBLE") || recipe.parts().into_iter().any(has_padding))
}

/// Returns true if MPI may crash: MPICH 4.0 divides by zero when it packs some structs with a part that has no data,
/// for example a struct of MPI_INT and of MPI_Type_vector(1, 0, 1) over a datatype that begins at byte 75.
fn kills_pack(recipe: &Recipe) -> bool {
    fn is_hollow(part: &Recipe) -> bool {
        let is_named = matches!(part, Recipe::Named(_));
        !is_named && measures(part.make(0).unwrap().handle).unwrap().size == 0
            || part.parts().into_iter().any(is_hollow)
    }
    let parts = recipe.parts();
    is_mpich()
        && (matches!(recipe, Recipe::Struct(_)) && parts.iter().copied().any(is_hollow)
            || parts.into_iter().any(kills_pack))
}

/// Compares a flattened datatype with the bytes of one element: in memory, and as a file view from `displacement` on.
fn compare(made: &Made, one: &[i64], displacement: i64) -> Result<(), String> {
    let flat = flattened(made.handle).map_err(|error| error.to_string())?;
    let extent = measures(made.handle).map_err(|error| error.to_string())?.extent;
    let mut tiles = Vec::new();
    for count in 1..4 {
        tiles.extend(one.iter().map(|at| at + (count - 1) * extent));
        same(&format!("{count} in memory"), &in_memory(&flat, count as u64)?, &tiles)?;
    }
    let expected: Vec<_> = tiles.iter().map(|at| at + displacement).collect();
    in_a_file(&flat, displacement, &expected)
}

/// Returns true if three elements lie in the memory of the probe. (MPI may report any extent for an element without
/// data.)
fn within_reach(all: &Measures) -> bool {
    let last = |at: i64| all.extent.checked_mul(2).and_then(|far| at.checked_add(far));
    let ends = [Some(all.true_lower_bound), all.true_lower_bound.checked_add(all.true_extent)];
    ends.into_iter().flat_map(|end| [end, end.and_then(last)]).all(|at| at.is_some_and(|at| at.abs() < REACH))
}

fn same(what: &str, got: &[i64], expected: &[i64]) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{what}: {got:?}, expected {expected:?}")) }
}

fn bytes(extents: &Extents) -> Vec<i64> {
    extents.iter().flat_map(|Extent { offset, len }| offset as i64..(offset + len) as i64).collect()
}

fn in_memory(flat: &FlatType, count: u64) -> Result<Vec<i64>, String> {
    let FlatMemory { displacement, span, layout } = flat.memory(count).map_err(|error| error.to_string())?;
    let data = flat.size() * count;
    layout.check(data, span as usize).map_err(|error| error.to_string())?;
    let at = match layout {
        BufferLayout::Contiguous if data != span => return Err(format!("{data} contiguous bytes in {span}")),
        BufferLayout::Contiguous => (0..span as i64).collect(),
        BufferLayout::Extents(extents) => bytes(&extents),
    };
    Ok(at.into_iter().map(|at| at + displacement).collect())
}

/// Compares a file view of three elements from `displacement` on with the expected bytes, whole and in parts.
fn in_a_file(flat: &FlatType, displacement: i64, expected: &[i64]) -> Result<(), String> {
    let view = flat.view(displacement);
    let first = &expected[..expected.len() / 3];
    if flat.size() > 0 && (flat.extent() <= 0 || first.iter().any(|&at| at < 0)) {
        return view.err().map(|_| ()).ok_or_else(|| "a view that cannot be".to_string());
    }
    let Some(view) = view.map_err(|error| error.to_string())? else {
        return if expected.is_empty() { Ok(()) } else { Err("no view of a type with data".to_string()) };
    };
    let all = expected.len();
    for (skip, len) in [(0, all), (all / 3, all / 3), (all / 5, all / 2), (all - 1, 1)] {
        let got = view.select(skip as u64, len as u64).map_err(|error| error.to_string())?;
        same(&format!("view from {displacement}, bytes {skip} + {len}"), &bytes(&got), &expected[skip..skip + len])?;
    }
    Ok(())
}
