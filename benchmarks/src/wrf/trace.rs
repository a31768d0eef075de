//! Holds a trace in memory: the number of bytes that each rank sends to each other, round by round.

use std::path::Path;
use std::sync::Arc;

use tributary::Rank;
use tributary::engine::FanIn;

use crate::e3sm::decomposition::share;
use crate::error::PatternError;

use super::parse;

/// All bytes of a round between a rank and one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerBytes {
    /// The other rank.
    pub peer: Rank,
    /// Number of bytes.
    pub bytes: u64,
}

/// The transfers of one direction (sends or receives), of each rank in each round, by ascending peer.
#[derive(Debug, Default)]
pub(super) struct TransferTable {
    /// Index of the first transfer of each (rank, round), rank by rank; one more entry at the end.
    starts: Vec<usize>,
    all: Vec<PeerBytes>,
}

impl TransferTable {
    /// Appends the transfers of a rank's next round, or of the next rank's first round.
    pub fn push(&mut self, transfers: impl IntoIterator<Item = PeerBytes>) {
        self.starts.push(self.all.len());
        self.all.extend(transfers);
    }

    fn transfers(&self, place: usize) -> &[PeerBytes] {
        let end = self.starts.get(place + 1).copied().unwrap_or(self.all.len());
        self.starts.get(place).map_or(&[], |&start| &self.all[start..end])
    }
}

/// A trace whose sends and receives agree. Takes 32 bytes of memory a message.
#[derive(Debug)]
pub struct Trace {
    name: String,
    ranks: usize,
    rounds: usize,
    sends: TransferTable,
    receives: TransferTable,
    receivers: Vec<Arc<[Rank]>>,
    bytes: u64,
}

impl Trace {
    /// Reads a trace, compressed or not, and checks it. O(messages).
    ///
    /// # Errors
    /// The file is missing or truncated, a number is out of range, or a send has no receive of the same size. The
    /// message is one line that says which and where.
    pub fn open(path: &Path) -> Result<Self, PatternError> {
        parse::open(path)
    }

    /// Reads a trace from the bytes of a file. Errors call the trace `name`.
    ///
    /// # Errors
    /// The errors of [`Trace::open`].
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, PatternError> {
        parse::bytes(name, bytes)
    }

    /// Creates a trace from both directions, if they agree.
    pub(super) fn new(
        name: String,
        ranks: usize,
        rounds: usize,
        sends: TransferTable,
        receives: TransferTable,
    ) -> Result<Self, PatternError> {
        let bytes = sends.all.iter().try_fold(0u64, |sum, transfer| sum.checked_add(transfer.bytes));
        let Some(bytes) = bytes else {
            return Err(PatternError::input(name, "all rounds", "hold more than 2^64 - 1 bytes"));
        };
        let mut trace = Self { name, ranks, rounds, sends, receives, receivers: Vec::new(), bytes };
        for round in 0..rounds {
            trace.check(round)?;
            let receivers = (0..ranks).filter(|&rank| !trace.receives(round, rank).is_empty());
            let receivers = receivers.collect();
            trace.receivers.push(receivers);
        }
        Ok(trace)
    }

    /// Checks that every receive of a round has a send of the same size, and that no send is left over.
    fn check(&self, round: usize) -> Result<(), PatternError> {
        let wrong = |problem: String| PatternError::input(&self.name, format!("round {round}"), problem);
        // Receivers come in ascending order, and so do the peers of every sender.
        let mut next = vec![0usize; self.ranks];
        for to in 0..self.ranks {
            for receive in self.receives(round, to) {
                let (from, expected) = (receive.peer, receive.bytes);
                let send = self.sends(round, from).get(next[from]).filter(|send| send.peer <= to);
                match send {
                    Some(send) if send.peer == to && send.bytes == expected => next[from] += 1,
                    Some(send) if send.peer == to => {
                        let problem = format!("rank {from} sends {} bytes to rank {to}, which expects", send.bytes);
                        return Err(wrong(format!("{problem} {expected}")));
                    }
                    Some(send) => return Err(wrong(unexpected(from, send))),
                    None => {
                        let problem = format!("rank {to} expects {expected} bytes from rank {from}, which sends none");
                        return Err(wrong(problem));
                    }
                }
            }
        }
        match (0..self.ranks).find_map(|from| Some((from, self.sends(round, from).get(next[from])?))) {
            Some((from, send)) => Err(wrong(unexpected(from, send))),
            None => Ok(()),
        }
    }

