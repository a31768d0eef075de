//! Tests irregular gather and scatter: checks Lemma 3 and Theorem 1 of the paper on the schedules.

use std::pin::pin;

use crate::collective_suite::block;
use crate::gather_world::{World, distributions, parts, some_sizes};
use crate::one_port::{Cost, ends};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::fabric::{Buffers, threads};
use tributary::schedule::{Buffer, ReduceOp, Schedule};
use tributary::{Endpoint, Rank, Topology};
use tributary_lab::collectives::gatherv::construct::{Construction, build};
use tributary_lab::collectives::gatherv::part::GatherPart;
use tributary_lab::collectives::gatherv::tree::{Rule, Run, joins};
use tributary_lab::collectives::{Operation, Problem, algorithm, gatherv, scatterv};
use tributary_testing::watchdog::Watchdog;

const BY_SIZE: Rule = Rule::BySize { threshold: None };

fn levels(ranks: usize) -> u32 {
    ranks.next_power_of_two().ilog2()
}

/// Checks the invariant at one level: the fixed root and the gather root of every cube, and no other rank, know the
/// cube's run.
fn check_level(world: &World, sizes: &[u64], root: Rank) {
    let (ranks, level) = (sizes.len(), world.all[0].known_runs().0);
    let known: Vec<_> = world.all.iter().map(Construction::known_runs).collect();
    for start in (0..ranks).step_by(1 << level) {
        let cube = start..(start + (1 << level)).min(ranks);
        let last = cube.end - 1;
        let fixed: Vec<_> = cube.clone().filter(|&rank| known[rank].1.is_some()).collect();
        let gather: Vec<_> = cube.clone().filter(|&rank| known[rank].2.is_some()).collect();
        assert_eq!(fixed, [last], "the fixed root is the last rank");
        let of_fixed = known[last].1.unwrap();
        assert_eq!(gather, [of_fixed.gatherer], "one gather root, known to the fixed root");
        let of_gather = known[gather[0]].2.unwrap();
        assert_eq!(of_gather.gatherer, gather[0]);
        if cube.contains(&root) {
            assert_eq!(gather[0], root, "the root gathers wherever it is");
            continue;
        }
        let bytes = cube.clone().map(|rank| sizes[rank]).sum();
        assert_eq!(
            of_fixed,
            Run { gatherer: gather[0], first: start, end: cube.end, bytes },
            "all of the cube, in order"
        );
        assert_eq!(of_gather, of_fixed, "both know as much");
    }
}

#[test]
fn lemma_3_holds_at_every_level_for_all_ranks_to_128_and_all_roots() {
    for ranks in 1..=128 {
        for root in 0..ranks {
            let sizes = some_sizes(ranks, root);
            let mut world = World::new(&sizes, root, None);
            check_level(&world, &sizes, root);
            // Exchange, notice.
            while world.step() && world.step() {
                check_level(&world, &sizes, root);
            }
            let (parts_found, steps) = world.finish();
            assert_eq!(steps.len() as u32, 2 * levels(ranks));
            assert_eq!(parts_found, parts(&sizes, root, BY_SIZE), "{ranks} ranks, root {root}: the tree of all sizes");
        }
    }
}

#[test]
fn every_gather_root_but_the_root_receives_less_than_it_holds() {
    for ranks in 2..=128 {
        let (root, sizes) = (ranks * 5 % 7 % ranks, some_sizes(ranks, 2));
        let mut held = sizes.clone();
        let mut received = vec![0; ranks];
        for join in joins(&sizes, root, BY_SIZE) {
            assert_eq!(join.sent.bytes, held[join.sent.gatherer]);
            assert!(join.to == root || join.sent.bytes <= held[join.to]);
            held[join.to] += join.sent.bytes;
            received[join.to] += 1;
            held[join.sent.gatherer] = 0;
        }
        assert_eq!(held[root], sizes.iter().sum::<u64>());
        assert!(received.iter().all(|&received| received <= levels(ranks)));
    }
}

#[test]
fn a_threshold_constructs_the_same_tree_from_local_sizes() {
    for ranks in 1..=64 {
        for turn in 0..12 {
            let (root, sizes) = (turn * 31 % ranks, some_sizes(ranks, turn));
            for threshold in [0, 1, 5, 700, 2000] {
                let (found, _) = World::new(&sizes, root, Some(threshold)).finish();
                let expected = parts(&sizes, root, Rule::BySize { threshold: Some(threshold) });
                assert_eq!(found, expected, "{ranks} ranks, root {root}, threshold {threshold}");
                let passed_on = expected.iter().filter(|part| part.to.is_some_and(|to| to != root));
                assert!(passed_on.into_iter().all(|part| part.bytes() <= threshold));
            }
            // The linear algorithm forwards nothing.
            let direct = parts(&sizes, root, Rule::BySize { threshold: Some(0) });
            let senders = (0..ranks).filter(|&rank| rank != root && sizes[rank] > 0).count();
            assert_eq!(direct[root].received.len(), senders);
        }
    }
}

