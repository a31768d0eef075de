//! The options of `trib-lab hsumma`.

use clap::Args;
use trib::cli::replay::Fabric;
use trib::cli::values;
use tributary_lab::collectives::{IN_PLACE, InPlace, Operation};

/// Options of `trib-lab hsumma`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct HsummaOptions {
    /// Number of ranks; 16 by default. Under MPI, mpiexec sets it.
    #[arg(long, value_name = "P", value_parser = values::threads)]
    pub ranks: Option<u64>,
    /// Rows and columns of the grid of ranks; by default as square as possible.
    #[arg(long, value_name = "SxT", value_parser = values::lengths::<2>)]
    pub grid: Option<[u64; 2]>,
    /// Rows and columns of the grid of groups; they divide those of the grid of ranks.
    #[arg(long, value_name = "IxJ", value_parser = values::lengths::<2>, default_value = "2x2")]
    pub groups: [u64; 2],
    /// Rows and columns of the matrices; a multiple of both sides of the grid.
    #[arg(long, default_value_t = 512)]
    pub n: u64,
    /// b: columns of A and rows of B per broadcast inside groups, and in SUMMA; divides the outer block.
    #[arg(long, value_name = "B", default_value_t = 32)]
    pub block: u64,
    /// M: columns of A and rows of B per broadcast between groups; divides both sides of a rank's block. By default as
    /// --block.
    #[arg(long, value_name = "M")]
    pub outer_block: Option<u64>,
    /// The algorithm of all broadcasts; `trib-lab algorithms` lists them.
    #[arg(long, value_name = "NAME", default_value = "binomial", value_parser = broadcast)]
    pub broadcast: &'static InPlace,
    /// Bytes of a segment, for broadcasts that split messages: a multiple of 8.
    #[arg(long, value_name = "SIZE", default_value = "8k", value_parser = segment)]
    pub segment: u64,
    /// Run ranks as threads of this process, or as processes that mpiexec started.
    #[arg(long, value_enum, default_value = "threads")]
    pub fabric: Fabric,
    /// Print one JSON object on standard output, and nothing else.
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Both products are compared with a serial one; if an element differs, the command fails.

Examples:
  trib-lab hsumma --ranks 16 --groups 2x2 --n 512 --block 32
  trib-lab hsumma --ranks 8 --grid 2x4 --groups 1x2 --n 1024 --block 16 --outer-block 64 --broadcast pipeline
  mpiexec -n 64 trib-lab hsumma --fabric mpi --groups 4x4 --n 4096 --block 64
      runs on MPI";

fn broadcast(text: &str) -> Result<&'static InPlace, String> {
    let all = || IN_PLACE.iter().copied().filter(|it| it.algorithm.operation == Operation::Broadcast);
    let names = || all().map(|it| it.algorithm.name).collect::<Vec<_>>().join(", ");
    all().find(|it| it.algorithm.name == text).ok_or_else(|| format!("allowed: {}", names()))
}

fn segment(text: &str) -> Result<u64, String> {
    values::size(text)
        .ok()
        .filter(|size| size.is_multiple_of(8))
        .ok_or_else(|| "allowed: a multiple of 8 above 0, also with KiB, MiB, GiB".to_string())
}
