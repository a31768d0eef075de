//! Collective I/O for MPI programs: many ranks write and read one shared file together.
//!
//! Ranks send their bytes to *aggregators*. An aggregator owns a part of the file, collects large windows and writes them (the
//! two-phase method of MPI-IO). An exchange *kernel* determines the order of the messages. It is a pure function that returns a
//! schedule, which is data: a fabric runs it, validators check it, and a read runs it in reverse.
//!
//! ```
//! use tributary::{BufferLayout, Endpoint, Error, Extents, File, Hints, Mode, threads};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("shared.out");
//! let hints = Hints::parse("cb_nodes=2; trib_kernel=balanced; trib_throttle=2")?;
//!
//! // Four ranks, each a thread of this process. Rank r writes records r, r + 4, r + 8, ... of 100 bytes.
//! let reports = threads::run(4, |transport| {
//!     let endpoint = Endpoint::new(transport);
//!     let rank = endpoint.rank() as u64;
//!     let extents = Extents::strided(rank * 100, 100, 400, 250)?;
//!     let buffer = vec![rank as u8; extents.bytes() as usize];
//!     let mut file = File::open(endpoint, &path, Mode::Create, hints.clone())?;
//!     let report = file.write_all(&extents, &BufferLayout::Contiguous, &buffer)?;
//!     let mut back = vec![0; buffer.len()];
//!     file.read_all(&extents, &BufferLayout::Contiguous, &mut back)?; // the same plan, in reverse
//!     assert_eq!(back, buffer);
//!     file.close()?;
//!     Ok::<_, Error>(report)
//! })?;
//!
//! for report in reports {
//!     assert_eq!(report?.bytes_written, 100_000); // the same report on every rank
//! }
//! let written = std::fs::read(&path)?;
//! assert!((0..100_000).all(|at| usize::from(written[at]) == at / 100 % 4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With MPI, the same program gets its [`Endpoint`] from the world that [`mpi::initialise`] returns.
//!
//! | you need | items |
//! |---|---|
//! | a shared file | [`File`], [`Mode`], [`Operation`] (non-blocking), [`Settings`]; reports: [`CallReport`], [`ReadReport`] |
//! | what a rank writes or reads | [`Extents`], [`FileView`]; its memory: [`BufferLayout`], [`Source`], [`Sink`] |
//! | ranks | [`Endpoint`] on [`mpi`] or on [`threads`]; a fabric of your own implements [`Transport`] |
//! | settings | [`Hints`], from code; [`Environment`], from variables and files too |
//! | file systems | [`drivers`]; storage of your own implements [`storage::Storage`] and opens by [`File::open_on`] |
//! | errors | [`Error`], the same on every rank |
//! | a recorded program | [`Capture`] |
//!
//! `docs/how-it-works/overview.md` in the repository explains how the library works; `docs/reference/hints.md` lists the hints.
//! Modules that this page does not show are for this project's own crates; they may change at any time.

#[doc(hidden)]
pub mod access;
#[doc(hidden)]
pub mod collectives;
mod device;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod exchange;
#[doc(hidden)]
pub mod fabric;
#[doc(hidden)]
pub mod hints;
#[doc(hidden)]
pub mod machine;
#[doc(hidden)]
pub mod schedule;
#[doc(hidden)]
pub mod world;

pub use access::{BufferLayout, Extent, Extents, FileView, Sink, Source};
pub use engine::{
    CallReport, Capture, Direction, FanIn, File, Mode, Operation, ReadReport, Seconds, Settings, io as storage,
};
pub use fabric::{Completion, Endpoint, Idle, Message, Stop, Ticket, Traffic, Transport, mpi, threads};
pub use hints::{
    DriverName, Environment, Hints, KernelHint, Limit, OnFailure, Overlap, PlacementHint, RankListHint, Switch,
};
pub use schedule::SendMode;
pub use tributary_base::{
    Error, Rank, Result, Topology, calls, error, fingerprint, is_disabled, job, memo, say, topology, variable, wire,
};
pub use tributary_drivers as drivers;

/// Compiles the README's example as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
