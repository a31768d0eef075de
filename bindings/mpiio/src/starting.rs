//! A file that the engine has not opened yet: it does with the file's first collective call.

use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::pin::pin;

use serde::{Deserialize, Serialize};
use tributary::collectives::{agree, broadcast};
use tributary::{Endpoint, Error, File, Hints, Mode};

use crate::abi::amode;
use crate::channel::Channel;
use crate::open_file::Runner;

/// What the engine opens the file with.
pub struct Starting {
    channel: Channel,
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
    /// Nothing is sent.
    pub fn new(channel: Channel, hints: Result<Hints, Error>) -> Self {
        Self { channel, hints }
    }

    /// Opens the file, or says why MPI is to run its calls. Collective.
    ///
    /// # Errors
    /// Hints of the first rank's environment that are not allowed, the same on all ranks; or MPI's.
    pub fn start(self, path: &Path, amode: c_int) -> Result<Runner, Error> {
        let is_worlds = matches!(self.channel, Channel::World);
        let mut endpoint = self.channel.open()?;
        let terms = Terms::agree(&mut endpoint, path, self.hints)?;
        let taken = agree_to_take(&mut endpoint, &terms.path, amode);
        Ok(match taken {
            Ok(()) => open(endpoint, &terms.path, amode, terms.hints, is_worlds),
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
fn agree_to_take(endpoint: &mut Endpoint, path: &Path, amode: c_int) -> Result<(), Error> {
    let taken = match () {
        () if amode & amode::SEQUENTIAL != 0 => Err("MPI_MODE_SEQUENTIAL".to_string()),
        // The MPI library may know names that the system does not.
        () if endpoint.rank() == 0 && !path.exists() => Err(format!("no file {}", path.display())),
        () => Ok(()),
    };
    let waiting = endpoint.waiting().clone();
    let taken = taken.map_err(|why| Error::argument("file", why, "an open file with a name"));
    waiting.wait(pin!(agree(endpoint, taken)))
}

/// The engine over a file that MPI has opened; or MPI itself, when the engine cannot, which the first rank says. Collective.
pub fn open(endpoint: Endpoint, path: &Path, amode: c_int, hints: Hints, is_worlds: bool) -> Runner {
    let mode = if amode & amode::RDONLY != 0 { Mode::Read } else { Mode::Update };
    let speaks = endpoint.rank() == 0;
    match File::open(endpoint, path, mode, hints) {
        Ok(file) => Runner::Engine { file: Box::new(file), is_worlds },
        Err(error) => {
            if speaks {
                eprintln!("tributary: {} is left to MPI: {error}", path.display());
            }
            Runner::Mpi(format!("the engine did not open it: {error}"))
        }
    }
}
