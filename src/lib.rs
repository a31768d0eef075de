//! Collective I/O for supercomputers: a two-phase writer whose exchange kernels are data.

pub mod access;
pub mod collectives;
pub mod drivers;
pub mod engine;
pub mod error;
pub mod exchange;
pub mod fabric;
pub mod hints;
pub mod schedule;
pub mod topology;

pub use access::{BufferLayout, Extent, Extents, FileView};
pub use engine::{CallReport, File, Mode};
pub use error::{Error, Result};
pub use fabric::Endpoint;
pub use hints::Hints;
pub use topology::{Rank, Topology};
