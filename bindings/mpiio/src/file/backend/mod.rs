//! Decides which library runs the collective calls of an open file: the engine (Tributary) if it has opened the file,
//! otherwise the MPI library.
//!
//! | module | holds |
//! |---|---|
//! | [`attempt`] | the work of a collective read or write |
//! | [`closed`] | the close |
//! | [`unopened`] | a file that the engine has not opened yet, and the open by the engine |

use std::ffi::c_int;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tributary::collectives::allreduce;
use tributary::engine::{WritersBeside, binding, capture};
use tributary::fabric::Waiting;
use tributary::fabric::shared::CallBoard;
use tributary::schedule::ReduceOp;
use tributary::{Endpoint, Error, File, Hints};
use tributary_abi::constants;
use tributary_bindings::opening::decided_by;

use crate::file::hints::{effective, given};
use crate::file::sieving::{self, Promise};
use crate::file::single_rank::SingleRankHandle;
use crate::mpi::next::InterposedFunction;
use crate::opening::channel::Slot;

mod attempt;
mod closed;
mod unopened;

pub use attempt::{Ended, left_to_mpi};
pub use unopened::{CallOfUnopened, UnopenedFile};

use unopened::{mode, open};

/// The library that runs the collective calls of a file. All ranks of the file have the same variant.
pub enum Runner {
    /// The engine will open the file in the first collective call.
    NotOpened(Box<UnopenedFile>),
    /// The engine runs the calls.
    Engine(Box<File>),
    /// The MPI library runs the calls, for this reason.
    Mpi(String),
    /// A running non-blocking call has taken the runner. Meanwhile MPI_File_get_info returns these hints.
    InUse(Arc<Vec<EffectiveHint>>),
}

