//! Who runs the collective calls of one open file: the engine, once it has opened the file, or the MPI library.

use std::ffi::c_int;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use tributary::collectives::{agree, broadcast};
use tributary::engine::alone;
use tributary::fabric::Waiting;
use tributary::{Endpoint, Error, File, Hints};

use crate::abi::errors::io_outcome;
use crate::channel::give_back;
use crate::hints::{effective, given};
use crate::starting::{Starting, open};

/// Who runs the collective calls of a file. The same on all of its ranks.
pub enum Runner {
    /// The engine, from the first collective call on.
    Later(Box<Starting>),
    /// The engine.
    Engine {
        /// The engine's file.
        file: Box<File>,
        /// Whether its means to talk are kept for the next file.
        is_kept: bool,
    },
    /// The MPI library; why.
    Mpi(String),
    /// A call that is under way has it: what MPI_File_get_info is to tell meanwhile.
    Away(Arc<Vec<Told>>),
}

/// A hint in force, as MPI_File_get_info tells it.
pub type Told = (&'static str, String);

/// Who runs a file's calls, and what that takes. A call that goes on later takes it away and brings it back.
pub struct Backend {
    /// The file's name, as an absolute path.
    pub path: Arc<Path>,
    /// MPI's mode of opening.
    pub amode: c_int,
    /// Whether this is the file's first rank, which speaks for all.
    pub is_first: bool,
    /// Who runs collective calls.
    pub runner: Runner,
    /// Hints that the program has asked for since: the first rank's, which all take over with the next collective call.
    pub wanted: Option<Box<Hints>>,
    /// What MPI_File_get_info told last, until other hints are in force.
    told: Option<Arc<Vec<Told>>>,
}

impl Backend {
    /// For a file that MPI has opened.
    pub fn new(path: Arc<Path>, amode: c_int, is_first: bool, runner: Runner) -> Self {
        Self { path, amode, is_first, runner, wanted: None, told: None }
    }

    /// Gives all of it to a call that goes on later; in its place stays what can be asked for meanwhile.
    pub fn lend(&mut self) -> Self {
        let runner = Runner::Away(self.told());
        let Self { path, amode, is_first, told, .. } = self;
        let rest =
            Self { path: path.clone(), amode: *amode, is_first: *is_first, runner, wanted: None, told: told.clone() };
        std::mem::replace(self, rest)
    }

    /// Whether the engine has still to open the file.
    pub fn is_to_start(&self) -> bool {
        matches!(self.runner, Runner::Later(_))
    }

    /// Has the engine open the file, if it is still to and can. Collective.
    ///
    /// # Errors
    /// The same on all ranks: hints of the environment that are not allowed. MPI runs the calls from here on.
    pub async fn start(&mut self) -> Result<(), Error> {
        let why = "the engine did not open it".to_string();
        match std::mem::replace(&mut self.runner, Runner::Mpi(why)) {
            Runner::Later(starting) => {
                self.told = None;
                self.runner = starting.start(&self.path, self.amode).await?;
            }
            other => self.runner = other,
        }
        Ok(())
    }

    /// The engine, when it runs this file's calls. The same on all ranks.
    ///
    /// # Errors
    /// Why MPI runs them.
    pub fn engine(&mut self) -> Result<&mut File, String> {
        match &mut self.runner {
            Runner::Mpi(why) => Err(why.clone()),
            Runner::Later(_) | Runner::Away(_) => Err("not opened by the engine yet".to_string()),
            Runner::Engine { file, .. } => Ok(file),
        }
    }

    /// How this rank waits for calls of the engine, if it has the means to talk.
    pub fn waiting(&mut self) -> Option<Waiting> {
        match &mut self.runner {
            Runner::Later(starting) => starting.waiting(),
            Runner::Engine { file, .. } => Some(file.endpoint().waiting().clone()),
            Runner::Mpi(_) | Runner::Away(_) => None,
        }
    }

    /// What MPI_File_get_info is to tell of the hints in force on this rank.
    pub fn told(&mut self) -> Arc<Vec<Told>> {
        let now = || match &self.runner {
            Runner::Later(starting) => starting.hints.as_ref().map(given).unwrap_or_default(),
            Runner::Engine { file, .. } => effective(file),
            Runner::Mpi(_) => Vec::new(),
            Runner::Away(told) => told.to_vec(),
        };
        match &self.told {
            Some(told) => told.clone(),
            None => self.told.insert(Arc::new(now())).clone(),
        }
    }

    /// The program has asked for these hints. Nothing is sent. No call of the file is under way.
    pub fn want(&mut self, asked: &Hints) {
        match &mut self.runner {
            // What is damaged in the environment stays an error.
            Runner::Later(starting) if starting.hints.is_ok() => {
                starting.hints = Ok(asked.clone());
                self.told = None;
            }
            Runner::Engine { file, .. } if self.is_first => {
                self.wanted = (asked != file.hints()).then(|| Box::new(asked.clone()));
            }
            Runner::Later(_) | Runner::Engine { .. } | Runner::Mpi(_) | Runner::Away(_) => {}
        }
    }

    /// Puts the first rank's wish into force on all ranks. Collective.
    ///
    /// # Errors
    /// The fabric's, or what the file system reports when the engine closes the file to open it anew; then MPI runs the
    /// calls.
    pub async fn apply(&mut self) -> Result<(), Error> {
        let wanted = self.wanted.take();
        let Runner::Engine { file: engine, .. } = &mut self.runner else { return Ok(()) };
        let endpoint = engine.endpoint();
        let waiting = endpoint.waiting().clone();
        let told = serde_json::to_vec(&wanted).unwrap_or_default();
        let told = waiting.call(pin!(broadcast(endpoint, 0, &told))).await?;
        match serde_json::from_slice(&told) {
            Ok(Some(hints)) => self.reopen(hints).await,
            Ok(None) => Ok(()),
            Err(_) => alone(Err(Error::Internal { rank: 0, what: "the first rank's hints were not told".to_string() })),
        }
    }

    /// Opens the engine's file anew with other hints. Collective. When that fails, on all ranks, MPI runs the calls from
    /// here on.
    async fn reopen(&mut self, hints: Hints) -> Result<(), Error> {
        self.told = None;
        let mut closed = Ok(());
        match std::mem::replace(&mut self.runner, Runner::Mpi("the engine did not open it again".to_string())) {
            Runner::Engine { file, is_kept } => {
                self.runner = match file.close_async().await {
                    Ok(endpoint) => open(endpoint, &self.path, self.amode, hints, is_kept).await,
                    Err(error) => {
                        let why = error.to_string();
                        closed = Err(error);
                        Runner::Mpi(why)
                    }
                };
            }
            other => self.runner = other,
        }
        closed
    }

    /// Closes the engine's file. Collective, if the engine has opened it.
    ///
    /// # Errors
    /// The file's, on all ranks.
    pub fn close(self) -> Result<Closed, Error> {
        match self.runner {
            Runner::Engine { file, is_kept } => file.close().map(|endpoint| Closed(Some((endpoint, is_kept)))),
            Runner::Later(_) | Runner::Mpi(_) | Runner::Away(_) => Ok(Closed(None)),
        }
    }
}

/// A file that the engine has closed: its means to talk, if it had any, and whether they are kept.
pub struct Closed(Option<(Endpoint, bool)>);

impl Closed {
    /// Makes what MPI_File_close has returned on this rank the same on all, if the engine had opened the file. Collective
    /// then.
    ///
    /// # Errors
    /// That of the lowest rank that has one.
    pub fn agree(self, code: c_int, path: &Path) -> Result<(), Error> {
        let Some((mut endpoint, is_kept)) = self.0 else { return Ok(()) };
        let own = io_outcome("MPI_File_close", code, endpoint.rank(), path);
        let waiting = endpoint.waiting().clone();
        let outcome = waiting.complete(pin!(agree(&mut endpoint, own)));
        give_back(endpoint, is_kept);
        outcome
    }
}
