//! Tests every collective algorithm under the validators, at any number of ranks, and on the threads fabric.

use crate::collective_suite;
use crate::payload;
use std::collections::{HashMap, HashSet};

use crate::collective_suite::{ALL, Case, cases};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::Endpoint;
use tributary::fabric::threads;
use tributary::schedule::{Action, Schedule};
use tributary_lab::collectives::{ALGORITHMS, Algorithm, Operation};
use tributary_testing::validate::{Delivery, run};
use tributary_testing::watchdog::Watchdog;

/// Returns the deliveries that an operation requires, if it only moves bytes.
fn wanted(operation: Operation, case: &Case) -> Vec<Delivery> {
    let offset = |rank: usize| case.sizes[..rank].iter().sum::<u64>();
    let ranks = 0..case.ranks();
    let gathered = |to: usize| {
        let block =
            move |from: usize| Delivery { from, from_offset: 0, to, to_offset: offset(from), len: case.sizes[from] };
        (0..case.ranks()).map(block).collect::<Vec<_>>()
    };
    let all: Vec<Delivery> = match operation {
        Operation::Allgather => ranks.flat_map(gathered).collect(),
        Operation::Gather => gathered(case.root),
        Operation::Scatter => ranks
            .map(|to| Delivery { from: case.root, from_offset: offset(to), to, to_offset: 0, len: case.sizes[to] })
            .collect(),
        Operation::Broadcast => {
            let len = case.sizes[case.root];
            ranks.map(|to| Delivery { from: case.root, from_offset: 0, to, to_offset: 0, len }).collect()
        }
        Operation::IntergroupAllgather => ranks.flat_map(|to| from_the_other_group(case, to)).collect(),
        Operation::Reduce | Operation::Allreduce => Vec::new(),
    };
    all.into_iter().filter(|delivery| delivery.len > 0).collect()
}

fn from_the_other_group(case: &Case, to: usize) -> Vec<Delivery> {
    let Some((_, _, other)) = case.groups.as_ref().and_then(|groups| groups.locate(to)) else { return Vec::new() };
    let mut to_offset = 0;
    let block = |&from: &usize| {
        to_offset += case.sizes[from];
        Delivery { from, from_offset: 0, to, to_offset: to_offset - case.sizes[from], len: case.sizes[from] }
    };
    other.iter().map(block).collect()
}

fn validate(algorithm: &Algorithm, case: &Case) {
    let schedules: Vec<_> = (0..case.ranks()).map(|rank| (algorithm.schedule)(&case.problem(rank))).collect();
    schedules.iter().for_each(|schedule| payload::free_of_races(schedule, algorithm.name));
    if matches!(algorithm.operation, Operation::Reduce | Operation::Allreduce) {
        // For reductions only the result is defined, not the paths of bytes.
        return payload::check(algorithm.operation, algorithm.name, case, schedules);
    }
    run(schedules, &wanted(algorithm.operation, case)).unwrap_or_else(|violation| {
        let (ranks, root, sizes) = (case.ranks(), case.root, &case.sizes);
        panic!("{:?} {}: {ranks} ranks, root {root}, {sizes:?}: {violation}", algorithm.operation, algorithm.name)
    });
}

/// Tests every number of ranks up to 33, and numbers about each multiple of 16 beyond.
#[test]
fn up_to_65_ranks_under_the_validators() {
    for algorithm in ALGORITHMS {
        for ranks in (1..=33).chain([47, 48, 49, 63, 64, 65]) {
            cases(algorithm, ranks).iter().for_each(|case| validate(algorithm, case));
        }
    }
}

/// Checks that messages between the same two ranks start in the order of the operations, on both sides, whichever of
/// several receives a fabric reports first: the later one must wait for all that the earlier one waits for.
#[test]
fn messages_of_a_pair_start_in_order() {
    for algorithm in ALGORITHMS {
        for ranks in [2, 3, 5, 8, 13, 17] {
            for (case, rank) in cases(algorithm, ranks).iter().flat_map(|case| (0..ranks).map(move |r| (case, r))) {
                let schedule = (algorithm.schedule)(&case.problem(rank));
                let late = overtaking(&schedule);
                let what = format!("{:?} {}: rank {rank} of {ranks}", algorithm.operation, algorithm.name);
                assert_eq!(
                    late,
                    None,
                    "{what}, sizes {:?}: may start in the other order\n{}",
                    case.sizes,
                    schedule.dump()
                );
            }
        }
    }
}

/// Returns two messages to or from one rank of which the second may start first, if there are any.
fn overtaking(schedule: &Schedule) -> Option<(usize, usize)> {
    let mut waits: Vec<HashSet<usize>> = Vec::new();
    let mut last = HashMap::new();
    for (id, op) in schedule.ops().iter().enumerate() {
        let direct = schedule.dependencies(id as u32).iter().map(|&before| before as usize);
        waits.push(direct.flat_map(|before| waits[before].iter().copied().chain([before])).collect());
        let peer = match op.action {
            Action::Send { to, .. } => (true, to, op.stage),
            Action::Receive { from } => (false, from, op.stage),
            _ => continue,
        };
        if let Some(earlier) = last.insert(peer, id) {
            let share_limit = op.sliding_limit.is_some() && op.sliding_limit == schedule.ops()[earlier].sliding_limit;
            if !share_limit && !waits[earlier].is_subset(&waits[id]) {
                return Some((earlier, id));
            }
        }
    }
    None
}

/// Checks the results if messages match in the order of their start but finish in any order: an algorithm must keep the
/// order of what it sends on by itself.
#[test]
fn whatever_finishes_first() {
    for algorithm in ALGORITHMS {
        for ranks in (1..=20).chain([33, 48]) {
            for case in cases(algorithm, ranks) {
                let schedules = (0..ranks).map(|rank| (algorithm.schedule)(&case.problem(rank))).collect();
                payload::check(algorithm.operation, algorithm.name, &case, schedules);
            }
        }
    }
}

#[test]
fn random_problems_up_to_1024_ranks() {
    let seed = std::env::var("TRIB_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().expect("a number"));
    println!("TRIB_SEED={seed} repeats this run");
    let mut random = SmallRng::seed_from_u64(seed);
    for algorithm in ALGORITHMS {
        // An allgather of p ranks delivers p^2 blocks, and each is looked for.
        let quadratic = matches!(algorithm.operation, Operation::Allgather | Operation::IntergroupAllgather);
        let ranks = random.random_range(66..=if quadratic { 256 } else { 1024 });
        let case = random.random_range(0..6);
        println!("{:?} {}: {ranks} ranks, case {case}", algorithm.operation, algorithm.name);
        validate(algorithm, &cases(algorithm, ranks).swap_remove(case));
    }
}

#[test]
fn on_threads() {
    let _watchdog = Watchdog::new("on_threads", 300);
    for ranks in [1, 2, 3, 5, 8, 13, 16, 33] {
        threads::run(ranks, |transport| collective_suite::run(&mut Endpoint::new(transport), &ALL)).unwrap();
    }
}

#[test]
fn every_algorithm_says_what_it_is_and_is_found_by_name() {
    for algorithm in ALGORITHMS {
        let found = tributary_lab::collectives::algorithm(algorithm.operation, algorithm.name).unwrap();
        assert!(std::ptr::eq(found, *algorithm), "{}: two of one name", algorithm.name);
        for text in [algorithm.about, algorithm.source, algorithm.cost] {
            assert!(!text.is_empty(), "{}", algorithm.name);
        }
    }
}
