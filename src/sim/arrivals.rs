//! What arrives at a rank: envelopes, bytes, acknowledgements; and the protocol between them.

use super::Time;
use super::engine::{Engine, What};
use super::matching::{Search, key};
use super::message::{Id, Kind, Message};
use super::program::Handle;
use super::workload::Workload;
use crate::topology::Rank;

impl<W: Workload> Engine<'_, W> {
    /// The processor of `rank` takes a message in.
    pub(super) fn take_in(&mut self, rank: Rank, id: Id) {
        let message = *self.slab.get(id);
        let host = &mut self.hosts[rank];
        let costs = &self.machine.host;
        let check = costs.check * f64::from(host.outstanding);
        match message.kind {
            Kind::Eager | Kind::RequestToSend => self.take_envelope(rank, id, check),
            Kind::ClearToSend => {
                host.cpu += self.network.work(costs.control);
                *self.slab.get_mut(id) = message.returned(Kind::Data);
                self.wheel.push(self.hosts[rank].cpu, What::Leave(id));
            }
            Kind::Data => {
                host.cpu += self.network.work(costs.receive + check);
                self.slab.remove(id);
                self.finish(rank, message.receive);
            }
            Kind::SendFinished => {
                host.cpu += self.network.work(costs.control + check);
                self.slab.remove(id);
                self.finish(rank, message.send);
            }
        }
    }

    fn take_envelope(&mut self, rank: Rank, id: Id, check: f64) {
        let message = *self.slab.get(id);
        let host = &mut self.hosts[rank];
        let costs = &self.machine.host;
        let queues = host.queues.get_or_insert_default();
        let tau = costs.walk.entry(queues.posted.len());
        let key = key(message.from, message.stage);
        let Search { found, walked } = queues.posted.take(key);
        queues.walked += walked as u64;
        let mut cost = costs.receive + check + tau * walked as f64;
        if message.kind == Kind::Eager {
            cost += message.bytes as f64 * costs.receive_byte;
        }
        if let (true, Some(connection)) = (message.connects, &self.machine.connection) {
            cost += connection.receive + connection.held * f64::from(queues.connections);
            queues.connections += 1;
        }
        if found.is_none() {
            queues.unexpected.push(key, id);
            queues.longest_unexpected = queues.longest_unexpected.max(queues.unexpected.len());
        }
        host.cpu += self.network.work(cost);
        if message.connects && !message.synchronous && message.kind == Kind::Eager {
            let reply = self.slab.add(message);
            self.reply(rank, reply, Kind::SendFinished);
        }
        if let Some(handle) = found {
            self.matched(rank, id, handle);
        }
    }

    /// A message has met its receive.
    pub(super) fn matched(&mut self, rank: Rank, id: Id, handle: Handle) {
        self.count += 1;
        let message = self.slab.get_mut(id);
        message.receive = handle;
        if message.kind == Kind::RequestToSend {
            return self.reply(rank, id, Kind::ClearToSend);
        }
        if message.synchronous {
            self.reply(rank, id, Kind::SendFinished);
        } else {
            self.slab.remove(id);
        }
        self.finish(rank, handle);
    }

    /// Sends a message back as a control message.
    fn reply(&mut self, rank: Rank, id: Id, kind: Kind) {
        let message = self.slab.get(id).returned(kind);
        let way = self.way(&message);
        let host = &mut self.hosts[rank];
        host.cpu += self.network.work(self.machine.host.control);
        *self.slab.get_mut(id) = message;
        self.wheel.push(self.network.control(way, host.cpu), What::Deliver(id));
    }

    /// The bytes of a rendezvous leave; the send is finished when they have.
    pub(super) fn leave(&mut self, id: Id, now: Time) {
        let message = *self.slab.get(id);
        let way = self.way(&message);
        let node = self.places[message.from as usize].node;
        let host = &mut self.hosts[message.from as usize];
        let arrival = self.network.transmit(host, node, way, message.bytes, now);
        let left = host.port;
        self.wheel.push(arrival, What::Arrive(id));
        let finished = Message { to: message.from, kind: Kind::SendFinished, ..message };
        let finished = self.slab.add(finished);
        self.wheel.push(left, What::Deliver(finished));
    }

    fn finish(&mut self, rank: Rank, handle: Handle) {
        let host = &mut self.hosts[rank];
        host.outstanding -= 1;
        host.finish(handle);
    }
}
