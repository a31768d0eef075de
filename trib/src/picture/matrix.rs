//! One round of an exchange as a matrix of bytes: a row for each rank that receives, a column for each rank. Where there
//! are more than [`LINES`] of either, neighbours share a line.

use std::ops::Range;

use tributary_benchmarks::e3sm::decomposition::share;
use tributary_benchmarks::wrf::Trace;

use crate::Failure;

/// Most rows, and most columns.
const LINES: usize = 64;

/// A row: one receiver or several.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// First and last of its receivers.
    pub receivers: (usize, usize),
    /// From how many ranks one of them receives: the most.
    pub fan_in: usize,
    /// Bytes from each column's senders to all its receivers.
    pub bytes: Vec<u64>,
}

/// One round.
#[derive(Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Which.
    pub round: usize,
    /// The senders of each column.
    pub columns: Vec<Range<usize>>,
    /// The rows, by ascending receiver.
    pub rows: Vec<Row>,
    /// Messages, of ranks to themselves too.
    pub messages: u64,
}

impl Matrix {
    /// A round, or the first with messages. O(ranks + messages of the round) once the round is known.
    ///
    /// # Errors
    /// A round that is not there or has no messages.
    pub fn of(trace: &Trace, round: Option<usize>) -> Result<Self, Failure> {
        let rounds = trace.rounds();
        let first = || (0..rounds).find(|&round| !trace.receivers(round).is_empty());
        let Some(round) = round.or_else(first) else {
            return Err(Failure::new(format!("picture: {} has no messages; allowed: 1 or more", trace.name())));
        };
        if round >= rounds {
            return Err(Failure::new(format!("--round: {round}; allowed: 0 to {}", rounds - 1)));
        }
        let receivers = trace.receivers(round);
        if receivers.is_empty() {
            return Err(Failure::new(format!("--round: {round} has no messages; allowed: a round with messages")));
        }
        let columns: Vec<_> = lines(trace.ranks()).collect();
        let mut column_of = vec![0; trace.ranks()];
        for (column, senders) in columns.iter().enumerate() {
            column_of[senders.clone()].fill(column);
        }
        let (mut rows, mut messages) = (Vec::new(), 0);
        for line in lines(receivers.len()) {
            let line = &receivers[line];
            let mut row = Row { receivers: (line[0], line[line.len() - 1]), fan_in: 0, bytes: vec![0; columns.len()] };
            for &receiver in line {
                let received = trace.receives(round, receiver);
                row.fan_in = row.fan_in.max(received.len());
                messages += received.len() as u64;
                for transfer in received {
                    row.bytes[column_of[transfer.peer]] += transfer.bytes;
                }
            }
            rows.push(row);
        }
        Ok(Self { round, columns, rows, messages })
    }

    /// Bytes of the whole round.
    pub fn bytes(&self) -> u64 {
        self.rows.iter().flat_map(|row| &row.bytes).sum()
    }

    /// Bytes of the largest cell; not 0.
    pub fn largest(&self) -> u64 {
        self.rows.iter().flat_map(|row| &row.bytes).max().copied().unwrap_or(0).max(1)
    }
}

/// `count` things in at most [`LINES`] lines, as equal as can be.
fn lines(count: usize) -> impl Iterator<Item = Range<usize>> {
    let lines = count.min(LINES);
    (0..lines).map(move |line| share(count, line, lines))
}
