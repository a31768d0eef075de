//! Tests the MPI fabric's promises on real ranks: each test starts itself again under `mpiexec`.

use std::collections::HashMap;

use bytes::Bytes;
use tributary::fabric::mpi::MpiEndpoint;
use tributary::fabric::{Completion, Ticket, Transport};
use tributary::schedule::SendMode::{self, Standard, Synchronous};
use tributary::{Error, Result};
use tributary_testing::mpiexec;
use tributary_testing::mpiexec::{under_mpiexec, under_mpiexec_with, world};

/// Polls until all of `tickets` are complete; returns the messages that arrived, in the order of `tickets`.
fn finish(endpoint: &mut dyn Transport, tickets: &[Ticket]) -> Result<Vec<Option<Bytes>>> {
    let idle = endpoint.idle();
    let mut ended: HashMap<Ticket, Option<Bytes>> = HashMap::new();
    let mut done: Vec<Completion> = Vec::new();
    let mut rounds = 0;
    while ended.len() < tickets.len() {
        endpoint.poll(&mut done)?;
        rounds = if done.is_empty() { rounds + 1 } else { 0 };
        for completion in done.drain(..) {
            assert!(tickets.contains(&completion.ticket), "a ticket that is not waited for");
            assert!(ended.insert(completion.ticket, completion.message).is_none(), "completed twice");
        }
        if rounds > 0 {
            idle.idle(rounds);
        }
    }
    Ok(tickets.iter().map(|ticket| ended.remove(ticket).unwrap()).collect())
}

/// Waits inside MPI for one message after another, if that is possible, and otherwise polls.
fn wait_for_each(endpoint: &mut dyn Transport, tickets: &[Ticket]) -> Result<HashMap<Ticket, Option<Bytes>>> {
    let mut ended: HashMap<Ticket, Option<Bytes>> = HashMap::new();
    let mut done: Vec<Completion> = Vec::new();
    for &ticket in tickets {
        while !ended.contains_key(&ticket) {
            endpoint.wait(ticket, &mut done)?;
            if done.is_empty() {
                std::thread::yield_now();
            }
            endpoint.poll(&mut done)?;
            for completion in done.drain(..) {
                assert!(ended.insert(completion.ticket, completion.message).is_none(), "completed twice");
            }
        }
    }
    Ok(ended)
}

/// Waits for bodies of one MPI message and of several, in the order in which they were posted. All are posted before,
/// so that no rank needs a message that a blocked rank has not started.
#[test]
fn messages_are_waited_for_one_by_one() {
    under_mpiexec("transport::messages_are_waited_for_one_by_one", &[1, 2, 5], || {
        let (world, _) = world();
        for (chunk, most) in [(1 << 20, 5000), (64, 300)] {
            let mut endpoint = world.endpoint_with_chunk(chunk).unwrap();
            let (me, ranks) = (endpoint.rank(), endpoint.ranks());
            let mut receives = Vec::new();
            for from in 0..ranks {
                for turn in 0..4 {
                    let capacity = length(from, me, turn, most) as u64;
                    receives.push((endpoint.receive(from, 3, capacity).unwrap(), from, turn));
                }
            }
            let mut tickets: Vec<Ticket> = receives.iter().map(|receive| receive.0).collect();
            for to in 0..ranks {
                for turn in 0..4 {
                    let mode = if turn % 2 == 0 { Synchronous } else { Standard };
                    let message = body(me * 31 + to + turn, length(me, to, turn, most));
                    tickets.push(endpoint.send(to, 3, mode, message).unwrap());
                }
            }
            let mut ended = wait_for_each(&mut endpoint, &tickets).unwrap();
            for (ticket, from, turn) in receives {
                let expected = body(from * 31 + me + turn, length(from, me, turn, most));
                assert_eq!(ended.remove(&ticket).unwrap(), Some(expected), "from {from}, turn {turn}, chunk {chunk}");
            }
        }
    });
}

/// Sends `turns` messages with tag 4 to the other of two ranks and back. Polls meanwhile; returns true if `ticket` completed.
fn completes_in_turns(endpoint: &mut dyn Transport, ticket: Option<Ticket>, turns: usize) -> bool {
    let (other, mut is_complete) = (1 - endpoint.rank(), false);
    for _ in 0..turns {
        let mut open = vec![endpoint.send(other, 4, Standard, Bytes::new()).unwrap()];
        open.push(endpoint.receive(other, 4, 0).unwrap());
        while !open.is_empty() {
            let mut done = Vec::new();
            endpoint.poll(&mut done).unwrap();
            is_complete |= done.iter().any(|completion| Some(completion.ticket) == ticket);
            open.retain(|ticket| done.iter().all(|completion| completion.ticket != *ticket));
        }
    }
    is_complete
}

