//! Collects one round of an exchange as a matrix of bytes: a row for each receiver, a column for each rank. If there
//! are more than [`LINES`] of either, neighbours share a line.

use std::ops::Range;

use tributary_benchmarks::e3sm::decomposition::share;
use tributary_benchmarks::wrf::Trace;

use trib::Failure;

/// Maximum number of rows, and of columns.
const LINES: usize = 64;

/// Row of the matrix: one receiver, or several neighbours.
#[derive(Debug, PartialEq, Eq)]
pub struct ReceiverRow {
    /// First and last receiver of the row.
    pub receivers: (usize, usize),
    /// Largest fan-in of any receiver of the row.
    pub fan_in: usize,
    /// Number of bytes from each column's senders to all receivers of the row.
    pub bytes: Vec<u64>,
}

/// Messages of one round.
#[derive(Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Number of the round.
    pub round: usize,
    /// Senders of each column.
    pub columns: Vec<Range<usize>>,
    /// Rows by ascending receiver.
    pub rows: Vec<ReceiverRow>,
    /// Number of messages, including messages of ranks to themselves.
    pub messages: u64,
}

impl Matrix {
    /// Returns the matrix of a round, or of the first round with messages. O(ranks + messages of the round) once the
    /// round is known.
    ///
    /// # Errors
    /// The round does not exist or has no messages.
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
            let mut row =
                ReceiverRow { receivers: (line[0], line[line.len() - 1]), fan_in: 0, bytes: vec![0; columns.len()] };
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

    /// Returns the number of bytes of the whole round.
    pub fn bytes(&self) -> u64 {
        self.rows.iter().flat_map(|row| &row.bytes).sum()
    }

    /// Returns the number of bytes of the largest cell; not 0.
    pub fn largest(&self) -> u64 {
        self.rows.iter().flat_map(|row| &row.bytes).max().copied().unwrap_or(0).max(1)
    }
}

/// Divides `count` ranks into at most [`LINES`] lines, as equally as possible.
fn lines(count: usize) -> impl Iterator<Item = Range<usize>> {
    let lines = count.min(LINES);
    (0..lines).map(move |line| share(count, line, lines))
}

#[cfg(test)]
mod tests {
    use tributary_benchmarks::wrf::Synthetic;

    use super::*;

    /// Compares the matrix with the transfers one by one: none is missing, and none is in a wrong line.
    #[test]
    fn a_line_holds_its_ranks_and_no_others() {
        let wide = Synthetic { points: [300, 90, 8], ranks: [50, 4], aggregators: 100, rounds: 2 };
        for (synthetic, columns, rows) in [(Synthetic::default(), 32, 4), (wide, 64, 64)] {
            let trace = synthetic.trace().unwrap();
            let matrix = Matrix::of(&trace, Some(1)).unwrap();
            assert_eq!((matrix.columns.len(), matrix.rows.len()), (columns, rows));
            let mut messages = 0;
            for row in &matrix.rows {
                let mut bytes = vec![0; columns];
                let of_row = |receiver: &usize| (row.receivers.0..=row.receivers.1).contains(receiver);
                let mut fan_ins = Vec::new();
                for receiver in (0..trace.ranks()).filter(of_row) {
                    let received = trace.receives(1, receiver);
                    fan_ins.push(received.len());
                    for transfer in received {
                        let column = matrix.columns.iter().position(|senders| senders.contains(&transfer.peer));
                        bytes[column.unwrap()] += transfer.bytes;
                    }
                }
                assert_eq!(row.bytes, bytes);
                assert_eq!(row.fan_in, *fan_ins.iter().max().unwrap());
                messages += fan_ins.iter().sum::<usize>() as u64;
            }
            assert_eq!(matrix.messages, messages);
            let sent: u64 = (0..trace.ranks()).flat_map(|rank| trace.sends(1, rank)).map(|send| send.bytes).sum();
            assert_eq!(matrix.bytes(), sent);
        }
    }
}
