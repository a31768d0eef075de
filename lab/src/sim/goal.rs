//! Schedules in GOAL, the input of LogGOPSim (Hoefler, Schneider, Lumsdaine, LSAP/HPDC 2010), as text and binary.
//!
//! GOAL has sends, receives, calculations and dependencies. So a join is a calculation of no time; a copy is a
//! calculation of one nanosecond per byte; with a sliding limit of w, the k-th member depends on the (k - w)-th; a
//! rank's next part depends on the whole part before. GOAL has no synchronous sends: run their schedules with `-S 1`.
//! An empty message is written as one of 1 byte, because LogGOPSim subtracts 1.

use std::io::{Result as Written, Write};

use super::storage::Step;
use super::workload::{WorkPart, Workload};
use tributary::error::{Error, Result};
use tributary::schedule::{Action, OpId, Schedule};
use tributary::topology::Rank;

const MAGIC: u64 = 4223;
/// Number of bytes of an operation in the binary format.
const OPERATION: u64 = 39;

/// Type of an operation, by its number in the binary format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Send = 1,
    Receive = 2,
    Calculation = 3,
}

#[derive(Debug)]
struct GoalOperation {
    of: Type,
    peer: u32,
    /// Size in bytes of a message, or nanoseconds of a calculation.
    size: u64,
    tag: u32,
    /// Indices of the operations of this rank that must have finished before.
    requires: Vec<u32>,
}

/// GOAL program: the operations of every rank.
#[derive(Debug)]
pub struct Program(Vec<Vec<GoalOperation>>);

impl Program {
    /// Returns the operations of all parts of ranks 0 to `ranks` - 1. O(operations) memory.
    ///
    /// # Errors
    /// More ranks or operations than 32 bits count; a workload that writes to a file, which GOAL cannot express.
    pub fn of<W: Workload>(workload: &W, ranks: usize) -> Result<Self> {
        if u32::try_from(ranks).is_err() {
            return Err(Error::argument("ranks", ranks, format!("1 to {}", u32::MAX)));
        }
        let of_rank = |rank| {
            let mut operations = Vec::new();
            for number in 0.. {
                match workload.part(rank, number) {
                    Some(WorkPart::Schedule(schedule)) => append(&mut operations, &schedule),
                    Some(WorkPart::Chains(chains)) => append(&mut operations, &chains.schedule(workload, rank, number)),
                    Some(WorkPart::Step(Step::Compute(time))) => {
                        let requires = operations.len().checked_sub(1).map(|last| last as u32).into_iter().collect();
                        let (of, size) = (Type::Calculation, time / 1000);
                        operations.push(GoalOperation { of, peer: 0, size, tag: 0, requires });
                    }
                    Some(WorkPart::Step(Step::Write(..) | Step::Settle(_))) => {
                        return Err(Error::argument("GOAL", "a workload with a file", "messages and computing"));
                    }
                    None => break,
                }
            }
            if u32::try_from(operations.len()).is_err() {
                return Err(Error::argument("operations of a rank", operations.len(), format!("0 to {}", u32::MAX)));
            }
            Ok(operations)
        };
        (0..ranks).map(of_rank).collect::<Result<_>>().map(Self)
    }

    /// Writes the text form.
    ///
    /// # Errors
    /// An error of the writer.
    pub fn write_text(&self, out: &mut impl Write) -> Written<()> {
        writeln!(out, "num_ranks {}", self.0.len())?;
        for (rank, operations) in self.0.iter().enumerate() {
            writeln!(out, "rank {rank} {{")?;
            for (id, operation) in operations.iter().enumerate() {
                let GoalOperation { of, peer, size, tag, requires } = operation;
                match of {
                    Type::Send => writeln!(out, "l{id}: send {size}b to {peer} tag {tag}")?,
                    Type::Receive => writeln!(out, "l{id}: recv {size}b from {peer} tag {tag}")?,
                    Type::Calculation => writeln!(out, "l{id}: calc {size}")?,
                }
                for before in requires {
                    writeln!(out, "l{id} requires l{before}")?;
                }
            }
            writeln!(out, "}}")?;
        }
        out.flush()
    }