/// Tests the case of the paper's figure 2: 11 ranks, root 9, some blocks empty, the last hypercube incomplete.
#[test]
fn figure_2_eleven_ranks_root_nine() {
    let sizes = [3, 1, 0, 0, 2, 7, 1, 4, 0, 2, 5];
    let (parts, steps) = World::new(&sizes, 9, None).finish();
    let edges: Vec<_> = parts.iter().filter_map(|part| Some((part.own.gatherer, part.to?, part.bytes()))).collect();
    // 2, 3 and 8 have nothing. 1 -> 0, 4 -> 5 and 6 -> 7 at level 0; 7 -> 5 at 1 (5 of bytes against 9); 0 -> 5 at 2; at 1
    // the incomplete cube {10} sends to the root, at 3 all of 0..8 does.
    let expected = [(0, 5, 4), (1, 0, 1), (4, 5, 2), (5, 9, 18), (6, 7, 1), (7, 5, 5), (10, 9, 5)];
    assert_eq!(edges, expected);
    let from: Vec<_> = parts[9].received.iter().map(|run| (run.gatherer, run.first, run.end)).collect();
    assert_eq!(from, [(5, 0, 8), (10, 10, 11)]);
    // Level 0: five pairs exchange, that of the root one way, and 10 is alone. Level 3: 7 tells 10, and 10 tells the root.
    assert_eq!(steps[0].iter().map(Schedule::sends).sum::<usize>(), 9);
    assert!(steps[1].iter().all(|schedule| schedule.ops().is_empty()));
    let ends = |step: &[Schedule]| -> Vec<Rank> { (0..11).filter(|&rank| step[rank].sends() > 0).collect() };
    assert_eq!((ends(&steps[6]), ends(&steps[7])), (vec![7], vec![10]));
}

/// Returns the time of the construction in startups; its messages have constant size.
fn construction_steps(steps: &[Vec<Schedule>], ranks: usize) -> Vec<u64> {
    let once = |at: Vec<u64>, step: &Vec<Schedule>| ends(step.clone(), &at, Cost { t_s: 1, t_w: 0 });
    steps.iter().fold(vec![0; ranks], once)
}

#[test]
fn theorem_1_at_most_3_log_p_steps_and_linear_transfer_time() {
    let mut random = SmallRng::seed_from_u64(1);
    for ranks in (1..=40).chain([63, 64, 65, 127, 128, 200, 1000]) {
        for turn in 0..8 {
            let root = random.random_range(0..ranks);
            let sizes = if turn < 6 { distributions(ranks, 100)[turn].1.clone() } else { some_sizes(ranks, turn) };
            let (parts, steps) = World::new(&sizes, root, None).finish();
            let rounds = u64::from(levels(ranks));
            let built = construction_steps(&steps, ranks);
            let first = built.iter().max().copied().unwrap();
            assert!(first <= (2 * rounds).saturating_sub(1), "{ranks} ranks: {first} steps of construction");
            let gathers: Vec<_> = parts.iter().map(GatherPart::gather).collect();
            let startups = ends(gathers.clone(), &built, Cost { t_s: 1, t_w: 0 });
            assert!(startups.iter().all(|&end| end <= 3 * rounds), "{ranks} ranks: steps in all");

            let sum: u64 = sizes.iter().sum::<u64>() - sizes[root];
            let largest = parts[root].received.iter().map(|run| run.bytes).max().unwrap_or(0);
            for schedules in [gathers, parts.iter().map(GatherPart::scatter).collect()] {
                let transfer = ends(schedules, &vec![0; ranks], Cost { t_s: 0, t_w: 1 });
                let transfer = transfer.into_iter().max().unwrap();
                assert!(transfer >= sum, "no rank's port is faster than that");
                assert!(transfer <= sum + largest, "{ranks} ranks, root {root}: {transfer} for {sum} bytes");
            }
        }
    }
}

/// Tests a root that has no data and waits until rank 2 has the block of rank 3. The time is then above the sum of m_i
/// of Theorem 1 and can come near to twice the sum.
#[test]
fn a_root_without_data_waits_for_its_largest_subtree() {
    for ranks in [4, 8, 64] {
        let sizes: Vec<u64> = (0..ranks).map(|rank| if rank < ranks / 2 { 0 } else { 7 }).collect();
        let sum: u64 = sizes.iter().sum();
        let gathers = parts(&sizes, 0, BY_SIZE).iter().map(GatherPart::gather).collect();
        let transfer = ends(gathers, &vec![0; ranks], Cost { t_s: 0, t_w: 1 });
        assert_eq!(transfer[0], 2 * sum - 7);
    }
}

