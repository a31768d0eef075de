//! Tests every collective algorithm on MPI: compares its result with the definition, and with MPI's own operation.

use crate::collective_suite;
use std::collections::HashMap;

use crate::collective_suite::{ALL, Case, contribution};
use tributary::schedule::ReduceOp;
use tributary::{Endpoint, Rank};
use tributary_lab::collectives::Operation;
use tributary_lab::mpi::Native;
use tributary_testing::mpiexec::{under_mpiexec, world};

/// Identification of a problem, whatever the algorithm: operation, root and block sizes.
type Key = (Operation, Rank, Vec<u64>);

#[test]
fn every_algorithm() {
    under_mpiexec("collectives::every_algorithm", &[1, 2, 3, 5, 8, 16], || {
        let (world, endpoint) = world();
        let native = Native::new(&world).unwrap();
        // MPI runs each problem only once, although many algorithms are compared with it.
        let mut known: HashMap<Key, Option<Vec<u8>>> = HashMap::new();
        let mut endpoint = Endpoint::new(Box::new(endpoint));
        let mut compared = 0;
        collective_suite::run_and(&mut endpoint, &ALL, |operation, case, rank, got| {
            let key = (operation, case.root, case.sizes.clone());
            if let Some(wanted) = known.entry(key).or_insert_with(|| by_mpi(&native, operation, case, rank)) {
                assert!(
                    got == &wanted[..],
                    "{operation:?}: rank {rank}, sizes {:?}: MPI gives other bytes",
                    case.sizes
                );
                compared += 1;
            }
        });
        assert!(compared > 0, "nothing was compared");
    });
}

/// Returns this rank's result of MPI's own operation; none if the rank has no result. Collective.
fn by_mpi(native: &Native<'_>, operation: Operation, case: &Case, rank: Rank) -> Option<Vec<u8>> {
    let (root, sizes) = (case.root, &case.sizes[..]);
    let own = contribution(operation, case, rank);
    let all: usize = sizes.iter().sum::<u64>() as usize;
    let is_root = rank == root;
    let equal = sizes.iter().all(|&size| size == sizes[0]);
    match operation {
        Operation::Allgather => {
            let mut got = vec![0; all];
            native.allgatherv(&own, sizes, &mut got).unwrap();
            Some(got)
        }
        Operation::Gather => {
            let mut got = vec![0; if is_root { all } else { 0 }];
            native.gatherv(root, &own, sizes, &mut got).unwrap();
            if equal {
                let mut regular = vec![0; got.len()];
                native.gather(root, &own, &mut regular).unwrap();
                assert_eq!(got, regular);
            }
            is_root.then_some(got)
        }
        Operation::Scatter => {
            let mut got = vec![0; sizes[rank] as usize];
            native.scatterv(root, &own, sizes, &mut got).unwrap();
            if equal {
                let mut regular = vec![0; got.len()];
                native.scatter(root, &own, &mut regular).unwrap();
                assert_eq!(got, regular);
            }
            Some(got)
        }
        Operation::Broadcast => {
            let mut message = if is_root { own } else { vec![0; sizes[root] as usize] };
            native.broadcast(root, &mut message).unwrap();
            Some(message)
        }
        Operation::Reduce => {
            let combined = native.reduce(root, &words(&own), ReduceOp::Sum).unwrap();
            is_root.then(|| bytes(&combined))
        }
        // MPI has this operation on inter-communicators only: see intergroup.rs.
        Operation::IntergroupAllgather => None,
        Operation::Allreduce => Some(bytes(&native.allreduce(&words(&own), ReduceOp::Sum).unwrap())),
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|value| u64::from_le_bytes(value.try_into().unwrap())).collect()
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|value| value.to_le_bytes()).collect()
}
