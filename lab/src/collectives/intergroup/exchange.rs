//! The first step of the segmented algorithms: every rank sends its block to the other group, whose ranks each receive
//! one part of the full message. The parts in rank order are the full message.
//!
//! **Order** (section 4.1). A sender serves its receivers in rank order, one at a time. A receiver takes one message at
//! a time in this order: first the message of its last sender, if that sender has further receivers (a multi-target
//! sender); then the messages of senders with no other receiver; at the end the message of its first sender, if that
//! sender has served others before. So a receiver is idle at most before its last message.
//!
//! **Why it ends without buffering.** A sender's first message is either its only one or the first that its receiver
//! takes. The receivers between a sender's first and last have no other sender. A sender's last message waits only for
//! messages that are the first or only ones of their senders.
//!
//! Sends and receives are two chains that do not wait for each other (full duplex). Two partitions of n bytes into p
//! and q parts overlap in at most p + q - 1 messages.

use crate::collectives::Group;
use crate::collectives::algorithm::Problem;
use crate::collectives::allgather::Circle;
use tributary::schedule::{Action, Buffer, Builder, OpId, SendMode, Span, Throttle};
use tributary::topology::Rank;

/// Function that cuts the full message of a group (its blocks) into one part for each of a number of receivers, in
/// order.
pub type CutCircle = fn(&Circle, usize) -> Circle;

/// One rank's view of an operation between two groups.
pub struct Side<'a> {
    /// Ranks of this rank's own group.
    pub group: Group,
    /// Sizes of the blocks of the own group.
    pub own: Circle,
    /// Ranks of the other group.
    pub other: &'a [Rank],
    /// Sizes of the blocks of the other group.
    pub others: Circle,
}

impl<'a> Side<'a> {
    /// Returns the view of the problem's rank. `None` if the rank is in neither group or the other group is empty: the
    /// rank then neither sends nor receives. O(members).
    pub fn of(problem: &Problem<'a>) -> Option<Self> {
        let (members, me, other) = problem.groups?.locate(problem.rank)?;
        let blocks = |group: &[Rank]| Circle::new(group.iter().map(|&rank| problem.sizes[rank]));
        let list = members.to_vec();
        let world = Group::world(problem.rank, problem.ranks());
        let group = world.part(members.len(), me, move |member| list[member]);
        (!other.is_empty()).then(|| Self { group, own: blocks(members), other, others: blocks(other) })
    }

    /// Returns the range of the receive buffer for the full message of the other group.
    pub fn received(&self) -> Span {
        Span::new(Buffer::Receive, 0, self.others.total())
    }

    /// Adds the exchange. Returns the parts of the other group's message that the ranks of this group have afterwards,
    /// in the order of the ranks; and the operations after which this rank has finished the exchange.
    pub fn exchange(&self, cut: CutCircle, builder: &mut Builder) -> (Circle, Vec<OpId>) {
        let me = self.group.me();
        let parts = cut(&self.others, self.group.size());
        let block = self.own.begin(me);
        let sends: Vec<_> = (cut(&self.own, self.other.len()).overlapping(block, self.own.begin(me + 1)))
            .map(|(to, from, end)| {
                let action = Action::Send { to: self.other[to], mode: SendMode::Standard };
                (action, Span::new(Buffer::Send, from - block, end - from))
            })
            .collect();
        let receives: Vec<_> = (in_order(&self.others, parts.begin(me), parts.begin(me + 1)).into_iter())
            .map(|(from, at, end)| {
                (Action::Receive { from: self.other[from] }, Span::new(Buffer::Receive, at, end - at))
            })
            .collect();
        let mut all = builder.chain(&sends, Throttle::sliding(1), &[]);
        all.extend(builder.chain(&receives, Throttle::sliding(1), &[]));
        let done = if all.is_empty() { all } else { vec![builder.join(&all)] };
        (parts, done)
    }
}

/// Returns the senders of the bytes `from..end` of the full message of `blocks`, each with begin and end of the bytes
/// that the sender sends, in the order in which the receiver receives them.
fn in_order(blocks: &Circle, from: u64, end: u64) -> Vec<(usize, u64, u64)> {
    let mut senders: Vec<_> = blocks.overlapping(from, end).collect();
    let (Some(&(first, ..)), Some(&(last, ..))) = (senders.first(), senders.last()) else { return senders };
    if first != last && blocks.begin(last + 1) > end {
        senders.rotate_right(1);
    }
    if first != last && blocks.begin(first) < from {
        senders.retain(|&(sender, ..)| sender != first);
        senders.push((first, from, blocks.begin(first + 1)));
    }
    senders
}

/// Returns the size in bytes of part `index` if `total` bytes are divided into `parts` parts that differ by at most one
/// byte, the larger first.
pub fn share(total: u64, parts: usize, index: usize) -> u64 {
    let parts = parts as u64;
    total / parts + u64::from((index as u64) < total % parts)
}
