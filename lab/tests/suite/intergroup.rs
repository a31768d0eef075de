//! Tests the allgather between two groups: the figures of Kang et al. 2019, and the results at any sizes.

use std::pin::pin;

use crate::collective_suite::block;
use crate::two_sides::{World, some_sizes};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::fabric::threads;
use tributary::{Endpoint, Rank, Topology};
use tributary_lab::collectives::{ALGORITHMS, Operation, TwoGroups, intergroup_allgatherv};
use tributary_testing::validate::run;
use tributary_testing::watchdog::Watchdog;

/// Checks figure 1: p = 6, q = 2. In round i the i-th rank of every subgroup of three exchanges with its rank of B.
#[test]
fn figure_1_six_and_two_ranks() {
    let world = World::of_sizes(vec![4; 6], vec![6; 2]);
    let expected = "\
a0 sends b0 [0..4]; receives [0..2] from b0
a1 sends b0 [0..4]; receives [2..4] from b0
a2 sends b0 [0..4]; receives [4..6] from b0
a3 sends b1 [0..4]; receives [6..8] from b1
a4 sends b1 [0..4]; receives [8..10] from b1
a5 sends b1 [0..4]; receives [10..12] from b1
b0 sends a0 [0..2], a1 [2..4], a2 [4..6]; receives [0..4] from a0, [4..8] from a1, [8..12] from a2
b1 sends a3 [0..2], a4 [2..4], a5 [4..6]; receives [12..16] from a3, [16..20] from a4, [20..24] from a5
";
    assert_eq!(world.exchange("allgather"), expected);
    assert_eq!(world.exchange("two_step"), expected);
    // Inside A, all ranks have one segment of two bytes, then two, four, six. These steps follow operation 2, the join
    // of the exchange.
    let schedule = &world.schedules("allgather")[2];
    let expected = "\
0: send send[0..4] -> 6
1: recv receive[4..6] <- 6
2: join after [0, 1]
3: send receive[4..6] -> 3 after [2]
4: recv receive[2..4] <- 1 after [2]
5: send receive[2..6] -> 4 after [2, 4]
6: recv receive[10..12] <- 0 after [2, 4]
7: recv receive[0..2] <- 0 after [2, 4]
8: send receive[2..6] -> 0 after [2, 4, 6, 7]
9: recv receive[6..10] <- 4 after [2, 4, 6, 7]
";
    assert_eq!(schedule.dump(), expected);
}

/// Checks figure 2: p = 8, q = 3. The subgroups are {0, 1, 2}, {3, 4, 5} and {6, 7}: blocks of B are cut in three,
/// three and two.
#[test]
fn figure_2_eight_and_three_ranks() {
    let world = World::of_sizes(vec![4; 8], vec![6; 3]);
    let expected = "\
a0 sends b0 [0..4]; receives [0..2] from b0
a1 sends b0 [0..4]; receives [2..4] from b0
a2 sends b0 [0..4]; receives [4..6] from b0
a3 sends b1 [0..4]; receives [6..8] from b1
a4 sends b1 [0..4]; receives [8..10] from b1
a5 sends b1 [0..4]; receives [10..12] from b1
a6 sends b2 [0..4]; receives [12..15] from b2
a7 sends b2 [0..4]; receives [15..18] from b2
b0 sends a0 [0..2], a1 [2..4], a2 [4..6]; receives [0..4] from a0, [4..8] from a1, [8..12] from a2
b1 sends a3 [0..2], a4 [2..4], a5 [4..6]; receives [12..16] from a3, [16..20] from a4, [20..24] from a5
b2 sends a6 [0..3], a7 [3..6]; receives [24..28] from a6, [28..32] from a7
";
    assert_eq!(world.exchange("allgather"), expected);
    assert_eq!(world.exchange("two_step"), expected);
}

/// Checks figure 3, as section 4.1 describes it (the paper gives no sizes, and its caption's q = 2 has no b2): a3 sends
/// to b1 and b2, and b1 receives from a3 before a2; b2 receives from a3 and a4, both with several receivers, and takes
/// the higher first.
#[test]
fn figure_3_the_order_of_sends() {
    let world = World::of_sizes(vec![6, 4, 5, 8, 9, 8], vec![7, 0, 20, 3]);
    let expected = "\
a0 sends b0 [0..6]; receives [0..5] from b0
a1 sends b0 [0..4]; receives [7..10] from b2, [5..7] from b0
a2 sends b1 [0..5]; receives [10..15] from b2
a3 sends b1 [0..5], b2 [5..8]; receives [15..20] from b2
a4 sends b2 [0..7], b3 [7..9]; receives [20..25] from b2
a5 sends b3 [0..8]; receives [27..30] from b3, [25..27] from b2
b0 sends a0 [0..5], a1 [5..7]; receives [0..6] from a0, [6..10] from a1
b1 sends; receives [15..20] from a3, [10..15] from a2
b2 sends a1 [0..3], a2 [3..8], a3 [8..13], a4 [13..18], a5 [18..20]; receives [23..30] from a4, [20..23] from a3
b3 sends a5 [0..3]; receives [32..40] from a5, [30..32] from a4
";
    assert_eq!(world.exchange("allgatherv"), expected);
}

