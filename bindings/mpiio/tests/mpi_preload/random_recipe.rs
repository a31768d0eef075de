//! Makes random datatypes, and simpler ones of the same kind.

use rand::{RngExt, rngs::SmallRng};

use super::recipe::{Dealt, F90, MARKERS, NAMED, Recipe, Way};

/// Returns a random datatype of at most `depth` nested constructors.
pub fn recipe(random: &mut SmallRng, depth: u32) -> Recipe {
    if depth == 0 || random.random_bool(0.05) {
        return leaf(random);
    }
    if random.random_range(0..13) == 0 {
        return Recipe::Struct(members(random, depth));
    }
    let of = Box::new(recipe(random, depth - 1));
    // Elements of a block, blocks: few where the nest is deep.
    let most = if depth > 2 { 2 } else { 4 };
    let few = |random: &mut SmallRng| random.random_range(0..=most);
    let (count, block) = (few(random).max(i32::from(random.random_bool(0.8))), few(random));
    let bytes = |random: &mut SmallRng| random.random_range(-90i64..150);
    match random.random_range(0..12) {
        0 => Recipe::Dup(of),
        1 => Recipe::Contiguous(count, of),
        2 => Recipe::Vector(count, block, random.random_range(-4..6), of),
        3 => Recipe::Hvector(count, block, bytes(random), of),
        4 => Recipe::Indexed((0..count).map(|_| (few(random), random.random_range(-4..7))).collect(), of),
        5 => Recipe::Hindexed((0..count).map(|_| (few(random), bytes(random))).collect(), of),
        6 => Recipe::IndexedBlock(block, (0..count).map(|_| random.random_range(-4..7)).collect(), of),
        7 => Recipe::HindexedBlock(block, (0..count).map(|_| bytes(random)).collect(), of),
        8 => Recipe::Subarray(array(random), random.random_bool(0.5), of),
        9 => distributed(random, of),
        10 => Recipe::Resized(random.random_range(-40..40), random.random_range(-30..150), of),
        // Places in order and some far apart, as in real programs.
        _ => {
            let mut at = 0;
            let mut next = |random: &mut SmallRng| {
                at += random.random_range(0..80);
                (few(random), at)
            };
            Recipe::Hindexed((0..2 * count).map(|_| next(random)).collect(), of)
        }
    }
}

fn leaf(random: &mut SmallRng) -> Recipe {
    match random.random_range(0..NAMED.len() + 3) {
        0 => Recipe::F90(F90::Real),
        1 => Recipe::F90(F90::Complex),
        2 => Recipe::F90(F90::Integer),
        n => Recipe::Named(&NAMED[n - 3]),
    }
}

fn members(random: &mut SmallRng, depth: u32) -> Vec<(i32, i64, Recipe)> {
    let count = random.random_range(0..4);
    let mut all: Vec<_> = (0..count)
        .map(|_| {
            let of = recipe(random, depth - 1);
            (random.random_range(0..3), random.random_range(-90i64..200), of)
        })
        .collect();
    if count > 1 && random.random_bool(0.3) {
        all[1].2 = all[0].2.clone();
    }
    if random.random_bool(0.15) {
        let at = random.random_range(0..=all.len());
        let marker = &MARKERS[random.random_range(0..2)];
        all.insert(at, (1, random.random_range(-60i64..200), Recipe::Named(marker)));
    }
    all
}

fn array(random: &mut SmallRng) -> Vec<[i32; 3]> {
    let dimension = |random: &mut SmallRng| {
        let size = random.random_range(1..5);
        let part = random.random_range(1..=size);
        [size, part, random.random_range(0..=size - part)]
    };
    (0..random.random_range(1..4)).map(|_| dimension(random)).collect()
}

fn distributed(random: &mut SmallRng, of: Box<Recipe>) -> Recipe {
    let dimensions: Vec<_> = (0..random.random_range(1..4)).map(|_| dealt(random)).collect();
    let processes = dimensions.iter().map(|dealt| dealt.processes).product();
    Recipe::Darray(random.random_range(0..processes), dimensions, random.random_bool(0.5), of)
}

fn dealt(random: &mut SmallRng) -> Dealt {
    let (size, processes) = (random.random_range(1..9), random.random_range(1..4));
    let one = random.random_bool(0.4);
    match random.random_range(0..3) {
        0 => {
            // A block is large enough that nobody has a second one.
            let argument = random.random_range((size + processes - 1) / processes..=size);
            Dealt { size, way: Way::Block, argument: (!one).then_some(argument), processes }
        }
        1 => {
            let argument = random.random_range(1..4);
            Dealt { size, way: Way::Cyclic, argument: (!one).then_some(argument), processes }
        }
        _ => Dealt { size: size.min(4), way: Way::None, argument: None, processes: 1 },
    }
}

