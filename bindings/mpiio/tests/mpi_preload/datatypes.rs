//! Compares datatypes as extents with MPI_Pack, for everything that MPI's constructors make.

use crate::examples;
use crate::random_recipe;
use crate::recipe;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::BufferLayout;
use tributary_abi::handles;
use tributary_mpiio::datatype::{FlatMemory, flattened};
use tributary_testing::mpiexec;

use crate::pack_trial::{Outcome, Probe};
use crate::recipe::{Dealt, MARKERS, NAMED, Recipe, Way, predefined};

/// Number of random datatypes that must agree.
const TYPES: usize = 20_000;

/// Maximum number of datatypes that do not agree and are shown.
const SHOWN: usize = 8;

/// Names of constructors that must occur among the random datatypes.
const CONSTRUCTORS: [&str; 15] = [
    "dup",
    "contiguous",
    "vector",
    "hvector",
    "indexed",
    "hindexed",
    "indexed_block",
    "hindexed_block",
    "struct",
    "subarray",
    "darray",
    "resized",
    "f90_real",
    "f90_complex",
    "f90_integer",
];

#[test]
fn every_constructor_makes_the_bytes_of_its_definition() {
    mpiexec::under_mpiexec("datatypes::every_constructor_makes_the_bytes_of_its_definition", &[1], || {
        let (_world, _endpoint) = mpiexec::world();
        for example in examples::examples() {
            for forms in [0, 1] {
                example.check(forms);
            }
        }
    });
}

/// The memory was allocated in several parts, some below the buffer's address. (MPICH 4.0 does not pack at
/// MPI_BOTTOM.)
#[test]
fn several_arrays_agree_with_pack() {
    mpiexec::under_mpiexec("datatypes::several_arrays_agree_with_pack", &[1], || {
        let (_world, _endpoint) = mpiexec::world();
        let arrays: Vec<Vec<u8>> =
            (0..5).map(|array| (0..1000 + 800 * array).map(|at| (at * 7 + array * 31) as u8).collect()).collect();
        let address = |array: usize, at: usize| arrays[array][at..].as_ptr().expose_provenance() as i64;
        let base = address(2, 0);
        let place = |array, at| address(array, at) - base;
        let named = |name| Box::new(predefined(name));
        let blocks = vec![(300, place(3, 50)), (1, place(0, 999)), (700, place(4, 0)), (20, place(3, 0))];
        let members = vec![
            (100, place(2, 8), *named("MPI_DOUBLE")),
            (1, place(1, 100), Recipe::Vector(30, 2, 7, named("MPI_INT"))),
            (5, place(4, 1000), Recipe::Resized(-16, 24, Box::new(Recipe::Hindexed(vec![(3, -16)], named("MPI_INT"))))),
        ];
        for recipe in [Recipe::Hindexed(blocks, named("MPI_BYTE")), Recipe::Struct(members)] {
            let made = recipe.make(0).unwrap();
            let flat = flattened(made.handle).unwrap();
            let FlatMemory { displacement, layout, .. } = flat.memory(1).unwrap();
            let BufferLayout::Extents(extents) = layout else { panic!("{recipe:?} in one piece") };
            let byte = |at: u64| {
                let place = std::ptr::with_exposed_provenance::<u8>((base + displacement) as usize + at as usize);
                let inside = arrays.iter().any(|array| array.as_ptr_range().contains(&place));
                assert!(inside, "{recipe:?}: a byte that is no array's");
                // SAFETY: a byte of an array.
                unsafe { place.read() }
            };
            let got: Vec<u8> = extents.iter().flat_map(|extent| extent.offset..extent.end()).map(byte).collect();
            assert!(got == recipe::packed(arrays[2].as_ptr(), 1, made.handle).unwrap(), "{recipe:?}");
        }
    });
}

