//! Exchanges with limits by place, on any fabric: every byte arrives, and comes back by the reverse.

use tributary::exchange::{Exchange, KERNELS, RankList, ReceiverIndex, Transfer};
use tributary::fabric::Buffers;
use tributary::schedule::{Buffer, Limits, PlacedThrottle, SendMode, Span, Throttle};
use tributary::{Endpoint, Rank, Topology};

/// Limits of one message, fewer than there are aggregators on a node, batches and sliding limits, none.
const LIMITS: [PlacedThrottle; 4] = [
    PlacedThrottle { inside: Throttle::NONE, between: Throttle::NONE, port: Some(1) },
    PlacedThrottle { inside: batch(1), between: batch(2), port: Some(4) },
    PlacedThrottle { inside: sliding(2), between: sliding(3), port: None },
    PlacedThrottle { inside: batch(3), between: Throttle::NONE, port: Some(5) },
];

const fn batch(limit: u32) -> Throttle {
    Throttle { limit: Some(limit), ..Throttle::NONE }
}

const fn sliding(limit: u32) -> Throttle {
    Throttle { limit: Some(limit), mode: tributary::schedule::ThrottleMode::Sliding }
}

/// Bytes from a rank to the receiver of an index; some above the eager limit of MPI.
fn body(from: Rank, receiver: usize) -> Vec<u8> {
    let len = if (from + receiver).is_multiple_of(4) { 100_000 } else { 1 + (from * 3 + receiver) % 50 };
    (0..len).map(|i| (from * 37 + receiver * 11 + i) as u8).collect()
}

/// One after the other in a buffer.
fn placed<Peer>(buffer: Buffer, bodies: impl Iterator<Item = (Peer, Vec<u8>)>) -> (Vec<Transfer<Peer>>, Vec<u8>) {
    let (mut transfers, mut bytes) = (Vec::new(), Vec::new());
    for (peer, body) in bodies {
        transfers.push(Transfer { peer, span: Span::new(buffer, bytes.len() as u64, body.len() as u64) });
        bytes.extend(body);
    }
    (transfers, bytes)
}

/// Runs every kernel with all limits, every second rank a receiver, on nodes of three ranks. Collective.
pub fn run(endpoint: &mut Endpoint) {
    let (rank, ranks) = (endpoint.rank(), endpoint.ranks());
    let topology = Topology::blocks(ranks, 3).unwrap();
    let receivers: Vec<Rank> = (0..ranks).step_by(2).collect();
    let rank_list = RankList::node_round_robin(&topology);
    let (sends, given) =
        placed(Buffer::Send, (0..receivers.len()).map(|receiver| (ReceiverIndex(receiver), body(rank, receiver))));
    let own = receivers.binary_search(&rank).ok();
    let senders = if own.is_some() { 0..ranks } else { 0..0 };
    let (receives, wanted) = placed(Buffer::Receive, senders.map(|from| (from, body(from, own.unwrap_or(0)))));
    for kernel in KERNELS {
        for throttle in LIMITS {
            let what = format!("{}, {throttle:?}, rank {rank} of {ranks}", kernel.name);
            let exchange = Exchange {
                rank,
                ranks,
                receivers: &receivers,
                rank_list: &rank_list,
                sends: &sends,
                receives: &receives,
            };
            let schedule = exchange.schedule(kernel, Limits::ByPlace { throttle, topology: &topology });
            let backwards = schedule.transposed(SendMode::Synchronous).unwrap();
            let mut buffers = Buffers::default();
            buffers.set(Buffer::Send, given.clone());
            endpoint.run_and_wait(schedule, &mut buffers, 7).unwrap();
            assert!(buffers.get(Buffer::Receive) == &wanted[..], "{what}: written");
            let mut buffers = Buffers::default();
            buffers.set(Buffer::Send, wanted.clone());
            endpoint.run_and_wait(backwards, &mut buffers, 7).unwrap();
            assert!(buffers.get(Buffer::Receive) == &given[..], "{what}: read");
        }
    }
}
