//! Tests faults while all ranks, or the ranks of each host, share memory: all ranks get the same error, whichever
//! rank does the I/O, no rank hangs, and the file can be used afterwards.

use std::sync::Arc;
use std::time::Duration;

use tributary::drivers::hostile::{Fault, Hostile, PANIC};
use tributary::engine::{Direction, binding};
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Error, Extents, File, Hints, Mode};
use tributary_testing::watchdog::Watchdog;

const RANKS: usize = 5;
/// Number of ranks on two hosts, whose ranks have bytes in parts of the file that are far apart.
const RANKS_ON_HOSTS: usize = 6;
const HOSTS: &str = "trib_shared_memory=enable;cb_buffer_size=100000;trib_ranks_per_node=3";

/// Returns a rank's accesses of every kind, from tiny to several windows: through slots, by its owners, through
/// windows that tile the range, with holes, and overlapping.
fn accesses(rank: u64) -> Vec<(&'static str, Extents)> {
    let p = RANKS as u64;
    vec![
        ("slots", Extents::strided(rank * 8, 8, 8 * p as i64, 4).unwrap()),
        ("owners", Extents::contiguous(rank << 16, 1 << 16).unwrap()),
        ("windows", Extents::strided(rank * 40, 40, 40 * p as i64, 3000).unwrap()),
        ("holes", Extents::strided(rank * 40, 24, 40 * p as i64, 3000).unwrap()),
        ("overlap", Extents::strided(rank * 40, 60, 40 * p as i64, 3000).unwrap()),
    ]
}

fn hints() -> Hints {
    Hints::parse("trib_shared_memory=enable;cb_buffer_size=100000;trib_driver=lustre;striping_unit=20000").unwrap()
}

/// Tests a fault on all ranks but one, and on all: the error is the same on all ranks, and the next call succeeds.
fn with_fault(test: &str, fault: Fault, is_read: bool, words: &str) {
    with_fault_in(RANKS, &hints(), test, fault, is_read, words);
    with_fault_in(RANKS_ON_HOSTS, &Hints::parse(HOSTS).unwrap(), test, fault, is_read, words);
}

/// Returns an access of [`accesses`], moved behind the accesses of earlier hosts if there are several hosts.
fn on_host(access: Extents, rank: usize, hints: &Hints) -> Extents {
    let host = rank.checked_div(hints.ranks_per_node).unwrap_or(0);
    access.shift((host as u64) << 24).unwrap()
}

fn with_fault_in(ranks: usize, hints: &Hints, test: &str, fault: Fault, is_read: bool, words: &str) {
    let _watchdog = Watchdog::new(test, 120);
    let directory = tempfile::tempdir().unwrap();
    let outcomes = threads::run(ranks, |transport| {
        let mut endpoint = Endpoint::new(transport);
        let rank = endpoint.rank();
        let mut seen = Vec::new();
        for (number, (name, access)) in accesses(rank as u64).into_iter().enumerate() {
            let access = on_host(access, rank, hints);
            let path = directory.path().join(format!("{name}-{number}"));
            let storage = Hostile::new(Fault::None);
            let files = Arc::new(storage.clone());
            let mut file = File::open_on(endpoint, &path, Mode::Create, hints.clone(), files).unwrap();
            let mut bytes = vec![rank as u8 + 1; access.bytes() as usize];
            file.write_all(&access, &BufferLayout::Contiguous, &bytes).unwrap();
            file.agree(Ok(())).unwrap();
            storage.set(fault);
            let outcome = match is_read {
                false => file.write_all(&access, &BufferLayout::Contiguous, &bytes).map(drop),
                true => file.read_all(&access, &BufferLayout::Contiguous, &mut bytes).map(drop),
            };
            seen.push((name, outcome.unwrap_err().to_string()));
            storage.set(Fault::None);
            file.write_all(&access, &BufferLayout::Contiguous, &bytes).unwrap();
            endpoint = file.close().unwrap();
        }
        seen
    })
    .unwrap();
    for seen in &outcomes {
        assert_eq!(seen, &outcomes[0], "the same error on all ranks");
        assert!(seen.iter().all(|(_, error)| error.contains(words)), "{words}: {seen:?}");
    }
}

#[test]
fn no_space() {
    with_fault("no_space", Fault::Write(0, libc::ENOSPC), false, "No space left");
}

#[test]
fn writes_that_write_nothing() {
    with_fault("writes_that_write_nothing", Fault::WriteZero(0), false, "write");
}

#[test]
fn a_storage_that_panics_in_writing() {
    with_fault("a_storage_that_panics_in_writing", Fault::Panic(0), false, PANIC);
}

#[test]
fn reads_that_fail() {
    with_fault("reads_that_fail", Fault::Read(0, libc::EIO), true, "Input/output error");
}

#[test]
fn a_storage_that_panics_in_reading() {
    with_fault("a_storage_that_panics_in_reading", Fault::Panic(0), true, PANIC);
}

