//! The lines of the stall watchdog: what a rank waits for, what the user should check, and how a call in flight makes
//! progress.

use super::{CallStage, StallWatchdog, Waits};
use crate::fabric::Pending;
use crate::topology::Rank;

/// Maximum number of ranks that a line names.
const MOST_NAMED: usize = 8;

impl StallWatchdog {
    /// Returns the line of a rank that started a call and has not worked on it since. `mpi` is the name of the MPI
    /// library.
    pub(super) fn line_of_one_elsewhere(&self, call: &str, mpi: &str) -> String {
        let (rank, seconds, path) = (self.rank, self.limit.as_secs(), self.path.display());
        let alone = match mpi.split_once(' ') {
            Some(("Open", _)) if call.starts_with("MPI_") => {
                ". Without this library (TRIB_DISABLE=1), Open MPI completes such a call in its start"
            }
            _ => "",
        };
        let (at, remedy) = in_flight(call);
        format!(
            "rank {rank} started {call} of {path} and has not worked on it for {seconds} s, and other ranks may wait for it: a rank \
             works on a call in flight only in {at}; {remedy}{alone}"
        )
    }

    /// Returns the line of a rank that waits in `part` of `call`.
    pub(super) fn line(&self, call: &str, part: CallStage, pending: Option<Pending>, waits: Waits) -> String {
        let (rank, seconds, path) = (self.rank, self.limit.as_secs(), self.path.display());
        let (others, check) = match part {
            CallStage::Coming => (
                self.coming(pending),
                "all ranks make this call, that all of them load this library, and that the file system responds",
            ),
            CallStage::Settling => {
                ("it waits for the file system to complete the last windows".to_string(), "the file system responds")
            }
            CallStage::End => (
                format!("at the end of the call, {}", message(pending)),
                "these ranks run, and that the file system responds",
            ),
            CallStage::Metadata => (
                format!("in the metadata exchange, {}", message(pending)),
                "these ranks run, and that the network works",
            ),
            CallStage::Round(round, window) => (
                format!("{}, {}", in_round(round, window), message(pending)),
                "these ranks run, and that the network works",
            ),
            CallStage::Storage(round, window) => {
                (format!("{}, it waits for the file system", in_round(round, window)), "the file system responds")
            }
        };
        match waits {
            Waits::Blocked | Waits::Elsewhere => {
                format!("rank {rank} has waited for {seconds} s in {call} of {path}: {others}; check that {check}")
            }
            Waits::Polling => {
                let (at, remedy) = in_flight(call);
                format!(
                    "rank {rank} has {call} of {path} in flight, which has made no progress for {seconds} s: {others}; check that \
                     {check}; a rank works on a call in flight only in {at}: {remedy}"
                )
            }
        }
    }

    /// Returns text that names the ranks that have not arrived in the call, as far as this rank knows.
    fn coming(&self, pending: Option<Pending>) -> String {
        let missing = self.here.as_ref().map(|here| here.missing());
        match missing.as_deref() {
            None => message(pending),
            Some([]) => format!("{} (all ranks of this host have arrived)", message(pending)),
            Some([one]) => format!("rank {one} has not arrived"),
            Some(ranks) => format!("ranks {} have not arrived", named(ranks)),
        }
    }
}

/// Returns the functions in which a rank works on a call in flight, and what the program can do.
fn in_flight(call: &str) -> (&'static str, &'static str) {
    match call.starts_with("MPI_") {
        true => (
            "MPI_Wait, MPI_Test and similar functions, and in other calls on files",
            "call MPI_Wait before anything else that waits for other ranks, or initialise MPI with MPI_THREAD_MULTIPLE, so that a \
             thread works on it",
        ),
        false => ("its test and its wait", "wait for the call before anything else that waits for other ranks"),
    }
}

/// Returns text that names the round of the data exchange, and the start of the rank's own window.
fn in_round(round: u64, window: Option<u64>) -> String {
    match window {
        Some(start) => format!("in round {round} of the data exchange with the window at byte {start}"),
        None => format!("in round {round} of the data exchange"),
    }
}

/// Returns text that names the message that a rank waits for.
fn message(pending: Option<Pending>) -> String {
    let Some(Pending { peer, is_sent, more }) = pending else { return "it waits for other ranks".to_string() };
    let what = match is_sent {
        true => format!("it waits for rank {peer} to receive a message"),
        false => format!("it waits for a message from rank {peer}"),
    };
    match more {
        0 => what,
        1 => format!("{what} and for 1 other message"),
        more => format!("{what} and for {more} other messages"),
    }
}

/// Returns ranks as text: "1, 3 and 7", or the first of them and the number of the others.
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
        let watchdog = StallWatchdog::new(Path::new("/data/f"), 2, 0, (None, None));
        assert_eq!(
            watchdog.line("MPI_File_write_all", CallStage::Coming, None, Waits::Blocked),
            "rank 2 has waited for 0 s in MPI_File_write_all of /data/f: it waits for other ranks; check that all ranks make this \
             call, that all of them load this library, and that the file system responds"
        );
        let pending = |is_sent, more| Some(Pending { peer: 5, is_sent, more });
        let round = CallStage::Round(7, None);
        for (part, pending, expected) in [
            (
                CallStage::Metadata,
                pending(true, 0),
                "in the metadata exchange, it waits for rank 5 to receive a message; check that these ranks run, and",
            ),
            (
                round,
                pending(false, 2),
                "in round 7 of the data exchange, it waits for a message from rank 5 and for 2 other messages; check",
            ),
            (
                CallStage::Round(0, Some(4096)),
                None,
                "in round 0 of the data exchange with the window at byte 4096, it waits for other ranks; check",
            ),
            (
                CallStage::Storage(1, Some(0)),
                None,
                "in round 1 of the data exchange with the window at byte 0, it waits for the file system; check",
            ),
            (
                CallStage::Settling,
                None,
                "it waits for the file system to complete the last windows; check that the file system responds",
            ),
            (
                CallStage::Coming,
                pending(false, 0),
                "it waits for a message from rank 5; check that all ranks make this call",
            ),
            (
                CallStage::End,
                pending(true, 1),
                "at the end of the call, it waits for rank 5 to receive a message and for 1 other message; check",
            ),
            (
                CallStage::End,
                None,
                "at the end of the call, it waits for other ranks; check that these ranks run, and that the file system responds",
            ),
        ] {
            let line = watchdog.line("a call", part, pending, Waits::Blocked);
            assert!(line.contains(&format!("in a call of /data/f: {expected}")), "{line}");
        }
        let line = watchdog.line("MPI_File_iwrite_all", CallStage::Coming, None, Waits::Polling);
        assert!(line.starts_with(
            "rank 2 has MPI_File_iwrite_all of /data/f in flight, which has made no progress for 0 s: it waits for"
        ));
        assert!(line.contains("only in MPI_Wait, MPI_Test and similar functions"), "{line}");
        let elsewhere = |mpi| watchdog.line_of_one_elsewhere("MPI_File_iwrite_all", mpi);
        assert!(elsewhere("Open MPI v4.1.4").ends_with("completes such a call in its start"));
        assert!(elsewhere("MPICH Version: 4.0.2").ends_with("so that a thread works on it"));
        assert_eq!(named(&[1, 3]), "1 and 3");
        assert_eq!(named(&[1, 2, 3, 4, 5, 6, 7, 8]), "1, 2, 3, 4, 5, 6, 7 and 8");
        assert_eq!(named(&(0..1000).collect::<Vec<_>>()), "0, 1, 2, 3, 4, 5, 6, 7 and 992 more");
    }
}
