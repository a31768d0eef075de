//! Compares the cost formulas of Hasanov's thesis, chapters 2 and 3, with the one-port times of the schedules.

use crate::collective_suite::Case;
use tributary::Topology;
use tributary_lab::collectives::Rates;
use tributary_lab::collectives::{Groups, IN_PLACE, InPlace, Operation, Scheme, hierarchical};
use tributary_lab::timing::one_port;

/// Rates that are powers of two, so that sums are exact.
const RATES: Rates = Rates { startup: 1024.0, byte: 0.5, combine: 0.25 };

fn find(operation: Operation, name: &str) -> &'static InPlace {
    let same = |it: &&&InPlace| it.algorithm.operation == operation && it.algorithm.name == name;
    IN_PLACE.iter().find(same).unwrap_or_else(|| panic!("{operation:?} {name}"))
}

/// Returns the one-port time of the schedules of `ranks` ranks, and the time of the formula.
fn both(scheme: &Scheme, ranks: usize, root: usize, bytes: u64, segment: u64, rates: &Rates) -> (f64, f64) {
    let case =
        Case { topology: Topology::blocks(ranks, 1).unwrap(), root, sizes: vec![bytes; ranks], segment, groups: None };
    let all = (0..ranks).map(|rank| scheme.schedule(&case.problem(rank)).unwrap()).collect();
    let segments = bytes.div_ceil(segment) as f64;
    (one_port(all, rates).unwrap(), scheme.time(rates, ranks as f64, bytes as f64, segments))
}

/// Returns true if a formula is exact for this number of ranks, up to 64.
fn exact(algorithm: &InPlace, ranks: usize) -> bool {
    match algorithm.algorithm.name {
        "flat" | "segmented_flat" | "chain" | "pipeline" | "linear" | "ring" => true,
        "binary" | "split_binary" | "in_order_binary" => (ranks + 1).is_power_of_two(),
        _ => ranks.is_power_of_two(),
    }
}

/// Checks equations 2.2 to 2.21: equal where the thesis counts, at most the time of the next such count elsewhere.
#[test]
fn every_formula_is_the_time_of_its_schedule() {
    for &algorithm in IN_PLACE {
        // The formula is an upper bound; see the next test.
        if algorithm.algorithm.name == "segmented_ring" {
            continue;
        }
        let scheme = Scheme::from(algorithm);
        for ranks in 1..=64usize {
            // Blocks of whole words for every rank count.
            let bytes = 8 * 64 * ranks as u64;
            let root = if algorithm.algorithm.name == "in_order_binary" { ranks / 2 } else { ranks / 3 };
            for (segment, rates) in [(bytes, RATES), (bytes / 8, RATES), (bytes, Rates { combine: 0.0, ..RATES })] {
                let (time, theory) = both(&scheme, ranks, root, bytes, segment, &rates);
                let name = format!("{:?} {}, {ranks} ranks", algorithm.algorithm.operation, algorithm.algorithm.name);
                // A rank combines the data of its left child while the right child sends.
                let hidden = algorithm.algorithm.name == "in_order_binary" && rates.combine > 0.0;
                if exact(algorithm, ranks) && !hidden {
                    assert!((time - theory).abs() <= 1e-9 * theory, "{name}: {time} is not {theory}");
                } else {
                    let next = (ranks..).find(|&ranks| exact(algorithm, ranks)).unwrap() as f64;
                    let segments = (bytes / segment) as f64;
                    let bound = (algorithm.time)(&rates, next, bytes as f64, segments).max(theory);
                    assert!(time <= bound, "{name}: {time} is more than {bound}");
                }
            }
        }
    }
}

