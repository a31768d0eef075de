//! Compares the simulator with formulas: LogGOPS, the postal model, one port, queues of known order.

use crate::log_gops::{NS, lines, log_gops};
use tributary::schedule::{Action, Buffer, Builder, ReduceOp, Schedule, SendMode, Span, Throttle};
use tributary::{Rank, Topology};
use tributary_lab::collectives::Rates;
use tributary_lab::collectives::{Operation, Problem, algorithm};
use tributary_lab::sim::machine::{Connection, Machine, Walk};
use tributary_lab::sim::{Schedules, SimOutcome, Spent, run};
use tributary_lab::timing::one_port;

fn span(bytes: u64) -> Span {
    Span::new(Buffer::Send, 0, bytes)
}

/// Returns a schedule of these operations without dependencies.
fn all(actions: impl IntoIterator<Item = (Action, u64)>) -> Schedule {
    let mut builder = Builder::default();
    actions.into_iter().for_each(|(action, bytes)| _ = builder.op(action, span(bytes), &[]));
    builder.finish()
}

fn send(to: Rank) -> Action {
    Action::Send { to, mode: SendMode::Standard }
}

fn receive(from: Rank) -> Action {
    Action::Receive { from }
}

/// Simulates the schedules with one rank on each node.
fn simulate(machine: &Machine, schedules: Vec<Schedule>) -> SimOutcome {
    let topology = Topology::blocks(schedules.len(), 1).unwrap();
    run(machine, &topology, &Schedules::new(schedules), 0, |_| ()).unwrap()
}

/// Returns the times at which the ranks end, in nanoseconds.
fn ends(machine: &Machine, schedules: Vec<Schedule>) -> Vec<f64> {
    simulate(machine, schedules).ranks.iter().map(|spent: &Spent| spent.total as f64 / NS).collect()
}

#[test]
fn log_gops_one_message() {
    for (bytes, end) in [(1, 5500.0), (101, 6100.0), (1001, 11_500.0)] {
        let ends = ends(&log_gops(), vec![all([(send(1), bytes)]), all([(receive(0), bytes)])]);
        assert_eq!(ends, [1500.0, end]);
    }
}

#[test]
fn log_gops_two_to_one_and_one_to_two() {
    let both = || all([(receive(0), 1001), (receive(1), 1001)]);
    let ends_in = ends(&log_gops(), vec![all([(send(2), 1001)]), all([(send(2), 1001)]), both()]);
    assert_eq!(ends_in[2], 19_000.0);
    let out = all([(send(1), 1001), (send(2), 1001)]);
    let ends_out = ends(&log_gops(), vec![out, all([(receive(0), 1001)]), all([(receive(0), 1001)])]);
    assert_eq!(ends_out[1..], [11_500.0, 18_500.0]);
}

#[test]
fn log_gops_late_receive() {
    let mut builder = Builder::default();
    let busy = builder.copy(span(0), span(100_000), &[]);
    builder.receive(0, span(101), &[busy]);
    let ends = ends(&log_gops(), vec![all([(send(1), 101)]), builder.finish()]);
    assert_eq!(ends[1], 102_100.0);
}

#[test]
fn rendezvous_is_two_envelopes_and_the_bytes() {
    let (latency, byte, o, control) = (2000.0, 0.5, 300.0, 100.0);
    let mut machine = Machine::free();
    machine.paths = lines(latency * NS, byte * NS);
    machine.eager_limit = 1000;
    (machine.host.send, machine.host.receive, machine.host.control) = (o * NS, o * NS, control * NS);
    let ends = ends(&machine, vec![all([(send(1), 4000)]), all([(receive(0), 4000)])]);
    let matched = o + latency + o;
    let leaves = matched + control + latency + control;
    assert_eq!(ends, [leaves + 4000.0 * byte + control, leaves + 4000.0 * byte + latency + o]);
}

/// Checks that both ends of a message above the eager limit register its memory: the receiver before it answers, the
/// sender before its bytes leave. Other messages register none.
#[test]
fn rendezvous_registers_memory_at_both_ends() {
    let (latency, register) = (2000.0, 700.0);
    let mut machine = Machine::free();
    machine.paths = lines(latency * NS, 0.0);
    machine.eager_limit = 1000;
    machine.host.rendezvous = register * NS;
    let ends = |bytes| ends(&machine, vec![all([(send(1), bytes)]), all([(receive(0), bytes)])]);
    let leaves = latency + register + latency + register;
    assert_eq!(ends(1001), [leaves, leaves + latency]);
    assert_eq!(ends(1000), [0.0, latency]);
}

