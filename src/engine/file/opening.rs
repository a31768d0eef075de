//! Checks that all ranks open a file with the same arguments, and creates the file on rank 0.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use tributary_base::fingerprint;
use tributary_base::wire::frame::Encoder;
use tributary_base::wire::{self, Output, Wire};

use crate::access::Tiling;
use crate::collectives::team::{Combine, Team};
use crate::collectives::{agree, broadcast};
use crate::drivers::{self, Identity, Layout, Mode, OpenStorage, Storage, driver_on};
use crate::engine::choose::learned::{FileSystemKey, Learned};
use crate::engine::io::sieve::KnownBytes;
use crate::engine::io::write_behind::limits::SeenLocks;
use crate::engine::io::{calls, guarded};
use crate::engine::trace::capture::target::CaptureTarget;
use crate::error::{About, Error, FileOperation, Result};
use crate::fabric::Endpoint;
use crate::fabric::shared::{Cores, HostAddress, MEMORY_LAYOUT};
use crate::hints::{DriverName, Hints};
use crate::machine;
use crate::schedule::ReduceOp;
use crate::topology::Rank;

/// The properties of the file that rank 0 has created or opened; rank 0 broadcasts them.
#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    /// Name of the storage driver, never [`DriverName::Auto`].
    pub name: DriverName,
    /// Layout of the file on its file system: stripes or blocks.
    pub layout: Layout,
    /// True if hosts cache the file independently.
    pub caches_incoherent: bool,
    /// Facts that can be known about the bytes of the file without reading them.
    pub known: KnownBytes,
    /// Who sees the locks of a rank on parts of the file.
    pub locks: SeenLocks,
    /// Identity of the file, if its file system belongs to one machine; otherwise `None`.
    pub identity: Option<Identity>,
    /// Key of the hash that shows whether pieces tile a range.
    pub key: u64,
    /// Key of the file system: what is learned on one of its files is used on the next.
    pub file_system: FileSystemKey,
    /// Rates and shares learned on the last file on the file system.
    pub learned: Learned,
    /// Other values that the ranks have agreed on.
    pub alike: AgreedValues,
    /// What the file says that the hint `trib_machine` names: nothing without the hint, or if the file cannot be used.
    pub machine: machine::Known,
}

/// Values that ranks agree on before they open a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgreedValues {
    /// True if all ranks record their calls for a capture.
    pub is_captured: bool,
    /// The processor cores on which the ranks may run, to find out if ranks share cores.
    pub cores: Cores,
}

wire::fields!(struct Created { name, layout, caches_incoherent, known, locks, identity, key, file_system, learned, alike, machine });
wire::fields!(struct AgreedValues { is_captured, cores });

/// The arguments with which a rank opens a file.
#[derive(Clone, Copy)]
pub struct OpenArguments<'a> {
    /// Storage that creates and opens files.
    pub files: &'a dyn OpenStorage,
    /// Path of the file. Path, mode and hints must be the same on all ranks.
    pub path: &'a Path,
    /// Mode of the open: says if the file is created or emptied, and which calls are allowed.
    pub mode: Mode,
    /// Hints from the caller and the environment, before the file system is known.
    pub hints: &'a Hints,
    /// Number of ranks that open the file.
    pub ranks: usize,
}

impl OpenArguments<'_> {
    /// Returns a hash of the arguments that must be the same on all ranks.
    fn fingerprint(&self) -> u64 {
        let Self { path, mode, hints, .. } = self;
        let (path, mode, hints) = (path.as_os_str().as_bytes(), mode_name(*mode), hints.to_text());
        fingerprint([library().as_bytes(), path, mode.as_bytes(), hints.as_bytes()])
    }

    /// Returns the arguments that must be the same on all ranks, for an error message.
    fn readable(&self) -> ReadableTerms {
        let hints = self.hints.table().into_iter().map(|row| (row.key.to_string(), row.value)).collect();
        let (path, mode) = (self.path.as_os_str().as_bytes().to_vec(), mode_name(self.mode).to_string());
        ReadableTerms { library: library(), path, mode, hints }
    }
}

