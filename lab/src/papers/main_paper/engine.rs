//! A column of figure 5 and a point of figure 4 by the engine itself, in virtual time, with the paper's kernels forced by hints.
//!
//! The engine writes the sampled rounds only, as if the file had no others, and twice as many rounds. The additional time of the
//! second write is the time of the additional rounds, and is scaled up to all rounds. Metadata is that of the second write:
//! connections and messages are the same for all rounds, and only lists are longer.

use std::sync::Arc;

use tributary::BufferLayout;
use tributary::access::{Extent, Extents};
use tributary::drivers::Domains;
use tributary::engine::{Direction, Seconds};
use tributary_benchmarks::RankAccess;

use super::setting::{Code, E3SM_RANKS, Experiment};
use crate::forecast::{FileDivision, Parts, dealt};
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
            let [few, more] = &*self.samples(context)?;
            let of = |sampled| self.run_sampled(sampled, hints, context);
            let times = (few.rounds.1 - few.rounds.0) as f64 / (more.rounds.0 - few.rounds.0) as f64;
            Ok(of_all_rounds(&of(few)?, &of(more)?, times))
        })?;
        Ok(*parts)
    }

    /// Runs the engine on the sampled rounds. Returns what it reports.
    fn run_sampled(self, sampled: &Sampled, hints: &str, context: &Context) -> Result<Seconds, PapersError> {
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
        let took = run.with_access(move |rank, _| {
            let file = accesses[rank].clone();
            Ok(RankAccess { requests: file.count(), layout: BufferLayout::Contiguous, file })
        })?;
        let report = took.reports.first().ok_or_else(|| PapersError::new("the engine has reported nothing"))?;
        if report.rounds != sampled.rounds.0 {
            return Err(PapersError::new(format!("{} rounds of the engine, not {}", report.rounds, sampled.rounds.0)));
        }
        Ok(report.seconds)
    }

    /// Returns the accesses to as many rounds as the schedules' simulation samples, and to twice as many.
    fn samples(self, context: &Context) -> Result<Arc<[Sampled; 2]>, PapersError> {
        context.once(&format!("{}: sampled accesses", self.key()), || {
            let pattern = self.pattern()?;
            let division = self.division((0, pattern.totals().file_size))?;
            let (_, all) = division.rounds();
            let counts = [1, 2].map(|times| (times * division.sample) as u64);
            if counts[1] > all {
                return Err(PapersError::new(format!("{}: {all} rounds, fewer than {}", self.key(), counts[1])));
            }
            let [few, more] =
                counts.map(|rounds| kept_parts(&FileDivision { sample: rounds as usize, ..division.clone() }));
            let kept = [few?, more?];
            let written = if self.code == Code::E3sm { E3SM_RANKS } else { self.ranks() };
            let mut accesses = [Vec::new(), Vec::new()];
            for rank in 0..self.ranks() {
                let mut lists = [Vec::new(), Vec::new()];
                for from in dealt(written, self.ranks(), rank) {
                    let file = pattern.rank_access(from, 0)?.file;
                    for (list, parts) in lists.iter_mut().zip(&kept) {
                        keep(&file, parts, list);
                    }
                }
                for (all, mut list) in accesses.iter_mut().zip(lists) {
                    list.sort_unstable_by_key(|extent| extent.offset);
                    all.push(Extents::from_list(list)?);
                }
            }
            let [few, more] = accesses;
            let sampled = |rounds, accesses: Vec<_>| Sampled { rounds: (rounds, all), accesses: accesses.into() };
            Ok([sampled(counts[0], few), sampled(counts[1], more)])
        })
    }
}

/// Returns the times of a write of all rounds, from those of a write of few and of one of more: each phase but metadata takes
/// `times` times as much longer. Phases overlap in the engine, and a wait for the file is in the time of data, so the rest is what
/// is neither metadata nor data.
fn of_all_rounds(few: &Seconds, more: &Seconds, times: f64) -> Parts {
    let grown = |of: fn(&Seconds) -> f64| of(few) + (of(more) - of(few)) * times;
    let (metadata, data) = (more.metadata, grown(|seconds| seconds.data));
    let total = metadata + grown(|seconds| seconds.total - seconds.metadata);
    Parts { metadata, data, file: 0.0, other: (total - metadata - data).max(0.0), total }
}

/// Returns the windows of the sampled rounds, ascending.
///
/// # Errors
/// The file is not divided by stripes.
fn kept_parts(division: &FileDivision) -> Result<Vec<KeptPart>, PapersError> {
    let (rounds, _) = division.rounds();
    let Domains::Cyclic { stripe, aggregators, stripes } = division.file.domains else {
        return Err(PapersError::new("the engine's times are for files with stripes only"));
    };
    let len = stripe * aggregators * stripes;
    Ok(rounds.iter().zip(0..).map(|(round, at)| (round * len, (round + 1) * len, at * len)).collect())
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

    #[test]
    fn sampled_windows_keep_their_aggregators() {
        let domains = Domains::Cyclic { stripe: 10, aggregators: 4, stripes: 1 };
        let striping = Striping { unit: 10, servers: 4 };
        let file = SharedFile {
            aggregators: [0, 1, 2, 3].into(),
            domains: domains.clone(),
            range: (0, 395),
            striping,
            open_windows: 2,
        };
        let parts = kept_parts(&FileDivision { file, sample: 3, lists: MetadataForm::Pairs }).unwrap();
        assert_eq!(parts.iter().map(|part| part.2).collect::<Vec<_>>(), [0, 40, 80]);
        for &(start, end, place) in &parts {
            assert_eq!((end - start, start % 40), (40, 0));
            for at in 0..40 {
                assert_eq!(domains.owner(start + at).0, domains.owner(place + at).0);
            }
        }
        let (first, second) = (parts[0].0, parts[1].0);
        let extents = [(first - 5, 10), (first + 20, 3), (first + 35, second - first)];
        let file = Extents::from_list(extents.map(|(offset, len)| Extent { offset, len })).unwrap();
        let mut list = Vec::new();
        keep(&file, &parts, &mut list);
        let kept: Vec<_> = list.iter().map(|extent| (extent.offset, extent.len)).collect();
        assert_eq!(kept, [(0, 5), (20, 3), (35, 5), (40, 35)]);
    }

    #[test]
    fn rounds_are_scaled_up_and_metadata_is_not() {
        let seconds = |metadata, data, total| Seconds { metadata, data, total, ..Seconds::default() };
        let parts = of_all_rounds(&seconds(1.0, 2.0, 3.5), &seconds(1.5, 4.0, 6.0), 10.0);
        assert_eq!((parts.metadata, parts.data, parts.total, parts.other), (1.5, 22.0, 24.0, 0.5));
    }
}
