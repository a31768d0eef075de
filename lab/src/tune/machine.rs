//! Measures what messages cost on this machine: the figures by which the library's `auto` chooses kernels.
//!
//! | figure | by |
//! |---|---|
//! | a small message, a byte of it | messages from up to 4 ranks to one; the time of more of them, less that of fewer |
//! | the eager limit | sends of growing size to a rank that is away: those up to the limit finish |
//! | a large message, a byte of it through a rank | the same from one rank, of two sizes above the limit |
//! | a byte through a node | large messages to all ranks of a node at once |
//! | a round trip | messages there and back |
//! | walking a list | taking early messages in the order of their arrival and in the other |
//! | copying, visiting, merging | bytes and lists in memory |
//!
//! Messages go between nodes; with one node, between any of its ranks. Every time is repeated by the stopping rule. A
//! figure is a difference of times where a time contains more than the figure. One that is not above its error stays as
//! it is built in, or is 0 if it is a small part of another.

use super::exchanges::{EARLY, Exchanges, Ways, timed};
use super::lists::{COPIED, EXTENTS, LISTS, MergedLists};
use super::stopping::{Rule, Sample, half_width};
use tributary::collectives::{agree, allgather};
use tributary::error::{Error, Result};
use tributary::exchange::cost::Costs;
use tributary::fabric::Endpoint;
use tributary::machine::Machine;
use tributary::topology::{Rank, Topology};

/// Maximum number of ranks that send to one rank at a time.
const SENDERS: usize = 4;
/// Numbers of messages from each of several senders: few, and more.
const FEW: usize = 4;
const MORE: usize = 20;
/// Size in bytes of a small message, and of one whose bytes add a measurable time.
const SMALL: u64 = 8;
const MEDIUM: u64 = 2048;
/// Largest message in bytes that is tried as eager.
const LARGEST_EAGER: u64 = 1 << 20;
/// Minimum size in bytes of a large message, and the factor to the second large size.
const LARGE: u64 = 128 << 10;
const LARGER: u64 = 4;
/// Number of round trips in a row.
const TRIPS: usize = 20;
/// Number of measurements, for the progress report.
const STEPS: usize = 16;

/// Measured cost, with its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Name of the measured cost.
    pub name: &'static str,
    /// Value of the measured cost.
    pub value: f64,
    /// Half the width of the confidence interval of the value; 0 for a limit.
    pub half_width: f64,
    /// Number of repetitions of each time from which the value is computed.
    pub repetitions: u32,
}

/// Measures what messages cost on this machine. `topology` has the ranks' nodes. Calls `progress` with the number of
/// measurements done, of all, and the next one. Collective, with the same arguments; the same result on all ranks.
/// Cost: some seconds; at most 16 x `rule.most` exchanges, each with two allreduces.
///
/// # Errors
/// A bad rule, and fewer than 2 ranks, before anything is measured; errors of the fabric.
pub async fn measure(
    endpoint: &mut Endpoint,
    topology: &Topology,
    fabric: &str,
    rule: &Rule,
    progress: impl FnMut(usize, usize, &str),
) -> Result<(Machine, Vec<Measured>)> {
    let enough = match topology.ranks() {
        0 | 1 => Err(Error::argument("ranks", topology.ranks(), "2 or more: messages between ranks are measured")),
        _ => rule.check(),
    };
    agree(endpoint, enough).await?;
    let exchanges = exchanges(topology);
    let mut bench = Bench { endpoint, exchanges, rule, progress, done: 0, measured: Vec::new(), built_in: Vec::new() };
    let costs = bench.all().await?;
    let between = if topology.nodes() > 1 { "ranks of different nodes" } else { "ranks of one node" };
    let (ranks, nodes) = (topology.ranks(), topology.nodes());
    let (measured, built_in) = (bench.measured, bench.built_in);
    let machine = Machine { fabric: fabric.into(), ranks, nodes, between: between.into(), costs, built_in };
    Ok((machine, measured))
}

/// Returns the placement of the ranks on nodes: `ranks_per_node` consecutive ranks a node or, if it is 0, as the fabric
/// reports. Collective.
///
/// # Errors
/// Errors of the fabric.
pub async fn nodes(endpoint: &mut Endpoint, ranks_per_node: usize) -> Result<Topology> {
    if ranks_per_node > 0 {
        return Topology::blocks(endpoint.ranks(), ranks_per_node);
    }
    let own = (endpoint.node_label() as u64).to_le_bytes();
    let all = allgather(endpoint, &own).await?;
    Topology::listed(
        &all.as_chunks::<8>().0.iter().map(|label| u64::from_le_bytes(*label) as usize).collect::<Vec<_>>(),
    )
}

