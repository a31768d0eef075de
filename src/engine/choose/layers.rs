//! Chooses the kernels of a call whose hints say `auto`: all messages straight to the aggregators, or through local
//! aggregators.
//!
//! The choice is a pure function of numbers that all ranks agree on anyway, so it costs no message and is the same on
//! all ranks. It includes the number of local aggregators. It compares the closed forms of [`crate::exchange::cost`].
//! Flat kernels differ little in these formulas and in the simulator, so the flat kernel is always the default one.

use crate::access::{AccessStats, Extent, Extents};
use crate::drivers::Domains;
use crate::engine::choose::{LOOKED_AT, PACKED_EXTENT, WORTH_LAYERING};
use crate::engine::trace::path::{Layered, Layering};
use crate::exchange::cost::{Costs, Load, Ranks};
use crate::exchange::two_layer::LocalAggregators;
use crate::exchange::{BALANCED, head_and_rest};
use crate::hints::{Hints, KernelHint, Switch};
use crate::schedule::ThrottleMode;
use crate::topology::Topology;

/// One possible choice of layers for a call, and its predicted time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Layers of the call's messages.
    pub way: Layering,
    /// Predicted time in seconds, without costs that all choices have in common.
    pub seconds: f64,
}

/// Chooses layers of messages for the calls on a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Chooser {
    /// Costs of messages on this machine.
    pub costs: Costs,
    /// Numbers of ranks, nodes and aggregators.
    pub ranks: Ranks,
    /// Possible numbers of local aggregators on a node, ascending; empty if there is no choice.
    pub local: Vec<usize>,
}

impl Chooser {
    /// Returns a chooser with the choices that the hints allow. O(log of a node's ranks).
    pub fn from_hints(costs: Costs, topology: &Topology, aggregators: usize, hints: &Hints) -> Self {
        let throttle = hints.throttle(KernelHint::Flat(&BALANCED), hints.data_limit());
        let [ranks, nodes, aggregators] = [topology.ranks(), topology.nodes(), aggregators].map(|count| count as f64);
        let (batch, pauses) = (throttle.limit.map_or(f64::INFINITY, f64::from), throttle.mode == ThrottleMode::Batch);
        let ranks = Ranks { ranks, nodes, aggregators, batch, pauses };
        let kernels = [hints.metadata_kernel(), hints.data_kernel()];
        let mut chooser = Self::new(costs, ranks);
        let total = (ranks.ranks / ranks.nodes).min(LocalAggregators::IN_TOTAL as f64 / ranks.nodes).max(1.0) as usize;
        chooser.local = match hints.num_aggrs_per_node {
            _ if !kernels.contains(&KernelHint::Auto) || hints.shared_memory == Switch::Disable => Vec::new(),
            _ if chooser.local.is_empty() => Vec::new(),
            0 if kernels.contains(&KernelHint::TwoLayer) => vec![total],
            0 => chooser.local,
            given => vec![given],
        };
        chooser
    }

    /// Returns a chooser with all powers of two up to half of a node's ranks as numbers of local aggregators; with none
    /// on one node, or if no node has two ranks. O(log of a node's ranks).
    pub fn new(costs: Costs, ranks: Ranks) -> Self {
        let on_node = if ranks.nodes > 1.0 { ranks.ranks / ranks.nodes } else { 0.0 };
        let counts = (0..usize::BITS).map(|power| 1usize << power);
        Self { costs, ranks, local: counts.take_while(|&local| local as f64 * 2.0 <= on_node).collect() }
    }

