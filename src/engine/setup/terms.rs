//! The check that all ranks open a file with the same arguments, and the creation of the file on rank 0.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::collectives::sweep::{Sweep, sweep, words};
use crate::collectives::{agree, allreduce, broadcast};
use crate::drivers::{self, Identity, Layout, Mode, OpenStorage, Storage, driver_on};
use crate::engine::capture::target::Target;
use crate::engine::facts::tiling::Tiling;
use crate::engine::storage::guarded;
use crate::error::{About, Error, Result};
use crate::exchange::cost::Costs;
use crate::fabric::Endpoint;
use crate::fabric::shared::{Cores, Hosts, MAX_CONTRIBUTION};
use crate::hints::{DriverName, Hints};
use crate::machine;
use crate::schedule::ReduceOp;
use crate::topology::Rank;

/// The properties of the file that rank 0 has created or opened; rank 0 broadcasts them.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Created {
    /// The driver, never [`DriverName::Auto`].
    pub name: DriverName,
    /// The layout of the file.
    pub layout: Layout,
    /// Whether hosts cache the file by themselves.
    pub hosts_cache_apart: bool,
    /// The file on a file system that one machine has for itself; `None` on others.
    pub identity: Option<Identity>,
    /// The key of the tiling.
    pub key: u64,
    /// What the ranks have agreed on besides.
    pub alike: Alike,
    /// What messages cost by the file that a hint names; `None` without it, and if it cannot be used.
    pub costs: Option<Costs>,
}

/// What ranks agree on before they open a file.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Alike {
    /// Whether all ranks record their calls for a capture.
    pub is_captured: bool,
    /// The cores that they share.
    pub cores: Cores,
}

/// What a rank opens, and with what.
#[derive(Clone, Copy)]
pub struct OpenArguments<'a> {
    /// What makes and opens files.
    pub files: &'a dyn OpenStorage,
    /// The file.
    pub path: &'a Path,
    /// How it is opened.
    pub mode: Mode,
    /// The hints.
    pub hints: &'a Hints,
}

impl OpenArguments<'_> {
    /// What must be the same on all ranks, as a number.
    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.path, self.mode, self.hints).hash(&mut hasher);
        hasher.finish()
    }
}

fn differ() -> Error {
    let differ = Error::argument("open", "ranks gave different paths, modes or hints", "the same on all ranks");
    differ.about(About::Terms)
}

/// Checks the hints. Ranks that were given different files or hints would wait for each other for ever; here they all get an
/// error. Collective.
pub async fn check_alike(
    endpoint: &mut Endpoint,
    arguments: &OpenArguments<'_>,
    capture: Option<&Target>,
) -> Result<Alike> {
    let checked = arguments.hints.check(endpoint.ranks());
    let (own, capture) = (arguments.fingerprint(), Target::fingerprint(capture));
    let (min, max) = (ReduceOp::Min, ReduceOp::Max);
    let mut lanes = [own, own, u64::from(checked.is_err()), capture, capture, 0, 0, 0, 0, 0, 0];
    let mut ops = [min, max, max, min, max, min, min, min, min, min, min];
    lanes[5..].copy_from_slice(&Cores::here().lanes());
    ops[5..].copy_from_slice(&Cores::OPS);
    allreduce(endpoint, &ops, &mut lanes).await?;
    let [least, most, bad, least_capture, most_capture, cores @ ..] = lanes;
    if bad > 0 {
        agree(endpoint, checked).await?;
    }
    if least != most {
        return Err(differ());
    }
    let is_captured = captured(endpoint.rank(), [least_capture, most_capture]);
    Ok(Alike { is_captured, cores: Cores::agreed(cores) })
}

/// Whether the least and the most of the ranks' captures are one. A program does not fail because they differ.
fn captured(rank: Rank, [least, most]: [u64; 2]) -> bool {
    if rank == 0 && least != most {
        crate::say(format_args!("no capture: TRIB_CAPTURE or TRIB_CAPTURE_LIMIT is not the same on all ranks"));
    }
    least == most && least != 0
}

/// Creates or opens the file on rank 0, and broadcasts its properties. Collective.
pub async fn create_on_first(endpoint: &mut Endpoint, arguments: &OpenArguments<'_>, alike: Alike) -> Result<Created> {
    let created = if endpoint.rank() == 0 { Some(create(arguments, alike)) } else { None };
    decode_created(&broadcast(endpoint, 0, &serde_json::to_vec(&created).unwrap_or_default()).await?)
}

