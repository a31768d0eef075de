//! A program with an rsmpi world writes one shared file on all ranks, reads it back, and checks every byte.
//!
//!     mpiexec -n 4 tributary-rsmpi-example shared.out

use std::error::Error;

use mpi::collective::SystemOperation;
use mpi::traits::{Communicator, CommunicatorCollectives};
use tributary::mpi::MpiEndpoint;
use tributary::{BufferLayout, Endpoint, Extents, File, Hints, Mode};

/// The ranks write blocks of so many bytes in turn, each so many of them.
const BLOCK: u64 = 4096;
const BLOCKS: u64 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: tributary-rsmpi-example FILE")?;
    let universe = mpi::initialize().ok_or("MPI is initialised already")?;
    let world = universe.world();
    let (rank, ranks) = (world.rank() as u64, world.size() as u64);
    let pieces = Extents::strided(rank * BLOCK, BLOCK, (ranks * BLOCK) as i64, BLOCKS)?;
    let data: Vec<u8> = (0..BLOCK * BLOCKS).map(|at| byte(rank, at)).collect();

    // The three lines.
    let endpoint = Endpoint::new(Box::new(MpiEndpoint::from_communicator(&world)?));
    let mut file = File::open(endpoint, &path, Mode::Create, Hints::default())?;
    let report = file.write_all(&pieces, &BufferLayout::Contiguous, &data)?;

    let mut back = vec![0; data.len()];
    file.read_all(&pieces, &BufferLayout::Contiguous, &mut back)?;
    file.close()?;
    let wrong = data.iter().zip(&back).filter(|(written, read)| written != read).count() as u64;

    // The world is still the program's: nothing of the file's is under way in it.
    let mut all_wrong = 0_u64;
    world.all_reduce_into(&wrong, &mut all_wrong, SystemOperation::sum());
    if all_wrong > 0 {
        return Err(format!("{all_wrong} bytes were read back as others").into());
    }
    if rank == 0 {
        println!("{} bytes of {ranks} ranks written and read back", report.bytes_written);
    }
    Ok(())
}

/// What a rank writes.
fn byte(rank: u64, at: u64) -> u8 {
    ((rank * 131 + at) % 251) as u8
}
