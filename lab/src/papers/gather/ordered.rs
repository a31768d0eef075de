//! TUW_Gatherv: the ordered tree, with the construction from sizes that only their owners know.

use crate::collectives::gatherv::construct::Construction;
use tributary::Rank;
use tributary::fabric::Buffers;
use tributary::schedule::{Action, Buffer, Schedule};

use super::sequence::Sequence;
use crate::papers::PapersError;

/// Returns the schedules of all ranks: the steps of the construction, without a threshold, then the gather. The
/// construction is carried out here, with all ranks in step: O(p log p) messages of a few words.
///
/// # Errors
/// A root that is no rank.
pub(super) fn gatherv(root: Rank, sizes: &[u64]) -> Result<Sequence, PapersError> {
    let ranks = sizes.len();
    let construction = |(rank, &bytes)| Construction::new(rank, ranks, root, bytes, None);
    let mut all = sizes.iter().enumerate().map(construction).collect::<Result<Vec<_>, _>>()?;
    let mut sequence = Sequence::default();
    while let Some(steps) = all.iter().map(Construction::step).collect::<Option<Vec<_>>>() {
        let (schedules, mut memory): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
        deliver(&schedules, &mut memory);
        for (construction, memory) in all.iter_mut().zip(&memory) {
            construction.advance(memory)?;
        }
        sequence.then(schedules);
    }
    sequence.then(all.into_iter().map(|construction| construction.finish().gather()).collect());
    Ok(sequence)
}

/// Delivers the messages of a step to their receivers; a rank receives at most one message a step.
fn deliver(schedules: &[Schedule], memory: &mut [Buffers]) {
    for (rank, schedule) in schedules.iter().enumerate() {
        for op in schedule.ops() {
            if let Action::Send { to, .. } = op.action {
                let bytes = memory[rank].get(Buffer::Send).to_vec();
                memory[to].set(Buffer::Receive, bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::sim::{WorkPart, Workload};

    use super::*;

    /// Checks that all blocks come to the root in the tree of figure 2: 11 ranks, root 9, 2 ceil(log2 11) steps of
    /// construction.
    #[test]
    fn all_blocks_come_to_the_root() {
        let sizes = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5];
        let sequence = gatherv(9, &sizes).unwrap();
        let Some(WorkPart::Schedule(gather)) = sequence.part(9, 8) else { panic!("no gather") };
        let received = gather.ops().iter().filter(|op| matches!(op.action, Action::Receive { .. }));
        assert_eq!(received.map(|op| op.span.len).sum::<u64>(), sizes.iter().sum::<u64>() - sizes[9]);
        assert!(sequence.part(9, 9).is_none());
    }
}