/// Checks that a copy costs its call and its bytes, and that an operation without bytes costs nothing.
#[test]
fn a_copy_costs_its_call() {
    let mut machine = Machine::free();
    (machine.host.copy, machine.host.copy_byte) = (450.0 * NS, 0.5 * NS);
    let mut builder = Builder::default();
    let copies = [builder.copy(span(0), span(100), &[]), builder.copy(span(0), span(300), &[])];
    builder.join(&copies);
    assert_eq!(ends(&machine, vec![builder.finish()]), [2.0 * 450.0 + 400.0 * 0.5]);
}

#[test]
fn synchronous_sends_wait_for_the_match() {
    let mut machine = Machine::free();
    machine.paths = lines(2000.0 * NS, 0.0);
    machine.host.copy_byte = NS;
    let mut builder = Builder::default();
    let busy = builder.copy(span(0), span(50_000), &[]);
    builder.receive(0, span(0), &[busy]);
    let late = builder.finish();
    let mode = SendMode::Synchronous;
    let ends_sync = ends(&machine, vec![all([(Action::Send { to: 1, mode }, 0)]), late.clone()]);
    assert_eq!(ends_sync, [52_000.0, 50_000.0]);
    assert_eq!(ends(&machine, vec![all([(send(1), 0)]), late]), [0.0, 50_000.0]);
}

/// Checks T = ceil(log2 p) alpha + (p - 1) m beta (postal model; equation 3 of the locality paper), p a power of two.
#[test]
fn postal_model_equation_3() {
    let (alpha, beta) = (1700.0, 0.25);
    let mut machine = Machine::free();
    machine.paths = lines(alpha * NS, beta * NS);
    for p in [2usize, 8, 64] {
        let (topology, sizes) = (Topology::blocks(p, 1).unwrap(), vec![24; p]);
        let end = ends(&machine, collective(Operation::Allgather, "bruck", &topology, &sizes));
        let expected = f64::from(p.ilog2()) * alpha + (p - 1) as f64 * 24.0 * beta;
        assert!(end.iter().all(|&end| end == expected), "{p}: {end:?} {expected}");
    }
}

fn collective(operation: Operation, name: &str, topology: &Topology, sizes: &[u64]) -> Vec<Schedule> {
    let algorithm = algorithm(operation, name).unwrap();
    let problem = |rank| Problem { rank, topology, root: 0, sizes, with: ReduceOp::Sum, segment: 64, groups: None };
    (0..topology.ranks()).map(|rank| (algorithm.schedule)(&problem(rank))).collect()
}

/// Checks equation 4 of the locality paper: log2(q) alpha outside and log2(q) + 1 times log2(q) alpha_l inside, and the
/// bytes, for q regions of q ranks; the sum of outer bytes is the algorithm's, q + q^2 + ... blocks (see the head of
/// `locality_bruck`).
#[test]
fn postal_model_equation_4() {
    let (alpha, beta, alpha_l, beta_l) = (2000.0, 0.5, 400.0, 0.125);
    let mut machine = Machine::free();
    machine.paths = lines(alpha * NS, beta * NS);
    machine.paths[0] = lines(alpha_l * NS, beta_l * NS)[0];
    for q in [2usize, 4, 8] {
        let p = q * q;
        let (topology, sizes) = (Topology::blocks(p, q).unwrap(), vec![16; p]);
        let schedules = collective(Operation::Allgather, "locality_bruck", &topology, &sizes);
        let outcome = run(&machine, &topology, &Schedules::new(schedules), 0, |_| ()).unwrap();
        let (block, log) = (16.0, f64::from(q.ilog2()));
        let outside = alpha + q as f64 * block * beta;
        let inside = 2.0 * log * alpha_l + (p - 1) as f64 * block * beta_l;
        assert_eq!(outcome.end() as f64 / NS, outside + inside, "q {q}");
    }
}

