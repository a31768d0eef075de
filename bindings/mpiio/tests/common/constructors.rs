//! MPI's constructors of datatypes, in both forms.

use std::ffi::c_int;

use mpi::ffi;
use tributary_mpiio::abi::types::words;
use tributary_mpiio::abi::{MPI_Datatype, datatype_null};

use super::recipe::{Dealt, F90, Recipe, Way};

/// With counts that are `int`.
pub fn small(recipe: &Recipe, old: &[MPI_Datatype], new: *mut MPI_Datatype) -> c_int {
    let of = old.first().copied();
    let length = |list: usize| list as c_int;
    let addresses = |list: Vec<i64>| list.into_iter().map(|at| at as ffi::MPI_Aint).collect::<Vec<_>>();
    // SAFETY: lists are as long as their lengths say; recipes that need a datatype have one.
    unsafe {
        let of = of.unwrap_or_else(datatype_null);
        match recipe {
            Recipe::Named(_) => unreachable!("nothing to make"),
            Recipe::F90(F90::Real) => ffi::MPI_Type_create_f90_real(6, 30, new),
            Recipe::F90(F90::Complex) => ffi::MPI_Type_create_f90_complex(6, 30, new),
            Recipe::F90(F90::Integer) => ffi::MPI_Type_create_f90_integer(6, new),
            Recipe::Dup(_) => ffi::MPI_Type_dup(of, new),
            Recipe::Contiguous(count, _) => ffi::MPI_Type_contiguous(*count, of, new),
            Recipe::Vector(count, block, stride, _) => ffi::MPI_Type_vector(*count, *block, *stride, of, new),
            Recipe::Hvector(count, block, stride, _) => {
                ffi::MPI_Type_create_hvector(*count, *block, *stride as ffi::MPI_Aint, of, new)
            }
            Recipe::Indexed(blocks, _) => {
                let (lengths, places): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                ffi::MPI_Type_indexed(length(blocks.len()), lengths.as_ptr(), places.as_ptr(), of, new)
            }
            Recipe::Hindexed(blocks, _) => {
                let (lengths, places): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                let places = addresses(places);
                ffi::MPI_Type_create_hindexed(length(blocks.len()), lengths.as_ptr(), places.as_ptr(), of, new)
            }
            Recipe::IndexedBlock(block, places, _) => {
                ffi::MPI_Type_create_indexed_block(length(places.len()), *block, places.as_ptr(), of, new)
            }
            Recipe::HindexedBlock(block, places, _) => {
                let places = addresses(places.clone());
                ffi::MPI_Type_create_hindexed_block(length(places.len()), *block, places.as_ptr(), of, new)
            }
            Recipe::Struct(members) => {
                let lengths: Vec<_> = members.iter().map(|member| member.0).collect();
                let places = addresses(members.iter().map(|member| member.1).collect());
                let (lengths, places) = (lengths.as_ptr(), places.as_ptr());
                ffi::MPI_Type_create_struct(length(members.len()), lengths, places, old.as_ptr(), new)
            }
            Recipe::Subarray(dimensions, fortran, _) => {
                let [sizes, subsizes, starts] = [0, 1, 2].map(|which| column(dimensions, which));
                let (sizes, subsizes, starts) = (sizes.as_ptr(), subsizes.as_ptr(), starts.as_ptr());
                let count = length(dimensions.len());
                ffi::MPI_Type_create_subarray(count, sizes, subsizes, starts, order(*fortran), of, new)
            }
            Recipe::Darray(rank, dimensions, fortran, _) => {
                let Lists { processes, ways, arguments, grid } = Lists::of(dimensions);
                let sizes: Vec<_> = dimensions.iter().map(|d| d.size).collect();
                let (ways, arguments, grid) = (ways.as_ptr(), arguments.as_ptr(), grid.as_ptr());
                let (count, sizes, order) = (length(dimensions.len()), sizes.as_ptr(), order(*fortran));
                ffi::MPI_Type_create_darray(processes, *rank, count, sizes, ways, arguments, grid, order, of, new)
            }
            Recipe::Resized(lower, extent, _) => {
                ffi::MPI_Type_create_resized(of, *lower as ffi::MPI_Aint, *extent as ffi::MPI_Aint, new)
            }
        }
    }
}

