//! One open file of the program: the engine that runs its collective calls, or why there is none.

use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::pin::pin;

use tributary::collectives::agree;
use tributary::engine::Direction;
use tributary::hints::Asked;
use tributary::{Endpoint, Error, File, Hints};

use crate::abi::amode;
use crate::abi::errors::io_outcome;
use crate::calls::split::Split;
use crate::channel::give_back;
use crate::starting::{Starting, open};
use crate::view::{View, Window};

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
}

/// A file that the program opened. The MPI library's own file is open below it, for all that the engine does not do.
pub struct OpenFile {
    /// Its name, as an absolute path.
    pub path: PathBuf,
    /// MPI's mode of opening.
    pub amode: c_int,
    /// Whether this is the file's first rank, which speaks for all.
    pub is_first: bool,
    /// Who runs collective calls.
    pub runner: Runner,
    /// What this rank of the program sees of the file.
    pub view: View,
    /// What is asked of the file on this rank, and where it was asked for.
    pub asked: Asked,
    /// Hints that the program has asked for since: the first rank's, which all take over with the next collective call.
    pub wanted: Option<Hints>,
    /// Whether the program asked for atomic mode.
    pub is_atomic: bool,
    /// A collective call between its begin and its end.
    pub split: Option<Split>,
}

impl OpenFile {
    /// A file with the view that MPI gives every file: all bytes.
    pub fn new(path: PathBuf, amode: c_int, is_first: bool, runner: Runner, asked: Asked) -> Self {
        let view = View::Engine(Window::all());
        Self { path, amode, is_first, runner, view, asked, wanted: None, is_atomic: false, split: None }
    }

    /// Makes sure that the engine has opened the file, if it can. Collective.
    ///
    /// # Errors
    /// The same on all ranks: hints of the environment that are not allowed. MPI runs the calls from here on.
    pub fn start(&mut self) -> Result<(), Error> {
        if !matches!(self.runner, Runner::Later(_)) {
            return Ok(());
        }
        let why = "the engine did not open it".to_string();
        if let Runner::Later(starting) = std::mem::replace(&mut self.runner, Runner::Mpi(why)) {
            self.runner = starting.start(&self.path, self.amode)?;
        }
        Ok(())
    }

    /// The engine and this rank's view, when the engine may run calls of this direction now. The same on all ranks.
    ///
    /// # Errors
    /// Why MPI runs them.
    pub fn engine(&mut self, direction: Direction) -> Result<(&mut File, &View), String> {
        let refusal = match direction {
            Direction::Write if self.amode & amode::rdonly() != 0 => Some("opened with MPI_MODE_RDONLY"),
            Direction::Read if self.amode & amode::wronly() != 0 => Some("opened with MPI_MODE_WRONLY"),
            _ if self.is_atomic => Some("atomic mode"),
            _ => None,
        };
        match (&mut self.runner, refusal) {
            (Runner::Mpi(why), _) => Err(why.clone()),
            (_, Some(why)) => Err(why.to_string()),
            (Runner::Later(_), _) => Err("not opened by the engine yet".to_string()),
            (Runner::Engine { file, .. }, None) => Ok((file, &self.view)),
        }
    }

    /// The hints in force on this rank, as far as they are known before the first collective call.
    pub fn hints(&self) -> Option<&Hints> {
        match &self.runner {
            Runner::Later(starting) => starting.hints.as_ref().ok(),
            Runner::Engine { file, .. } => Some(file.hints()),
            Runner::Mpi(_) => None,
        }
    }

    /// The program has asked for other hints. Nothing is sent.
    pub fn want(&mut self) {
        let asked = self.asked.hints();
        match &mut self.runner {
            // What is damaged in the environment stays an error.
            Runner::Later(starting) if starting.hints.is_ok() => starting.hints = Ok(asked.clone()),
            Runner::Engine { file, .. } if self.is_first => {
                self.wanted = (asked != file.hints()).then(|| asked.clone())
            }
            Runner::Later(_) | Runner::Engine { .. } | Runner::Mpi(_) => {}
        }
    }

    /// Opens the engine's file anew with other hints. Collective. When that fails, on all ranks, MPI runs the calls from
    /// here on.
    ///
    /// # Errors
    /// What the file system reports on closing, on all ranks.
    pub fn reopen(&mut self, hints: Hints) -> Result<(), Error> {
        let mut closed = Ok(());
        match std::mem::replace(&mut self.runner, Runner::Mpi(String::new())) {
            Runner::Engine { file, is_kept } => {
                self.runner = match file.close() {
                    Ok(endpoint) => open(endpoint, &self.path, self.amode, hints, is_kept),
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
            Runner::Later(_) | Runner::Mpi(_) => Ok(Closed(None)),
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
