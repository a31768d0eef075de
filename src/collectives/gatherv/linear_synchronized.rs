//! Linear gather and scatter with synchronization: nobody sends a block before its receiver says that it is waiting.
//!
//! The root of a gather asks one rank after the other with an empty message; a rank sends a first segment of at most
//! `segment` bytes and the rest, synchronously. When the first segment is there the root asks the next rank, so that the
//! question travels while the rest arrives. A scatter is the gather's mirror image: every rank tells the root that it is
//! waiting, and the root sends to those that do. So no block waits in a buffer of the receiver, however many ranks there
//! are. 3 (p - 1) messages; t_s + (p - 1)(2 t_s + m t_w) (Hasanov, thesis, 2.3.3.1, equation 2.23), the first segments being
//! shorter than the blocks.

use super::gathering::{Gather, Gathering};
use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation};
use crate::collectives::in_place::or_before;
use crate::schedule::{Buffer, Builder, OpId, SendMode, Span};

/// See the module.
pub static LINEAR_SYNCHRONIZED: Gather = Gather { gather: &GATHER, scatter: &SCATTER, append, append_backwards, time };

/// The gather; see the module.
pub static GATHER: Algorithm = Algorithm {
    operation: Operation::Gather,
    name: "linear_synchronized",
    about: "the root asks one rank after the other, which sends its block in two segments",
    source: "Hasanov, thesis, 2.3.3.1, equation 2.23",
    cost: "t_s + (p - 1)(2 t_s + m t_w)",
    irregular: true,
    schedule: |problem| LINEAR_SYNCHRONIZED.gather(problem),
};

/// The scatter; see the module.
pub static SCATTER: Algorithm = Algorithm {
    operation: Operation::Scatter,
    about: "every rank tells the root that it waits, and gets its block in two segments",
    schedule: |problem| LINEAR_SYNCHRONIZED.scatter(problem),
    ..GATHER
};

/// The message of no bytes.
const WORD: Span = Span { buffer: Buffer::Send, offset: 0, len: 0 };

/// A block in a first segment and the rest, if there is one.
fn halves(block: Span, segment: u64) -> impl Iterator<Item = Span> {
    let first = block.len.min(segment);
    let rest = Span::new(block.buffer, block.offset + first, block.len - first);
    [Span { len: first, ..block }, rest].into_iter().filter(|half| half.len > 0)
}

/// Where the blocks of the other members go, of those that have one; and the copy of the root's own.
fn others(it: &Gathering<'_>, builder: &mut Builder, before: &[OpId]) -> (Vec<(usize, Span)>, Vec<OpId>) {
    let mut at = it.into.offset;
    let mut blocks = Vec::new();
    let mut copied = Vec::new();
    for (member, &len) in it.sizes.iter().enumerate().filter(|&(_, &len)| len > 0) {
        let block = Span::new(it.into.buffer, at, len);
        at += len;
        if member != it.root {
            blocks.push((it.group.rank_of(member), block));
        } else if block != it.own {
            copied.push(builder.copy(it.own, block, before));
        }
    }
    (blocks, copied)
}

fn append(it: &Gathering<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let root = it.group.rank_of(it.root);
    if !it.is_root() {
        if it.own.len == 0 {
            return before.to_vec();
        }
        let asked = builder.receive(root, WORD, before);
        let send = |half| builder.send(root, SendMode::Synchronous, half, &[asked]);
        return halves(it.own, it.segment).map(send).collect();
    }
    let (blocks, mut here) = others(it, builder, before);
    let mut last = before.to_vec();
    for (from, block) in blocks {
        let arrived: Vec<_> = halves(block, it.segment).map(|half| builder.receive(from, half, &last)).collect();
        builder.send(from, SendMode::Standard, WORD, &last);
        last = vec![arrived[0]];
        here.extend(arrived);
    }
    or_before(here, before)
}

/// A gather in which the root tells every rank that its block is there: backwards, every rank tells the root that it
/// waits.
fn append_backwards(it: &Gathering<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let root = it.group.rank_of(it.root);
    let backwards = |block| halves(block, it.segment).collect::<Vec<_>>().into_iter().rev();
    if !it.is_root() {
        if it.own.len == 0 {
            return before.to_vec();
        }
        let sent = backwards(it.own).map(|half| builder.send(root, SendMode::Standard, half, before)).collect();
        builder.receive(root, WORD, before);
        return sent;
    }
    let (blocks, mut here) = others(it, builder, before);
    for (from, block) in blocks.into_iter().rev() {
        let arrived: Vec<_> = backwards(block).map(|half| builder.receive(from, half, before)).collect();
        builder.send(from, SendMode::Standard, WORD, &arrived);
        here.extend(arrived);
    }
    or_before(here, before)
}

/// Equation 2.23.
fn time(rates: &Rates, ranks: f64, bytes: f64) -> f64 {
    if ranks < 2.0 { 0.0 } else { rates.startup + (ranks - 1.0) * (rates.startup + rates.message(bytes)) }
}