    /// Returns the possible choices for a call: the chosen one first, the others by predicted time. A phase that is not
    /// `open` to choice stays as `given`. `connected` says whether all ranks have sent messages to aggregators. Phases
    /// that are both open get the same layers: with a flat phase after a layered one, most ranks send before the
    /// aggregators receive. O(aggregators x log of a node's ranks).
    pub fn ranked(
        &self,
        amount: &AccessStats,
        domains: &Domains,
        (open, given): (Layered, Layered),
        connected: bool,
    ) -> Vec<Candidate> {
        // If the data phase is not open to choice, all choices connect the same ranks.
        let connecting = |way: Layering| if connected || !open.data { 0.0 } else { self.connecting(way) };
        let candidate = |way| Candidate { way, seconds: self.predicted(amount, domains, way) + connecting(way) };
        let flat = Layering { layered: given, local: if given.any() { self.fewest() } else { 0 } };
        if self.local.is_empty() || amount.bytes == 0 || !open.any() {
            return vec![Candidate { way: flat, seconds: 0.0 }];
        }
        let flat = candidate(flat);
        let layered = Layered { metadata: open.metadata || given.metadata, data: open.data || given.data };
        let mut all: Vec<_> = self.local.iter().map(|&local| candidate(Layering { layered, local })).collect();
        all.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let at = match all.first() {
            Some(best) if best.seconds < flat.seconds * (1.0 - WORTH_LAYERING) => {
                1 + all[1..].partition_point(|other| other.seconds <= flat.seconds)
            }
            _ => 0,
        };
        all.insert(at, flat);
        all
    }

    /// Returns the choice for a call. O(aggregators x log of a node's ranks).
    pub fn choose(
        &self,
        amount: &AccessStats,
        domains: &Domains,
        phases: (Layered, Layered),
        connected: bool,
    ) -> Layering {
        self.ranked(amount, domains, phases, connected)[0].way
    }

    /// Predicts the seconds until all senders are connected with all aggregators.
    fn connecting(&self, way: Layering) -> f64 {
        let Ranks { ranks, nodes, .. } = self.ranks;
        let senders = if way.layered.data { (nodes * way.local.max(1) as f64).min(ranks) } else { ranks };
        self.ranks.connecting(&self.costs, senders)
    }

    /// Predicts the time of the lists and the rounds of a call in seconds, without costs that all choices have in
    /// common. O(aggregators).
    fn predicted(&self, amount: &AccessStats, domains: &Domains, way: Layering) -> f64 {
        let Self { costs, ranks, .. } = self;
        let estimate = Estimate::new(amount, domains, ranks);
        let local = way.local.max(1) as f64;
        let lists = estimate.lists.iter().map(|load| match way.layered.metadata {
            false => ranks.flat(costs, *load),
            true => ranks.two_layer(costs, *load, local).iter().sum(),
        });
        let lists: f64 = lists.sum();
        let Estimate { data, rounds, extents, .. } = estimate;
        let data = ranks.within(costs, data, amount.bytes as f64 / rounds);
        let place = ranks.placing(costs, data.fan_in * data.bytes, extents / (rounds * ranks.aggregators));
        if !way.layered.data {
            return lists + rounds * (ranks.flat(costs, data) + place);
        }
        // Local aggregators gather for the next round while aggregators place the bytes of this one.
        let [inner, outer] = ranks.two_layer(costs, data, local);
        lists + ranks.merging(costs, extents, local) + ranks.pipelined(costs, rounds, inner, outer + place)
    }

    /// Returns the lowest possible number of local aggregators on a node; each then has the most members.
    fn fewest(&self) -> usize {
        self.local.first().copied().unwrap_or_default()
    }
}

/// Estimate of the messages of a call, made before the call sends anything.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Estimate {
    /// Messages with the first parts of all lists, and with the rest of long lists.
    lists: [Load; 2],
    /// Messages of one round of data.
    data: Load,
    rounds: f64,
    extents: f64,
}

