//! The lines of the stall watchdog: what a rank waits for, what the user should check, and how a call in flight makes
//! progress.

use crate::calls::RankList;
use crate::engine::trace::watchdog::{CallStage, StallWatchdog, Waits};
use crate::fabric::Pending;
use crate::fabric::shared::{ShownCall, ShownState};
use crate::topology::Rank;

impl StallWatchdog {
    /// Returns the line of a rank that started a call and has not worked on it since. `mpi` is the name of the MPI
    /// library.
    pub(super) fn line_of_one_elsewhere(&self, call: &str, mpi: &str) -> String {
        let (rank, seconds, path) = (self.rank, self.limit.as_secs(), self.path.display());
        let without_library = match mpi.split_once(' ') {
            Some(("Open", _)) if call.starts_with("MPI_") => {
                ". Without this library (TRIB_DISABLE=1), Open MPI completes such a call in its start"
            }
            _ => "",
        };
        let (at, remedy) = in_flight(call);
        format!(
            "rank {rank} started {call} of {path} and has not worked on it for {seconds} s, and other ranks may wait for it: a rank \
             works on a call in flight only in {at}; {remedy}{without_library}"
        )
    }

    /// Returns the line of a rank that waits in `part` of `call`.
    pub(super) fn line(&self, call: &str, part: CallStage, pending: Option<Pending>, waits: Waits) -> String {
        let (rank, seconds, path) = (self.rank, self.limit.as_secs(), self.path.display());
        let (others, check) = self.others_in(call, part, pending);
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

    /// Returns the line of a rank that waits in `part` of `call`, however long.
    pub(super) fn line_of_wait(&self, call: &str, part: CallStage, pending: Option<Pending>) -> String {
        format!("rank {} is in {call} of {}: {}", self.rank, self.path.display(), self.others_in(call, part, pending).0)
    }

    /// Returns what a rank in `part` of `call` waits for, and what the user should check.
    fn others_in(&self, call: &str, part: CallStage, pending: Option<Pending>) -> (String, &'static str) {
        match part {
            CallStage::Coming => (
                self.coming(call, pending),
                match self.others {
                    Some(_) => "the other ranks make this call too: it waits for all",
                    None => {
                        "all ranks make this call, that all of them load this library, and that the file system responds"
                    }
                },
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
        }
    }

    /// Returns text that names the ranks that have not arrived in the call, and what each group of ranks is in, as far as
    /// this rank knows.
    fn coming(&self, call: &str, pending: Option<Pending>) -> String {
        if let Some(others) = &self.others {
            return others.clone();
        }
        let Some(here) = &self.here else { return message(pending) };
        let text = of_host(call, &here.shown_calls(), &here.missing(), pending);
        match here.is_whole() {
            true => text,
            false => text + "; what ranks of other hosts are in is not known",
        }
    }
}

/// Returns text about the ranks of a host, whose last calls are `shown`, for a rank that waits in `call` for the ranks
/// that are `missing`. If ranks are in another call, names the ranks in each call: any of the calls may be the mistake.
fn of_host(call: &str, shown: &[ShownCall], missing: &[Rank], pending: Option<Pending>) -> String {
    let is_missing = |shown: &ShownCall| missing.contains(&shown.rank);
    let (other, same): (Vec<_>, Vec<_>) =
        shown.iter().partition(|one| one.call != call && (one.is_inside() || !is_missing(one)));
    let (late, here): (Vec<_>, Vec<_>) = same.into_iter().partition(|one| is_missing(one));
    let mut texts = Vec::new();
    if !late.is_empty() {
        let named: RankList = late.iter().map(|one| one.rank).collect();
        texts.push(format!("{named} {} not arrived", named.verb("has", "have")));
        texts.extend(grouped(&late));
    }
    if !other.is_empty() {
        texts.extend(grouped(&here));
        texts.extend(grouped(&other));
    }
    if missing.is_empty() {
        texts.push(format!("{} (all ranks of this host have arrived)", message(pending)));
    }
    texts.join("; ")
}

/// Returns a text for each group of ranks that have the same call and do the same in it.
fn grouped(shown: &[&ShownCall]) -> Vec<String> {
    let mut groups: Vec<(&ShownCall, RankList)> = Vec::new();
    for one in shown {
        match groups.iter_mut().find(|(other, _)| (&other.call, other.state) == (&one.call, one.state)) {
            Some((_, ranks)) => ranks.add(one.rank),
            None => groups.push((one, [one.rank].into_iter().collect())),
        }
    }
    let text = |(ShownCall { call, state, .. }, ranks): (&ShownCall, RankList)| match state {
        ShownState::Nothing => format!("{ranks} {} made no collective call on the file", ranks.verb("has", "have")),
        ShownState::Inside => format!("{ranks} {} in {call}", ranks.verb("is", "are")),
        ShownState::InsideMpi => format!("{ranks} {} in {call}, which MPI runs", ranks.verb("is", "are")),
        ShownState::Left => format!("the last collective call of {ranks} on the file was {call}"),
        ShownState::Failed => format!("{ranks} {} in {call}, which failed", ranks.verb("was", "were")),
    };
    groups.into_iter().map(text).collect()
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::calls::CallGroups;

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
    }

    #[test]
    fn a_line_says_what_each_group_of_ranks_is_in() {
        let shown = |rank, call: &str, state| ShownCall { rank, call: call.to_string(), state };
        let close = |rank| shown(rank, "MPI_File_close", ShownState::Inside);
        let put = |rank| shown(rank, "MPI_File_write_at_all", ShownState::InsideMpi);
        let text = |shown: &[ShownCall], missing: &[Rank]| of_host("MPI_File_close", shown, missing, None);
        assert_eq!(
            text(&[put(0), close(1), put(2), put(3)], &[0, 2, 3]),
            "rank 1 is in MPI_File_close; ranks 0, 2 and 3 are in MPI_File_write_at_all, which MPI runs"
        );
        assert_eq!(
            text(&[shown(0, "a", ShownState::Inside), close(1), shown(2, "b", ShownState::Left)], &[2]),
            "rank 2 has not arrived; the last collective call of rank 2 on the file was b; rank 1 is in MPI_File_close; \
             rank 0 is in a"
        );
        assert_eq!(
            text(&[shown(0, "a", ShownState::Failed), close(1), shown(2, "", ShownState::Nothing)], &[0, 2]),
            "ranks 0 and 2 have not arrived; rank 0 was in a, which failed; rank 2 has made no collective call on the file"
        );
        assert_eq!(text(&[close(0), close(1)], &[]), "it waits for other ranks (all ranks of this host have arrived)");
        let calls =
            CallGroups::from_calls([(1, "MPI_File_write_at_all"), (9, "MPI_File_close"), (1, "MPI_File_write_at_all")]);
        let watchdog = StallWatchdog::after_different_calls(Path::new("/data/f"), 1, 0, ("MPI_File_close", &calls));
        assert_eq!(
            watchdog.line("MPI_File_close", CallStage::Coming, None, Waits::Blocked),
            "rank 1 has waited for 0 s in MPI_File_close of /data/f: rank 1 is in MPI_File_close; ranks 0 and 2 were in \
             MPI_File_write_at_all, which failed; check that the other ranks make this call too: it waits for all"
        );
    }
}
