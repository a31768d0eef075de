//! The hosts of the ranks. On each host, the ranks contribute to a leader, which communicates with the other hosts.
//!
//! The lowest rank of a host is its *leader*. The ranks write their contributions into their slots ([`super::combine`]). The
//! last of them wakes the leader. The leader reads all slots, communicates with the other leaders, and writes an answer that
//! all ranks of the host read.

use std::io;
use std::sync::Arc;

use tributary_base::wire::frame::LENGTH;

use super::combine::{MOST_RANKS, SLOT, Shared, head};
use super::host::processors;
use super::memory::SharedMemory;
use crate::drivers::size_limit;
use crate::error::Result;
use crate::fabric::Endpoint;
use crate::schedule::ReduceOp;
use crate::topology::{Node, Rank, Topology};

/// Maximum number of bytes of a rank's contribution, and of a leader's answer, without their length
/// ([`wire::frame`](tributary_base::wire::frame)).
pub const MAX_CONTRIBUTION: usize = SLOT - LENGTH;

/// The hosts of all ranks, and the shared memory of this host.
#[derive(Debug)]
pub struct Hosts {
    /// Hosts of the ranks. The lowest rank of a host is its leader.
    topology: Topology,
    /// Number of this rank's host.
    host: Node,
    /// Memory that the ranks of this host share; `None` if this rank is the only one of its host and there are other
    /// hosts, or if hosts share no memory.
    here: Option<Arc<Shared>>,
    /// True if each rank of this host has a core of its own, as far as is known.
    spins: bool,
    /// Reason why ranks of one host share no memory although they should, as far as this rank knows.
    refusal: Option<String>,
}

impl Hosts {
    /// Returns hosts with one rank each.
    ///
    /// # Errors
    /// There are no ranks.
    pub fn one_rank_each(rank: Rank, ranks: usize) -> Result<Self> {
        Ok(Self { topology: Topology::blocks(ranks, 1)?, host: rank, here: None, spins: false, refusal: None })
    }

    /// Returns the number of hosts.
    pub fn count(&self) -> usize {
        self.topology.nodes()
    }

    /// Returns the leader of a host.
    pub fn leader(&self, host: Node) -> Rank {
        self.topology.rank_at(host, 0)
    }

    /// Returns true if each rank of this host has a core of its own, as far as is known.
    pub fn spins(&self) -> bool {
        self.spins
    }

    /// Returns the reason why ranks of one host share no memory although they should, as far as this rank knows.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Returns the number of this rank's host. Hosts are in the order of their leaders.
    pub fn host(&self) -> Node {
        self.host
    }

    /// Returns true if this rank is the leader of its host.
    pub fn leads(&self) -> bool {
        self.here.as_ref().is_none_or(|here| here.place() == 0)
    }

    /// Returns true if at least two ranks count as ranks of one host and share memory.
    pub fn shares(&self) -> bool {
        self.topology.nodes() < self.topology.ranks()
    }

    /// Returns the memory that the ranks of this host share; `None` if this rank is the only one of its host and there
    /// are other hosts, or if hosts share no memory.
    pub fn here(&self) -> Option<&Arc<Shared>> {
        self.here.as_ref()
    }

    /// Returns, on a leader after [`Endpoint::await_contributions`], the slots of the other ranks of its host, in rank
    /// order.
    pub fn contributions(&self) -> impl Iterator<Item = &[u8]> {
        let slots = self.here.iter().map(|here| here.handed_in());
        slots.flat_map(|slots| (1..slots.ranks()).map(move |place| slots.slot(place)))
    }

    /// Sends an answer of at most a slot to all ranks of this host. Only the leader of the host may call it. The other
    /// ranks may then contribute to the next agreement.
    pub fn answer(&self, answer: &[u8]) {
        if let Some(here) = &self.here {
            here.answer(|decision| decision[..answer.len()].copy_from_slice(answer));
        }
    }
}

/// Returns the memory that the ranks of a host share: on the leader the memory that it has offered, on other ranks a
/// mapping of the leader's memory. `here` are the ranks of the host, `leader` is the address of the leader's memory.
///
/// # Errors
/// The reason why there is no memory.
fn take(
    offer: MemoryOffer,
    rank: Rank,
    here: &[Rank],
    leader: HostAddress,
) -> std::result::Result<SharedMemory, String> {
    let MemoryOffer { memory, size, area, reserved, .. } = offer;
    let head = head(here.len());
    debug_assert!(head + area <= size, "the memory has room for all ranks");
    match rank == here[0] {
        true => {
            let memory = memory?;
            memory.reserve(0, head + reserved).map_err(|cause| lacking(&cause, head + reserved))?;
            Ok(memory)
        }
        false if leader.process == 0 => Err(format!("rank {}, the first of this host, could not make any", here[0])),
        false => SharedMemory::open((leader.process, leader.descriptor), size).map_err(|cause| {
            format!("/proc/{}/fd/{} of rank {}: open: {cause}", leader.process, leader.descriptor, here[0])
        }),
    }
}

