//! The buffers of a replay's schedules: only slices of the payload if every sender sends to every receiver itself;
//! real memory if a local aggregator merges messages.
//!
//! Wrong contents are counted and not returned as errors: the other ranks must be able to go on to the end, where all
//! ranks agree.

use std::collections::BTreeMap;

use bytes::Bytes;
use tributary::Rank;
use tributary::error::{Error, Result};
use tributary::exchange::two_layer::{GATHERED, MERGED};
use tributary::fabric::{Memory, Message};
use tributary::schedule::{Buffer, Span};

use super::payload::Payload;
use super::trace::PeerBytes;

/// Size of a message's range of addresses: every message has a range of its own in the send and receive buffers.
const SLOT: u64 = 1 << 40;

/// Returns the first address of the range of message `index`.
pub(super) fn slot(index: usize) -> u64 {
    index as u64 * SLOT
}

/// Counts of the messages that one rank has sent and checked so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub sent: u64,
    pub received: u64,
    pub messages: u64,
    /// Description of the first message that had wrong contents.
    pub problem: Option<String>,
}

/// The messages of one rank in one round.
pub(super) struct RankRound<'a> {
    pub number: usize,
    pub rank: Rank,
    pub payload: &'a Payload,
    pub tally: &'a mut Tally,
    /// Messages that this rank sends, by ascending receiver.
    pub sends: &'a [PeerBytes],
    /// Messages that this rank receives, each with its senders in order: one sender, unless a local aggregator has
    /// merged.
    pub receives: &'a [Vec<PeerBytes>],
    /// Bytes that members have sent to this local aggregator, by address.
    pub gathered: BTreeMap<u64, Bytes>,
    /// Bytes that this local aggregator sends on; `sealed` has them when they are complete.
    pub merged: Vec<u8>,
    pub sealed: Bytes,
}

impl RankRound<'_> {
    /// Returns all messages that this rank sends, one after the other, as a member sends them to its local
    /// aggregator.
    fn all_sends(&self) -> Bytes {
        let part = |send: &PeerBytes| self.payload.message(self.number, self.rank, send.peer, send.bytes);
        self.sends.iter().map(part).collect::<Vec<_>>().concat().into()
    }

    /// Returns one of the messages within [`Round::all_sends`].
    fn own(&self, span: Span) -> Result<Bytes> {
        let mut before = 0;
        let send = self.sends.iter().find(|send| {
            before += send.bytes;
            before > span.offset
        });
        let send = send.filter(|send| send.bytes == span.len && before == span.offset + span.len);
        let send = send.ok_or_else(|| no_such(span))?;
        Ok(self.payload.message(self.number, self.rank, send.peer, send.bytes))
    }

    /// Checks message number `index` that has arrived, and counts it.
    fn check(&mut self, index: usize, message: &[u8]) {
        let mut rest = message;
        for part in &self.receives[index] {
            let (front, behind) = rest.split_at((part.bytes as usize).min(rest.len()));
            if self.payload.is_message(front, self.number, part.peer, self.rank, part.bytes) {
                self.tally.received += part.bytes;
                self.tally.messages += 1;
            } else {
                let (round, from, to) = (self.number, part.peer, self.rank);
                let problem = format!("round {round}: what rank {to} got from rank {from} is not what was sent");
                self.tally.problem.get_or_insert(problem);
            }
            rest = behind;
        }
        if !rest.is_empty() {
            let problem = format!("round {}: rank {} got {} bytes too many", self.number, self.rank, rest.len());
            self.tally.problem.get_or_insert(problem);
        }
    }

    /// Returns the bytes of a range that a merge reads or has made.
    fn bytes(&mut self, span: Span) -> Result<Bytes> {
        let (from, len) = (span.offset as usize, span.len as usize);
        if span.buffer == GATHERED {
            let place = self.gathered.range(..=span.offset).next_back();
            let found = place.map(|(start, bytes)| (bytes, (span.offset - start) as usize));
            let found = found.filter(|(bytes, skip)| skip + len <= bytes.len());
            return found.map(|(bytes, skip)| bytes.slice(skip..skip + len)).ok_or_else(|| no_such(span));
        }
        if !self.merged.is_empty() {
            self.sealed = std::mem::take(&mut self.merged).into();
        }
        (from + len <= self.sealed.len()).then(|| self.sealed.slice(from..from + len)).ok_or_else(|| no_such(span))
    }
}

fn no_such(span: Span) -> Error {
    Error::fabric(format!("a replay has no bytes at {span:?}"))
}

/// The memory of a replay in which every sender sends to every receiver itself: the ranges are [`slot`]s.
pub(super) struct Direct<'a>(pub RankRound<'a>);

impl Memory for Direct<'_> {
    fn read(&mut self, span: Span) -> Result<Message> {
        if span.len == 0 {
            return Ok(Bytes::new());
        }
        let round = &mut self.0;
        let send = round.sends.get((span.offset / SLOT) as usize).ok_or_else(|| no_such(span))?;
        round.tally.sent += send.bytes;
        Ok(round.payload.message(round.number, round.rank, send.peer, send.bytes))
    }

    fn write(&mut self, _from: Rank, span: Span, message: Message) -> Result<()> {
        if span.len > 0 {
            self.0.check((span.offset / SLOT) as usize, &message);
        }
        Ok(())
    }

    fn copy(&mut self, from: Span, to: Span) -> Result<()> {
        let message = self.read(from)?;
        self.write(self.0.rank, to, message)
    }
}

/// The memory of a replay with the two-layer kernel, where local aggregators merge messages.
pub(super) struct Merging<'a>(pub RankRound<'a>);

impl Memory for Merging<'_> {
    fn read(&mut self, span: Span) -> Result<Message> {
        if span.buffer != Buffer::Send {
            return self.0.bytes(span);
        }
        self.0.tally.sent += span.len;
        Ok(self.0.all_sends())
    }

    fn write(&mut self, _from: Rank, span: Span, message: Message) -> Result<()> {
        if span.buffer == GATHERED {
            self.0.gathered.insert(span.offset, message);
        } else {
            self.0.check((span.offset / SLOT) as usize, &message);
        }
        Ok(())
    }

    /// Copies a share into the merged message of its aggregator, or delivers a merged message to this rank itself.
    fn copy(&mut self, from: Span, to: Span) -> Result<()> {
        if to.buffer != MERGED {
            let message = self.0.bytes(from)?;
            return self.write(self.0.rank, to, message);
        }
        let part = if from.buffer == Buffer::Send {
            self.0.tally.sent += from.len;
            self.0.own(from)?
        } else {
            self.0.bytes(from)?
        };
        let end = (to.offset + to.len) as usize;
        if self.0.merged.len() < end {
            self.0.merged.resize(end, 0);
        }
        self.0.merged[to.offset as usize..end].copy_from_slice(&part);
        Ok(())
    }
}
