//! NetCDF classic files (CDF-1, CDF-2, CDF-5), written collectively, as PnetCDF does.
//!
//! This crate is the worked example of an I/O library on top of Tributary: it uses only Tributary's public API. Such a
//! library does three things, and each is a module to read:
//!
//! 1. It maps its data to the file: [`schema`] has the definitions, and [`layout`] turns them into offsets, and every part
//!    of a variable into [`tributary::Extents`]. Both are independent of ranks.
//! 2. It collects the requests of a rank: `queue` packs the bytes of many small requests (`iput`) and sorts them.
//! 3. It writes the requests of all ranks with one collective call: `wait_all` of [`dataset`]. Tributary decides how bytes
//!    are exchanged and which ranks write them.
//!
//! A complete program: four ranks write a fixed-size and a record variable, each rank every fourth column of it.
//!
//! ```
//! use tributary::fabric::threads;
//! use tributary::{Endpoint, Error, Hints};
//! use tributary_netcdf::{Dataset, Format, Type, UNLIMITED};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("heat.nc");
//!
//! let reports = threads::run(4, |transport| {
//!     let endpoint = Endpoint::new(transport);
//!     let rank = endpoint.rank() as u64;
//!
//!     // Define mode: the same definitions on every rank.
//!     let mut file = Dataset::create(endpoint, &path, Format::Cdf5, Hints::default())?;
//!     let time = file.define_dimension("time", UNLIMITED)?;
//!     let column = file.define_dimension("column", 40)?;
//!     let area = file.define_variable("area", Type::Double, &[column])?;
//!     let heat = file.define_variable("heat", Type::Float, &[time, column])?;
//!     file.put_attribute(heat, "units", "W/m2")?;
//!     file.end_define()?;
//!
//!     // Each rank queues its own columns: 4 * n + rank, one request for all ten of them.
//!     let mine = |n: u64| 4 * n + rank;
//!     let columns = (0..10).map(|n| ([mine(n)], [1]));
//!     file.iput_varn(area, columns, &[1.5f64; 10])?;
//!     for record in 0..3 {
//!         let columns = (0..10).map(|n| ([record, mine(n)], [1, 1]));
//!         let values: Vec<f64> = (0..10).map(|n| (record * 100 + mine(n)) as f64).collect();
//!         file.iput_varn(heat, columns, &values)?; // doubles, written as floats
//!     }
//!
//!     // One collective write for both variables, all records and all ranks, header included.
//!     let report = file.wait_all()?;
//!     file.close()?;
//!     Ok::<_, Error>(report)
//! })?;
//!
//! for report in reports {
//!     assert!(report?.bytes >= 40 * 8 + 3 * 40 * 4); // the same report on every rank
//! }
//! // Record 2, column 7 is the float 207, big-endian; ncdump and every other NetCDF program read the file.
//! let bytes = std::fs::read(&path)?;
//! let at = 512 + 40 * 8 + 2 * 40 * 4 + 7 * 4;
//! assert_eq!(bytes[at..at + 4], 207f32.to_be_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! On MPI the same program takes its endpoint from `tributary::fabric::mpi`. Besides the collective write, a flush costs one
//! agreement of a few numbers, one copy of the data (the conversion), and 24 bytes of memory for each request of a single
//! extent; the parts of one `iput_varn` are packed. A part of an `iput_varn` takes some 40 nanoseconds to
//! queue, a call for a single element some 200 (measured with a million of each, on one core).
//!
//! | module | holds |
//! |---|---|
//! | [`dataset`] | [`Dataset`]: create, define, queue, flush, close |
//! | [`schema`] | [`Schema`]: dimensions, variables and attributes |
//! | [`layout`] | [`Layout`]: the positions of variables in the file |
//! | [`alignment`] | [`Alignment`]: PnetCDF's alignment hints |
//! | [`format`](mod@format) | the three formats and their types |
//! | [`value`], [`values`] | native numbers and their conversion; the values of attributes |
//! | [`requests`] | parts of a variable as a list |
//! | [`reader`] | decodes files of any bytes: their definitions, and variables of integers |
//! | `header`, `parts`, `runs`, `queue`, `fill`, `name` | encoding, parts as extents, queued requests, fill values, NetCDF's names |

pub mod alignment;
pub mod dataset;
mod fill;
pub mod format;
mod header;
pub mod layout;
mod name;
mod parts;
mod queue;
pub mod reader;
pub mod requests;
mod runs;
pub mod schema;
pub mod value;
pub mod values;

pub use alignment::Alignment;
pub use dataset::Dataset;
pub use format::{Format, Type};
pub use layout::Layout;
pub use requests::Requests;
pub use schema::{Attribute, Dimension, DimensionId, FILL_VALUE, Schema, UNLIMITED, Variable, VariableId};
pub use value::Value;
pub use values::Values;
