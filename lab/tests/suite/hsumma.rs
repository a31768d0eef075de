//! Tests SUMMA and HSUMMA on threads: every grid, grouping, block and broadcast gives the serial product.

use std::pin::pin;

use tributary::Endpoint;
use tributary::fabric::threads;
use tributary_lab::collectives::{IN_PLACE, InPlace, Operation};
use tributary_lab::hsumma::{ProductOutcome, Shape, multiply};

fn broadcasts() -> Vec<&'static InPlace> {
    IN_PLACE.iter().copied().filter(|it| it.algorithm.operation == Operation::Broadcast).collect()
}

fn run(shape: &Shape, broadcast: &'static InPlace) -> ProductOutcome {
    let ranks = shape.grid[0] * shape.grid[1];
    shape.check(ranks).unwrap();
    let all = threads::run(ranks, |transport| {
        let mut endpoint = Endpoint::new(transport);
        let waiting = endpoint.waiting().clone();
        waiting.wait(pin!(multiply(&mut endpoint, shape, broadcast, 256))).unwrap()
    })
    .unwrap();
    assert!(all.iter().all(|outcome| *outcome == all[0]));
    assert_eq!(all[0].wrong, 0, "{shape:?} {}", broadcast.algorithm.name);
    all[0]
}

#[test]
fn any_grid_and_any_groups() {
    for (grid, n) in [([1, 1], 4usize), ([1, 3], 12), ([2, 2], 16), ([2, 4], 16), ([4, 2], 16), ([3, 4], 24)] {
        let divisors = |of: usize| (1..=of).filter(move |&d| of.is_multiple_of(d));
        let largest = (1..=n).rev().find(|&d| grid.iter().all(|side| (n / side).is_multiple_of(d))).unwrap();
        for groups in divisors(grid[0]).flat_map(|rows| divisors(grid[1]).map(move |columns| [rows, columns])) {
            for (block, outer) in [(1, largest), (largest, largest), (1, 1)] {
                run(&Shape { n, grid, groups, block, outer }, broadcasts()[(groups[0] + groups[1]) % 8]);
            }
        }
    }
}

#[test]
fn any_broadcast() {
    let shape = Shape { n: 32, grid: [4, 4], groups: [2, 2], block: 2, outer: 4 };
    assert_eq!(broadcasts().len(), 8);
    for broadcast in broadcasts() {
        run(&shape, broadcast);
        run(&shape.summa(), broadcast);
    }
}

/// Counts messages: SUMMA sends 2 n/b pivots to (s - 1) t ranks; HSUMMA 2 n/M between groups and 2 n/b inside; the
/// bytes are the same.
#[test]
fn messages_are_those_of_algorithm_6() {
    let binomial = broadcasts().into_iter().find(|it| it.algorithm.name == "binomial").unwrap();
    let shape = Shape { n: 32, grid: [4, 4], groups: [2, 2], block: 2, outer: 8 };
    let (summa, hsumma) = (run(&shape.summa(), binomial), run(&shape, binomial));
    assert_eq!(summa.messages, 2 * 16 * 3 * 4);
    assert_eq!(summa.bytes, summa.messages * 8 * 2 * 8);
    let (between, inside) = (2 * 4 * 4, 2 * 16 * 4 * 2);
    assert_eq!(hsumma.messages, between + inside);
    assert_eq!(hsumma.bytes, (between * 8 + inside * 2) * 8 * 8);
    assert_eq!(hsumma.bytes, summa.bytes);
}
