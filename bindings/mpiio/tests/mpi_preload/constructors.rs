//! Calls MPI's constructors of datatypes, in both forms: with `int` counts and with large counts.

use std::ffi::c_int;

use tributary_abi::{HandleArray, MPI_Aint, MPI_Count, MPI_Datatype, constants, handles, mpi_functions};

use super::recipe::{Dealt, F90, Recipe, Way};

// In both forms, as MPI declares them.
mpi_functions! {
    fn MPI_Type_create_f90_real(digits: c_int, range: c_int, new: *mut MPI_Datatype);
    fn MPI_Type_create_f90_complex(digits: c_int, range: c_int, new: *mut MPI_Datatype);
    fn MPI_Type_create_f90_integer(range: c_int, new: *mut MPI_Datatype);
    fn MPI_Type_dup(of: MPI_Datatype, new: *mut MPI_Datatype);
    fn MPI_Type_contiguous(count: c_int, of: MPI_Datatype, new: *mut MPI_Datatype);
    fn MPI_Type_contiguous_c(count: MPI_Count, of: MPI_Datatype, new: *mut MPI_Datatype);
    fn MPI_Type_vector(count: c_int, block: c_int, stride: c_int, of: MPI_Datatype, new: *mut MPI_Datatype);
    fn MPI_Type_vector_c(
        count: MPI_Count, block: MPI_Count, stride: MPI_Count, of: MPI_Datatype, new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_hvector(
        count: c_int, block: c_int, stride: MPI_Aint, of: MPI_Datatype, new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_hvector_c(
        count: MPI_Count, block: MPI_Count, stride: MPI_Count, of: MPI_Datatype, new: *mut MPI_Datatype,
    );
    fn MPI_Type_indexed(
        count: c_int, lengths: *const c_int, places: *const c_int, of: MPI_Datatype, new: *mut MPI_Datatype,
    );
    fn MPI_Type_indexed_c(
        count: MPI_Count, lengths: *const MPI_Count, places: *const MPI_Count, of: MPI_Datatype,
        new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_hindexed(
        count: c_int, lengths: *const c_int, places: *const MPI_Aint, of: MPI_Datatype, new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_hindexed_c(
        count: MPI_Count, lengths: *const MPI_Count, places: *const MPI_Count, of: MPI_Datatype,
        new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_indexed_block(
        count: c_int, block: c_int, places: *const c_int, of: MPI_Datatype, new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_indexed_block_c(
        count: MPI_Count, block: MPI_Count, places: *const MPI_Count, of: MPI_Datatype, new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_hindexed_block(
        count: c_int, block: c_int, places: *const MPI_Aint, of: MPI_Datatype, new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_hindexed_block_c(
        count: MPI_Count, block: MPI_Count, places: *const MPI_Count, of: MPI_Datatype, new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_struct(
        count: c_int, lengths: *const c_int, places: *const MPI_Aint, of: *const MPI_Datatype,
        new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_struct_c(
        count: MPI_Count, lengths: *const MPI_Count, places: *const MPI_Count, of: *const MPI_Datatype,
        new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_subarray(
        dimensions: c_int, sizes: *const c_int, subsizes: *const c_int, starts: *const c_int, order: c_int,
        of: MPI_Datatype, new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_subarray_c(
        dimensions: c_int, sizes: *const MPI_Count, subsizes: *const MPI_Count, starts: *const MPI_Count,
        order: c_int, of: MPI_Datatype, new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_darray(
        ranks: c_int, rank: c_int, dimensions: c_int, sizes: *const c_int, ways: *const c_int,
        arguments: *const c_int, grid: *const c_int, order: c_int, of: MPI_Datatype, new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_darray_c(
        ranks: c_int, rank: c_int, dimensions: c_int, sizes: *const MPI_Count, ways: *const c_int,
        arguments: *const c_int, grid: *const c_int, order: c_int, of: MPI_Datatype, new: *mut MPI_Datatype,
    );
    fn MPI_Type_create_resized(of: MPI_Datatype, lower: MPI_Aint, extent: MPI_Aint, new: *mut MPI_Datatype);
    fn MPI_Type_create_resized_c(of: MPI_Datatype, lower: MPI_Count, extent: MPI_Count, new: *mut MPI_Datatype);
}

/// Makes a datatype by the constructor with `int` counts.
pub fn small(recipe: &Recipe, old: &[MPI_Datatype], new: *mut MPI_Datatype) -> c_int {
    let of = old.first().copied();
    let length = |list: usize| list as c_int;
    let addresses = |list: Vec<i64>| list;
    // SAFETY: lists are as long as their lengths say; recipes that need a datatype have one.
    unsafe {
        let of = of.unwrap_or(handles().datatype_null);
        match recipe {
            Recipe::Named(_) => unreachable!("nothing to make"),
            Recipe::F90(F90::Real) => MPI_Type_create_f90_real(6, 30, new),
            Recipe::F90(F90::Complex) => MPI_Type_create_f90_complex(6, 30, new),
            Recipe::F90(F90::Integer) => MPI_Type_create_f90_integer(6, new),
            Recipe::Dup(_) => MPI_Type_dup(of, new),
            Recipe::Contiguous(count, _) => MPI_Type_contiguous(*count, of, new),
            Recipe::Vector(count, block, stride, _) => MPI_Type_vector(*count, *block, *stride, of, new),
            Recipe::Hvector(count, block, stride, _) => MPI_Type_create_hvector(*count, *block, *stride, of, new),
            Recipe::Indexed(blocks, _) => {
                let (lengths, places): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                MPI_Type_indexed(length(blocks.len()), lengths.as_ptr(), places.as_ptr(), of, new)
            }
            Recipe::Hindexed(blocks, _) => {
                let (lengths, places): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                let places = addresses(places);
                MPI_Type_create_hindexed(length(blocks.len()), lengths.as_ptr(), places.as_ptr(), of, new)
            }
            Recipe::IndexedBlock(block, places, _) => {
                MPI_Type_create_indexed_block(length(places.len()), *block, places.as_ptr(), of, new)
            }
            Recipe::HindexedBlock(block, places, _) => {
                let places = addresses(places.clone());
                MPI_Type_create_hindexed_block(length(places.len()), *block, places.as_ptr(), of, new)
            }
            Recipe::Struct(members) => {
                let lengths: Vec<_> = members.iter().map(|member| member.0).collect();
                let places = addresses(members.iter().map(|member| member.1).collect());
                let (lengths, places) = (lengths.as_ptr(), places.as_ptr());
                MPI_Type_create_struct(
                    length(members.len()),
                    lengths,
                    places,
                    old.iter().copied().collect::<HandleArray<_>>().as_ptr(),
                    new,
                )
            }
            Recipe::Subarray(dimensions, fortran, _) => {
                let [sizes, subsizes, starts] = [0, 1, 2].map(|which| column(dimensions, which));
                let (sizes, subsizes, starts) = (sizes.as_ptr(), subsizes.as_ptr(), starts.as_ptr());
                let count = length(dimensions.len());
                MPI_Type_create_subarray(count, sizes, subsizes, starts, order(*fortran), of, new)
            }
            Recipe::Darray(rank, dimensions, fortran, _) => {
                let Lists { processes, ways, arguments, grid } = Lists::of(dimensions);
                let sizes: Vec<_> = dimensions.iter().map(|d| d.size).collect();
                let (ways, arguments, grid) = (ways.as_ptr(), arguments.as_ptr(), grid.as_ptr());
                let (count, sizes, order) = (length(dimensions.len()), sizes.as_ptr(), order(*fortran));
                MPI_Type_create_darray(processes, *rank, count, sizes, ways, arguments, grid, order, of, new)
            }
            Recipe::Resized(lower, extent, _) => MPI_Type_create_resized(of, *lower, *extent, new),
        }
    }
}

/// Returns true if this MPI library has functions with large counts.
pub fn has_large_counts() -> bool {
    tributary_abi::function(c"PMPI_Type_contiguous_c").is_some()
}

/// Makes a datatype by the constructor with counts of type `MPI_Count`. Uses the other form if the constructor has no
/// such form, or if MPI has no large counts.
pub fn large(recipe: &Recipe, old: &[MPI_Datatype], new: *mut MPI_Datatype) -> c_int {
    let of = old.first().copied();
    let length = |list: usize| list as MPI_Count;
    let counts = |list: &[c_int]| list.iter().map(|&count| MPI_Count::from(count)).collect::<Vec<_>>();
    if !has_large_counts() {
        return small(recipe, old, new);
    }
    // SAFETY: lists are as long as their lengths say; recipes that need a datatype have one.
    unsafe {
        let of = of.unwrap_or(handles().datatype_null);
        match recipe {
            Recipe::Named(_) | Recipe::F90(_) | Recipe::Dup(_) => small(recipe, old, new),
            Recipe::Contiguous(count, _) => MPI_Type_contiguous_c((*count).into(), of, new),
            Recipe::Vector(count, block, stride, _) => {
                MPI_Type_vector_c((*count).into(), (*block).into(), (*stride).into(), of, new)
            }
            Recipe::Hvector(count, block, stride, _) => {
                MPI_Type_create_hvector_c((*count).into(), (*block).into(), *stride, of, new)
            }
            Recipe::Indexed(blocks, _) => {
                let (lengths, places): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                let (lengths, places) = (counts(&lengths), counts(&places));
                MPI_Type_indexed_c(length(blocks.len()), lengths.as_ptr(), places.as_ptr(), of, new)
            }
            Recipe::Hindexed(blocks, _) => {
                let (lengths, places): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                let lengths = counts(&lengths);
                MPI_Type_create_hindexed_c(length(blocks.len()), lengths.as_ptr(), places.as_ptr(), of, new)
            }
            Recipe::IndexedBlock(block, places, _) => {
                let places = counts(places);
                let count = length(places.len());
                MPI_Type_create_indexed_block_c(count, (*block).into(), places.as_ptr(), of, new)
            }
            Recipe::HindexedBlock(block, places, _) => {
                let count = length(places.len());
                MPI_Type_create_hindexed_block_c(count, (*block).into(), places.as_ptr(), of, new)
            }
            Recipe::Struct(members) => {
                let lengths = counts(&members.iter().map(|member| member.0).collect::<Vec<_>>());
                let places: Vec<_> = members.iter().map(|member| member.1).collect();
                let (lengths, places) = (lengths.as_ptr(), places.as_ptr());
                MPI_Type_create_struct_c(
                    length(members.len()),
                    lengths,
                    places,
                    old.iter().copied().collect::<HandleArray<_>>().as_ptr(),
                    new,
                )
            }
            Recipe::Subarray(dimensions, fortran, _) => {
                let [sizes, subsizes, starts] = [0, 1, 2].map(|which| counts(&column(dimensions, which)));
                let (sizes, subsizes, starts) = (sizes.as_ptr(), subsizes.as_ptr(), starts.as_ptr());
                let count = dimensions.len() as c_int;
                MPI_Type_create_subarray_c(count, sizes, subsizes, starts, order(*fortran), of, new)
            }
            Recipe::Darray(rank, dimensions, fortran, _) => {
                let Lists { processes, ways, arguments, grid } = Lists::of(dimensions);
                let sizes = counts(&dimensions.iter().map(|d| d.size).collect::<Vec<_>>());
                let (ways, arguments, grid) = (ways.as_ptr(), arguments.as_ptr(), grid.as_ptr());
                let (count, sizes, order) = (dimensions.len() as c_int, sizes.as_ptr(), order(*fortran));
                MPI_Type_create_darray_c(processes, *rank, count, sizes, ways, arguments, grid, order, of, new)
            }
            Recipe::Resized(lower, extent, _) => MPI_Type_create_resized_c(of, *lower, *extent, new),
        }
    }
}

fn column(dimensions: &[[c_int; 3]], which: usize) -> Vec<c_int> {
    dimensions.iter().map(|dimension| dimension[which]).collect()
}

fn order(fortran: bool) -> c_int {
    if fortran { constants().order_fortran } else { constants().order_c }
}

/// The lists that describe the distribution of an array.
struct Lists {
    processes: c_int,
    ways: Vec<c_int>,
    arguments: Vec<c_int>,
    grid: Vec<c_int>,
}

impl Lists {
    fn of(dimensions: &[Dealt]) -> Self {
        let way = |dealt: &Dealt| match dealt.way {
            Way::Block => constants().distribute_block,
            Way::Cyclic => constants().distribute_cyclic,
            Way::None => constants().distribute_none,
        };
        let default = constants().distribute_default;
        Self {
            processes: dimensions.iter().map(|dealt| dealt.processes).product(),
            ways: dimensions.iter().map(way).collect(),
            arguments: dimensions.iter().map(|dealt| dealt.argument.unwrap_or(default)).collect(),
            grid: dimensions.iter().map(|dealt| dealt.processes).collect(),
        }
    }
}
