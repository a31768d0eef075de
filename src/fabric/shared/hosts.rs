//! The hosts of the ranks. On each host, the ranks contribute to a leader, which communicates with the other hosts.
//!
//! The lowest rank of a host is its *leader*. The ranks write their contributions into their slots ([`super::meeting`]); the
//! last of them wakes the leader, which reads all slots, communicates with the other leaders, and writes an answer that all
//! ranks of the host read.

use std::sync::Arc;

use super::meeting::{MOST_RANKS, SLOT, Shared, head};
use crate::error::Result;
use crate::fabric::Endpoint;
use crate::schedule::ReduceOp;
use crate::topology::Rank;

/// Bytes of the length before a contribution and before an answer.
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
    here: Option<Arc<Shared>>,
    /// Whether the ranks of this host have a core each, for all that is known.
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
        self.here.as_ref().is_none_or(|here| here.place() == 0)
    }

    /// Whether any ranks share a host.
    pub fn shares(&self) -> bool {
        self.leaders.len() < self.labels.len()
    }

    /// The memory of the ranks of this host; `None` if this rank is alone there, or hosts share no memory.
    pub fn here(&self) -> Option<&Arc<Shared>> {
        self.here.as_ref()
    }

    /// On a leader, after [`Endpoint::await_contributions`]: the contributions of the other ranks of its host, in rank order.
    pub fn contributions(&self) -> impl Iterator<Item = &[u8]> {
        let slots = self.here.iter().map(|here| here.handed_in());
        slots.flat_map(|slots| (1..slots.ranks()).map(move |place| sized(slots.of(place))))
    }

    /// On a leader: answers all ranks of its host, with at most [`MAX_CONTRIBUTION`] bytes. They may then contribute again.
    pub fn answer(&self, answer: &[u8]) {
        if let Some(here) = &self.here {
            here.answer(|verdict| put_sized(verdict, answer));
        }
    }
}

/// Puts bytes and, before them, their length.
fn put_sized(place: &mut [u8], bytes: &[u8]) {
    assert!(bytes.len() <= MAX_CONTRIBUTION, "{} bytes for a slot of {MAX_CONTRIBUTION}", bytes.len());
    place[..LENGTH].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    place[LENGTH..][..bytes.len()].copy_from_slice(bytes);
}

/// The bytes that [`put_sized`] put. The length is bounded in case another process damaged it.
fn sized(place: &[u8]) -> &[u8] {
    let (length, bytes) = place.split_at(LENGTH);
    let length = u64::from_le_bytes(length.try_into().unwrap_or_default());
    &bytes[..(length as usize).min(MAX_CONTRIBUTION)]
}

impl Endpoint {
    /// Finds the ranks of each host, by `label` or the fabric's label, and maps memory for each host. If the memory cannot be
    /// had on one host, every rank counts as a host of its own. `spins` says whether a number of ranks have a core each on this
    /// host. The memory's area for users has `area` bytes, of which the first `reserved` are reserved. Collective, with the same
    /// `key` and sizes. An allgather of 8 bytes, a message from each leader to each of its ranks, and an
    /// allreduce; nothing if `key` is that of the last call.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn find_hosts(
        &mut self,
        key: usize,
        label: Option<usize>,
        (reserved, area): (usize, usize),
        spins: impl FnOnce(usize) -> bool,
    ) -> Result<Arc<Hosts>> {
        if let Some((_, hosts)) = self.hosts_by_key().filter(|(made, _)| *made == key) {
            return Ok(hosts.clone());
        }
        let labels = self.all_labels(label.unwrap_or_else(|| self.node_label())).await?;
        let (rank, own) = (self.rank(), labels[self.rank()]);
        let here: Vec<Rank> = (0..labels.len()).filter(|&rank| labels[rank] == own).collect();
        let head = head(here.len());
        let memory = self.map_in_group(&here, head + reserved, head + area).await?;
        let memory = memory.filter(|_| here.len() <= MOST_RANKS);
        let mut all = [u64::from(here.len() == 1 || memory.is_some())];
        crate::collectives::allreduce(self, &[ReduceOp::Min], &mut all).await?;
        let mut hosts = Hosts::one_rank_each(rank, labels.len());
        hosts.spins = spins(here.len());
        if all[0] == 1 {
            let mut seen = std::collections::HashSet::new();
            hosts.leaders = (0..labels.len()).filter(|&rank| seen.insert(labels[rank])).collect();
            hosts.host = hosts.leaders.partition_point(|&leader| leader < here[0]);
            hosts.here = memory.map(|memory| Arc::new(Shared::new(rank, here, memory, hosts.spins)));
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
        let here = here.clone();
        let seen = here.hand_in(|slot| put_sized(slot, body));
        self.wait_for_change(here.generation(), seen, here.spins()).await?;
        Ok(sized(here.met().verdict()).to_vec())
    }

    /// On a leader: waits until all other ranks of its host have contributed.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn await_contributions(&mut self, hosts: &Hosts) -> Result<()> {
        let Some(here) = &hosts.here else { return Ok(()) };
        let (arrived, seen) = here.others_arrived();
        self.wait_for_change(arrived, seen, here.spins()).await
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
                let hosts = endpoint.find_hosts(1, Some(label), (0, 0), |_| false).await.unwrap();
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
