//! The time of an exchange, in closed form: by it a kernel is chosen where the hints say `auto`.
//!
//! Every aggregator has `f` senders with a message of `m` bytes each. An aggregator takes one message after the other, and the
//! aggregators of a node share its port; the senders work side by side and are not what takes the time. With t(m), the time to
//! post and process a message,
//!
//! | kernel | time |
//! |---|---|
//! | flat | f t(m), and in batches of w f / w round trips, or f m t_port for each aggregator of the node, if that is more |
//! | two layers | (g - 1) t(s m), and s g m bytes copied and sent on by a rank; then flat: f' messages of f m / f' bytes |
//!
//! where a local aggregator has g members, a rank that sends at all sends to s aggregators, and f' = f / g is the number of local
//! aggregators with data for one aggregator: the ranks that send to it are neighbours. t(m) contains the search of the list of
//! early messages. The lists of the members are merged once, in log2 g levels of a heap.
//!
//! **Where ranks are more than cores**, they do not work side by side. Then the work of all ranks, divided by the cores, is a
//! lower bound of each of these times: every message takes t(m) of its sender and of its receiver, and two copies of its bytes.
//! Members that share memory with their local aggregator take one t(0) each, and no copy that the sender of a message does not
//! make. A round's gathering does not overlap another's exchange.
//!
//! After the main paper, section III.B (equations 4 and 5), with the terms of the max-rate model of nodes.

use tributary_base::wire;

/// What messages cost on a machine, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// t_s: posting and processing an eager message on its receiver.
    pub eager: f64,
    /// A byte of an eager message on its receiver.
    pub eager_byte: f64,
    /// The largest eager message, in bytes.
    pub eager_limit: f64,
    /// t_s of a larger message (rendezvous).
    pub rendezvous: f64,
    /// From a message to its acknowledgement: what a batch waits.
    pub round_trip: f64,
    /// t_w: a byte between nodes through the port of one rank.
    pub rank_byte: f64,
    /// A byte through the port of a node, which its ranks share.
    pub node_byte: f64,
    /// Copying a byte in memory.
    pub copy_byte: f64,
    /// Finding the place of an extent in a window.
    pub visit: f64,
    /// Inspecting an entry of a list of messages or receives.
    pub walk: f64,
    /// Passing an extent through a level of a heap that merges lists.
    pub merge: f64,
    /// The part of a core that a rank has: 1, or less where ranks are more than cores.
    pub core: f64,
    /// True if the members of a local aggregator hand over their bytes in memory that they share. Only looked at where ranks
    /// are more than cores.
    pub in_memory: bool,
}

wire::fields!(struct Costs {
    eager, eager_byte, eager_limit, rendezvous, round_trip, rank_byte, node_byte, copy_byte, visit, walk, merge, core, in_memory,
});

impl Costs {
    /// A cluster of the present: some microseconds a message, 10 GB/s and more a node. Of the order of what the simulator's
    /// machine files give for Perlmutter, Frontier, Summit and Cori.
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
        in_memory: false,
    };

    /// Where `ranks` ranks share `cores` cores.
    pub fn crowded(self, ranks: usize, cores: f64, in_memory: bool) -> Self {
        Self { core: (cores / ranks as f64).min(1.0), in_memory, ..self }
    }

    fn is_crowded(&self) -> bool {
        self.core < 1.0
    }

    /// What a message of `bytes` bytes takes of all cores together, on its sender and its receiver.
    fn both_sides(&self, bytes: f64) -> f64 {
        2.0 * (self.message(bytes) + bytes * self.copy_byte)
    }

    /// t(m).
    fn message(&self, bytes: f64) -> f64 {
        if bytes <= self.eager_limit { self.eager + bytes * self.eager_byte } else { self.rendezvous }
    }
}

/// The ranks of an exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranks {
    /// p.
    pub ranks: f64,
    /// N.
    pub nodes: f64,
    /// Number of aggregators.
    pub aggregators: f64,
    /// Most sends, and most receives, that a rank has outstanding; infinite without a throttle.
    pub batch: f64,
    /// True if they are posted in batches, each of which waits for a round trip; otherwise the next follows as any one ends.
    pub pauses: bool,
}

/// What one round moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// f: senders of an aggregator, on average.
    pub fan_in: f64,
    /// m: bytes of a message, on average.
    pub bytes: f64,
}

impl Ranks {
    /// Returns the seconds of `work` seconds of one core that all ranks have together, or of `each` that one has alone.
    fn shared(&self, costs: &Costs, each: f64, work: f64) -> f64 {
        if costs.is_crowded() { each.max(work / (self.ranks * costs.core).max(1.0)) } else { each }
    }

    /// Aggregators that share a port.
    fn sharing(&self) -> f64 {
        (self.aggregators / self.nodes).max(1.0)
    }

