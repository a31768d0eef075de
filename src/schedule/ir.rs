//! Defines schedules as data: one rank's operations and their dependencies.

use crate::topology::Rank;

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
    /// Combines the numbers in `from` with those in the operation's range, which gets the result.
    Reduce {
        /// Range of the other operand.
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
    pub(super) after: (u32, u32),
}

/// One rank's operations, complete and immutable. Each operation follows its dependencies in the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    pub(super) ops: Vec<Op>,
    pub(super) after: Vec<OpId>,
    pub(super) sliding_limits: Vec<u32>,
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