/// A hint in force, as MPI_File_get_info returns it.
pub type EffectiveHint = (&'static str, String);

/// The library that runs a file's calls, with its state. A non-blocking call takes the backend out of the file, and
/// puts it back when the call ends.
pub struct Backend {
    /// The file's name, as an absolute path.
    pub path: Arc<Path>,
    /// Mode that the program passed to MPI_File_open (MPI_MODE_*).
    pub amode: c_int,
    /// True if this is rank 0 of the file, which prints messages.
    pub is_first: bool,
    /// Library that runs collective calls.
    pub runner: Runner,
    /// True if any rank wants a report or a capture of the file; the same on all ranks.
    pub is_reported: bool,
    /// True if the file has a single rank.
    pub has_one_rank: bool,
    /// Place that the file's endpoint goes back to when the file is closed, if the file has an endpoint.
    seat: Option<Slot>,
    /// Handle for calls that need no engine, if the file has a single rank.
    single: Option<Box<SingleRankHandle>>,
    /// New hints of this rank since the file was opened. The next collective call applies the hints of the first rank
    /// on all ranks.
    wanted: Option<Box<Hints>>,
    /// True in the call in which the engine has opened the file: all ranks are in it.
    is_just_opened: bool,
    /// Promise of this rank that lets the other ranks write before this rank is in their call; None while they must wait.
    promise: Option<Promise>,
    /// Last result of MPI_File_get_info; None after the hints in force have changed.
    effective: Option<Arc<Vec<EffectiveHint>>>,
}

impl Backend {
    /// Creates the backend of a file that MPI has opened.
    pub fn new(path: Arc<Path>, amode: c_int, is_first: bool, runner: Runner, seat: Option<Slot>) -> Self {
        let single = match &runner {
            Runner::NotOpened(unopened)
                if !unopened.has_several_ranks() && amode & constants().mode_sequential == 0 =>
            {
                Some(Box::new(SingleRankHandle::new(unopened.identity, mode(amode))))
            }
            _ => None,
        };
        Self {
            path,
            amode,
            is_first,
            runner,
            is_reported: false,
            has_one_rank: false,
            seat,
            single,
            wanted: None,
            is_just_opened: false,
            promise: None,
            effective: None,
        }
    }

    /// Returns true if the file's ranks are all ranks of the program, and one thread at a time calls MPI on each. Local.
    pub fn has_the_whole_program(&self) -> bool {
        self.seat.as_ref().is_some_and(Slot::has_the_whole_program)
    }

    /// Takes the backend for a non-blocking call. Leaves a stand-in that can answer MPI_File_get_info.
    pub fn take_for_call(&mut self) -> Self {
        let hints = self.effective_hints();
        let stand_in = Self::new(self.path.clone(), self.amode, self.is_first, Runner::InUse(hints), None);
        std::mem::replace(self, stand_in)
    }

    /// Returns true if the engine has not tried to open the file yet.
    fn is_to_start(&self) -> bool {
        matches!(self.runner, Runner::NotOpened(_))
    }

    /// Returns true if the engine has opened the file and runs its calls. All ranks get the same answer.
    pub fn is_opened(&self) -> bool {
        matches!(self.runner, Runner::Engine(_))
    }

    /// Waits until all ranks have ended a collective write of `function` that MPI ran, if the engine has opened the file.
    /// Collective in that case.
    ///
    /// # Errors
    /// The same on all ranks: ranks are in different calls, or an error of earlier writes. Or an error of MPI.
    pub async fn wait_for_all(&mut self, function: &'static InterposedFunction) -> Result<(), Error> {
        let Runner::Engine(engine) = &mut self.runner else { return Ok(()) };
        binding::call_them(engine, function.full_name());
        binding::wait_for_all(engine).await
    }

    /// Lets the engine open a file that a single rank has used without the engine, so that hints in force and the report
    /// are the engine's. If other ranks of the program may write the file, does so only if `at_close`, because the engine takes
    /// no lock. If the open fails, MPI runs the later calls. Local.
    pub fn start_if_single_rank(&mut self, function: &'static InterposedFunction, at_close: bool) {
        if let Runner::NotOpened(unopened) = &self.runner
            && (unopened.has_all_ranks || at_close)
            && self.single.as_ref().is_some_and(|single| single.is_used())
        {
            let waiting = unopened.endpoint.waiting().clone();
            // An error leaves the file to MPI, and its report says so.
            let _ = waiting.wait(pin!(self.start(function)));
        }
    }

    /// Lets the engine open a file without collective reads and writes in a close by `function`, if all ranks want captures and
    /// any rank `has_calls`, independent ones: they get into a capture. Collective.
    ///
    /// # Errors
    /// Any error of the MPI library. If the open fails on all ranks, there is no capture, and no error.
    pub async fn start_for_capture(
        &mut self,
        function: &'static InterposedFunction,
        has_calls: bool,
    ) -> Result<(), Error> {
        let Runner::NotOpened(unopened) = &mut self.runner else { return Ok(()) };
        if !self.is_reported || !unopened.has_several_ranks() {
            return Ok(());
        }
        let mut agreed = [u64::from(capture::is_wanted()), u64::from(has_calls)];
        let waiting = unopened.endpoint.waiting().clone();
        let ops = [ReduceOp::Min, ReduceOp::Max];
        waiting.call(pin!(allreduce(&mut unopened.endpoint, &ops, &mut agreed))).await?;
        if agreed != [1, 1] {
            return Ok(());
        }
        match self.open_in(CallOfUnopened::Transfer, function, "the library did not open the file").await {
            Err(error) if error.is_unagreed() => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Lets the engine open the file in a call of `function`, unless the engine has tried before. Collective.
    ///
    /// # Errors
    /// A hint from the environment is not allowed. All ranks get the same error, and MPI runs the calls of this file
    /// from then on.
    async fn start(&mut self, function: &'static InterposedFunction) -> Result<(), Error> {
        if self.is_to_start() {
            self.effective = None;
            self.open_in(CallOfUnopened::Transfer, function, "the library did not open the file").await?;
            self.is_just_opened = true;
        }
        Ok(())
    }

    /// Checks that all ranks are in a call of `function`, if the engine has not opened the file yet. `call` says
    /// which call that is: MPI_File_sync, for example, does not make the engine open the file. Does nothing if the
    /// engine has opened the file, or never will. Collective.
    ///
    /// # Errors
    /// Ranks are in different calls (all ranks get the same error, and MPI runs the calls from then on), or an MPI
    /// function failed.
    pub async fn check_unopened(
        &mut self,
        call: CallOfUnopened,
        function: &'static InterposedFunction,
    ) -> Result<(), Error> {
        match &self.runner {
            Runner::NotOpened(unopened) if unopened.has_several_ranks() => {
                self.open_in(call, function, "ranks made different calls").await
            }
            _ => Ok(()),
        }
    }

    /// Opens a file that the engine has not opened ([`UnopenedFile::open`]). After an error MPI runs its calls, because of
    /// `why`. Collective.
    async fn open_in(
        &mut self,
        call: CallOfUnopened,
        function: &'static InterposedFunction,
        why: &str,
    ) -> Result<(), Error> {
        if let Runner::NotOpened(unopened) = std::mem::replace(&mut self.runner, Runner::Mpi(why.to_string())) {
            let at = (&*self.path, self.seat.as_ref());
            // In memory of its own: the future of every call would otherwise have the size of the engine's opening.
            self.runner = match Box::pin(unopened.open(at, self.amode, (call, function))).await {
                Ok(runner) => runner,
                Err(error) => {
                    self.runner = Runner::Mpi(format!("{why}: {error}"));
                    return Err(error);
                }
            };
        }
        Ok(())
    }

    /// Returns the engine's open file for the next call, if the engine runs the calls of this file. All ranks get the same
    /// answer.
    ///
    /// # Errors
    /// The reason why MPI runs the calls.
    fn engine(&mut self) -> Result<&mut File, String> {
        match &mut self.runner {
            Runner::Mpi(why) => Err(why.clone()),
            Runner::NotOpened(_) | Runner::InUse(_) => Err("the library has not opened the file yet".to_string()),
            Runner::Engine(file) => {
                file.set_sole_writer(is_sole_writer(self.seat.as_ref()));
                binding::set_writers_beside(
                    file,
                    WritersBeside {
                        all_are_here: std::mem::take(&mut self.is_just_opened),
                        have_sieved: sieving::is_wanted(),
                    },
                );
                Ok(file)
            }
        }
    }

    /// Makes or ends this rank's promise to the other ranks ([`Promise`]), after a call of the engine.
    fn promise(&mut self) {
        let is_due = matches!(&self.runner, Runner::Engine(file) if binding::lets_ranks_write_early(file));
        self.promise = is_due.then(|| self.promise.take().unwrap_or_else(Promise::new));
    }

    /// Returns this rank's endpoint, if the file has one.
    fn endpoint(&mut self) -> Option<&mut Endpoint> {
        match &mut self.runner {
            Runner::NotOpened(unopened) => Some(&mut unopened.endpoint),
            Runner::Engine(file) => Some(file.endpoint()),
            Runner::Mpi(_) | Runner::InUse(_) => None,
        }
    }

    /// Returns how this rank waits for other ranks in calls of the engine; None if the file has no endpoint.
    pub fn waiting(&mut self) -> Option<Waiting> {
        self.endpoint().map(|endpoint| endpoint.waiting().clone())
    }

    /// Returns the board that shows the other ranks of the host the calls on the file that MPI runs; None if the file has
    /// no endpoint.
    pub fn board(&mut self) -> Option<Arc<CallBoard>> {
        self.endpoint().map(|endpoint| endpoint.board().clone())
    }

    /// Returns this rank, and the seconds after which the stall watchdog prints a line (0: never); None if the file has
    /// no endpoint.
    pub fn stall_terms(&mut self) -> Option<(usize, usize)> {
        match &mut self.runner {
            Runner::NotOpened(unopened) => Some(unopened.stall_terms()),
            Runner::Engine(file) => Some((file.endpoint().rank(), file.settings().hints.stall_timeout)),
            Runner::Mpi(_) | Runner::InUse(_) => None,
        }
    }

    /// Returns true if calls of the engine exchange no MPI messages, as far as this rank knows, because the ranks
    /// share memory.
    pub fn needs_no_messages(&self) -> bool {
        match &self.runner {
            Runner::NotOpened(unopened) => unopened.shares_memory(),
            Runner::Engine(file) => file.settings().shares_memory,
            Runner::Mpi(_) | Runner::InUse(_) => false,
        }
    }

    /// Returns the hints in force on this rank, for MPI_File_get_info.
    pub fn effective_hints(&mut self) -> Arc<Vec<EffectiveHint>> {
        let now = || match &self.runner {
            Runner::NotOpened(unopened) => {
                unopened.hints.as_ref().map(|hints| given(hints, &self.path)).unwrap_or_default()
            }
            Runner::Engine(file) => effective(file),
            Runner::Mpi(_) => Vec::new(),
            Runner::InUse(hints) => hints.to_vec(),
        };
        match &self.effective {
            Some(hints) => hints.clone(),
            None => self.effective.insert(Arc::new(now())).clone(),
        }
    }

    /// Records hints that the program has set on this rank. Local. Must not be called while a call on the file is
    /// running.
    pub fn want(&mut self, asked: &Hints) {
        match &mut self.runner {
            // A bad hint in the environment stays an error.
            Runner::NotOpened(unopened) if unopened.hints.is_ok() => {
                unopened.hints = Ok(asked.clone());
                self.effective = None;
            }
            Runner::Engine(file) if self.is_first => {
                self.wanted = (asked != file.settings().hints).then(|| Box::new(asked.clone()));
            }
            Runner::NotOpened(_) | Runner::Engine(_) | Runner::Mpi(_) | Runner::InUse(_) => {}
        }
    }

    /// Applies the first rank's new hints on all ranks. Collective.
    ///
    /// # Errors
    /// An error of the messages between ranks, or of the file system when the engine closes the file to reopen it.
    /// MPI runs the calls from then on.
    async fn apply(&mut self) -> Result<(), Error> {
        let wanted = self.wanted.take();
        let Runner::Engine(engine) = &mut self.runner else { return Ok(()) };
        let endpoint = engine.endpoint();
        let waiting = endpoint.waiting().clone();
        let decided = decided_by(endpoint, 0, || wanted.map(|hints| *hints), "the first rank's hints");
        let hints: Option<Hints> = waiting.call(pin!(decided)).await?;
        match hints {
            Some(hints) => self.reopen(hints).await,
            None => Ok(()),
        }
    }

    /// Reopens the engine's file with other hints. Collective. If this fails, it fails on all ranks, and MPI runs the
    /// calls from then on.
    async fn reopen(&mut self, hints: Hints) -> Result<(), Error> {
        let why = "the library did not reopen the file".to_string();
        let Some(file) = self.take_engine(why) else { return Ok(()) };
        match binding::close_after(*file, Ok(())).await {
            Ok(endpoint) => {
                self.runner = open(endpoint, &self.path, self.amode, hints).await;
                Ok(())
            }
            Err(error) => {
                self.runner = Runner::Mpi(error.to_string());
                Err(error)
            }
        }
    }

    /// Lets MPI run all calls of the file from now on, because `error` says that the engine lacks a resource.
    /// Collective.
    ///
    /// # Errors
    /// The errors of the file system when the engine closes the file.
    async fn give_up(&mut self, error: &Error) -> Result<(), Error> {
        if self.is_first {
            tributary::say(format_args!("MPI runs the calls of {}: {error}", self.path.display()));
        }
        if let Some(file) = self.take_engine(error.to_string()) {
            let endpoint = binding::close_after(*file, Ok(())).await?;
            if let Some(seat) = &self.seat {
                seat.keep(endpoint);
            }
        }
        Ok(())
    }

    /// Takes the engine's file, if the engine runs the calls. MPI runs them from now on, because of `why`.
    fn take_engine(&mut self, why: String) -> Option<Box<File>> {
        self.effective = None;
        match std::mem::replace(&mut self.runner, Runner::Mpi(why)) {
            Runner::Engine(file) => Some(file),
            other => {
                self.runner = other;
                None
            }
        }
    }
}

/// True if the program has ever started a write that MPI may still run while the program goes on: a non-blocking or
/// split write that the engine does not run. The flag is never cleared.
static STARTED_WRITES: AtomicBool = AtomicBool::new(false);

/// Records that from now on MPI may be writing a file of this process while the program goes on. Local.
pub fn note_started_write() {
    STARTED_WRITES.store(true, Ordering::Relaxed);
}

/// Returns true if only the ranks of a file can write it while they are in a blocking call on it: the ranks are all
/// ranks of the program, each calls MPI from one thread at a time, and MPI runs no write in the background. Local.
fn is_sole_writer(seat: Option<&Slot>) -> bool {
    seat.is_some_and(Slot::has_the_whole_program) && !STARTED_WRITES.load(Ordering::Relaxed)
}