/// Chooses the ranks that exchange messages: ranks of other nodes send to the first node or, with one node, the later
/// half of the ranks to the first. O(ranks).
fn exchanges(topology: &Topology) -> Exchanges {
    let (home, ranks) = (topology.node_of(0), topology.ranks());
    let is_here = |rank: Rank| match topology.nodes() {
        1 => rank < ranks.div_ceil(2),
        _ => topology.node_of(rank) == home,
    };
    let (here, mut there): (Vec<Rank>, Vec<Rank>) = (0..ranks).partition(|&rank| is_here(rank));
    // The first of every node comes before the second of any.
    let mut seen = vec![0; topology.nodes()];
    there.sort_by_cached_key(|&rank| {
        let count = &mut seen[topology.node_of(rank)];
        *count += 1;
        *count
    });
    let senders = there.iter().copied().take(SENDERS).collect();
    let port = there.into_iter().zip(here).collect();
    Exchanges { receiver: 0, senders, port }
}

/// Mean of a sample, and half the width of its confidence interval.
#[derive(Debug, Clone, Copy)]
struct Mean {
    value: f64,
    half_width: f64,
    repetitions: u32,
}

impl Mean {
    fn less(self, other: Self) -> Self {
        let half_width = self.half_width.hypot(other.half_width);
        Self { value: self.value - other.value, half_width, repetitions: self.repetitions.min(other.repetitions) }
    }

    fn by(self, count: f64) -> Self {
        Self { value: self.value / count, half_width: self.half_width / count, ..self }
    }
}

/// Time that is measured repeatedly.
#[derive(Debug, Clone, Copy)]
enum Time {
    Stream(Ways, usize, u64),
    PingPong,
    Early { reversed: bool },
    Copy,
    Visit,
    Merge,
}

/// Replacement for a measured cost that is not above its error.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Else {
    Zero,
    BuiltIn,
}

struct Bench<'a, P> {
    endpoint: &'a mut Endpoint,
    exchanges: Exchanges,
    rule: &'a Rule,
    progress: P,
    done: usize,
    measured: Vec<Measured>,
    built_in: Vec<&'static str>,
}

