//! Collective I/O for supercomputers: many ranks write and read one shared file together, through few of them.
//!
//! Ranks hand their bytes to *aggregators*, which own parts of the file, gather large windows and write them (the
//! two-phase method of MPI-IO). Who talks to whom, in which order and how many at a time is an exchange *kernel*: a pure
//! function whose result, a [`schedule::Schedule`], is data. A fabric runs it, validators check it; a read runs it backwards.
//!
//! ```
//! use tributary::fabric::threads;
//! use tributary::{BufferLayout, Endpoint, Error, Extents, File, Hints, Mode};
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
//!     file.read_all(&extents, &BufferLayout::Contiguous, &mut back)?; // the same plan, the kernel backwards
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
//! On MPI the same program takes its [`Endpoint`] from [`fabric::mpi::initialise`] and the world it returns.
//!
//! | module | holds |
//! |---|---|
//! | [`engine`] | [`File`]: open, write, read, close; plan, metadata, rounds, agreement |
//! | [`access`] | [`Extents`], [`FileView`], [`BufferLayout`]: what a rank touches, in little memory and on the wire |
//! | `device` | memory of GPUs: which addresses are, and how their bytes get to the host |
//! | [`hints`] | [`Hints`]: every knob, from code, environment and files |
//! | [`exchange`] | the kernels and their registry: **a new kernel goes here** |
//! | [`drivers`] | file systems: layout, aggregators, file domains, storage (the crate `tributary-drivers`) |
//! | [`fabric`] | [`Endpoint`]: what carries messages, ranks as threads or MPI; the executor of schedules |
//! | [`schedule`] | a communication pattern as data: operations, builder, validators |
//! | [`collectives`] | allreduce, broadcast, gather, agreement on errors, as schedules |
//! | [`machine`] | what messages cost on a machine, from a file that a hint names |
//! | [`topology`] | ranks and nodes |
//! | [`wire`] | values as bytes, between ranks |
//! | [`error`] | [`Error`]: by cause, the same on every rank |
//!
//! `docs/how-it-works/overview.md` in the repository says how they fit together and why; `docs/reference/hints.md` lists the hints.

pub mod access;
pub mod collectives;
mod device;
pub mod engine;
pub mod exchange;
pub mod fabric;
pub mod hints;
pub mod machine;
pub mod schedule;

pub use access::{BufferLayout, Extent, Extents, FileView, Sink, Source};
pub use engine::{CallReport, File, Mode, ReadReport};
pub use fabric::Endpoint;
pub use hints::Hints;
pub use tributary_base::{Error, Rank, Result, Topology, error, fingerprint, say, topology, variable, wire};
pub use tributary_drivers as drivers;

/// The README's example is compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
