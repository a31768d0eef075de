//! Constructs an ordered gather tree on all ranks at once, without a fabric; and lists sizes to test with.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::Rank;
use tributary::fabric::Buffers;
use tributary::schedule::{Action, Buffer, Schedule};
use tributary_lab::collectives::gatherv::construct::Construction;
use tributary_lab::collectives::gatherv::part::GatherPart;
use tributary_lab::collectives::gatherv::tree::{Rule, joins};

/// Returns the six distributions of section 5, with average block size `b`.
pub fn distributions(ranks: usize, b: u64) -> [(&'static str, Vec<u64>); 6] {
    let mut random = SmallRng::seed_from_u64(ranks as u64);
    let p = ranks as u64;
    let all = |of: &mut dyn FnMut(u64) -> u64| (0..p).map(of).collect::<Vec<u64>>();
    [
        ("same", all(&mut |_| b)),
        ("random", all(&mut |_| random.random_range(1..=2 * b))),
        ("spikes", all(&mut |rank| if rank * 7919 % 5 == 1 { 5 * b } else { 1 })),
        ("decreasing", all(&mut |rank| 2 * b * (p - rank) / p + 1)),
        ("alternating", all(&mut |rank| if rank.is_multiple_of(2) { b + b / 2 } else { b - b / 2 })),
        ("two blocks", all(&mut |rank| if rank == 0 || rank + 1 == p { b } else { 0 })),
    ]
}

/// Returns block sizes of which many are zero or equal.
pub fn some_sizes(ranks: usize, seed: usize) -> Vec<u64> {
    let mut random = SmallRng::seed_from_u64((ranks * 1000 + seed) as u64);
    let largest = [1, 3, 1000][seed % 3];
    (0..ranks).map(|_| random.random_range(0..=largest) * random.random_range(0..=1)).collect()
}

/// Constructions of all ranks.
pub struct World {
    pub all: Vec<Construction>,
    /// Schedules of every step, by rank.
    steps: Vec<Vec<Schedule>>,
}

impl World {
    /// Creates the constructions of all ranks, before their first step.
    pub fn new(sizes: &[u64], root: Rank, threshold: Option<u64>) -> Self {
        let one = |(rank, &bytes)| Construction::new(rank, sizes.len(), root, bytes, threshold).unwrap();
        Self { all: sizes.iter().enumerate().map(one).collect(), steps: Vec::new() }
    }

    /// Runs one step of every rank and delivers the messages; returns false when the tree is finished.
    pub fn step(&mut self) -> bool {
        let steps: Vec<_> = self.all.iter().filter_map(Construction::step).collect();
        if steps.is_empty() {
            return false;
        }
        assert_eq!(steps.len(), self.all.len(), "all ranks take as many steps");
        let (schedules, buffers): (Vec<Schedule>, Vec<Buffers>) = steps.into_iter().unzip();
        let mut receives = 0;
        let mut arrived: Vec<Buffers> = self.all.iter().map(|_| Buffers::default()).collect();
        for (rank, schedule) in schedules.iter().enumerate() {
            for op in schedule.ops() {
                let Action::Send { to, .. } = op.action else {
                    receives += 1;
                    continue;
                };
                let is_met = |op: &&tributary::schedule::Op| op.action == Action::Receive { from: rank };
                let receive = schedules[to].ops().iter().find(is_met).expect("a receive");
                assert_eq!(receive.stage, op.stage);
                assert!(op.span.len <= receive.span.len, "the receive has room");
                arrived[to].set(Buffer::Receive, buffers[rank].get(Buffer::Send).to_vec());
            }
        }
        assert_eq!(receives, schedules.iter().map(Schedule::sends).sum::<usize>());
        self.all.iter_mut().zip(&arrived).for_each(|(one, arrived)| one.advance(arrived).unwrap());
        self.steps.push(schedules);
        true
    }

    /// Runs all steps. Returns the parts of the tree, and the schedules that ran.
    pub fn finish(mut self) -> (Vec<GatherPart>, Vec<Vec<Schedule>>) {
        while self.step() {}
        (self.all.into_iter().map(Construction::finish).collect(), self.steps)
    }
}

/// Returns all ranks' parts of the tree, computed from sizes that all ranks know.
pub fn parts(sizes: &[u64], root: Rank, rule: Rule) -> Vec<GatherPart> {
    let joins = joins(sizes, root, rule);
    sizes.iter().enumerate().map(|(rank, &bytes)| GatherPart::of(rank, root, bytes, &joins)).collect()
}
