//! A trace through an exchange kernel of the library: round by round each rank runs the schedule of its messages, and
//! every message is checked where it ends.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use serde::Serialize;
use tributary::collectives::{FIRST_FREE_TAG, agree, allreduce};
use tributary::engine::FanIn;
use tributary::error::Error;
use tributary::exchange::local::LocalAggregators;
use tributary::exchange::two_layer::{Share, TwoLayer};
use tributary::exchange::{Kernel, RankList, ReceiverIndex, Route, Transfer as Sent};
use tributary::hints::{Hints, KernelHint};
use tributary::schedule::{Buffer, ReduceOp, Schedule, Span, Throttle};
use tributary::{Endpoint, Rank, Topology};

use crate::error::PatternError;

use super::memory::{Direct, Merging, Round, Tally, slot};
use super::payload::Payload;
use super::trace::{Trace, Transfer};

/// Rounds follow each other in the same order everywhere; different tags make a mix-up an error all the same.
const TAGS: usize = 1024;

/// How the messages travel.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The flat kernel; under two layers, the one between nodes.
    pub kernel: &'static Kernel,
    /// Its throttle.
    pub throttle: Throttle,
    /// The rank list of the balanced kernel.
    pub rank_list: RankList,
    /// The local aggregators of the two-layer kernel; without, every sender talks to every receiver itself.
    pub local: Option<Arc<LocalAggregators>>,
}

impl Settings {
    /// A flat kernel with its own throttle.
    pub fn flat(kernel: &'static Kernel) -> Self {
        let throttle = kernel.default_limit.map_or(Throttle::NONE, Throttle::batch);
        Self { kernel, throttle, rank_list: RankList::Identity, local: None }
    }

    /// What the hints say of the data phase, on these nodes.
    ///
    /// # Errors
    /// Hints that do not fit each other or the number of ranks.
    pub fn of(hints: &Hints, topology: &Topology) -> Result<Self, PatternError> {
        hints.check(topology.ranks())?;
        let kernel = hints.outermost(hints.data_kernel());
        let local = || Arc::new(LocalAggregators::from_hint(topology, hints.num_aggrs_per_node));
        let local = (hints.data_kernel() == KernelHint::TwoLayer).then(local);
        let rank_list = hints.rank_list.list(topology)?;
        Ok(Self { kernel, throttle: hints.throttle_data(), rank_list, local })
    }
}

/// What a replay did: the same on every rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplayReport {
    /// Ranks.
    pub ranks: usize,
    /// Rounds.
    pub rounds: usize,
    /// Messages that arrived and were what they should be; those of a rank to itself too.
    pub messages: u64,
    /// Bytes that ranks sent.
    pub bytes_sent: u64,
    /// Bytes that arrived and were what they should be.
    pub bytes_received: u64,
    /// Messages that the fabric carried: under two layers fewer or more than the trace's; a rank's own are none.
    pub fabric_messages: u64,
    /// Their bytes.
    pub fabric_bytes: u64,
    /// From how many ranks a receiver receives in a round, in the trace.
    pub fan_in: FanIn,
    /// From the start to the end of the slowest rank, checks included.
    pub seconds: f64,
}

/// A trace and the payload of its messages. On threads all ranks share one.
#[derive(Debug)]
pub struct Replay {
    trace: Arc<Trace>,
    payload: Payload,
}

