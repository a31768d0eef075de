//! The options of `trib-lab hosts`.

use clap::Args;

use crate::cli::compare::cores;
use trib::cli::slow_file::SlowFileOptions;
use trib::cli::values::{positive, threads};

/// Options of `trib-lab hosts`.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = NOTES)]
pub struct HostsOptions {
    /// Number of hosts.
    #[arg(value_name = "HOSTS", value_parser = threads)]
    pub hosts: u64,
    /// Number of ranks that a launcher puts on a host before it continues on the next host, and after the last on the
    /// first. Default: what the option -n of the command needs, or 1.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub ranks_per_host: Option<u64>,
    /// Limit the link of every host to this rate in both directions, in the notation of tc: 1gbit.
    #[arg(long, value_name = "RATE")]
    pub shape: Option<String>,
    /// Let bytes wait at a link for this number of milliseconds at most [default: 20]; more bytes are dropped and sent
    /// again. With 1000 nothing is dropped, as on networks of clusters.
    #[arg(long, value_name = "MS", value_parser = positive, requires = "shape")]
    pub queue: Option<u64>,
    /// Let each host use this number of processors, such as 0.5. Otherwise a host uses the time of others whose ranks wait.
    #[arg(long, value_name = "N", value_parser = cores)]
    pub cores: Option<f64>,
    /// A slow file system in $TRIB_HOSTS_DIRECTORY.
    #[command(flatten)]
    pub slow_file: SlowFileOptions,
    /// The command to run.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

const NOTES: &str = "\
A host is a network, a host name and a /dev/shm of its own: namespaces of this machine, which exist as long as the command
runs. All other directories are the machine's, so the hosts share them. Linux only; only root can make hosts. The command
runs on the first host; launchers of MPICH (hydra) and Open MPI find the others. MPICH must be one that talks over TCP:
ch3:sock, or ch4:ofi (the one in Debian, ch4:ucx, takes all hosts for one).

The command finds in its environment:
  TRIB_HOSTS_COUNT      their number; they are trib-host0, trib-host1, ...
  TRIB_HOSTS_AGENT      a program that runs a line on a host: $TRIB_HOSTS_AGENT trib-host1 'ip link set eth0 down'
  TRIB_HOSTS_DIRECTORY  a directory in memory that all hosts share
With --file-rate its environment also has LD_PRELOAD and TRIB_COMPARE_FILE, which ranks must get (Open MPI: -x), too.

Examples:
  trib-lab hosts 4 -- mpiexec -n 16 ./program
      runs a program on four hosts of four ranks
  trib-lab hosts 4 --shape 1gbit -- trib replay e3sm-f
      has links of 1 Gbit/s";
