//! Access patterns of real codes, as pure functions of rank and number of ranks: the extents and bytes that a rank writes,
//! and a serial writer of the whole file as reference.
//!
//! | module | holds |
//! |---|---|
//! | [`pattern`] | the trait all patterns implement |
//! | [`block4d`] | a 4-D lattice cut into blocks |
//! | [`btio`] | NPB BTIO, a diagonal multi-partition |
//! | [`captured`] | the writes of a real program, from a capture |
//! | [`closed_form`] | closed forms of a pattern: sums and fan-in |
//! | [`e3sm`] | the F, G and I cases of E3SM-IO, from decomposition maps or generated for any number of ranks |
//! | [`flash`] | FLASH-IO: a checkpoint and two plot files |
//! | [`ior`] | IOR's shared file, segmented or strided, with IOR's data |
//! | [`list`] | any lists of extents, one a rank, from a file |
//! | [`netcdf_case`] | patterns that are a NetCDF file |
//! | [`s3d`] | the checkpoint of S3D-IO |
//! | [`source`] | the bytes of an input file: mapped, or in memory |
//! | [`stretched`] | a pattern on more ranks than it was recorded on |
//! | [`value`] | the payload |
//! | [`wrf`] | a recorded all-to-many exchange, replayed without a file |

pub mod block4d;
mod blocks;
pub mod btio;
pub mod captured;
pub mod closed_form;
pub mod e3sm;
pub mod error;
pub mod flash;
pub mod ior;
pub mod list;
mod meeting;
pub mod netcdf_case;
pub mod pattern;
pub mod s3d;
mod serial;
pub mod source;
pub mod stretched;
pub mod value;
pub mod wrf;

pub use block4d::{Block4d, Block4dOptions};
pub use btio::{Btio, BtioClass, BtioOptions};
pub use captured::Captured;
pub use closed_form::{ClosedForm, Division};
pub use e3sm::{E3sm, E3smF, ElementType, GeneratorOptions};
pub use error::PatternError;
pub use flash::{Flash, FlashFile, FlashOptions};
pub use ior::{Ior, IorOptions, Packet};
pub use list::ListPattern;
pub use netcdf_case::{NetcdfCase, Put, WrittenCase, write_case, write_case_serially};
pub use pattern::{Pattern, RankAccess, Totals};
pub use s3d::{S3d, S3dOptions};
pub use stretched::Stretched;
