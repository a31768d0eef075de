//! One report for all files that single ranks of a program with several ranks have opened (MPI_COMM_SELF). PnetCDF, for
//! example, opens a file on each rank, and a report of each would be one for each rank.
//!
//! Each rank adds up its reports. At MPI_Finalize rank 0 gathers the sums of all ranks and prints one report, if all ranks are
//! known to have this library: that is so after an open of a file of all ranks. Otherwise each rank prints the report of its own
//! files, because a rank without this library would never take part.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use tributary::engine::Seconds;
use tributary::hints::Unused;
use tributary_abi::{self as ffi, SUCCESS, handles};
use tributary_bindings::guard::lock;

use crate::file::counts::{LeftToMpi, Moved, Ran};
use crate::file::failures::FailedCalls;
use crate::mpi::abi::{is_world_there, rank, ranks};

/// Maximum number of different hints without effect in a report.
const MAX_HINTS: usize = 32;

/// Sums of this rank, over the files that it has opened by itself and closed.
static OWN: Mutex<Option<RankFiles>> = Mutex::new(None);
/// True if all ranks of the program are known to have this library, and to want reports.
static IS_COMMON: AtomicBool = AtomicBool::new(false);

/// Sums over files that single ranks have opened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankFiles {
    /// Number of files.
    pub files: u64,
    /// Number of ranks that have opened them.
    pub ranks: u64,
    /// Number of files whose calls MPI ran, by reason.
    pub left_to_mpi: BTreeMap<String, u64>,
    /// Calls that the library ran, by function.
    pub accelerated: BTreeMap<String, Ran>,
    /// Calls that MPI ran.
    pub passed_through: Vec<LeftToMpi>,
    /// Seconds in functions that neither read nor write, by function.
    pub other_calls: BTreeMap<String, f64>,
    /// Failed calls.
    pub failed: FailedCalls,
    /// Hints that had no effect; each once.
    pub hints_not_used: Vec<Unused>,
    /// Number of calls by path and reason.
    pub paths: BTreeMap<String, u64>,
    /// Number of calls by path and reason, as tables print them.
    pub paths_in_words: BTreeMap<String, u64>,
    /// Seconds of the calls that the library ran, of all ranks together.
    pub seconds: Seconds,
}

impl RankFiles {
    /// Adds the sums of other files.
    pub fn add(&mut self, other: Self) {
        self.files += other.files;
        self.ranks += other.ranks;
        add_counts(&mut self.left_to_mpi, other.left_to_mpi);
        for (call, more) in other.accelerated {
            let sum = self.accelerated.entry(call).or_default();
            sum.calls += more.calls;
            sum.bytes += more.bytes;
            sum.seconds += more.seconds;
        }
        for more in other.passed_through {
            match self.passed_through.iter_mut().find(|sum| (&sum.call, &sum.why) == (&more.call, &more.why)) {
                Some(sum) => {
                    sum.moved = Moved::sum((sum.moved, sum.calls), (more.moved, more.calls));
                    sum.calls += more.calls;
                }
                None => self.passed_through.push(more),
            }
        }
        other.other_calls.into_iter().for_each(|(call, more)| *self.other_calls.entry(call).or_default() += more);
        self.failed.calls += other.failed.calls;
        self.failed.first = self.failed.first.take().or(other.failed.first);
        for unused in other.hints_not_used {
            if self.hints_not_used.len() < MAX_HINTS && !self.hints_not_used.contains(&unused) {
                self.hints_not_used.push(unused);
            }
        }
        add_counts(&mut self.paths, other.paths);
        add_counts(&mut self.paths_in_words, other.paths_in_words);
        self.seconds += other.seconds;
    }
}

fn add_counts(sums: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>) {
    more.into_iter().for_each(|(key, count)| *sums.entry(key).or_default() += count);
}

/// Returns true if the reports of files of a single rank are added up: the program has several ranks. Local.
pub fn are_added() -> bool {
    // SAFETY: MPI_COMM_WORLD is there.
    is_world_there().unwrap_or(false) && unsafe { ranks(handles().comm_world) } > 1
}

/// Adds the sums of a file, or of several, to those of this rank. Local.
pub fn add(files: RankFiles) {
    let mut own = lock(&OWN);
    let sum = own.get_or_insert_default();
    sum.add(files);
    sum.ranks = 1;
}

/// Records that all ranks have this library and know that a report is wanted. Either every rank calls this before MPI_Finalize,
/// or none does. Local.
pub fn note_common() {
    IS_COMMON.store(true, Ordering::Relaxed);
}

