//! Exchanges that are measured, and their simulation.

use tributary::exchange::{Exchange, KERNELS, Kernel, RankList, ReceiverIndex, Transfer};
use tributary::schedule::{Buffer, Schedule, SendMode, Span, Throttle};
use tributary::{Error, Rank, Topology};
use tributary_lab::forecast::{AllToMany, AllToManyKernel, AllToManyOptions};
use tributary_lab::sim::{self, Machine};

/// Number of repetitions of an exchange without a barrier.
const ITERATIONS: u32 = 20;

/// Exchange in which all ranks, on one node, send to some of them.
#[derive(Debug, Clone)]
pub struct ValidatedExchange {
    pub ranks: usize,
    pub receivers: usize,
    pub kernel: &'static Kernel,
    /// Number of bytes of each message.
    pub bytes: u64,
    pub iterations: u32,
    /// True if the machine is fitted to this case; otherwise its time is predicted.
    pub fitted: bool,
}

/// Returns the cases of up to `most` ranks. The machine is fitted to small and large messages of two kernels on 2, 4, 8
/// and 16 ranks; the times of all other cases are predicted.
pub fn all(most: usize, quick: bool) -> Vec<ValidatedExchange> {
    let fitted = grid(&["ascending_isend", "ascending_issend"], &[2, 4, 8, 16], &[1, 2], &[64, 8192], true);
    let others = grid(&["balanced", "pairwise"], &[2, 4, 8, 16], &[2], &[64, 2048], false);
    let counts = grid(&["ascending_isend", "ascending_issend"], &[3, 6, 12], &[3], &[512, 4096], false);
    let large = grid(&["spread_out"], &[2, 6, 16], &[1, 4], &[16384], false);
    let all = [fitted, others, counts, large].into_iter().flatten();
    let fits = |case: &ValidatedExchange| case.ranks <= most && case.receivers <= case.ranks;
    let few = |case: &ValidatedExchange| !quick || (case.bytes < 8192 && !case.kernel.coupled);
    all.filter(fits).filter(few).collect()
}

fn grid(kernels: &[&str], ranks: &[usize], receivers: &[usize], bytes: &[u64], fitted: bool) -> Vec<ValidatedExchange> {
    let kernels = KERNELS.iter().copied().filter(|kernel| kernels.contains(&kernel.name));
    let mut cases = Vec::new();
    for kernel in kernels {
        for &ranks in ranks {
            for &receivers in receivers {
                let case =
                    |&bytes| ValidatedExchange { ranks, receivers, kernel, bytes, iterations: ITERATIONS, fitted };
                cases.extend(bytes.iter().map(case));
            }
        }
    }
    cases
}

impl ValidatedExchange {
    /// Returns the schedule of `rank` in one iteration; empty if the rank takes no part. Messages are contiguous in the
    /// send buffer by receiver, and in the receive buffer by sender.
    pub fn schedule(&self, rank: Rank) -> Schedule {
        if rank >= self.ranks {
            return Schedule::default();
        }
        let receivers: Vec<Rank> = (0..self.receivers).map(|index| index * self.ranks / self.receivers).collect();
        let span = |buffer, index| Span::new(buffer, index as u64 * self.bytes, self.bytes);
        let send = |index| Transfer { peer: ReceiverIndex(index), span: span(Buffer::Send, index) };
        let receive = |peer| Transfer { peer, span: span(Buffer::Receive, peer) };
        let receives = if receivers.contains(&rank) { self.ranks } else { 0 };
        let exchange = Exchange {
            rank,
            ranks: self.ranks,
            receivers: &receivers,
            rank_list: &RankList::Identity,
            sends: &(0..self.receivers).map(send).collect::<Vec<_>>(),
            receives: &(0..receives).map(receive).collect::<Vec<_>>(),
        };
        exchange.schedule(self.kernel, Throttle::batch(self.kernel.default_limit.unwrap_or(0)))
    }

    /// Returns the simulated seconds on `machine` with `cores` processors. The simulator gives every rank a processor,
    /// so the result is at least the sum of all work divided by `cores`.
    ///
    /// # Errors
    /// Errors of the simulator.
    pub fn simulated(&self, machine: &Machine, cores: usize) -> Result<f64, Error> {
        let topology = Topology::blocks(self.ranks, self.ranks)?;
        let options = AllToManyOptions {
            topology: topology.clone(),
            receivers: self.receivers,
            way: AllToManyKernel::Flat(self.kernel),
            throttle: None,
            iterations: self.iterations,
            bytes: (self.bytes, self.bytes),
        };
        let outcome = sim::run(machine, &topology, &AllToMany::new(options)?, 0, |_| ())?;
        let work = self.work(machine) + outcome.walked as f64 * machine.host.walk.near;
        Ok(outcome.seconds().total.max(work * 1e-12 / cores as f64))
    }

    /// Returns the work of all processors in picoseconds, without queue searches: messages, and waking sleeping ranks,
    /// which is nearly all of the latency in shared memory. A synchronous message wakes its receiver and then its
    /// sender. With other messages, senders run ahead of a single receiver, which never sleeps; several receivers,
    /// which also send, wait for each other in every iteration.
    fn work(&self, machine: &Machine) -> f64 {
        let host = &machine.host;
        let messages = (self.ranks - 1) as f64;
        let (control, wakes) = match self.kernel.mode {
            SendMode::Synchronous => (2.0 * messages, 2.0 * messages),
            SendMode::Standard => (0.0, if self.receivers > 1 { 1.0 } else { 0.0 }),
        };
        let bytes = self.bytes as f64;
        let message = host.send + host.post_receive + host.receive + bytes * (host.send_byte + host.receive_byte);
        let received = messages * message + control * host.control + wakes * machine.paths[0].short.latency;
        (received + bytes * host.copy_byte) * self.receivers as f64 * f64::from(self.iterations)
    }
}
