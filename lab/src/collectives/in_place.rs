//! Algorithms that work on one message in place, among any ranks: broadcast, reduce, allreduce.
//!
//! A [`Part`] is the library's: a collective among the members of a group, as a step of a larger one.

use crate::collectives::Group;
use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
pub use crate::collectives::part::{Part, WordOps, joined, or_before, segments};
use tributary::schedule::{Buffer, Builder, OpId, Schedule};

/// Buffer for the partial result of a reduction on ranks that do not keep the result.
const FORWARDED: Buffer = Buffer::Stage(0);

/// Function that adds this rank's operations of a collective, which start after the given ones. Returns the operations
/// that must finish before the next step.
pub type Append = fn(&Part<'_>, &mut Builder, &[OpId]) -> Vec<OpId>;

/// Function that returns the time in seconds by the model, for a number of ranks, bytes of the message, and segments.
pub type TimeModel = fn(&Rates, f64, f64, f64) -> f64;

/// Algorithm that works on one message in place.
#[derive(Debug)]
pub struct InPlace {
    /// Row of the algorithm in the registry.
    pub algorithm: Algorithm,
    /// Function that adds the operations among the members of a group.
    pub append: Append,
    /// Function that returns the time by the model of the source.
    pub time: TimeModel,
}

impl InPlace {
    /// Returns one rank's schedule among all ranks: a copy from [`Buffer::Send`], then the algorithm.
    pub fn schedule(&self, problem: &Problem<'_>) -> Schedule {
        schedule(self.algorithm.operation, problem, self.append)
    }
}

/// Defines a static algorithm in place, with its row in the registry.
macro_rules! in_place {
    ($operation:ident {
        name: $name:expr, about: $about:expr, source: $source:expr, cost: $cost:expr, append: $append:expr, time: $time:expr,
    }) => {{
        const ROW: InPlace = InPlace {
            algorithm: $crate::collectives::Algorithm {
                operation: $crate::collectives::Operation::$operation,
                name: $name,
                about: $about,
                source: $source,
                cost: $cost,
                irregular: false,
                schedule: |problem| ROW.schedule(problem),
            },
            append: $append,
            time: $time,
        };
        ROW
    }};
}
pub(in crate::collectives) use in_place;

/// Returns one rank's schedule among all ranks, with the operations that `append` adds.
pub fn schedule(
    operation: Operation,
    problem: &Problem<'_>,
    append: impl Fn(&Part<'_>, &mut Builder, &[OpId]) -> Vec<OpId>,
) -> Schedule {
    let is_root = problem.rank == problem.root;
    let keeps = operation != Operation::Reduce || is_root;
    let gives = operation != Operation::Broadcast || is_root;
    let part = Part {
        group: Group::world(problem.rank, problem.ranks()),
        root: problem.root,
        message: problem.message(if keeps { Buffer::Receive } else { FORWARDED }),
        words: WordOps::All(problem.with),
        segment: problem.segment,
    };
    let mut builder = Builder::default();
    let mut before = Vec::new();
    if gives && part.message.len > 0 {
        before.push(builder.copy(problem.message(Buffer::Send), part.message, &[]));
    }
    append(&part, &mut builder, &before);
    builder.finish()
}

/// Keeps the messages between two ranks in order when each message waits for its own receive or combination. A fabric
/// may finish receives in any order; without this, messages could then start in another order and match the wrong
/// receives.
pub struct InOrder(Vec<OpId>, bool);

impl InOrder {
    /// Creates an order in which the first message waits for `before`.
    pub fn new(before: &[OpId]) -> Self {
        Self(before.to_vec(), false)
    }

    /// Returns the operations that the next message waits for: `new`, and the operations that the last message waited
    /// for.
    pub fn after(&mut self, builder: &mut Builder, new: Option<OpId>) -> &[OpId] {
        if let Some(new) = new {
            self.0 = if self.1 { vec![builder.join(&[self.0[0], new])] } else { vec![new] };
            self.1 = true;
        }
        &self.0
    }

    /// Returns the operations that the last message waits for.
    pub fn last(self) -> Vec<OpId> {
        self.0
    }
}

/// Adds a broadcast after which the message may be overwritten: the returned operations include its sends.
pub fn finished_broadcast(broadcast: &InPlace, part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let first = builder.next_id();
    let here = (broadcast.append)(part, builder, before);
    here.into_iter().filter(|&id| id < first).chain(first..builder.next_id()).collect()
}
