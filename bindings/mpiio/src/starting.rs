//! A file that the engine has not opened yet: it does with the file's first collective call.

use std::ffi::c_int;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use tributary::collectives::{agree, allreduce, broadcast};
use tributary::schedule::ReduceOp;
use tributary::{Endpoint, Error, File, Hints, Mode};

use crate::abi::amode;
use crate::channel::Channel;
use crate::open_file::Runner;

/// What the engine opens the file with.
pub struct Starting {
    channel: Channel,
    /// Which open of this program it is: the same on all ranks.
    number: u64,
    /// On the first rank, the file that was opened: its name may mean another one later.
    identity: Option<(u64, u64)>,
    /// This rank's hints; those of the first rank count. An error is what its environment has that is not allowed.
    pub hints: Result<Hints, Error>,
}

/// What the first rank decides for all.
#[derive(Serialize, Deserialize)]
struct Terms {
    path: PathBuf,
    hints: Hints,
}

impl Starting {
    /// For the file at `path`, which MPI has just opened. Nothing is sent.
    pub fn new(channel: Channel, hints: Result<Hints, Error>, path: &Path, is_first: bool) -> Self {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let number = match &channel {
            Channel::World => OPENED.fetch_add(1, Ordering::Relaxed),
            Channel::Own(_) => 0,
        };
        Self { channel, number, identity: is_first.then(|| identity(path)).flatten(), hints }
    }

    /// Opens the file, or says why MPI is to run its calls. Collective.
    ///
    /// # Errors
    /// Hints of the first rank's environment that are not allowed, the same on all ranks; or MPI's.
    pub fn start(self, path: &Path, amode: c_int) -> Result<Runner, Error> {
        let may_keep = matches!(self.channel, Channel::World);
        let mut endpoint = self.channel.open()?;
        let waiting = endpoint.waiting().clone();
        let mut lanes = [self.number, self.number, u64::from(may_keep)];
        waiting.wait(pin!(allreduce(&mut endpoint, &[ReduceOp::Min, ReduceOp::Max, ReduceOp::Min], &mut lanes)))?;
        let [least, most, is_kept] = lanes;
        if least != most {
            return Ok(Runner::Mpi("ranks began with different files".to_string()));
        }
        let terms = Terms::agree(&mut endpoint, path, self.hints)?;
        let taken = agree_to_take(&mut endpoint, &terms.path, amode, self.identity);
        Ok(match taken {
            Ok(()) => open(endpoint, &terms.path, amode, terms.hints, is_kept == 1),
            Err(Error::Argument { value, .. }) => Runner::Mpi(value),
            Err(error) => Runner::Mpi(error.to_string()),
        })
    }
}

impl Terms {
    /// Collective.
    fn agree(endpoint: &mut Endpoint, path: &Path, hints: Result<Hints, Error>) -> Result<Self, Error> {
        let waiting = endpoint.waiting().clone();
        let hints = if endpoint.rank() == 0 { hints } else { Ok(Hints::default()) };
        waiting.wait(pin!(async {
            let hints = agree(endpoint, hints).await?;
            let told = serde_json::to_vec(&Self { path: path.to_path_buf(), hints }).unwrap_or_default();
            let told = broadcast(endpoint, 0, &told).await?;
            let internal = |_| Error::Internal { rank: endpoint.rank(), what: "the terms were not told".to_string() };
            serde_json::from_slice(&told).map_err(internal)
        }))
    }
}

/// Whether the engine can take the file; if not, the reason is the value of the error. Collective.
fn agree_to_take(endpoint: &mut Endpoint, path: &Path, amode: c_int, opened: Option<(u64, u64)>) -> Result<(), Error> {
    let taken = match () {
        () if amode & amode::SEQUENTIAL != 0 => Err("MPI_MODE_SEQUENTIAL".to_string()),
        // The MPI library may know names that the system does not.
        () if endpoint.rank() == 0 && opened.is_none() => Err(format!("no file {}", path.display())),
        () if endpoint.rank() == 0 && identity(path) != opened => Err(format!("{} is another file", path.display())),
        () => Ok(()),
    };
    let waiting = endpoint.waiting().clone();
    let taken = taken.map_err(|why| Error::argument("file", why, "an open file with a name"));
    waiting.wait(pin!(agree(endpoint, taken)))
}

/// What tells a file from every other on its host.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|told| (told.dev(), told.ino()))
}

/// The engine over a file that MPI has opened; or MPI itself, when the engine cannot, which the first rank says. Collective.
pub fn open(endpoint: Endpoint, path: &Path, amode: c_int, hints: Hints, is_kept: bool) -> Runner {
    let mode = if amode & amode::RDONLY != 0 { Mode::Read } else { Mode::Update };
    let speaks = endpoint.rank() == 0;
    match File::open(endpoint, path, mode, hints) {
        Ok(file) => Runner::Engine { file: Box::new(file), is_kept },
        Err(error) => {
            if speaks {
                eprintln!("tributary: {} is left to MPI: {error}", path.display());
            }
            Runner::Mpi(format!("the engine did not open it: {error}"))
        }
    }
}
