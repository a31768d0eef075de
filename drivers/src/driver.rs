//! What a driver answers, and what it answers about.

use std::io;
use std::path::Path;

use tributary_base::{Extent, Rank, Result, Topology, wire};

use crate::domains::Domains;
use crate::hints::{DriverHints, USUAL_WINDOW};
use crate::storage::{OpenStorage, Storage};

/// How a file lies on its file system, as far as a driver cares. Found by rank 0 and told to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Of striped files the stripe size, of others the block size. In bytes, above 0.
    pub unit: u64,
    /// Of striped files the number of stripes, 0 when it is not known; 1 of others.
    pub factor: u32,
    /// Of a composite layout (Lustre's PFL and FLR) the number of components: unit and factor are those of the one with most
    /// stripes. 1 of others.
    pub components: u16,
    /// Writes of so many bytes and more go past the cache of the file system's client ([`DirectWrites`](crate::DirectWrites)), `None`: none does.
    pub direct_from: Option<u64>,
}

wire::fields!(struct Layout { unit, factor, components, direct_from });

impl Layout {
    /// Units of so many bytes, in so many stripes, all alike; written through the cache.
    pub const fn of(unit: u64, factor: u32) -> Self {
        Self { unit, factor, components: 1, direct_from: None }
    }
}

/// What a collective call writes, agreed by all ranks before the file is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written<'a> {
    /// Lowest offset.
    pub start: u64,
    /// Highest end.
    pub end: u64,
    /// Bytes, of all ranks.
    pub bytes: u64,
    /// Bytes written in each of equal parts of `start..end`; empty unless [`Driver::wants_histogram`]. A caller that has not
    /// counted says that all is written, evenly: `&[end - start]`, and as many bytes.
    pub histogram: &'a [u64],
}

/// A file system, in four questions: what layout has this file, or should a new one get; who aggregates; which aggregator
/// owns this byte; what does it hold in a round.
pub trait Driver: Send + Sync {
    /// The type by which its file system is known ([`crate::FileSystem::magic`]); `None` where there is no one such type, and by
    /// default.
    fn magic(&self) -> Option<u32> {
        None
    }

    /// Whether a file lies in stripes on servers, whose size and number may be hinted for a new one and are told of an open one.
    fn is_striped(&self) -> bool {
        false
    }

    /// Makes a file with the hinted layout, where the file system has layouts and one is hinted; a file that is there stays as it
    /// is. [`lay_out`](crate::lay_out) asks the driver of the file system. Called on rank 0 only.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) when the file cannot be made, or the file system refuses the layout; [`Error::Hint`](crate::Error::Hint) for a layout that
    /// cannot be. There is no new file then.
    fn lay_out(&self, _files: &dyn OpenStorage, _path: &Path, _hints: &DriverHints) -> Result<()> {
        Ok(())
    }

    /// The layout of an open file: what the file itself tells of its stripes, or else what is hinted, or else the driver's own.
    /// Local; the engine calls it on rank 0.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) when the file cannot be asked; [`Error::Hint`](crate::Error::Hint) for a layout that cannot be.
    fn layout(&self, files: &dyn OpenStorage, path: &Path, file: &dyn Storage, hints: &DriverHints) -> Result<Layout>;

    /// The aggregators in ascending order, none twice, at least one. A pure function; called on every rank alike.
    ///
    /// # Errors
    /// [`Error::Hint`](crate::Error::Hint) when a placement names a rank that is not there.
    fn aggregators(&self, topology: &Topology, layout: &Layout, hints: &DriverHints) -> Result<Vec<Rank>>;

    /// Whether [`Driver::domains`] divides by density, so that the caller should count bytes first.
    fn wants_histogram(&self) -> bool {
        false
    }

    /// What an aggregator holds of the file in one round where no hint says it, in bytes, for so many ranks in all. A pure function.
    fn usual_window(&self, _ranks: usize) -> u64 {
        USUAL_WINDOW
    }

    /// The bytes that the file system locks together: two ranks that write into as many wait for each other. A pure function.
    fn lock_unit(&self, _layout: &Layout) -> u64 {
        1
    }

    /// An access that is moved by a multiple of so many bytes may keep its domains, moved as far: what the file system locks
    /// together stays with one aggregator, and its servers serve the same ones. A pure function.
    fn period(&self, _layout: &Layout, _aggregators: usize) -> u64 {
        1
    }

    /// Tells the file system that this rank is about to write in `range` through `file`, in a collective call to which all ranks have
    /// come; [`Driver::has_written`] follows. Local, on aggregators.
    ///
    /// # Errors
    /// The system's, where it takes no such word, and [`io::ErrorKind::Unsupported`] by default: the range is written all the same, and
    /// `has_written` does not follow.
    fn will_write(&self, _file: &dyn Storage, _range: Extent) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The end of what [`Driver::will_write`] began.
    fn has_written(&self, _file: &dyn Storage, _range: Extent) {}

    /// Divides the file among `aggregators` for one collective call. A pure function; called on every rank alike.
    fn domains(&self, layout: &Layout, aggregators: usize, written: Written<'_>, hints: &DriverHints) -> Domains;
}

/// The window of a round: `cb_buffer_size`, in whole units where it holds one, so that no unit is written in two rounds.
pub(crate) fn window(layout: &Layout, hints: &DriverHints) -> u64 {
    match hints.cb_buffer_size / layout.unit {
        0 => hints.cb_buffer_size,
        units => units * layout.unit,
    }
}
