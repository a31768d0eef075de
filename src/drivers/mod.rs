//! File-system drivers: what layout a file has, who aggregates, which aggregator owns a byte, what it holds in a round.
//!
//! A new driver is one file here, one row in [`driver`]'s match, one name in `hints/names.rs`, and a row in the drivers of
//! `tests/common/{suite,settings}.rs`, which take it through every kernel and fabric.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::hints::{DriverName, Hints};
use crate::topology::{Rank, Topology};

pub mod domains;
mod gpfs;
mod lov;
mod lustre;
mod placement;
mod posix;

pub use domains::{Domains, Window};

/// How a file lies on its file system, as far as a driver cares. Found by rank 0 and told to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Lustre: stripe size; GPFS and others: block size. In bytes, above 0.
    pub unit: u64,
    /// Lustre: number of stripes, 0 when it is not known; 1 elsewhere.
    pub factor: u32,
}

/// What a collective call writes, agreed by all ranks before the file is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written<'a> {
    /// Lowest offset.
    pub start: u64,
    /// Highest end.
    pub end: u64,
    /// Bytes written in each of equal parts of `start..end`; empty unless [`Driver::wants_histogram`].
    pub histogram: &'a [u64],
}

/// The four questions of design.md section 5.
pub trait Driver: Send + Sync {
    /// The driver's name, as in the hint `trib_driver`.
    fn name(&self) -> DriverName;

    /// Opens the file for writing; makes it if it is not there, with the hinted layout where the file system can. Called on
    /// rank 0 only.
    ///
    /// # Errors
    /// [`crate::Error::Io`] when the file cannot be made.
    fn create(&self, path: &Path, _hints: &Hints) -> Result<File> {
        open(path)
    }

    /// The layout of an open file. A hinted layout wins over the file's own. Called on rank 0 only.
    ///
    /// # Errors
    /// [`crate::Error::Io`] when the file cannot be asked; [`crate::Error::Hint`] for a layout that cannot be.
    fn layout(&self, path: &Path, file: &File, hints: &Hints) -> Result<Layout>;

    /// The aggregators in ascending order, none twice, at least one. A pure function; called on every rank alike.
    ///
    /// # Errors
    /// [`crate::Error::Hint`] when a placement names a rank that is not there.
    fn aggregators(&self, topology: &Topology, layout: &Layout, hints: &Hints) -> Result<Vec<Rank>>;

    /// Whether [`Driver::domains`] divides by density, so that the engine must count bytes first.
    fn wants_histogram(&self) -> bool {
        false
    }

    /// An access that is moved by a multiple of so many bytes may keep its domains, moved as far: what the file system locks
    /// together stays with one aggregator, and its servers serve the same ones. A pure function.
    fn period(&self, _layout: &Layout, _aggregators: usize) -> u64 {
        1
    }

    /// Divides the file among `aggregators` for one collective call. A pure function; called on every rank alike.
    fn domains(&self, layout: &Layout, aggregators: usize, written: Written<'_>, hints: &Hints) -> Domains;
}

/// The driver of that name; for [`DriverName::Auto`], the one of the file system that `path` is (or will be) on.
pub fn driver(name: DriverName, path: &Path) -> Box<dyn Driver> {
    match name {
        DriverName::Lustre => Box::new(lustre::Lustre),
        DriverName::Gpfs => Box::new(gpfs::Gpfs),
        DriverName::Posix => Box::new(posix::Posix),
        DriverName::Auto => driver(detect(path), path),
    }
}

/// The driver of the file system that `path`, or else its directory, is on; never [`DriverName::Auto`]. Costs a system
/// call or two on the calling rank.
pub fn detect(path: &Path) -> DriverName {
    file_system(path).map_or(DriverName::Posix, |found| of_magic(found.magic))
}

/// The driver of a file system by its `f_type`.
fn of_magic(magic: u32) -> DriverName {
    match magic {
        lustre::MAGIC => DriverName::Lustre,
        gpfs::MAGIC => DriverName::Gpfs,
        _ => DriverName::Posix,
    }
}

/// What `statfs` says.
struct FileSystem {
    magic: u32,
    /// Block size in bytes.
    block: u64,
}

/// The file system that `path`, or else its directory, is on; `None` when neither is there.
fn file_system(path: &Path) -> Option<FileSystem> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let found = nix::sys::statfs::statfs(path).or_else(|_| nix::sys::statfs::statfs(directory)).ok()?;
    Some(FileSystem { magic: found.filesystem_type().0 as u32, block: u64::try_from(found.block_size()).unwrap_or(0) })
}

/// Opens the file for writing, and for reading where that is allowed; makes it if it is not there; leaves what is in it.
fn open(path: &Path) -> Result<File> {
    let open = |read| OpenOptions::new().read(read).write(true).create(true).truncate(false).mode(0o644).open(path);
    let opened = open(true).or_else(|cause| match cause.kind() {
        std::io::ErrorKind::PermissionDenied => open(false),
        _ => Err(cause),
    });
    opened.map_err(|cause| Error::io(0, "open", path, 0, &cause))
}

/// The window of a round: `cb_buffer_size`, in whole units where it holds one, so that no unit is written in two rounds.
fn window(layout: &Layout, hints: &Hints) -> u64 {
    match hints.cb_buffer_size / layout.unit {
        0 => hints.cb_buffer_size,
        units => units * layout.unit,
    }
}

#[cfg(test)]
mod tests;
