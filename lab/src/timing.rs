//! Computes the time that the schedules of all ranks take together in the one-port model.
//!
//! A message of m bytes takes t_s + m t_w (Hockney). A rank sends at most one message and receives at most one at a
//! time, both at once (full duplex). A message begins when sender and receiver have started it and both ports are free;
//! among several, the message whose send was started first. Combining m bytes takes m t_c, one combination at a time;
//! copies take no time. This is the model of the papers' cost formulas. Unlike the simulator, it has no network between
//! the ports.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};

use crate::collectives::Rates;
use tributary::Rank;
use tributary::schedule::{Action, OpId, Progress, Schedule};

/// Operation that has ended, with its times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Send and its matching receive.
    Message {
        /// Time at which the message began.
        begin: f64,
        /// Time at which the message ended.
        end: f64,
        /// Rank that sends, and the send operation.
        from: (Rank, OpId),
        /// Rank that receives, and the receive operation.
        to: (Rank, OpId),
    },
    /// Copy or combination on one rank.
    Local {
        /// Time at which the operation ended.
        end: f64,
        /// Rank that does the operation.
        rank: Rank,
        /// The operation.
        op: OpId,
    },
}

/// Returns the time at which the last of ranks 0, 1, ... ends its schedule; `None` if not all can end. O(messages x
/// open messages of a rank).
pub fn one_port(schedules: Vec<Schedule>, rates: &Rates) -> Option<f64> {
    run(schedules, rates, None).map(|clock| clock.now)
}

/// Returns the operations that [`one_port`] times, in the order in which they end, without joins. With t_s = 1 and no
/// other cost, every message takes one round, and begins with a round. O(operations) memory.
pub fn one_port_steps(schedules: Vec<Schedule>, rates: &Rates) -> Option<Vec<Step>> {
    run(schedules, rates, Some(Vec::new())).and_then(|clock| clock.steps)
}

fn run(schedules: Vec<Schedule>, rates: &Rates, steps: Option<Vec<Step>>) -> Option<Clock> {
    let ranks = schedules.len();
    let mut clock = Clock {
        rates: *rates,
        progress: schedules.into_iter().map(Progress::new).collect(),
        ports: (0..ranks).map(|_| Ports::default()).collect(),
        sends: Queue::new(),
        receives: Queue::new(),
        messages: Vec::new(),
        started: 0,
        events: BinaryHeap::new(),
        now: 0.0,
        steps,
    };
    let all: BTreeSet<Rank> = (0..ranks).collect();
    clock.start(&all);
    while let Some(event) = clock.events.pop() {
        clock.now = event.time;
        let mut touched = clock.end(event.what);
        while clock.events.peek().is_some_and(|next| next.time <= clock.now) {
            touched.extend(clock.events.pop().map(|event| clock.end(event.what)).unwrap_or_default());
        }
        clock.start(&touched);
    }
    clock.progress.iter().all(Progress::is_done).then_some(clock)
}

/// Sends or receives that are started and not matched, by (sender, receiver, stage), with the number of the start.
type Queue = HashMap<(Rank, Rank, u8), VecDeque<(u64, OpId)>>;

#[derive(Default)]
struct Ports {
    sending: bool,
    receiving: bool,
    /// Time at which the current combination ends.
    combining: f64,
    /// Matched messages of this rank that have not begun: (number of the send's start, index).
    open: BTreeSet<(u64, usize)>,
}

struct Message {
    from: (Rank, OpId),
    to: (Rank, OpId),
    bytes: u64,
    begin: f64,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Message(usize),
    Combination(Rank, OpId),
}

struct Event {
    time: f64,
    what: What,
}

impl Ord for Event {
    /// Orders the earliest event as the greatest, so that it leaves the heap first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.total_cmp(&self.time)
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Event {}

struct Clock {
    rates: Rates,
    progress: Vec<Progress>,
    ports: Vec<Ports>,
    sends: Queue,
    receives: Queue,
    messages: Vec<Message>,
    /// Number of operations started so far.
    started: u64,
    events: BinaryHeap<Event>,
    now: f64,
    /// Operations that have ended, if the caller asks for them.
    steps: Option<Vec<Step>>,
}

impl Clock {
    /// Starts the operations that are ready on these ranks, then the messages whose ports are free.
    fn start(&mut self, ranks: &BTreeSet<Rank>) {
        for &rank in ranks {
            while let Some(id) = self.progress[rank].next_ready() {
                self.start_operation(rank, id);
            }
        }
        let open: BTreeSet<_> = ranks.iter().flat_map(|&rank| self.ports[rank].open.iter().copied()).collect();
        for (order, index) in open {
            let Message { from: (from, _), to: (to, _), bytes, .. } = self.messages[index];
            if !self.ports[from].sending && !self.ports[to].receiving {
                (self.ports[from].sending, self.ports[to].receiving) = (true, true);
                self.ports[from].open.remove(&(order, index));
                self.ports[to].open.remove(&(order, index));
                self.messages[index].begin = self.now;
                let time = self.now + self.rates.message(bytes as f64);
                self.events.push(Event { time, what: What::Message(index) });
            }
        }
    }

