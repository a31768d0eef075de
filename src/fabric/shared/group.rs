//! Memory shared by a group of ranks on one host: a leader and its members.
//!
//! The leader makes the memory, and the other members map it ([`Endpoint::share_in_groups`]). Every member has two
//! *mailboxes*, one to the leader and one from it: ring buffers for messages of any size. The area of
//! the memory's users follows the mailboxes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::{LINE, Line, SharedMemory, shareable};
use super::signal::{Signal, SignalState, Watch};
use crate::error::{Error, Result};
use crate::fabric::{Buffers, Endpoint};
use crate::schedule::{Buffer, Builder, ReduceOp, SendMode, Span};
use crate::topology::Rank;

const PAGE: usize = 4096;
/// Number of bytes that a mailbox can hold.
const MAILBOX: usize = 16 << 10;
/// Offset of the first mailbox in the group's memory, in bytes. The signals lie before it.
const MAILBOXES: usize = PAGE;
/// Number of signals for the users of the memory.
const SIGNALS: usize = 2;
/// Number of bytes of the address of the memory that a leader sends: host, process, descriptor.
const ADDRESS: usize = 24;
/// Tag of the message with the address.
const TAG: u16 = crate::collectives::FIRST_FREE_TAG;

/// The memory of one group, as one member sees it.
#[derive(Debug)]
pub struct GroupMemory {
    /// Ranks of the members, ascending; the leader is the first.
    members: Vec<Rank>,
    /// This rank's index in `members`.
    me: usize,
    memory: Arc<SharedMemory>,
    spins: bool,
    calls: AtomicU64,
}

shareable! {
    /// The control integers of a mailbox, before its bytes.
    struct MailboxControl {
        /// Number of bytes written.
        written: AtomicU64,
        /// Number of bytes read.
        read: AtomicU64,
        /// Advances when `written` or `read` changes.
        changed: SignalState,
    }
}

const _: () = assert!(SIGNALS * size_of::<Line<SignalState>>() <= MAILBOXES && size_of::<MailboxControl>() <= LINE);

/// One mailbox in shared memory: its control integers, and the address of its bytes.
struct Mailbox<'a> {
    control: &'a MailboxControl,
    bytes: *mut u8,
}

impl GroupMemory {
    /// Returns the ranks of the members, ascending; the leader is the first.
    pub fn members(&self) -> &[Rank] {
        &self.members
    }

    /// Returns this rank's index in [`GroupMemory::members`].
    pub fn me(&self) -> usize {
        self.me
    }

    /// Returns true if this rank is the leader.
    pub fn leads(&self) -> bool {
        self.me == 0
    }

    /// Returns the memory. The area for users is from [`GroupMemory::area`] to the end; none of it is reserved yet.
    pub fn memory(&self) -> &Arc<SharedMemory> {
        &self.memory
    }

    /// Returns the offset of the area for users.
    pub fn area(&self) -> usize {
        head(self.members.len())
    }