/// Returns the text that explains why the system gave no memory of `size` bytes.
fn lacking(cause: &io::Error, size: usize) -> String {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let (needed, limit) = (mib(size as u64), size_limit());
    match limit.filter(|&limit| limit < size as u64) {
        Some(limit) => format!(
            "the limit of file size (RLIMIT_FSIZE, ulimit -f) is {:.0} MiB; {needed:.0} MiB are needed",
            mib(limit)
        ),
        None => format!("memfd of {needed:.0} MiB: {cause}"),
    }
}

/// The address by which other ranks can share memory with a rank: the rank's host, and memory that the rank has made in
/// case it is the leader of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostAddress {
    /// Label of the rank's host.
    label: u64,
    /// Process and file descriptor of the memory; process 0 if there is no memory.
    process: u32,
    descriptor: i32,
}

impl HostAddress {
    /// Number of integers of the encoding.
    pub const INTEGERS: usize = 2;

    /// Returns the encoded address.
    pub fn to_integers(self) -> [u64; Self::INTEGERS] {
        [self.label, u64::from(self.process) | u64::from(self.descriptor as u32) << 32]
    }

    /// Decodes an address that [`HostAddress::to_integers`] encoded.
    pub fn from_integers([label, address]: [u64; Self::INTEGERS]) -> Self {
        Self { label, process: address as u32, descriptor: (address >> 32) as i32 }
    }

    /// Returns the label of the rank's host.
    pub fn label(self) -> usize {
        self.label as usize
    }
}

/// Memory that a rank offers to share with the ranks of its host.
pub struct MemoryOffer {
    /// True if the rank takes part in sharing.
    shares: bool,
    /// The memory, or the reason why there is none.
    memory: std::result::Result<SharedMemory, String>,
    /// Number of bytes of the whole memory.
    size: usize,
    /// Number of bytes of the area for users, at the end of the memory.
    area: usize,
    /// Number of bytes at the start of the area for users that the leader reserves.
    reserved: usize,
    /// Address of the memory, which this rank sends to all others.
    pub address: HostAddress,
}

#[cfg(test)]
impl MemoryOffer {
    /// Changes the offer to that of a rank on a host with this label.
    pub fn on(mut self, label: usize) -> Self {
        self.address.label = label as u64;
        self
    }
}

/// Defines which ranks count as ranks of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostsAre {
    /// Ranks on a real host count as ranks of one host.
    Real,
    /// This number of consecutive ranks counts as a host. They share memory only if they are on one real host.
    Pretended(usize),
}

impl Endpoint {
    /// Makes memory that this rank offers to its host, unless `shares` is false. The area for users, which follows the
    /// slots, has `area` bytes, of which the leader will reserve the first `reserved`. Local; a lack of memory is no
    /// error.
    pub fn offer(&self, shares: bool, (reserved, area): (usize, usize)) -> MemoryOffer {
        let size = head(self.ranks().min(MOST_RANKS)) + area;
        let memory = match shares {
            true => SharedMemory::make(size).map_err(|cause| lacking(&cause, size)),
            false => Err("it does not take part".to_string()),
        };
        let (process, descriptor) = memory.as_ref().map_or((0, 0), SharedMemory::address);
        let address = HostAddress { label: self.node_label() as u64, process, descriptor };
        MemoryOffer { shares, memory, size, area, reserved, address }
    }

    /// Finds the hosts of all ranks from the host addresses `all`, and maps the memory of the lowest rank of each host.
    /// If one host has no memory to share, no host shares memory: every rank then counts as a host of its own.
    /// Collective, with the same arguments except the offer. An allreduce.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub async fn settle(&mut self, hosts: HostsAre, offer: MemoryOffer, all: Vec<HostAddress>) -> Result<Arc<Hosts>> {
        let (rank, ranks) = (self.rank(), all.len());
        let real = Topology::listed(&all.iter().map(|one| one.label()).collect::<Vec<_>>())?;
        let topology = match hosts {
            HostsAre::Real => real.clone(),
            HostsAre::Pretended(each) => Topology::blocks(ranks, each.max(1))?,
        };
        let host = topology.node_of(rank);
        let here: Vec<Rank> = (0..topology.ranks_on(host)).map(|index| topology.rank_at(host, index)).collect();
        let are_together = here.iter().all(|&other| real.node_of(other) == real.node_of(rank));
        let is_wanted = offer.shares && are_together && here.len() <= MOST_RANKS;
        let is_only_rank = here.len() == 1 && ranks > 1;
        let process = std::process::id();
        let has_threads = here.iter().any(|&other| other != rank && all[other].process == process);
        let leader = all[here[0]];
        // The addresses of all ranks are many bytes, and nobody needs them from here on.
        drop(all);
        let memory = (is_wanted && !is_only_rank).then(|| take(offer, rank, &here, leader));
        let (memory, refusal) = match memory {
            Some(Ok(memory)) => (Some(memory), Some("other ranks have none".to_string())),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        let mut shared = [u64::from(is_only_rank || memory.is_some())];
        crate::collectives::allreduce(self, &[ReduceOp::Min], &mut shared).await?;
        let cores = if hosts == HostsAre::Real { here.len() } else { ranks };
        let spins = cores <= processors();
        let found = if shared[0] == 1 {
            let is_whole = here.len() == ranks;
            let shared = |memory| Shared::new(rank, (here, is_whole), memory, spins).with_threads(has_threads);
            Hosts { topology, host, here: memory.map(|memory| Arc::new(shared(memory))), spins, refusal: None }
        } else {
            Hosts { spins, refusal, ..Hosts::one_rank_each(rank, ranks)? }
        };
        let found = Arc::new(found);
        self.set_hosts(hosts, found.clone(), real);
        Ok(found)
    }