/// Returns true if this rank must call [`take`] at MPI_Finalize. Local.
pub fn is_any() -> bool {
    IS_COMMON.load(Ordering::Relaxed) || lock(&OWN).is_some()
}

/// Returns the sums of the files of all ranks on rank 0, or those of this rank's files on each rank, and forgets them; `None` if there
/// are no such files. Collective over MPI_COMM_WORLD if all ranks have called [`note_common`]: gathers some hundred bytes of each
/// rank that has such files.
pub fn take() -> Option<RankFiles> {
    let own = lock(&OWN).take();
    if !IS_COMMON.swap(false, Ordering::Relaxed) || !is_world_there().unwrap_or(false) {
        return own;
    }
    // SAFETY: MPI is initialised and not finalised.
    let (rank, ranks) = unsafe { (rank(handles().comm_world) as usize, ranks(handles().comm_world) as usize) };
    // The address of an empty vector is 1, which is MPI_IN_PLACE in Open MPI.
    let text = own.and_then(|own| serde_json::to_vec(&own).ok()).unwrap_or_else(|| vec![b' ']);
    let mut sums: Option<RankFiles> = None;
    for part in gather(&text, rank, ranks)? {
        if let Ok(files) = serde_json::from_slice(&part) {
            sums.get_or_insert_default().add(files);
        }
    }
    sums
}

/// Returns the texts of all ranks on rank 0; `None` on other ranks, and if MPI fails. Collective over MPI_COMM_WORLD.
fn gather(text: &[u8], rank: usize, ranks: usize) -> Option<Vec<Vec<u8>>> {
    let (length, comm, number) = (text.len() as c_int, handles().comm_world, handles().int);
    let room = if rank == 0 { ranks } else { 0 };
    let (mut lengths, mut starts) = (vec![0 as c_int; room], vec![0 as c_int; room]);
    // SAFETY: one number of each rank; on rank 0, room for one of each rank.
    let code = unsafe {
        ffi::MPI_Gather((&raw const length).cast(), 1, number, lengths.as_mut_ptr().cast(), 1, number, 0, comm)
    };
    let mut end = 0;
    for (start, length) in starts.iter_mut().zip(&lengths) {
        *start = end;
        end += length;
    }
    let mut all = vec![0u8; end as usize];
    // SAFETY: `length` bytes of each rank, for which rank 0 has room.
    let gathered = unsafe {
        ffi::MPI_Gatherv(
            text.as_ptr().cast(),
            length,
            handles().byte,
            all.as_mut_ptr().cast(),
            lengths.as_ptr(),
            starts.as_ptr(),
            handles().byte,
            0,
            comm,
        )
    };
    let parts = lengths.iter().zip(&starts).filter(|(length, _)| **length > 0);
    let parts = parts.map(|(length, start)| all[*start as usize..][..*length as usize].to_vec()).collect();
    (rank == 0 && (code, gathered) == (SUCCESS, SUCCESS)).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_ranks_add_up() {
        let moved = |bytes| Some(Moved { bytes, seconds: 0.5, sizes: [bytes; 3] });
        let left =
            |calls, bytes| LeftToMpi { call: "write_at".into(), why: "independent".into(), calls, moved: moved(bytes) };
        let unused =
            Unused { key: "cb_nodes".into(), value: "1".into(), source: "TRIB_HINTS".into(), why: "no call".into() };
        let of_rank = |calls, bytes| RankFiles {
            files: 2,
            ranks: 1,
            left_to_mpi: [("no collective read or write".to_string(), 2)].into(),
            accelerated: [("write_all".to_string(), Ran { calls, bytes, seconds: 1.0 })].into(),
            passed_through: vec![left(calls, bytes)],
            other_calls: [("open".to_string(), 0.25)].into(),
            failed: FailedCalls { calls, first: None },
            hints_not_used: vec![unused.clone()],
            ..RankFiles::default()
        };
        let text = serde_json::to_vec(&of_rank(3, 8)).unwrap();
        let mut sum = of_rank(2, 4);
        sum.add(serde_json::from_slice(&text).unwrap());
        assert_eq!((sum.files, sum.ranks, sum.failed.calls, sum.other_calls["open"]), (4, 2, 5, 0.5));
        assert_eq!(sum.left_to_mpi.values().sum::<u64>(), 4);
        assert_eq!(sum.accelerated["write_all"], Ran { calls: 5, bytes: 12, seconds: 2.0 });
        let moved = Some(Moved { bytes: 12, seconds: 1.0, sizes: [4, 8, 8] });
        assert_eq!(sum.passed_through, [LeftToMpi { moved, ..left(5, 0) }]);
        assert_eq!(sum.hints_not_used, [unused], "each once");
    }
}
