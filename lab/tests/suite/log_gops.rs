//! The machine of LogGOPS (Hoefler, Schneider, Lumsdaine 2010), with that simulator's default figures.

use tributary_lab::sim::machine::{CostLine, Machine, Path};

/// One nanosecond in the simulator's unit, picoseconds.
pub const NS: f64 = 1000.0;

/// Returns three paths with the same latency and time of a byte, in picoseconds.
pub fn lines(latency: f64, byte: f64) -> [Path; 3] {
    let line = CostLine { latency, byte };
    [Path { short: line, eager: line, rendezvous: line, short_limit: 0 }; 3]
}

/// Returns the machine of LogGOPS with L 2500, o 1500, g 1000, G 6, O 0 (ns). A message of s bytes costs (s - 1) G in
/// LogGOPSim and s G here, so the other constants are smaller by G.
pub fn log_gops() -> Machine {
    let (latency, o, g, byte) = (2500.0, 1500.0, 1000.0, 6.0);
    let mut machine = Machine::free();
    machine.paths = lines(latency * NS, 0.0);
    machine.host.send = o * NS;
    machine.host.receive = (o - byte) * NS;
    machine.host.receive_byte = byte * NS;
    machine.host.copy_byte = 1.0 * NS;
    machine.node.inject = (g - byte) * NS;
    machine.node.inject_byte = byte * NS;
    machine
}