/// Returns a different body for every seed and position.
fn body(seed: usize, len: usize) -> Bytes {
    (0..len).map(|i| (seed.wrapping_mul(0x9e37) ^ i.wrapping_mul(31) ^ (i >> 8)) as u8).collect()
}

/// Returns a length that both sides can compute, up to `most`; a third of the lengths are 0.
fn length(from: usize, to: usize, turn: usize, most: usize) -> usize {
    let mixed = (from * 7919 + to * 104_729 + turn * 1_299_709).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    if mixed.is_multiple_of(3) { 0 } else { mixed % (most + 1) }
}

/// Sends `turns` messages from all ranks to all, with one tag, which are received with `slack` bytes of extra
/// capacity.
fn all_to_all(endpoint: &mut MpiEndpoint, mode: SendMode, turns: usize, most: usize, slack: usize) {
    let (me, ranks) = (endpoint.rank(), endpoint.ranks());
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for turn in 0..turns {
        for peer in 0..ranks {
            let incoming = length(peer, me, turn, most) + slack * (turn % 2);
            receives.push(endpoint.receive(peer, 3, incoming as u64).unwrap());
            let len = length(me, peer, turn, most);
            sends.push(endpoint.send(peer, 3, mode, body(me * ranks + peer + turn, len)).unwrap());
        }
    }
    let all: Vec<Ticket> = receives.iter().chain(&sends).copied().collect();
    let brought = finish(endpoint, &all).unwrap();
    for (number, message) in brought.iter().enumerate().take(receives.len()) {
        let (turn, peer) = (number / ranks, number % ranks);
        let expected = body(peer * ranks + me + turn, length(peer, me, turn, most));
        assert_eq!(message.as_ref(), Some(&expected), "turn {turn} from rank {peer}");
    }
    assert!(brought[receives.len()..].iter().all(Option::is_none), "a send brought a message");
}

#[test]
fn everybody_to_everybody() {
    under_mpiexec("transport::everybody_to_everybody", &[1, 2, 3, 5, 8, 13, 16], || {
        let (_world, mut endpoint) = world();
        for mode in [Standard, Synchronous] {
            for most in [40, 70_000] {
                all_to_all(&mut endpoint, mode, 2, most, 9);
            }
        }
    });
}

#[test]
fn a_synchronous_send_waits_for_its_receiver() {
    under_mpiexec("transport::a_synchronous_send_waits_for_its_receiver", &[2], || {
        let (_world, mut endpoint) = world();
        if endpoint.rank() == 0 {
            let standard = endpoint.send(1, 1, Standard, body(1, 8)).unwrap();
            finish(&mut endpoint, &[standard]).unwrap();
            let synchronous = endpoint.send(1, 2, Synchronous, body(2, 8)).unwrap();
            assert!(!completes_in_turns(&mut endpoint, Some(synchronous), 100), "nobody receives it yet");
            let go = endpoint.send(1, 3, Standard, Bytes::new()).unwrap();
            finish(&mut endpoint, &[synchronous, go]).unwrap();
        } else {
            completes_in_turns(&mut endpoint, None, 100);
            for (tag, len) in [(3, 0), (2, 8), (1, 8)] {
                let ticket = endpoint.receive(0, tag, len).unwrap();
                let brought = finish(&mut endpoint, &[ticket]).unwrap();
                assert_eq!(brought[0].as_ref().unwrap(), &body(tag as usize, len as usize));
            }
        }
    });
}

#[test]
fn long_messages_travel_in_chunks() {
    under_mpiexec("transport::long_messages_travel_in_chunks", &[2, 3], || {
        let (world, _) = world();
        for chunk in [1, 2, 7, 64] {
            let mut endpoint = world.endpoint_with_chunk(chunk).unwrap();
            for mode in [Standard, Synchronous] {
                around_the_limit(&mut endpoint, mode, chunk);
                all_to_all(&mut endpoint, mode, 3, 5 * chunk, 2 * chunk);
            }
        }
    });
}

