//! Tests every kernel with the validators: exactly-once delivery, no deadlock without buffering, bounded outstanding
//! messages.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::exchange::two_layer::{LocalAggregators, Share, TwoLayer};
use tributary::exchange::{Exchange, KERNELS, Kernel, RankList, ReceiverIndex, Transfer};
use tributary::schedule::{Buffer, Schedule, SendMode, Span, Throttle, ThrottleMode};
use tributary::{Rank, Topology};
use tributary_testing::validate::{Delivery, Evidence, run};

/// An all-to-many pattern: `sizes[s]` lists (receiver index, bytes) of sender s, in ascending order, with bytes above
/// 0.
struct Pattern {
    receivers: Vec<Rank>,
    sizes: Vec<Vec<(usize, u64)>>,
}

impl Pattern {
    fn new(ranks: usize, receivers: Vec<Rank>, bytes: impl Fn(Rank, usize) -> u64) -> Self {
        let of = |s| (0..receivers.len()).map(|j| (j, bytes(s, j))).filter(|&(_, n)| n > 0).collect();
        Self { sizes: (0..ranks).map(of).collect(), receivers }
    }

    fn ranks(&self) -> usize {
        self.sizes.len()
    }

    fn sends(&self, rank: Rank) -> Vec<Transfer<ReceiverIndex>> {
        let mut at = 0;
        let mut place = |&(index, len): &(usize, u64)| {
            at += len;
            Transfer { peer: ReceiverIndex(index), span: Span::new(Buffer::Send, at - len, len) }
        };
        self.sizes[rank].iter().map(&mut place).collect()
    }

    fn receives(&self, rank: Rank) -> Vec<Transfer<Rank>> {
        let Ok(j) = self.receivers.binary_search(&rank) else { return Vec::new() };
        let mut at = 0;
        let mut place = |peer: Rank| {
            let len = self.sizes[peer].iter().find(|s| s.0 == j)?.1;
            at += len;
            Some(Transfer { peer, span: Span::new(Buffer::Receive, at - len, len) })
        };
        (0..self.ranks()).filter_map(&mut place).collect()
    }

    /// Returns the required deliveries. The receive side lists senders in ascending order.
    fn wanted(&self) -> Vec<Delivery> {
        let mut at = vec![0; self.receivers.len()];
        let mut all = Vec::new();
        for (from, sizes) in self.sizes.iter().enumerate() {
            let mut from_offset = 0;
            for &(j, len) in sizes {
                all.push(Delivery { from, from_offset, to: self.receivers[j], to_offset: at[j], len });
                from_offset += len;
                at[j] += len;
            }
        }
        all
    }

    fn flat(&self, kernel: &Kernel, rank_list: &RankList, throttle: Throttle) -> Evidence {
        self.check(self.schedules(kernel, rank_list, throttle), &self.wanted())
    }

    fn schedules(&self, kernel: &Kernel, rank_list: &RankList, throttle: Throttle) -> Vec<Schedule> {
        let schedule = |rank| {
            let (sends, receives) = (self.sends(rank), self.receives(rank));
            Exchange {
                rank,
                ranks: self.ranks(),
                receivers: &self.receivers,
                rank_list,
                sends: &sends,
                receives: &receives,
            }
            .schedule(kernel, throttle)
        };
        (0..self.ranks()).map(schedule).collect()
    }

    /// Checks the schedules in both directions, because a collective read runs the transposed schedules.
    fn check(&self, schedules: Vec<Schedule>, wanted: &[Delivery]) -> Evidence {
        let (ranks, receivers) = (self.ranks(), self.receivers.len());
        let fail = |violation| panic!("{ranks} ranks, {receivers} receivers: {violation}");
        let backwards = schedules.iter().map(|s| s.transposed(SendMode::Synchronous).unwrap()).collect();
        let back = run(backwards, &wanted.iter().map(reversed).collect::<Vec<_>>()).unwrap_or_else(fail);
        let evidence = run(schedules, wanted).unwrap_or_else(fail);
        assert_eq!(back.messages, evidence.messages);
        Evidence {
            messages: evidence.messages,
            peak_sends: evidence.peak_sends.max(back.peak_receives),
            peak_receives: evidence.peak_receives.max(back.peak_sends),
            blocked: evidence.blocked.min(back.blocked),
            polled: evidence.polled.max(back.polled),
        }
    }

    fn shares(&self, rank: Rank) -> Vec<Share> {
        self.sizes[rank].iter().map(|&(index, len)| Share { aggregator: ReceiverIndex(index), len }).collect()
    }

