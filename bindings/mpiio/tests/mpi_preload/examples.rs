//! Examples of each constructor, with the extents that its definition gives, computed by hand.

use tributary_mpiio::datatype::flattened;

use super::recipe::{Dealt, F90, Recipe, Way, predefined};

/// A datatype, its bytes as (displacement, length) in typemap order, and its extent.
pub struct Example(Recipe, &'static [(i64, u64)], i64);

impl Example {
    /// Flattens the datatype and compares; `forms` is 1 for the constructor with large counts.
    pub fn check(&self, forms: u32) {
        let Self(recipe, expected, extent) = self;
        let made = recipe.make(forms).unwrap();
        let flat = flattened(made.handle).unwrap();
        let low = flat.shape().low();
        let got: Vec<_> = flat.shape().extents().iter().map(|e| (e.offset as i64 + low, e.len)).collect();
        assert_eq!(got, *expected, "{recipe:?}");
        // What MPI says of the bounds of a datatype without data is any number.
        assert!(expected.is_empty() || flat.extent() == *extent, "{recipe:?}: extent {}", flat.extent());
        assert_eq!(flat.size(), expected.iter().map(|(_, len)| len).sum::<u64>(), "{recipe:?}");
    }
}

/// Returns one or more examples for each constructor.
pub fn examples() -> Vec<Example> {
    let mut all = leaves();
    all.extend(vectors());
    all.extend(lists());
    all.extend(arrays());
    all.extend(nests());
    all
}

fn int() -> Box<Recipe> {
    Box::new(predefined("MPI_INT"))
}

fn short_int() -> Box<Recipe> {
    Box::new(predefined("MPI_SHORT_INT"))
}

fn leaves() -> Vec<Example> {
    vec![
        Example(*int(), &[(0, 4)], 4),
        Example(*short_int(), &[(0, 2), (4, 4)], 8),
        Example(predefined("MPI_DOUBLE_INT"), &[(0, 12)], 16),
        Example(predefined("MPI_LONG_INT"), &[(0, 12)], 16),
        Example(predefined("MPI_FLOAT_INT"), &[(0, 8)], 8),
        Example(predefined("MPI_2INT"), &[(0, 8)], 8),
        Example(predefined("MPI_LONG_DOUBLE_INT"), &[(0, 20)], 32),
        Example(predefined("MPI_PACKED"), &[(0, 1)], 1),
        Example(predefined("MPI_CHARACTER"), &[(0, 1)], 1),
        Example(Recipe::F90(F90::Real), &[(0, 4)], 4),
        Example(Recipe::F90(F90::Complex), &[(0, 8)], 8),
        Example(Recipe::F90(F90::Integer), &[(0, 4)], 4),
    ]
}

fn vectors() -> Vec<Example> {
    vec![
        Example(Recipe::Dup(short_int()), &[(0, 2), (4, 4)], 8),
        Example(Recipe::Contiguous(3, int()), &[(0, 12)], 12),
        Example(Recipe::Contiguous(2, short_int()), &[(0, 2), (4, 4), (8, 2), (12, 4)], 16),
        Example(Recipe::Vector(2, 2, 3, int()), &[(0, 8), (12, 8)], 20),
        Example(Recipe::Vector(3, 1, -2, int()), &[(0, 4), (-8, 4), (-16, 4)], 20),
        Example(Recipe::Vector(3, 0, 2, int()), &[], 0),
        Example(Recipe::Hvector(2, 1, 8, int()), &[(0, 4), (8, 4)], 12),
        Example(Recipe::Hvector(2, 2, -12, int()), &[(0, 8), (-12, 8)], 20),
        Example(Recipe::Resized(-2, 10, int()), &[(0, 4)], 10),
        Example(Recipe::Contiguous(2, Box::new(Recipe::Resized(0, -8, int()))), &[(0, 4), (-8, 4)], 0),
    ]
}

fn lists() -> Vec<Example> {
    let marked = |name, at| (1, at, predefined(name));
    vec![
        Example(Recipe::Indexed(vec![(2, 3), (0, 9), (1, 0), (1, 1)], int()), &[(12, 8), (0, 8)], 20),
        Example(Recipe::Hindexed(vec![(1, 8), (2, -8)], int()), &[(8, 4), (-8, 8)], 20),
        Example(Recipe::IndexedBlock(2, vec![4, 0, 2], int()), &[(16, 8), (0, 16)], 24),
        Example(Recipe::HindexedBlock(1, vec![12, 0], int()), &[(12, 4), (0, 4)], 16),
        Example(
            Recipe::Struct(vec![(1, 8, predefined("MPI_DOUBLE")), (0, 99, *int()), (2, 0, *int())]),
            &[(8, 8), (0, 8)],
            16,
        ),
        Example(Recipe::Struct(vec![marked("MPI_LB", -4), (1, 0, *int()), marked("MPI_UB", 24)]), &[(0, 4)], 28),
    ]
}

fn arrays() -> Vec<Example> {
    let deal = |size, way, argument, processes| Dealt { size, way, argument, processes };
    let cyclic = || vec![deal(7, Way::Cyclic, Some(2), 2)];
    let plane = || vec![deal(3, Way::Block, None, 2), deal(4, Way::Cyclic, None, 2)];
    vec![
        Example(Recipe::Subarray(vec![[3, 2, 1], [4, 2, 1]], false, int()), &[(20, 8), (36, 8)], 48),
        Example(Recipe::Subarray(vec![[3, 2, 1], [4, 2, 1]], true, int()), &[(16, 8), (28, 8)], 48),
        Example(Recipe::Subarray(vec![[3, 2, 1], [4, 4, 0]], false, int()), &[(16, 32)], 48),
        Example(Recipe::Darray(0, cyclic(), false, int()), &[(0, 8), (16, 8)], 28),
        Example(Recipe::Darray(1, cyclic(), false, int()), &[(8, 8), (24, 4)], 28),
        // Of 3 x 4 elements, process 1 of 2 x 2 has columns 1 and 3 of rows 0 and 1; process 2 has columns 0 and 2 of row 2.
        Example(Recipe::Darray(1, plane(), false, int()), &[(4, 4), (12, 4), (20, 4), (28, 4)], 48),
        Example(Recipe::Darray(2, plane(), false, int()), &[(32, 4), (40, 4)], 48),
        Example(Recipe::Darray(0, vec![deal(5, Way::None, None, 1)], true, int()), &[(0, 20)], 20),
    ]
}

fn nests() -> Vec<Example> {
    let row = || Box::new(Recipe::Vector(2, 1, 2, int()));
    let below = || Box::new(Recipe::Hindexed(vec![(1, -4)], int()));
    vec![
        Example(Recipe::Hvector(2, 1, 100, row()), &[(0, 4), (8, 4), (100, 4), (108, 4)], 112),
        // The rows are 12 bytes in extent: the second begins where the first one's last element ends.
        Example(Recipe::Contiguous(2, row()), &[(0, 4), (8, 4), (12, 4), (20, 4)], 24),
        Example(Recipe::Indexed(vec![(1, 2), (1, 0)], below()), &[(4, 4), (-4, 4)], 12),
    ]
}
