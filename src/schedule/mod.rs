//! Describes a communication pattern as data: the messages and copies of one rank, their order and their bytes.
//!
//! A [`Schedule`] is a DAG of one rank's operations, and a [`Builder`] makes it: it adds operations in order, and chains messages
//! under a [`Throttle`]. An executor runs the schedule on a fabric, the validators (in `testing/`) check it, and the laboratory's
//! simulator times it. Nothing here waits, communicates or allocates messages; all calls are local.
//!
//! [`progress`] finds the operations that may start now, for all executors. `transpose` reverses a schedule for a collective
//! read.

pub mod progress;
mod transpose;

use serde::{Deserialize, Serialize};

use crate::topology::Rank;

pub use progress::Progress;

/// Index of an operation in its schedule.
pub type OpId = u32;

/// A named buffer of the rank that runs the schedule. The executor decides which memory a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Buffer {
    /// The bytes that this rank contributes to the exchange.
    Send,
    /// The bytes that this rank receives from the exchange.
    Receive,
    /// A staging buffer with this number, for example the bytes that a local aggregator has received (0) or sends on
    /// (1), or an operand of a reduction.
    Stage(u8),
}

/// A range of a named buffer. For a receive, `len` is the maximum number of bytes that may arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// Name of the buffer.
    pub buffer: Buffer,
    /// Offset of the first byte in the buffer, in bytes.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Span {
    /// Returns the range of `len` bytes at `offset` of `buffer`.
    pub fn new(buffer: Buffer, offset: u64, len: u64) -> Self {
        Self { buffer, offset, len }
    }
}

/// The send mode: decides when a send counts as finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SendMode {
    /// The send is finished when the buffer may be reused (MPI_Isend). MPI may buffer the message, so a fast sender
    /// can run ahead.
    Standard,
    /// The send is finished when the receiver has matched the message (MPI_Issend). So a sender ends a round only after
    /// its receivers have begun it.
    Synchronous,
}

/// The operation of a reduction over unsigned 64-bit little-endian integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// Wrapping sum.
    Sum,
    /// The smaller of both values.
    Min,
    /// The larger of both values.
    Max,
}

impl ReduceOp {
    /// Returns the result of the operation on two values.
    pub fn apply(self, a: u64, b: u64) -> u64 {
        match self {
            Self::Sum => a.wrapping_add(b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

/// The action of an operation: send, receive, copy, reduce or join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Sends the bytes of the operation's range ([`Op::span`]).
    Send {
        /// Rank that receives the message.
        to: Rank,
        /// Send mode of the message.
        mode: SendMode,
    },
    /// Receives bytes into the operation's range.
    Receive {
        /// Rank that sends the message.
        from: Rank,
    },
    /// Copies the bytes of `from` to the operation's range. The executor may transform the bytes (a local aggregator
    /// merges them).
    Copy {
        /// Range from which the bytes are copied.
        from: Span,
    },
    /// Combines the integers in `from` with the integers in the operation's range; the results replace the latter.
    Reduce {
        /// Range of one operand; the operation's range is the other.
        from: Span,
        /// Operation with which the values are combined.
        with: ReduceOp,
    },
    /// Does nothing: other operations depend on it instead of depending on many operations.
    Join,
}

/// One operation of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// Action of the operation.
    pub action: Action,
    /// Range of bytes that the action sends, receives or writes.
    pub span: Span,
    /// Stage number of a message. Messages match by (sender, receiver, stage), in the order in which they are
    /// started. Two phases of one schedule between the same ranks (member to local aggregator, local aggregator to
    /// aggregator) have different stages.
    pub stage: u8,
    /// Sliding limit that the operation counts towards: an index into [`Schedule::sliding_limits`].
    pub sliding_limit: Option<u16>,
    /// Begin and end of this operation's dependencies in `Schedule::after`.
    after: (u32, u32),
}

/// One rank's operations, complete and immutable. Each operation follows its dependencies in the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    ops: Vec<Op>,
    after: Vec<OpId>,
    sliding_limits: Vec<u32>,
}

impl Schedule {
    /// Returns all operations; an [`OpId`] is an index into them.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Returns the operations that must have finished before operation `op` starts.
    pub fn dependencies(&self, op: OpId) -> &[OpId] {
        let (from, to) = self.ops[op as usize].after;
        &self.after[from as usize..to as usize]
    }

    /// Returns the sliding limits. Each is the maximum number of operations in flight among those that name this
    /// limit; when any of them finishes, the next in order starts.
    pub fn sliding_limits(&self) -> &[u32] {
        &self.sliding_limits
    }

    /// Returns the number of messages that this rank sends.
    pub fn sends(&self) -> usize {
        self.ops.iter().filter(|op| matches!(op.action, Action::Send { .. })).count()
    }

    /// Returns the schedule as text, one line per operation: for golden tests and for people.
    pub fn dump(&self) -> String {
        let mut text = String::new();
        for (id, op) in self.ops.iter().enumerate() {
            let bytes = |s: &Span| format!("{:?}[{}..{}]", s.buffer, s.offset, s.offset + s.len).to_lowercase();
            let what = match &op.action {
                Action::Send { to, mode: SendMode::Standard } => format!("send {} -> {to}", bytes(&op.span)),
                Action::Send { to, mode: SendMode::Synchronous } => format!("ssend {} -> {to}", bytes(&op.span)),
                Action::Receive { from } => format!("recv {} <- {from}", bytes(&op.span)),
                Action::Copy { from } => format!("copy {} = {}", bytes(&op.span), bytes(from)),
                Action::Reduce { from, with } => format!("{with:?} {} with {}", bytes(&op.span), bytes(from)),
                Action::Join => "join".to_string(),
            };
            let window =
                op.sliding_limit.map_or(String::new(), |w| format!(" window {w}/{}", self.sliding_limits[w as usize]));
            let after = self.dependencies(id as OpId);
            let after = if after.is_empty() { String::new() } else { format!(" after {after:?}") };
            text += &format!("{id}: {what}{window}{after}\n");
        }
        text
    }
}

/// The way in which a limit on outstanding messages is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThrottleMode {
    /// A rank posts w messages, waits for all of them, then posts the next w, as the paper and MPICH do (main paper,
    /// section IV.B).
    Batch,
    /// A rank keeps w messages in flight: the next starts when any one finishes. Text (hints, JSON) is `window`.
    #[serde(rename = "window")]
    Sliding,
}

