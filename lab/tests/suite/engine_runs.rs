//! The engine in virtual time on simulated machines, and the network on which it posts its messages.

use std::sync::Arc;

use proptest::prelude::*;

use tributary::engine::{Direction, Path};
use tributary::schedule::{Buffer, Builder, SendMode, Span};
use tributary::{Hints, Topology};
use tributary_benchmarks::{Ior, IorOptions};
use tributary_lab::machines::named;
use tributary_lab::runs::{Run, Took};
use tributary_lab::sim::posted::PostedNetwork;
use tributary_lab::sim::{self, Machine, Schedules};

/// Posts the operations of all ranks at time 0, and lets everything happen. Returns the time of the last event of each rank.
fn posted(machine: &Machine, topology: &Topology, messages: &[(usize, usize, u64)]) -> Vec<u64> {
    let ranks = topology.ranks();
    let mut network = PostedNetwork::new(machine, topology, 0);
    let mut due = 0;
    for rank in 0..ranks {
        for (number, &(from, to, bytes)) in messages.iter().enumerate() {
            if to == rank {
                network.receive(rank, (from, number as u32), 0);
                due += 1;
            }
            if from == rank {
                network.send(rank, (to, number as u32), SendMode::Synchronous, bytes, 0);
                due += 1;
            }
        }
    }
    while let Some(now) = network.next_event() {
        network.happen(now, |_| ());
    }
    let finished = |rank| std::iter::from_fn(|| network.finished(rank, u64::MAX / 1_000)).count();
    let all: usize = (0..ranks).map(finished).sum();
    assert_eq!(all, due, "an operation has not finished");
    (0..ranks).map(|rank| network.clock(rank)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Ranks that post their operations one by one take the time of the same operations in schedules.
    #[test]
    fn posted_operations_take_the_time_of_schedules(
        messages in prop::collection::vec((0usize..6, 0usize..6, prop_oneof![1u64..600, 5_000u64..40_000]), 1..8)
    ) {
        let messages: Vec<_> = messages.into_iter().filter(|(from, to, _)| from != to).collect();
        let topology = Topology::blocks(6, 2).unwrap();
        for name in ["cori-knl", "summit"] {
            let machine = named(name).unwrap();
            let schedule = |rank: usize| {
                let mut builder = Builder::default();
                for (number, &(from, to, bytes)) in messages.iter().enumerate() {
                    builder.stage(number as u8);
                    let span = Span::new(Buffer::Send, 0, bytes);
                    if to == rank {
                        builder.receive(from, span, &[]);
                    }
                    if from == rank {
                        builder.send(to, SendMode::Synchronous, span, &[]);
                    }
                }
                builder.finish()
            };
            let schedules = Schedules::new((0..6).map(schedule).collect());
            let outcome = sim::run(&machine, &topology, &schedules, 0, |_| ()).unwrap();
            let last = posted(&machine, &topology, &messages).into_iter().max().unwrap();
            // Each is rounded up to a nanosecond.
            let difference = (outcome.seconds().total * 1e9 - last as f64).abs();
            prop_assert!(difference <= 2.0, "{name}: {} s and {last} ns", outcome.seconds().total);
        }
    }
}

fn run(machine: &str, (ranks, per_node): (usize, usize), hints: &str, direction: Direction) -> Took {
    let machine = Machine { connection: None, ..named(machine).unwrap() };
    let pattern = Ior::new(
        ranks,
        IorOptions { transfer: 64 << 10, block: 64 << 10, segments: 4, one_call: true, ..Default::default() },
    );
    let topology = Topology::blocks(ranks, per_node).unwrap();
    let driver = machine.storage.unwrap().driver;
    let hints = Hints::parse(&format!("trib_driver={driver};{hints}")).unwrap();
    Run { machine, topology, hints, direction, calls: 0..1, is_sole: true, seed: 1 }
        .of(Arc::new(pattern.unwrap()))
        .unwrap()
}

#[test]
fn a_run_is_deterministic_and_at_least_as_long_as_its_floor() {
    for direction in [Direction::Write, Direction::Read] {
        let once = || {
            run("hosts-lab", (16, 4), "romio_cb_write=enable;romio_cb_read=enable;trib_host_domains=disable", direction)
        };
        let took = once();
        assert_eq!(took.reports[0].path, Path::Exchange);
        assert_eq!((took.bytes, took.calls), (16 * 4 * (64 << 10), once().calls));
        // Four hosts of 25 MB/s, and links on which three quarters of the bytes go.
        let floor = took.bytes as f64 / 4.0 / 25e6;
        assert!(
            (floor..4.0 * floor).contains(&took.reported()),
            "{direction:?}: {} s, floor {floor} s",
            took.reported()
        );
        assert!(took.between_hosts > took.bytes / 2, "{took:?}");
    }
}

/// Neighbours in one stripe take each other's locks; aggregators with whole stripes do not.
#[test]
fn locks_of_stripes_take_time() {
    let hints = |how: &str| format!("striping_factor=4;striping_unit=1048576;{how}");
    let stripes = run("cori-knl", (32, 1), &hints("romio_cb_write=enable"), Direction::Write);
    let neighbours = run("cori-knl", (32, 1), &hints("romio_cb_write=disable"), Direction::Write);
    assert_eq!((stripes.reports[0].path, neighbours.reports[0].path), (Path::Exchange, Path::Direct));
    assert!(neighbours.calls > 3.0 * stripes.calls, "{} and {}", neighbours.calls, stripes.calls);
}