impl Estimate {
    /// Makes the estimate from the agreed numbers of a call.
    ///
    /// A rank sends one message for each window in which it has bytes. The count of these windows assumes full windows; a
    /// shorter window has bytes of the same number of ranks.
    fn new(amount: &AccessStats, domains: &Domains, ranks: &Ranks) -> Self {
        let (part, window) = (domains.part() as f64, domains.window_bytes() as f64);
        let (bytes, extents) = (amount.bytes as f64, amount.requests as f64);
        let range = amount.span() as f64;
        let rounds = (range / window / ranks.aggregators).ceil().max(1.0);
        let counted = (range / window).ceil().max(ranks.aggregators.min((range / part).ceil())).max(1.0);
        let windows = counted.max(owners(domains));
        let fan_in = (amount.touched as f64 / counted).clamp(1.0, ranks.ranks);
        let senders = (fan_in * windows / ranks.aggregators).clamp(1.0, ranks.ranks);
        let list = extents * PACKED_EXTENT / (senders * ranks.aggregators);
        let [head, rest] = head_and_rest(list.round() as usize).map(|bytes| bytes as f64);
        Self {
            lists: [
                Load { fan_in: ranks.ranks, bytes: head },
                Load { fan_in: if rest > 0.0 { senders } else { 0.0 }, bytes: rest },
            ],
            data: Load { fan_in, bytes: bytes / (windows * fan_in) },
            rounds,
            extents,
        }
    }
}

/// Returns the kernels of the metadata phase and of the data phase of a call, if the `layered` phases go through local
/// aggregators: the kernels of the hints, with the chosen kernel in place of `auto`.
pub fn kernels(hints: &Hints, layered: Layered) -> [KernelHint; 2] {
    let phases = [(hints.metadata_kernel(), layered.metadata), (hints.data_kernel(), layered.data)];
    phases.map(|(kernel, is_layered)| match kernel {
        KernelHint::Auto if is_layered => KernelHint::TwoLayer,
        KernelHint::Auto => KernelHint::Flat(&BALANCED),
        given => given,
    })
}

/// Returns the number of ranges that aggregators own; 0 if they own stripes in turn. O(aggregators).
fn owners(domains: &Domains) -> f64 {
    match domains {
        Domains::Cyclic { .. } => 0.0,
        Domains::Ranges { bounds, .. } => bounds.windows(2).filter(|bound| bound[0] < bound[1]).count() as f64,
    }
}

/// Counts the windows in which the extents of a rank have bytes, wherever the file domains begin.
#[derive(Debug, Clone)]
pub struct Touched {
    /// Length in bytes of a part of the file that belongs to one window.
    part: u64,
    /// Number of parts of a window. Two parts of a window that follow each other are `rounds.len()` parts of the file apart.
    parts: u64,
    /// For each window of a round: 1 + the last round in which it had bytes.
    rounds: Vec<u64>,
    /// Range of the part that had the last bytes, in bytes of the file.
    last: (u64, u64),
    /// Number of windows with bytes so far.
    count: u64,
}

impl Touched {
    /// Starts a count of 0 for a file that is divided like `domains`.
    pub fn new(domains: &Domains) -> Self {
        let (part, parts) = (domains.part(), domains.window_bytes() / domains.part());
        let windows = if parts > 1 { domains.aggregators() } else { 1 };
        Self { part, parts, rounds: vec![0; windows], last: (0, 0), count: 0 }
    }

    /// Adds an extent, which lies after the extents added before. O(parts of the file in the extent).
    #[inline]
    pub fn add(&mut self, extent: Extent) {
        if extent.len == 0 || (extent.offset >= self.last.0 && extent.end() <= self.last.1) {
            return;
        }
        let (first, at) = (extent.offset / self.part, (extent.end() - 1) / self.part);
        self.last = (at * self.part, (at + 1).saturating_mul(self.part));
        let windows = self.rounds.len() as u64;
        for part in first..=at {
            let round = part / windows / self.parts + 1;
            let known = &mut self.rounds[(part % windows) as usize];
            self.count += u64::from(*known != round);
            *known = round;
        }
    }

