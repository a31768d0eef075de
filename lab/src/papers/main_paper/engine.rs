//! A column of figure 5 and a point of figure 4 by the engine itself, in virtual time, with the paper's kernels forced by hints.
//!
//! The engine writes the sampled rounds only, as if the file had no others, and twice as many rounds. What the second write takes
//! longer is what rounds take, and is scaled up to all rounds. Metadata are not scaled: connections and messages are the same for all
//! rounds, and only lists are longer.

use std::sync::Arc;

use tributary::BufferLayout;
use tributary::access::{Extent, Extents};
use tributary::drivers::Domains;
use tributary::engine::Direction;
use tributary_benchmarks::RankAccess;

use super::setting::{Code, E3SM_RANKS, Experiment};
use crate::forecast::{FileDivision, Parts};
use crate::papers::{Context, PapersError};
use crate::runs::Run;

/// A part of the file that is kept: its first byte, the byte past its last, and where it begins among the kept parts.
type KeptPart = (u64, u64, u64);

/// Accesses of all ranks to the sampled rounds.
struct Sampled {
    /// Number of sampled rounds, and of all rounds.
    rounds: (u64, u64),
    accesses: Arc<[Extents]>,
}

impl Experiment {
    /// Returns the times that the engine reports of the write, scaled up to all rounds. Each text of hints runs once.
    pub(super) fn by_engine(self, hints: &str, context: &Context) -> Result<Parts, PapersError> {
        let parts = context.once(&format!("{} by the engine: {hints}", self.key()), || {
            let samples = self.samples(context)?;
            let took = |sampled: &Sampled| {
                let run = Run {
                    machine: (*context.machine(self.machine())?).clone(),
                    topology: self.topology()?,
                    hints: self.hints(&format!("romio_cb_write=enable; trib_host_domains=disable; {hints}"))?,
                    direction: Direction::Write,
                    calls: 0..1,
                    is_sole: true,
                    seed: 1,
                };
                let accesses = sampled.accesses.clone();
                let took = run.with(move |rank, _| {
                    let file = accesses[rank].clone();
                    Ok(RankAccess { requests: file.count(), layout: BufferLayout::Contiguous, file })
                })?;
                let reported = took.reports.iter().map(|report| Parts::reported(&report.seconds)).next();
                let rounds = took.reports.first().map_or(0, |report| report.rounds);
                if rounds != sampled.rounds.0 {
                    return Err(PapersError::new(format!("{} rounds of the engine, not {}", rounds, sampled.rounds.0)));
                }
                Ok((sampled.rounds.0, reported.unwrap_or_default()))
            };
            let all = samples[0].rounds.1 as f64;
            let (few, parts) = took(&samples[0])?;
            let (more, longer) = took(&samples[1])?;
            Ok(parts.extended(&longer, (all - few as f64) / (more - few) as f64))
        })?;
        Ok(*parts)
    }

    /// Returns the accesses to as many rounds as the schedules' simulation samples, and to twice as many.
    fn samples(self, context: &Context) -> Result<Arc<Vec<Sampled>>, PapersError> {
        context.once(&format!("{}: sampled accesses", self.key()), || {
            let pattern = self.pattern()?;
            let division = self.division((0, pattern.totals().file_size))?;
            let (_, all) = division.rounds();
            let few = division.sample as u64;
            if 2 * few > all {
                return Err(PapersError::new(format!("{}: {all} rounds, fewer than {}", self.key(), 2 * few)));
            }
            let kept: Vec<_> = [few, 2 * few]
                .into_iter()
                .map(|rounds| (rounds, kept_parts(&FileDivision { sample: rounds as usize, ..division.clone() })))
                .collect();
            let written = if self.code == Code::E3sm { E3SM_RANKS } else { self.ranks() };
            let (each, more) = (written / self.ranks(), written % self.ranks());
            let first = |rank: usize| rank * each + rank.min(more);
            let mut accesses = vec![Vec::with_capacity(self.ranks()); kept.len()];
            for rank in 0..self.ranks() {
                let mut lists = vec![Vec::new(); kept.len()];
                for from in first(rank)..first(rank + 1) {
                    let file = pattern.rank_access(from, 0)?.file;
                    for (list, (_, parts)) in lists.iter_mut().zip(&kept) {
                        keep(&file, parts, list);
                    }
                }
                for (all, mut list) in accesses.iter_mut().zip(lists) {
                    list.sort_unstable_by_key(|extent| extent.offset);
                    all.push(Extents::from_list(list)?);
                }
            }
            let sampled = |(accesses, (rounds, _)): (Vec<Extents>, _)| Sampled {
                rounds: (rounds, all),
                accesses: accesses.into(),
            };
            Ok(accesses.into_iter().zip(kept).map(sampled).collect())
        })
    }
}

