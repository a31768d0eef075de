//! Computes the time of schedules in the one-port model: a message of m bytes takes t_s + m t_w, and a rank sends at
//! most one and receives at most one at a time. A message begins when sender and receiver have started it and both
//! ports are free; among several, the message that has waited longest, then the one that comes first in its sender's
//! schedule.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use tributary::Rank;
use tributary::schedule::{Action, OpId, Progress, Schedule};

/// Cost of a message: startup, and transfer of a byte.
#[derive(Clone, Copy)]
pub struct Cost {
    pub t_s: u64,
    pub t_w: u64,
}

struct Message {
    from: (Rank, OpId),
    to: (Rank, OpId),
    bytes: u64,
    /// Time at which sender and receiver had both started the message.
    since: u64,
}

#[derive(Default)]
struct Clock {
    progress: Vec<Progress>,
    ends: Vec<u64>,
    now: u64,
    /// Sends that are started and not matched, by (sender, receiver, stage), with their bytes.
    sends: HashMap<(Rank, Rank, u8), VecDeque<(OpId, u64)>>,
    receives: HashMap<(Rank, Rank, u8), VecDeque<OpId>>,
    /// Messages that are matched and wait for a port.
    matched: Vec<Message>,
}

/// Returns the times at which the ranks end; rank r begins at `begins[r]`.
pub fn ends(schedules: Vec<Schedule>, begins: &[u64], cost: Cost) -> Vec<u64> {
    let ranks = schedules.len();
    let progress = schedules.into_iter().map(Progress::new).collect();
    let mut clock = Clock { progress, ends: begins.to_vec(), ..Clock::default() };
    // Events by time: a rank begins, or a message has arrived.
    let mut events: BinaryHeap<_> =
        begins.iter().enumerate().map(|(rank, &at)| Reverse((at, rank, usize::MAX))).collect();
    let mut flights: Vec<Message> = Vec::new();
    let (mut sending, mut receiving) = (vec![false; ranks], vec![false; ranks]);
    while let Some(Reverse((now, rank, flight))) = events.pop() {
        clock.now = now;
        if let Some(Message { from, to, .. }) = flights.get(flight) {
            (sending[from.0], receiving[to.0]) = (false, false);
            for (rank, op) in [*from, *to] {
                clock.progress[rank].finish(op);
                clock.ends[rank] = now;
                clock.start(rank);
            }
        } else {
            clock.start(rank);
        }
        let is_more_now = events.peek().is_some_and(|Reverse((at, ..))| *at == now);
        clock.matched.sort_by_key(|message| (message.since, message.from.1));
        for message in std::mem::take(&mut clock.matched) {
            let (from, to) = (message.from.0, message.to.0);
            if is_more_now || sending[from] || receiving[to] {
                clock.matched.push(message);
                continue;
            }
            (sending[from], receiving[to]) = (true, true);
            events.push(Reverse((now + cost.t_s + message.bytes * cost.t_w, from, flights.len())));
            flights.push(message);
        }
    }
    assert!(clock.progress.iter().all(Progress::is_done), "a deadlock");
    clock.ends
}

impl Clock {
    fn start(&mut self, rank: Rank) {
        while let Some(id) = self.progress[rank].next_ready() {
            let op = self.progress[rank].schedule().ops()[id as usize];
            let key = match op.action {
                Action::Send { to, .. } => {
                    let key = (rank, to, op.stage);
                    self.sends.entry(key).or_default().push_back((id, op.span.len));
                    key
                }
                Action::Receive { from } => {
                    let key = (from, rank, op.stage);
                    self.receives.entry(key).or_default().push_back(id);
                    key
                }
                _ => {
                    self.progress[rank].finish(id);
                    continue;
                }
            };
            let (sends, receives) = (self.sends.entry(key).or_default(), self.receives.entry(key).or_default());
            if let (Some(&(send, bytes)), Some(&receive)) = (sends.front(), receives.front()) {
                sends.pop_front();
                receives.pop_front();
                let (from, to) = ((key.0, send), (key.1, receive));
                self.matched.push(Message { from, to, bytes, since: self.now });
            }
        }
    }
}