fn schedules(name: &str, operation: Operation, sizes: &[u64], root: Rank) -> Vec<Schedule> {
    let topology = Topology::blocks(sizes.len(), 1).unwrap();
    let of = |rank| Problem { rank, topology: &topology, root, sizes, with: ReduceOp::Sum, segment: 8, groups: None };
    let algorithm = algorithm(operation, name).unwrap();
    (0..sizes.len()).map(|rank| (algorithm.schedule)(&of(rank))).collect()
}

#[test]
fn the_worst_case_of_the_oblivious_tree_is_one_message_of_the_ordered() {
    let cost = Cost { t_s: 10, t_w: 1 };
    let time = |name, operation, sizes: &[u64]| {
        ends(schedules(name, operation, sizes, 0), &vec![0; sizes.len()], cost).into_iter().max().unwrap()
    };
    for ranks in [2, 8, 64, 128] {
        let mut sizes = vec![0; ranks];
        sizes[ranks - 1] = 1000;
        let log = u64::from(levels(ranks));
        for operation in [Operation::Gather, Operation::Scatter] {
            assert_eq!(time("binomial", operation, &sizes), log * 1010);
            assert_eq!(time("ordered_tree", operation, &sizes), 1010);
        }
        // Equal blocks: the same tree, the same time.
        let equal = vec![8; ranks];
        let best = log * 10 + 8 * (ranks as u64 - 1);
        for name in ["binomial", "ordered_tree"] {
            assert_eq!(time(name, Operation::Gather, &equal), best);
            assert_eq!(time(name, Operation::Scatter, &equal), best);
        }
        assert_eq!(time("linear", Operation::Gather, &equal), 18 * (ranks as u64 - 1));
    }
}

#[test]
fn the_six_distributions_from_sizes_known_only_locally() {
    let _watchdog = Watchdog::new("the_six_distributions_from_sizes_known_only_locally", 300);
    for ranks in [1, 2, 3, 5, 11, 16, 33] {
        threads::run(ranks, |transport| {
            let mut endpoint = Endpoint::new(transport);
            let (rank, waiting) = (endpoint.rank(), endpoint.waiting().clone());
            for (turn, (name, sizes)) in distributions(ranks, 200).into_iter().enumerate() {
                let root = (turn * 5 + 9) % ranks;
                let all: Vec<u8> = (0..ranks).flat_map(|rank| block(rank, sizes[rank])).collect();
                for threshold in [None, Some(0), Some(300)] {
                    let mine = block(rank, sizes[rank]);
                    let got = gatherv(&mut endpoint, root, mine.clone(), threshold);
                    let got = waiting.wait(pin!(got)).unwrap();
                    assert!(got == if rank == root { all.clone() } else { Vec::new() }, "{name}: gathered");
                    let given = if rank == root { all.clone() } else { Vec::new() };
                    let got = scatterv(&mut endpoint, root, given, sizes[rank], threshold);
                    assert!(waiting.wait(pin!(got)).unwrap() == mine, "{name}: scattered");
                }
            }
        })
        .unwrap();
    }
}

#[test]
fn a_tree_serves_again_without_construction() {
    threads::run(11, |transport| {
        let mut endpoint = Endpoint::new(transport);
        let (rank, waiting) = (endpoint.rank(), endpoint.waiting().clone());
        let sizes = some_sizes(11, 5);
        let part = waiting.wait(pin!(build(&mut endpoint, 9, sizes[rank], None))).unwrap();
        for turn in 0..3 {
            let mut buffers = Buffers::default();
            buffers.set(Buffer::Send, block(rank + turn, sizes[rank]));
            let traffic = endpoint.run_and_wait(part.gather(), &mut buffers, 7).unwrap();
            assert_eq!(traffic.messages, u64::from(part.to.is_some()));
            let all: Vec<u8> = (0..11).flat_map(|rank| block(rank + turn, sizes[rank])).collect();
            assert!(rank != 9 || buffers.take(Buffer::Receive) == all);
        }
    })
    .unwrap();
}

#[test]
fn bad_input_is_the_same_error_on_all_ranks() {
    let outcomes = threads::run(5, |transport| {
        let mut endpoint = Endpoint::new(transport);
        let (rank, waiting) = (endpoint.rank(), endpoint.waiting().clone());
        let root = waiting.wait(pin!(gatherv(&mut endpoint, 5, vec![1], None))).unwrap_err();
        let short = scatterv(&mut endpoint, 2, if rank == 2 { vec![0; 9] } else { Vec::new() }, 2, None);
        let short = waiting.wait(pin!(short)).unwrap_err();
        // The endpoint can still be used.
        let got = waiting.wait(pin!(gatherv(&mut endpoint, 0, vec![rank as u8], None))).unwrap();
        assert_eq!(got, if rank == 0 { vec![0, 1, 2, 3, 4] } else { Vec::new() });
        [root.to_string(), short.to_string()]
    })
    .unwrap();
    for outcome in outcomes {
        assert_eq!(outcome[0], "root: 5; allowed: 0 to 4");
        assert_eq!(outcome[1], "rank 2: bytes to scatter: 9; allowed: 10, the sum of all blocks");
    }
}