    /// Returns the number of windows.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of windows in which an access has bytes. For very many extents, estimates it from the first
    /// extents; the result is at most the number of windows in the range. O(extents), at most a few thousand of them,
    /// and the parts in these.
    pub fn by(mut self, file: &Extents) -> u64 {
        file.iter().take(LOOKED_AT as usize).for_each(|extent| self.add(extent));
        let (all, Some((start, end))) = (file.count(), file.span()) else { return 0 };
        if all <= LOOKED_AT {
            return self.count;
        }
        let like = u128::from(self.count) * u128::from(all) / u128::from(LOOKED_AT);
        u64::try_from(like).unwrap_or(u64::MAX).min(self.between(start, end))
    }

    /// Returns the maximum number of windows in a range of the file.
    fn between(&self, start: u64, end: u64) -> u64 {
        let (first, last) = (start / self.part, end.saturating_sub(1) / self.part);
        let windows = self.rounds.len() as u64;
        let rounds = last / windows / self.parts - first / windows / self.parts + 1;
        (last - first + 1).min(rounds.saturating_mul(windows))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;
    const LAYERED: Layered = Layered { metadata: true, data: true };

    fn ranks(ranks: f64, nodes: f64) -> Ranks {
        Ranks { ranks, nodes, aggregators: nodes, batch: 50.0, pauses: false }
    }

    /// Returns a call in which every rank has bytes in every window of a file.
    fn call(all: Ranks, bytes: u64) -> (AccessStats, Domains) {
        let domains = Domains::equal_blocks(0, bytes, MIB, all.aggregators as usize, 16 * MIB);
        let windows = bytes.div_ceil(16 * MIB).max(all.aggregators as u64);
        let (requests, touched) = (100 * all.ranks as u64, all.ranks as u64 * windows);
        (AccessStats { start: 0, end: bytes, bytes, requests, most: 100, touched }, domains)
    }

    fn choice(all: Ranks, bytes: u64) -> Layered {
        let (agreed, domains) = call(all, bytes);
        Chooser::new(Costs::CLUSTER, all).choose(&agreed, &domains, (LAYERED, Layered::default()), true).layered
    }

    #[test]
    fn many_ranks_with_little_each_go_through_local_aggregators() {
        assert_eq!(choice(ranks(8192.0, 64.0), 512 * MIB), LAYERED);
        assert_eq!(choice(ranks(16.0, 4.0), 4096 * MIB), Layered::default(), "few ranks with large messages");
        assert_eq!(choice(ranks(1024.0, 1.0), 512 * MIB), Layered::default(), "one node");
        assert_eq!(choice(ranks(1024.0, 1024.0), 512 * MIB), Layered::default(), "one rank on each node");
        assert_eq!(choice(ranks(8192.0, 64.0), 0), Layered::default(), "no bytes");
    }

    /// A phase whose hint names a kernel stays as it is.
    #[test]
    fn what_is_given_stays() {
        let all = ranks(8192.0, 64.0);
        let (agreed, domains) = call(all, 512 * MIB);
        let chooser = Chooser::new(Costs::CLUSTER, all);
        let (data, none) = (Layered { metadata: false, data: true }, Layered::default());
        for (open, given, due) in [(none, none, none), (data, none, data), (none, data, data)] {
            assert_eq!(chooser.choose(&agreed, &domains, (open, given), true).layered, due);
        }
        let local = |hints: &str| {
            let (hints, topology) = (Hints::parse(hints).unwrap(), Topology::blocks(64, 8).unwrap());
            Chooser::from_hints(Costs::CLUSTER, &topology, 8, &hints).local
        };
        assert!(local("trib_kernel_meta=balanced; trib_kernel_data=pairwise").is_empty());
        assert_eq!(local("nc_num_aggrs_per_node=3"), [3]);
        assert_eq!(local("trib_kernel_meta=two_layer"), [8], "all ranks of a node: fewer than 512 in all");
        assert_eq!(local(""), [1, 2, 4]);
        assert!(local("trib_shared_memory=disable").is_empty(), "local aggregators gather in shared memory");
    }

    /// Ranks that share cores and are not connected with aggregators take two layers for a small call, but not if lists
    /// are long.
    #[test]
    fn connections_count_once() {
        let all = ranks(16.0, 4.0);
        let chooser = Chooser::new(Costs::CLUSTER.crowded(16, 2.0), all);
        let (amount, domains) = call(all, 3 * MIB);
        let layers = |requests, connected| {
            let agreed = AccessStats { requests, ..amount };
            chooser.choose(&agreed, &domains, (LAYERED, Layered::default()), connected).layered.any()
        };
        assert!(layers(1 << 12, false) && !layers(1 << 20, false), "merging long lists takes longer");
        assert!((12..20).any(|power| layers(1 << power, false) && !layers(1 << power, true)));
    }

    /// The first choice is the chosen one: two layers only if they save enough.
    #[test]
    fn ways_are_ranked_by_their_prediction() {
        for (nodes, on_node, bytes) in [(4.0, 4.0, 4096 * MIB), (8.0, 64.0, 64 * MIB), (64.0, 128.0, 512 * MIB)] {
            let all = ranks(nodes * on_node, nodes);
            let (agreed, domains) = call(all, bytes);
            let chooser = Chooser::new(Costs::CLUSTER, all);
            let ways = chooser.ranked(&agreed, &domains, (LAYERED, Layered::default()), true);
            assert_eq!(ways.len(), chooser.local.len() + 1);
            assert!(ways[1..].is_sorted_by(|a, b| a.seconds <= b.seconds), "{ways:?}");
            let flat = ways.iter().find(|one| one.way == Layering::default()).unwrap();
            let best = ways.iter().map(|one| one.seconds).fold(f64::INFINITY, f64::min);
            assert_eq!(ways[0].way == Layering::default(), best >= flat.seconds * (1.0 - WORTH_LAYERING), "{ways:?}");
        }
    }

    proptest! {
        /// The reference counts byte by byte.
        #[test]
        fn every_window_is_counted_once(
            pieces in prop::collection::vec((0u64..200, 1u64..300), 0..40),
            (stripe, stripes, aggregators) in (1u64..40, 1u64..5, 1u64..6),
            cyclic in any::<bool>(),
        ) {
            let domains = match cyclic {
                true => Domains::Cyclic { stripe, aggregators, stripes },
                false => Domains::Ranges { bounds: vec![0, u64::MAX], window: stripe * stripes },
            };
            let (mut touched, mut windows, mut at) = (Touched::new(&domains), std::collections::BTreeSet::new(), 0);
            for (gap, len) in pieces {
                let extent = Extent { offset: at + gap, len };
                at = extent.end();
                touched.add(extent);
                for byte in extent.offset..extent.end() {
                    let (aggregator, _) = domains.owner(byte);
                    windows.insert((aggregator, domains.window(aggregator, byte).index));
                }
            }
            prop_assert_eq!(touched.count(), windows.len() as u64);
            prop_assert!(touched.between(0, at) >= touched.count());
        }
    }

    /// The estimate is exact if extents are few, or all alike.
    #[test]
    fn the_first_of_many_extents_stand_for_all() {
        let domains = Domains::Cyclic { stripe: 64, aggregators: 4, stripes: 2 };
        for (len, stride, count) in [(8, 64, 3000), (8, 64, 100_000), (8, 1000, 100_000), (60, 61, 50_000)] {
            let file = Extents::strided(5, len, stride, count).unwrap();
            let mut touched = Touched::new(&domains);
            file.iter().for_each(|extent| touched.add(extent));
            let (exact, found) = (touched.count(), Touched::new(&domains).by(&file));
            assert!(found.abs_diff(exact) <= exact / 100, "{found}, not {exact}");
        }
        assert_eq!(Touched::new(&domains).by(&Extents::empty()), 0);
    }
}
