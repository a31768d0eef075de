//! Exchange kernels: they decide the order, the send mode and the throttle of the messages of an all-to-many
//! exchange.
//!
//! A kernel turns one rank's messages into one rank's [`Schedule`], as a pure function. The kernel gives each message
//! (sender, receiver) a **step**: its position in an order that all ranks follow. Sends and receives are chained in
//! that order, each under the throttle. Because all ranks share the order, no throttle can deadlock
//! ([`Builder::chain`]).
//!
//! **A new kernel** is one file here that defines a `static` [`Kernel`], and its row in [`KERNELS`]. Hints, help texts,
//! documentation, command line, validators and the suites on all fabrics read the row; `./generate` updates the generated
//! documentation.

mod ascending;
mod balanced;
pub mod cost;
mod pairwise;
mod spread_out;
pub mod two_layer;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};
use crate::schedule::{Action, Builder, OpId, Schedule, SendMode, Span, Throttle, ThrottleMode};
use crate::topology::Rank;

pub use ascending::{ASCENDING_ISEND, ASCENDING_ISSEND};
pub use balanced::{BALANCED, RankList};
pub use pairwise::PAIRWISE;

/// The registry: all kernels, in the order of the documentation.
pub static KERNELS: &[&Kernel] = &[
    &ascending::ASCENDING_ISEND,
    &ascending::ASCENDING_ISSEND,
    &spread_out::SPREAD_OUT,
    &balanced::BALANCED,
    &pairwise::PAIRWISE,
];

/// The index of a receiver (an aggregator) in [`Exchange::receivers`]: not its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReceiverIndex(pub usize);

/// One message of an exchange from the view of one rank: a send to the receiver with an index, or a receive from a
/// rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer<Peer> {
    /// Rank at the other end: the receiver's index, or the sender's rank.
    pub peer: Peer,
    /// Range of this rank's buffer that holds the bytes or receives them.
    pub span: Span,
}

/// One rank's part of an all-to-many exchange: the receivers, and what this rank sends and receives.
///
/// Only the messages in the lists are sent. On a rank with few messages, nothing here is O(ranks).
#[derive(Debug, Clone)]
pub struct Exchange<'a> {
    /// Number of this rank.
    pub rank: Rank,
    /// Number of ranks.
    pub ranks: usize,
    /// Ranks of the receivers (R in the paper), ascending.
    pub receivers: &'a [Rank],
    /// Order of ranks that the balanced kernel uses.
    pub rank_list: &'a RankList,
    /// Messages that this rank sends, at most one to each receiver.
    pub sends: &'a [Transfer<ReceiverIndex>],
    /// Messages that this rank receives, at most one from each sender; empty if this rank is no receiver.
    pub receives: &'a [Transfer<Rank>],
}

