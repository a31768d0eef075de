//! Part of the simulator: moves a message through ports to its rank, and the protocol between ranks.

use super::Time;
use super::engine::Engine;
use super::matching::Search;
use super::message::{Kind, Leg, Marks, Message};
use super::network::{Distance, Hold};
use super::program::{Handle, Work};
use super::workload::Workload;
use tributary::topology::Rank;

impl<W: Workload> Engine<'_, W> {
    /// Sends a message through the ports of its rank and node.
    #[inline]
    pub(super) fn depart(&mut self, message: Message, now: Time) {
        self.count.events += 1;
        let mut message = Message { leg: Leg::DOOR, ..message };
        let answered = message.kind == Kind::CLEAR_TO_SEND;
        let send = message.handle;
        if answered {
            // The waiting bytes go to the receive of the clear-to-send.
            let (sender, handle) = (message.to, message.load as Handle);
            let load = self.bytes(sender as Rank, send);
            message = Message { from: sender, to: message.from, kind: Kind::DATA, load, handle, ..message };
        }
        let way = self.way(&message);
        let bytes = message.wire_bytes();
        if way == Distance::Network && self.machine.node.segment > 0.0 {
            let node = self.network.node_of(message.from);
            if self.network.queue(message, answered.then_some(send)) {
                self.send_segment(node, now);
            }
            return;
        }
        let (begin, left) = self.network.inject(message.from, way, bytes, now);
        if way == Distance::Network && self.network.holds_links() {
            self.wheel.push(begin, Message { leg: Leg::LINKS, ..message });
        } else {
            let arrival = self.network.travel(message.from, way, bytes, left);
            self.wheel.push(arrival, message);
        }
        if answered {
            self.receipt(message.from as Rank, left, send);
        }
    }

    /// Sends the next segment of the messages at the port of a node, which is free at `now`.
    pub(super) fn send_segment(&mut self, node: usize, now: Time) {
        let Some(segment) = self.network.segment(node, now) else { return };
        self.wheel.push(segment.sent, Message::signal(Leg::SENT, node as u32));
        if let Some((message, send)) = segment.last {
            self.wheel.push(segment.arrival, Message { leg: Leg::INSIDE, ..message });
            if let Some(send) = send {
                self.receipt(message.from as Rank, segment.sent, send);
            }
        }
    }

    /// Handles the event that the first byte of a message has reached the next link, or has passed the last.
    pub(super) fn pass(&mut self, message: Message, now: Time) {
        let (bytes, marks) = (message.wire_bytes(), message.marks);
        let (time, message) = match self.network.hold(message.from, message.to, marks.hops(), bytes, now) {
            Hold::From(begin) => (begin, Message { marks: marks.hop(), ..message }),
            Hold::Left(left) => {
                let arrival = self.network.travel(message.from, Distance::Network, bytes, left);
                (arrival, Message { marks: marks.arrived(), leg: Leg::DOOR, ..message })
            }
        };
        self.wheel.push(time, message);
    }

    /// Handles the event that a message has reached its node.
    #[inline]
    pub(super) fn enter(&mut self, message: Message, now: Time) {
        self.count.events += 1;
        let mut ready = now;
        if message.marks.has(Marks::OUTSIDE) {
            ready = self.network.eject(message.to, message.wire_bytes(), now);
        }
        let host = &mut self.hosts[message.to as usize];
        if ready == now {
            return self.deliver(message, now);
        }
        let message = Message { leg: Leg::INSIDE, ..message };
        if ready > host.cpu {
            return self.wheel.push(ready, message);
        }
        // The message's rank is busy at least until the message is inside.
        host.queues.get_or_insert_default().wait(ready, message);
        if !host.wakes {
            self.wake(message.to as Rank);
        }
    }

    /// Delivers a message to its rank, which processes the message at once unless the rank is busy for long.
    #[inline]
    pub(super) fn deliver(&mut self, message: Message, now: Time) {
        let rank = message.to as Rank;
        let host = &mut self.hosts[rank];
        let busy = host.cpu > now.saturating_add(self.patience);
        let first = host.receipts.as_ref().is_none_or(|receipts| receipts.earliest() > now);
        if !host.wakes && !busy && first {
            host.cpu = host.cpu.max(now);
            self.take_in(rank, message);
            return self.advance(rank, now);
        }
        host.queues.get_or_insert_default().wait(now, message);
        if host.wakes {
            return;
        }
        match busy {
            true => self.wake(rank),
            false => self.advance(rank, now),
        }
    }

    /// Processes the first message that has arrived by `now`. Returns true if there was one.
    pub(super) fn take_next(&mut self, rank: Rank, now: Time) -> bool {
        let host = &mut self.hosts[rank];
        let waits = host.queues.as_ref().and_then(|queues| queues.backlog.front());
        let before = waits.map_or(now, |(time, _)| *time);
        if let Some(receipts) = &mut host.receipts
            && receipts.earliest() <= before
            && let Some((time, send)) = receipts.pop()
        {
            self.count.events += 1;
            host.cpu = host.cpu.max(time);
            let check = self.machine.host.check * f64::from(host.outstanding);
            host.cpu = self.network.work_from(host.cpu, self.machine.host.control + check);
            self.finish(rank, send);
            return true;
        }
        let Some((time, message)) = host.queues.as_mut().and_then(|queues| queues.backlog.pop_front()) else {
            return false;
        };
        host.cpu = host.cpu.max(time);
        self.take_in(rank, message);
        true
    }

    /// Processes a message on `rank`.
    fn take_in(&mut self, rank: Rank, message: Message) {
        self.count.events += 1;
        let host = &mut self.hosts[rank];
        let costs = &self.machine.host;
        let check = costs.check * f64::from(host.outstanding);
        match message.kind {
            Kind::EAGER | Kind::REQUEST_TO_SEND => self.take_envelope(rank, message, check),
            Kind::CLEAR_TO_SEND => {
                let bytes = if costs.rendezvous_byte > 0.0 { self.bytes(rank, message.handle) } else { 0 };
                let cost = costs.control + costs.rendezvous + bytes as f64 * costs.rendezvous_byte;
                let host = &mut self.hosts[rank];
                host.cpu = self.network.work_from(host.cpu, cost);
                self.wheel.push(host.cpu, Message { leg: Leg::POSTED, ..message });
            }
            _ => {
                let cost = costs.receive + check + message.load as f64 * costs.rendezvous_byte;
                host.cpu = self.network.work_from(host.cpu, cost);
                self.count.present -= 1;
                self.finish(rank, message.handle);
            }
        }
    }

    fn take_envelope(&mut self, rank: Rank, message: Message, check: f64) {
        let key = if self.is_posted { self.posted_key(&message) } else { message.key() };
        let host = &mut self.hosts[rank];
        let costs = &self.machine.host;
        let queues = host.queues.get_or_insert_default();
        let tau = costs.walk.entry(queues.posted.len());
        let Search { found, walked } = queues.posted.take(key);
        queues.walked += walked as u64;
        let mut cost = costs.receive + check + tau * walked as f64;
        if message.kind == Kind::EAGER {
            cost += message.load as f64 * costs.receive_byte;
        }
        let connects = message.marks.has(Marks::CONNECTS);
        if let (true, Some(connection)) = (connects, &self.machine.connection) {
            cost += connection.receive + connection.held * f64::from(queues.connections);
            queues.connections += 1;
        }
        if found.is_none() {
            queues.unexpected.push(key, message);
            queues.longest_unexpected = queues.longest_unexpected.max(queues.unexpected.len());
        }
        host.cpu = self.network.work_from(host.cpu, cost);
        if connects && !message.marks.has(Marks::SYNCHRONOUS) && message.kind == Kind::EAGER {
            self.acknowledge(rank, &message);
        }
        if let Some(handle) = found {
            self.matched(rank, message, handle);
        }
    }

    /// Continues the protocol of a message that was matched with its receive.
    pub(super) fn matched(&mut self, rank: Rank, message: Message, handle: Handle) {
        self.count.matched += 1;
        self.hosts[rank].program.matched(handle, &message);
        if message.kind == Kind::REQUEST_TO_SEND {
            let ready = self.answer(rank, &message, self.machine.host.rendezvous);
            let Message { from, to, .. } = message;
            let load = u64::from(handle);
            let clear = Message { load, from: to, to: from, kind: Kind::CLEAR_TO_SEND, leg: Leg::INSIDE, ..message };
            return self.wheel.push(ready, clear);
        }
        if message.marks.has(Marks::SYNCHRONOUS) {
            self.acknowledge(rank, &message);
        }
        self.count.present -= 1;
        self.finish(rank, handle);
    }

    /// Notifies the sender that its send is finished.
    fn acknowledge(&mut self, rank: Rank, message: &Message) {
        let time = self.answer(rank, message, 0.0);
        self.receipts.push((message.from, time, message.handle));
    }

    /// Sends a control message back to the sender after work of `before` picoseconds; returns the time of its arrival.
    fn answer(&mut self, rank: Rank, message: &Message, before: f64) -> Time {
        let way = self.way(message);
        let host = &mut self.hosts[rank];
        host.cpu = self.network.work_from(host.cpu, before + self.machine.host.control);
        self.network.control(way, host.cpu)
    }

    /// Delivers the send completions of an event together. Senders are far apart in memory, so their cache misses
    /// overlap.
    #[inline]
    pub(super) fn hand_out(&mut self) {
        let receipts = std::mem::take(&mut self.receipts);
        if receipts.len() > 1 {
            receipts.iter().for_each(|&(rank, ..)| self.hosts[rank as usize].touch());
        }
        for &(rank, time, send) in &receipts {
            self.receipt(rank as Rank, time, send);
        }
        self.receipts = receipts;
        self.receipts.clear();
    }

    /// Records that the send `send` of `rank` will be finished at `time`.
    fn receipt(&mut self, rank: Rank, time: Time, send: Handle) {
        self.hosts[rank].receipts.get_or_insert_default().push(time, send);
        self.call(rank);
    }

    /// Schedules an event for a rank at the time when finished sends may let the rank continue.
    #[inline]
    pub(super) fn call(&mut self, rank: Rank) {
        let host = &mut self.hosts[rank];
        let Some(receipts) = &mut host.receipts else { return };
        if host.wakes {
            return;
        }
        let time = match host.program.sends_awaited() {
            Some(awaited) if receipts.len() < awaited as usize => return,
            Some(_) => receipts.latest(),
            None => receipts.earliest(),
        };
        if time < receipts.due {
            receipts.due = time;
            self.wheel.push(time, Message::signal(Leg::SETTLE, rank as u32));
        }
    }

    /// Marks the sends of a rank that are finished at `now`, and continues the rank.
    pub(super) fn settle(&mut self, rank: Rank, now: Time) {
        let host = &mut self.hosts[rank];
        if let Some(receipts) = &mut host.receipts
            && receipts.due <= now
        {
            receipts.due = Time::MAX;
        }
        if !host.wakes {
            self.advance(rank, now);
        }
    }

    fn finish(&mut self, rank: Rank, handle: Handle) {
        let host = &mut self.hosts[rank];
        host.outstanding -= 1;
        host.finish(handle);
    }

    /// Returns the number of bytes of a send that is posted.
    fn bytes(&self, rank: Rank, send: Handle) -> u64 {
        let host = &self.hosts[rank];
        match host.program.work(self.workload, rank, host.part, send) {
            Work::Send { bytes, .. } | Work::Memory { bytes } => bytes,
            Work::Receive { .. } | Work::Step => 0,
        }
    }

    #[inline]
    fn way(&self, message: &Message) -> Distance {
        match message.marks.has(Marks::OUTSIDE) {
            true => Distance::Network,
            false => self.network.way(message.from, message.to),
        }
    }
}