/// Returns the version of this library, with the number of its layout of shared memory.
fn library() -> String {
    format!("version {} with memory layout {MEMORY_LAYOUT}", env!("CARGO_PKG_VERSION"))
}

fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Create => "create",
        Mode::Update => "update",
        Mode::Read => "read",
    }
}

/// The arguments of one rank, in a form that other ranks can compare.
#[derive(Debug, PartialEq, Eq)]
struct ReadableTerms {
    library: String,
    path: Vec<u8>,
    mode: String,
    /// (key, value) of each hint.
    hints: Vec<(String, String)>,
}

wire::fields!(struct ReadableTerms { library, path, mode, hints });

impl ReadableTerms {
    /// Checks that the arguments of `rank` equal `first`, the arguments of rank 0.
    ///
    /// # Errors
    /// The first argument that differs, with its value on both ranks.
    fn check(&self, rank: Rank, first: &Self) -> Result<()> {
        if self == first {
            return Ok(());
        }
        let of = |path: &[u8]| Path::new(OsStr::from_bytes(path)).display().to_string();
        let hints = || self.hints.iter().zip(&first.hints).find(|(own, first)| own != first);
        let (what, value) = if self.library != first.library {
            ("library".to_string(), format!("{} on rank {rank}, {} on rank 0", self.library, first.library))
        } else if self.path != first.path {
            let (own, first) = (of(&self.path), of(&first.path));
            ("path".to_string(), format!("rank {rank} opens {own}, rank 0 {first}"))
        } else if self.mode != first.mode {
            ("mode".to_string(), format!("{} on rank {rank}, {} on rank 0", self.mode, first.mode))
        } else if let Some(((key, own), (_, first))) = hints() {
            (format!("hint {key}"), format!("{own} on rank {rank}, {first} on rank 0"))
        } else {
            ("hints".to_string(), format!("rank {rank} has other keys than rank 0: its library is another version"))
        };
        Err(Error::argument(what, value, "the same on all ranks").about(About::Terms))
    }
}

/// Returns the error for ranks with different arguments. It names the lowest rank whose arguments differ from those of
/// rank 0. Collective: a broadcast, and an agreement.
async fn differ(endpoint: &mut Endpoint, arguments: &OpenArguments<'_>) -> Result<Error> {
    let (rank, own) = (endpoint.rank(), arguments.readable());
    let first = broadcast(endpoint, 0, &wire::to_bytes(&own)).await?;
    let first = wire::from_bytes::<ReadableTerms>(&first).ok_or_else(|| damaged("terms that cannot be decoded"));
    let checked = first.and_then(|first| own.check(rank, &first));
    let unknown = || Error::argument("open", "ranks gave different terms", "the same on all ranks").about(About::Terms);
    Ok(agree(endpoint, checked).await.err().unwrap_or_else(unknown))
}

/// Values that the caller's ranks agree on in the first agreement of an open.
#[derive(Debug)]
pub struct FirstAgreement<'a> {
    /// Operation that merges each value over ranks.
    pub ops: &'static [ReduceOp],
    /// This rank's values; after the agreement, the merged values of all ranks.
    pub values: &'a mut [u64],
    /// Returns true if the ranks open the file, given the merged values.
    pub goes_on: fn(&[u64]) -> bool,
    /// True if this rank may open the file. It then makes the memory that it would share with other ranks before the
    /// agreement.
    pub opens: bool,
}

impl FirstAgreement<'_> {
    /// Returns an agreement without values of the caller.
    pub fn none() -> Self {
        Self { ops: &[], values: &mut [], goes_on: |_| true, opens: true }
    }
}