    /// Returns the hosts if they were found before with the same `hosts`; otherwise finds them. `sizes` are (reserved,
    /// area) as for [`Endpoint::offer`]. Collective, with the same arguments: an allgather of 16 bytes a rank and an
    /// allreduce, or nothing.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub async fn find_hosts(&mut self, hosts: HostsAre, sizes: (usize, usize)) -> Result<Arc<Hosts>> {
        if let Some(found) = self.hosts.as_ref().filter(|(made, _)| *made == hosts) {
            return Ok(found.1.clone());
        }
        let offer = self.offer(true, sizes);
        let all = self.all_addresses(offer.address).await?;
        self.settle(hosts, offer, all).await
    }

    /// Returns the host addresses of all ranks; `own` is the address of this rank. Collective: an allgather of 16 bytes
    /// a rank.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub async fn all_addresses(&mut self, own: HostAddress) -> Result<Vec<HostAddress>> {
        let all = crate::collectives::allgather(self, &own.to_integers().map(u64::to_le_bytes).concat()).await?;
        let integers: Vec<u64> = all.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        Ok(integers.as_chunks().0.iter().map(|address| HostAddress::from_integers(*address)).collect())
    }

    /// Contributes on a rank that is not a leader: `leave` fills this rank's slot. Returns when the leader's answer is
    /// the decision of the host's memory. Every other rank of the host must contribute, and the leader must answer.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub async fn contribute(&mut self, hosts: &Hosts, leave: impl FnOnce(&mut [u8])) -> Result<()> {
        let Some(here) = &hosts.here else { return Ok(()) };
        let seen = here.hand_in(leave);
        self.wait_for_change(here.generation(), seen, here.spins()).await
    }

    /// Waits, on a leader, until all other ranks of its host have contributed.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub async fn await_contributions(&mut self, hosts: &Hosts) -> Result<()> {
        let Some(here) = hosts.here.as_ref().filter(|here| here.ranks().len() > 1) else { return Ok(()) };
        let (arrived, seen) = here.others_arrived();
        self.wait_for_change(arrived, seen, here.spins()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tributary_base::wire::{Output, frame};

    use crate::fabric::threads;
    use std::pin::pin;

    #[test]
    fn contributions_are_answered_host_by_host() {
        threads::run(8, |transport| {
            let mut endpoint = Endpoint::new(transport);
            let (me, waiting) = (endpoint.rank(), endpoint.waiting().clone());
            let label = [7, 9, 7, 7, 9, 1, 7, 9][me];
            waiting.wait(pin!(async {
                let offer = endpoint.offer(true, (0, 0)).on(label);
                let all = endpoint.all_addresses(offer.address).await.unwrap();
                assert_eq!(all[me], offer.address);
                let hosts = endpoint.settle(HostsAre::Real, offer, all).await.unwrap();
                assert_eq!((0..hosts.count()).map(|host| hosts.leader(host)).collect::<Vec<_>>(), [0, 1, 5]);
                assert_eq!(hosts.leader(hosts.host()), [0, 1, 0, 0, 1, 5, 0, 1][me]);
                assert_eq!(hosts.leads(), [0, 1, 5].contains(&me));
                assert_eq!(hosts.here().is_some_and(|here| here.has_threads()), me != 5);
                assert!(hosts.shares());
                for round in 0..200 {
                    let own = vec![me as u8; (round * 97 + me) % MAX_CONTRIBUTION];
                    let expected = vec![round as u8; (round * 61) % MAX_CONTRIBUTION];
                    if hosts.leads() {
                        endpoint.await_contributions(&hosts).await.unwrap();
                        let others: Vec<Rank> =
                            (0..8).filter(|&rank| rank != me && hosts.topology.node_of(rank) == hosts.host()).collect();
                        assert_eq!(hosts.contributions().count(), others.len());
                        for (slot, rank) in hosts.contributions().zip(others) {
                            assert_eq!(frame::get(slot), vec![rank as u8; (round * 97 + rank) % MAX_CONTRIBUTION]);
                        }
                        let mut answer = vec![0; LENGTH + expected.len()];
                        frame::put(&mut answer, |out| out.bytes(&expected));
                        hosts.answer(&answer);
                    } else {
                        let leave = |slot: &mut [u8]| _ = frame::put(slot, |out| out.bytes(&own));
                        endpoint.contribute(&hosts, leave).await.unwrap();
                        assert_eq!(frame::get(hosts.here().unwrap().combined().decision()), expected);
                    }
                }
            }));
        })
        .unwrap();
    }
}