    /// Writes the binary form, which LogGOPSim reads: little endian, packed.
    ///
    /// # Errors
    /// An error of the writer.
    pub fn write_binary(&self, out: &mut impl Write) -> Written<()> {
        out.write_all(&MAGIC.to_le_bytes())?;
        out.write_all(&(self.0.len() as u32).to_le_bytes())?;
        // Processor and network interface are always number 0.
        out.write_all(&[0, 0])?;
        let mut at = 6 + 16 * self.0.len() as u64;
        for operations in &self.0 {
            let words = roots(operations).count() + operations.iter().map(|op| op.requires.len()).sum::<usize>();
            let end = at + 8 + 4 * words as u64 + OPERATION * operations.len() as u64;
            out.write_all(&at.to_le_bytes())?;
            out.write_all(&end.to_le_bytes())?;
            at = end;
        }
        self.0.iter().try_for_each(|operations| write_rank(out, operations))?;
        out.flush()
    }
}

/// Adds the operations of one part of a rank's workload, which depend on all operations before them.
fn append(operations: &mut Vec<GoalOperation>, schedule: &Schedule) {
    let first = operations.len() as u32;
    let calculation = |size, requires| GoalOperation { of: Type::Calculation, peer: 0, size, tag: 0, requires };
    let mut members: Vec<Vec<OpId>> = vec![Vec::new(); schedule.sliding_limits().len()];
    let mut waited_for = vec![false; schedule.ops().len()];
    for (id, op) in schedule.ops().iter().enumerate() {
        let mut before = schedule.dependencies(id as OpId).to_vec();
        if let Some(window) = op.sliding_limit {
            let (members, limit) = (&mut members[window as usize], schedule.sliding_limits()[window as usize] as usize);
            before.extend(members.len().checked_sub(limit).map(|earlier| members[earlier]));
            members.push(id as OpId);
        }
        before.iter().for_each(|&before| waited_for[before as usize] = true);
        let mut requires: Vec<u32> = before.into_iter().map(|before| first + before).collect();
        if requires.is_empty() && first > 0 {
            requires.push(first - 1);
        }
        let (size, tag) = (op.span.len.max(1), u32::from(op.stage));
        operations.push(match op.action {
            Action::Send { to, .. } => GoalOperation { of: Type::Send, peer: peer(to), size, tag, requires },
            Action::Receive { from } => GoalOperation { of: Type::Receive, peer: peer(from), size, tag, requires },
            Action::Copy { .. } | Action::Reduce { .. } => calculation(op.span.len, requires),
            Action::Join => calculation(0, requires),
        });
    }
    let ends = (0..waited_for.len()).filter(|&id| !waited_for[id]).map(|id| first + id as u32);
    let ends: Vec<u32> = ends.collect();
    operations.push(calculation(0, if ends.is_empty() && first > 0 { vec![first - 1] } else { ends }));
}

/// Returns a rank as a 32-bit number. [`Program::of`] has checked that it fits.
fn peer(rank: Rank) -> u32 {
    rank as u32
}

fn roots(operations: &[GoalOperation]) -> impl Iterator<Item = u32> {
    operations.iter().enumerate().filter(|(_, op)| op.requires.is_empty()).map(|(id, _)| id as u32)
}