/// The result of the agreement on the arguments of an open, the same on all ranks.
pub struct AgreedTerms {
    /// Properties of the file, from rank 0.
    pub created: Created,
    /// Host addresses of all ranks, if the ranks sent them.
    pub all: Option<Vec<HostAddress>>,
    /// The open file on rank 0; `None` on the other ranks.
    pub file: Option<Box<dyn Storage>>,
}

/// Maximum number of ranks whose host addresses go with the agreement; with more, the message would be too long.
const MAX_ADDRESSES: usize = 2048;

/// Checks that all ranks open the same file with the same good hints, creates or opens the file on rank 0, and
/// broadcasts its properties. Ranks that were given different files or hints would wait for each other for ever; here
/// they all get an error. Returns `None` if the first agreement forbids the open. Collective: one agreement.
pub async fn agree_on_terms(
    endpoint: &mut Endpoint,
    arguments: &OpenArguments<'_>,
    capture: Option<&CaptureTarget>,
    address: Option<HostAddress>,
    first_agreement: &mut FirstAgreement<'_>,
) -> Result<Option<AgreedTerms>> {
    let (rank, ranks) = (endpoint.rank(), endpoint.ranks());
    CaptureTarget::complain(rank);
    let team = Team::led_by_rank_0(endpoint);
    let checked = arguments.hints.check(ranks);
    let own = arguments.fingerprint();
    let sent = address.filter(|_| ranks <= MAX_ADDRESSES).map(|own| (rank as u64, own.to_integers()));
    let file = RefCell::new(None);
    let mut terms = Terms {
        least: own,
        most: own,
        bad: checked.is_err(),
        captures: [CaptureTarget::fingerprint(capture); 2],
        cores: Cores::here(),
        first_agreement,
        addresses: sent.into_iter().collect(),
        open: &|captures, cores| {
            let alike = AgreedValues { is_captured: captured(0, captures), cores };
            let (created, opened) = create(arguments, alike)?;
            *file.borrow_mut() = Some(opened);
            Ok(created)
        },
        outcome: Vec::new(),
    };
    let answer = team.combine(endpoint, &mut terms).await?;
    let (kind, all, rest) = terms.hear(&answer);
    let created = match kind {
        STOPPED => return Ok(None),
        BAD => {
            return Err(agree(endpoint, checked)
                .await
                .err()
                .unwrap_or_else(|| damaged("an answer that a hint is bad, but no rank has a bad hint")));
        }
        DIFFERENT => return Err(differ(endpoint, arguments).await?),
        LONG => decode_created(&broadcast(endpoint, 0, &terms.outcome).await?, ranks)?,
        _ => decode_created(rest, ranks)?,
    };
    let all = match address {
        Some(own) if all.is_empty() => Some(endpoint.all_addresses(own).await?),
        sent => sent.map(|_| all),
    };
    Ok(Some(AgreedTerms { created, all, file: file.take() }))
}

/// Returns true if all ranks capture to the same directory with the same limit. If they differ, rank 0 prints a line
/// and the program continues.
fn captured(rank: Rank, [least, most]: [u64; 2]) -> bool {
    if rank == 0 && least != most {
        crate::say(format_args!("no capture: TRIB_CAPTURE is not the same on all ranks"));
    }
    least == most && least != 0
}

fn damaged(what: &str) -> Error {
    Error::internal(0, format!("rank 0 sent {what}"))
}

/// Decodes the answer of rank 0. An error names rank 0 if there are other ranks.
fn decode_created(answer: &[u8], ranks: usize) -> Result<Created> {
    let created = wire::from_bytes::<Result<Created>>(answer);
    let created = created.ok_or_else(|| damaged("properties of the file that cannot be decoded"))?;
    created.map_err(|error| error.of_rank_among(0, ranks).agreed())
}

/// Kinds of the answer of rank 0. `MADE`: the properties of the file. `STOPPED`: the first agreement forbids the open.
/// `BAD`: a rank has bad hints. `LONG`: the properties follow in a broadcast, because they are too long. `DIFFERENT`:
/// ranks gave different arguments.
const MADE: u64 = 0;
const STOPPED: u64 = 1;
const BAD: u64 = 2;
const LONG: u64 = 3;
const DIFFERENT: u64 = 4;