    /// Returns one of 2 signals for the users of the memory.
    pub fn signal(&self, number: usize) -> Signal<'_> {
        self.memory.get::<[Line<SignalState>; SIGNALS]>(0)[number].signal()
    }

    /// Returns a watch that waits until signal `number` is no longer `seen`.
    pub fn watch(&self, number: usize, seen: u32) -> Watch {
        self.signal(number).watch(seen, self.spins)
    }

    /// Returns the number of the next call that uses this memory, from 1. All members call this function for the same
    /// calls.
    pub fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the mailbox of a member: to the leader, or from it.
    fn mailbox(&self, member: usize, to_leader: bool) -> Mailbox<'_> {
        let at = MAILBOXES + (2 * member + usize::from(to_leader)) * (LINE + MAILBOX);
        Mailbox { control: self.memory.get(at), bytes: self.memory.at(at + LINE) }
    }

    /// Puts a message into the mailbox from `member` to the leader (called on the member) or from the leader to
    /// `member` (called on the leader). Returns when all of it is in the mailbox; for more than 16 KiB, the other side
    /// must take some.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub async fn put(&self, endpoint: &mut Endpoint, member: usize, body: &[u8]) -> Result<()> {
        self.put_bytes(endpoint, member, &(body.len() as u64).to_le_bytes()).await?;
        self.put_bytes(endpoint, member, body).await
    }

    /// Waits for the next message that the other side has [`put`](GroupMemory::put) into the mailbox, and returns it.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub async fn take(&self, endpoint: &mut Endpoint, member: usize) -> Result<Vec<u8>> {
        let mut len = Vec::with_capacity(8);
        self.take_bytes(endpoint, member, 8, &mut len).await?;
        let len = u64::from_le_bytes(len.try_into().unwrap_or_default()) as usize;
        let mut body = Vec::with_capacity(len);
        self.take_bytes(endpoint, member, len, &mut body).await?;
        Ok(body)
    }

    async fn put_bytes(&self, endpoint: &mut Endpoint, member: usize, mut rest: &[u8]) -> Result<()> {
        while !rest.is_empty() {
            let mailbox = self.mailbox(member, !self.leads());
            let seen = mailbox.changed().get();
            let (at, room) = mailbox.room();
            let (now, later) = rest.split_at(room.min(rest.len()));
            if now.is_empty() {
                self.wait(endpoint, mailbox.changed(), seen).await?;
                continue;
            }
            // SAFETY: reserved bytes of the mailbox, which the other side has read, and reads the next time only after
            // `written` counts them.
            unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), mailbox.bytes.add(at), now.len()) };
            mailbox.control.written.fetch_add(now.len() as u64, Ordering::Release);
            mailbox.changed().advance();
            rest = later;
        }
        Ok(())
    }

    async fn take_bytes(&self, endpoint: &mut Endpoint, member: usize, len: usize, into: &mut Vec<u8>) -> Result<()> {
        let end = into.len() + len;
        while into.len() < end {
            let mailbox = self.mailbox(member, self.leads());
            let seen = mailbox.changed().get();
            let (at, there) = mailbox.available();
            let now = there.min(end - into.len());
            if now == 0 {
                self.wait(endpoint, mailbox.changed(), seen).await?;
                continue;
            }
            // SAFETY: reserved bytes of the mailbox, which the other side has written, and overwrites only after `read`
            // counts them.
            into.extend_from_slice(unsafe { std::slice::from_raw_parts(mailbox.bytes.add(at), now) });
            mailbox.control.read.fetch_add(now as u64, Ordering::Release);
            mailbox.changed().advance();
        }
        Ok(())
    }

    async fn wait(&self, endpoint: &mut Endpoint, signal: Signal<'_>, seen: u32) -> Result<()> {
        endpoint.watch(signal.watch(seen, self.spins)).await;
        match signal.get() == seen {
            true => endpoint.progress(),
            false => {
                endpoint.waiting().event();
                Ok(())
            }
        }
    }
}

impl Mailbox<'_> {
    /// Returns the signal that advances when bytes are written or read.
    fn changed(&self) -> Signal<'_> {
        self.control.changed.signal()
    }

    /// Returns the position of the next write, and the number of bytes that can be written there contiguously.
    fn room(&self) -> (usize, usize) {
        let (written, read) = (self.control.written.load(Ordering::Relaxed), self.control.read.load(Ordering::Acquire));
        let at = (written % MAILBOX as u64) as usize;
        (at, (MAILBOX - (written - read) as usize).min(MAILBOX - at))
    }

    /// Returns the position of the next read, and the number of bytes that can be read there contiguously.
    fn available(&self) -> (usize, usize) {
        let (read, written) = (self.control.read.load(Ordering::Relaxed), self.control.written.load(Ordering::Acquire));
        let at = (read % MAILBOX as u64) as usize;
        (at, ((written - read) as usize).min(MAILBOX - at))
    }
}

/// Returns the number of bytes of the memory before the area for users.
fn head(members: usize) -> usize {
    (MAILBOXES + 2 * members * (LINE + MAILBOX)).next_multiple_of(PAGE)
}

/// The result of [`Endpoint::share_in_groups`], and the groups for which it was made.
pub(in crate::fabric) struct Grouped {
    leader_of: Vec<u32>,
    group: Option<Arc<GroupMemory>>,
}