    fn two_layer(&self, local: &LocalAggregators, outer: &Kernel, throttle: Throttle) -> Evidence {
        let members: Vec<Vec<Rank>> = (0..self.ranks()).map(|rank| local.members_of(rank)).collect();
        let mut wanted = Vec::new();
        let mut schedules = Vec::new();
        for rank in 0..self.ranks() {
            let receives = self.merged_receives(rank, local, &members, &mut wanted);
            let others: Vec<_> = members[rank].iter().skip(1).map(|&m| (m, self.shares(m))).collect();
            let others: Vec<_> = others.into_iter().filter(|(_, s)| !s.is_empty()).collect();
            let own = self.shares(rank);
            let leader = local.aggregator_of(rank);
            let two_layer = TwoLayer {
                rank,
                ranks: self.ranks(),
                receivers: &self.receivers,
                rank_list: &RankList::Identity,
                local_aggregator: leader,
                own: &own,
                members: &others,
                receives: &receives,
            };
            schedules.push(two_layer.schedule(outer, throttle, throttle));
        }
        self.check(schedules, &wanted)
    }

    /// Returns the messages that an aggregator receives from the local aggregators, and the positions of each
    /// member's bytes in them.
    fn merged_receives(
        &self,
        rank: Rank,
        local: &LocalAggregators,
        members: &[Vec<Rank>],
        wanted: &mut Vec<Delivery>,
    ) -> Vec<Transfer<Rank>> {
        let Ok(j) = self.receivers.binary_search(&rank) else { return Vec::new() };
        let (mut at, mut receives) = (0, Vec::new());
        for aggregator in local.all() {
            let start = at;
            for &from in &members[aggregator] {
                let mut from_offset = 0;
                for &(to, len) in &self.sizes[from] {
                    if to == j {
                        wanted.push(Delivery { from, from_offset, to: rank, to_offset: at, len });
                        at += len;
                    }
                    from_offset += len;
                }
            }
            if at > start {
                receives.push(Transfer { peer: aggregator, span: Span::new(Buffer::Receive, start, at - start) });
            }
        }
        receives
    }
}

/// Returns the delivery of a read that corresponds to a delivery of a write.
fn reversed(delivery: &Delivery) -> Delivery {
    let &Delivery { from, from_offset, to, to_offset, len } = delivery;
    Delivery { from: to, from_offset: to_offset, to: from, to_offset: from_offset, len }
}

/// Returns `count` receivers that are spread over `ranks` ranks.
fn spread(ranks: usize, count: usize) -> Vec<Rank> {
    (0..count).map(|j| j * ranks / count).collect()
}

fn bounded(evidence: Evidence, throttle: Throttle, kernel: &Kernel) {
    if let Some(limit) = kernel.throttle(throttle).limit {
        let peak = evidence.peak_sends.max(evidence.peak_receives);
        assert!(peak <= limit, "{}: {peak} outstanding under a throttle of {limit}", kernel.name);
    }
}

/// Checks the outstanding messages with two layers. Each layer has its own throttle: a rank that is local aggregator
/// and aggregator receives under both.
fn bounded_legs(evidence: Evidence, inner: Throttle, outer: &Kernel) {
    if let (Some(inner), Some(outer)) = (inner.limit, outer.throttle(inner).limit) {
        assert!(evidence.peak_sends <= inner.max(outer) && evidence.peak_receives <= inner + outer, "{evidence:?}");
    }
}

const THROTTLES: [Throttle; 5] = [
    Throttle::NONE,
    Throttle { limit: Some(1), mode: tributary::schedule::ThrottleMode::Sliding },
    Throttle { limit: Some(3), mode: tributary::schedule::ThrottleMode::Batch },
    Throttle { limit: Some(4), mode: tributary::schedule::ThrottleMode::Sliding },
    Throttle { limit: Some(32), mode: tributary::schedule::ThrottleMode::Batch },
];

/// Iterates over numbers of ranks with numbers of receivers: all up to 24 ranks, above that every seventh number of
/// receivers, and always 1 and all.
fn ranks_and_receivers() -> impl Iterator<Item = (usize, usize)> {
    let counts = |ranks: usize| {
        let is_taken =
            move |&count: &usize| ranks <= 24 || count == 1 || count == ranks || (ranks + count).is_multiple_of(7);
        (1..=ranks).filter(is_taken).map(move |count| (ranks, count))
    };
    (1..=64).flat_map(counts)
}

/// Tests every kernel for every number of ranks from 1 to 64, with many numbers of receivers; throttles take turns so
/// that each kernel meets each throttle at many sizes.
#[test]
fn all_rank_counts_with_many_receiver_counts() {
    for (ranks, count) in ranks_and_receivers() {
        let pattern = Pattern::new(ranks, spread(ranks, count), |s, j| 1 + ((s * 7 + j * 3) % 5) as u64);
        let messages = (ranks * count - count) as u64;
        for (k, kernel) in KERNELS.iter().enumerate() {
            let throttle = THROTTLES[(ranks + count + k) % THROTTLES.len()];
            let evidence = pattern.flat(kernel, &RankList::Identity, throttle);
            bounded(evidence, throttle, kernel);
            assert_eq!(evidence.messages, messages, "{}: {ranks} ranks, {count} receivers", kernel.name);
        }
    }
}