/// [`check_alike`] and [`create_on_first`] in one sweep, for ranks that know their hosts. Collective.
pub async fn sweep_terms(
    endpoint: &mut Endpoint,
    hosts: &Hosts,
    arguments: &OpenArguments<'_>,
    capture: Option<&Target>,
) -> Result<Created> {
    let checked = arguments.hints.check(endpoint.ranks());
    let own = arguments.fingerprint();
    let captures = [Target::fingerprint(capture); 2];
    let open = |captures, cores| create(arguments, Alike { is_captured: captured(0, captures), cores });
    let cores = Cores::here();
    let mut terms = Terms { least: own, most: own, bad: checked.is_err(), captures, cores, open: &open };
    let answer = sweep(endpoint, hosts, &mut terms).await?;
    if answer.is_empty() {
        // A rank's hints are bad, or rank 0's answer is too long for a sweep.
        agree(endpoint, checked).await?;
        let alike = check_alike(endpoint, arguments, capture).await?;
        return create_on_first(endpoint, arguments, alike).await;
    }
    decode_created(&answer)
}

/// Decodes the answer of rank 0.
fn decode_created(answer: &[u8]) -> Result<Created> {
    let internal = |_| Error::Internal { rank: 0, what: "the properties of the file cannot be decoded".to_string() };
    let decoded: Option<Result<Created>> = serde_json::from_slice(answer).map_err(internal)?;
    decoded
        .unwrap_or_else(|| Err(Error::Internal { rank: 0, what: "rank 0 sent no properties of the file".to_string() }))
}

/// A rank's contribution to the sweep.
struct Terms<'a> {
    least: u64,
    most: u64,
    bad: bool,
    /// The least and the most.
    captures: [u64; 2],
    cores: Cores,
    open: &'a dyn Fn([u64; 2], Cores) -> Result<Created>,
}

impl Sweep for Terms<'_> {
    fn body(&self) -> Vec<u8> {
        let [least, most] = self.captures;
        let words = [self.least, self.most, u64::from(self.bad), least, most];
        words.into_iter().chain(self.cores.lanes()).flat_map(u64::to_le_bytes).collect()
    }

    fn merge(&mut self, body: &[u8]) {
        let mut next = words(body);
        let mut next = || next.next().unwrap_or_default();
        self.least = self.least.min(next());
        self.most = self.most.max(next());
        self.bad |= next() != 0;
        let [least, most] = self.captures;
        self.captures = [least.min(next()), most.max(next())];
        self.cores = self.cores.merged(Cores::agreed(std::array::from_fn(|_| next())));
    }

    fn decide(&mut self) -> Vec<u8> {
        if self.bad {
            return Vec::new();
        }
        let created = if self.least == self.most { (self.open)(self.captures, self.cores) } else { Err(differ()) };
        let answer = serde_json::to_vec(&Some(created)).unwrap_or_default();
        if answer.len() > MAX_CONTRIBUTION { Vec::new() } else { answer }
    }
}

/// On rank 0: the file, made or found. A storage that panics fails: the other ranks wait for what this one tells.
fn create(arguments: &OpenArguments<'_>, alike: Alike) -> Result<Created> {
    let created = guarded("open", 0, || Ok(made(arguments, alike)));
    created.unwrap_or_else(|failure| Err(failure.of(0, arguments.path)))
}

fn made(arguments: &OpenArguments<'_>, alike: Alike) -> Result<Created> {
    let OpenArguments { files, path, mode, hints } = *arguments;
    let found = files.file_system(path);
    let name = hints.driver.resolved_on(found);
    let hosts_cache_apart = found.is_some_and(|found| !found.is_coherent());
    let is_of_one_machine = found.is_some_and(|found| found.is_of_one_machine());
    let costs = machine::costs(&hints.machine);
    let (driver, hints) = (driver_on(files, name, path), hints.for_driver());
    let file = match mode {
        Mode::Read => files.open(path, mode).map_err(|cause| Error::io(0, "open", path, 0, &cause))?,
        Mode::Create | Mode::Update => drivers::create(files, path, &hints)?,
    };
    let mut layout = driver.layout(files, path, &*file, &hints)?;
    if layout.direct_from.is_some() && (mode == Mode::Read || file.open_direct().is_err()) {
        layout.direct_from = None;
    }
    let identity = if is_of_one_machine { file.identity() } else { Ok(None) };
    let identity = identity.map_err(|cause| Error::io(0, "stat", path, 0, &cause))?;
    if mode == Mode::Create {
        emptied(&*file).map_err(|cause| Error::io(0, "truncate", path, 0, &cause))?;
    }
    Ok(Created { name, layout, hosts_cache_apart, identity, key: Tiling::random().key(), alike, costs })
}

/// Empties a file; what has no size stays as it is.
fn emptied(file: &dyn Storage) -> std::io::Result<()> {
    if file.size()? == u64::MAX {
        return Ok(());
    }
    loop {
        match file.set_len(0) {
            Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