impl Exchange<'_> {
    /// Returns this rank's index among the receivers; `None` if this rank is no receiver.
    pub fn receiver_index(&self) -> Option<ReceiverIndex> {
        self.receivers.binary_search(&self.rank).ok().map(ReceiverIndex)
    }

    /// Returns the rank of a receiver.
    #[inline]
    pub fn rank_of(&self, receiver: ReceiverIndex) -> Rank {
        self.receivers[receiver.0]
    }

    /// Returns the schedule of this exchange on this rank. O(m log m) for m messages of this rank.
    pub fn schedule(&self, kernel: &Kernel, throttle: Throttle) -> Schedule {
        let mut builder = Builder::default();
        self.append(&mut builder, kernel, throttle, &[]);
        builder.finish()
    }

    /// Appends this exchange to a schedule. The sends wait for the operations `after`, the receives do not (in a
    /// coupled kernel, both do).
    ///
    /// A message from this rank to itself becomes a copy. O(m log m) for m messages of this rank.
    pub fn append(&self, builder: &mut Builder, kernel: &Kernel, throttle: Throttle, after: &[OpId]) {
        let mut sends = self.ordered_sends(kernel);
        let mut receives = self.ordered_receives(kernel);
        if let Some(own) = sends.iter().position(|s| self.rank_of(s.1.peer) == self.rank) {
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

    /// Appends the messages of a coupled kernel step by step: a step's send and receive finish before the next step
    /// starts.
    fn append_coupled(
        &self,
        builder: &mut Builder,
        kernel: &Kernel,
        sends: &[(u64, Transfer<ReceiverIndex>)],
        receives: &[(u64, Transfer<Rank>)],
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

    fn send(&self, kernel: &Kernel, message: &Transfer<ReceiverIndex>) -> (Action, Span) {
        (Action::Send { to: self.rank_of(message.peer), mode: kernel.mode }, message.span)
    }

    fn ordered_sends(&self, kernel: &Kernel) -> Vec<(u64, Transfer<ReceiverIndex>)> {
        let mut all: Vec<_> = self.sends.iter().map(|m| ((kernel.step)(self, self.rank, m.peer), *m)).collect();
        all.sort_unstable_by_key(|(step, _)| *step);
        all
    }

    fn ordered_receives(&self, kernel: &Kernel) -> Vec<(u64, Transfer<Rank>)> {
        let Some(own) = self.receiver_index() else { return Vec::new() };
        let mut all: Vec<_> = self.receives.iter().map(|m| ((kernel.step)(self, m.peer, own), *m)).collect();
        all.sort_unstable_by_key(|(step, _)| *step);
        all
    }
}

fn receive(message: &Transfer<Rank>) -> (Action, Span) {
    (Action::Receive { from: message.peer }, message.span)
}

/// The kernel of a phase (metadata or data) with its throttle and its receivers: makes the schedule of each exchange of the
/// phase. All fields but `rank` are equal on all ranks.
#[derive(Debug, Clone)]
pub struct Route {
    /// Number of this rank.
    pub rank: Rank,
    /// Number of ranks.
    pub ranks: usize,
    /// Ranks of the receivers, ascending.
    pub receivers: Arc<[Rank]>,
    /// Order of ranks that the balanced kernel uses.
    pub rank_list: RankList,
    /// Kernel of the phase.
    pub kernel: &'static Kernel,
    /// Throttle of the kernel.
    pub throttle: Throttle,
}

impl Route {
    /// Returns this rank's schedule of one exchange; `sends` and `receives` are as in [`Exchange`].
    pub fn schedule(&self, sends: &[Transfer<ReceiverIndex>], receives: &[Transfer<Rank>]) -> Schedule {
        self.exchange(self.rank, sends, receives).schedule(self.kernel, self.throttle)
    }

    /// Returns an exchange of any rank; `sends` and `receives` are as in [`Exchange`].
    pub fn exchange<'a>(
        &'a self,
        rank: Rank,
        sends: &'a [Transfer<ReceiverIndex>],
        receives: &'a [Transfer<Rank>],
    ) -> Exchange<'a> {
        let Self { ranks, receivers, rank_list, .. } = self;
        Exchange { rank, ranks: *ranks, receivers, rank_list, sends, receives }
    }
}

/// Maximum number of outstanding messages under a sliding limit, if no hint gives one. The value is Cray's; of 32,
/// 50, 64 and 128 it was the best in the simulator.
pub const SLIDING_LIMIT: u32 = 50;

/// A kernel: the order, the send mode and the throttle of the messages from all senders to the receivers.
///
/// Kernels are equal if their names are. The text form (hints, JSON) is the name.
pub struct Kernel {
    /// The name in hints and reports: letters, digits and `_`, in lower case.
    pub name: &'static str,
    /// Description of the kernel in one line, which begins in lower case and ends without a full stop.
    pub about: &'static str,
    /// Source of the kernel: paper, then section, Algorithm, equation or figure, separated by `, `; further sources
    /// follow `; `. `None` if the kernel is from no paper.
    pub source: Option<&'static str>,
    /// Time in the one-port model, in t_s (start of a message) and t_w (a byte).
    pub cost: &'static str,
    /// Advice when to use the kernel, in whole sentences.
    pub when: &'static str,
    /// Send mode: decides when a send counts as finished.
    pub mode: SendMode,
    /// Maximum number of messages in a batch if no hint gives one, as in the main paper; `None` posts all messages at
    /// once.
    pub default_limit: Option<u32>,
    /// True if a step's send and receive must both finish before the next step starts (MPI_Sendrecv). The throttle is then a
    /// batch of one.
    pub coupled: bool,
    /// Function that returns the step (the position in the common order) of the message from `sender` to `receiver`.
    /// The messages of one sender have different steps, and so do the messages of one receiver. The step must be the
    /// same on all ranks.
    pub step: fn(exchange: &Exchange<'_>, sender: Rank, receiver: ReceiverIndex) -> u64,
}

impl Kernel {
    /// Returns the names of all kernels in the order of the registry, separated by `|`.
    pub fn names() -> String {
        KERNELS.iter().map(|kernel| kernel.name).collect::<Vec<_>>().join("|")
    }

