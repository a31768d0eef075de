//! Tests the allgather between two groups in the one-port model: the theorems and ratios of Kang et al. 2019.

use crate::two_sides::World;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary_lab::collectives::Rates;
use tributary_lab::collectives::intergroup::{Pair, allgather, allgatherv, root_gathering};
use tributary_lab::timing::one_port;

/// Rates that count only the transfer, one unit of time a byte.
const TRANSFER: Rates = Rates { startup: 0.0, byte: 1.0, combine: 0.0 };
/// Rates that count only the startups of messages, one unit of time each.
const STARTUPS: Rates = Rates { startup: 1.0, byte: 0.0, combine: 0.0 };

fn time(world: &World, name: &str, rates: &Rates) -> f64 {
    one_port(world.schedules(name), rates).unwrap()
}

fn equal(p: usize, q: usize, k_a: u64, k_b: u64) -> (World, Pair) {
    let pair = Pair { p: p as f64, q: q as f64, k_a: k_a as f64, k_b: k_b as f64 };
    (World::of_sizes(vec![k_a; p], vec![k_b; q]), pair)
}

/// Returns the sizes of two groups for the cost formulas, with their mean blocks.
fn pair_of(world: &World) -> Pair {
    let (p, q) = (world.groups.a().len() as f64, world.groups.b().len() as f64);
    let (a, b) = world.totals();
    Pair { p, q, k_a: a as f64 / p, k_b: b as f64 / q }
}

fn steps(ranks: usize) -> f64 {
    f64::from(ranks.next_power_of_two().ilog2())
}

/// Checks Theorem 1: at most M + k_B t_w, and the startups of section 4 within a factor of two inside the groups.
#[test]
fn theorem_1_where_one_group_divides_the_other() {
    for (p, q) in [(1, 1), (2, 1), (6, 2), (8, 8), (12, 4), (15, 5), (33, 3), (64, 16), (60, 1), (128, 32)] {
        for (k_a, k_b) in [(1, 1), (4, 1), (1, 4), (100, 3), (1, 50)] {
            let k_b = k_b * (p / q) as u64;
            for name in ["allgather", "two_step"] {
                for flipped in [false, true] {
                    let (world, pair) = if flipped { equal(q, p, k_b, k_a) } else { equal(p, q, k_a, k_b) };
                    let taken = time(&world, name, &TRANSFER);
                    let what = format!("{name}, {pair:?}");
                    assert!(taken >= pair.least(&TRANSFER), "{what}: {taken}");
                    assert!(taken <= allgather::bound(&TRANSFER, &pair), "{what}: {taken}");
                    assert!(taken <= allgather::time(&TRANSFER, &pair), "{what}: {taken}");
                    let startups = time(&world, name, &STARTUPS);
                    let inside = if name == "allgather" { steps(p) } else { steps(p / q) + steps(q) };
                    assert!(startups <= (p / q) as f64 + 2.0 * inside, "{what}: {startups} startups");
                }
            }
            // Equation 3 is exact where the allgather in B is the longer.
            let (world, pair) = equal(p, q, k_a, k_b);
            if q > 1 && (pair.p - pair.p / pair.q) * pair.k_a >= (pair.q - pair.q / pair.p) * pair.k_b {
                assert_eq!(time(&world, "allgather", &TRANSFER), allgather::time(&TRANSFER, &pair), "{pair:?}");
            }
        }
    }
}

/// Checks that, where q does not divide p, the time is the formula's, which the larger subgroups set.
#[test]
fn indivisible_groups_take_what_the_formula_says() {
    for p in 1..=40 {
        for q in 1..=p {
            // Whole segments for subgroups of both sizes.
            let segments = ((p / q) * (p / q + 1)) as u64;
            let (world, pair) = equal(p, q, 7, 3 * segments);
            let (taken, most) = (time(&world, "allgather", &TRANSFER), allgather::time(&TRANSFER, &pair));
            assert!(taken <= most && taken >= pair.least(&TRANSFER), "{p}, {q}: {taken}, {most}");
            // The two-step variant hands on to the ranks whose number others do not have.
            let extra = if p % q == 0 { 0.0 } else { (pair.q - 1.0) * pair.k_b };
            assert!(time(&world, "two_step", &TRANSFER) <= most + extra, "{p}, {q}: two steps");
        }
    }
}

