//! The hosts of the ranks. On each host, the ranks contribute to a leader, which communicates with the other hosts.
//!
//! The lowest rank of a host is its *leader*. The host's shared memory has a slot for every rank. The ranks write their
//! contributions into their slots; the last of them wakes the leader, which reads all slots, communicates with the other
//! leaders, and writes an answer that all ranks of the host read. A rank writes its slot again only after the answer, and the
//! leader writes an answer only after all have contributed, so one set of slots is enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::memory::SharedMemory;
use super::signal::Signal;
use crate::error::Result;
use crate::fabric::Endpoint;
use crate::schedule::ReduceOp;
use crate::topology::Rank;

const LINE: usize = 64;
const PAGE: usize = 4096;
/// Offsets of the signal that all have contributed, of their count, and of the signal that the answer is there.
const ALL_ARRIVED: usize = 0;
const ARRIVED: usize = LINE;
const ANSWERED: usize = 2 * LINE;
/// Offsets of the answer and of the slots; each begins with its length.
const ANSWER: usize = PAGE;
const SLOTS: usize = ANSWER + SLOT;
const SLOT: usize = 16 << 10;
const LENGTH: usize = 8;
/// Most bytes of a rank's contribution, and of a leader's answer.
pub const MAX_CONTRIBUTION: usize = SLOT - LENGTH;

/// The hosts of all ranks, and the shared memory of this host.
#[derive(Debug)]
pub struct Hosts {
    /// A label of each rank's host.
    labels: Vec<usize>,
    /// The leaders, ascending.
    leaders: Vec<Rank>,
    /// This rank's host, as an index into the leaders.
    host: usize,
    /// The memory of this host; `None` if this rank is alone there.
    here: Option<Here>,
    /// Whether the ranks of this host have a core each, for all that is known.
    spins: bool,
}

#[derive(Debug)]
struct Here {
    /// This rank's number among those of its host; the leader has 0.
    me: usize,
    ranks: usize,
    memory: SharedMemory,
    spins: bool,
}

impl Hosts {
    /// Every rank on a host of its own.
    pub fn one_rank_each(rank: Rank, ranks: usize) -> Self {
        Self { labels: (0..ranks).collect(), leaders: (0..ranks).collect(), host: rank, here: None, spins: false }
    }

    /// A label of each rank's host.
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// The leaders of all hosts, ascending.
    pub fn leaders(&self) -> &[Rank] {
        &self.leaders
    }

    /// Whether the ranks of this host have a core each, for all that is known.
    pub fn spins(&self) -> bool {
        self.spins
    }

    /// This rank's host, as an index into [`Hosts::leaders`].
    pub fn host(&self) -> usize {
        self.host
    }

    /// Whether this rank is the leader of its host.
    pub fn leads(&self) -> bool {
        self.here.as_ref().is_none_or(|here| here.me == 0)
    }

    /// Whether any ranks share a host.
    pub fn shares(&self) -> bool {
        self.leaders.len() < self.labels.len()
    }

    /// On a leader, after [`Endpoint::await_contributions`]: the contributions of the other ranks of its host, in rank order.
    pub fn contributions(&self) -> impl Iterator<Item = &[u8]> {
        self.here.iter().flat_map(|here| (1..here.ranks).map(|member| here.get(SLOTS + member * SLOT)))
    }

    /// On a leader: answers all ranks of its host, with at most [`MAX_CONTRIBUTION`] bytes. They may then contribute again.
    pub fn answer(&self, answer: &[u8]) {
        if let Some(here) = &self.here {
            here.put(ANSWER, answer);
            here.signal(ANSWERED).advance();
        }
    }
}

impl Here {
    fn signal(&self, at: usize) -> Signal<'_> {
        Signal::new(self.memory.word(at), self.memory.word(at + 4))
    }

    fn arrived(&self) -> &AtomicU32 {
        self.memory.word(ARRIVED)
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        assert!(bytes.len() <= MAX_CONTRIBUTION, "{} bytes for a slot of {MAX_CONTRIBUTION}", bytes.len());
        let place = self.memory.at(at);
        // SAFETY: reserved; a slot belongs to its rank until it has contributed, the answer to the leader until it has answered.
        unsafe {
            place.cast::<u64>().write(bytes.len() as u64);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.add(LENGTH), bytes.len());
        }
    }

    fn get(&self, at: usize) -> &[u8] {
        let place = self.memory.at(at);
        // SAFETY: reserved, and written before the signal that the reader has seen; nobody writes it before the reader
        // contributes or answers again. The length is bounded in case another process damaged it.
        unsafe {
            let len = (place.cast::<u64>().read() as usize).min(MAX_CONTRIBUTION);
            std::slice::from_raw_parts(place.add(LENGTH), len)
        }
    }
}