/// A rank's part in the agreement on the arguments. `least` and `most` are the minimum and maximum of the fingerprints.
struct Terms<'a, 'b> {
    least: u64,
    most: u64,
    bad: bool,
    /// Minimum and maximum over ranks of the fingerprints of capture targets.
    captures: [u64; 2],
    cores: Cores,
    first_agreement: &'a mut FirstAgreement<'b>,
    /// (rank, encoded host address) of each rank.
    addresses: Vec<(u64, [u64; HostAddress::INTEGERS])>,
    /// Creates or opens the file, on the rank that decides.
    open: &'a dyn Fn([u64; 2], Cores) -> Result<Created>,
    /// On the rank that decides: the encoded properties of the file.
    outcome: Vec<u8>,
}

impl Terms<'_, '_> {
    /// Takes the merged values out of an answer. Returns the kind of the answer, the host addresses of all ranks if the
    /// answer has them, and the rest.
    fn hear<'a>(&mut self, mut answer: &'a [u8]) -> (u64, Vec<HostAddress>, &'a [u8]) {
        let mut next = || u64::decode(&mut answer).unwrap_or_default();
        let (kind, count) = (next(), next() as usize);
        self.first_agreement.values.iter_mut().for_each(|value| *value = next());
        let all = (0..count).map(|_| HostAddress::from_integers([next(), next()])).collect();
        (kind, all, answer)
    }
}

impl Combine for Terms<'_, '_> {
    fn merge(&mut self, mut body: &[u8]) {
        let mut next = || u64::decode(&mut body).unwrap_or_default();
        self.least = self.least.min(next());
        self.most = self.most.max(next());
        self.bad |= next() != 0;
        let [least, most] = self.captures;
        self.captures = [least.min(next()), most.max(next())];
        self.cores = self.cores.merged(Cores::agreed(std::array::from_fn(|_| next())));
        self.first_agreement
            .values
            .iter_mut()
            .zip(self.first_agreement.ops)
            .for_each(|(value, op)| *value = op.apply(*value, next()));
        while let Some(address) = Wire::decode(&mut body) {
            self.addresses.push(address);
        }
    }

    fn encode(&self, _others: &[&[u8]], out: &mut Encoder<'_>) {
        let [least, most] = self.captures;
        let head =
            [self.least, self.most, u64::from(self.bad), least, most].into_iter().chain(self.cores.to_integers());
        head.chain(self.first_agreement.values.iter().copied()).for_each(|word| out.put(&word));
        self.addresses.iter().for_each(|address| out.put(address));
    }

    fn decide(&mut self, _others: &[&[u8]], out: &mut Encoder<'_>) {
        self.addresses.sort_unstable();
        let mut kind = match () {
            () if !(self.first_agreement.goes_on)(self.first_agreement.values) => STOPPED,
            () if self.bad => BAD,
            () if self.least != self.most => DIFFERENT,
            () => MADE,
        };
        if kind == MADE {
            let created = (self.open)(self.captures, self.cores);
            self.outcome = wire::to_bytes(&created);
        }
        let integers = self.first_agreement.values.len() + HostAddress::INTEGERS * self.addresses.len();
        if 8 * (2 + integers) + self.outcome.len() > out.room() {
            kind = LONG;
        }
        let addresses = self.addresses.iter().flat_map(|(_, integers)| integers).copied();
        let head = [kind, self.addresses.len() as u64].into_iter().chain(self.first_agreement.values.iter().copied());
        head.chain(addresses).for_each(|word| out.put(&word));
        if kind != LONG {
            out.bytes(&self.outcome);
        }
    }
}