/// Returns datatypes that are a little simpler than `recipe`.
pub fn simpler(recipe: &Recipe) -> Vec<Recipe> {
    let mut all: Vec<Recipe> = recipe.parts().into_iter().cloned().collect();
    all.extend(with_simpler_parts(recipe));
    all.extend(with_smaller_numbers(recipe));
    all.retain(|other| other != recipe);
    all
}

fn with_simpler_parts(recipe: &Recipe) -> Vec<Recipe> {
    let byte = Recipe::Named(&NAMED[0]);
    if let Recipe::Struct(members) = recipe {
        let mut all = Vec::new();
        for at in 0..members.len() {
            for part in simpler(&members[at].2).into_iter().chain([byte.clone()]) {
                let mut other = members.clone();
                other[at].2 = part;
                all.push(Recipe::Struct(other));
            }
        }
        return all;
    }
    let with = |part: Recipe| {
        let mut other = recipe.clone();
        match &mut other {
            Recipe::Dup(of)
            | Recipe::Contiguous(_, of)
            | Recipe::Vector(.., of)
            | Recipe::Hvector(.., of)
            | Recipe::Indexed(_, of)
            | Recipe::Hindexed(_, of)
            | Recipe::IndexedBlock(.., of)
            | Recipe::HindexedBlock(.., of)
            | Recipe::Subarray(.., of)
            | Recipe::Darray(.., of)
            | Recipe::Resized(.., of) => **of = part,
            Recipe::Named(_) | Recipe::F90(_) | Recipe::Struct(_) => {}
        }
        other
    };
    recipe.parts().first().map_or(vec![], |of| simpler(of).into_iter().chain([byte]).map(with).collect())
}

fn with_smaller_numbers(recipe: &Recipe) -> Vec<Recipe> {
    let of = || recipe.parts().first().map(|&part| Box::new(part.clone()));
    let Some(of) = of() else {
        return vec![];
    };
    match recipe {
        Recipe::Contiguous(n, _) => half(*n).into_iter().map(|n| Recipe::Contiguous(n, of.clone())).collect(),
        Recipe::Vector(n, block, stride, _) => {
            let counts = half(*n).into_iter().map(|n| (n, *block, *stride));
            let blocks = half(*block).into_iter().map(|block| (*n, block, *stride));
            counts.chain(blocks).map(|(n, block, stride)| Recipe::Vector(n, block, stride, of.clone())).collect()
        }
        Recipe::Hvector(n, block, stride, _) => {
            let counts = half(*n).into_iter().map(|n| (n, *block, *stride));
            let blocks = half(*block).into_iter().map(|block| (*n, block, *stride));
            counts.chain(blocks).map(|(n, block, stride)| Recipe::Hvector(n, block, stride, of.clone())).collect()
        }
        Recipe::Indexed(list, _) => shorter(list).map(|list| Recipe::Indexed(list, of.clone())).collect(),
        Recipe::Hindexed(list, _) => shorter(list).map(|list| Recipe::Hindexed(list, of.clone())).collect(),
        Recipe::IndexedBlock(block, list, _) => {
            let blocks = half(*block).into_iter().map(|block| Recipe::IndexedBlock(block, list.clone(), of.clone()));
            blocks.chain(shorter(list).map(|list| Recipe::IndexedBlock(*block, list, of.clone()))).collect()
        }
        Recipe::HindexedBlock(block, list, _) => {
            let blocks = half(*block).into_iter().map(|block| Recipe::HindexedBlock(block, list.clone(), of.clone()));
            blocks.chain(shorter(list).map(|list| Recipe::HindexedBlock(*block, list, of.clone()))).collect()
        }
        Recipe::Struct(list) => shorter(list).map(Recipe::Struct).collect(),
        Recipe::Subarray(list, fortran, _) => {
            let some = shorter(list).filter(|list| !list.is_empty());
            some.map(|list| Recipe::Subarray(list, *fortran, of.clone())).collect()
        }
        _ => vec![],
    }
}

fn half(n: i32) -> Option<i32> {
    (n > 1).then_some(n / 2)
}

fn shorter<T: Clone>(list: &[T]) -> impl Iterator<Item = Vec<T>> {
    (0..list.len()).map(|gone| {
        let mut list = list.to_vec();
        list.remove(gone);
        list
    })
}