impl Endpoint {
    /// Finds the ranks of each host, by `label` or the fabric's label, and maps memory for each host. If the memory cannot be
    /// had on one host, every rank counts as a host of its own. `spins` says whether a number of ranks have a core each on this
    /// host. Collective, with the same `key`. An allgather of 8 bytes, a message from each leader to each of its ranks, and an
    /// allreduce; nothing if `key` is that of the last call.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn find_hosts(
        &mut self,
        key: usize,
        label: Option<usize>,
        spins: impl FnOnce(usize) -> bool,
    ) -> Result<Arc<Hosts>> {
        if let Some((_, hosts)) = self.hosts_by_key().filter(|(made, _)| *made == key) {
            return Ok(hosts.clone());
        }
        let labels = self.all_labels(label.unwrap_or_else(|| self.node_label())).await?;
        let (rank, own) = (self.rank(), labels[self.rank()]);
        let here: Vec<Rank> = (0..labels.len()).filter(|&rank| labels[rank] == own).collect();
        let memory = self.map_in_group(&here, SLOTS + here.len() * SLOT, SLOTS + here.len() * SLOT).await?;
        let mut all = [u64::from(here.len() == 1 || memory.is_some())];
        crate::collectives::allreduce(self, &[ReduceOp::Min], &mut all).await?;
        let mut hosts = Hosts::one_rank_each(rank, labels.len());
        hosts.spins = spins(here.len());
        if all[0] == 1 {
            let mut seen = std::collections::HashSet::new();
            hosts.leaders = (0..labels.len()).filter(|&rank| seen.insert(labels[rank])).collect();
            hosts.host = hosts.leaders.partition_point(|&leader| leader < here[0]);
            let (me, ranks) = (here.partition_point(|&other| other < rank), here.len());
            hosts.here = memory.map(|memory| Here { me, ranks, memory, spins: hosts.spins });
        }
        hosts.labels = labels;
        let hosts = Arc::new(hosts);
        self.set_hosts(key, hosts.clone());
        Ok(hosts)
    }

    /// An allgather of the ranks' labels.
    async fn all_labels(&mut self, own: usize) -> Result<Vec<usize>> {
        let all = crate::collectives::allgather(self, &[], &(own as u64).to_le_bytes()).await?;
        Ok(all.as_chunks::<8>().0.iter().map(|label| u64::from_le_bytes(*label) as usize).collect())
    }

    /// On a rank that is not a leader: contributes `body`, at most [`MAX_CONTRIBUTION`] bytes, and waits for the answer. Every
    /// other rank of the host must contribute, and the leader answer.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn contribute(&mut self, hosts: &Hosts, body: &[u8]) -> Result<Vec<u8>> {
        let Some(here) = &hosts.here else { return Ok(Vec::new()) };
        let answered = here.signal(ANSWERED);
        let seen = answered.get();
        here.put(SLOTS + here.me * SLOT, body);
        if here.arrived().fetch_add(1, Ordering::AcqRel) + 2 == here.ranks as u32 {
            here.arrived().store(0, Ordering::Relaxed);
            here.signal(ALL_ARRIVED).advance();
        }
        self.wait_for_change(answered, seen, here.spins).await?;
        Ok(here.get(ANSWER).to_vec())
    }

    /// On a leader: waits until all other ranks of its host have contributed.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn await_contributions(&mut self, hosts: &Hosts) -> Result<()> {
        let Some(here) = &hosts.here else { return Ok(()) };
        // The signal has advanced as often as answers were given.
        let seen = here.signal(ANSWERED).get();
        self.wait_for_change(here.signal(ALL_ARRIVED), seen, here.spins).await
    }

    /// Waits until a signal is no longer `seen`, and progresses messages now and then.
    async fn wait_for_change(&mut self, signal: Signal<'_>, seen: u32, spins: bool) -> Result<()> {
        let mut looks = 0u32;
        while signal.get() == seen {
            if looks > 0 {
                self.progress()?;
            }
            looks += 1;
            self.watch(signal.watch(seen, spins)).await;
        }
        self.waiting().event();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::threads;
    use std::pin::pin;

    #[test]
    fn contributions_are_answered_host_by_host() {
        threads::run(8, |transport| {
            let mut endpoint = Endpoint::new(transport);
            let (me, waiting) = (endpoint.rank(), endpoint.waiting().clone());
            let label = [7, 9, 7, 7, 9, 1, 7, 9][me];
            waiting.wait(pin!(async {
                let hosts = endpoint.find_hosts(1, Some(label), |_| false).await.unwrap();
                assert_eq!(hosts.leaders(), [0, 1, 5]);
                assert_eq!(hosts.leaders()[hosts.host()], [0, 1, 0, 0, 1, 5, 0, 1][me]);
                assert_eq!(hosts.leads(), [0, 1, 5].contains(&me));
                assert!(hosts.shares());
                for round in 0..200 {
                    let own = vec![me as u8; (round * 97 + me) % MAX_CONTRIBUTION];
                    let expected = vec![round as u8; (round * 61) % MAX_CONTRIBUTION];
                    if hosts.leads() {
                        endpoint.await_contributions(&hosts).await.unwrap();
                        let others: Vec<Rank> =
                            (0..8).filter(|&rank| rank != me && hosts.labels()[rank] == label).collect();
                        assert_eq!(hosts.contributions().count(), others.len());
                        for (body, rank) in hosts.contributions().zip(others) {
                            assert_eq!(body, vec![rank as u8; (round * 97 + rank) % MAX_CONTRIBUTION]);
                        }
                        hosts.answer(&expected);
                    } else {
                        assert_eq!(endpoint.contribute(&hosts, &own).await.unwrap(), expected);
                    }
                }
            }));
        })
        .unwrap();
    }
}