/// Short, slow and interrupted calls are not errors, and all bytes are right.
#[test]
fn calls_that_are_short_slow_or_interrupted() {
    let _watchdog = Watchdog::new("calls_that_are_short_slow_or_interrupted", 120);
    let directory = tempfile::tempdir().unwrap();
    for fault in [Fault::Short(777), Fault::Interrupt, Fault::Slow(Duration::from_millis(1))] {
        threads::run(RANKS, |transport| {
            let mut endpoint = Endpoint::new(transport);
            let rank = endpoint.rank() as u64;
            for (name, access) in accesses(rank).into_iter().filter(|(name, _)| *name != "overlap") {
                let storage = Hostile::new(fault);
                let path = directory.path().join(name);
                let mut file = File::open_on(endpoint, &path, Mode::Create, hints(), Arc::new(storage)).unwrap();
                let bytes: Vec<u8> = (0..access.bytes()).map(|at| (at * 7 + rank) as u8).collect();
                file.write_all(&access, &BufferLayout::Contiguous, &bytes).unwrap();
                let mut back = vec![0; bytes.len()];
                let report = file.read_all(&access, &BufferLayout::Contiguous, &mut back).unwrap();
                assert_eq!(report.bytes, access.bytes());
                assert!(back == bytes, "{name} under {fault:?}");
                endpoint = file.close().unwrap();
            }
        })
        .unwrap();
    }
}

/// Bad arguments of one rank fail on all ranks, whatever the others pass; also if the rank takes part with an error
/// of its own.
#[test]
fn bad_arguments_of_one_rank() {
    let _watchdog = Watchdog::new("bad_arguments_of_one_rank", 120);
    let directory = tempfile::tempdir().unwrap();
    let outcomes = threads::run(RANKS, |transport| {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank();
        let mut file = File::open(endpoint, directory.path().join("f"), Mode::Create, hints()).unwrap();
        let mut seen = Vec::new();
        for (_, access) in accesses(rank as u64) {
            let mut bytes = vec![1; access.bytes() as usize];
            let short = if rank == 3 { bytes.len() - 1 } else { bytes.len() };
            seen.push(file.write_all(&access, &BufferLayout::Contiguous, &bytes[..short]).unwrap_err());
            seen.push(file.read_all(&access, &BufferLayout::Contiguous, &mut bytes[..short]).unwrap_err());
            if rank == 2 {
                seen.push(binding::refuse(
                    &mut file,
                    Direction::Read,
                    Error::argument("this rank", "refuses", "not to"),
                ));
            } else {
                seen.push(file.read_all(&access, &BufferLayout::Contiguous, &mut bytes).unwrap_err());
            }
            file.write_all(&access, &BufferLayout::Contiguous, &bytes).unwrap();
        }
        file.close().unwrap();
        seen
    })
    .unwrap();
    assert!(outcomes.iter().all(|seen| seen == &outcomes[0]));
}

/// A rank that panics ends the call on all others.
#[test]
fn a_rank_that_dies() {
    dies("a_rank_that_dies", 1, &hints(), |access, _, _| access);
    // Of a host that writes its own: its leader, another, and one of another host.
    for rank in [0, 1, 4] {
        dies("a_rank_that_dies", rank, &Hints::parse(HOSTS).unwrap(), on_host);
    }
}

/// Tests a rank that panics if nodes of 3 and 2 ranks share memory: a local aggregator, for which its members wait,
/// and a member, for whose bytes its local aggregator waits.
#[test]
fn a_local_aggregator_or_a_member_that_dies() {
    for (kernels, rank) in [("two_layer", 0), ("two_layer", 3), ("two_layer", 1), ("two_layer", 4), ("balanced", 3)] {
        let text = format!(
            "trib_shared_memory=enable;trib_ranks_per_node=3;nc_num_aggrs_per_node=1;romio_cb_write=enable;\
             trib_kernel_meta={kernels};trib_kernel_data=two_layer;cb_buffer_size=1000"
        );
        dies("a_local_aggregator_or_a_member_that_dies", rank, &Hints::parse(&text).unwrap(), |access, _, _| access);
    }
}

/// Tests a rank that panics: rank `dying` does not make the second call, which reuses the plan, so the others wait
/// for it in the rounds. `placed` moves an access to the rank's part of the file.
fn dies(test: &str, dying: usize, hints: &Hints, placed: fn(Extents, usize, &Hints) -> Extents) {
    let _watchdog = Watchdog::new(test, 120);
    let directory = tempfile::tempdir().unwrap();
    let outcome = std::panic::catch_unwind(|| {
        threads::run(RANKS, |transport| {
            let endpoint = Endpoint::new(transport);
            let rank = endpoint.rank();
            let mut file = File::open(endpoint, directory.path().join("f"), Mode::Create, hints.clone()).unwrap();
            let access = placed(accesses(rank as u64).remove(2).1, rank, hints);
            let bytes = vec![1; access.bytes() as usize];
            file.write_all(&access, &BufferLayout::Contiguous, &bytes).unwrap();
            let mut operation = file.start_write_all(&access, &BufferLayout::Contiguous, &bytes);
            if rank == dying {
                for _ in 0..2 {
                    assert!(operation.test().is_none(), "it takes more looks");
                    std::thread::sleep(Duration::from_millis(1));
                }
                panic!("dies");
            }
            let error = operation.wait();
            assert!(matches!(error, Err(Error::Fabric { .. })), "{error:?}");
        })
    });
    assert!(outcome.is_err());
}