/// Returns the windows of the sampled rounds, ascending.
fn kept_parts(division: &FileDivision) -> Vec<KeptPart> {
    let (rounds, _) = division.rounds();
    match &division.file.domains {
        Domains::Cyclic { stripe, aggregators, stripes } => {
            let len = stripe * aggregators * stripes;
            rounds.iter().zip(0..).map(|(round, at)| (round * len, (round + 1) * len, at * len)).collect()
        }
        Domains::Ranges { bounds, window } => {
            let ranges = bounds.windows(2).enumerate();
            let windows = ranges.flat_map(|(range, ends)| {
                let kept = rounds.len();
                let part = move |(at, round): (usize, &u64)| {
                    let start = ends[0] + round * window;
                    (start, (start + window).min(ends[1]), ((range * kept + at) as u64) * window)
                };
                rounds.iter().enumerate().map(part)
            });
            windows.filter(|(start, end, _)| start < end).collect()
        }
    }
}

/// Adds what lies in the kept parts of the file to `list`.
fn keep(file: &Extents, parts: &[KeptPart], list: &mut Vec<Extent>) {
    for extent in file.iter() {
        let end = extent.offset + extent.len;
        let from = parts.partition_point(|part| part.1 <= extent.offset);
        for &(start, stop, place) in parts[from..].iter().take_while(|part| part.0 < end) {
            let (begin, end) = (extent.offset.max(start), end.min(stop));
            list.push(Extent { offset: place + begin - start, len: end - begin });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::{MetadataForm, SharedFile};
    use crate::sim::Striping;

    fn sampled(domains: &Domains, range: (u64, u64), sample: usize) -> Vec<KeptPart> {
        let striping = Striping { unit: 10, servers: 4 };
        let file =
            SharedFile { aggregators: [0, 1, 2, 3].into(), domains: domains.clone(), range, striping, open_windows: 2 };
        kept_parts(&FileDivision { file, sample, lists: MetadataForm::Pairs })
    }

    #[test]
    fn sampled_windows_of_stripes_keep_their_aggregators() {
        let domains = Domains::Cyclic { stripe: 10, aggregators: 4, stripes: 1 };
        let parts = sampled(&domains, (0, 395), 3);
        assert_eq!(parts.iter().map(|part| part.2).collect::<Vec<_>>(), [0, 40, 80]);
        for (start, end, place) in parts {
            assert_eq!((end - start, start % 40), (40, 0));
            for at in 0..40 {
                assert_eq!(domains.owner(start + at).0, domains.owner(place + at).0);
            }
        }
    }

    #[test]
    fn sampled_windows_of_ranges_keep_their_aggregators() {
        // The third range has three windows, of which the last has one byte.
        let domains = Domains::Ranges { bounds: vec![0, 80, 160, 201], window: 20 };
        let parts = sampled(&domains, (0, 201), 2);
        assert_eq!(parts, [(20, 40, 0), (60, 80, 20), (100, 120, 40), (140, 160, 60), (180, 200, 80)]);
        let file =
            Extents::from_list([(0, 25), (30, 35), (150, 51)].map(|(offset, len)| Extent { offset, len })).unwrap();
        let mut list = Vec::new();
        keep(&file, &parts, &mut list);
        let kept: Vec<_> = list.iter().map(|extent| (extent.offset, extent.len)).collect();
        assert_eq!(kept, [(0, 5), (10, 10), (20, 5), (70, 10), (80, 20)]);
    }
}
