//! Files on communicators of rsmpi: any that there is, from threads that may, and what becomes of a file when MPI is finalised
//! first.

#[path = "../../../testing/src/launcher.rs"]
mod launcher;
#[allow(dead_code, reason = "the world here is rsmpi's")]
#[path = "../../../testing/src/mpiexec.rs"]
mod mpiexec;

use std::path::Path;

use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::Communicator;
use mpiexec::{directory, start, under_mpiexec};
use tributary::Transport;
use tributary::mpi::MpiEndpoint;
use tributary::{BufferLayout, Endpoint, Error, Extents, File, Hints, Mode};

const RANKS: usize = 4;

/// The example, as its head says to run it.
#[test]
fn the_example_writes_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shared.out");
    let program = Path::new(env!("CARGO_BIN_EXE_tributary-rsmpi-example"));
    let output = start(RANKS, program, &[path.to_str().unwrap()], &[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    assert!(said.contains("1638400 bytes of 4 ranks written and read back"), "{said}");
    let (block, blocks) = (4096, 100);
    let due: Vec<u8> = (0..blocks * RANKS * block)
        .map(|at| {
            let (index, within) = (at / block, at % block);
            ((index % RANKS * 131 + index / RANKS * block + within) % 251) as u8
        })
        .collect();
    assert!(std::fs::read(&path).unwrap() == due, "other bytes in the file");
}

fn opened(comm: &(impl Communicator + ?Sized), name: &str) -> tributary::Result<File> {
    let endpoint = MpiEndpoint::from_communicator(comm)?;
    assert_eq!((endpoint.rank(), endpoint.ranks()), (comm.rank() as usize, comm.size() as usize));
    File::open(Endpoint::new(Box::new(endpoint)), directory().join(name), Mode::Create, Hints::default())
}

/// Every rank of `comm` writes its number, in the order of the ranks there.
fn write_numbers(comm: &(impl Communicator + ?Sized), name: &str) {
    let mut file = opened(comm, name).unwrap();
    let own = [comm.rank() as u8; 8];
    let extents = Extents::strided(comm.rank() as u64 * 8, 8, 8, 1).unwrap();
    file.write_all(&extents, &BufferLayout::Contiguous, &own).unwrap();
    file.close().unwrap();
    let due: Vec<u8> = (0..comm.size() as u8).flat_map(|rank| [rank; 8]).collect();
    assert_eq!(std::fs::read(directory().join(name)).unwrap(), due, "{name}");
}

#[test]
fn any_communicator_will_do() {
    under_mpiexec("any_communicator_will_do", &[1, RANKS], || {
        let universe = mpi::initialize().unwrap();
        let world = universe.world();
        write_numbers(&world, "world");
        write_numbers(&world.duplicate(), "duplicate");
        let (rank, ranks) = (world.rank(), world.size());
        let half = world.split_by_color_with_key(Color::with_value(rank % 2), -rank).unwrap();
        write_numbers(&half, &format!("half-{}", rank % 2));
        write_numbers(&SimpleCommunicator::self_comm(), &format!("self-{rank}"));
        let line = world.create_cartesian_communicator(&[ranks], &[false], false).unwrap();
        let any: &dyn Communicator = &line;
        write_numbers(any, "line");
        // It is a duplicate: the program's own may go first.
        let own = world.duplicate();
        let mut file = opened(&own, "outlives").unwrap();
        drop(own);
        let extents = Extents::strided(rank as u64, 1, 1, 1).unwrap();
        file.write_all(&extents, &BufferLayout::Contiguous, &[1]).unwrap();
        file.close().unwrap();
    });
}

/// rsmpi's `initialize` asks for MPI_THREAD_SINGLE: only the thread that called it may call MPI.
#[test]
fn another_thread_may_not() {
    under_mpiexec("another_thread_may_not", &[1, 2], || {
        let _universe = mpi::initialize_with_threading(mpi::Threading::Funneled).unwrap();
        let refused = std::thread::spawn(|| match MpiEndpoint::from_communicator(&SimpleCommunicator::world()) {
            Err(Error::Argument { what, value, .. }) => format!("{what}: {value}"),
            other => panic!("{:?}", other.err()),
        });
        assert_eq!(refused.join().unwrap(), "communicator: used on a thread that may not call MPI");
        write_numbers(&SimpleCommunicator::world(), "world");
    });
}

#[test]
fn after_mpi_is_finalised_every_call_is_an_error() {
    under_mpiexec("after_mpi_is_finalised_every_call_is_an_error", &[1, 2], || {
        let universe = mpi::initialize().unwrap();
        let world = universe.world();
        let mut endpoint = MpiEndpoint::from_communicator(&world).unwrap();
        let unused = MpiEndpoint::from_communicator(&world).unwrap();
        let mut file = opened(&world, "file").unwrap();
        let extents = Extents::strided(world.rank() as u64, 1, 1, 1).unwrap();
        file.write_all(&extents, &BufferLayout::Contiguous, &[1]).unwrap();
        drop(universe);
        let said = |error: Option<Error>| error.expect("an error").to_string();
        let gone = "communication failed: MPI was finalised";
        assert!(said(endpoint.progress().err()).starts_with(gone));
        assert!(said(endpoint.poll(&mut Vec::new()).err()).starts_with(gone));
        assert!(said(endpoint.receive(0, 0, 8).err()).starts_with(gone));
        assert!(said(endpoint.duplicate().err()).starts_with(gone));
        let again = said(MpiEndpoint::from_communicator(&world).err());
        assert!(again.starts_with("communicator: MPI is finalised; allowed: "), "{again}");
        // What was never used, and what is open, goes without a call of MPI.
        drop((endpoint, unused, file));
    });
}
