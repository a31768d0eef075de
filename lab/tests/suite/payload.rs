//! Executes the schedules of all ranks with payload on one thread, without any buffering; and finds races in a
//! schedule.

use std::collections::{HashMap, VecDeque};

use crate::collective_suite::{Case, contribution, expected};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::Rank;
use tributary::fabric::{Buffers, Memory};
use tributary::schedule::{Action, Buffer, OpId, Progress, Schedule, Span};
use tributary_lab::collectives::Operation;

/// Runs the schedules on the contributions of `case` and compares every rank's result with the definition.
pub fn check(operation: Operation, name: &str, case: &Case, schedules: Vec<Schedule>) {
    let (ranks, root, sizes) = (case.ranks(), case.root, case.sizes[case.root]);
    let mut memory: Vec<Buffers> = (0..ranks).map(|_| Buffers::default()).collect();
    for (rank, memory) in memory.iter_mut().enumerate() {
        memory.set(Buffer::Send, contribution(operation, case, rank));
    }
    execute(schedules, &mut memory);
    // The result of a reduction is the same on all ranks that have one, so it is computed once.
    let folded = matches!(operation, Operation::Reduce | Operation::Allreduce).then(|| expected(operation, case, root));
    let rooted = matches!(operation, Operation::Reduce | Operation::Gather);
    for (rank, memory) in memory.iter().enumerate().filter(|(rank, _)| !rooted || *rank == root) {
        let result = folded.clone().unwrap_or_else(|| expected(operation, case, rank));
        assert!(
            Some(memory.get(Buffer::Receive)) == result.as_deref(),
            "{operation:?} {name}: rank {rank} of {ranks}, root {root}, {sizes} bytes, segment {}",
            case.segment
        );
    }
}

/// Sends or receives by (sender, receiver, stage), in the order in which they were started.
type Queue = HashMap<(Rank, Rank, u8), VecDeque<OpId>>;

/// Executes the schedules to the end; panics if they cannot end. Messages match in the order in which they were
/// started, and finish in a random order.
pub fn execute(schedules: Vec<Schedule>, memory: &mut [impl Memory]) {
    let mut random = SmallRng::seed_from_u64(schedules.len() as u64);
    let mut progress: Vec<_> = schedules.into_iter().map(Progress::new).collect();
    let (mut sends, mut receives) = (Queue::new(), Queue::new());
    let mut matched = Vec::new();
    let mut active: Vec<Rank> = (0..progress.len()).collect();
    loop {
        while let Some(rank) = active.pop() {
            while let Some(id) = progress[rank].next_ready() {
                let op = progress[rank].schedule().ops()[id as usize];
                let key = match op.action {
                    Action::Copy { from } => {
                        memory[rank].copy(from, op.span).unwrap();
                        progress[rank].finish(id);
                        continue;
                    }
                    Action::Reduce { from, with } => {
                        memory[rank].reduce(from, op.span, with).unwrap();
                        progress[rank].finish(id);
                        continue;
                    }
                    Action::Send { to, .. } => {
                        sends.entry((rank, to, op.stage)).or_default().push_back(id);
                        (rank, to, op.stage)
                    }
                    Action::Receive { from } => {
                        receives.entry((from, rank, op.stage)).or_default().push_back(id);
                        (from, rank, op.stage)
                    }
                    Action::Join => unreachable!("joins are not handed out"),
                };
                let (Some(sent), Some(wanted)) = (sends.get_mut(&key), receives.get_mut(&key)) else { continue };
                if !sent.is_empty() && !wanted.is_empty() {
                    matched.push((key.0, key.1, sent.pop_front().unwrap(), wanted.pop_front().unwrap()));
                }
            }
        }
        if matched.is_empty() {
            break;
        }
        let (from, to, send, receive) = matched.swap_remove(random.random_range(0..matched.len()));
        let source = progress[from].schedule().ops()[send as usize].span;
        let target = progress[to].schedule().ops()[receive as usize].span;
        assert_eq!(source.len, target.len, "from {from} to {to}");
        let message = memory[from].read(source).unwrap();
        memory[to].write(from, target, message).unwrap();
        progress[from].finish(send);
        progress[to].finish(receive);
        active.extend([from, to]);
    }
    assert!(progress.iter().all(Progress::is_done), "not all can end");
}

/// Checks for races: of two operations on the same bytes of which one writes, one must depend on the other. Skips
/// schedules of more than 400 operations, because the check is quadratic.
pub fn free_of_races(schedule: &Schedule, name: &str) {
    let ops = schedule.ops();
    if ops.len() > 400 {
        return;
    }
    let mut ancestors: Vec<Vec<bool>> = Vec::new();
    for id in 0..ops.len() {
        let mut mine = vec![false; ops.len()];
        for &before in schedule.dependencies(id as OpId) {
            mine[before as usize] = true;
            mine.iter_mut().zip(&ancestors[before as usize]).for_each(|(mine, theirs)| *mine |= theirs);
        }
        ancestors.push(mine);
    }
    let accesses: Vec<_> = ops.iter().map(accesses).collect();
    for (id, mine) in accesses.iter().enumerate() {
        for (earlier, theirs) in accesses[..id].iter().enumerate().filter(|(earlier, _)| !ancestors[id][*earlier]) {
            for ((a, a_writes), (b, b_writes)) in mine.iter().flat_map(|a| theirs.iter().map(move |b| (a, b))) {
                let overlap = a.buffer == b.buffer && a.offset < b.offset + b.len && b.offset < a.offset + a.len;
                assert!(!overlap || !(a_writes | b_writes), "{name}: {earlier} and {id} race in\n{}", schedule.dump());
            }
        }
    }
}

/// Returns the ranges of bytes that an operation reads or writes, each with true if it writes.
fn accesses(op: &tributary::schedule::Op) -> Vec<(Span, bool)> {
    match op.action {
        Action::Send { .. } => vec![(op.span, false)],
        Action::Receive { .. } => vec![(op.span, true)],
        Action::Copy { from } | Action::Reduce { from, .. } => vec![(from, false), (op.span, true)],
        Action::Join => Vec::new(),
    }
}
