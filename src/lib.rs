//! Collective I/O for MPI programs: many ranks write and read one shared file together.
//!
//! Ranks send their bytes to *aggregators*. An aggregator owns a part of the file, collects large windows and writes them (the
//! two-phase method of MPI-IO). An exchange *kernel* determines the order of the messages. It is a pure function that returns a
//! [`schedule::Schedule`], which is data: a fabric runs it, validators check it, and a read runs it in reverse.
//!
//! ```
//! use tributary::fabric::threads;
//! use tributary::{BufferLayout, Endpoint, Error, Extents, File, Hints, Mode};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("shared.out");
//! let hints = Hints::parse("cb_nodes=2; trib_kernel_data=balanced; trib_throttle_data=2")?;
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
//! With MPI, the same program gets its [`Endpoint`] from the world that [`fabric::mpi::initialise`] returns.
//!
//! | module | holds |
//! |---|---|
//! | [`engine`] | [`File`]: open, write, read, close; plan, metadata, rounds, agreement |
//! | [`access`] | [`Extents`], [`FileView`], [`BufferLayout`]: the bytes that a rank accesses, and their encoding in messages |
//! | `device` | memory of GPUs: detection, and copies to and from the host |
//! | [`hints`] | [`Hints`]: all settings, from code, environment and files |
//! | [`exchange`] | the kernels and their registry: **a new kernel goes here** |
//! | [`drivers`] | file systems: layout, aggregators, file domains, storage (the crate `tributary-drivers`) |
//! | [`fabric`] | [`Endpoint`]: sends messages between threads or MPI processes; the executor of schedules |
//! | [`schedule`] | a communication pattern as data: operations, builder, validators |
//! | [`collectives`] | allreduce, broadcast, gather, agreement on errors, as schedules |
//! | [`machine`] | the costs of messages on a machine, from the file of a hint |
//! | [`sample`] | repeated measurements: the mean and its confidence interval |
//! | [`topology`] | ranks and nodes |
//! | [`error`] | [`Error`]: the causes of errors, the same on every rank |
//!
//! `docs/how-it-works/overview.md` in the repository explains how the modules work together; `docs/reference/hints.md` lists the hints.

pub mod access;
pub mod collectives;
mod device;
pub mod engine;
pub mod exchange;
pub mod fabric;
pub mod hints;
pub mod machine;
pub mod sample;
pub mod schedule;

pub use access::{BufferLayout, Extent, Extents, FileView, Sink, Source};
pub use engine::{CallReport, File, Mode, ReadReport};
pub use fabric::Endpoint;
pub use hints::Hints;
pub use tributary_base::{Error, Rank, Result, Topology, error, fingerprint, say, topology, variable};
pub use tributary_drivers as drivers;

/// The README's example is compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