/// Sends messages of every length near a multiple of the chunk to the next rank, with every kind of capacity, all in
/// flight under one tag.
fn around_the_limit(endpoint: &mut MpiEndpoint, mode: SendMode, chunk: usize) {
    let (me, ranks) = (endpoint.rank(), endpoint.ranks());
    let mut lengths = Vec::new();
    for len in (0..4).flat_map(|k| [k * chunk, k * chunk + 1, (k + 1) * chunk - 1]) {
        lengths.extend([0, 1, chunk - 1, chunk, chunk + 1, 5 * chunk].map(|slack| (len, len + slack)));
    }
    let mut tickets = Vec::new();
    for (number, (_, capacity)) in lengths.iter().enumerate().take(lengths.len() / 2) {
        tickets.push((number, endpoint.receive((me + ranks - 1) % ranks, 5, *capacity as u64).unwrap()));
    }
    let sends: Vec<Ticket> = (lengths.iter().enumerate())
        .map(|(number, (len, _))| endpoint.send((me + 1) % ranks, 5, mode, body(number + me, *len)).unwrap())
        .collect();
    // The other half of the receives is posted late, when unexpected chunks already lie there.
    for (number, (_, capacity)) in lengths.iter().enumerate().skip(lengths.len() / 2) {
        tickets.push((number, endpoint.receive((me + ranks - 1) % ranks, 5, *capacity as u64).unwrap()));
    }
    let all: Vec<Ticket> = tickets.iter().map(|(_, ticket)| *ticket).chain(sends).collect();
    let brought = finish(endpoint, &all).unwrap();
    for (number, _) in tickets {
        let expected = body(number + (me + ranks - 1) % ranks, lengths[number].0);
        assert_eq!(brought[number].as_ref(), Some(&expected), "chunk {chunk}, {mode:?}, message {number}");
    }
}

#[test]
fn more_than_an_int_can_count() {
    under_mpiexec("transport::more_than_an_int_can_count", &[2], || {
        let (_world, mut endpoint) = world();
        // Marks far apart: the memory between them is zeros, which take none where nobody writes. So only the receiver's is held.
        let len = (1usize << 31) + 5;
        let marks = (0..len).step_by(64 << 20).chain([len - 1]);
        if endpoint.rank() == 0 {
            let mut body = vec![0u8; len];
            marks.for_each(|at| body[at] = 1 + (at >> 26) as u8);
            let ticket = endpoint.send(1, 9, Synchronous, Bytes::from(body)).unwrap();
            finish(&mut endpoint, &[ticket]).unwrap();
        } else {
            let ticket = endpoint.receive(0, 9, len as u64 + 5).unwrap();
            let brought = finish(&mut endpoint, &[ticket]).unwrap();
            let body = brought[0].as_ref().unwrap();
            assert_eq!(body.len(), len);
            assert!(marks.clone().all(|at| body[at] == 1 + (at >> 26) as u8));
            assert_eq!(body.iter().filter(|&&byte| byte != 0).count(), marks.count());
        }
    });
}

#[test]
fn too_long_a_message_is_an_error() {
    under_mpiexec("transport::too_long_a_message_is_an_error", &[2], || {
        let (world, _) = world();
        // (chunk, length, capacity): a plain message, a first chunk, a last chunk, one byte behind a full capacity.
        for (chunk, len, capacity) in [(1 << 20, 30, 29), (10, 30, 9), (10, 28, 27), (10, 31, 30)] {
            let mut endpoint = world.endpoint_with_chunk(chunk).unwrap();
            if endpoint.rank() == 0 {
                let ticket = endpoint.send(1, 4, Standard, body(0, len)).unwrap();
                finish(&mut endpoint, &[ticket]).unwrap();
            } else {
                let ticket = endpoint.receive(0, 4, capacity).unwrap();
                let error = finish(&mut endpoint, &[ticket]).unwrap_err();
                let Error::Fabric { what: text, .. } = &error else { panic!("{error}") };
                let named = format!("receive of at most {capacity} bytes from rank 0 with tag 4");
                assert!(text.starts_with(&named) && !text.contains('\n'), "{text}");
                assert_eq!(endpoint.poll(&mut Vec::new()).unwrap_err(), error, "the endpoint stays broken");
                assert_eq!(endpoint.receive(0, 5, 1).unwrap_err(), error, "the endpoint stays broken");
            }
        }
    });
}

#[test]
fn contexts_do_not_mix() {
    under_mpiexec("transport::contexts_do_not_mix", &[2, 4], || {
        let (world, mut first) = world();
        let mut second = first.duplicate().unwrap();
        let mut third = world.endpoint().unwrap();
        let contexts: [&mut dyn Transport; 3] = [&mut first, &mut *second, &mut third];
        let (me, ranks) = (contexts[0].rank(), contexts[0].ranks());
        let labels: Vec<usize> = contexts.iter().map(|context| context.node_label()).collect();
        assert_eq!(labels, [labels[0]; 3]);
        let mut tickets = Vec::new();
        let mut contexts = contexts;
        // Sent in one order and received in another, under the same tag.
        for (number, context) in contexts.iter_mut().enumerate() {
            tickets.push(vec![context.send((me + 1) % ranks, 0, Standard, body(number, 16)).unwrap()]);
        }
        for (number, context) in contexts.iter_mut().enumerate().rev() {
            tickets[number].push(context.receive((me + ranks - 1) % ranks, 0, 16).unwrap());
        }
        for (number, context) in contexts.into_iter().enumerate() {
            let brought = finish(context, &tickets[number]).unwrap();
            assert_eq!(brought[1].as_ref(), Some(&body(number, 16)), "context {number}");
        }
    });
}

