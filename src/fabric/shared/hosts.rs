//! The ranks of each host, where they are on several: they hand in to one of them, which speaks with the other hosts.
//!
//! The lowest rank of a host is its *leader*. Its memory has a slot for every rank of the host. The others leave what they
//! have in their slots; the last of them wakes the leader, which takes all of it, does what is to be done with other
//! leaders, and puts an answer where everyone reads it. A rank writes its slot again only after the answer, and the leader
//! writes an answer only after all have come, so one set of slots is enough.

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
/// The signal that all have come, the count of those that have, the signal that the answer is there.
const ALL_CAME: usize = 0;
const CAME: usize = LINE;
const ANSWERED: usize = 2 * LINE;
/// Where the answer and the slots are; each begins with its length.
const ANSWER: usize = PAGE;
const SLOTS: usize = ANSWER + SLOT;
const SLOT: usize = 16 << 10;
const LENGTH: usize = 8;
/// Bytes that a rank may hand in, and that a leader may answer.
pub const HANDED_IN: usize = SLOT - LENGTH;

/// Which ranks are on which host, and the memory of this one's.
#[derive(Debug)]
pub struct Hosts {
    /// A label of each rank's host.
    labels: Vec<usize>,
    /// The leaders, ascending.
    leaders: Vec<Rank>,
    /// This rank's host, as an index into the leaders.
    host: usize,
    /// The memory of this host; none where this rank is alone.
    here: Option<Here>,
    /// Whether the ranks of this host have a core each, for all that is known.
    spins: bool,
}

#[derive(Debug)]
struct Here {
    /// This rank among those of its host; the leader is 0.
    me: usize,
    ranks: usize,
    memory: SharedMemory,
    spins: bool,
}

impl Hosts {
    /// Every rank on a host of its own: nobody hands in.
    pub fn apart(rank: Rank, ranks: usize) -> Self {
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

    /// Whether this rank speaks for its host.
    pub fn leads(&self) -> bool {
        self.here.as_ref().is_none_or(|here| here.me == 0)
    }

    /// Whether any ranks share a host.
    pub fn shares(&self) -> bool {
        self.leaders.len() < self.labels.len()
    }

    /// On a leader, after [`Endpoint::all_handed_in`]: what the others of its host have handed in, in rank order.
    pub fn handed_in(&self) -> impl Iterator<Item = &[u8]> {
        self.here.iter().flat_map(|here| (1..here.ranks).map(|member| here.get(SLOTS + member * SLOT)))
    }

    /// On a leader: gives all of its host the answer, at most [`HANDED_IN`] bytes. They may hand in again.
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

    fn came(&self) -> &AtomicU32 {
        self.memory.word(CAME)
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        assert!(bytes.len() <= HANDED_IN, "{} bytes for a slot of {HANDED_IN}", bytes.len());
        let place = self.memory.at(at);
        // SAFETY: reserved; a slot is its rank's until it has come, the answer is the leader's until it has answered.
        unsafe {
            place.cast::<u64>().write(bytes.len() as u64);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.add(LENGTH), bytes.len());
        }
    }

    fn get(&self, at: usize) -> &[u8] {
        let place = self.memory.at(at);
        // SAFETY: reserved, and written before the signal that the reader has seen; nobody writes it before the reader has
        // come or answered again. The length is bounded in case another process damaged it.
        unsafe {
            let len = (place.cast::<u64>().read() as usize).min(HANDED_IN);
            std::slice::from_raw_parts(place.add(LENGTH), len)
        }
    }
}

impl Endpoint {
    /// Finds out which ranks are on one host, by `label` or, without one, by the fabric's, and maps memory for those of each.
    /// Where that is not to be had on any host, every rank is on its own. For the same `key` as the last time it costs
    /// nothing; else an allgather of 8 bytes, a message from each leader to each of its ranks, and an allreduce. `spins`:
    /// whether so many ranks of this host have a core each. Collective, with the same `key`.
    ///
    /// # Errors
    /// The fabric's.
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
        let mut hosts = Hosts::apart(rank, labels.len());
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

    /// An allgather of labels among ranks that do not yet know who is where.
    async fn all_labels(&mut self, own: usize) -> Result<Vec<usize>> {
        let apart = crate::Topology::blocks(self.ranks(), 1)?;
        let how = &crate::collectives::allgather::BRUCK;
        let all = crate::collectives::allgather(self, &apart, how, &(own as u64).to_le_bytes()).await?;
        Ok(all.as_chunks::<8>().0.iter().map(|label| u64::from_le_bytes(*label) as usize).collect())
    }

    /// On a rank that does not lead: hands in, and waits for the answer. Every rank of the host comes.
    ///
    /// # Errors
    /// The fabric's.
    pub async fn hand_in(&mut self, hosts: &Hosts, body: &[u8]) -> Result<Vec<u8>> {
        let Some(here) = &hosts.here else { return Ok(Vec::new()) };
        let answered = here.signal(ANSWERED);
        let seen = answered.get();
        here.put(SLOTS + here.me * SLOT, body);
        if here.came().fetch_add(1, Ordering::AcqRel) + 2 == here.ranks as u32 {
            here.came().store(0, Ordering::Relaxed);
            here.signal(ALL_CAME).advance();
        }
        self.until(answered, seen, here.spins).await?;
        Ok(here.get(ANSWER).to_vec())
    }

    /// On a leader: waits until the others of its host have handed in for the `number`th time.
    ///
    /// # Errors
    /// The fabric's.
    pub async fn all_handed_in(&mut self, hosts: &Hosts) -> Result<()> {
        let Some(here) = &hosts.here else { return Ok(()) };
        // Answers count the times before this one.
        let seen = here.signal(ANSWERED).get();
        self.until(here.signal(ALL_CAME), seen, here.spins).await
    }

    /// Waits until a signal is no longer `seen`, and looks after messages now and then.
    async fn until(&mut self, signal: Signal<'_>, seen: u32, spins: bool) -> Result<()> {
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
    fn what_is_handed_in_is_answered_host_by_host() {
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
                    let own = vec![me as u8; (round * 97 + me) % HANDED_IN];
                    let expected = vec![round as u8; (round * 61) % HANDED_IN];
                    if hosts.leads() {
                        endpoint.all_handed_in(&hosts).await.unwrap();
                        let others: Vec<Rank> =
                            (0..8).filter(|&rank| rank != me && hosts.labels()[rank] == label).collect();
                        assert_eq!(hosts.handed_in().count(), others.len());
                        for (body, rank) in hosts.handed_in().zip(others) {
                            assert_eq!(body, vec![rank as u8; (round * 97 + rank) % HANDED_IN]);
                        }
                        hosts.answer(&expected);
                    } else {
                        assert_eq!(endpoint.hand_in(&hosts, &own).await.unwrap(), expected);
                    }
                }
            }));
        })
        .unwrap();
    }
}
