//! Counts the messages of the allgathers between regions and compares them with the paper's example and equations
//! (Bienz et al. 2022); also tests shapes of locality that the paper leaves open.

use crate::collective_suite::block;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::fabric::{Buffers, threads};
use tributary::schedule::{Action, Buffer, ReduceOp, Schedule};
use tributary::{Endpoint, Rank, Topology};
use tributary_lab::collectives::{ALGORITHMS, Operation, Problem, algorithm, locality_bruck};
use tributary_testing::validate::{Delivery, run};
use tributary_testing::watchdog::Watchdog;

/// Number of messages and bytes of one rank, inside its region and out of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    local_sends: u64,
    local_received: u64,
    far_sends: u64,
    far_sent: u64,
}

fn problem<'a>(rank: Rank, topology: &'a Topology, sizes: &'a [u64]) -> Problem<'a> {
    Problem { rank, topology, root: 0, sizes, with: ReduceOp::Sum, segment: 8, groups: None }
}

/// Returns the schedules of all ranks by an algorithm of the registry.
fn schedules(name: &str, topology: &Topology, sizes: &[u64]) -> Vec<Schedule> {
    let algorithm = algorithm(Operation::Allgather, name).unwrap();
    (0..topology.ranks()).map(|rank| (algorithm.schedule)(&problem(rank, topology, sizes))).collect()
}

fn multi_level(levels: &[&Topology], sizes: &[u64]) -> Vec<Schedule> {
    (0..sizes.len()).map(|rank| locality_bruck(&problem(rank, levels[0], sizes), levels).unwrap()).collect()
}

/// Counts what every rank sends and receives, with the nodes of `topology` as regions.
fn count(topology: &Topology, schedules: &[Schedule]) -> Vec<Count> {
    let of = |rank: Rank| {
        let mut count = Count::default();
        for op in schedules[rank].ops() {
            match op.action {
                Action::Send { to, .. } if topology.node_of(to) == topology.node_of(rank) => count.local_sends += 1,
                Action::Send { .. } => {
                    count.far_sends += 1;
                    count.far_sent += op.span.len;
                }
                Action::Receive { from } if topology.node_of(from) == topology.node_of(rank) => {
                    count.local_received += op.span.len;
                }
                _ => (),
            }
        }
        count
    };
    (0..schedules.len()).map(of).collect()
}

/// Returns the counts of an algorithm with blocks of one byte; bytes are then the paper's values.
fn values(name: &str, ranks: usize, per_region: usize) -> Vec<Count> {
    let topology = Topology::blocks(ranks, per_region).unwrap();
    count(&topology, &schedules(name, &topology, &vec![1; ranks]))
}

fn most(counts: &[Count], of: impl Fn(&Count) -> u64) -> u64 {
    counts.iter().map(of).max().unwrap()
}

/// Checks that every rank gets every block once, and that the schedules end without buffering.
fn validate(schedules: Vec<Schedule>, sizes: &[u64], what: &str) {
    let offset = |rank: Rank| sizes[..rank].iter().sum();
    let deliver =
        |(from, to): (Rank, Rank)| Delivery { from, from_offset: 0, to, to_offset: offset(from), len: sizes[from] };
    let pairs = (0..sizes.len()).flat_map(|to| (0..sizes.len()).map(move |from| (from, to)));
    let wanted: Vec<Delivery> = pairs.filter(|&(from, _)| sizes[from] > 0).map(deliver).collect();
    run(schedules, &wanted).unwrap_or_else(|violation| panic!("{what}, sizes {sizes:?}: {violation}"));
}

#[test]
fn example_2_1() {
    let bruck = values("bruck", 16, 4);
    assert_eq!((most(&bruck, |c| c.far_sends), most(&bruck, |c| c.far_sent)), (4, 15));
    assert_eq!((bruck[0].far_sends, bruck[0].far_sent, bruck[0].local_sends), (4, 15, 0));
    // The first rank of every region has no part in the step between regions.
    for (rank, count) in values("locality_bruck", 16, 4).iter().enumerate() {
        let expected = if rank % 4 == 0 { (0, 0) } else { (1, 4) };
        assert_eq!((count.far_sends, count.far_sent), expected, "rank {rank}");
    }
}

#[test]
fn example_2_1_goes_where_figure_4_says() {
    let topology = Topology::blocks(16, 4).unwrap();
    let peers = |rank: Rank| {
        let all = schedules("locality_bruck", &topology, &[1; 16]);
        let far = |peer: Rank| peer / 4 != rank / 4;
        let to = all[rank].ops().iter().find_map(|op| match op.action {
            Action::Send { to, .. } if far(to) => Some(to),
            _ => None,
        });
        let from = all[rank].ops().iter().find_map(|op| match op.action {
            Action::Receive { from } if far(from) => Some(from),
            _ => None,
        });
        (to, from)
    };
    // The partners are id - 4 l and id + 4 l, modulo 16.
    assert_eq!(peers(0), (None, None));
    assert_eq!(peers(1), (Some(13), Some(5)));
    assert_eq!(peers(2), (Some(10), Some(10)));
    assert_eq!(peers(3), (Some(7), Some(15)));
}