/// Checks that, with one port a rank, the startup of a message occupies the port as its bytes do.
#[test]
fn one_port_costs() {
    let rates = Rates { startup: 3000.0, byte: 2.0, combine: 0.0 };
    let mut machine = Machine::free();
    machine.paths = lines(rates.startup * NS, rates.byte * NS);
    machine.node.inject = rates.startup * NS;
    machine.node.inject_byte = rates.byte * NS;
    machine.node.eject = rates.startup * NS;
    machine.node.eject_byte = rates.byte * NS;
    let cases = [
        (Operation::Allgather, "bruck"),
        (Operation::Allgather, "ring"),
        (Operation::Allgather, "recursive_doubling"),
        (Operation::Broadcast, "flat"),
        (Operation::Broadcast, "binomial"),
        (Operation::Broadcast, "chain"),
        (Operation::Broadcast, "pipeline"),
    ];
    for (operation, name) in cases {
        for p in [2usize, 5, 16] {
            let (topology, sizes) = (Topology::blocks(p, 1).unwrap(), vec![128; p]);
            let schedules = || collective(operation, name, &topology, &sizes);
            let expected = one_port(schedules(), &rates).unwrap();
            let end = simulate(&machine, schedules()).end() as f64 / NS;
            assert_eq!(end, expected, "{operation:?} {name} {p}");
        }
    }
}

/// Checks n waiting messages that are received in the worst order: the i-th search passes all that are left, n (n + 1)
/// / 2 entries.
#[test]
fn searches_of_the_worst_and_the_best_order() {
    let n = 300usize;
    let mut machine = Machine::free();
    machine.host.copy_byte = NS;
    machine.paths = lines(10.0 * NS, 0.0);
    machine.host.walk = Walk { near: 7.0 * NS, far: 7.0 * NS, knee: 0.0, end: 0.0 };
    for (worst, walked) in [(true, n * (n + 1) / 2), (false, n)] {
        let mut builder = Builder::default();
        let busy = builder.copy(span(0), span(1000), &[]);
        let order: Vec<Rank> = if worst { (1..=n).rev().collect() } else { (1..=n).collect() };
        order.into_iter().for_each(|from| _ = builder.receive(from, span(0), &[busy]));
        let mut schedules = vec![builder.finish()];
        schedules.extend((1..=n).map(|_| all([(send(0), 0)])));
        // The copy ends when all have arrived, but nobody looks before the receives are posted: arrivals search those.
        let outcome = simulate(&machine, schedules);
        assert_eq!(outcome.messages, n as u64);
        assert_eq!(outcome.walked, walked as u64, "worst {worst}");
        assert_eq!(outcome.end() as f64 / NS, 1000.0 + 7.0 * walked as f64);
    }
}

#[test]
fn tau_has_a_knee() {
    let walk = Walk { near: 10.0, far: 70.0, knee: 4000.0, end: 10_000.0 };
    assert_eq!([0, 4000, 7000, 10_000, 90_000].map(|length| walk.entry(length)), [10.0, 10.0, 40.0, 70.0, 70.0]);
}

/// Checks that the ranks of a node share the node's ports: k messages of m bytes leave in k m / R.
#[test]
fn ranks_of_a_node_share_its_port() {
    let (k, bytes) = (16usize, 1_000_000u64);
    let mut machine = Machine::free();
    machine.paths = lines(0.0, 0.1 * NS);
    machine.node.inject_byte = 0.1 * NS;
    let topology = Topology::blocks(2 * k, k).unwrap();
    let schedules = (0..2 * k).map(|rank| match rank < k {
        true => all([(send(rank + k), bytes)]),
        false => all([(receive(rank - k), bytes)]),
    });
    let outcome = run(&machine, &topology, &Schedules::new(schedules.collect()), 0, |_| ()).unwrap();
    assert_eq!(outcome.end() as f64 / NS, k as f64 * bytes as f64 * 0.1);
}

/// Checks that the first message costs its connection on both sides, and ends the send; a second message makes no
/// connection.
#[test]
fn connections_are_made_once() {
    let mut machine = Machine::free();
    machine.paths = lines(50.0 * NS, 0.0);
    machine.connection = Some(Connection { send: 1000.0 * NS, receive: 3000.0 * NS, held: 0.0 });
    let mut sender = Builder::default();
    sender.chain(&[(send(1), span(8)), (send(1), span(8))], Throttle::batch(1), &[]);
    let ends = ends(&machine, vec![sender.finish(), all([(receive(0), 8), (receive(0), 8)])]);
    assert_eq!(ends, [4100.0, 4150.0]);
}

#[test]
fn what_cannot_end_is_said() {
    let topology = Topology::blocks(2, 1).unwrap();
    let schedules = Schedules::new(vec![all([(receive(1), 1)]), Schedule::default()]);
    let error = run(&Machine::free(), &topology, &schedules, 0, |_| ()).unwrap_err();
    assert!(error.to_string().contains("rank 0 waits for ever"));
}
