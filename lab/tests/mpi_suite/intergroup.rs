//! Compares the allgather between the two groups of an MPI inter-communicator with MPI's own.

use std::ffi::{c_int, c_void};
use std::pin::pin;

use tributary::fabric::Transport;
use tributary::{Endpoint, Rank};
use tributary_abi::{self as ffi, handles};
use tributary_lab::collectives::{TwoGroups, intergroup_allgatherv};
use tributary_lab::mpi::{functions, merged_endpoint};
use tributary_testing::mpiexec::{under_mpiexec, world};

/// Turns a return code of MPI into a failure of the test.
fn done(code: c_int) {
    assert_eq!(code, ffi::SUCCESS);
}

/// Returns the group of a rank: every third rank, from the second on, is in group 1, the others in group 0.
fn side(rank: Rank) -> c_int {
    c_int::from(rank % 3 == 1)
}

/// Returns an inter-communicator between the two groups.
///
/// # Safety
/// MPI is initialised, and every rank of MPI_COMM_WORLD is here.
unsafe fn connect(rank: Rank) -> ffi::MPI_Comm {
    // SAFETY: the caller's promise; the leaders are ranks 0 and 1 of all, lowest in their groups.
    unsafe {
        let (all, mut group, mut inter) = (handles().comm_world, handles().comm_null, handles().comm_null);
        done(functions::MPI_Comm_split(all, side(rank), rank as c_int, &mut group));
        done(functions::MPI_Intercomm_create(group, 0, all, 1 - side(rank), 7, &mut inter));
        done(ffi::MPI_Comm_free(&mut group));
        inter
    }
}

fn body(rank: Rank, turn: usize) -> Vec<u8> {
    let len = [10, rank * 1000 % 700, 30_000 * usize::from(rank == turn), 0][turn % 4];
    (0..len).map(|i| (rank * 131 + i * 7 + turn) as u8).collect()
}

/// Returns the result of MPI_Allgatherv on the inter-communicator.
///
/// # Safety
/// `inter` is a valid inter-communicator, and every rank of it is here.
unsafe fn by_mpi(inter: ffi::MPI_Comm, own: &[u8], counts: &[c_int]) -> Vec<u8> {
    let starts: Vec<c_int> = (0..counts.len()).map(|to| counts[..to].iter().sum()).collect();
    let total = counts.iter().sum::<c_int>() as usize;
    // One byte more than needed: an empty vector is at address 1, which is MPI_IN_PLACE to Open MPI.
    let (from, mut got) = ([own, &[0]].concat(), vec![0u8; total + 1]);
    // SAFETY: `got` has room for all counts, one for each rank of the other group.
    unsafe {
        let (byte, own_len) = (handles().uint8, own.len() as c_int);
        let (from, into) = (from.as_ptr().cast::<c_void>(), got.as_mut_ptr().cast::<c_void>());
        done(functions::MPI_Allgatherv(from, own_len, byte, into, counts.as_ptr(), starts.as_ptr(), byte, inter));
    }
    got.truncate(total);
    got
}

#[test]
fn the_two_groups_of_an_intercommunicator() {
    under_mpiexec("intergroup::the_two_groups_of_an_intercommunicator", &[2, 3, 4], || {
        let (_world, all) = world();
        let (rank, ranks) = (all.rank(), all.ranks());
        // SAFETY: MPI is initialised until `_world` is dropped; all ranks are here.
        let mut inter = unsafe { connect(rank) };
        // SAFETY: as above.
        let (endpoint, groups) = unsafe { merged_endpoint(inter).unwrap() };
        let mine = groups.iter().find(|group| group.contains(&endpoint.rank())).unwrap();
        assert_eq!(mine.len(), (0..ranks).filter(|&other| side(other) == side(rank)).count());
        let [a, b] = groups;
        assert_eq!((a.start, a.end, b.end), (0, b.start, ranks));
        let groups = TwoGroups::new(a.collect(), b.collect()).unwrap();
        let mut endpoint = Endpoint::new(Box::new(endpoint));
        let waiting = endpoint.waiting().clone();
        let other: Vec<Rank> = (0..ranks).filter(|&other| side(other) != side(rank)).collect();
        for turn in 0..4 {
            let own = body(rank, turn);
            let got = waiting.wait(pin!(intergroup_allgatherv(&mut endpoint, &groups, own.clone()))).unwrap();
            assert_eq!(got, other.iter().flat_map(|&from| body(from, turn)).collect::<Vec<u8>>());
            let counts: Vec<c_int> = other.iter().map(|&from| body(from, turn).len() as c_int).collect();
            // SAFETY: as above.
            assert_eq!(got, unsafe { by_mpi(inter, &own, &counts) }, "what MPI gives");
        }
        drop(endpoint);
        // SAFETY: our own handle, freed once.
        done(unsafe { ffi::MPI_Comm_free(&mut inter) });
    });
}

#[test]
fn an_intracommunicator_has_no_two_groups() {
    under_mpiexec("intergroup::an_intracommunicator_has_no_two_groups", &[2], || {
        let (_world, mut all) = world();
        // SAFETY: MPI is initialised until `_world` is dropped.
        let outcome = unsafe { merged_endpoint(handles().comm_world) };
        let error = outcome.err().unwrap().to_string();
        assert_eq!(error, "communicator: an intra-communicator; allowed: an inter-communicator");
        assert!(all.duplicate().is_ok(), "nothing was broken");
    });
}