    fn start_operation(&mut self, rank: Rank, id: OpId) {
        let op = self.progress[rank].schedule().ops()[id as usize];
        self.started += 1;
        match op.action {
            Action::Send { to, .. } => {
                self.sends.entry((rank, to, op.stage)).or_default().push_back((self.started, id));
                self.meet((rank, to, op.stage));
            }
            Action::Receive { from } => {
                self.receives.entry((from, rank, op.stage)).or_default().push_back((self.started, id));
                self.meet((from, rank, op.stage));
            }
            Action::Reduce { .. } if self.rates.combine > 0.0 => {
                let time = self.now.max(self.ports[rank].combining) + op.span.len as f64 * self.rates.combine;
                self.ports[rank].combining = time;
                self.events.push(Event { time, what: What::Combination(rank, id) });
            }
            Action::Reduce { .. } | Action::Copy { .. } | Action::Join => self.end_local(rank, id),
        }
    }

    fn meet(&mut self, key: (Rank, Rank, u8)) {
        let (Some(sends), Some(receives)) = (self.sends.get_mut(&key), self.receives.get_mut(&key)) else { return };
        if sends.is_empty() || receives.is_empty() {
            return;
        }
        let (Some((order, send)), Some((_, receive))) = (sends.pop_front(), receives.pop_front()) else { return };
        let (from, to, _) = key;
        let bytes = self.progress[from].schedule().ops()[send as usize].span.len;
        let open = (order, self.messages.len());
        self.messages.push(Message { from: (from, send), to: (to, receive), bytes, begin: self.now });
        self.ports[from].open.insert(open);
        self.ports[to].open.insert(open);
    }

    /// Handles the end of an operation. Returns the ranks on which an operation has ended.
    fn end(&mut self, what: What) -> BTreeSet<Rank> {
        match what {
            What::Message(index) => {
                let Message { from: (from, send), to: (to, receive), begin, .. } = self.messages[index];
                let step = Step::Message { begin, end: self.now, from: (from, send), to: (to, receive) };
                self.steps.iter_mut().for_each(|steps| steps.push(step));
                (self.ports[from].sending, self.ports[to].receiving) = (false, false);
                self.progress[from].finish(send);
                self.progress[to].finish(receive);
                BTreeSet::from([from, to])
            }
            What::Combination(rank, id) => {
                self.end_local(rank, id);
                BTreeSet::from([rank])
            }
        }
    }

    fn end_local(&mut self, rank: Rank, op: OpId) {
        let step = Step::Local { end: self.now, rank, op };
        self.steps.iter_mut().for_each(|steps| steps.push(step));
        self.progress[rank].finish(op);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tributary::schedule::{Buffer, Builder, ReduceOp, SendMode, Span};

    const RATES: Rates = Rates { startup: 10.0, byte: 1.0, combine: 2.0 };

    /// Checks a case in which ranks 1 and 2 send 8 bytes to rank 0, which combines both, and rank 0 sends 4 bytes to
    /// rank 1 meanwhile.
    #[test]
    fn ports_take_turns_and_both_ways_at_once() {
        let span = |buffer, len| Span::new(buffer, 0, len);
        let mut root = Builder::default();
        for from in [1, 2] {
            let arrived = root.receive(from, span(Buffer::Stage(from as u8), 8), &[]);
            let from = span(Buffer::Stage(from as u8), 8);
            root.op(Action::Reduce { from, with: ReduceOp::Sum }, span(Buffer::Receive, 8), &[arrived]);
        }
        root.send(1, SendMode::Standard, span(Buffer::Send, 4), &[]);
        let leaf = |rank| {
            let mut builder = Builder::default();
            builder.send(0, SendMode::Standard, span(Buffer::Send, 8), &[]);
            if rank == 1 {
                builder.receive(0, span(Buffer::Receive, 4), &[]);
            }
            builder.finish()
        };
        let all = vec![root.finish(), leaf(1), leaf(2)];
        assert_eq!(one_port(all.clone(), &RATES), Some(18.0 + 18.0 + 16.0));
        assert_eq!(one_port(all.clone(), &Rates { combine: 20.0, ..RATES }), Some(18.0 + 160.0 + 160.0));
        let rounds = Rates { startup: 1.0, byte: 0.0, combine: 0.0 };
        let begins: Vec<_> = (one_port_steps(all, &rounds).unwrap().into_iter())
            .filter_map(|step| match step {
                Step::Message { begin, from: (from, _), to: (to, _), .. } => Some((from, to, begin)),
                Step::Local { .. } => None,
            })
            .collect();
        assert_eq!(begins.len(), 3);
        for message in [(0, 1, 0.0), (1, 0, 0.0), (2, 0, 1.0)] {
            assert!(begins.contains(&message), "{begins:?}");
        }
    }

    #[test]
    fn schedules_that_cannot_end_have_no_time() {
        let mut builder = Builder::default();
        builder.receive(0, Span::new(Buffer::Receive, 0, 1), &[]);
        assert_eq!(one_port(vec![Schedule::default(), builder.finish()], &RATES), None);
    }
}
