//! Paths of a machine on which every kind of message, at every distance, has another cost.

use tributary_lab::sim::machine::{CostLine, Path};

/// Returns paths inside a socket, between sockets and between nodes; costs in picoseconds.
pub fn costly_paths() -> [Path; 3] {
    let line = |latency, byte| CostLine { latency, byte };
    let path = |x: f64| Path {
        short: line(x * 1e5, 10.0),
        eager: line(x * 1.5e5, 20.0),
        rendezvous: line(x * 4e5, 5.0),
        short_limit: 64,
    };
    [path(1.0), path(2.0), path(9.0)]
}