    /// Returns the seconds of a round by a flat kernel. O(1).
    pub fn flat(&self, costs: &Costs, load: Load) -> f64 {
        let Load { fan_in, bytes } = load;
        // Senders have at most a batch outstanding. What arrives before its receive is posted waits in a list that is searched
        // from its beginning; it is half full on average.
        let sends = (fan_in * self.aggregators / self.ranks).max(1.0);
        let early = fan_in * (self.batch / sends).min(1.0);
        let search = costs.walk * (self.batch.min(fan_in) / 2.0 + early / 4.0);
        let pauses = if self.pauses { fan_in / self.batch } else { 0.0 };
        let host = fan_in * (costs.message(bytes) + search) + pauses * costs.round_trip;
        // What comes from the aggregator's own node does not pass the port.
        let outside = 1.0 - 1.0 / self.nodes;
        let port =
            fan_in * bytes * outside * (self.sharing() * costs.node_byte).max(costs.rank_byte.min(costs.node_byte));
        let work = self.aggregators * fan_in * (costs.both_sides(bytes) + search);
        self.shared(costs, host.max(port), work)
    }

    /// Returns the seconds of a round through `local` local aggregators on each node, whose kernel is flat: on a
    /// local aggregator, and on an aggregator. O(1).
    pub fn two_layer(&self, costs: &Costs, load: Load, local: f64) -> [f64; 2] {
        if load.fan_in == 0.0 {
            return [0.0; 2];
        }
        let members = (self.ranks / (self.nodes * local)).max(1.0);
        // The aggregators that a rank sends to, and the bytes.
        let peers = (load.fan_in * self.aggregators / self.ranks).max(1.0);
        let bytes = peers * load.bytes;
        let in_memory = costs.is_crowded() && costs.in_memory;
        let gather = match in_memory {
            false => (members - 1.0) * costs.message(bytes) + members * bytes * costs.copy_byte,
            true => (members - 1.0) * costs.eager,
        };
        let leave = members * bytes * (1.0 - 1.0 / self.nodes) * (costs.rank_byte).max(local * costs.node_byte);
        let work = match in_memory {
            false => (self.ranks - self.nodes * local) * (costs.both_sides(bytes) + bytes * costs.copy_byte),
            true => self.ranks * costs.eager,
        };
        let inner = self.shared(costs, gather + leave, work);
        let fan_in = (load.fan_in / members).ceil().min(self.nodes * local).min(load.fan_in);
        let outer = self.flat(costs, Load { fan_in, bytes: load.fan_in * load.bytes / fan_in });
        [inner, outer]
    }

    /// Returns the seconds of merging `extents` extents of all ranks at the local aggregators, once for a plan. O(1).
    pub fn merging(&self, costs: &Costs, extents: f64, local: f64) -> f64 {
        let members = (self.ranks / (self.nodes * local)).max(1.0);
        let work = extents * members.log2().ceil() * costs.merge;
        self.shared(costs, work / (self.nodes * local), work)
    }

    /// The load where a round moves `bytes` bytes in all: of aggregators whose domains are smaller than a window, each would
    /// count with a whole one, and where ranks share cores their work is added up. O(1).
    pub fn within(&self, costs: &Costs, load: Load, bytes: f64) -> Load {
        let most = bytes / (self.aggregators * load.fan_in);
        Load { bytes: if costs.is_crowded() { load.bytes.min(most) } else { load.bytes }, ..load }
    }

    /// Returns the seconds of placing a window of `bytes` bytes in `extents` extents on every aggregator. O(1).
    pub fn placing(&self, costs: &Costs, bytes: f64, extents: f64) -> f64 {
        let each = bytes * costs.copy_byte + extents * costs.visit;
        self.shared(costs, each, self.aggregators * each)
    }

    /// Returns the seconds of `rounds` rounds in which local aggregators take `inner` to gather, and aggregators
    /// `outer` for the rest: one gathers for the next round meanwhile, if there are cores for both. Some of the
    /// shorter is not hidden, for an aggregator may be a local aggregator too: two fifths, in the simulator. O(1).
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

    /// BTIO on 16 hosts of 4 ranks: 16 aggregators get 10 KB from each rank.
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
        assert_eq!(apart.crowded(64, 64.0, true), Costs { in_memory: true, ..apart });
        assert_eq!(ratio(&apart.crowded(64, 100.0, true), 10e3), ratio(&apart, 10e3), "cores for all: nothing changes");
        let [two_cores, messages] = [true, false].map(|in_memory| apart.crowded(64, 2.0, in_memory));
        assert!(ratio(&two_cores, 10e3) > 1.5 && ratio(&apart, 10e3) < 1.28);
        assert!(ratio(&messages, 10e3) < ratio(&two_cores, 10e3), "members that send cost more");
        assert!((0.9..1.2).contains(&ratio(&two_cores, 1e6)), "large messages cost what their bytes cost");
    }

    #[test]
    fn half_the_cores_take_twice_as_long() {
        let ranks = Ranks { ranks: 64.0, nodes: 16.0, aggregators: 16.0, batch: 32.0, pauses: true };
        let flat = |cores| ranks.flat(&Costs::CLUSTER.crowded(64, cores, true), Load { fan_in: 64.0, bytes: 8.0 });
        assert!((flat(1.0) / flat(2.0) - 2.0).abs() < 1e-9);
        assert!(flat(1.0) > flat(64.0));
    }
}
