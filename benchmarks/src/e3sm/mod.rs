//! The F case of E3SM-IO: the atmosphere component of the E3SM climate model writes one history file, millions of small
//! requests of all ranks in one collective call.
//!
//! | module | holds |
//! |---|---|
//! | [`decomposition`] | which elements of an array a rank owns; sorting, merging, folding |
//! | [`map`] | decompositions from a map file of the E3SM-IO benchmark |
//! | [`generator`] | decompositions of the same character for any number of ranks |
//! | [`map_file`] | writes any decompositions as a map file |
//! | [`f_case`] | the variables of the history file h0 and where they lie in it |
//! | [`case`] | the pattern: decompositions and variables together |

pub mod case;
pub mod decomposition;
pub mod f_case;
pub mod generator;
pub mod map;
pub mod map_file;
mod serial;
mod view;

pub use case::E3smF;
pub use decomposition::{Decompositions, Entry};
pub use f_case::ElementType;
pub use generator::{Generator, GeneratorOptions};
pub use map::DecompositionMap;
