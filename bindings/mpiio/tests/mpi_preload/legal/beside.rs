//! Tests independent and other calls of MPI beside collective calls of the library: no byte is lost, and requests of all kinds
//! end.

use tributary_testing::fault_sweep::most_tried;

use super::{HOSTS, is_ok, launch, prints_ok};
use crate::common::family::{Family, ours};
use crate::common::launch::{Launch, Outcome, is_component};
use crate::common::programs::{compile, preloadable};

/// Hint with which MPI sieves wherever it may.
const SIEVED: &str = "romio_ds_write=enable";
/// Pieces that go through windows, and pieces that a rank writes before others are in its call: piece, hole, number.
const SMALL: [&str; 3] = ["100", "100", "400"];
const LARGE: [&str; 3] = ["40000", "4000", "60"];

/// Runs `sieve_beside.c` on two ranks under each I/O library of the family.
fn nothing_is_lost(how: &str, [piece, hole, pieces]: [&str; 3], threads: &[&str]) {
    let rounds = most_tried(30).min(1000).to_string();
    let arguments = [&[&rounds, how, piece, hole, pieces], threads].concat();
    is_ok("sieve_beside.c", 2, &arguments, &[SIEVED]);
    // The component stands in front of OMPIO only.
    if ours() == Family::OpenMpi && !is_component() {
        let with = launch("sieve_beside.c", 2, &arguments).with_library().env("OMPI_MCA_io", "romio321");
        for launch in [with.clone(), with.hints(HOSTS)] {
            prints_ok(&launch.run(), &format!("sieve_beside.c {arguments:?} under ROMIO"));
        }
    }
}

#[test]
fn strided_writes_beside_a_call_in_flight() {
    for how in ["iwrite", "split", "pointer", "nonblocking", "handle"] {
        nothing_is_lost(how, SMALL, &[]);
    }
    nothing_is_lost("iwrite", LARGE, &[]);
    nothing_is_lost("iwrite", SMALL, &["multiple"]);
}

#[test]
fn writes_at_the_shared_pointer_beside_a_call_in_flight() {
    for how in ["shared", "ordered", "after_ordered"] {
        nothing_is_lost(how, SMALL, &[]);
    }
}

#[test]
fn strided_writes_before_a_call_in_which_others_are() {
    for how in ["before", "before_iwrite"] {
        nothing_is_lost(how, LARGE, &[]);
    }
}

/// Odd ranks, or all, have the file each for itself, or do not block: MPI alone writes both accesses under locks.
#[test]
fn strided_writes_beside_calls_of_one_rank() {
    for how in ["alone", "apart", "apart_read", "mixed"] {
        nothing_is_lost(how, SMALL, &[]);
    }
}

/// ROMIO's driver for NFS sieves whatever the hints say, and locks each call: a file on NFS, and one for which the program asks for
/// that driver.
#[test]
fn strided_writes_beside_others_by_the_driver_for_nfs() {
    if ours() != Family::Mpich {
        return;
    }
    for how in ["nonblocking", "mixed"] {
        for file in ["nfs:small", "nfs/small"] {
            let launch = Launch::new(2, &compile("legal/sieve_beside.c")).arg(file);
            let launch = ["30", how].iter().chain(&SMALL).fold(launch, |launch, argument| launch.arg(*argument));
            let launch = launch.with_library().also_preload(&preloadable("nfs"));
            prints_ok(&launch.clone().run(), &format!("{file} {how}"));
            prints_ok(&launch.env("DS_WRITE", "disable").run(), &format!("{file} {how}, sieving forbidden"));
        }
    }
}

/// Memory of many pieces is gathered as without the library, although MPI is kept from data sieving.
#[test]
fn memory_of_many_pieces_is_written_at_once() {
    let calls = |outcome: &Outcome| -> Vec<u64> {
        let lines = outcome.stdout.lines().filter_map(|line| line.strip_prefix("calls of a write: "));
        lines.map(|calls| calls.parse().expect("a number")).collect()
    };
    for threads in [&[][..], &["multiple"]] {
        let run = launch("gathered.c", 1, threads).env("OMPI_MCA_io", "^ompio");
        let (plain, with) = (run.clone().run(), run.with_library().run());
        prints_ok(&with, "gathered.c");
        assert_eq!(calls(&with), calls(&plain), "{threads:?}");
        assert!(calls(&plain).iter().all(|calls| *calls < 10), "{threads:?}: {:?}", calls(&plain));
    }
}

#[test]
fn requests_of_all_kinds_end_in_one_call() {
    for ranks in [2, 3] {
        is_ok("mixed_requests.c", ranks, &["3"], &[]);
    }
}

#[test]
fn a_long_message_arrives_while_its_receiver_is_in_a_call() {
    is_ok("rendezvous.c", 3, &["9"], &["trib_shared_memory=disable"]);
}