#[test]
fn views_and_types_that_cannot_be_are_refused() {
    mpiexec::under_mpiexec("datatypes::views_and_types_that_cannot_be_are_refused", &[1], || {
        let (_world, _endpoint) = mpiexec::world();
        let error = flattened(handles().datatype_null).unwrap_err().to_string();
        assert_eq!(error, "datatype: MPI_DATATYPE_NULL; allowed: a committed datatype");
        let int = || Box::new(predefined("MPI_INT"));
        let before = Recipe::HindexedBlock(1, vec![8, -12], int()).make(0).unwrap();
        let flat = flattened(before.handle).unwrap();
        let error = flat.view(11).unwrap_err().to_string();
        assert_eq!(error, "file view: displacement 11, first byte of data -12; allowed: no byte before the file");
        assert!(flat.view(12).unwrap().is_some());
        let still = Recipe::Resized(0, 0, int()).make(0).unwrap();
        assert!(flattened(still.handle).unwrap().view(0).is_err(), "elements that do not go forward");
        let empty = Recipe::Contiguous(0, int()).make(0).unwrap();
        assert_eq!(flattened(empty.handle).unwrap().view(0).unwrap(), None);
    });
}

#[test]
fn parts_of_large_arrays_take_constant_memory() {
    mpiexec::under_mpiexec("datatypes::parts_of_large_arrays_take_constant_memory", &[1], || {
        let (_world, _endpoint) = mpiexec::world();
        for (name, recipe, elements) in large_arrays() {
            let made = recipe.make(0).unwrap();
            let start = Instant::now();
            let flat = flattened(made.handle).unwrap();
            println!("{name}: {:?}, {} bytes", start.elapsed(), flat.shape().extents().memory());
            assert_eq!(flat.size(), 8 * elements, "{name}");
            for part in
                [flat.shape().extents(), &flat.view(1 << 40).unwrap().unwrap().select(0, flat.size() * 3).unwrap()]
            {
                assert!(part.memory() < 4096, "{name}: {} bytes", part.memory());
            }
        }
    });
}

/// Returns datatypes of many elements of 8 bytes each, in many runs.
fn large_arrays() -> Vec<(&'static str, Recipe, u64)> {
    let double = || Box::new(predefined("MPI_DOUBLE"));
    let cube = || Recipe::Subarray(vec![[100, 50, 10]; 4], false, double());
    let deal = |way, size, argument| Dealt { size, way, argument, processes: 3 };
    let dealt = || {
        let dimensions =
            vec![deal(Way::Cyclic, 3000, Some(7)), deal(Way::Block, 3000, None), deal(Way::Cyclic, 3000, None)];
        Recipe::Darray(0, dimensions, true, double())
    };
    let pair = || Recipe::Struct(vec![(1, 0, cube()), (1, 800_000_008, Recipe::Vector(1_000_000, 1, 3, double()))]);
    let blocks = |of: Recipe| Recipe::Hindexed(vec![(300, 0), (1, -1 << 45), (20, 1 << 45)], Box::new(of));
    let rows = (3000 / 21 * 7 + 7) as u64; // 142 whole turns and a whole block
    vec![
        ("subarray", cube(), 6_250_000),
        ("vector of subarrays", Recipe::Vector(10, 2, 3, Box::new(cube())), 125_000_000),
        (
            "vector of vectors of subarrays",
            Recipe::Vector(10, 1, 2, Box::new(Recipe::Hvector(3, 1, 1 << 34, Box::new(cube())))),
            187_500_000,
        ),
        ("darray", dealt(), rows * 1000 * 1000),
        ("vector of darrays", Recipe::Vector(2, 1, 2, Box::new(dealt())), rows * 2_000_000),
        ("vector of structs", Recipe::Vector(20, 3, 5, Box::new(pair())), 60 * 7_250_000),
        (
            "blocks of structs, moved up",
            Recipe::Hindexed(vec![(1, 1 << 46)], Box::new(blocks(pair()))),
            321 * 7_250_000,
        ),
    ]
}

