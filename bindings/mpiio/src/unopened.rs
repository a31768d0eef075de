//! A file that the engine has not opened yet. It opens it in the file's first collective call.

use std::ffi::c_int;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::pin::pin;

use tributary::engine::{FirstAgreement, calls_differ};
use tributary::fabric::Waiting;
use tributary::fingerprint;
use tributary::schedule::ReduceOp;
use tributary::{Endpoint, Error, File, Hints, Mode, wire};
use tributary_abi::constants;
use tributary_bindings::opening::decided_by;

use crate::abi::has_all_ranks;
use crate::backend::Runner;
use crate::channel::Seat;
use crate::job;
use crate::next::Function;

/// How an allreduce combines the numbers of [`words`]: the lowest rank that does not take the file; the fingerprint of
/// the terms, lowest and highest; whether the first rank wants the job told; which call ranks are in ([`CallOfUnopened::word`]), lowest
/// and highest.
const WORDS: [ReduceOp; 6] = [ReduceOp::Min, ReduceOp::Min, ReduceOp::Max, ReduceOp::Max, ReduceOp::Min, ReduceOp::Max];
/// Stands for no rank.
const NOBODY: u64 = u64::MAX;

/// A collective call on a file that the engine has not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOfUnopened {
    /// A write or a read, for which the engine opens the file.
    Transfer,
    /// MPI_File_sync.
    Sync,
    /// MPI_File_close.
    Close,
}

impl CallOfUnopened {
    /// The call, and behind it a rank.
    fn word(self, rank: usize) -> u64 {
        (self as u64) << 32 | rank as u64
    }

    /// The ranks of the lowest and of the highest word, if their calls differ.
    fn differ(lowest: u64, highest: u64) -> Option<[usize; 2]> {
        (lowest >> 32 != highest >> 32).then_some([lowest, highest].map(|word| word as u32 as usize))
    }
}

/// What the engine needs to open the file.
pub struct UnopenedFile {
    endpoint: Endpoint,
    /// Whether its ranks are as many as those of the program.
    has_all_ranks: bool,
    /// On the first rank, the identity of the opened file: its name may refer to another file later.
    identity: Option<(u64, u64)>,
    /// On the first rank, why the site leaves the file to MPI, if it does.
    left: Option<String>,
    /// This rank's hints; those of the first rank are used. An error if its environment has a hint that is not allowed.
    pub hints: Result<Hints, Error>,
}

/// The arguments with which all ranks open the file.
#[derive(Debug)]
struct Terms {
    path: PathBuf,
    hints: Hints,
}

/// Which library runs a file's calls. The lowest rank that does not take the file decides for all, or else the first rank.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one a file, for a moment")]
enum Decision {
    /// The engine opens it.
    Take(Terms),
    /// MPI runs its calls, with the reason.
    Leave(String),
    /// All ranks get this error.
    Fail(Error),
}

wire::fields!(struct Terms { path, hints });
wire::fields!(enum Decision { 0 Take(terms), 1 Leave(why), 2 Fail(error), });

impl UnopenedFile {
    /// The state for the file at `path`, which MPI has just opened. Local.
    pub fn new(endpoint: Endpoint, hints: Result<Hints, Error>, left: Option<String>, path: &Path) -> Self {
        let identity = if endpoint.rank() == 0 { identity(path) } else { None };
        let has_all_ranks = has_all_ranks(endpoint.ranks());
        Self { endpoint, has_all_ranks, identity, left, hints }
    }

    /// Whether the file has other ranks.
    pub fn has_several_ranks(&self) -> bool {
        self.endpoint.ranks() > 1
    }

    /// Whether the engine opens it without messages: its ranks share memory.
    pub fn shares_memory(&self) -> bool {
        self.endpoint.ranks() == 1 || self.endpoint.shared().is_some()
    }

    /// How this rank waits.
    pub fn waiting(&self) -> Waiting {
        self.endpoint.waiting().clone()
    }

    /// The endpoint of a file that has had no collective call.
    pub fn into_endpoint(self) -> Endpoint {
        self.endpoint
    }

