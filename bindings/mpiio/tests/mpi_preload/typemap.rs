//! Computes the bytes of a datatype by the definitions of MPI 4.1, section 5.1, one at a time.

use tributary_mpiio::abi::types::measures;

use super::recipe::{Dealt, Recipe, Way, predefined};

/// Returns the displacement of every byte in typemap order. Extents are those that MPI reports.
pub fn typemap(recipe: &Recipe) -> Result<Vec<i64>, i32> {
    let Some(&of) = recipe.parts().first() else {
        return leaf(recipe);
    };
    if let Recipe::Struct(members) = recipe {
        return structure(members);
    }
    let element = typemap(of)?;
    if element.is_empty() {
        // What MPI says of its extent is any number.
        return Ok(element);
    }
    let extent = extent(of)?;
    let copies = |count: i32, at: i64, element: &[i64]| -> Vec<i64> {
        (0..i64::from(count)).flat_map(|n| element.iter().map(move |byte| byte + at + n * extent)).collect()
    };
    Ok(match recipe {
        Recipe::Dup(_) | Recipe::Resized(..) => element,
        Recipe::Contiguous(count, _) => copies(*count, 0, &element),
        Recipe::Vector(count, block, stride, _) => {
            let at = |n: i32| i64::from(n) * i64::from(*stride) * extent;
            (0..*count).flat_map(|n| copies(*block, at(n), &element)).collect()
        }
        Recipe::Hvector(count, block, stride, _) => {
            (0..*count).flat_map(|n| copies(*block, i64::from(n) * stride, &element)).collect()
        }
        Recipe::Indexed(blocks, _) => {
            blocks.iter().flat_map(|&(length, at)| copies(length, i64::from(at) * extent, &element)).collect()
        }
        Recipe::Hindexed(blocks, _) => blocks.iter().flat_map(|&(length, at)| copies(length, at, &element)).collect(),
        Recipe::IndexedBlock(block, places, _) => {
            places.iter().flat_map(|&at| copies(*block, i64::from(at) * extent, &element)).collect()
        }
        Recipe::HindexedBlock(block, places, _) => places.iter().flat_map(|&at| copies(*block, at, &element)).collect(),
        Recipe::Subarray(dimensions, fortran, _) => {
            let chosen = dimensions.iter().map(|&[size, part, start]| (size, (start..start + part).collect()));
            elements(chosen.collect(), *fortran).into_iter().flat_map(|at| copies(1, at * extent, &element)).collect()
        }
        Recipe::Darray(rank, dimensions, fortran, _) => {
            let chosen = dealt(*rank, dimensions);
            elements(chosen, *fortran).into_iter().flat_map(|at| copies(1, at * extent, &element)).collect()
        }
        Recipe::Named(_) | Recipe::F90(_) | Recipe::Struct(_) => unreachable!("done above"),
    })
}

fn extent(recipe: &Recipe) -> Result<i64, i32> {
    Ok(measures(recipe.make(0)?.handle).unwrap().extent)
}

fn leaf(recipe: &Recipe) -> Result<Vec<i64>, i32> {
    let size = measures(recipe.make(0)?.handle).unwrap().size as i64;
    let hole = *recipe == predefined("MPI_SHORT_INT");
    Ok(if hole { vec![0, 1, 4, 5, 6, 7] } else { (0..size).collect() })
}

fn structure(members: &[(i32, i64, Recipe)]) -> Result<Vec<i64>, i32> {
    let mut all = Vec::new();
    for (length, at, of) in members {
        let element = typemap(of)?;
        let extent = if element.is_empty() { 0 } else { extent(of)? };
        for n in 0..i64::from(*length) {
            all.extend(element.iter().map(|byte| byte + at + n * extent));
        }
    }
    Ok(all)
}

/// Returns the numbers of an array's elements whose index in each dimension is among the chosen ones. `dimensions`
/// has the size and the chosen indices of each.
fn elements(mut dimensions: Vec<(i32, Vec<i32>)>, fortran: bool) -> Vec<i64> {
    if fortran {
        dimensions.reverse();
    }
    let add = |all: Vec<i64>, (size, chosen): (i32, Vec<i32>)| {
        all.iter().flat_map(|at| chosen.iter().map(move |&index| at * i64::from(size) + i64::from(index))).collect()
    };
    dimensions.into_iter().fold(vec![0], add)
}

/// Returns the size of each dimension and the indices that a process owns there.
fn dealt(rank: i32, dimensions: &[Dealt]) -> Vec<(i32, Vec<i32>)> {
    let mut left = rank;
    let mut all: Vec<_> = dimensions
        .iter()
        .rev()
        .map(|d| {
            let mine = left % d.processes;
            left /= d.processes;
            let block = match d.way {
                Way::Block => d.argument.unwrap_or((d.size + d.processes - 1) / d.processes),
                Way::Cyclic => d.argument.unwrap_or(1),
                Way::None => d.size,
            };
            (d.size, (0..d.size).filter(|index| index / block % d.processes == mine).collect())
        })
        .collect();
    all.reverse();
    all
}
