//! File-system drivers of collective I/O: how a file is laid out, who aggregates, which aggregator owns a byte, what it holds
//! in a round.
//!
//! The library `tributary` writes and reads through them. A program that has its own way to exchange bytes, and wants file
//! domains only, needs nothing else:
//!
//! ```
//! use tributary_drivers::{DriverHints, DriverName, SystemFiles, Topology, Written, create, driver};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("shared.out");
//! // Blocks of 1 MiB, and one aggregator on a node.
//! let hints = DriverHints { striping_unit: Some(1 << 20), cb_config_list: Some(1), ..DriverHints::default() };
//!
//! // On one rank, which tells the others name and layout. (`Auto` takes the driver of the file system.)
//! let driver = driver(DriverName::Gpfs, &path);
//! let file = create(&SystemFiles, &path, &hints)?;
//! let layout = driver.layout(&SystemFiles, &path, &*file, &hints)?;
//!
//! // On every rank alike: 16 ranks on 4 nodes are to write the first 10 MiB.
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
//! | `driver` | [`Driver`]: the questions, and what they are about |
//! | `registry` | [`DriverName`], [`driver()`]: the drivers that there are; **a new driver goes there** |
//! | `posix`, `lustre`, `gpfs` | a driver each |
//! | `lov` | the bytes of Lustre's layouts |
//! | [`domains`] | [`Domains`], [`Window`]: which aggregator owns which byte, and what it holds in a round |
//! | [`placement`] | which ranks aggregate |
//! | `hints` | [`DriverHints`]: what a caller may ask for |
//! | `storage` | [`Storage`], [`OpenStorage`]: a file, and what makes and opens it |
//! | `system` | [`SystemFiles`]: those of the operating system |
//! | `direct` | [`DirectWrites`]: large writes past the client's cache |
//! | [`size_limit`] | the signal of a limit of file size, kept away |
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
pub mod placement;
mod posix;
mod registry;
pub mod size_limit;
mod storage;
mod system;
#[cfg(test)]
mod tests;

pub use direct::DirectWrites;
pub use domains::{Domains, Window};
pub use driver::{Driver, Layout, Written};
pub use hints::{DriverHints, Placement, USUAL_WINDOW};
pub use registry::{DriverName, create, detect, detect_on, driver, driver_on, lay_out};
pub use storage::{FileSystem, Identity, Mode, OpenStorage, Storage, StripeRequest};
pub use system::SystemFiles;
pub use tributary_base::{Error, Extent, Node, Rank, Result, Topology, error, topology};

/// The examples of the README are compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