fn largest(world: &World) -> f64 {
    let members = world.groups.a().iter().chain(world.groups.b());
    members.map(|&rank| world.sizes[rank]).max().unwrap_or(0) as f64
}

/// Checks Theorem 3 as it stands (equation 4, second expression), where the full messages can be cut into equal parts.
#[test]
fn theorem_3_for_any_blocks() {
    let mut random = SmallRng::seed_from_u64(19);
    for turn in 0..400 {
        let (p, q) = (random.random_range(1..40), random.random_range(1..40));
        let mut world = World::interleaved(p, q, turn);
        // Whole parts: the first rank of a group has the rest.
        let (a, b) = world.totals();
        world.sizes[world.groups.a()[0]] += a.next_multiple_of(q as u64) - a;
        world.sizes[world.groups.b()[0]] += b.next_multiple_of(p as u64) - b;
        let largest = largest(&world);
        let (taken, pair) = (time(&world, "allgatherv", &TRANSFER), pair_of(&world));
        assert!(taken >= pair.least(&TRANSFER) - 1e-6, "{world:?}: {taken}");
        assert!(taken <= allgatherv::bound(&TRANSFER, &pair, largest) + 1e-6, "{world:?}: {taken}");
        assert!(taken <= allgatherv::time(&TRANSFER, &pair, largest) + 1e-6, "{world:?}: {taken}");
        let startups = time(&world, "allgatherv", &STARTUPS);
        assert!(startups <= (p + q) as f64 + 2.0 * steps(p.max(q)), "{world:?}: {startups} startups");
    }
}

/// Checks the formula for any sizes. A message of 8 bytes for 24 ranks has parts of one byte and of none, and an
/// allgather that costs as if it had 24 bytes, which the proof leaves out (it has p (size_A - 1) for (p - 1) size_A).
#[test]
fn parts_that_are_not_equal_take_what_the_formula_says() {
    for turn in 0..400 {
        let world = World::interleaved(1 + turn * 7 % 37, 1 + turn * 11 % 41, turn);
        let (taken, (a, b)) = (time(&world, "allgatherv", &TRANSFER), world.totals());
        let most = allgatherv::time(&TRANSFER, &pair_of(&world), largest(&world));
        assert!(taken <= most + 1e-6 && taken >= a.max(b) as f64, "{world:?}: {taken}, {most}");
    }
    let (world, _) = equal(24, 8, 1, 1);
    assert_eq!(time(&world, "allgatherv", &TRANSFER), 26.0);
}

/// Checks that the first expression of equation 4, each direction for itself, does not hold: a rank that sends a huge
/// block of B has to pass on all of A's blocks too, and one port cannot do both at once.
#[test]
fn the_two_directions_share_the_ports() {
    let (p, q) = (256, 64);
    let huge = 64 * 1024;
    let mut b = vec![0; q];
    b[0] = huge;
    let world = World::of_sizes(vec![384; p], b);
    let first = f64::max((384 * p + 384) as f64, (huge + huge) as f64) + ((p * q) as f64).log2();
    let taken = time(&world, "allgatherv", &TRANSFER);
    assert!(taken > 1.2 * first, "{taken}, {first}");
    assert!(taken <= allgatherv::bound(&TRANSFER, &pair_of(&world), huge as f64));
}

#[test]
fn one_huge_block_does_not_hold_up_the_others() {
    // Algorithm 1 passes it on whole: every rank of B waits for it in every step.
    let mut a = vec![1; 64];
    a[20] = 10_000;
    let world = World::of_sizes(a, vec![1; 16]);
    let (segmented, balanced) = (time(&world, "allgather", &TRANSFER), time(&world, "allgatherv", &TRANSFER));
    assert!(balanced < 2.1 * 10_064.0, "{balanced}");
    assert!(segmented > 4.0 * 10_064.0, "{segmented}");
}

