//! A trace in memory: who sends how many bytes to whom, round by round.

use std::path::Path;
use std::sync::Arc;

use tributary::Rank;
use tributary::engine::FanIn;

use crate::e3sm::decomposition::share;
use crate::error::PatternError;

use super::parse;

/// All bytes of a round between a rank and one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transfer {
    /// The other rank.
    pub peer: Rank,
    /// Bytes.
    pub bytes: u64,
}

/// One direction: the transfers of each rank in each round, by ascending peer.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Where the transfers of (rank, round) begin, rank by rank; one more at the end.
    starts: Vec<usize>,
    all: Vec<Transfer>,
}

impl Table {
    /// Appends the transfers of the next round, or of the next rank's first.
    pub fn push(&mut self, transfers: impl IntoIterator<Item = Transfer>) {
        self.starts.push(self.all.len());
        self.all.extend(transfers);
    }

    fn of(&self, place: usize) -> &[Transfer] {
        let end = self.starts.get(place + 1).copied().unwrap_or(self.all.len());
        self.starts.get(place).map_or(&[], |&start| &self.all[start..end])
    }
}

/// A trace whose sends and receives agree. Memory: 32 bytes a message.
#[derive(Debug)]
pub struct Trace {
    name: String,
    ranks: usize,
    rounds: usize,
    sends: Table,
    receives: Table,
    receivers: Vec<Arc<[Rank]>>,
    bytes: u64,
}

impl Trace {
    /// Reads a trace, compressed or not, and checks it. O(messages).
    ///
    /// # Errors
    /// A file that is missing or truncated, numbers out of range, a send that no receive of the same size meets: one line
    /// that says which and where.
    pub fn open(path: &Path) -> Result<Self, PatternError> {
        parse::open(path)
    }

    /// Returns the same for the bytes of a file; `name` is what errors call it.
    ///
    /// # Errors
    /// The errors of [`Trace::open`].
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, PatternError> {
        parse::bytes(name, bytes)
    }

    /// Puts both directions together, if they agree.
    pub(super) fn new(
        name: String,
        ranks: usize,
        rounds: usize,
        sends: Table,
        receives: Table,
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

    /// Every receive of a round meets the send of its size, and no send is left over.
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

    /// What errors call the trace.
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

    /// Messages of all rounds; those of a rank to itself too.
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

    /// What `rank` sends in `round`, by ascending peer; nothing for a rank or round that is not there.
    pub fn sends(&self, round: usize, rank: Rank) -> &[Transfer] {
        self.place(round, rank).map_or(&[], |place| self.sends.of(place))
    }

    /// What `rank` receives in `round`, likewise.
    pub fn receives(&self, round: usize, rank: Rank) -> &[Transfer] {
        self.place(round, rank).map_or(&[], |place| self.receives.of(place))
    }

    /// Returns the ranks that receive in `round`, ascending.
    pub fn receivers(&self, round: usize) -> Arc<[Rank]> {
        self.receivers.get(round).cloned().unwrap_or_default()
    }

    /// From how many ranks a receiver receives in a round, over all receivers and rounds.
    pub fn fan_in(&self) -> FanIn {
        let received = (0..self.rounds).flat_map(|round| (0..self.ranks).map(move |rank| (round, rank)));
        FanIn::of(
            received.map(|(round, rank)| (self.receives(round, rank).len() as u32, 1)).filter(|count| count.0 > 0),
        )
    }

    /// Returns the trace on `ranks` ranks: rank i takes consecutive ranks of the trace (the first `P % ranks` one
    /// more), and what a pair exchanges in a round becomes one message; ranks beyond the trace's have none.
    /// O(messages).
    ///
    /// # Errors
    /// No ranks.
    pub fn folded(&self, ranks: usize) -> Result<Self, PatternError> {
        if ranks == 0 {
            return Err(PatternError::argument("ranks", 0, "1 or more"));
        }
        let mut owner = vec![0; self.ranks];
        for rank in 0..ranks {
            owner[share(self.ranks, rank, ranks)].fill(rank);
        }
        let name = format!("{} folded onto {ranks} ranks", self.name);
        let fold = |of: fn(&Self, usize, Rank) -> &[Transfer]| {
            let mut table = Table::default();
            for rank in 0..ranks {
                for round in 0..self.rounds {
                    let members = share(self.ranks, rank, ranks).flat_map(|member| of(self, round, member));
                    table.push(summed(members.map(|t| Transfer { peer: owner[t.peer], ..*t }).collect()));
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

/// One transfer for each peer, ascending. Their sum fits: the trace's does.
fn summed(mut all: Vec<Transfer>) -> Vec<Transfer> {
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

fn unexpected(from: Rank, send: &Transfer) -> String {
    format!("rank {from} sends {} bytes to rank {}, which expects none", send.bytes, send.peer)
}