#[test]
fn dropped_in_the_middle() {
    under_mpiexec("transport::dropped_in_the_middle", &[2, 4], || {
        let (world, mut other) = world();
        let peer = other.rank() ^ 1;
        for round in 0..50 {
            let mut endpoint = world.endpoint_with_chunk(1 << 16).unwrap();
            // Would meet the strays of the round before, if there were any.
            all_to_all(&mut endpoint, Standard, 2, 1000, 1 << 17);
            // Received by nobody, and never sent.
            endpoint.send(peer, 3, Standard, body(round, 100)).unwrap();
            endpoint.receive(peer, 1, 1 << 20).unwrap();
            // Begun, and not ended.
            endpoint.receive(peer, 2, 1 << 20).unwrap();
            endpoint.send(peer, 2, Standard, body(round, 1 << 17)).unwrap();
            endpoint.poll(&mut Vec::new()).unwrap();
            drop(endpoint);
        }
        all_to_all(&mut other, Synchronous, 1, 1000, 0);
    });
}

#[test]
fn a_panic_ends_all_ranks() {
    mpiexec::must_fail_under_mpiexec("transport::a_panic_ends_all_ranks", 4, "rank 2 is out of order", || {
        let (_world, mut endpoint) = world();
        assert!(endpoint.rank() != 2, "rank 2 is out of order");
        let ticket = endpoint.receive(2, 0, 1).unwrap();
        finish(&mut endpoint, &[ticket]).unwrap();
    });
}

/// All ranks of one host are one node, also if the MPI library says otherwise: MPICH can pretend nodes, and ch3:sock
/// treats every rank as a node.
#[test]
fn one_host_is_one_node() {
    let cliques = [("MPIR_CVAR_NUM_CLIQUES", "4"), ("MPIR_CVAR_CLIQUES_BY_BLOCK", "1")];
    under_mpiexec_with("transport::one_host_is_one_node", &[1, 3, 8], &cliques, || {
        let (_world, mut endpoint) = world();
        let label = tributary::fabric::shared::host::label() as usize;
        assert_eq!(endpoint.node_label(), label, "rank {}", endpoint.rank());
        assert_eq!(endpoint.duplicate().unwrap().node_label(), label, "rank {}, duplicate", endpoint.rank());
        let mut endpoint = tributary::Endpoint::new(Box::new(endpoint));
        let waiting = endpoint.waiting().clone();
        let mut labels = [label as u64; 2];
        let ops = [tributary::schedule::ReduceOp::Min, tributary::schedule::ReduceOp::Max];
        waiting.wait(std::pin::pin!(tributary::collectives::allreduce(&mut endpoint, &ops, &mut labels))).unwrap();
        assert_eq!(labels[0], labels[1]);
    });
}

#[test]
fn bad_arguments_are_refused_and_do_no_harm() {
    under_mpiexec("transport::bad_arguments_are_refused_and_do_no_harm", &[2], || {
        let (world, mut endpoint) = world();
        let refused = |outcome: Result<Ticket>| matches!(outcome, Err(Error::Argument { .. }));
        assert!(refused(endpoint.send(2, 0, Standard, Bytes::new())));
        assert!(refused(endpoint.receive(usize::MAX, 0, 1)));
        assert!(refused(endpoint.send(0, 1 << 15, Standard, Bytes::new())));
        assert!(refused(endpoint.receive(0, u16::MAX, 1)));
        assert!(
            matches!(endpoint.receive(0, 0, u64::MAX), Err(Error::Fabric { what: text, .. }) if text.contains("memory"))
        );
        for chunk in [0, 1 << 31, usize::MAX] {
            assert!(matches!(world.endpoint_with_chunk(chunk), Err(Error::Argument { .. })), "chunk {chunk}");
        }
        all_to_all(&mut endpoint, Standard, 2, 100, 0);
    });
}

#[test]
fn the_communicator_of_the_caller_is_left_alone() {
    under_mpiexec("transport::the_communicator_of_the_caller_is_left_alone", &[2], || {
        let world = tributary::fabric::mpi::initialise().unwrap();
        for _ in 0..3 {
            // SAFETY: MPI is initialised by this thread, until `world` is dropped.
            let mut alone = unsafe { MpiEndpoint::from_raw(tributary_abi::handles().comm_self).unwrap() };
            assert_eq!((alone.rank(), alone.ranks()), (0, 1));
            all_to_all(&mut alone, Synchronous, 3, 1000, 10);
        }
        let again = tributary::fabric::mpi::initialise().unwrap();
        drop(again);
        all_to_all(&mut world.endpoint().unwrap(), Synchronous, 1, 1000, 0);
    });
}