impl Endpoint {
    /// Maps memory that the ranks with the same leader share, with `area` bytes for the users. `leader_of[rank]` is the
    /// lowest rank of the rank's group. Returns `None` on all ranks if the ranks of a group are on several hosts or there is
    /// no memory on one host. `spins` is true if every rank of this host has a core. Collective, with the same arguments
    /// except `spins`. Costs a message from each leader to each of its ranks, and an allreduce; nothing if the groups are the
    /// same as in the last call.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub async fn share_in_groups(
        &mut self,
        leader_of: &[u32],
        area: usize,
        spins: bool,
    ) -> Result<Option<Arc<GroupMemory>>> {
        if let Some(made) = self.grouped.as_ref().filter(|made| made.leader_of == leader_of) {
            return Ok(made.group.clone());
        }
        let me = self.rank();
        let members: Vec<Rank> = (0..leader_of.len()).filter(|&rank| leader_of[rank] == leader_of[me]).collect();
        let head = head(members.len());
        let memory = self.map_in_group(&members, head, head + area).await?;
        let mut all = [u64::from(memory.is_some())];
        crate::collectives::allreduce(self, &[ReduceOp::Min], &mut all).await?;
        let memory = memory.filter(|_| all[0] == 1);
        let me = members.partition_point(|&member| member < me);
        let group = memory.map(|memory| {
            Arc::new(GroupMemory { members, me, memory: Arc::new(memory), spins, calls: AtomicU64::new(0) })
        });
        self.grouped = Some(Grouped { leader_of: leader_of.to_vec(), group: group.clone() });
        Ok(group)
    }

    /// Makes the memory on the leader, with `reserved` bytes reserved, and maps it on the other members.
    pub(super) async fn map_in_group(
        &mut self,
        members: &[Rank],
        reserved: usize,
        size: usize,
    ) -> Result<Option<SharedMemory>> {
        let (leader, host) = (members[0], self.node_label() as u64);
        let (mut builder, mut buffers) = (Builder::default(), Buffers::default());
        if self.rank() != leader {
            builder.receive(leader, Span::new(Buffer::Receive, 0, ADDRESS as u64), &[]);
            self.run(builder.finish(), &mut buffers, TAG).await?;
            let received = buffers.take(Buffer::Receive);
            let number =
                |at: usize| received.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
            let (Some(there), Some(process), Some(descriptor)) = (number(0), number(8), number(16)) else {
                return Err(Error::fabric(format!("the address of shared memory has {} bytes", received.len())));
            };
            let here = process > 0 && there == host;
            return Ok(here.then(|| SharedMemory::open((process as u32, descriptor as i32), size).ok()).flatten());
        }
        let made = SharedMemory::make(size).and_then(|made| made.reserve(0, reserved).map(|()| made)).ok();
        let (process, descriptor) = made.as_ref().map_or((0, 0), SharedMemory::address);
        let address = [host, u64::from(process), descriptor as u64].map(u64::to_le_bytes).concat();
        buffers.set(Buffer::Send, address);
        for &member in &members[1..] {
            builder.send(member, SendMode::Standard, Span::new(Buffer::Send, 0, ADDRESS as u64), &[]);
        }
        self.run(builder.finish(), &mut buffers, TAG).await?;
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::threads;
    use std::pin::pin;

    #[test]
    fn messages_of_any_size_go_there_and_back() {
        let body = |member: usize, back: usize| {
            let len = [0, 1, MAILBOX - 8, MAILBOX + 1, 5 * MAILBOX + 77][(member + back) % 5];
            (0..len).map(|at| (at % 251 + member + back) as u8).collect::<Vec<_>>()
        };
        threads::run(7, |transport| {
            let mut endpoint = Endpoint::new(transport);
            let leader_of = [0, 0, 0, 3, 4, 4, 4];
            let waiting = endpoint.waiting().clone();
            waiting.wait(pin!(async {
                let group = endpoint.share_in_groups(&leader_of, 1 << 20, false).await.unwrap().unwrap();
                let second = endpoint.share_in_groups(&leader_of, 1 << 20, false).await.unwrap().unwrap();
                assert!(Arc::ptr_eq(&group, &second));
                for round in 0..10 {
                    if !group.leads() {
                        group.put(&mut endpoint, group.me(), &body(group.me(), round)).await.unwrap();
                        let back = group.take(&mut endpoint, group.me()).await.unwrap();
                        assert!(back == body(group.me(), round + 2));
                        continue;
                    }
                    for member in 1..group.members().len() {
                        assert!(group.take(&mut endpoint, member).await.unwrap() == body(member, round));
                    }
                    for member in 1..group.members().len() {
                        group.put(&mut endpoint, member, &body(member, round + 2)).await.unwrap();
                    }
                }
            }));
        })
        .unwrap();
    }
}