/// Creates or opens the file on rank 0. A panic of the storage becomes an error, because the other ranks wait for the
/// answer of rank 0.
fn create(arguments: &OpenArguments<'_>, alike: AgreedValues) -> Result<(Created, Box<dyn Storage>)> {
    let created = guarded(FileOperation::Open, None, || Ok(made(arguments, alike)));
    created.unwrap_or_else(|failure| Err(failure.into_error(0, arguments.path)))
}

fn made(arguments: &OpenArguments<'_>, alike: AgreedValues) -> Result<(Created, Box<dyn Storage>)> {
    let OpenArguments { files, path, mode, hints, ranks } = *arguments;
    let found = files.file_system(path);
    let name = hints.driver.resolved_on(found);
    let caches_incoherent = found.is_some_and(|found| !found.is_coherent());
    let is_of_one_machine = found.is_some_and(|found| found.is_of_one_machine());
    let known = KnownBytes::on(found);
    let machine = machine::known(&hints.machine);
    let buffers_writes = hints.write_behind != Some(0) && mode != Mode::Read;
    let (driver, hints) = (driver_on(files, name, path), hints.for_driver());
    let file = match mode {
        Mode::Read => {
            calls::open(files, path, mode).map_err(|cause| Error::io(0, FileOperation::Open, path, None, &cause))?
        }
        Mode::Create | Mode::Update => drivers::create(files, path, &hints)?,
    };
    let mut layout = driver.layout(files, path, &*file, &hints)?;
    let locks = if buffers_writes { SeenLocks::on(found, &*file) } else { SeenLocks::None };
    if layout.direct_from.is_some() && (mode == Mode::Read || !calls::can_be_direct(&*file)) {
        layout.direct_from = None;
    }
    let found = calls::identity(&*file);
    // What is learned on a file without identity is not kept for other files.
    let device = found.as_ref().ok().copied().flatten();
    let file_system = device.map_or(0, |[machine, device, _]| {
        fingerprint([
            &machine.to_le_bytes()[..],
            &device.to_le_bytes(),
            name.to_string().as_bytes(),
            &ranks.to_le_bytes(),
        ])
    });
    let identity = if is_of_one_machine { found } else { Ok(None) };
    let identity = identity.map_err(|cause| Error::io(0, FileOperation::Stat, path, None, &cause))?;
    if mode == Mode::Create {
        emptied(&*file).map_err(|cause| Error::io(0, FileOperation::SetSize, path, None, &cause))?;
    }
    let (key, learned) = (Tiling::random().key(), Learned::kept(file_system));
    let created =
        Created { name, layout, caches_incoherent, known, locks, identity, key, file_system, learned, alike, machine };
    Ok((created, file))
}

/// Empties a file; a device or pipe without a size stays as it is.
fn emptied(file: &dyn Storage) -> std::io::Result<()> {
    if calls::size(file)? == u64::MAX {
        return Ok(());
    }
    loop {
        match calls::set_len(file, 0) {
            Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_the_error() {
        let of = |library: &str, path: &[u8], mode: &str, hint: &str| ReadableTerms {
            library: library.to_string(),
            path: path.to_vec(),
            mode: mode.to_string(),
            hints: vec![("cb_nodes".to_string(), hint.to_string())],
        };
        let first = of("version 1", b"a", "create", "4");
        assert_eq!(first.check(0, &first), Ok(()));
        for (other, due) in [
            (of("version 2", b"b", "read", "5"), "library: version 2 on rank 3, version 1 on rank 0"),
            (of("version 1", b"b", "read", "5"), "path: rank 3 opens b, rank 0 a"),
            (of("version 1", b"a", "read", "5"), "mode: read on rank 3, create on rank 0"),
            (of("version 1", b"a", "create", "5"), "hint cb_nodes: 5 on rank 3, 4 on rank 0"),
        ] {
            let error = other.check(3, &first).unwrap_err();
            assert_eq!(error.to_string(), format!("{due}; allowed: the same on all ranks"));
        }
    }
}
