//! Compares file servers in the simulator with formulas.

use std::sync::Mutex;

use crate::log_gops::{NS, lines};
use tributary::access::Extent;
use tributary::hints::DriverName;
use tributary::schedule::{Action, Buffer, Builder, SendMode, Span};
use tributary::{Rank, Topology};
use tributary_lab::sim::machine::Machine;
use tributary_lab::sim::phases::PHASES;
use tributary_lab::sim::storage::Storage;
use tributary_lab::sim::{Step, Striping, WorkPart, Workload, run};

const UNIT: u64 = 1000;
const ALL: Striping = Striping { unit: UNIT, servers: u32::MAX };

/// Workload: parts of every rank, in order; the first parts are a phase each.
struct Program(Vec<Mutex<Vec<Option<WorkPart>>>>);

impl Workload for Program {
    fn part(&self, rank: Rank, part: u32) -> Option<WorkPart> {
        self.0[rank].lock().unwrap().get_mut(part as usize)?.take()
    }

    fn phase(&self, part: u32) -> Option<usize> {
        Some((part as usize).min(PHASES - 1))
    }
}

/// Returns a machine with servers of 2 ns a byte, 300 ns away; ranks send 1 ns a byte.
fn machine(servers: u32) -> Machine {
    let storage = Storage {
        driver: DriverName::Lustre,
        servers,
        byte: 2.0 * NS,
        latency: 300.0 * NS,
        client_byte: NS,
        read_byte: NS,
        writers: 1,
        lock: 0.0,
        by_node: false,
    };
    Machine { storage: Some(storage), ..Machine::free() }
}

/// Returns the times at which the ranks end, and the time of each of their parts, in nanoseconds.
fn simulate(machine: &Machine, ranks: Vec<Vec<Step>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let parts = ranks.into_iter().map(|steps| steps.into_iter().map(WorkPart::Step).collect()).collect();
    simulate_parts(machine, parts)
}

fn simulate_parts(machine: &Machine, ranks: Vec<Vec<WorkPart>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let topology = Topology::blocks(ranks.len(), 1).unwrap();
    let program = Program(ranks.into_iter().map(|parts| Mutex::new(parts.into_iter().map(Some).collect())).collect());
    let outcome = run(machine, &topology, &program, 0, |_| ()).unwrap();
    let ns = |time: &u64| *time as f64 / NS;
    let ends = outcome.ranks.iter().map(|spent| ns(&spent.total)).collect();
    (ends, outcome.phases.ranks().map(|spent| spent.iter().map(ns).collect()).collect())
}

fn write(offset: u64, len: u64) -> Step {
    Step::Write(vec![Extent { offset, len }], ALL)
}

fn compute(ns: f64) -> Step {
    Step::Compute((ns * NS) as u64)
}

#[test]
fn one_write_takes_latency_and_bytes_of_the_slower_end() {
    // One server: 2 ns a byte there. Four: each serves a stripe, and the rank's 1 ns a byte is slower.
    for (servers, end) in [(1, 4000.0 * 2.0 + 300.0), (4, 4000.0 + 300.0)] {
        assert_eq!(simulate(&machine(servers), vec![vec![write(0, 4000), Step::Settle(0)]]).0, [end]);
    }
}

#[test]
fn two_ranks_share_a_server_first_come_first_served() {
    let late = vec![compute(100.0), write(0, UNIT), Step::Settle(0)];
    let early = vec![write(0, UNIT), Step::Settle(0)];
    let ends = simulate(&machine(2), vec![late.clone(), early.clone()]).0;
    assert_eq!(ends, [2.0 * 2.0 * 1000.0 + 300.0, 2.0 * 1000.0 + 300.0]);
    // The next stripe is on the other server.
    let elsewhere = vec![compute(100.0), write(UNIT, UNIT), Step::Settle(0)];
    assert_eq!(simulate(&machine(2), vec![elsewhere, early]).0, [100.0 + 2300.0, 2300.0]);
}

#[test]
fn a_file_on_fewer_servers_uses_no_others() {
    let one = Striping { unit: UNIT, servers: 1 };
    let steps = vec![Step::Write(vec![Extent { offset: 0, len: 4 * UNIT }], one), Step::Settle(0)];
    assert_eq!(simulate(&machine(4), vec![steps]).0, [8000.0 + 300.0]);
}

#[test]
fn extents_of_a_window_are_written_one_after_the_other() {
    let extents = [0, 10 * UNIT].map(|offset| Extent { offset, len: UNIT }).to_vec();
    let steps = vec![Step::Write(extents, ALL), Step::Settle(0)];
    assert_eq!(simulate(&machine(5), vec![steps]).0, [2.0 * 2300.0]);
}

#[test]
fn write_behind_overlaps_computing() {
    let (rounds, each) = (4, 2300.0);
    for busy in [1000.0, 5000.0] {
        let in_turn = (0..rounds).flat_map(|_| [compute(busy), write(0, UNIT), Step::Settle(0)]).collect();
        assert_eq!(simulate(&machine(1), vec![in_turn]).0, [rounds as f64 * (busy + each)]);
        // Two windows: one is filled while the other is written.
        let mut behind: Vec<_> = (0..rounds).flat_map(|_| [Step::Settle(1), compute(busy), write(0, UNIT)]).collect();
        behind.push(Step::Settle(0));
        let (first, rest) = (busy + each, (rounds - 1) as f64 * f64::max(busy, each));
        assert_eq!(simulate(&machine(1), vec![behind]).0, [first + rest], "busy {busy}");
    }
}

#[test]
fn time_is_counted_by_phases() {
    let steps = vec![compute(700.0), write(0, UNIT), Step::Settle(0), compute(50.0)];
    let (_, phases) = simulate(&machine(1), vec![steps]);
    assert_eq!(phases[0][..4], [700.0, 0.0, 2300.0, 50.0]);
}

#[test]
fn messages_wait_for_a_rank_that_waits_for_the_file() {
    let mut machine = machine(1);
    machine.paths = lines(100.0 * NS, 0.0);
    let span = Span::new(Buffer::Send, 0, 8);
    let mut send = Builder::default();
    send.op(Action::Send { to: 1, mode: SendMode::Synchronous }, span, &[]);
    let mut receive = Builder::default();
    receive.op(Action::Receive { from: 0 }, span, &[]);
    let sender = vec![WorkPart::Schedule(send.finish())];
    let receiver =
        vec![WorkPart::Step(write(0, UNIT)), WorkPart::Step(Step::Settle(0)), WorkPart::Schedule(receive.finish())];
    // The acknowledgement leaves when the window is in the file.
    assert_eq!(simulate_parts(&machine, vec![sender, receiver]).0, [2300.0 + 100.0, 2300.0]);
}