/// With counts that are `MPI_Count`; those that have no such form as they are.
#[cfg(large_count)]
pub fn large(recipe: &Recipe, old: &[MPI_Datatype], new: *mut MPI_Datatype) -> c_int {
    let of = old.first().copied();
    let length = |list: usize| list as ffi::MPI_Count;
    let counts = |list: &[c_int]| list.iter().map(|&count| ffi::MPI_Count::from(count)).collect::<Vec<_>>();
    // SAFETY: lists are as long as their lengths say; recipes that need a datatype have one.
    unsafe {
        let of = of.unwrap_or_else(datatype_null);
        match recipe {
            Recipe::Named(_) | Recipe::F90(_) | Recipe::Dup(_) => small(recipe, old, new),
            Recipe::Contiguous(count, _) => ffi::MPI_Type_contiguous_c((*count).into(), of, new),
            Recipe::Vector(count, block, stride, _) => {
                ffi::MPI_Type_vector_c((*count).into(), (*block).into(), (*stride).into(), of, new)
            }
            Recipe::Hvector(count, block, stride, _) => {
                ffi::MPI_Type_create_hvector_c((*count).into(), (*block).into(), *stride, of, new)
            }
            Recipe::Indexed(blocks, _) => {
                let (lengths, places): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                let (lengths, places) = (counts(&lengths), counts(&places));
                ffi::MPI_Type_indexed_c(length(blocks.len()), lengths.as_ptr(), places.as_ptr(), of, new)
            }
            Recipe::Hindexed(blocks, _) => {
                let (lengths, places): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                let lengths = counts(&lengths);
                ffi::MPI_Type_create_hindexed_c(length(blocks.len()), lengths.as_ptr(), places.as_ptr(), of, new)
            }
            Recipe::IndexedBlock(block, places, _) => {
                let places = counts(places);
                let count = length(places.len());
                ffi::MPI_Type_create_indexed_block_c(count, (*block).into(), places.as_ptr(), of, new)
            }
            Recipe::HindexedBlock(block, places, _) => {
                let count = length(places.len());
                ffi::MPI_Type_create_hindexed_block_c(count, (*block).into(), places.as_ptr(), of, new)
            }
            Recipe::Struct(members) => {
                let lengths = counts(&members.iter().map(|member| member.0).collect::<Vec<_>>());
                let places: Vec<_> = members.iter().map(|member| member.1).collect();
                let (lengths, places) = (lengths.as_ptr(), places.as_ptr());
                ffi::MPI_Type_create_struct_c(length(members.len()), lengths, places, old.as_ptr(), new)
            }
            Recipe::Subarray(dimensions, fortran, _) => {
                let [sizes, subsizes, starts] = [0, 1, 2].map(|which| counts(&column(dimensions, which)));
                let (sizes, subsizes, starts) = (sizes.as_ptr(), subsizes.as_ptr(), starts.as_ptr());
                let count = dimensions.len() as c_int;
                ffi::MPI_Type_create_subarray_c(count, sizes, subsizes, starts, order(*fortran), of, new)
            }
            Recipe::Darray(rank, dimensions, fortran, _) => {
                let Lists { processes, ways, arguments, grid } = Lists::of(dimensions);
                let sizes = counts(&dimensions.iter().map(|d| d.size).collect::<Vec<_>>());
                let (ways, arguments, grid) = (ways.as_ptr(), arguments.as_ptr(), grid.as_ptr());
                let (count, sizes, order) = (dimensions.len() as c_int, sizes.as_ptr(), order(*fortran));
                ffi::MPI_Type_create_darray_c(processes, *rank, count, sizes, ways, arguments, grid, order, of, new)
            }
            Recipe::Resized(lower, extent, _) => ffi::MPI_Type_create_resized_c(of, *lower, *extent, new),
        }
    }
}

/// This MPI has no large counts.
#[cfg(not(large_count))]
pub fn large(recipe: &Recipe, old: &[MPI_Datatype], new: *mut MPI_Datatype) -> c_int {
    small(recipe, old, new)
}

fn column(dimensions: &[[c_int; 3]], which: usize) -> Vec<c_int> {
    dimensions.iter().map(|dimension| dimension[which]).collect()
}

#[allow(clippy::unnecessary_cast)] // i32 with one MPI library, u32 with the other
fn order(fortran: bool) -> c_int {
    if fortran { ffi::MPI_ORDER_FORTRAN as c_int } else { ffi::MPI_ORDER_C as c_int }
}

/// The lists that describe a distribution.
struct Lists {
    processes: c_int,
    ways: Vec<c_int>,
    arguments: Vec<c_int>,
    grid: Vec<c_int>,
}

impl Lists {
    #[allow(clippy::unnecessary_cast)] // i32 with one MPI library, u32 with the other
    fn of(dimensions: &[Dealt]) -> Self {
        let way = |dealt: &Dealt| match dealt.way {
            Way::Block => ffi::MPI_DISTRIBUTE_BLOCK as c_int,
            Way::Cyclic => ffi::MPI_DISTRIBUTE_CYCLIC as c_int,
            Way::None => ffi::MPI_DISTRIBUTE_NONE as c_int,
        };
        let default = words().default as c_int;
        Self {
            processes: dimensions.iter().map(|dealt| dealt.processes).product(),
            ways: dimensions.iter().map(way).collect(),
            arguments: dimensions.iter().map(|dealt| dealt.argument.unwrap_or(default)).collect(),
            grid: dimensions.iter().map(|dealt| dealt.processes).collect(),
        }
    }
}
