//! Builds a schedule: adds operations in order, and chains messages under a throttle.

use serde::{Deserialize, Serialize};

use super::ir::{Action, Buffer, Op, OpId, Schedule, SendMode, Span};
use crate::topology::Rank;

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

    /// Returns the id that the next operation will get. Two such ids mark the begin and the end of a part of the
    /// schedule.
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