#[test]
fn a_datatype_is_flattened_once_and_forgotten_with_it() {
    mpiexec::under_mpiexec("datatypes::a_datatype_is_flattened_once_and_forgotten_with_it", &[1], || {
        let (_world, _endpoint) = mpiexec::world();
        let vector = Recipe::Vector(3, 1, 2, Box::new(predefined("MPI_INT"))).make(0).unwrap();
        let flat = flattened(vector.handle).unwrap();
        assert!(Arc::ptr_eq(&flat, &flattened(vector.handle).unwrap()), "flattened again");
        let duplicate = vector.duplicate();
        assert!(Arc::ptr_eq(&flat, &flattened(duplicate.handle).unwrap()), "the duplicate is flattened again");
        let kept = Arc::downgrade(&flat);
        drop((flat, vector));
        assert_eq!(kept.upgrade().map(|flat| flat.size()), Some(12), "gone before the duplicate");
        drop(duplicate);
        assert!(kept.upgrade().is_none(), "kept when no datatype is left");
    });
}

/// A part of a datatype lives as long as a reference to it: if flattening did not give back a reference, the part
/// would keep its value alive.
#[test]
fn references_to_parts_are_given_back() {
    mpiexec::under_mpiexec("datatypes::references_to_parts_are_given_back", &[1], || {
        let (_world, _endpoint) = mpiexec::world();
        let far = |at: i64| vec![(1, -at), (1, at)];
        for (places, is_fine) in [(far(1 << 20), true), (far(i64::MAX - 100), false)] {
            let part = Recipe::Vector(3, 1, 2, Box::new(predefined("MPI_INT"))).make(0).unwrap();
            let kept = Arc::downgrade(&flattened(part.handle).unwrap());
            let whole = recipe::hindexed(&places, &part);
            drop(part);
            assert!(kept.upgrade().is_some(), "gone before the datatype that it is part of");
            for _ in 0..3 {
                let again = recipe::hindexed(&[(2, 0)], &whole);
                assert_eq!(flattened(again.handle).is_ok(), is_fine, "{places:?}");
            }
            drop(whole);
            assert!(kept.upgrade().is_none(), "a reference is left, {places:?}");
        }
    });
}

