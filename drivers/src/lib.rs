//! File-system drivers for collective I/O: layout of a file, choice of aggregators, file domains and windows.
//!
//! The library `tributary` uses these drivers. A program that exchanges data itself and needs only file domains can use
//! this crate without that library:
//!
//! ```
//! use tributary_drivers::{DriverHints, DriverName, SystemFiles, Topology, Written, create, driver};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("shared.out");
//! // Blocks of 1 MiB, and one aggregator on a node.
//! let hints = DriverHints { striping_unit: Some(1 << 20), cb_config_list: Some(1), ..DriverHints::default() };
//!
//! // On one rank, which sends name and layout to the others. (`Auto` selects the driver of the file system.)
//! let driver = driver(DriverName::Gpfs, &path);
//! let file = create(&SystemFiles, &path, &hints)?;
//! let layout = driver.layout(&SystemFiles, &path, &*file, &hints)?;
//!
//! // On every rank: 16 ranks on 4 nodes write the first 10 MiB.
//! let topology = Topology::blocks(16, 4)?;
//! let aggregators = driver.aggregators(&topology, &layout, &hints)?;
//! assert_eq!(aggregators, [0, 4, 8, 12]);
//! let written = Written { start: 0, end: 10 << 20, bytes: 10 << 20, histogram: &[10 << 20] };
//! let domains = driver.domains(&layout, aggregators.len(), written, &hints);
//! assert_eq!(domains.owner(5 << 20), (1, 6 << 20)); // the second of them, up to 6 MiB
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `driver` | [`Driver`]: the trait, and its types |
//! | `registry` | [`DriverName`], [`driver()`]: all drivers; **a new driver goes there** |
//! | `posix`, `lustre`, `gpfs`, `nfs` | one driver each |
//! | `lov` | the encoding of Lustre's layouts |
//! | [`domains`] | [`Domains`], [`Window`]: the parts of the file that each aggregator owns, and its windows |
//! | [`placement`] | which ranks are aggregators |
//! | `hints` | [`DriverHints`]: the hints for a driver |
//! | `storage` | [`Storage`], [`FileControl`], [`OpenStorage`]: the bytes of a file; its locks, advice and the like; creates and opens files; [`without_size_signal`]: prevents the signal of a file-size limit |
//! | `system` | [`SystemFiles`]: files of the operating system |
//! | `mounts` | the type of a mount that `statfs` does not report |
//! | `direct` | [`DirectWrites`]: large writes that bypass the page cache |
//! | `hostile` | storage that fails on purpose (feature `hostile`) |

mod direct;
pub mod domains;
mod driver;
mod gpfs;
mod hints;
#[cfg(any(test, feature = "hostile"))]
pub mod hostile;
mod lov;
mod lustre;
mod mounts;
mod nfs;
pub mod placement;
mod posix;
mod registry;
mod storage;
mod system;
#[cfg(test)]
mod tests;

pub use direct::DirectWrites;
pub use domains::{Domains, Window};
pub use driver::{Driver, Layout, Written};
pub use hints::{DriverHints, Placement, USUAL_WINDOW};
pub use registry::{DriverName, create, detect, detect_on, driver, driver_on, lay_out};
pub use storage::{FileControl, FileSystem, Identity, Mode, OpenStorage, Storage, StripeRequest};
pub use storage::{SizeSignalBlocked, block_size_signal, size_limit, without_size_signal};
pub use system::SystemFiles;
pub use tributary_base::{Error, Extent, Node, Rank, Result, Topology, error, topology};

/// The examples of the README are compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct DriversReadme;
