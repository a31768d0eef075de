//! The trait of file-system drivers, and its types.

use std::io;
use std::path::Path;

use tributary_base::{Extent, Rank, Result, Topology, wire};

use crate::domains::Domains;
use crate::hints::{DriverHints, USUAL_WINDOW};
use crate::storage::{OpenStorage, Storage};

/// The properties of a file on its file system that a driver needs. Rank 0 finds them and sends them to all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Stripe size of a striped file, or block size of another file, in bytes, above 0.
    pub unit: u64,
    /// Number of stripes of a striped file, 0 if unknown; 1 for other files.
    pub factor: u32,
    /// Number of components of a composite layout (PFL and FLR of Lustre); `unit` and `factor` describe the component
    /// with most stripes. 1 for other layouts.
    pub components: u16,
    /// Minimum size, in bytes, of writes that go past the cache of the file system's client
    /// ([`DirectWrites`](crate::DirectWrites)). `None`: no write does.
    pub direct_from: Option<u64>,
}

wire::fields!(struct Layout { unit, factor, components, direct_from });

impl Layout {
    /// Returns a layout of `factor` stripes of `unit` bytes, without direct writes.
    pub const fn of(unit: u64, factor: u32) -> Self {
        Self { unit, factor, components: 1, direct_from: None }
    }
}

/// The bytes of a collective write, on which all ranks agree before the driver divides the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written<'a> {
    /// Lowest offset that any rank writes.
    pub start: u64,
    /// Highest end of the extents of all ranks.
    pub end: u64,
    /// Number of bytes that all ranks together write.
    pub bytes: u64,
    /// Number of bytes that all ranks write in each of equal parts of `start..end`; empty unless
    /// [`Driver::wants_histogram`]. A caller that has not counted passes one part with all bytes: `&[end - start]`.
    pub histogram: &'a [u64],
}

/// A file system: determines the layout of a file, the aggregators, the file domain of each aggregator, and its windows.
pub trait Driver: Send + Sync {
    /// Returns the type of the driver's file system ([`crate::FileSystem::magic`]). Default: `None`, for drivers
    /// without one such type.
    fn magic(&self) -> Option<u32> {
        None
    }

    /// Returns true if files have stripes on servers, and hints can set the stripes of a new file.
    fn is_striped(&self) -> bool {
        false
    }

    /// Creates a file with the layout of the hints, if the file system has layouts and a hint sets one; does not change an existing
    /// file. [`lay_out`](crate::lay_out) calls it, on rank 0 only.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the file cannot be created or the file system refuses the layout;
    /// [`Error::Hint`](crate::Error::Hint) for an impossible layout. There is no new file then.
    fn lay_out(&self, _files: &dyn OpenStorage, _path: &Path, _hints: &DriverHints) -> Result<()> {
        Ok(())
    }

    /// Returns the layout of an open file: its stripes, or else the hints, or else the driver's default. Local; the engine calls it
    /// on rank 0.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the system call fails; [`Error::Hint`](crate::Error::Hint) for an impossible layout.
    fn layout(&self, files: &dyn OpenStorage, path: &Path, file: &dyn Storage, hints: &DriverHints) -> Result<Layout>;

    /// Returns the aggregators: at least one, in ascending order, without repeats. A pure function; every rank calls it with the
    /// same arguments.
    ///
    /// # Errors
    /// [`Error::Hint`](crate::Error::Hint) if a placement names a rank that does not exist.
    fn aggregators(&self, topology: &Topology, layout: &Layout, hints: &DriverHints) -> Result<Vec<Rank>>;

    /// Returns true if [`Driver::domains`] divides by the number of bytes written, so that the caller must count them first.
    fn wants_histogram(&self) -> bool {
        false
    }

    /// Returns the size of a window in bytes for `ranks` ranks, if no hint sets the size. A pure function.
    fn usual_window(&self, _ranks: usize) -> u64 {
        USUAL_WINDOW
    }

    /// Returns the number of bytes that the file system locks together; two ranks that write in one such unit wait
    /// for each other. A pure function.
    fn lock_unit(&self, _layout: &Layout) -> u64 {
        1
    }

    /// Returns the period of domains in bytes. If an access moves by a multiple of the period, its domains may move
    /// with it, so that each lock unit stays with one aggregator, and servers keep their aggregators. A pure
    /// function.
    fn period(&self, _layout: &Layout, _aggregators: usize) -> u64 {
        1
    }

    /// Announces to the file system that this rank will write in `range` through `file`, in a collective call in which all ranks
    /// have arrived. [`Driver::has_written`] follows. Local, on aggregators.
    ///
    /// # Errors
    /// The operating system's error; by default [`io::ErrorKind::Unsupported`]. After an error the rank still writes
    /// the range, without `has_written`.
    fn will_write(&self, _file: &dyn Storage, _range: Extent) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Ends the announcement of [`Driver::will_write`].
    fn has_written(&self, _file: &dyn Storage, _range: Extent) {}

    /// Divides the file among `aggregators` for one collective call. A pure function; every rank calls it with the same arguments.
    fn domains(&self, layout: &Layout, aggregators: usize, written: Written<'_>, hints: &DriverHints) -> Domains;
}

/// Returns the size of a window in bytes: `cb_buffer_size`, rounded down to whole units if it has at least one, so
/// that no unit is written in two rounds.
pub(crate) fn window(layout: &Layout, hints: &DriverHints) -> u64 {
    match hints.cb_buffer_size / layout.unit {
        0 => hints.cb_buffer_size,
        units => units * layout.unit,
    }
}
