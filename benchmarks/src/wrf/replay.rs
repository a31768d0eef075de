//! Replays a trace through an exchange kernel of the library: in each round every rank runs the schedule of its
//! messages, and the receiver checks every message.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use serde::Serialize;
use tributary::collectives::{FIRST_FREE_TAG, agree, allreduce};
use tributary::engine::FanIn;
use tributary::error::Error;
use tributary::exchange::two_layer::{LocalAggregators, Share, TwoLayer};
use tributary::exchange::{Kernel, RankList, ReceiverIndex, Route, Transfer as Sent};
use tributary::hints::{Hints, KernelHint};
use tributary::schedule::{Buffer, ReduceOp, Schedule, Span, Throttle};
use tributary::{Endpoint, Rank, Topology};

use crate::error::PatternError;

use super::memory::{Direct, Merging, RankRound, Tally, slot};
use super::payload::Payload;
use super::trace::{PeerBytes, Trace};

/// Number of message tags. Rounds follow each other in the same order on all ranks; with different tags a mix-up
/// would still be an error.
const TAGS: usize = 1024;

/// The kernel, throttle and local aggregators of a replay.
#[derive(Debug, Clone)]
pub struct ReplaySettings {
    /// Flat kernel; with two layers, the kernel between nodes.
    pub kernel: &'static Kernel,
    /// Throttle of the kernel.
    pub throttle: Throttle,
    /// Order of ranks that the balanced kernel uses.
    pub rank_list: RankList,
    /// Local aggregators of the two-layer kernel; None if every sender sends to every receiver itself.
    pub local: Option<Arc<LocalAggregators>>,
}

impl ReplaySettings {
    /// Returns the settings of a flat kernel with its own throttle.
    pub fn flat(kernel: &'static Kernel) -> Self {
        let throttle = kernel.default_limit.map_or(Throttle::NONE, Throttle::batch);
        Self { kernel, throttle, rank_list: RankList::Identity, local: None }
    }

    /// Returns the settings that the hints give for the data phase, on the nodes of `topology`.
    ///
    /// # Errors
    /// The hints do not fit each other or the number of ranks.
    pub fn from_hints(hints: &Hints, topology: &Topology) -> Result<Self, PatternError> {
        hints.check(topology.ranks())?;
        let kernel = hints.outermost(hints.data_kernel());
        let local = || Arc::new(LocalAggregators::from_hint(topology, hints.num_aggrs_per_node));
        let local = (hints.data_kernel() == KernelHint::TwoLayer).then(local);
        let rank_list = hints.rank_list.list(topology)?;
        Ok(Self { kernel, throttle: hints.throttle_data(), rank_list, local })
    }
}

/// Result of a replay; the same on every rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplayReport {
    /// Number of ranks.
    pub ranks: usize,
    /// Number of rounds.
    pub rounds: usize,
    /// Number of messages that arrived with the right contents, including messages of a rank to itself.
    pub messages: u64,
    /// Number of bytes that all ranks sent.
    pub bytes_sent: u64,
    /// Number of bytes of the messages that arrived with the right contents.
    pub bytes_received: u64,
    /// Number of messages that went between ranks: with two layers fewer or more than the trace's. A rank's message
    /// to itself does not count.
    pub fabric_messages: u64,
    /// Number of bytes of these messages.
    pub fabric_bytes: u64,
    /// Number of ranks from which a receiver receives in a round of the trace.
    pub fan_in: FanIn,
    /// Seconds from the start to the end of the slowest rank, checks included.
    pub seconds: f64,
}

/// A trace and the payload of its messages. Ranks that are threads share one.
#[derive(Debug)]
pub struct Replay {
    trace: Arc<Trace>,
    payload: Payload,
}

impl Replay {
    /// Prepares a replay. Takes memory for the trace's largest message and 64 KiB.
    pub fn new(trace: Arc<Trace>) -> Self {
        let payload = Payload::new(trace.largest());
        Self { trace, payload }
    }

    /// Returns the trace that is replayed.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Replays all rounds, and checks the size and both ends of every message that arrives. Collective: every rank
    /// calls this with the same settings. A rank does not wait for the others between rounds.
    ///
    /// # Errors
    /// The number of ranks is not the trace's; an error of the fabric; or a message had wrong contents, which all
    /// ranks return.
    pub fn run(&self, endpoint: &mut Endpoint, settings: &ReplaySettings) -> Result<ReplayReport, PatternError> {
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
            Some(problem) => Err(Error::internal(rank, problem)),
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
        settings: &ReplaySettings,
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
        let to = |transfer: &PeerBytes| receiver(&route.receivers, transfer.peer);
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
        settings: &ReplaySettings,
        local: &LocalAggregators,
        number: usize,
        tally: &mut Tally,
    ) -> Result<tributary::fabric::Traffic, PatternError> {
        let rank = endpoint.rank();
        let (sends, receives) = (self.trace.sends(number, rank), self.trace.receives(number, rank));
        // What each local aggregator will have merged, its members in ascending order.
        let mut merged: BTreeMap<Rank, Vec<PeerBytes>> = BTreeMap::new();
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
        settings: &ReplaySettings,
        local: &LocalAggregators,
        number: usize,
        (rank, ranks): (Rank, usize),
        receives: &[Sent<Rank>],
    ) -> Schedule {
        let receivers = self.trace.receivers(number);
        let shares = |rank: Rank| -> Vec<Share> {
            let share = |send: &PeerBytes| Share { aggregator: receiver(&receivers, send.peer), len: send.bytes };
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
        sends: &'a [PeerBytes],
        receives: &'a [Vec<PeerBytes>],
    ) -> RankRound<'a> {
        let (gathered, merged, sealed) = (BTreeMap::new(), Vec::new(), Bytes::new());
        RankRound { number, rank, payload: &self.payload, tally, sends, receives, gathered, merged, sealed }
    }
}

fn tag(round: usize) -> u16 {
    FIRST_FREE_TAG + (round % TAGS) as u16
}

/// Returns the index of a receiver among all receivers of its round. In a trace, every peer of a send is a receiver.
fn receiver(receivers: &[Rank], rank: Rank) -> ReceiverIndex {
    ReceiverIndex(receivers.partition_point(|&receiver| receiver < rank))
}

/// Returns messages to (or from) peers with these numbers of bytes, each with its own range of addresses.
fn messages<Peer>(all: impl Iterator<Item = (Peer, u64)>, buffer: Buffer) -> Vec<Sent<Peer>> {
    let place = |(index, (peer, len))| Sent { peer, span: Span::new(buffer, slot(index), len) };
    all.enumerate().map(place).collect()
}
