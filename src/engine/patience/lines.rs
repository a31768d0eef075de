//! The lines of the thread that watches: what a rank waits for, what the user checks, and what lets a call in flight go on.

use super::{CallStage, Patience, Waits};
use crate::fabric::Pending;
use crate::topology::Rank;

/// The most ranks that a line names.
const MOST_NAMED: usize = 8;

impl Patience {
    /// What a rank says that has started a call and does not come back to it. `mpi` is the name of the MPI library.
    pub(super) fn line_of_one_elsewhere(&self, call: &str, mpi: &str) -> String {
        let (rank, seconds, path) = (self.rank, self.limit.as_secs(), self.path.display());
        let alone = match mpi.split_once(' ') {
            Some(("Open", _)) if call.starts_with("MPI_") => {
                ". Open MPI alone (TRIB_DISABLE=1) does such a call in its start"
            }
            _ => "",
        };
        let (at, remedy) = in_flight(call);
        format!(
            "rank {rank} has started {call} of {path} and done nothing for it in {seconds} s: a rank does its part of a call in \
             flight in {at} only, and other ranks may be waiting for it; {remedy}{alone}"
        )
    }

    pub(super) fn line(&self, call: &str, part: CallStage, pending: Option<Pending>, waits: Waits) -> String {
        let (rank, seconds, path) = (self.rank, self.limit.as_secs(), self.path.display());
        let (others, check) = match part {
            CallStage::Coming => (
                self.coming(pending),
                "all ranks make the call, that all of them have this library, and that the file system answers",
            ),
            CallStage::Settling => ("for its file system, which has its last windows".to_string(), "it answers"),
            CallStage::End => {
                (format!("at its end, {}", message(pending)), "they run, and that the file system answers")
            }
            CallStage::Metadata => {
                (format!("in its metadata, {}", message(pending)), "it runs, and that the network works")
            }
            CallStage::Round(round, window) => {
                (format!("{}, {}", in_round(round, window), message(pending)), "it runs, and that the network works")
            }
            CallStage::Storage(round, window) => {
                (format!("{}, for its file system", in_round(round, window)), "it answers")
            }
        };
        match waits {
            Waits::Blocked | Waits::Elsewhere => {
                format!("rank {rank} has waited for {seconds} s in {call} of {path}, {others}; check that {check}")
            }
            Waits::Polling => {
                let (at, remedy) = in_flight(call);
                format!(
                    "rank {rank} has {call} of {path} in flight, which has stood still for {seconds} s and waits {others}; check that \
                     {check}; a rank does its part of a call in flight in {at} only: {remedy}"
                )
            }
        }
    }

    /// For which ranks this one waits that have not come.
    fn coming(&self, pending: Option<Pending>) -> String {
        let missing = self.here.as_ref().map(|here| here.missing());
        match missing.as_deref() {
            None => message(pending),
            Some([]) => format!("{}: those of this host have come as far", message(pending)),
            Some([one]) => format!("for rank {one}, which has not come so far"),
            Some(ranks) => format!("for ranks {}, which have not come so far", named(ranks)),
        }
    }
}

/// Where a rank does its part of a call in flight, and what lets it go on elsewhere.
fn in_flight(call: &str) -> (&'static str, &'static str) {
    match call.starts_with("MPI_") {
        true => (
            "MPI_Wait, MPI_Test and their like, and in other calls on files",
            "wait for it before anything else that waits for other ranks, or initialise MPI with MPI_THREAD_MULTIPLE, with which a \
             thread does it",
        ),
        false => ("its test and its wait", "wait for it before anything else that waits for other ranks"),
    }
}

/// Which round of the data a rank is in, and which window is its own.
fn in_round(round: u64, window: Option<u64>) -> String {
    match window {
        Some(start) => format!("in round {round} of its data, with the window at byte {start}"),
        None => format!("in round {round} of its data"),
    }
}

/// Which message a rank waits for.
fn message(pending: Option<Pending>) -> String {
    let Some(Pending { peer, is_sent, more }) = pending else { return "for other ranks".to_string() };
    let what = match is_sent {
        true => format!("for rank {peer}, to take a message"),
        false => format!("for a message of rank {peer}"),
    };
    match more {
        0 => what,
        1 => format!("{what}, and for another message"),
        more => format!("{what}, and for {more} other messages"),
    }
}

/// Ranks as words: "1, 3 and 7", or the first of them and how many more.
fn named(ranks: &[Rank]) -> String {
    let shown = ranks.len().min(MOST_NAMED);
    let (last, before) = match ranks.len() - shown {
        0 => (ranks[shown - 1].to_string(), &ranks[..shown - 1]),
        more => (format!("{more} more"), &ranks[..shown]),
    };
    let before: Vec<_> = before.iter().map(ToString::to_string).collect();
    format!("{} and {last}", before.join(", "))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn lines() {
        let patience = Patience::new(Path::new("/data/f"), 2, 0, (None, None));
        assert_eq!(
            patience.line("MPI_File_write_all", CallStage::Coming, None, Waits::Blocked),
            "rank 2 has waited for 0 s in MPI_File_write_all of /data/f, for other ranks; check that all ranks make the call, that \
             all of them have this library, and that the file system answers"
        );
        let pending = |is_sent, more| Some(Pending { peer: 5, is_sent, more });
        let round = CallStage::Round(7, None);
        for (part, pending, expected) in [
            (
                CallStage::Metadata,
                pending(true, 0),
                "in its metadata, for rank 5, to take a message; check that it runs, and",
            ),
            (
                round,
                pending(false, 2),
                "in round 7 of its data, for a message of rank 5, and for 2 other messages; check",
            ),
            (
                CallStage::Round(0, Some(4096)),
                None,
                "in round 0 of its data, with the window at byte 4096, for other ranks; check",
            ),
            (
                CallStage::Storage(1, Some(0)),
                None,
                "in round 1 of its data, with the window at byte 0, for its file system; check",
            ),
            (CallStage::Settling, None, "for its file system, which has its last windows; check that it answers"),
            (CallStage::Coming, pending(false, 0), "for a message of rank 5; check that all ranks make the call"),
            (
                CallStage::End,
                pending(true, 1),
                "at its end, for rank 5, to take a message, and for another message; check",
            ),
            (
                CallStage::End,
                None,
                "at its end, for other ranks; check that they run, and that the file system answers",
            ),
        ] {
            let line = patience.line("a call", part, pending, Waits::Blocked);
            assert!(line.contains(&format!("in a call of /data/f, {expected}")), "{line}");
        }
        let line = patience.line("MPI_File_iwrite_all", CallStage::Coming, None, Waits::Polling);
        assert!(line.starts_with(
            "rank 2 has MPI_File_iwrite_all of /data/f in flight, which has stood still for 0 s and waits for"
        ));
        assert!(line.contains("in MPI_Wait, MPI_Test and their like"), "{line}");
        let elsewhere = |mpi| patience.line_of_one_elsewhere("MPI_File_iwrite_all", mpi);
        assert!(elsewhere("Open MPI v4.1.4").ends_with("does such a call in its start"));
        assert!(elsewhere("MPICH Version: 4.0.2").ends_with("with which a thread does it"));
        assert_eq!(named(&[1, 3]), "1 and 3");
        assert_eq!(named(&[1, 2, 3, 4, 5, 6, 7, 8]), "1, 2, 3, 4, 5, 6, 7 and 8");
        assert_eq!(named(&(0..1000).collect::<Vec<_>>()), "0, 1, 2, 3, 4, 5, 6, 7 and 992 more");
    }
}