    /// Returns the name that errors call the trace.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Returns the number of rounds.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Returns the number of messages of all rounds, including messages of a rank to itself.
    pub fn messages(&self) -> u64 {
        self.sends.all.len() as u64
    }

    /// Returns the number of bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of bytes of the largest message.
    pub fn largest(&self) -> u64 {
        self.sends.all.iter().map(|transfer| transfer.bytes).max().unwrap_or(0)
    }

    /// Returns the messages that `rank` sends in `round`, by ascending receiver; none if there is no such rank or
    /// round.
    pub fn sends(&self, round: usize, rank: Rank) -> &[PeerBytes] {
        self.place(round, rank).map_or(&[], |place| self.sends.transfers(place))
    }

    /// Returns the messages that `rank` receives in `round`, by ascending sender; none if there is no such rank or
    /// round.
    pub fn receives(&self, round: usize, rank: Rank) -> &[PeerBytes] {
        self.place(round, rank).map_or(&[], |place| self.receives.transfers(place))
    }

    /// Returns the ranks that receive in `round`, ascending.
    pub fn receivers(&self, round: usize) -> Arc<[Rank]> {
        self.receivers.get(round).cloned().unwrap_or_default()
    }

    /// Returns the number of ranks from which a receiver receives in a round, over all receivers and rounds.
    pub fn fan_in(&self) -> FanIn {
        let received = (0..self.rounds).flat_map(|round| (0..self.ranks).map(move |rank| (round, rank)));
        FanIn::of(
            received.map(|(round, rank)| (self.receives(round, rank).len() as u32, 1)).filter(|count| count.0 > 0),
        )
    }

    /// Folds the trace onto `ranks` ranks: rank i takes consecutive ranks of the trace (the first `P % ranks` one
    /// more), and all bytes between a pair in a round become one message; ranks beyond the trace's number have none.
    /// O(messages).
    ///
    /// # Errors
    /// `ranks` is 0.
    pub fn folded(&self, ranks: usize) -> Result<Self, PatternError> {
        if ranks == 0 {
            return Err(PatternError::argument("ranks", 0, "1 or more"));
        }
        let mut owner = vec![0; self.ranks];
        for rank in 0..ranks {
            owner[share(self.ranks, rank, ranks)].fill(rank);
        }
        let name = format!("{} folded onto {ranks} ranks", self.name);
        let fold = |of: fn(&Self, usize, Rank) -> &[PeerBytes]| {
            let mut table = TransferTable::default();
            for rank in 0..ranks {
                for round in 0..self.rounds {
                    let members = share(self.ranks, rank, ranks).flat_map(|member| of(self, round, member));
                    table.push(summed(members.map(|t| PeerBytes { peer: owner[t.peer], ..*t }).collect()));
                }
            }
            table
        };
        Self::new(name, ranks, self.rounds, fold(Self::sends), fold(Self::receives))
    }

    fn place(&self, round: usize, rank: Rank) -> Option<usize> {
        (round < self.rounds && rank < self.ranks).then(|| rank * self.rounds + round)
    }
}

/// Adds up the transfers of each peer; returns one transfer for each, ascending. The sums fit, because the trace's
/// sum does.
fn summed(mut all: Vec<PeerBytes>) -> Vec<PeerBytes> {
    all.sort_unstable();
    all.dedup_by(|next, last| {
        let same = next.peer == last.peer;
        if same {
            last.bytes += next.bytes;
        }
        same
    });
    all
}

fn unexpected(from: Rank, send: &PeerBytes) -> String {
    format!("rank {from} sends {} bytes to rank {}, which expects none", send.bytes, send.peer)
}