#[test]
fn threads_share_what_is_kept() {
    mpiexec::under_mpiexec("datatypes::threads_share_what_is_kept", &[1], || {
        let _mpi = recipe::with_threads();
        for round in 0..200 {
            let vector = Recipe::Vector(round + 2, 1, 2, Box::new(predefined("MPI_INT"))).make(0).unwrap();
            let handle = vector.handle;
            let all: Vec<_> = thread::scope(|scope| {
                let flatten = || flattened(handle).unwrap();
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(flatten)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(all.iter().all(|flat| Arc::ptr_eq(flat, &all[0])), "two values for one datatype");
        }
    });
}

/// Counts may be larger than any `int`.
#[test]
fn counts_may_be_large() {
    mpiexec::under_mpiexec("datatypes::counts_may_be_large", &[1], || {
        let (_world, _endpoint) = mpiexec::world();
        let Some((contiguous, vector)) = recipe::large_pair(1 << 33) else {
            return assert!(!mpiexec::is_mpich(), "MPICH has large counts from 4.0 on");
        };
        let flat = flattened(contiguous.handle).unwrap();
        assert_eq!((flat.size(), flat.shape().extents().count()), (1 << 35, 1));
        let flat = flattened(vector.handle).unwrap();
        assert_eq!((flat.size(), flat.shape().extents().count()), (1 << 35, 1 << 33));
        assert!(flat.shape().extents().memory() < 4096);
    });
}

#[test]
fn random_nests_agree_with_pack() {
    mpiexec::under_mpiexec("datatypes::random_nests_agree_with_pack", &[1], || random_nests(false));
}

/// Tests the constructors of MPI-4, alone and mixed with the others; if MPI has none of them, the constructors with
/// `int` counts again.
#[test]
fn random_nests_with_large_counts_agree_with_pack() {
    mpiexec::under_mpiexec("datatypes::random_nests_with_large_counts_agree_with_pack", &[1], || random_nests(true));
}

fn random_nests(large: bool) {
    let (_world, _endpoint) = mpiexec::world();
    let probe = Probe::new();
    let mut agreed: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut agree, mut defined, mut refused, mut reaching) = (0, 0, 0, 0);
    let (mut wrong, mut differing) = (Vec::new(), Vec::new());
    for seed in 0.. {
        let mut random = SmallRng::seed_from_u64(seed);
        let depth = random.random_range(1..5);
        let recipe = random_recipe::recipe(&mut random, depth);
        let forms = if large { random.random_range(1..32) } else { 0 };
        let displacement = random.random_range(0..2000);
        let outcome = |recipe: &Recipe| probe.try_one(recipe, forms, displacement);
        match outcome(&recipe) {
            Outcome::Agrees => {
                agree += 1;
                count(&recipe, &mut agreed);
            }
            Outcome::NotPacked => defined += 1,
            Outcome::Refused => refused += 1,
            Outcome::Large => reaching += 1,
            Outcome::PackDiffers(_) => differing.push((seed, smallest(recipe, outcome))),
            Outcome::Wrong(_) => wrong.push((seed, forms, smallest(recipe, outcome))),
        }
        if agree == TYPES || wrong.len() == SHOWN {
            break;
        }
    }
    assert!(wrong.is_empty(), "{agree} agree, but (seed, forms, (smallest, why)): {wrong:#?}");
    println!("{agree} agree, {refused} refused by MPI, {reaching} reach too far; constructors that agree: {agreed:?}");
    println!("MPI packs {} otherwise than defined, and was not asked to pack {defined}", differing.len());
    assert!(differing.iter().all(|(_, (recipe, _))| is_packed_badly(recipe)), "{differing:#?}");
    let names = NAMED.iter().chain(&MARKERS).map(|named| named.name).chain(CONSTRUCTORS);
    let missing: Vec<_> = names.filter(|name| !agreed.contains_key(name)).collect();
    assert!(missing.is_empty(), "not among the {agree} types that agree: {missing:?}");
    assert!([defined, refused, reaching].iter().all(|few| few * 20 < TYPES), "too few of all were tried");
    assert!(differing.len() * 200 < TYPES, "{} packed otherwise than defined", differing.len());
}

/// Returns true if MPI is known to pack a datatype wrongly. Open MPI 4.1 packs a vector whose blocks adjoin backwards
/// as if they adjoined forwards. MPICH 4.0 steps over elements that have a part with a negative extent by another
/// extent than it reports.
fn is_packed_badly(recipe: &Recipe) -> bool {
    if mpiexec::is_mpich() {
        return matches!(recipe, Recipe::Resized(_, ..0, _)) || recipe.parts().into_iter().any(is_packed_badly);
    }
    matches!(recipe, Recipe::Vector(2.., _, ..0, _) | Recipe::Hvector(2.., _, ..0, _))
}

fn count(recipe: &Recipe, all: &mut BTreeMap<&'static str, usize>) {
    *all.entry(recipe.constructor()).or_default() += 1;
    recipe.parts().into_iter().for_each(|part| count(part, all));
}

/// Returns the simplest datatype that can be found from `recipe` by simplifying and that fails in the same way, and
/// its result.
fn smallest(mut recipe: Recipe, outcome: impl Fn(&Recipe) -> Outcome) -> (Recipe, Outcome) {
    let mut bad = outcome(&recipe);
    let kind = std::mem::discriminant(&bad);
    let as_bad =
        |recipe: Recipe| Some((outcome(&recipe), recipe)).filter(|(end, _)| std::mem::discriminant(end) == kind);
    while let Some((end, simpler)) = random_recipe::simpler(&recipe).into_iter().find_map(as_bad) {
        (bad, recipe) = (end, simpler);
    }
    (recipe, bad)
}
