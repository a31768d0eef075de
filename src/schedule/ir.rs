//! The intermediate representation: one rank's operations and what must finish before what.

use crate::topology::Rank;

/// Index of an operation in its schedule.
pub type OpId = u32;

/// A named buffer of the rank that runs the schedule. What memory stands behind a name is the executor's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Buffer {
    /// What this rank gives.
    Send,
    /// What this rank gets.
    Receive,
    /// What passes through: a local aggregator's incoming (0) and outgoing (1) sides, a reduction's partner, ...
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
    /// When the bytes may be reused (MPI_Isend): the library may buffer, so a fast sender can run ahead.
    Standard,
    /// When the receiver has matched it (MPI_Issend): a sender never runs a round ahead of its receiver.
    Synchronous,
}

/// How a reduction combines, over unsigned 64-bit little-endian integers.
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
        /// To whom.
        to: Rank,
        /// When it is finished.
        mode: SendMode,
    },
    /// Receives into the operation's span.
    Receive {
        /// From whom.
        from: Rank,
    },
    /// Copies `from` to the operation's span. The executor may transform on the way (a local aggregator merges).
    Copy {
        /// The source.
        from: Span,
    },
    /// Combines `from` into the operation's span.
    Reduce {
        /// The other operand.
        from: Span,
        /// How.
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
    /// The bytes it does it to.
    pub span: Span,
    /// Messages match by (sender, receiver, stage) in the order they are started: two legs of one schedule between the
    /// same ranks (member to local aggregator, local aggregator to aggregator) carry different stages.
    pub stage: u8,
    /// The window this operation is a member of, if any.
    pub window: Option<u16>,
    /// Where this operation's dependencies begin and end in [`Schedule::dependencies`].
    pub(super) after: (u32, u32),
}

/// One rank's operations, complete and immutable. Operations appear in an order in which each follows its dependencies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    pub(super) ops: Vec<Op>,
    pub(super) after: Vec<OpId>,
    pub(super) windows: Vec<u32>,
}

impl Schedule {
    /// All operations.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// What must have finished before operation `op` starts.
    pub fn dependencies(&self, op: OpId) -> &[OpId] {
        let (from, to) = self.ops[op as usize].after;
        &self.after[from as usize..to as usize]
    }

    /// The limit of every sliding window: at most so many of its members are in flight; the next member, in order,
    /// starts as any one finishes.
    pub fn windows(&self) -> &[u32] {
        &self.windows
    }

    /// Number of messages this rank sends.
    pub fn sends(&self) -> usize {
        self.ops.iter().filter(|op| matches!(op.action, Action::Send { .. })).count()
    }

    /// The schedule as text, a line an operation: for golden tests and for people.
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
            let window = op.window.map_or(String::new(), |w| format!(" window {w}/{}", self.windows[w as usize]));
            let after = self.dependencies(id as OpId);
            let after = if after.is_empty() { String::new() } else { format!(" after {after:?}") };
            text += &format!("{id}: {what}{window}{after}\n");
        }
        text
    }
}
