//! A file that MPI has opened and the engine has not. The engine opens the file in the file's first collective read
//! or write.

use std::ffi::c_int;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::pin::pin;

use tributary::drivers::{OpenStorage, SystemFiles};
use tributary::engine::{FirstAgreement, binding, calls_differ};
use tributary::fingerprint;
use tributary::hints::DriverName;
use tributary::schedule::ReduceOp;
use tributary::{Endpoint, Error, File, Hints, Mode, wire};
use tributary_abi::constants;
use tributary_bindings::opening::decided_by;

use crate::file::backend::Runner;
use crate::file::job;
use crate::file::own_handle::{FileIdentity, identity};
use crate::mpi::abi::has_all_ranks;
use crate::mpi::next::InterposedFunction;
use crate::opening::channel::Slot;

/// How an allreduce combines the six numbers of [`contribution`]: the lowest rank that refuses the file; the lowest and the
/// highest fingerprint of the ranks' arguments; whether the first rank writes a line about the job into the log; the lowest and
/// the highest number of the call that the ranks are in.
const OPS: [ReduceOp; 6] = [ReduceOp::Min, ReduceOp::Min, ReduceOp::Max, ReduceOp::Max, ReduceOp::Min, ReduceOp::Max];
/// Reason why MPI runs the calls of a file on DAOS. MPICH and its derivatives have a driver that calls DAOS's own library;
/// this library would write through dfuse.
const DAOS: &str = "it is on DAOS, for which MPI may have a driver; trib_driver=posix takes it";
/// Value that stands for no rank.
const NOBODY: u64 = u64::MAX;

/// The kind of a collective call on a file that the engine has not opened yet. The engine opens the file only in a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOfUnopened {
    /// A write or a read, for which the engine opens the file.
    Transfer,
    /// MPI_File_sync.
    Sync,
    /// MPI_File_close.
    Close,
    /// MPI_File_set_size.
    SetSize,
    /// MPI_File_preallocate.
    Preallocate,
    /// MPI_File_set_atomicity.
    SetAtomicity,
}

/// The state of a file that the engine has not opened yet: everything that the engine needs to open the file.
pub struct UnopenedFile {
    /// Endpoint of this rank, for messages to the other ranks of the file.
    pub(super) endpoint: Endpoint,
    /// True if the file has as many ranks as the program.
    pub(super) has_all_ranks: bool,
    /// Device and inode of the opened file, on the first rank: the name may refer to another file later.
    pub identity: Option<FileIdentity>,
    /// Reason why the site's settings leave the file to MPI, on the first rank; None if they do not.
    left: Option<String>,
    /// Hints of this rank; the hints of the first rank are used. An error if this rank's environment has a hint that
    /// is not allowed.
    pub hints: Result<Hints, Error>,
}

/// The path and the hints with which the engine opens the file on all ranks.
#[derive(Debug)]
struct UnopenedTerms {
    path: PathBuf,
    hints: Hints,
}

/// The decision which library runs a file's calls. The lowest rank that does not decide for [`Decision::Take`] decides for
/// all ranks; if all ranks decide for it, the first rank decides.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one a file, for a moment")]
enum Decision {
    /// The engine opens the file with this path and these hints.
    Take(UnopenedTerms),
    /// MPI runs the calls of the file, for this reason.
    Leave(String),
    /// The open fails: all ranks get this error.
    Fail(Error),
}

wire::fields!(struct UnopenedTerms { path, hints });
wire::fields!(enum Decision { 0 Take(terms), 1 Leave(why), 2 Fail(error), });

impl UnopenedFile {
    /// Creates the state of the file at `path`, which MPI has just opened. Local.
    pub fn new(endpoint: Endpoint, hints: Result<Hints, Error>, left: Option<String>, path: &Path) -> Self {
        let identity = if endpoint.rank() == 0 { identity(path) } else { None };
        let has_all_ranks = has_all_ranks(endpoint.ranks());
        Self { endpoint, has_all_ranks, identity, left, hints }
    }

