//! Tests that each call of the fabric fails in turn on one rank. No rank hangs, and all get the same error: in that
//! collective call or, if a rank had completed it, in the next.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::breaking::{Break, Breaking};
use tributary::fabric::{Transport, threads};
use tributary::{BufferLayout, Endpoint, Error, File, Hints, Mode, Result};
use tributary_testing::around::Surrounded;
use tributary_testing::interleaved::Interleaved;
use tributary_testing::settings::KERNELS;
use tributary_testing::watchdog::Watchdog;

const RANKS: usize = 4;
/// Time limit for all calls of one setting, in seconds.
const SECONDS: u64 = 120;
/// Hints for several rounds of two aggregators, on two pretended nodes.
const SMALL: &str = "cb_nodes=2;cb_buffer_size=256;trib_tiny_call=0;trib_ranks_per_node=2;nc_num_aggrs_per_node=1;\
                     trib_driver=posix;romio_cb_write=enable;romio_cb_read=enable";

/// Opens, writes, reads and closes a file; returns the first error.
fn run(transport: Box<dyn Transport>, path: &Path, hints: &Hints) -> Result<()> {
    let pattern = Interleaved::with_holes(RANKS, 8, 40);
    let mut file = File::open(Endpoint::new(transport), path, Mode::Create, hints.clone())?;
    let rank = file.endpoint().rank();
    pattern.write(&mut file, 1)?;
    let (extents, due) = pattern.part(rank, 1);
    let mut got = vec![0; due.len()];
    file.read_all(&extents, &BufferLayout::Contiguous, &mut got)?;
    if got != due {
        let other = Error::internal(rank, "it has read other bytes");
        file.endpoint().waiting().failure().settle::<()>(Err(other.clone()))?;
    }
    file.sync()?;
    file.close().map(drop)
}

/// Returns the result of every rank if call `at` of `rank` fails, the number of calls that this rank made, and true
/// if a message was cut.
fn broken(hints: &Hints, how: Break, rank: usize, at: u64) -> (Vec<Result<()>>, u64, bool) {
    let (calls, cut) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let outcomes = threads::run(RANKS, |transport| {
        let own = transport.rank();
        let transport: Box<dyn Transport> = if own == rank {
            Box::new(Surrounded { inner: transport, around: Breaking::new(how, at, calls.clone(), cut.clone()) })
        } else {
            transport
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| run(transport, &path, hints)));
        outcome.unwrap_or_else(|_| Err(Error::internal(own, "the rank panicked in a collective call")))
    });
    (outcomes.unwrap(), calls.load(Ordering::Relaxed), cut.load(Ordering::Relaxed))
}

/// Makes every call fail on the rank with the most work, and on a rank with little.
fn every_call(how: Break) {
    let more = "trib_shared_memory=enable;trib_ranks_per_node=0";
    let shared = ("shared memory", more);
    for (name, kernels) in KERNELS.iter().copied().chain([shared]) {
        let _watchdog = Watchdog::new(name, SECONDS);
        let hints = Hints::parse(&format!("{SMALL};{kernels}")).unwrap();
        for rank in [0, RANKS - 1] {
            let (outcomes, calls, _) = broken(&hints, how, rank, 0);
            assert!(outcomes.iter().all(Result::is_ok), "{name}: {outcomes:?}");
            for at in 1..=calls {
                let (outcomes, made, cut) = broken(&hints, how, rank, at);
                let first = outcomes.iter().find_map(|outcome| outcome.as_ref().err());
                let what = format!("{name}, {how:?} in call {at} of {calls} on rank {rank}: {outcomes:?}");
                match first {
                    // The number of successful polls depends on timing, and so does whether a message arrives after the call.
                    None => assert!(made < at || how == Break::Cut && !cut, "{what}"),
                    Some(first) => {
                        assert!(!first.to_string().contains("other bytes"), "{what}");
                        let same = |outcome: &Result<()>| outcome.as_ref().err().is_none_or(|error| error == first);
                        assert!(outcomes.iter().all(same), "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_call_fails_once() {
    every_call(Break::Error);
}

#[test]
fn every_call_panics_once() {
    every_call(Break::Panic);
}

#[test]
fn every_message_is_cut_once() {
    every_call(Break::Cut);
}
