//! Estimates the time of an exchange by a formula. If the hints say `auto`, the estimate decides which kernel is used.
//!
//! Every aggregator has `f` senders with a message of `m` bytes each. An aggregator takes one message after the other,
//! and the aggregators of a node share the node's port. The senders work side by side and do not determine the time.
//! With t(m), the time to post and process a message,
//!
//! | kernel | time |
//! |---|---|
//! | flat | f t(m), and in batches of w f / w round trips, or f m t_port for each aggregator of the node, if that is more |
//! | two layers | (g - 1) t(s m), and s g m bytes copied and sent on by a rank; then flat: f' messages of f m / f' bytes |
//!
//! where a local aggregator has g members, w is the maximum number of messages in a batch, and a rank that sends data
//! sends to s aggregators on average. f' = f / g is the number of local aggregators with data for one aggregator,
//! because the ranks that send to an aggregator are neighbours. t(m) includes the search of the list of messages that
//! arrived before their receives were posted. The lists of the members are merged once, in log2 g levels of a heap.
//!
//! **If there are more ranks than cores**, ranks do not work side by side. Then the work of all ranks, divided by the
//! number of cores, is a lower bound of each of these times. Every message takes t(m) on its sender and on its
//! receiver, and two copies of its bytes. A member shares memory with its local aggregator. So a member takes t(0)
//! once, and copies no more bytes than the sender of a message. (If each rank has a core, the table counts a message
//! of each member, and a copy on the local aggregator.) Local aggregators do not gather the data of a round while
//! another round is exchanged.
//!
//! In the first exchange of ranks that share cores, connections take their time too: one for each sender of an
//! aggregator.
//!
//! The formulas follow the main paper, section III.B (equations 4 and 5), with the terms of the max-rate model of
//! nodes.

use tributary_base::wire;

/// Core time of two ranks that send each other a message for the first time, in seconds. MPI libraries connect two ranks
/// then. Over TCP, with 16 ranks on two cores, 45 connections took 7 ms.
const CONNECTION: f64 = 200e-6;

/// Costs of messages and of memory on a machine, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// Time to post and process an eager message on its receiver, in seconds (t_s in the paper).
    pub eager: f64,
    /// Additional time for each byte of an eager message on its receiver, in seconds.
    pub eager_byte: f64,
    /// Maximum size of an eager message, in bytes.
    pub eager_limit: f64,
    /// Time to post and process a message larger than `eager_limit` (rendezvous), in seconds.
    pub rendezvous: f64,
    /// Time from sending a message to getting its acknowledgement, in seconds. Each batch of messages takes this time
    /// once.
    pub round_trip: f64,
    /// Time to send a byte to another node through the port of one rank, in seconds (t_w in the paper).
    pub rank_byte: f64,
    /// Time to send a byte to another node through the port of a node, which the node's ranks share, in seconds.
    pub node_byte: f64,
    /// Time to copy a byte in memory, in seconds.
    pub copy_byte: f64,
    /// Time to find the position of an extent in a window (the part of the file that an aggregator holds in a round),
    /// in seconds.
    pub visit: f64,
    /// Time to inspect one entry of a list of messages or receives, in seconds.
    pub walk: f64,
    /// Time to pass an extent through one level of the heap that merges lists, in seconds.
    pub merge: f64,
    /// Share of a core that a rank has: 1, or less if there are more ranks than cores.
    pub core: f64,
}

wire::fields!(struct Costs {
    eager, eager_byte, eager_limit, rendezvous, round_trip, rank_byte, node_byte, copy_byte, visit, walk, merge, core,
});

impl Costs {
    /// Costs of a typical cluster of today: some microseconds a message, 10 GB/s or more a node. Similar to the
    /// simulator's machine files for Perlmutter, Frontier, Summit and Cori.
    pub const CLUSTER: Self = Self {
        eager: 1.5e-6,
        eager_byte: 0.1e-9,
        eager_limit: 8192.0,
        rendezvous: 2.5e-6,
        round_trip: 4e-6,
        rank_byte: 0.08e-9,
        node_byte: 0.05e-9,
        copy_byte: 0.1e-9,
        visit: 20e-9,
        walk: 10e-9,
        merge: 10e-9,
        core: 1.0,
    };