    /// Opens the file in a call of `function`, or returns the reason why MPI must run its calls. In a `call` that needs no file of the
    /// engine, only checks that all ranks are in it, and stays as it is. The endpoint goes back to its `seat` if the engine does not
    /// need it. Collective.
    ///
    /// # Errors
    /// Ranks are in different calls, or a hint in the first rank's environment is not allowed, which is the same error on all ranks; or an
    /// error of MPI.
    pub async fn open(
        mut self,
        (path, seat): (&Path, Option<&Seat>),
        amode: c_int,
        (call, function): (CallOfUnopened, &'static Function),
    ) -> Result<Runner, Error> {
        let (before, left, identity) = (self.hints.clone(), self.left.clone(), self.identity);
        let has_all_ranks = self.has_all_ranks;
        let decision = self.decide(path, amode);
        let endpoint = self.endpoint;
        let (waiting, rank, ranks) = (endpoint.waiting().clone(), endpoint.rank(), endpoint.ranks());
        // Also on a rank that does not take the file they say what becomes of a failure, and when to say that nobody comes.
        let hints = match &decision {
            Decision::Take(terms) => terms.hints.clone(),
            Decision::Leave(_) | Decision::Fail(_) => self.hints.unwrap_or_default(),
        };
        let mut words = words(&decision, call, rank);
        let opens = call == CallOfUnopened::Transfer;
        // Usually all ranks have the same terms, and the engine opens the file at once.
        let mut first_agreement = FirstAgreement { ops: &WORDS, words: &mut words, goes_on: are_alike, opens };
        let opened =
            File::open_after(endpoint, (path, function.full_name()), mode(amode), hints, &mut first_agreement).await;
        if let Err(error) = &opened
            && waiting.failure().is_unagreed(error)
        {
            return Err(error.clone());
        }
        let [decides, .., is_told, lowest, highest] = words;
        if is_told == 1 && has_all_ranks {
            job::is_told_by_all();
        }
        let mut endpoint = match opened {
            Ok(Err(endpoint)) => endpoint,
            opened => return Ok(runner(opened.map(Result::ok), path, rank)),
        };
        if let Some(ranks) = CallOfUnopened::differ(lowest, highest) {
            let differ = waiting.call(pin!(calls_differ(&mut endpoint, ranks, function.full_name(), path))).await;
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
            Decision::Take(Terms { path, hints }) => return Ok(open(endpoint, &path, amode, hints).await),
            Decision::Leave(why) => Ok(Runner::Mpi(why)),
            Decision::Fail(error) => Err(error.told_by(root, ranks)),
        };
        if let Some(seat) = seat {
            seat.keep(endpoint);
        }
        left
    }

    /// This rank's decision.
    fn decide(&mut self, path: &Path, amode: c_int) -> Decision {
        let rank = self.endpoint.rank();
        match self.hints.clone() {
            _ if amode & constants().mode_sequential != 0 => {
                Decision::Leave("the file was opened with MPI_MODE_SEQUENTIAL".to_string())
            }
            Err(error) if rank == 0 => Decision::Fail(error),
            _ if let Some(why) = self.left.take() => Decision::Leave(why),
            // The MPI library may accept names that the operating system does not.
            _ if rank == 0 && self.identity.is_none() => {
                Decision::Leave(format!("there is no file {} any more", path.display()))
            }
            _ if rank == 0 && identity(path) != self.identity => {
                Decision::Leave(format!("{} is not the file that MPI opened", path.display()))
            }
            hints => {
                let hints = hints.unwrap_or_default();
                Decision::Take(Terms { path: path.to_path_buf(), hints })
            }
        }
    }
}

/// A rank's numbers in a call, for an allreduce by [`WORDS`].
fn words(decision: &Decision, call: CallOfUnopened, rank: usize) -> [u64; WORDS.len()] {
    let (decides, terms) = match decision {
        Decision::Take(terms) => (NOBODY, Some(terms)),
        Decision::Leave(_) | Decision::Fail(_) => (rank as u64, None),
    };
    let terms =
        terms.map_or(0, |Terms { path, hints }| fingerprint([path.as_os_str().as_bytes(), hints.to_text().as_bytes()]));
    let call = call.word(rank);
    [decides, terms, terms, u64::from(rank == 0 && job::is_wanted()), call, call]
}

/// Device and inode, which identify a file on its host.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Whether all ranks take the same file on the same terms, by the agreed [`words`].
fn are_alike(words: &[u64]) -> bool {
    match *words {
        [NOBODY, lowest, highest, _, first, last] => {
            lowest == highest && last >> 32 == CallOfUnopened::Transfer as u64 && first >> 32 == last >> 32
        }
        _ => false,
    }
}

/// The engine's mode.
fn mode(amode: c_int) -> Mode {
    if amode & constants().mode_rdonly != 0 { Mode::Read } else { Mode::Update }
}

/// Opens, with the engine, a file that MPI has opened. Collective.
pub async fn open(endpoint: Endpoint, path: &Path, amode: c_int, hints: Hints) -> Runner {
    let rank = endpoint.rank();
    runner(File::open_async(endpoint, path, mode(amode), hints).await.map(Some), path, rank)
}

/// What runs the calls of a file that the engine has opened. If it could not, MPI does, and the first rank prints the reason.
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