/// Returns setting `number` of section 5 with n times as many ranks as the smallest pair that has the setting's p/q.
fn setting(number: usize, n: usize, unit: u64) -> World {
    let (p, q) = if [1, 5, 6].contains(&number) { (16 * n, 16 * n) } else { (25 * n, 7 * n) };
    let blocks = |ranks: usize, size: u64| match number {
        // Rank i has i parts of the longest.
        6 | 8 => (0..ranks as u64).map(|i| i * size / (ranks as u64 - 1)).collect(),
        _ => vec![size; ranks],
    };
    let (k_a, k_b) = match number {
        3 => (4 * unit, unit),
        4 => (unit, 4 * unit),
        _ => (unit, unit),
    };
    World::of_sizes(blocks(p, k_a), blocks(q, k_b))
}

const RATIOS: [f64; 8] = [7.0, 4.84, 4.21, 6.68, 7.0, 7.0, 4.84, 4.84];

/// Checks equation 5 for the eight settings, with the sizes that these figures imply: a factor of 4 between the groups'
/// blocks in 3 and 4, sequences that end at the same size in 6 and 8.
#[test]
fn equation_5_gives_the_ratios_of_the_paper() {
    for (number, expected) in (1..).zip(RATIOS) {
        let ratio = root_gathering::improvement(&pair_of(&setting(number, 8, 1 << 16)));
        assert!((ratio - expected).abs() < 0.005, "setting {number}: {ratio}");
    }
}

/// Checks that the schedules converge to the ratios: Algorithm 2 against root gathering, nearer the more ranks there
/// are.
#[test]
fn the_schedules_converge_to_the_ratios() {
    for (number, expected) in (1..).zip(RATIOS) {
        let distance = |n: usize| {
            let world = setting(number, n, 1 << 14);
            let ratio = time(&world, "root_gathering", &TRANSFER) / time(&world, "allgatherv", &TRANSFER);
            (ratio / expected - 1.0).abs()
        };
        let (few, many) = (distance(1), distance(8));
        assert!(many < few && many < 0.05, "setting {number}: {few}, {many} from {expected}");
    }
}

/// Checks that Algorithm 1 converges to the ratio where q divides p (setting 1). For p/q = 25/7 its subgroups have 4
/// ranks or 3, and the groups of 4 set the pace: in settings 2 and 3, M grows by 28/25; in 4, blocks of B are cut in 3,
/// and by 25/21.
#[test]
fn algorithm_1_pays_for_unequal_subgroups() {
    for (number, factor) in [(1, 1.0), (2, 28.0 / 25.0), (3, 28.0 / 25.0), (4, 25.0 / 21.0)] {
        let world = setting(number, 8, 3 << 13);
        let (taken, pair) = (time(&world, "allgather", &TRANSFER), pair_of(&world));
        assert!(taken <= allgather::time(&TRANSFER, &pair), "setting {number}: {taken}");
        let over = taken / pair.least(&TRANSFER) / factor;
        assert!((0.9..1.05).contains(&over), "setting {number}: {over}");
    }
}

/// Checks equation 2, stage by stage: exact for powers of two; the bound of equation 2 holds for other numbers of ranks
/// too.
#[test]
fn root_gathering_takes_what_equation_2_says() {
    let rates = Rates { startup: 16.0, byte: 1.0, combine: 0.0 };
    for (p, q) in [(1, 1), (2, 2), (8, 2), (16, 16), (32, 4), (4, 64)] {
        for (k_a, k_b) in [(512, 512), (2048, 512), (512, 1024)] {
            let (world, pair) = equal(p, q, k_a, k_b);
            assert_eq!(time(&world, "root_gathering", &rates), root_gathering::time(&rates, &pair), "{pair:?}");
        }
    }
    for (p, q) in [(3, 2), (25, 7), (50, 14), (13, 40)] {
        let (world, pair) = equal(p, q, 8 * 91, 8 * 40);
        let (taken, formula) = (time(&world, "root_gathering", &TRANSFER), root_gathering::time(&TRANSFER, &pair));
        assert!((taken / formula - 1.0).abs() < 0.02, "{pair:?}: {taken}, {formula}");
        let (a, b) = world.totals();
        assert!(taken <= pair.least(&TRANSFER) + 3.0 * (a + b) as f64, "{pair:?}: {taken}");
    }
}