    /// Returns these costs for `ranks` ranks that share `cores` cores.
    pub fn crowded(self, ranks: usize, cores: f64) -> Self {
        Self { core: (cores / ranks as f64).min(1.0), ..self }
    }

    /// Returns true if ranks share cores.
    fn is_crowded(&self) -> bool {
        self.core < 1.0
    }

    /// Returns the seconds of core time that a message of `bytes` bytes takes, on its sender and its receiver
    /// together.
    fn both_sides(&self, bytes: f64) -> f64 {
        2.0 * (self.message(bytes) + bytes * self.copy_byte)
    }

    /// Returns the seconds to post and process a message of `bytes` bytes on its receiver: t(m) in the module's
    /// formulas.
    fn message(&self, bytes: f64) -> f64 {
        if bytes <= self.eager_limit { self.eager + bytes * self.eager_byte } else { self.rendezvous }
    }
}

/// Numbers of ranks, nodes and aggregators of an exchange, and the throttle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranks {
    /// Number of ranks (p in the formulas).
    pub ranks: f64,
    /// Number of nodes (N in the formulas).
    pub nodes: f64,
    /// Number of aggregators.
    pub aggregators: f64,
    /// Maximum number of sends, and of receives, that a rank has outstanding; infinite without a throttle.
    pub batch: f64,
    /// True if messages are posted in batches, each of which waits for a round trip; false if the next message starts
    /// as soon as any other message ends.
    pub pauses: bool,
}

/// The messages of one round of an exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Mean number of senders of an aggregator (f in the formulas).
    pub fan_in: f64,
    /// Mean size of a message, in bytes (m in the formulas).
    pub bytes: f64,
}

impl Ranks {
    /// Returns the seconds that some work takes: `each` seconds on every rank with a core of its own. If ranks share cores, `work`
    /// core seconds of all ranks divided by the number of cores are a lower bound.
    fn shared(&self, costs: &Costs, each: f64, work: f64) -> f64 {
        if costs.is_crowded() { each.max(work / (self.ranks * costs.core).max(1.0)) } else { each }
    }

    /// Returns the seconds until `senders` ranks are connected with each aggregator. Counted only if ranks share cores:
    /// otherwise ranks connect side by side, and many networks need no connections. O(1).
    pub fn connecting(&self, costs: &Costs, senders: f64) -> f64 {
        self.shared(costs, 0.0, self.aggregators * senders * CONNECTION)
    }

    /// Returns the mean number of aggregators that share a node's port, at least 1.
    fn sharing(&self) -> f64 {
        (self.aggregators / self.nodes).max(1.0)
    }

    /// Returns the seconds that a round takes with a flat kernel. O(1).
    pub fn flat(&self, costs: &Costs, load: Load) -> f64 {
        let Load { fan_in, bytes } = load;
        // Senders have at most a batch outstanding. A message that arrives before its receive is posted waits in a list
        // that is searched from its beginning; the list is half full on average.
        let sends = (fan_in * self.aggregators / self.ranks).max(1.0);
        let early = fan_in * (self.batch / sends).min(1.0);
        let search = costs.walk * (self.batch.min(fan_in) / 2.0 + early / 4.0);
        let pauses = if self.pauses { fan_in / self.batch } else { 0.0 };
        let host = fan_in * (costs.message(bytes) + search) + pauses * costs.round_trip;
        // Messages from the aggregator's own node do not use the port.
        let outside = 1.0 - 1.0 / self.nodes;
        let port =
            fan_in * bytes * outside * (self.sharing() * costs.node_byte).max(costs.rank_byte.min(costs.node_byte));
        let work = self.aggregators * fan_in * (costs.both_sides(bytes) + search);
        self.shared(costs, host.max(port), work)
    }

    /// Returns the seconds that a round takes through `local` local aggregators on each node, with a flat kernel between them
    /// and the aggregators: [seconds of a local aggregator, seconds of an aggregator]. O(1).
    pub fn two_layer(&self, costs: &Costs, load: Load, local: f64) -> [f64; 2] {
        if load.fan_in == 0.0 {
            return [0.0; 2];
        }
        let members = (self.ranks / (self.nodes * local)).max(1.0);
        // Number of aggregators that a rank sends to, and number of bytes that the rank sends.
        let peers = (load.fan_in * self.aggregators / self.ranks).max(1.0);
        let bytes = peers * load.bytes;
        let gather = match costs.is_crowded() {
            false => (members - 1.0) * costs.message(bytes) + members * bytes * costs.copy_byte,
            true => (members - 1.0) * costs.eager,
        };
        let leave = members * bytes * (1.0 - 1.0 / self.nodes) * (costs.rank_byte).max(local * costs.node_byte);
        let inner = self.shared(costs, gather + leave, self.ranks * costs.eager);
        let fan_in = (load.fan_in / members).ceil().min(self.nodes * local).min(load.fan_in);
        let outer = self.flat(costs, Load { fan_in, bytes: load.fan_in * load.bytes / fan_in });
        [inner, outer]
    }

