//! Exchanges messages between ranks and measures the time, to find out what messages cost.

use std::time::{Duration, Instant};

use tributary::collectives::{FIRST_FREE_TAG, allreduce};
use tributary::error::Result;
use tributary::fabric::{Endpoint, Memory, Message};
use tributary::schedule::{Buffer, Builder, ReduceOp, SendMode, Span};
use tributary::topology::Rank;

/// Number of early (unexpected) messages in a list, each with its own tag.
pub const EARLY: usize = 512;
/// Time for which a receiver does nothing while a sender finds out whether a message needs the receiver. Much longer
/// than any round trip.
const AWAY: Duration = Duration::from_millis(10);

/// Memory of a message whose bytes are always the same, and that are dropped on arrival.
struct Nowhere(Message);

impl Memory for Nowhere {
    fn read(&mut self, span: Span) -> Result<Message> {
        Ok(self.0.slice(..span.len as usize))
    }

    fn write(&mut self, _from: Rank, _span: Span, _message: Message) -> Result<()> {
        Ok(())
    }

    fn copy(&mut self, _from: Span, _to: Span) -> Result<()> {
        Ok(())
    }
}

/// Ranks whose messages are timed; the same on all ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchanges {
    /// Rank that receives from several senders.
    pub receiver: Rank,
    /// Ranks that send to `receiver`; the first one is its partner.
    pub senders: Vec<Rank>,
    /// Pairs of a sender and a receiver. The receivers are the ranks of one node, as far as there are senders.
    pub port: Vec<(Rank, Rank)>,
}

/// Senders and receivers of an exchange.
#[derive(Debug, Clone, Copy)]
pub enum Ways {
    /// The partner sends to the receiver.
    Pair,
    /// All senders send to the receiver.
    FanIn,
    /// Each pair of `port` exchanges, through the port of one node.
    Port,
}

impl Exchanges {
    /// Returns the pairs of sender and receiver.
    pub fn pairs(&self, ways: Ways) -> Vec<(Rank, Rank)> {
        let count = match ways {
            Ways::Pair => 1,
            Ways::FanIn => self.senders.len(),
            Ways::Port => return self.port.clone(),
        };
        self.senders[..count].iter().map(|&sender| (sender, self.receiver)).collect()
    }

    /// Returns the seconds until every pair has exchanged `count` messages of `bytes` bytes at once, as kernels send
    /// them; the maximum over ranks. Collective.
    pub async fn stream(&self, endpoint: &mut Endpoint, ways: Ways, count: usize, bytes: u64) -> Result<f64> {
        let (rank, mut builder) = (endpoint.rank(), Builder::default());
        for (from, to) in self.pairs(ways) {
            for _ in 0..count {
                if rank == to {
                    builder.receive(from, Span::new(Buffer::Receive, 0, bytes), &[]);
                }
                if rank == from {
                    builder.send(to, SendMode::Synchronous, Span::new(Buffer::Send, 0, bytes), &[]);
                }
            }
        }
        let schedule = builder.finish();
        let mut memory = Nowhere(vec![1; if schedule.sends() > 0 { bytes as usize } else { 0 }].into());
        timed(endpoint, async |endpoint| {
            let begin = Instant::now();
            endpoint.run(schedule, &mut memory, FIRST_FREE_TAG).await?;
            Ok(begin.elapsed())
        })
        .await
    }

