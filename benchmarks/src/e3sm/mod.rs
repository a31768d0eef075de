//! The patterns of E3SM-IO: components of the E3SM climate model write history files, with millions of small requests
//! of all ranks in one collective call. The F case is the atmosphere, G the ocean, I the land.
//!
//! | module | holds |
//! |---|---|
//! | [`decomposition`] | the elements of an array that a rank owns; sorting, merging, folding |
//! | [`map`] | decompositions from a map file of the E3SM-IO benchmark |
//! | [`generator`] | decompositions of the same character for any number of ranks |
//! | [`map_file`] | writes any decompositions as a map file |
//! | [`content`] | cases, history files, element types and numbers of records |
//! | `table`, `tables/` | the variables and attributes of all files |
//! | [`layout`] | the positions of variables in the file |
//! | [`case`] | decompositions and variables together: [`E3sm`] |
//! | `pattern`, `puts` | [`E3sm`] as a pattern of extents, and as calls of a NetCDF library |

pub mod case;
pub mod content;
pub mod decomposition;
pub mod generator;
pub mod layout;
pub mod map;
pub mod map_file;
mod pattern;
mod puts;
mod serial;
mod table;
mod view;

pub use case::{E3sm, E3smF, Options};
pub use content::{Content, E3smCase, ElementType, History};
pub use decomposition::{Decompositions, Entry};
pub use generator::{Generator, GeneratorOptions};
pub use map::DecompositionMap;
