//! The intermediate representation: one rank's operations and their dependencies.

use crate::topology::Rank;

/// Index of an operation in its schedule.
pub type OpId = u32;

/// A named buffer of the rank that runs the schedule. The executor decides which memory a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Buffer {
    /// The bytes that this rank contributes.
    Send,
    /// The bytes that are for this rank.
    Receive,
    /// A staging buffer by its number: what a local aggregator received (0) or sends on (1), a reduction's operand, ...
    Stage(u8),
}

/// `len` bytes at `offset` of a named buffer. For a receive, `len` is the most that may arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The buffer.
    pub buffer: Buffer,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Span {
    /// `len` bytes at `offset` of `buffer`.
    pub fn new(buffer: Buffer, offset: u64, len: u64) -> Self {
        Self { buffer, offset, len }
    }
}

/// When a send counts as finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SendMode {
    /// When the buffer may be reused (MPI_Isend). MPI may buffer the message, so a fast sender can run ahead.
    Standard,
    /// When the receiver has matched the message (MPI_Issend). A sender never runs a round ahead of its receiver.
    Synchronous,
}

/// The operation of a reduction over unsigned 64-bit little-endian integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// Wrapping sum.
    Sum,
    /// The smaller.
    Min,
    /// The larger.
    Max,
}

impl ReduceOp {
    /// Combines two values.
    pub fn apply(self, a: u64, b: u64) -> u64 {
        match self {
            Self::Sum => a.wrapping_add(b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Sends the operation's span.
    Send {
        /// The receiver.
        to: Rank,
        /// When the send counts as finished.
        mode: SendMode,
    },
    /// Receives into the operation's span.
    Receive {
        /// The sender.
        from: Rank,
    },
    /// Copies `from` to the operation's span. The executor may transform the bytes (a local aggregator merges them).
    Copy {
        /// The source.
        from: Span,
    },
    /// Combines `from` into the operation's span.
    Reduce {
        /// The other operand.
        from: Span,
        /// The operation of the reduction.
        with: ReduceOp,
    },
    /// Does nothing; stands for "all of these are finished" in dependencies.
    Join,
}

/// One operation of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub action: Action,
    /// The bytes that the action sends, receives or writes.
    pub span: Span,
    /// Messages match by (sender, receiver, stage), in the order in which they are started. Two phases of one schedule
    /// between the same ranks (member to local aggregator, local aggregator to aggregator) have different stages.
    pub stage: u8,
    /// The sliding limit that the operation counts towards: an index into [`Schedule::sliding_limits`].
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

    /// Returns the sliding limits: at most so many of the operations that name one are in flight. The next of them,
    /// in order, starts when any one finishes.
    pub fn sliding_limits(&self) -> &[u32] {
        &self.sliding_limits
    }

    /// Returns the number of messages this rank sends.
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