impl Replay {
    /// Prepares a replay. Memory: the trace's largest message and 64 KiB.
    pub fn new(trace: Arc<Trace>) -> Self {
        let payload = Payload::new(trace.largest());
        Self { trace, payload }
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Replays all rounds; what arrives is checked by size and by both ends of its bytes. Collective: every rank calls it
    /// with the same settings. A rank does not wait for the others between rounds.
    ///
    /// # Errors
    /// Other ranks than the trace's, the fabric's errors, and, the same on all ranks, a message that is not what was sent.
    pub fn run(&self, endpoint: &mut Endpoint, settings: &Settings) -> Result<ReplayReport, PatternError> {
        let (rank, ranks) = (endpoint.rank(), endpoint.ranks());
        if ranks != self.trace.ranks() {
            let allowed = format!("{}, as the trace {} has; or fold it", self.trace.ranks(), self.trace.name());
            return Err(PatternError::argument("ranks", ranks, allowed));
        }
        let waiting = endpoint.waiting().clone();
        // Nobody's clock starts before everybody is here.
        waiting.wait(pin!(allreduce(endpoint, &[ReduceOp::Max], &mut [0])))?;
        let start = Instant::now();
        let (mut tally, mut traffic) = (Tally::default(), tributary::fabric::Traffic::default());
        for round in 0..self.trace.rounds() {
            traffic += match &settings.local {
                None => self.direct(endpoint, settings, round, &mut tally)?,
                Some(local) => self.merging(endpoint, settings, local, round, &mut tally)?,
            };
        }
        let seconds = start.elapsed().as_nanos() as u64;
        let ops = [[ReduceOp::Sum; 5].as_slice(), &[ReduceOp::Max]].concat();
        let mut words = [tally.messages, tally.sent, tally.received, traffic.messages, traffic.bytes, seconds];
        let outcome = match tally.problem {
            Some(problem) => Err(Error::Internal { rank, what: problem }),
            None => Ok(()),
        };
        waiting.wait(pin!(agree(endpoint, outcome)))?;
        waiting.wait(pin!(allreduce(endpoint, &ops, &mut words)))?;
        let [messages, bytes_sent, bytes_received, fabric_messages, fabric_bytes, nanoseconds] = words;
        Ok(ReplayReport {
            ranks,
            rounds: self.trace.rounds(),
            messages,
            bytes_sent,
            bytes_received,
            fabric_messages,
            fabric_bytes,
            fan_in: self.trace.fan_in(),
            seconds: nanoseconds as f64 * 1e-9,
        })
    }

    fn direct(
        &self,
        endpoint: &mut Endpoint,
        settings: &Settings,
        number: usize,
        tally: &mut Tally,
    ) -> Result<tributary::fabric::Traffic, PatternError> {
        let rank = endpoint.rank();
        let (sends, receives) = (self.trace.sends(number, rank), self.trace.receives(number, rank));
        let route = Route {
            rank,
            ranks: endpoint.ranks(),
            receivers: self.trace.receivers(number),
            rank_list: settings.rank_list.clone(),
            kernel: settings.kernel,
            throttle: settings.throttle,
        };
        let to = |transfer: &Transfer| receiver(&route.receivers, transfer.peer);
        let outgoing = messages(sends.iter().map(|send| (to(send), send.bytes)), Buffer::Send);
        let incoming = messages(receives.iter().map(|receive| (receive.peer, receive.bytes)), Buffer::Receive);
        let receives: Vec<_> = receives.iter().map(|&receive| vec![receive]).collect();
        let schedule = route.schedule(&outgoing, &incoming);
        let mut memory = Direct(self.round(number, rank, tally, sends, &receives));
        Ok(endpoint.run_and_wait(schedule, &mut memory, tag(number))?)
    }

    fn merging(
        &self,
        endpoint: &mut Endpoint,
        settings: &Settings,
        local: &LocalAggregators,
        number: usize,
        tally: &mut Tally,
    ) -> Result<tributary::fabric::Traffic, PatternError> {
        let rank = endpoint.rank();
        let (sends, receives) = (self.trace.sends(number, rank), self.trace.receives(number, rank));
        // What each local aggregator will have merged, its members in ascending order.
        let mut merged: BTreeMap<Rank, Vec<Transfer>> = BTreeMap::new();
        for &receive in receives {
            merged.entry(local.aggregator_of(receive.peer)).or_default().push(receive);
        }
        let sizes = merged.iter().map(|(&from, parts)| (from, parts.iter().map(|part| part.bytes).sum()));
        let incoming = messages(sizes, Buffer::Receive);
        let schedule = self.two_layers(settings, local, number, (rank, endpoint.ranks()), &incoming);
        let receives: Vec<_> = merged.into_values().collect();
        let mut memory = Merging(self.round(number, rank, tally, sends, &receives));
        Ok(endpoint.run_and_wait(schedule, &mut memory, tag(number))?)
    }

    fn two_layers(
        &self,
        settings: &Settings,
        local: &LocalAggregators,
        number: usize,
        (rank, ranks): (Rank, usize),
        receives: &[Sent<Rank>],
    ) -> Schedule {
        let receivers = self.trace.receivers(number);
        let shares = |rank: Rank| -> Vec<Share> {
            let share = |send: &Transfer| Share { aggregator: receiver(&receivers, send.peer), len: send.bytes };
            self.trace.sends(number, rank).iter().map(share).collect()
        };
        let local_aggregator = local.aggregator_of(rank);
        let mut members = Vec::new();
        if local_aggregator == rank {
            let others = local.members_of(rank).into_iter().filter(|&member| member != rank);
            members.extend(others.map(|member| (member, shares(member))).filter(|(_, shares)| !shares.is_empty()));
        }
        let exchange = TwoLayer {
            rank,
            ranks,
            receivers: &receivers,
            rank_list: &settings.rank_list,
            local_aggregator,
            own: &shares(rank),
            members: &members,
            receives,
        };
        exchange.schedule(settings.kernel, settings.throttle, settings.throttle)
    }

    fn round<'a>(
        &'a self,
        number: usize,
        rank: Rank,
        tally: &'a mut Tally,
        sends: &'a [Transfer],
        receives: &'a [Vec<Transfer>],
    ) -> Round<'a> {
        let (gathered, merged, sealed) = (BTreeMap::new(), Vec::new(), Bytes::new());
        Round { number, rank, payload: &self.payload, tally, sends, receives, gathered, merged, sealed }
    }
}

fn tag(round: usize) -> u16 {
    FIRST_FREE_TAG + (round % TAGS) as u16
}

/// The index of a receiver among all of its round; a trace has no other peers.
fn receiver(receivers: &[Rank], rank: Rank) -> ReceiverIndex {
    ReceiverIndex(receivers.partition_point(|&receiver| receiver < rank))
}

/// Messages of (peer, bytes), each in its own slot.
fn messages<Peer>(all: impl Iterator<Item = (Peer, u64)>, buffer: Buffer) -> Vec<Sent<Peer>> {
    let place = |(index, (peer, len))| Sent { peer, span: Span::new(buffer, slot(index), len) };
    all.enumerate().map(place).collect()
}
