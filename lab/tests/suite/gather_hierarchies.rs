//! Tests the gathers and scatters of Hasanov's thesis, 2.3.3 and 3.3: hierarchies, and formulas against the one-port
//! time of the schedules.

use crate::collective_suite::{Case, sizes};
use crate::payload;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::Topology;
use tributary::schedule::{Action, Schedule};
use tributary_lab::collectives::Rates;
use tributary_lab::collectives::{GATHERS, Gather, Groups, IN_PLACE, Operation, Scheme, hierarchical};
use tributary_lab::timing::one_port;

const BOTH: [Operation; 2] = [Operation::Gather, Operation::Scatter];

/// Rates that are powers of two, so that sums are exact.
const RATES: Rates = Rates { startup: 1024.0, byte: 0.5, combine: 0.0 };

fn find(name: &str) -> &'static Gather {
    GATHERS.iter().find(|it| it.gather.name == name).unwrap()
}

fn schedules(scheme: &Scheme<Gather>, operation: Operation, case: &Case) -> Vec<Schedule> {
    let one = |rank| match operation {
        Operation::Gather => scheme.gather(&case.problem(rank)).unwrap(),
        _ => scheme.scatter(&case.problem(rank)).unwrap(),
    };
    (0..case.ranks()).map(one).collect()
}

fn check(scheme: &Scheme<Gather>, case: &Case) {
    for operation in BOTH {
        let all = schedules(scheme, operation, case);
        all.iter().for_each(|schedule| payload::free_of_races(schedule, &scheme.to_string()));
        payload::check(operation, &scheme.to_string(), case, all);
    }
}

fn case(ranks: usize, root: usize, turn: usize) -> Case {
    let topology = Topology::blocks(ranks, 3).unwrap();
    Case { topology, root, sizes: sizes(find("linear").gather, ranks, turn), segment: 16, groups: None }
}

#[test]
fn every_pair_of_algorithms_and_any_number_of_groups() {
    for ranks in [1, 2, 3, 7, 12, 16, 19] {
        for groups in 1..=ranks {
            for (i, &inner) in GATHERS.iter().enumerate() {
                for (j, &outer) in GATHERS.iter().enumerate() {
                    let scheme = hierarchical(Groups::Count(groups), inner, outer).unwrap();
                    check(&scheme, &case(ranks, (i * 5 + j + groups) % ranks, i + 2 * j + groups));
                }
            }
        }
    }
}

#[test]
fn one_group_and_one_a_rank_are_the_algorithm_itself() {
    for &base in GATHERS {
        for ranks in 1..=20 {
            let case = case(ranks, ranks * 2 / 3, ranks);
            for groups in [1, ranks] {
                let scheme = hierarchical(Groups::Count(groups), base, base).unwrap();
                for rank in 0..ranks {
                    let problem = case.problem(rank);
                    let (gather, scatter) = (scheme.gather(&problem).unwrap(), scheme.scatter(&problem).unwrap());
                    assert_eq!(gather.dump(), (base.gather.schedule)(&problem).dump(), "{scheme}, {rank} of {ranks}");
                    assert_eq!(scatter.dump(), (base.scatter.schedule)(&problem).dump(), "{scheme}, {rank} of {ranks}");
                }
            }
        }
    }
}

#[test]
fn random_hierarchies_of_several_levels() {
    let mut random = SmallRng::seed_from_u64(33);
    for turn in 0..300 {
        let ranks: usize = if turn % 20 == 0 { random.random_range(65..600) } else { random.random_range(1..65) };
        let labels: Vec<usize> = (0..ranks).map(|_| random.random_range(0..ranks.div_ceil(4))).collect();
        let topology = Topology::listed(&labels).unwrap();
        let scheme = random_scheme(&mut random, &topology, 3);
        check(&scheme, &Case { topology, ..case(ranks, random.random_range(0..ranks), turn) });
    }
}

fn random_scheme(random: &mut SmallRng, topology: &Topology, levels: u32) -> Scheme<Gather> {
    if levels == 0 || (levels < 3 && random.random_range(0..3) == 0) {
        return GATHERS[random.random_range(0..GATHERS.len())].into();
    }
    let groups = match random.random_range(0..3) {
        0 => Groups::Nodes(topology.clone()),
        _ => Groups::Count(random.random_range(1..=topology.ranks())),
    };
    let inner = random_scheme(random, topology, levels - 1);
    hierarchical(groups, inner, random_scheme(random, topology, levels - 1)).unwrap()
}

#[test]
fn what_cannot_be_is_named_alike_on_all_ranks() {
    let scheme = hierarchical(Groups::Count(7), GATHERS[0], GATHERS[1]).unwrap();
    let good = case(6, 5, 0);
    let refused = |case: &Case, expected: &str| {
        for rank in 0..6 {
            assert_eq!(scheme.gather(&case.problem(rank)).unwrap_err().to_string(), expected);
            assert_eq!(scheme.scatter(&case.problem(rank)).unwrap_err().to_string(), expected);
        }
    };
    refused(&good, "groups: 7; allowed: 1 to 6, the number of ranks");
    refused(&Case { root: 6, ..case(6, 5, 0) }, "root: 6; allowed: 0 to 5");
    refused(&Case { segment: 0, ..case(6, 5, 0) }, "segment: 0; allowed: a multiple of 8 above 0");
    let zero = hierarchical(Groups::Count(0), GATHERS[0], GATHERS[0]).unwrap_err().to_string();
    assert_eq!(zero, "groups: 0; allowed: 1 or more");
}