    /// Returns true if the file has more than one rank.
    pub fn has_several_ranks(&self) -> bool {
        self.endpoint.ranks() > 1
    }

    /// Returns the hints with which a file of a single rank may be read and written without the engine; None if MPI must run
    /// its calls, or an error must be returned.
    pub fn hints_of_single_rank(&self) -> Option<&Hints> {
        if self.has_all_ranks && job::is_wanted() {
            job::note_common_line();
        }
        self.hints.as_ref().ok().filter(|_| self.left.is_none())
    }

    /// Returns true if the engine opens the file without messages, because the ranks share memory.
    pub fn shares_memory(&self) -> bool {
        self.endpoint.ranks() == 1 || self.endpoint.shared().is_some()
    }

    /// Returns this rank, and the seconds after which the stall watchdog prints a line.
    pub fn stall_terms(&self) -> (usize, usize) {
        let seconds = self.hints.as_ref().map_or(0, |hints| hints.stall_timeout);
        (self.endpoint.rank(), if self.has_several_ranks() { seconds } else { 0 })
    }

    /// Opens the file with the engine in a call of `function`, or returns the reason why MPI must run the file's
    /// calls. If `call` is no transfer, such as a sync or a close, only checks that all ranks are in the same call, and leaves the
    /// file unopened. The endpoint goes back to its `seat` if the engine does not need it. Collective.
    ///
    /// # Errors
    /// Ranks are in different calls, or a hint in the first rank's environment is not allowed (all ranks get the same
    /// error); or an error of MPI.
    pub async fn open(
        mut self,
        (path, seat): (&Path, Option<&Slot>),
        amode: c_int,
        (call, function): (CallOfUnopened, &'static InterposedFunction),
    ) -> Result<Runner, Error> {
        let (before, left, identity) = (self.hints.clone(), self.left.clone(), self.identity);
        let has_all_ranks = self.has_all_ranks;
        let decision = self.decide(path, amode);
        let endpoint = self.endpoint;
        let (waiting, rank, ranks) = (endpoint.waiting().clone(), endpoint.rank(), endpoint.ranks());
        // These hints are used also on a rank that does not take the file: for the action after a failure, and for
        // the stall watchdog.
        let hints = match &decision {
            Decision::Take(terms) => terms.hints.clone(),
            Decision::Leave(_) | Decision::Fail(_) => self.hints.unwrap_or_default(),
        };
        let mut agreed = contribution(&decision, call, rank);
        let opens = call == CallOfUnopened::Transfer;
        // Usually all ranks have the same terms, and the engine opens the file at once.
        let mut first_agreement = FirstAgreement { ops: &OPS, values: &mut agreed, goes_on: are_alike, opens };
        let opened =
            binding::open_after(endpoint, (path, function.full_name()), mode(amode), hints, &mut first_agreement).await;
        if let Err(error) = &opened
            && error.is_unagreed()
        {
            return Err(error.clone());
        }
        let [decides, .., wants_line, lowest, highest] = agreed;
        if wants_line == 1 && has_all_ranks {
            job::note_common_line();
        }
        let mut endpoint = match opened {
            Ok(Err(endpoint)) => endpoint,
            opened => return Ok(runner(opened.map(Result::ok), path, rank)),
        };
        if lowest != highest {
            let call = (call as u8, function.full_name());
            let differ = waiting.call(pin!(calls_differ(&mut endpoint, call, path))).await;
            if let Some(seat) = seat {
                seat.keep(endpoint);
            }
            return Err(differ?);
        }
        if !opens {
            return Ok(Runner::NotOpened(Box::new(Self { endpoint, has_all_ranks, identity, left, hints: before })));
        }
        let root = if decides == NOBODY { 0 } else { decides as usize };
        let decided = waiting.call(pin!(decided_by(&mut endpoint, root, || decision, "the terms"))).await;
        let left = match decided? {
            Decision::Take(UnopenedTerms { path, hints }) => return Ok(open(endpoint, &path, amode, hints).await),
            Decision::Leave(why) => Ok(Runner::Mpi(why)),
            Decision::Fail(error) => Err(error.of_rank_among(root, ranks)),
        };
        if let Some(seat) = seat {
            seat.keep(endpoint);
        }
        left
    }

    /// Returns the decision of this rank, before the ranks agree.
    fn decide(&mut self, path: &Path, amode: c_int) -> Decision {
        let rank = self.endpoint.rank();
        match self.hints.clone() {
            _ if amode & constants().mode_sequential != 0 => {
                Decision::Leave("the file was opened with MPI_MODE_SEQUENTIAL".to_string())
            }
            Err(error) if rank == 0 => Decision::Fail(error),
            _ if self.left.is_some() => Decision::Leave(self.left.take().unwrap_or_default()),
            // The MPI library may accept names that the operating system does not.
            _ if rank == 0 && self.identity.is_none() => {
                Decision::Leave(format!("there is no file {} any more", path.display()))
            }
            _ if rank == 0 && identity(path) != self.identity => {
                Decision::Leave(format!("{} is not the file that MPI opened", path.display()))
            }
            Ok(hints) if rank == 0 && is_of_other_driver(path, &hints) => Decision::Leave(DAOS.to_string()),
            hints => {
                let hints = hints.unwrap_or_default();
                Decision::Take(UnopenedTerms { path: path.to_path_buf(), hints })
            }
        }
    }
}

/// Returns true if the file at `path` is on DAOS and no hint chooses a driver. Local.
fn is_of_other_driver(path: &Path, hints: &Hints) -> bool {
    hints.driver == DriverName::Auto && SystemFiles.file_system(path).is_some_and(|found| found.is_daos)
}

/// Returns the numbers that a rank contributes to the allreduce with the operations [`OPS`].
fn contribution(decision: &Decision, call: CallOfUnopened, rank: usize) -> [u64; OPS.len()] {
    let (decides, terms) = match decision {
        Decision::Take(terms) => (NOBODY, Some(terms)),
        Decision::Leave(_) | Decision::Fail(_) => (rank as u64, None),
    };
    let terms = terms.map_or(0, |UnopenedTerms { path, hints }| {
        fingerprint([path.as_os_str().as_bytes(), hints.to_text().as_bytes()])
    });
    let call = call as u64;
    [decides, terms, terms, u64::from(rank == 0 && job::is_wanted()), call, call]
}

/// Returns true if the result `agreed` of the allreduce shows that all ranks are in a transfer and decide for
/// [`Decision::Take`] with the same path and hints.
fn are_alike(agreed: &[u64]) -> bool {
    match *agreed {
        [NOBODY, lowest, highest, _, first, last] => {
            lowest == highest && last == CallOfUnopened::Transfer as u64 && first == last
        }
        _ => false,
    }
}

/// Translates MPI's mode of opening to the engine's.
pub fn mode(amode: c_int) -> Mode {
    if amode & constants().mode_rdonly != 0 { Mode::Read } else { Mode::Update }
}

/// Opens with the engine a file that MPI has opened. Collective. If the engine cannot open it, MPI runs the file's
/// calls.
pub async fn open(endpoint: Endpoint, path: &Path, amode: c_int, hints: Hints) -> Runner {
    let rank = endpoint.rank();
    runner(binding::open(endpoint, path, mode(amode), hints).await.map(Some), path, rank)
}

/// Returns the library that runs a file's calls, by the engine's attempt `opened` to open the file. After an error
/// this is MPI, and the first rank prints the reason.
fn runner(opened: Result<Option<File>, Error>, path: &Path, rank: usize) -> Runner {
    match opened {
        Ok(Some(file)) => Runner::Engine(Box::new(file)),
        Ok(None) => Runner::Mpi("the library did not open the file".to_string()),
        Err(error) => {
            if rank == 0 {
                tributary::say(format_args!("MPI runs the calls of {}: {error}", path.display()));
            }
            Runner::Mpi(format!("the library did not open the file: {error}"))
        }
    }
}