/// Checks that equation 2.21, and the module's own bound, bound the segmented ring from above; and that segments are
/// faster than the ring where combining is slow.
#[test]
fn segments_hide_the_combination() {
    let (ring, segmented) = (find(Operation::Allreduce, "ring"), find(Operation::Allreduce, "segmented_ring"));
    for ranks in [2usize, 3, 8, 13, 32] {
        for pieces in [1, 2, 8] {
            let (block, bytes) = (4096.0, 4096 * ranks as u64);
            let (time, theory) = both(&segmented.into(), ranks, 0, bytes, 4096 / pieces, &RATES);
            assert!(time <= theory, "{ranks} ranks, {pieces} pieces: {time}, {theory}");
            let steps = ranks as f64 - 1.0;
            let sent = pieces as f64 * RATES.startup + block * RATES.byte;
            let head = steps * (sent + RATES.message(block)) + steps * block / pieces as f64 * RATES.combine;
            assert!(time <= head && time >= steps * (sent + RATES.message(block)), "{time}, {head}");
        }
    }
    let slow = Rates { startup: 1.0, byte: 1.0, combine: 1.0 };
    let whole = both(&ring.into(), 16, 0, 16 * 4096, 4096, &slow).0;
    let cut = both(&segmented.into(), 16, 0, 16 * 4096, 512, &slow).0;
    assert!(cut < 0.8 * whole, "{cut}, {whole}");
}

/// Returns equations 3.1, 3.3, 3.5, 3.8, 3.10, 3.12, 3.14, 3.15, 3.16, 3.19 and 3.21 as the thesis prints them, for p
/// ranks in G groups.
fn printed(algorithm: &InPlace, p: f64, g: f64, m: f64, x: f64) -> Option<f64> {
    let Rates { startup: a, byte: b, combine: c } = RATES;
    let both = 2.0 - 1.0 / g - g / p;
    let logarithm = p.log2();
    let time = match (algorithm.algorithm.operation, algorithm.algorithm.name) {
        (Operation::Broadcast, "flat" | "chain") => (g + p / g - 2.0) * (a + m * b),
        (Operation::Broadcast, "pipeline") => (2.0 * x + g + p / g - 4.0) * (a + m / x * b),
        (Operation::Broadcast, "binomial") => logarithm * (a + m * b),
        (Operation::Broadcast, "scatter_ring_allgather") => (logarithm + g + p / g - 2.0) * a + 2.0 * m * both * b,
        (Operation::Broadcast, "scatter_recursive_doubling_allgather") => 2.0 * logarithm * a + 2.0 * m * both * b,
        (Operation::Reduce, "flat" | "chain") => (g + p / g - 2.0) * (a + m * b + m * c),
        (Operation::Reduce, "pipeline") => (2.0 * x + g + p / g - 4.0) * (a + m / x * b + m / x * c),
        (Operation::Reduce, "binomial") => logarithm * (a + m * b + m * c),
        (Operation::Reduce | Operation::Allreduce, "rabenseifner") => {
            2.0 * logarithm * a + 2.0 * m * b * both + m * c * both
        }
        (Operation::Allreduce, "recursive_doubling") => logarithm * (a + m * b + m * c),
        (Operation::Allreduce, "ring") => {
            2.0 * (g - 1.0) * (a + m / g * b)
                + 2.0 * (p / g - 1.0) * (a + m * g / p * b)
                + (g - 1.0) * c * m / g
                + (p / g - 1.0) * c * m * g / p
        }
        (Operation::Allreduce, "segmented_ring") => {
            (g + p / g + 2.0 * x - 4.0) * (a + m / x * b + m / x * c) + (g + p / g - 2.0) * a + both * m * b
        }
        _ => return None,
    };
    Some(time)
}

/// Checks 64 ranks in 2 to 32 groups: the sum of the two levels is the thesis' equation, and the time of the schedule.
#[test]
fn hierarchies_take_the_sum_of_their_levels() {
    let (ranks, bytes) = (64usize, 64 * 64 * 8u64);
    let mut equations = 0;
    for &base in IN_PLACE {
        for groups in [2, 4, 8, 16, 32] {
            let scheme = hierarchical(Groups::Count(groups), base, base).unwrap();
            let (time, theory) = both(&scheme, ranks, 0, bytes, bytes / 4, &RATES);
            if let Some(printed) = printed(base, ranks as f64, groups as f64, bytes as f64, 4.0) {
                assert!((printed - theory).abs() <= 1e-9 * theory, "{scheme}: {printed} is not {theory}");
                equations += 1;
            }
            match base.algorithm.name {
                "segmented_ring" => assert!(time <= theory, "{scheme}: {time} is more than {theory}"),
                "binary" | "split_binary" | "in_order_binary" => {}
                _ => assert!((time - theory).abs() <= 1e-9 * theory, "{scheme}: {time} is not {theory}"),
            }
        }
    }
    assert_eq!(equations, 15 * 5);
}

