//! The times of calls on the file servers of a machine.

use std::collections::HashMap;

use tributary::Hints;
use tributary::topology::Topology;
use tributary_testing::virtual_time::file::{CallTimes, FileCall};

use crate::sim::{Machine, Storage};

/// Number of picoseconds of a nanosecond.
const NANO: f64 = 1_000.0;

/// File servers: each moves the bytes of one call after the other.
pub struct ServerTimes {
    storage: Option<Storage>,
    nodes: Vec<usize>,
    /// Number of bytes of a stripe, and number of servers of the file.
    stripes: (u64, u64),
    /// Time from which on each server, or node, is free, in nanoseconds.
    free: Vec<u64>,
    /// Node that has the lock of each stripe.
    locks: HashMap<u64, usize>,
}

impl ServerTimes {
    /// Returns the servers of a machine, for a file with the stripes that `hints` ask for.
    pub fn new(machine: &Machine, topology: &Topology, hints: &Hints) -> Self {
        let servers = machine.storage.map_or(1, |storage| storage.servers.into());
        let asked = hints.striping_factor.map_or(servers, |factor| u64::from(factor).clamp(1, servers));
        let stripes = (hints.striping_unit.unwrap_or(1 << 20).max(1), asked);
        let by_node = machine.storage.is_some_and(|storage| storage.by_node);
        Self {
            storage: machine.storage,
            nodes: (0..topology.ranks()).map(|rank| topology.node_of(rank)).collect(),
            stripes,
            free: vec![0; if by_node { topology.nodes() } else { servers as usize }],
            locks: HashMap::new(),
        }
    }
}

fn nanos(picos: f64) -> u64 {
    (picos / NANO).round() as u64
}

impl CallTimes for ServerTimes {
    fn end(&mut self, call: FileCall, _: &dyn Fn(u64) -> u64) -> u64 {
        let FileCall { rank, offset, bytes, writes, parts, now, .. } = call;
        let Some(storage) = self.storage else { return now };
        let node = self.nodes[rank];
        let byte = if writes { storage.byte } else { storage.read_byte };
        let latency = nanos(storage.latency / parts as f64);
        let own = now + nanos(bytes as f64 * storage.client_byte);
        if storage.by_node {
            // Only calls that move bytes take time.
            if bytes == 0 && parts == 1 {
                return now;
            }
            let free = &mut self.free[node];
            if bytes > 0 {
                *free = now.max(*free) + nanos(bytes as f64 * byte);
            }
            return if bytes > 0 { own.max(*free) + latency } else { now + latency };
        }
        let (unit, servers) = self.stripes;
        let (mut at, mut done) = (offset, own);
        while at < offset + bytes {
            let stripe = at / unit;
            let end = (offset + bytes).min((stripe + 1) * unit);
            let free = &mut self.free[(stripe % servers) as usize];
            let moves = writes && self.locks.insert(stripe, node).is_some_and(|holder| holder != node);
            *free = now.max(*free) + nanos((end - at) as f64 * byte) + if moves { nanos(storage.lock) } else { 0 };
            done = done.max(*free);
            at = end;
        }
        done + latency
    }
}