/// Checks that a sender that has served other receivers before comes last, and that one with further receivers comes
/// first.
#[test]
fn senders_between_two_of_several_targets() {
    let world = World::of_sizes(vec![15, 2, 3, 20, 0], vec![1; 4]);
    let b1 = world.exchange("allgatherv").lines().nth(6).unwrap().to_string();
    assert_eq!(b1, "b1 sends a1 [0..1]; receives [15..17] from a1, [17..20] from a2, [10..15] from a0");
    let world = World::of_sizes(vec![13, 2, 3, 22, 0], vec![1; 4]);
    let b1 = world.exchange("allgatherv").lines().nth(6).unwrap().to_string();
    assert_eq!(
        b1,
        "b1 sends a1 [0..1]; receives [18..20] from a3, [13..15] from a1, [15..18] from a2, [10..13] from a0"
    );
}

fn validate(world: &World) {
    for algorithm in ALGORITHMS.iter().filter(|it| it.operation == Operation::IntergroupAllgather) {
        let outcome = run(world.schedules(algorithm.name), &world.wanted());
        let evidence = outcome.unwrap_or_else(|violation| panic!("{}: {world:?}: {violation}", algorithm.name));
        if algorithm.name == "allgatherv" {
            let steps = |ranks: usize| u64::from(ranks.next_power_of_two().ilog2());
            let (p, q) = (world.groups.a().len() as u64, world.groups.b().len() as u64);
            let inside = 2 * p * steps(p as usize) + 2 * q * steps(q as usize);
            assert!(evidence.messages <= 2 * (p + q).saturating_sub(1) + inside, "{} messages", evidence.messages);
        }
    }
}

/// Tests all pairs of group sizes up to 24 ranks, and one in sixteen up to 64.
#[test]
fn pairs_up_to_64_ranks_a_group_under_the_validators() {
    for p in 1..=64usize {
        for q in (1..=64).filter(|&q| p.max(q) <= 24 || (3 * p + q).is_multiple_of(16)) {
            validate(&World::interleaved(p, q, p * 64 + q));
        }
    }
}

#[test]
fn random_groups_up_to_512_ranks() {
    let mut random = SmallRng::seed_from_u64(3);
    for turn in 0..4 {
        let all = random.random_range(100..=512);
        let p = random.random_range(1..all);
        validate(&World::interleaved(p, all - p, turn));
    }
}

#[test]
fn sizes_known_only_to_their_owners_on_threads() {
    let _watchdog = Watchdog::new("sizes_known_only_to_their_owners_on_threads", 300);
    for ranks in 2..=33 {
        threads::run(ranks, |transport| {
            let mut endpoint = Endpoint::new(transport);
            let (rank, waiting) = (endpoint.rank(), endpoint.waiting().clone());
            for turn in 0..6 {
                // The first of A in the middle, one rank in neither group if there are that many.
                let a = (0..ranks / 3 + 1).map(|i| (i * 2 + ranks / 2) % ranks);
                let a: Vec<Rank> = a.take(ranks.div_ceil(2).min(ranks / 3 + 1)).collect();
                let b = (0..ranks).rev().filter(|rank| !a.contains(rank)).skip(usize::from(ranks > 5)).collect();
                let groups = TwoGroups::new(a, b).unwrap();
                let sizes = some_sizes(ranks, turn);
                let mine = block(rank, sizes[rank]);
                let got = waiting.wait(pin!(intergroup_allgatherv(&mut endpoint, &groups, mine))).unwrap();
                let other = groups.locate(rank).map_or(&[][..], |(_, _, other)| other);
                let expected: Vec<u8> = other.iter().flat_map(|&from| block(from, sizes[from])).collect();
                assert!(got == expected, "rank {rank} of {ranks}, turn {turn}, {groups:?}");
            }
        })
        .unwrap();
    }
}

#[test]
fn bad_groups_are_the_same_error_on_all_ranks() {
    let twice = TwoGroups::new(vec![0, 3], vec![2, 3]).unwrap_err();
    assert_eq!(twice.to_string(), "rank in two places of two groups: 3; allowed: every rank at most once");
    let outcomes = threads::run(3, |transport| {
        let mut endpoint = Endpoint::new(transport);
        let waiting = endpoint.waiting().clone();
        let groups = TwoGroups::new(vec![0, 3], vec![1]).unwrap();
        waiting.wait(pin!(intergroup_allgatherv(&mut endpoint, &groups, vec![1]))).unwrap_err().to_string()
    })
    .unwrap();
    assert!(outcomes.iter().all(|text| text == "rank in a group: 3; allowed: 0 to 2"), "{outcomes:?}");
    let topology = Topology::blocks(3, 1).unwrap();
    let world = World { groups: TwoGroups::new(vec![0], vec![7]).unwrap(), topology, sizes: vec![1; 3] };
    assert_eq!(world.problem(0).check().unwrap_err().to_string(), "rank in a group: 7; allowed: 0 to 2");
}
