//! Linear gather and scatter with synchronization: a rank sends a block only after the receiver has asked for it.
//!
//! The root of a gather sends an empty request to one rank after the other. A rank answers with a first segment of at
//! most `segment` bytes and then the rest, synchronously. When the first segment has arrived, the root sends the next
//! request, so that its latency overlaps with the rest of the block. In a scatter, every rank tells the root that it is
//! ready, and the root then sends. So no block waits in a buffer of the receiver, however many ranks there are.
//!
//! Number of messages: 3 (p - 1). Time: t_s + (p - 1)(2 t_s + m t_w) (Hasanov, thesis, 2.3.3.1, equation 2.23), if the first segments are
//! shorter than the blocks.

use super::gathering::{Gather, Gathering};
use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation};
use crate::collectives::in_place::or_before;
use tributary::schedule::{Buffer, Builder, OpId, SendMode, Span};

/// Linear gather and scatter with synchronization (see the module).
pub static LINEAR_SYNCHRONIZED: Gather = Gather { gather: &GATHER, scatter: &SCATTER, append, append_backwards, time };

/// Linear gather with synchronization (see the module).
pub static GATHER: Algorithm = Algorithm {
    operation: Operation::Gather,
    name: "linear_synchronized",
    about: "the root asks one rank after the other, which sends its block in two segments",
    source: "Hasanov, thesis, 2.3.3.1, equation 2.23",
    cost: "t_s + (p - 1)(2 t_s + m t_w)",
    irregular: true,
    schedule: |problem| LINEAR_SYNCHRONIZED.gather(problem),
};

/// Linear scatter with synchronization (see the module).
pub static SCATTER: Algorithm = Algorithm {
    operation: Operation::Scatter,
    about: "every rank tells the root that it waits, and gets its block in two segments",
    schedule: |problem| LINEAR_SYNCHRONIZED.scatter(problem),
    ..GATHER
};

/// Empty message, with which a rank says that it is ready.
const EMPTY: Span = Span { buffer: Buffer::Send, offset: 0, len: 0 };

/// Returns the first segment of a block (at most `segment` bytes), and the rest if there is one.
fn halves(block: Span, segment: u64) -> impl Iterator<Item = Span> {
    let first = block.len.min(segment);
    let rest = Span::new(block.buffer, block.offset + first, block.len - first);
    [Span { len: first, ..block }, rest].into_iter().filter(|half| half.len > 0)
}

/// Adds the copy of the root's own block. Returns the other ranks whose block is not empty with the ranges of their
/// blocks on the root, and the copy.
fn others(gathering: &Gathering<'_>, builder: &mut Builder, before: &[OpId]) -> (Vec<(usize, Span)>, Vec<OpId>) {
    let mut at = gathering.into.offset;
    let mut blocks = Vec::new();
    let mut copied = Vec::new();
    for (member, &len) in gathering.sizes.iter().enumerate().filter(|&(_, &len)| len > 0) {
        let block = Span::new(gathering.into.buffer, at, len);
        at += len;
        if member != gathering.root {
            blocks.push((gathering.group.rank_of(member), block));
        } else if block != gathering.own {
            copied.push(builder.copy(gathering.own, block, before));
        }
    }
    (blocks, copied)
}

fn append(gathering: &Gathering<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let root = gathering.group.rank_of(gathering.root);
    if !gathering.is_root() {
        if gathering.own.len == 0 {
            return before.to_vec();
        }
        let asked = builder.receive(root, EMPTY, before);
        let send = |half| builder.send(root, SendMode::Synchronous, half, &[asked]);
        return halves(gathering.own, gathering.segment).map(send).collect();
    }
    let (blocks, mut here) = others(gathering, builder, before);
    let mut last = before.to_vec();
    for (from, block) in blocks {
        let arrived: Vec<_> = halves(block, gathering.segment).map(|half| builder.receive(from, half, &last)).collect();
        builder.send(from, SendMode::Standard, EMPTY, &last);
        last = vec![arrived[0]];
        here.extend(arrived);
    }
    or_before(here, before)
}

/// Adds a gather in which the root confirms every block. In its transpose, every rank tells the root that it is ready.
fn append_backwards(gathering: &Gathering<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let root = gathering.group.rank_of(gathering.root);
    let backwards = |block| halves(block, gathering.segment).collect::<Vec<_>>().into_iter().rev();
    if !gathering.is_root() {
        if gathering.own.len == 0 {
            return before.to_vec();
        }
        let sent = backwards(gathering.own).map(|half| builder.send(root, SendMode::Standard, half, before)).collect();
        builder.receive(root, EMPTY, before);
        return sent;
    }
    let (blocks, mut here) = others(gathering, builder, before);
    for (from, block) in blocks.into_iter().rev() {
        let arrived: Vec<_> = backwards(block).map(|half| builder.receive(from, half, before)).collect();
        builder.send(from, SendMode::Standard, EMPTY, &arrived);
        here.extend(arrived);
    }
    or_before(here, before)
}

/// Returns the time in seconds by equation 2.23.
fn time(rates: &Rates, ranks: f64, bytes: f64) -> f64 {
    if ranks < 2.0 { 0.0 } else { rates.startup + (ranks - 1.0) * (rates.startup + rates.message(bytes)) }
}