#[test]
fn bruck_is_equation_3() {
    for steps in 1..=10u32 {
        let ranks = 1usize << steps;
        for per_region in (0..steps).map(|s| 1 << s) {
            let counts = values("bruck", ranks, per_region);
            assert_eq!(most(&counts, |c| c.far_sends), u64::from(steps), "{ranks} ranks by {per_region}");
            assert_eq!(most(&counts, |c| c.far_sent), ranks as u64 - 1, "{ranks} ranks by {per_region}");
        }
    }
}

#[test]
fn locality_bruck_is_equation_4() {
    for (per_region, most_rounds) in [(2usize, 8), (3, 5), (4, 4), (5, 3), (7, 2), (8, 2), (16, 1), (31, 1)] {
        for rounds in 0..=most_rounds {
            let regions = per_region.pow(rounds);
            let (q, k, p) = (per_region as u64, u64::from(rounds), (regions * per_region) as u64);
            let counts = values("locality_bruck", regions * per_region, per_region);
            let what = format!("{p} ranks by {q}");
            assert_eq!(most(&counts, |c| c.far_sends), k, "{what}");
            // Section 4: step i carries q^(i + 1) values. Equation 4 has the last step only, p / q.
            assert_eq!(most(&counts, |c| c.far_sent), (1..=rounds).map(|i| q.pow(i)).sum::<u64>(), "{what}");
            if rounds > 0 {
                let last = p / q;
                assert!((last..last * q / (q - 1)).contains(&most(&counts, |c| c.far_sent)), "{what}");
            }
            let local = u64::from(per_region.next_power_of_two().ilog2()) * (k + 1);
            assert!(most(&counts, |c| c.local_sends) <= local, "{what}");
            // The first rank of a region gets all but its own block inside the region: (b - 1) of equation 4.
            assert_eq!(counts[0].local_received, p - 1, "{what}");
            assert_eq!(most(&counts, |c| c.local_received), p - 1, "{what}");
        }
    }
}

#[test]
fn any_number_of_regions_takes_the_rounds_of_the_next_power() {
    for per_region in 2..=9usize {
        for regions in 1..=40usize {
            let counts = values("locality_bruck", regions * per_region, per_region);
            let rounds = (0..).find(|&k| per_region.pow(k) >= regions).unwrap();
            let what = format!("{regions} regions of {per_region}");
            assert_eq!(most(&counts, |c| c.far_sends), u64::from(rounds), "{what}");
            // No region gets a value twice: all that leaves its region is all that regions lack.
            let lacking = regions * (regions - 1) * per_region;
            assert_eq!(counts.iter().map(|c| c.far_sent).sum::<u64>(), lacking as u64, "{what}");
        }
    }
}

#[test]
fn where_ranks_sit_does_not_matter() {
    let round_robin: Vec<usize> = (0..64).map(|rank| rank % 16).collect();
    let topology = Topology::listed(&round_robin).unwrap();
    let counts = count(&topology, &schedules("locality_bruck", &topology, &[1; 64]));
    assert_eq!((most(&counts, |c| c.far_sends), most(&counts, |c| c.far_sent)), (2, 20));
    let bruck = count(&topology, &schedules("bruck", &topology, &[1; 64]));
    assert_eq!(most(&bruck, |c| c.far_sends), 4);
}

#[test]
fn the_peers_between_nodes() {
    // 16 nodes of 8 ranks: leaders send what a node lacks; lanes an eighth of it each, in as many messages.
    let hierarchical = values("hierarchical", 128, 8);
    for (rank, count) in hierarchical.iter().enumerate() {
        let expected = if rank % 8 == 0 { (4, 120) } else { (0, 0) };
        assert_eq!((count.far_sends, count.far_sent), expected, "rank {rank}");
    }
    for count in values("multi_lane", 128, 8) {
        assert_eq!((count.far_sends, count.far_sent), (4, 15));
        assert_eq!((count.local_sends, count.local_received), (3, 112));
    }
}