    /// Returns the seconds that local aggregators take to merge the lists of all ranks, `extents` extents in all.
    /// This happens once for a plan. O(1).
    pub fn merging(&self, costs: &Costs, extents: f64, local: f64) -> f64 {
        let members = (self.ranks / (self.nodes * local)).max(1.0);
        let work = extents * members.log2().ceil() * costs.merge;
        self.shared(costs, work / (self.nodes * local), work)
    }

    /// Returns `load` reduced to a round that moves only `bytes` bytes in all. This matters only if ranks share cores,
    /// where the work of all aggregators is added up: otherwise an aggregator whose domain is smaller than a window
    /// would count with a whole window. O(1).
    pub fn within(&self, costs: &Costs, load: Load, bytes: f64) -> Load {
        let most = bytes / (self.aggregators * load.fan_in);
        Load { bytes: if costs.is_crowded() { load.bytes.min(most) } else { load.bytes }, ..load }
    }

    /// Returns the seconds that every aggregator takes to copy the `extents` extents of a window of `bytes` bytes.
    /// O(1).
    pub fn placing(&self, costs: &Costs, bytes: f64, extents: f64) -> f64 {
        let each = bytes * costs.copy_byte + extents * costs.visit;
        self.shared(costs, each, self.aggregators * each)
    }

    /// Returns the seconds of `rounds` rounds in which local aggregators take `inner` seconds to gather, and
    /// aggregators `outer` seconds for the rest. If each rank has a core, local aggregators gather for the next round
    /// while aggregators work. Two fifths of the shorter time are not hidden (in the simulator), because an aggregator
    /// may be a local aggregator too. O(1).
    pub fn pipelined(&self, costs: &Costs, rounds: f64, inner: f64, outer: f64) -> f64 {
        match costs.is_crowded() {
            true => rounds * (inner + outer),
            false => inner + rounds * (outer.max(inner) + 0.4 * outer.min(inner)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the time with two layers divided by the time of a flat kernel, for BTIO on 16 hosts of 4 ranks: 16
    /// aggregators get 10 KB from each rank.
    fn ratio(costs: &Costs, bytes: f64) -> f64 {
        let ranks = Ranks { ranks: 64.0, nodes: 16.0, aggregators: 16.0, batch: 32.0, pauses: true };
        let load = Load { fan_in: 64.0, bytes };
        let place = ranks.placing(costs, 64.0 * bytes, 100.0);
        let [inner, outer] = ranks.two_layer(costs, load, 1.0);
        (ranks.flat(costs, load) + place) / ranks.pipelined(costs, 1.0, inner, outer + place)
    }

    /// Two layers save messages, which cost more where ranks share cores.
    #[test]
    fn ranks_that_share_cores_wait_for_the_work_of_all() {
        let apart = Costs::CLUSTER;
        assert_eq!([64.0, 100.0].map(|cores| apart.crowded(64, cores)), [apart; 2], "cores for all: nothing changes");
        let two_cores = apart.crowded(64, 2.0);
        assert!(ratio(&two_cores, 10e3) > 1.5 && ratio(&apart, 10e3) < 1.28);
        assert!((0.9..1.2).contains(&ratio(&two_cores, 1e6)), "large messages cost what their bytes cost");
    }

    #[test]
    fn half_the_cores_take_twice_as_long() {
        let ranks = Ranks { ranks: 64.0, nodes: 16.0, aggregators: 16.0, batch: 32.0, pauses: true };
        let flat = |cores| ranks.flat(&Costs::CLUSTER.crowded(64, cores), Load { fan_in: 64.0, bytes: 8.0 });
        assert!((flat(1.0) / flat(2.0) - 2.0).abs() < 1e-9);
        assert!(flat(1.0) > flat(64.0));
    }
}
