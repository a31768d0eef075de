//! Tests the all-to-many exchange in the simulator: chains without memory equal the kernels' schedules, and runs
//! repeat.

use std::sync::Mutex;

use crate::costly_paths::costly_paths;
use tributary::Topology;
use tributary::exchange::{ASCENDING_ISEND, ASCENDING_ISSEND, BALANCED, KERNELS};
use tributary::schedule::Throttle;
use tributary_lab::forecast::{AllToMany, AllToManyKernel, AllToManyOptions};
use tributary_lab::sim::machine::{Connection, Machine, Noise, Walk};
use tributary_lab::sim::{SimOutcome, WorkPart, Workload, run};

/// Returns a machine on which every kind of work has a cost.
fn machine() -> Machine {
    let mut machine = Machine::free();
    machine.paths = costly_paths();
    machine.eager_limit = 200;
    machine.sockets = 2;
    (machine.host.send, machine.host.send_byte) = (3e5, 11.0);
    (machine.host.post_receive, machine.host.receive, machine.host.receive_byte) = (2e5, 4e5, 7.0);
    (machine.host.control, machine.host.first_use, machine.host.check) = (1e5, 9e5, 300.0);
    machine.host.copy_byte = 50.0;
    machine.host.walk = Walk { near: 7e3, far: 5e4, knee: 5.0, end: 30.0 };
    (machine.node.inject, machine.node.inject_byte) = (4e4, 90.0);
    (machine.node.eject, machine.node.eject_byte) = (5e4, 80.0);
    machine
}

fn exchange(
    ranks: usize,
    receivers: usize,
    way: AllToManyKernel,
    throttle: Option<Throttle>,
    iterations: u32,
) -> AllToMany {
    let topology = Topology::blocks(ranks, 6).unwrap();
    AllToMany::new(AllToManyOptions { topology, receivers, way, throttle, iterations, bytes: (32, 256) }).unwrap()
}

fn simulate(machine: &Machine, ranks: usize, workload: &impl Workload, seed: u64) -> SimOutcome {
    run(machine, &Topology::blocks(ranks, 6).unwrap(), workload, seed, |_| ()).unwrap()
}

/// Workload of the same exchange, as the schedules that executors run.
struct Written<'a>(&'a AllToMany, Mutex<u64>);

impl Workload for Written<'_> {
    fn part(&self, rank: usize, part: u32) -> Option<WorkPart> {
        self.0.part(rank, part)?;
        *self.1.lock().unwrap() += 1;
        Some(WorkPart::Schedule(self.0.schedule(rank)))
    }
}

#[test]
fn chains_are_the_schedules_of_the_kernels() {
    let limits = [Throttle::NONE, Throttle::batch(1), Throttle::batch(4), Throttle::sliding(1), Throttle::sliding(3)];
    for (ranks, receivers) in [(1, 1), (7, 1), (13, 5), (24, 4), (24, 24), (31, 17)] {
        for kernel in KERNELS {
            for throttle in limits {
                for connected in [false, true] {
                    let mut machine = machine();
                    let connection = Connection { send: 2e6, receive: 3e6, held: 1e5 };
                    machine.connection = connected.then_some(connection);
                    let lazy = exchange(ranks, receivers, AllToManyKernel::Flat(kernel), Some(throttle), 3);
                    let written = Written(&lazy, Mutex::new(0));
                    let outcome = simulate(&machine, ranks, &lazy, 1);
                    assert_eq!(
                        outcome,
                        simulate(&machine, ranks, &written, 1),
                        "{ranks} {receivers} {kernel} {throttle}"
                    );
                    assert_eq!(*written.1.lock().unwrap(), 3 * ranks as u64);
                    assert_eq!(outcome.messages, lazy.messages());
                }
            }
        }
    }
}

#[test]
fn a_seed_gives_the_same_run_and_another_another() {
    let noisy = Machine { noise: Noise { host: 0.125, latency: 0.125 }, ..machine() };
    let workload = exchange(24, 4, AllToManyKernel::Flat(&BALANCED), None, 2);
    assert_eq!(simulate(&noisy, 24, &workload, 7), simulate(&noisy, 24, &workload, 7));
    assert_ne!(simulate(&noisy, 24, &workload, 7).end(), simulate(&noisy, 24, &workload, 8).end());
    assert_eq!(simulate(&machine(), 24, &workload, 7), simulate(&machine(), 24, &workload, 8));
}

#[test]
fn two_layers_send_fewer_messages_and_gather_first() {
    let flat = simulate(&machine(), 24, &exchange(24, 4, AllToManyKernel::Flat(&ASCENDING_ISSEND), None, 2), 0);
    let layers = simulate(&machine(), 24, &exchange(24, 4, AllToManyKernel::TwoLayer(1), None, 2), 0);
    assert_eq!(flat.messages, 2 * (23 * 4));
    // 5 members of each of 4 nodes, then 4 local aggregators to 4 receivers, which they are themselves.
    assert_eq!(layers.messages, 2 * (20 + 4 * 3));
    assert!(layers.seconds().gather > 0.0 && flat.seconds().gather == 0.0);
}

/// Checks the subject of the paper: with Isend, messages of later iterations pile up at the receivers; with Issend they
/// do not.
#[test]
fn isend_floods_and_issend_does_not() {
    let run = |kernel| {
        let workload = exchange(48, 4, AllToManyKernel::Flat(kernel), None, 20);
        simulate(&machine(), 48, &workload, 0)
    };
    let (isend, issend) = (run(&ASCENDING_ISEND), run(&ASCENDING_ISSEND));
    assert!(issend.longest_unexpected <= 48, "{}", issend.longest_unexpected);
    assert!(isend.longest_unexpected > 4 * 48, "{}", isend.longest_unexpected);
    assert!(isend.walked > 4 * issend.walked);
}

#[test]
fn bad_numbers_are_one_line() {
    let topology = Topology::blocks(4, 2).unwrap();
    let way = AllToManyKernel::Flat(&BALANCED);
    let good = AllToManyOptions { topology, receivers: 2, way, throttle: None, iterations: 1, bytes: (1, 2) };
    let bad = [
        (AllToManyOptions { receivers: 0, ..good.clone() }, "receivers: 0; allowed: 1 to 4, the ranks"),
        (AllToManyOptions { receivers: 5, ..good.clone() }, "receivers: 5; allowed: 1 to 4, the ranks"),
        (AllToManyOptions { iterations: 0, ..good.clone() }, "iterations: 0; allowed: 1 or more"),
        (AllToManyOptions { bytes: (9, 2), ..good }, "message: 9..2; allowed: the fewest bytes first"),
    ];
    for (options, words) in bad {
        assert_eq!(AllToMany::new(options).unwrap_err().to_string(), words);
    }
}
