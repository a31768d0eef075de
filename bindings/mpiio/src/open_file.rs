//! One open file of the program: the engine that runs its collective calls, or why there is none.

use std::ffi::c_int;
use std::path::{Path, PathBuf};

use tributary::engine::Direction;
use tributary::{Endpoint, File, Hints, Mode};

use crate::abi::amode;
use crate::calls::split::Split;
use crate::view::{View, Window};

/// Who runs the collective calls of a file. The same on all of its ranks.
pub enum Runner {
    /// The engine.
    Engine(Box<File>),
    /// The MPI library; why.
    Mpi(String),
}

impl Runner {
    /// The engine over a file that MPI has opened; or MPI itself, when the engine cannot, which the first rank says.
    /// Collective.
    pub fn start(endpoint: Endpoint, path: &Path, amode: c_int, hints: Hints) -> Self {
        let mode = if amode & amode::RDONLY != 0 { Mode::Read } else { Mode::Update };
        let speaks = endpoint.rank() == 0;
        match File::open(endpoint, path, mode, hints) {
            Ok(file) => Self::Engine(Box::new(file)),
            Err(error) => {
                if speaks {
                    eprintln!("tributary: {} is left to MPI: {error}", path.display());
                }
                Self::Mpi(format!("the engine did not open it: {error}"))
            }
        }
    }
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
    /// What the program sees of the file.
    pub view: View,
    /// Whether the program asked for atomic mode.
    pub is_atomic: bool,
    /// A collective call between its begin and its end.
    pub split: Option<Split>,
}

impl OpenFile {
    /// A file with the view that MPI gives every file: all bytes.
    pub fn new(path: PathBuf, amode: c_int, is_first: bool, runner: Runner) -> Self {
        Self { path, amode, is_first, runner, view: View::Engine(Window::all()), is_atomic: false, split: None }
    }

    /// The engine and the view, when the engine may run calls of this direction now. The same on all ranks.
    ///
    /// # Errors
    /// Why MPI runs them.
    pub fn engine(&mut self, direction: Direction) -> Result<(&mut File, &Window), String> {
        let refusal = match direction {
            Direction::Write if self.amode & amode::RDONLY != 0 => Some("opened with MPI_MODE_RDONLY"),
            Direction::Read if self.amode & amode::WRONLY != 0 => Some("opened with MPI_MODE_WRONLY"),
            _ if self.is_atomic => Some("atomic mode"),
            _ => None,
        };
        match (&mut self.runner, &self.view, refusal) {
            (Runner::Mpi(why), ..) => Err(why.clone()),
            (_, _, Some(why)) => Err(why.to_string()),
            (_, View::Foreign(why), _) => Err(why.clone()),
            (Runner::Engine(file), View::Engine(window), None) => Ok((file, window)),
        }
    }

    /// Opens the engine's file anew with other hints. Collective. When that fails, on all ranks, MPI runs the calls from
    /// here on.
    pub fn reopen(&mut self, hints: Hints) {
        let Runner::Engine(file) = std::mem::replace(&mut self.runner, Runner::Mpi(String::new())) else {
            return;
        };
        self.runner = match file.close() {
            Ok(endpoint) => Runner::start(endpoint, &self.path, self.amode, hints),
            Err(error) => Runner::Mpi(error.to_string()),
        };
    }
}