#[test]
fn each_level_sends_as_one_level_would() {
    // 16 nodes of 4 sockets of 4 ranks: one message between nodes, then few between the sockets of a node.
    let (nodes, sockets) = (Topology::blocks(256, 16).unwrap(), Topology::blocks(256, 4).unwrap());
    let sizes = [1; 256];
    let two = multi_level(&[&nodes, &sockets], &sizes);
    let between_nodes = count(&nodes, &two);
    let one = values("locality_bruck", 256, 16);
    for (of_two, of_one) in between_nodes.iter().zip(&one) {
        assert_eq!((of_two.far_sends, of_two.far_sent), (of_one.far_sends, of_one.far_sent));
    }
    // Inside nodes: one message between sockets for each of the two gathers, against Bruck's four.
    let between_sockets = |all: &[Schedule]| {
        let inside = |rank: Rank, to: Rank| {
            nodes.node_of(rank) == nodes.node_of(to) && sockets.node_of(rank) != sockets.node_of(to)
        };
        let sent = |(rank, schedule): (Rank, &Schedule)| {
            let to = |op: &tributary::schedule::Op| matches!(op.action, Action::Send { to, .. } if inside(rank, to));
            schedule.ops().iter().filter(|op| to(op)).count()
        };
        all.iter().enumerate().map(sent).max().unwrap()
    };
    assert_eq!(between_sockets(&two), 2);
    assert_eq!(between_sockets(&schedules("locality_bruck", &nodes, &sizes)), 8);
    assert_eq!(multi_level(&[&nodes], &sizes), schedules("locality_bruck", &nodes, &sizes));
    let none: Vec<_> = (0..256).map(|rank| locality_bruck(&problem(rank, &nodes, &sizes), &[]).unwrap()).collect();
    assert_eq!(none, schedules("bruck", &nodes, &sizes));
}

#[test]
fn a_small_region_is_not_flooded() {
    // 15 nodes of 8 ranks and one of a single rank: its rank needs one message for each doubling, not 7 a round.
    let topology = Topology::blocks(121, 8).unwrap();
    let counts = count(&topology, &schedules("locality_bruck", &topology, &[1; 121]));
    assert_eq!(most(&counts, |c| c.far_sends), 4);
}

/// Returns a random placement: unequal regions, ranks in any order.
fn placement(random: &mut SmallRng, ranks: usize) -> Topology {
    let regions = random.random_range(1..=ranks);
    let labels: Vec<usize> = (0..ranks).map(|_| random.random_range(0..regions)).collect();
    Topology::listed(&labels).unwrap()
}

fn random_sizes(random: &mut SmallRng, ranks: usize) -> Vec<u64> {
    (0..ranks).map(|_| if random.random_bool(0.3) { 0 } else { random.random_range(1..40) }).collect()
}

#[test]
fn unequal_regions_in_any_order_with_any_sizes() {
    let mut random = SmallRng::seed_from_u64(21);
    for _ in 0..150 {
        let ranks = random.random_range(1..70);
        let (topology, sizes) = (placement(&mut random, ranks), random_sizes(&mut random, ranks));
        for algorithm in ALGORITHMS.iter().filter(|algorithm| algorithm.operation == Operation::Allgather) {
            let what = format!("{} over {topology:?}", algorithm.name);
            validate(schedules(algorithm.name, &topology, &sizes), &sizes, &what);
        }
    }
}

#[test]
fn random_levels_up_to_four() {
    let mut random = SmallRng::seed_from_u64(22);
    for turn in 0..120 {
        let ranks = random.random_range(1..70);
        let levels: Vec<Topology> = (0..1 + turn % 4).map(|_| placement(&mut random, ranks)).collect();
        let sizes = random_sizes(&mut random, ranks);
        let levels: Vec<&Topology> = levels.iter().collect();
        validate(multi_level(&levels, &sizes), &sizes, &format!("{levels:?}"));
    }
}

#[test]
fn levels_on_threads() {
    let _watchdog = Watchdog::new("levels_on_threads", 120);
    let mut random = SmallRng::seed_from_u64(23);
    for ranks in [2, 7, 24, 33] {
        let levels = [placement(&mut random, ranks), Topology::blocks(ranks, 3).unwrap()];
        let sizes = random_sizes(&mut random, ranks);
        let expected: Vec<u8> = (0..ranks).flat_map(|rank| block(rank, sizes[rank])).collect();
        threads::run(ranks, |transport| {
            let mut endpoint = Endpoint::new(transport);
            let rank = endpoint.rank();
            let schedule = locality_bruck(&problem(rank, &levels[0], &sizes), &[&levels[0], &levels[1]]).unwrap();
            let mut buffers = Buffers::default();
            buffers.set(Buffer::Send, block(rank, sizes[rank]));
            endpoint.run_and_wait(schedule, &mut buffers, 3).unwrap();
            assert_eq!(buffers.get(Buffer::Receive), expected, "rank {rank} of {ranks}");
        })
        .unwrap();
    }
}

#[test]
fn a_level_of_other_ranks_is_refused() {
    let (nodes, sockets) = (Topology::blocks(8, 4).unwrap(), Topology::blocks(9, 2).unwrap());
    let error = locality_bruck(&problem(0, &nodes, &[1; 8]), &[&nodes, &sockets]).unwrap_err().to_string();
    assert!(error.contains("locality level 1") && error.contains('9') && error.contains('8'), "{error}");
}