impl<P: FnMut(usize, usize, &str)> Bench<'_, P> {
    async fn all(&mut self) -> Result<Costs> {
        let known = Costs::CLUSTER;
        let measured_limit = self.eager_limit().await?;
        let eager_limit = self.limit(measured_limit, known.eager_limit);
        let senders = self.exchanges.senders.len();
        let more = ((MORE - FEW) * senders) as f64;
        let few = self.mean("small messages", Time::Stream(Ways::FanIn, FEW, SMALL)).await?;
        let many = self.mean("more of them", Time::Stream(Ways::FanIn, MORE, SMALL)).await?;
        let small = many.less(few).by(more);
        let eager = self.figure("eager_seconds", small, Else::BuiltIn, known.eager);
        let few = self.mean("longer messages", Time::Stream(Ways::FanIn, FEW, MEDIUM)).await?;
        let many = self.mean("more of them", Time::Stream(Ways::FanIn, MORE, MEDIUM)).await?;
        let byte = many.less(few).by(more).less(small).by((MEDIUM - SMALL) as f64);
        let eager_byte = self.figure("eager_byte_seconds", byte, Else::Zero, known.eager_byte);
        let large = LARGE.max(2 * eager_limit as u64);
        let [rank_byte, rendezvous] = self.large(large, known).await?;
        let round_trip = self.mean("round trips", Time::PingPong).await?.by(TRIPS as f64);
        let round_trip = self.figure("round_trip_seconds", round_trip, Else::BuiltIn, known.round_trip);
        let node_byte = self.port(large, known.node_byte).await?;
        let walk = self.walk(measured_limit, known.walk).await?;
        let copy = self.mean("copying", Time::Copy).await?.by(COPIED as f64);
        let copy_byte = self.figure("copy_byte_seconds", copy, Else::BuiltIn, known.copy_byte);
        let visit = self.mean("placing", Time::Visit).await?.by(EXTENTS as f64);
        let visit = self.figure("visit_seconds", visit, Else::BuiltIn, known.visit);
        let merge = self.mean("merging", Time::Merge).await?.by(EXTENTS as f64 * (LISTS as f64).log2());
        let merge = self.figure("merge_seconds", merge, Else::BuiltIn, known.merge);
        (self.progress)(STEPS, STEPS, "");
        Ok(Costs {
            eager,
            eager_byte,
            eager_limit,
            rendezvous,
            round_trip,
            rank_byte,
            node_byte,
            copy_byte,
            visit,
            walk,
            merge,
            ..known
        })
    }

    /// Returns the largest power of two of bytes whose messages are eager; 0 if none are.
    async fn eager_limit(&mut self) -> Result<u64> {
        self.tell("the eager limit");
        let mut limit = 0;
        let mut bytes = SMALL;
        while bytes <= LARGEST_EAGER {
            // A rank may be late for another reason, but never early.
            let mut is_eager = false;
            for _ in 0..3 {
                is_eager |= self.exchanges.is_eager(self.endpoint, bytes).await?;
            }
            if !is_eager {
                break;
            }
            limit = bytes;
            bytes *= 2;
        }
        Ok(limit)
    }

    /// Returns the measured eager limit, or the built-in one if all messages or none are eager.
    fn limit(&mut self, measured: u64, known: f64) -> f64 {
        let name = "eager_limit_bytes";
        if measured == 0 || measured == LARGEST_EAGER {
            self.built_in.push(name);
            return known;
        }
        self.measured.push(Measured { name, value: measured as f64, half_width: 0.0, repetitions: 3 });
        measured as f64
    }

    /// Returns the time of a byte of a large message from one rank, and the time of a large message without its bytes.
    async fn large(&mut self, large: u64, known: Costs) -> Result<[f64; 2]> {
        let pair = |count, bytes| Time::Stream(Ways::Pair, count, bytes);
        let few = self.mean("large messages", pair(FEW, large)).await?;
        let many = self.mean("more of them", pair(MORE, large)).await?;
        let larger = self.mean("larger messages", pair(FEW, LARGER * large)).await?;
        let byte = larger.less(few).by((FEW as u64 * (LARGER - 1) * large) as f64);
        let message = many.less(few).by((MORE - FEW) as f64);
        let besides = message.less(Mean { value: byte.value * large as f64, ..byte.by(1.0 / large as f64) });
        Ok([
            self.figure("rank_byte_seconds", byte, Else::BuiltIn, known.rank_byte),
            self.figure("rendezvous_seconds", besides, Else::BuiltIn, known.rendezvous),
        ])
    }

    /// Returns the time of a byte through the port of a node.
    async fn port(&mut self, large: u64, known: f64) -> Result<f64> {
        let pairs = self.exchanges.port.len() as u64;
        let port = |bytes| Time::Stream(Ways::Port, FEW, bytes);
        let few = self.mean("large messages to a node", port(large)).await?;
        let more = self.mean("larger ones", port(LARGER * large)).await?;
        let byte = more.less(few).by((FEW as u64 * pairs * (LARGER - 1) * large) as f64);
        Ok(self.figure("node_byte_seconds", byte, Else::BuiltIn, known))
    }

    /// Returns the time to pass an entry in a list of early messages; the known value if messages wait for their
    /// receiver.
    async fn walk(&mut self, eager_limit: u64, known: f64) -> Result<f64> {
        if eager_limit < SMALL {
            self.built_in.push("walk_seconds");
            return Ok(known);
        }
        let along = self.mean("early messages", Time::Early { reversed: false }).await?;
        let against = self.mean("early messages, last first", Time::Early { reversed: true }).await?;
        let entry = against.less(along).by((EARLY * (EARLY - 1) / 2) as f64);
        Ok(self.figure("walk_seconds", entry, Else::Zero, known))
    }

    fn tell(&mut self, next: &str) {
        (self.progress)(self.done.min(STEPS), STEPS, next);
        self.done += 1;
    }

    /// Repeats a measurement until its mean is known.
    async fn mean(&mut self, what: &str, time: Time) -> Result<Mean> {
        self.tell(what);
        let (mut sample, mut lists, mut is_warm) = (Sample::default(), None, false);
        while !self.rule.is_met(&sample) {
            let seconds = self.once(time, &mut lists).await?;
            // The first time includes cold memory and new connections.
            if std::mem::replace(&mut is_warm, true) {
                sample.add(seconds);
            }
        }
        let half_width = half_width(&sample);
        Ok(Mean { value: sample.mean, half_width, repetitions: sample.count })
    }

    async fn once(&mut self, time: Time, lists: &mut Option<MergedLists>) -> Result<f64> {
        let Self { endpoint, exchanges, .. } = self;
        let local = match time {
            Time::Stream(ways, count, bytes) => return exchanges.stream(endpoint, ways, count, bytes).await,
            Time::PingPong => return exchanges.ping_pong(endpoint, TRIPS).await,
            Time::Early { reversed } => return exchanges.early(endpoint, reversed).await,
            Time::Copy => MergedLists::copy,
            Time::Visit => MergedLists::visit,
            Time::Merge => MergedLists::merge,
        };
        let measures = endpoint.rank() == exchanges.receiver;
        let lists = measures.then(|| lists.get_or_insert_default());
        timed(endpoint, async |_| Ok(lists.map(local).unwrap_or_default())).await
    }

    /// Records a measured cost. Returns its value, or the replacement if it is not above its error.
    fn figure(&mut self, name: &'static str, mean: Mean, otherwise: Else, known: f64) -> f64 {
        let Mean { value, half_width, repetitions } = mean;
        let is_known = value > half_width;
        if !is_known && otherwise == Else::BuiltIn {
            self.built_in.push(name);
            return known;
        }
        let value = if is_known { value } else { 0.0 };
        self.measured.push(Measured { name, value, half_width, repetitions });
        value
    }
}
