//! Section III.B without its approximations: the two spread-out algorithms, one port a rank, every transfer N(1,
//! sigma^2).

use crate::collectives::Rates;
use crate::timing::{Step, one_port_steps};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, StandardNormal};
use serde::Deserialize;
use tributary::Rank;
use tributary::exchange::{Exchange, Kernel, RankList, ReceiverIndex, Transfer};
use tributary::schedule::{Buffer, Schedule, Span, Throttle};

use crate::papers::{Context, PapersError, Parameters, Values};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoisyCase {
    kernels: Vec<String>,
    ranks: usize,
    /// Number of receivers: ranks 0 to `receivers` - 1.
    receivers: usize,
    sigma: f64,
    samples: u64,
}

/// Number of bytes of a transfer of mean length.
const UNIT: f64 = 1e6;

/// Measures, by kernel, how much later than after p - 1 mean transfers a receiver has all messages, in units of a
/// transfer: the mean over receivers and samples. O(samples x ranks x receivers).
pub(super) fn delay(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let case: NoisyCase = with.read()?;
    case.kernels.iter().map(|kernel| Ok((kernel.clone(), case.delay_of(kernel.parse()?)?))).collect()
}

impl NoisyCase {
    fn delay_of(&self, kernel: &Kernel) -> Result<f64, PapersError> {
        let rates = Rates { startup: 0.0, byte: 1.0 / UNIT, combine: 0.0 };
        let mut sum = 0.0;
        for sample in 0..self.samples {
            let steps = one_port_steps(self.schedules(kernel, sample)?, &rates)
                .ok_or_else(|| PapersError::new("the schedules wait for ever"))?;
            let mut ends = vec![0.0; self.receivers];
            for step in steps {
                if let Step::Message { end, to: (to, _), .. } = step {
                    ends[to] = end;
                }
            }
            sum += ends.iter().sum::<f64>() / ends.len() as f64 - (self.ranks - 1) as f64;
        }
        Ok(sum / self.samples as f64)
    }

    /// Returns schedules with random message lengths, which stand for random transfer times.
    fn schedules(&self, kernel: &Kernel, sample: u64) -> Result<Vec<Schedule>, PapersError> {
        let mut random = SmallRng::seed_from_u64(sample);
        let mut length = || {
            let normal: f64 = StandardNormal.sample(&mut random);
            ((1.0 + self.sigma * normal).max(0.0) * UNIT) as u64
        };
        let lengths: Vec<Vec<u64>> = (0..self.ranks).map(|_| (0..self.receivers).map(|_| length()).collect()).collect();
        let span = |bytes: u64| Span::new(Buffer::Send, 0, bytes);
        let receivers: Vec<Rank> = (0..self.receivers).collect();
        let rank_list = RankList::Identity;
        let schedule = |rank: Rank| {
            let sends: Vec<_> = (0..self.receivers)
                .map(|to| Transfer { peer: ReceiverIndex(to), span: span(lengths[rank][to]) })
                .collect();
            let from = if rank < self.receivers { self.ranks } else { 0 };
            let receives: Vec<_> = (0..from).map(|peer| Transfer { peer, span: span(lengths[peer][rank]) }).collect();
            let exchange = Exchange {
                rank,
                ranks: self.ranks,
                receivers: &receivers,
                rank_list: &rank_list,
                sends: &sends,
                receives: &receives,
            };
            exchange.schedule(kernel, Throttle::batch(1))
        };
        Ok((0..self.ranks).map(schedule).collect())
    }
}