    /// Returns the seconds of `count` messages of 8 bytes there and back, one after the other. Collective.
    pub async fn ping_pong(&self, endpoint: &mut Endpoint, count: usize) -> Result<f64> {
        let (rank, partner) = (endpoint.rank(), self.senders[0]);
        let mut builder = Builder::default();
        let mut before = None;
        let other = if rank == partner { self.receiver } else { partner };
        for step in 0..2 * count {
            if ![partner, self.receiver].contains(&rank) {
                break;
            }
            let after = before.as_slice();
            before = Some(match (step % 2 == 0) == (rank == partner) {
                true => builder.send(other, SendMode::Standard, Span::new(Buffer::Send, 0, 8), after),
                false => builder.receive(other, Span::new(Buffer::Receive, 0, 8), after),
            });
        }
        let (schedule, mut memory) = (builder.finish(), Nowhere(vec![1; 8].into()));
        timed(endpoint, async |endpoint| {
            let begin = Instant::now();
            endpoint.run(schedule, &mut memory, FIRST_FREE_TAG).await?;
            Ok(begin.elapsed())
        })
        .await
    }

    /// Returns true if a message of `bytes` bytes is sent although its receiver does not receive yet. Collective.
    pub async fn is_eager(&self, endpoint: &mut Endpoint, bytes: u64) -> Result<bool> {
        let (rank, partner) = (endpoint.rank(), self.senders[0]);
        let took = timed(endpoint, async |endpoint| {
            let begin = Instant::now();
            if rank == self.receiver {
                std::thread::sleep(AWAY);
                receive(endpoint, partner, bytes, 0).await?;
                return Ok(Duration::ZERO);
            }
            if rank == partner {
                send(endpoint, self.receiver, bytes, 0).await?;
                return Ok(begin.elapsed());
            }
            Ok(Duration::ZERO)
        });
        Ok(took.await? < AWAY.as_secs_f64() / 2.0)
    }

    /// Returns the seconds in which the receiver receives [`EARLY`] messages that have arrived early: in the order of
    /// their arrival or, with `reversed`, in the opposite order, so that each search passes all messages that are left.
    /// Collective.
    pub async fn early(&self, endpoint: &mut Endpoint, reversed: bool) -> Result<f64> {
        let (rank, partner) = (endpoint.rank(), self.senders[0]);
        timed(endpoint, async |endpoint| {
            if rank == partner {
                for tag in 1..=EARLY {
                    send(endpoint, self.receiver, 8, tag).await?;
                }
                send(endpoint, self.receiver, 8, 0).await?;
            }
            if rank != self.receiver {
                return Ok(Duration::ZERO);
            }
            // This message comes behind the others.
            receive(endpoint, partner, 8, 0).await?;
            let begin = Instant::now();
            for tag in 1..=EARLY {
                receive(endpoint, partner, 8, if reversed { EARLY + 1 - tag } else { tag }).await?;
            }
            Ok(begin.elapsed())
        })
        .await
    }
}

/// Returns the seconds that `what` returns, the maximum over ranks; all ranks begin together. Collective.
pub async fn timed(endpoint: &mut Endpoint, what: impl AsyncFnOnce(&mut Endpoint) -> Result<Duration>) -> Result<f64> {
    allreduce(endpoint, &[ReduceOp::Max], &mut [0]).await?;
    let mut slowest = [what(endpoint).await?.as_nanos() as u64];
    allreduce(endpoint, &[ReduceOp::Max], &mut slowest).await?;
    Ok(slowest[0] as f64 / 1e9)
}

async fn send(endpoint: &mut Endpoint, to: Rank, bytes: u64, tag: usize) -> Result<()> {
    let mut builder = Builder::default();
    builder.send(to, SendMode::Standard, Span::new(Buffer::Send, 0, bytes), &[]);
    let mut memory = Nowhere(vec![1; bytes as usize].into());
    endpoint.run(builder.finish(), &mut memory, FIRST_FREE_TAG + tag as u16).await.map(drop)
}

async fn receive(endpoint: &mut Endpoint, from: Rank, bytes: u64, tag: usize) -> Result<()> {
    let mut builder = Builder::default();
    builder.receive(from, Span::new(Buffer::Receive, 0, bytes), &[]);
    let mut memory = Nowhere(Message::new());
    endpoint.run(builder.finish(), &mut memory, FIRST_FREE_TAG + tag as u16).await.map(drop)
}