fn write_rank(out: &mut impl Write, operations: &[GoalOperation]) -> Written<()> {
    out.write_all(&(operations.len() as u32).to_le_bytes())?;
    out.write_all(&(roots(operations).count() as u32).to_le_bytes())?;
    roots(operations).try_for_each(|id| out.write_all(&id.to_le_bytes()))?;
    let mut waiters: Vec<Vec<u32>> = vec![Vec::new(); operations.len()];
    for (id, operation) in operations.iter().enumerate() {
        operation.requires.iter().for_each(|&before| waiters[before as usize].push(id as u32));
    }
    let mut listed = 0u32;
    for (operation, waiters) in operations.iter().zip(&waiters) {
        out.write_all(&(operation.requires.len() as u32).to_le_bytes())?;
        out.write_all(&[operation.of as u8])?;
        out.write_all(&operation.peer.to_le_bytes())?;
        out.write_all(&operation.size.to_le_bytes())?;
        out.write_all(&operation.tag.to_le_bytes())?;
        out.write_all(&[0, 0])?;
        out.write_all(&(waiters.len() as u32).to_le_bytes())?;
        out.write_all(&listed.to_le_bytes())?;
        listed += waiters.len() as u32;
        // No operation depends on the start of another.
        out.write_all(&0u32.to_le_bytes())?;
        out.write_all(&listed.to_le_bytes())?;
    }
    waiters.iter().flatten().try_for_each(|id| out.write_all(&id.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Schedules;
    use tributary::schedule::{Buffer, Builder, SendMode, Span, Throttle};

    fn program() -> Program {
        let span = Span::new(Buffer::Send, 0, 8);
        let mut sender = Builder::default();
        let copied = sender.copy(span, span, &[]);
        let send = (Action::Send { to: 1, mode: SendMode::Standard }, span);
        sender.chain(&[send, send, send], Throttle::sliding(1), &[copied]);
        let mut receiver = Builder::default();
        let receive = (Action::Receive { from: 0 }, span);
        receiver.chain(&[receive, receive, receive], Throttle::batch(2), &[]);
        Program::of(&Schedules::new(vec![sender.finish(), receiver.finish()]), 2).unwrap()
    }

    #[test]
    fn text() {
        let mut text = Vec::new();
        program().write_text(&mut text).unwrap();
        let expected = "num_ranks 2\n\
            rank 0 {\nl0: calc 8\nl1: send 8b to 1 tag 0\nl1 requires l0\nl2: send 8b to 1 tag 0\nl2 requires l0\n\
            l2 requires l1\nl3: send 8b to 1 tag 0\nl3 requires l0\nl3 requires l2\nl4: calc 0\nl4 requires l3\n}\n\
            rank 1 {\nl0: recv 8b from 0 tag 0\nl1: recv 8b from 0 tag 0\nl2: calc 0\nl2 requires l0\nl2 requires l1\n\
            l3: recv 8b from 0 tag 0\nl3 requires l2\nl4: calc 0\nl4 requires l3\nl5: calc 0\nl5 requires l4\n}\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn binary() {
        let mut bytes = Vec::new();
        program().write_binary(&mut bytes).unwrap();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        assert_eq!((long(0), word(8), bytes[12], bytes[13]), (4223, 2, 0, 0));
        // Five operations, one root, six dependencies; six, two and five.
        let (first, second) = (8 + long(14), 8 + long(30));
        assert_eq!((first, long(22) + 8, second), (46, second, first + 8 + 4 + 5 * 39 + 6 * 4));
        assert_eq!(long(38) + 8, bytes.len());
        assert_eq!([word(first), word(first + 4), word(first + 8)], [5, 1, 0]);
        let copy = first + 12;
        assert_eq!((word(copy), bytes[copy + 4], long(copy + 9)), (0, 3, 8));
        assert_eq!((word(copy + 23), word(copy + 27)), (3, 0), "three operations wait for the copy");
        let send = copy + 39;
        assert_eq!((word(send), bytes[send + 4], word(send + 5), long(send + 9)), (1, 1, 1, 8));
        assert_eq!((word(send + 23), word(send + 27)), (1, 3));
        let waiters = first + 12 + 5 * 39;
        assert_eq!([0, 1, 2, 3, 4, 5].map(|at| word(waiters + 4 * at)), [1, 2, 3, 2, 3, 4]);
        assert_eq!([word(second), word(second + 4)], [6, 2]);
    }
}