/// Tests patterns whose receivers are the lowest ranks (the paper's figure 1) and in which some messages are missing.
#[test]
fn sparse_patterns_on_the_lowest_ranks() {
    for ranks in [1, 2, 3, 5, 8, 13, 16, 31] {
        for count in 1..=ranks {
            for thin in [2, 5, 11] {
                let sparse = |s: usize, j: usize| u64::from((s * 13 + j * 5).is_multiple_of(thin)) * (1 + s as u64 % 3);
                let pattern = Pattern::new(ranks, (0..count).collect(), sparse);
                for kernel in KERNELS {
                    for throttle in THROTTLES {
                        bounded(pattern.flat(kernel, &RankList::Identity, throttle), throttle, kernel);
                    }
                }
            }
        }
    }
}

/// Each rank blocks on one message whenever it may. With few receivers that is possible except under sliding limits
/// above 1: no rank has both sends and receives left to start.
#[test]
fn ranks_block_on_one_message_under_every_kernel_and_throttle() {
    for (ranks, count) in [(5, 1), (16, 2), (40, 3), (40, 40)] {
        let pattern = Pattern::new(ranks, spread(ranks, count), |s, j| 1 + ((s + j) % 3) as u64);
        let local = LocalAggregators::per_node(&Topology::blocks(ranks, 8).unwrap(), 1);
        for kernel in KERNELS {
            for throttle in THROTTLES {
                let waits = pattern.flat(kernel, &RankList::Identity, throttle);
                let layers = pattern.two_layer(&local, kernel, throttle);
                let name = format!("{}, {throttle}, {ranks} ranks, {count} receivers", kernel.name);
                assert!(waits.blocked > 0 && layers.blocked > 0, "{name}: {waits:?} {layers:?}");
                let slides = throttle.mode == ThrottleMode::Sliding && throttle.limit > Some(1) && !kernel.coupled;
                let is_few = throttle.limit.is_none_or(|limit| count <= limit as usize + 1);
                if is_few && !slides {
                    assert_eq!(waits.polled, 0, "{name}");
                }
            }
        }
    }
}

#[test]
fn two_layers_with_every_outer_kernel() {
    for (ranks, per_node) in [(1, 1), (2, 2), (5, 2), (8, 4), (13, 5), (16, 4), (32, 8)] {
        let topology = Topology::blocks(ranks, per_node).unwrap();
        for count in [1, 2, ranks.div_ceil(2), ranks] {
            let pattern = Pattern::new(ranks, spread(ranks, count.min(ranks)), |s, j| ((s + j) % 4) as u64);
            for local in [1, 2, 3, 99] {
                let local = LocalAggregators::per_node(&topology, local);
                for outer in KERNELS {
                    for throttle in THROTTLES {
                        bounded_legs(pattern.two_layer(&local, outer, throttle), throttle, outer);
                    }
                }
            }
        }
    }
}

/// Tests two layers for all numbers of ranks with many numbers of receivers, with every kernel as the outer one;
/// nodes, local aggregators and throttles take turns.
#[test]
fn two_layers_at_all_rank_counts_with_many_receiver_counts() {
    for (ranks, count) in ranks_and_receivers() {
        let pattern = Pattern::new(ranks, spread(ranks, count), |s, j| 1 + ((s * 7 + j * 3) % 5) as u64);
        let topology = Topology::blocks(ranks, 1 + (ranks + count) % 17).unwrap();
        let local = LocalAggregators::per_node(&topology, 1 + count % 4);
        for (k, outer) in KERNELS.iter().enumerate().skip((ranks + count) % 2).step_by(2) {
            let throttle = THROTTLES[(ranks + count + k) % THROTTLES.len()];
            bounded_legs(pattern.two_layer(&local, outer, throttle), throttle, outer);
        }
    }
}

#[test]
fn random_patterns_to_4096_ranks() {
    let mut random = SmallRng::seed_from_u64(20);
    for case in 0..24 {
        let ranks = if case == 0 { 4096 } else { random.random_range(65..=1024) };
        let count = random.random_range(1..=64.min(ranks));
        let mut all: Vec<Rank> = (0..ranks).collect();
        for i in 0..count {
            let j = random.random_range(i..ranks);
            all.swap(i, j);
        }
        let mut receivers = all[..count].to_vec();
        receivers.sort_unstable();
        let thin = random.random_range(1..20usize);
        let salt = random.random_range(0..1000usize);
        let pattern = Pattern::new(ranks, receivers, |s, j| {
            u64::from((s * 31 + j * 17 + salt).is_multiple_of(thin)) * (1 + (s as u64 ^ j as u64) % 9)
        });
        let kernel = KERNELS[case % KERNELS.len()];
        let throttle = THROTTLES[random.random_range(0..THROTTLES.len())];
        let topology = Topology::blocks(ranks, random.random_range(1..=128)).unwrap();
        bounded(pattern.flat(kernel, &RankList::node_round_robin(&topology), throttle), throttle, kernel);
        let local = LocalAggregators::in_total(&topology, random.random_range(1..=512));
        bounded_legs(pattern.two_layer(&local, kernel, throttle), throttle, kernel);
    }
}