/// A limit on the outstanding sends, and on the outstanding receives, of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Throttle {
    /// Maximum number of messages; `None` posts all at once. Never `Some(0)`.
    pub limit: Option<u32>,
    /// Way in which the limit is kept.
    pub mode: ThrottleMode,
}

impl Throttle {
    /// No limit: all messages are posted at once.
    pub const NONE: Self = Self { limit: None, mode: ThrottleMode::Batch };

    /// Returns a throttle with batches of `limit` messages; 0 means no limit.
    pub fn batch(limit: u32) -> Self {
        Self { limit: (limit > 0).then_some(limit), mode: ThrottleMode::Batch }
    }

    /// Returns a throttle with a sliding limit of `limit` messages; 0 means no limit.
    pub fn sliding(limit: u32) -> Self {
        Self { limit: (limit > 0).then_some(limit), mode: ThrottleMode::Sliding }
    }
}

impl std::fmt::Display for Throttle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.limit, self.mode) {
            (None, _) => write!(f, "none"),
            (Some(limit), ThrottleMode::Batch) => write!(f, "batch of {limit}"),
            (Some(limit), ThrottleMode::Sliding) => write!(f, "window of {limit}"),
        }
    }
}

/// Builds a schedule operation by operation. Each call returns the operation's id, for later dependencies; O(dependencies).
#[derive(Debug, Default)]
pub struct Builder {
    schedule: Schedule,
    stage: u8,
}

impl Builder {
    /// Sets the stage of the messages added from here on (see [`Op::stage`]).
    pub fn stage(&mut self, stage: u8) {
        self.stage = stage;
    }

    /// Returns the id that the next operation will get. Two such ids are the bounds of a part of the schedule.
    pub fn next_id(&self) -> OpId {
        self.schedule.ops.len() as OpId
    }

    /// Adds an operation that starts when all operations `after` are finished.
    pub fn op(&mut self, action: Action, span: Span, after: &[OpId]) -> OpId {
        let from = self.schedule.after.len() as u32;
        self.schedule.after.extend_from_slice(after);
        let after = (from, self.schedule.after.len() as u32);
        self.schedule.ops.push(Op { action, span, stage: self.stage, sliding_limit: None, after });
        self.schedule.ops.len() as OpId - 1
    }

    /// Adds a send of the bytes `span` to rank `to`.
    pub fn send(&mut self, to: Rank, mode: SendMode, span: Span, after: &[OpId]) -> OpId {
        self.op(Action::Send { to, mode }, span, after)
    }

    /// Adds a receive from rank `from` into the range `span`.
    pub fn receive(&mut self, from: Rank, span: Span, after: &[OpId]) -> OpId {
        self.op(Action::Receive { from }, span, after)
    }

    /// Adds a copy of the bytes of `from` to the range `span`.
    pub fn copy(&mut self, from: Span, span: Span, after: &[OpId]) -> OpId {
        self.op(Action::Copy { from }, span, after)
    }

    /// Adds an operation that does nothing and is finished when all operations `after` are.
    pub fn join(&mut self, after: &[OpId]) -> OpId {
        self.op(Action::Join, Span::new(Buffer::Send, 0, 0), after)
    }

    /// Adds the operations of `chain` in order under `throttle`. No operation starts before all operations `after`
    /// are finished. Returns the ids of the chain's operations.
    ///
    /// A chain is one rank's sends, or one rank's receives. **Why any mixture of throttles is free of deadlock**: all ranks
    /// order their chains by one key of the pair (sender, receiver). Take the incomplete message with the smallest key:
    /// neither side has an incomplete message before it, so both sides have started it.
    pub fn chain(&mut self, chain: &[(Action, Span)], throttle: Throttle, after: &[OpId]) -> Vec<OpId> {
        match (throttle.limit, throttle.mode) {
            (Some(limit), ThrottleMode::Batch) if chain.len() > limit as usize => {
                self.batches(chain, limit as usize, after)
            }
            (Some(limit), ThrottleMode::Sliding) if chain.len() > limit as usize => {
                let sliding_limit = self.schedule.sliding_limits.len() as u16;
                self.schedule.sliding_limits.push(limit);
                let ids: Vec<OpId> = chain.iter().map(|(action, span)| self.op(*action, *span, after)).collect();
                ids.iter().for_each(|&id| self.schedule.ops[id as usize].sliding_limit = Some(sliding_limit));
                ids
            }
            _ => chain.iter().map(|(action, span)| self.op(*action, *span, after)).collect(),
        }
    }

    fn batches(&mut self, chain: &[(Action, Span)], limit: usize, after: &[OpId]) -> Vec<OpId> {
        let mut all = Vec::with_capacity(chain.len());
        let mut before = after.to_vec();
        for batch in chain.chunks(limit) {
            let from = all.len();
            all.extend(batch.iter().map(|(action, span)| self.op(*action, *span, &before)));
            before = vec![self.join(&all[from..])];
        }
        all
    }

    /// Returns the finished schedule.
    pub fn finish(self) -> Schedule {
        self.schedule
    }
}