/// Returns the one-port time for equal blocks; first segments are shorter than the blocks.
fn time(scheme: &Scheme<Gather>, operation: Operation, ranks: usize, bytes: u64, rates: &Rates) -> f64 {
    let topology = Topology::blocks(ranks, 1).unwrap();
    let case = Case { topology, root: ranks / 3, sizes: vec![bytes; ranks], segment: bytes / 4, groups: None };
    one_port(schedules(scheme, operation, &case), rates).unwrap()
}

/// Checks equations 2.22 to 2.25: equal for every p that they are for, elsewhere at most the value of the next such p.
#[test]
fn every_formula_is_the_time_of_its_schedule() {
    for (&base, operation) in GATHERS.iter().flat_map(|base| BOTH.map(|operation| (base, operation))) {
        for ranks in 1..=64 {
            let theory = (base.time)(&RATES, ranks as f64, 4096.0);
            let time = time(&base.into(), operation, ranks, 4096, &RATES);
            let name = format!("{operation:?} {}, {ranks} ranks", base.gather.name);
            match base.gather.name.starts_with("linear") || ranks.is_power_of_two() {
                true => assert_eq!(time, theory, "{name}"),
                false => {
                    let next = (base.time)(&RATES, ranks.next_power_of_two() as f64, 4096.0);
                    assert!(time <= next, "{name}: {time} is more than {next}");
                }
            }
        }
    }
}

/// Returns equations 3.24, 3.26, 3.28 and 3.30 as the thesis prints them, for p ranks in G groups, blocks of m bytes.
fn printed(base: &Gather, p: f64, g: f64, m: f64, rates: &Rates) -> f64 {
    let (a, b) = (rates.startup, rates.byte);
    match base.gather.name {
        "linear" => (g + p / g - 2.0) * (a + m * b),
        "linear_synchronized" => 2.0 * a + (g + p / g - 2.0) * (2.0 * a + m * b),
        "binomial" | "ordered_tree" => g.log2() * a + (g - 1.0) * m * b + (p / g).log2() * a + (p / g - 1.0) * m * b,
        _ => p.log2() * a + (2.0 - 1.0 / g - g / p) * p * m * b,
    }
}

/// Checks 64 ranks in 2 to 32 groups: the schedules take the sum of the two levels, with the startups of the thesis'
/// equations.
#[test]
fn hierarchies_take_the_sum_of_their_levels() {
    for (&base, operation) in GATHERS.iter().flat_map(|base| BOTH.map(|operation| (base, operation))) {
        for groups in [2, 4, 8, 16, 32] {
            let scheme = hierarchical(Groups::Count(groups), base, base).unwrap();
            let (p, g, m) = (64.0, groups as f64, 4096.0);
            let (theory, name) = (scheme.time(&RATES, p, m), format!("{operation:?} {scheme}"));
            let time = time(&scheme, operation, 64, 4096, &RATES);
            match (operation, base.gather.name) {
                // The root's port may take the words of its group before that of another leader.
                (Operation::Scatter, "linear_synchronized") => {
                    assert!(time <= theory + p / g * RATES.startup, "{name}: {time}, {theory}");
                }
                _ => assert_eq!(time, theory, "{name}"),
            }
            let startups = Rates { byte: 0.0, ..RATES };
            assert_eq!(scheme.time(&startups, p, m), printed(base, p, g, m, &startups), "{name}");
            let printed = printed(base, p, g, m, &RATES);
            match base.gather.name {
                "minimum_spanning_tree" => assert!(theory <= printed, "{name}: {theory}, {printed}"),
                _ => assert!(theory >= printed, "{name}: {theory}, {printed}"),
            }
        }
    }
}

/// Checks equations 3.25 and 3.27: with short blocks, sqrt(p) groups are the best for linear algorithms; trees need no
/// groups (3.29, 3.30).
#[test]
fn the_best_number_of_groups_is_the_square_root() {
    for (&base, operation) in GATHERS.iter().flat_map(|base| BOTH.map(|operation| (base, operation))) {
        let of = |groups| {
            let scheme = hierarchical(Groups::Count(groups), base, base).unwrap();
            time(&scheme, operation, 256, 32, &RATES)
        };
        let times = [1, 4, 16, 64, 256].map(of);
        match base.gather.name.starts_with("linear") {
            true => assert!(times.iter().all(|&time| time >= times[2]) && times[2] * 2.0 < times[0], "{times:?}"),
            false => {
                assert!(times.iter().all(|&time| time == times[0]), "{operation:?} {}: {times:?}", base.gather.name)
            }
        }
    }
}

/// Checks that the segmented flat reduction needs memory for a segment at the root, and the flat reduction for a
/// message.
#[test]
fn segments_save_memory_at_the_root() {
    let topology = Topology::blocks(9, 1).unwrap();
    let case = Case { topology, root: 4, sizes: vec![1 << 16; 9], segment: 1 << 10, groups: None };
    let room = |name: &str| {
        let reduction =
            IN_PLACE.iter().map(|it| &it.algorithm).find(|it| (it.operation, it.name) == (Operation::Reduce, name));
        let schedule = (reduction.unwrap().schedule)(&case.problem(4));
        let receives = schedule.ops().iter().filter(|op| matches!(op.action, Action::Receive { .. }));
        receives.map(|op| op.span.offset + op.span.len).max().unwrap()
    };
    assert_eq!((room("flat"), room("segmented_flat")), (1 << 16, 1 << 10));
}