    /// Returns the throttle to use if no hint gives a limit: batches of [`Kernel::default_limit`], or a sliding limit
    /// of [`SLIDING_LIMIT`].
    pub fn default_throttle(&self, mode: ThrottleMode) -> Throttle {
        self.throttle(match (self.default_limit, mode) {
            (None, _) => Throttle::NONE,
            (Some(limit), ThrottleMode::Batch) => Throttle::batch(limit),
            (Some(_), ThrottleMode::Sliding) => Throttle::sliding(SLIDING_LIMIT),
        })
    }

    /// Returns the throttle to use if the hints say `requested`: a coupled kernel always has a batch of one.
    pub fn throttle(&self, requested: Throttle) -> Throttle {
        if self.coupled { Throttle::batch(1) } else { requested }
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Kernel {}

impl Hash for Kernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl FromStr for &'static Kernel {
    type Err = Error;

    /// # Errors
    /// The name is not in the registry.
    fn from_str(text: &str) -> Result<Self> {
        let name = text.to_ascii_lowercase();
        let kernel = KERNELS.iter().copied().find(|kernel| kernel.name == name);
        kernel.ok_or_else(|| Error::argument("kernel", text, Kernel::names()))
    }
}

impl Serialize for Kernel {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for &'static Kernel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Maximum number of bytes of a body in a head. A head has 2 KiB, an eager message on any MPI. (In the E3SM F case on
/// 21,600 ranks in Cori's layout, a list has 1,455 bytes on average.)
pub const HEAD: usize = 2040;
/// Number of bytes of the length in a head.
pub const HEAD_LENGTH: usize = 8;

/// Returns the number of bytes of the two messages for a body of `len` bytes: the head, and the rest of the body. A rest
/// of 0 bytes is not sent.
pub fn head_and_rest(len: usize) -> [usize; 2] {
    [HEAD_LENGTH + len.min(HEAD), len.saturating_sub(HEAD)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documentation, pictures and hints are made from the rows, so every field must be filled.
    #[test]
    fn every_row_is_complete() {
        for (index, kernel) in KERNELS.iter().enumerate() {
            let Kernel { name, about, source, cost, when, default_limit, coupled, .. } = kernel;
            let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(
                !name.is_empty() && name.chars().all(is_word),
                "{name}: a name is letters, digits and _, in lower case"
            );
            assert!(!KERNELS[..index].contains(kernel), "{name}: two kernels have this name");
            assert!(*name != crate::exchange::two_layer::NAME, "{name}: this is the word for two layers");
            for (field, text) in [("about", about), ("cost", cost), ("when", when)] {
                assert!(!text.is_empty() && !text.contains('\n'), "{name}: its `{field}` must be one line");
            }
            assert!(!about.ends_with('.'), "{name}: `about` ends without a full stop");
            assert!(when.ends_with('.'), "{name}: `when` is whole sentences");
            let is_line = |source: &str| !source.is_empty() && !source.contains('\n');
            assert!(
                source.is_none_or(is_line),
                "{name}: `source` is None, or Some(\"Paper, section, equation\"), several separated by `; `"
            );
            assert!(*default_limit != Some(0), "{name}: `default_limit` is None for no limit, or 1 and more");
            assert!(!coupled || *default_limit == Some(1), "{name}: a coupled kernel's `default_limit` is Some(1)");
            assert_eq!(name.to_ascii_uppercase().parse(), Ok(*kernel));
        }
        assert!("bruck".parse::<&Kernel>().unwrap_err().to_string().contains(&Kernel::names()));
    }
}