/// Checks full trees on both levels: 49 ranks in 7 groups of 7. The thesis' equation 3.9 has log2(p + G) for the sum of
/// two logarithms; the sum of equation 2.6 over the levels is what is meant.
#[test]
fn hierarchies_of_binary_trees() {
    for (operation, name) in
        [(Operation::Broadcast, "binary"), (Operation::Broadcast, "split_binary"), (Operation::Reduce, "binary")]
    {
        let scheme = hierarchical(Groups::Count(7), find(operation, name), find(operation, name)).unwrap();
        for segment in [8 * 128, 8 * 32] {
            let (time, theory) = both(&scheme, 49, 0, 8 * 128, segment, &RATES);
            assert!((time - theory).abs() <= 1e-9 * theory, "{scheme}: {time} is not {theory}");
        }
    }
}

/// Checks equations 3.2, 3.4, 3.7, 3.11, 3.13, 3.18, 3.20 and 3.23: sqrt(p) groups are the best for algorithms that are
/// linear in p, and the worst for algorithms with blocks and logarithmic steps.
#[test]
fn the_best_number_of_groups_is_the_square_root() {
    use Operation::{Allreduce, Broadcast, Reduce};
    let (ranks, bytes) = (256, 256 * 8);
    let of = |base: &'static InPlace, groups: usize| {
        both(&hierarchical(Groups::Count(groups), base, base).unwrap(), ranks, 0, bytes, bytes / 4, &RATES).0
    };
    let linear = [
        (Broadcast, "flat"),
        (Broadcast, "chain"),
        (Broadcast, "pipeline"),
        (Broadcast, "scatter_ring_allgather"),
        (Reduce, "flat"),
        (Reduce, "chain"),
        (Reduce, "pipeline"),
        (Allreduce, "linear"),
        (Allreduce, "ring"),
        (Allreduce, "segmented_ring"),
    ];
    let blocks =
        [(Broadcast, "scatter_recursive_doubling_allgather"), (Reduce, "rabenseifner"), (Allreduce, "rabenseifner")];
    for (operation, name) in linear {
        let times = [1, 4, 16, 64, 256].map(|groups| of(find(operation, name), groups));
        assert!(times[1..].iter().chain(&times[..1]).all(|&time| time >= times[2]), "{operation:?} {name}: {times:?}");
        assert!(times[2] * 2.0 < times[0], "{operation:?} {name}: {times:?}");
    }
    for (operation, name) in blocks {
        let times = [1, 4, 16, 64, 256].map(|groups| of(find(operation, name), groups));
        assert!(times.iter().all(|&time| time <= times[2]) && times[0] < times[2], "{operation:?} {name}: {times:?}");
    }
    let closed = |base: &InPlace, root: f64| 2.0 * (base.time)(&RATES, root, bytes as f64, 4.0);
    for (operation, name) in linear.into_iter().filter(|(_, name)| *name != "segmented_ring") {
        let base = find(operation, name);
        assert_eq!(of(base, 16), closed(base, 16.0), "{operation:?} {name}");
    }
}

/// Checks equation 3.6: where t_s / t_w is below 2 m / p, groups do not help the ring of blocks.
#[test]
fn long_messages_need_no_groups_on_the_ring() {
    let base = find(Operation::Broadcast, "scatter_ring_allgather");
    let (ranks, bytes) = (64usize, 64 * 8192u64);
    for (startup, helps) in [(64_000.0, true), (4_096.0, false)] {
        let rates = Rates { startup, byte: 1.0, combine: 0.0 };
        assert_eq!(startup > 2.0 * bytes as f64 / ranks as f64, helps);
        let of = |groups| both(&hierarchical(Groups::Count(groups), base, base).unwrap(), ranks, 0, bytes, 8, &rates).0;
        assert_eq!(of(8) < of(1), helps);
    }
}
