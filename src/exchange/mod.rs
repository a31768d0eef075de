//! Exchange kernels: in which order, in which mode and how many at a time the messages of an all-to-many exchange go.
//!
//! A kernel is a pure function: one rank's messages in, one rank's [`Schedule`] out. A flat kernel is little more than
//! its **step**: the position of the message (sender, receiver) in the order that all ranks follow. Sends and receives
//! are chained by it, each under the throttle; that shared order is what keeps any throttle free of deadlock
//! ([`Builder::chain`]).
//!
//! **A new kernel** is one file here that defines a `static` [`Kernel`], and one row in [`KERNELS`]. The validators, the
//! conformance suite on both fabrics, the hints and the command line take it from there. (A test then asks for its name in
//! the words that `hints/names.rs` shows as allowed.)

use crate::schedule::{Action, Builder, OpId, Schedule, SendMode, Span, Throttle};
use crate::topology::Rank;

mod ascending;
mod balanced;
mod flat;
pub mod local;
pub mod pairwise;
mod rank_list;
mod route;
mod spread_out;
pub mod two_layer;

pub use ascending::{ASCENDING_ISEND, ASCENDING_ISSEND};
pub use balanced::BALANCED;
pub use flat::Flat;
pub use pairwise::PAIRWISE;
pub use rank_list::RankList;
pub use route::Route;
pub use spread_out::SPREAD_OUT;

/// All flat kernels, by the names that hints use.
pub static KERNELS: [&Kernel; 5] = [&ASCENDING_ISEND, &ASCENDING_ISSEND, &SPREAD_OUT, &BALANCED, &PAIRWISE];

/// A flat kernel: every sender talks to every receiver itself.
#[derive(Debug)]
pub struct Kernel {
    /// As hints and reports name it.
    pub name: &'static str,
    /// One line for people, with its source.
    pub about: &'static str,
    /// When a send counts as finished.
    pub mode: SendMode,
    /// The throttle when no hint gives one; `None` posts everything at once.
    pub default_limit: Option<u32>,
    /// Whether a step's send and receive must both finish before the next step starts (MPI_Sendrecv), which fixes the
    /// throttle at one.
    pub coupled: bool,
    /// The step of the message from `sender` to the `receiver`-th of [`Exchange::receivers`]. One sender's (and one
    /// receiver's) messages have different steps, and all ranks agree on them.
    pub step: fn(exchange: &Exchange<'_>, sender: Rank, receiver: usize) -> u64,
}

/// The kernel of that name.
pub fn kernel(name: &str) -> Option<&'static Kernel> {
    KERNELS.into_iter().find(|kernel| kernel.name == name)
}

/// One message of an exchange, as one rank sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The other side: a rank for a receive, an index into [`Exchange::receivers`] for a send.
    pub peer: usize,
    /// Where its bytes are (or go).
    pub span: Span,
}

/// One rank's part of an all-to-many exchange: who receives, and what this rank sends and receives.
///
/// Messages that are not listed are not sent: an exchange is as sparse as its lists. Nothing here is O(ranks) on a rank
/// that talks to few.
#[derive(Debug, Clone)]
pub struct Exchange<'a> {
    /// This rank.
    pub rank: Rank,
    /// How many ranks there are.
    pub ranks: usize,
    /// The receivers R, ascending.
    pub receivers: &'a [Rank],
    /// The rank list of the balanced kernel.
    pub rank_list: &'a RankList,
    /// What this rank sends, at most one message a receiver.
    pub sends: &'a [Transfer],
    /// What this rank receives, at most one message a sender; empty if it is no receiver.
    pub receives: &'a [Transfer],
}

impl Exchange<'_> {
    /// This rank's index among the receivers.
    pub fn receiver_index(&self) -> Option<usize> {
        self.receivers.binary_search(&self.rank).ok()
    }

    /// The schedule of this exchange alone.
    pub fn schedule(&self, kernel: &Kernel, throttle: Throttle) -> Schedule {
        let mut builder = Builder::default();
        self.append(&mut builder, kernel, throttle, &[]);
        builder.finish()
    }

    /// Appends this exchange to a schedule; its sends (not its receives) wait for `after`.
    ///
    /// A message to oneself becomes a copy. O(m log m) for m messages of this rank.
    pub fn append(&self, builder: &mut Builder, kernel: &Kernel, throttle: Throttle, after: &[OpId]) {
        let mut sends = self.ordered_sends(kernel);
        let mut receives = self.ordered_receives(kernel);
        if let Some(own) = sends.iter().position(|s| self.receivers[s.1.peer] == self.rank) {
            let (_, from) = sends.remove(own);
            if let Some(to) = receives.iter().position(|r| r.1.peer == self.rank) {
                let (_, to) = receives.remove(to);
                builder.copy(from.span, to.span, after);
            }
        }
        if kernel.coupled {
            return self.append_coupled(builder, kernel, &sends, &receives, after);
        }
        let receives: Vec<_> = receives.iter().map(|r| receive(&r.1)).collect();
        let sends: Vec<_> = sends.iter().map(|s| self.send(kernel, &s.1)).collect();
        builder.chain(&receives, throttle, &[]);
        builder.chain(&sends, throttle, after);
    }

    /// Step by step, each step's send and receive before the next step's.
    fn append_coupled(
        &self,
        builder: &mut Builder,
        kernel: &Kernel,
        sends: &[(u64, Transfer)],
        receives: &[(u64, Transfer)],
        after: &[OpId],
    ) {
        let (mut sends, mut receives) = (sends.iter().peekable(), receives.iter().peekable());
        let mut before = after.to_vec();
        while let Some(step) = sends.peek().map(|s| s.0).into_iter().chain(receives.peek().map(|r| r.0)).min() {
            let mut both = Vec::with_capacity(2);
            if let Some((_, message)) = receives.next_if(|r| r.0 == step) {
                let (action, span) = receive(message);
                both.push(builder.op(action, span, &before));
            }
            if let Some((_, message)) = sends.next_if(|s| s.0 == step) {
                let (action, span) = self.send(kernel, message);
                both.push(builder.op(action, span, &before));
            }
            before = vec![builder.join(&both)];
        }
    }

    fn send(&self, kernel: &Kernel, message: &Transfer) -> (Action, Span) {
        (Action::Send { to: self.receivers[message.peer], mode: kernel.mode }, message.span)
    }

    fn ordered_sends(&self, kernel: &Kernel) -> Vec<(u64, Transfer)> {
        let mut all: Vec<_> = self.sends.iter().map(|m| ((kernel.step)(self, self.rank, m.peer), *m)).collect();
        all.sort_unstable_by_key(|(step, _)| *step);
        all
    }

    fn ordered_receives(&self, kernel: &Kernel) -> Vec<(u64, Transfer)> {
        let Some(own) = self.receiver_index() else { return Vec::new() };
        let mut all: Vec<_> = self.receives.iter().map(|m| ((kernel.step)(self, m.peer, own), *m)).collect();
        all.sort_unstable_by_key(|(step, _)| *step);
        all
    }
}

fn receive(message: &Transfer) -> (Action, Span) {
    (Action::Receive { from: message.peer }, message.span)
}
