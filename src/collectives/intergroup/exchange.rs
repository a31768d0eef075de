//! The first step of the segmented algorithms: every rank sends what it has to the other group, of which every rank
//! gets a part of its own; the parts in rank order are the full message.
//!
//! **Order** (section 4.1). A sender serves its receivers in rank order, one at a time. A receiver takes one message at
//! a time too, and decides whose: first that of its last sender, if that one has other receivers after it (a
//! multi-target sender); then those that send to nobody else; at last that of its first sender, if that one has served
//! others before. So a receiver is never idle while something is left for it, but for the last message of all.
//!
//! **Why it ends without buffering.** A sender's first message is the first that its receiver takes, or it is the
//! sender's only one. Receivers between a sender's first and last have no other sender. Its last message waits for
//! messages that are their senders' first or only ones.
//!
//! Sends and receives are two chains that do not wait for each other (full duplex). Two partitions of n bytes into p
//! and q parts overlap in at most p + q - 1 messages.

use crate::collectives::algorithm::Problem;
use crate::collectives::allgather::Circle;
use crate::collectives::group::Group;
use crate::schedule::{Action, Buffer, Builder, OpId, SendMode, Span, Throttle};
use crate::topology::Rank;

/// Cuts the full message of a group of these blocks into one part for each of so many receivers, in order.
pub type Cut = fn(&Circle, usize) -> Circle;

/// One rank's side of an operation between two groups.
pub struct Side<'a> {
    /// The ranks of its own group.
    pub group: Group,
    /// Their blocks.
    pub own: Circle,
    /// The ranks of the other group.
    pub other: &'a [Rank],
    /// Their blocks.
    pub others: Circle,
}

impl<'a> Side<'a> {
    /// The side of the problem's rank; none for a rank in neither group, and where the other group is empty: such a
    /// rank neither sends nor receives. O(members).
    pub fn of(problem: &Problem<'a>) -> Option<Self> {
        let (members, me, other) = problem.groups?.locate(problem.rank)?;
        let blocks = |group: &[Rank]| Circle::new(group.iter().map(|&rank| problem.sizes[rank]));
        let list = members.to_vec();
        let world = Group::world(problem.rank, problem.ranks());
        let group = world.part(members.len(), me, move |member| list[member]);
        (!other.is_empty()).then(|| Self { group, own: blocks(members), other, others: blocks(other) })
    }

    /// Where the full message of the other group gets to.
    pub fn received(&self) -> Span {
        Span::new(Buffer::Receive, 0, self.others.total())
    }

    /// Adds the exchange. Returns the parts in which this rank's group then has the other's message, each at its place
    /// in the receive buffer of the rank that got it; and what is to finish before this rank is done with the exchange.
    pub fn exchange(&self, cut: Cut, builder: &mut Builder) -> (Circle, Vec<OpId>) {
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
        let mut all = builder.chain(&sends, Throttle::window(1), &[]);
        all.extend(builder.chain(&receives, Throttle::window(1), &[]));
        let done = if all.is_empty() { all } else { vec![builder.join(&all)] };
        (parts, done)
    }
}

/// The senders of the bytes `from..end` of the full message of `blocks`, with what each sends, in the receiver's order.
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

/// How many of `total` are in part `index` of `parts`, which differ by at most one, the larger first.
pub fn share(total: u64, parts: usize, index: usize) -> u64 {
    let parts = parts as u64;
    total / parts + u64::from((index as u64) < total % parts)
}
