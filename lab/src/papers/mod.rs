//! The papers' results as claims: the statement of a paper, its measurement here, and the verdict.
//!
//! The claims are data in `lab/papers/*.toml`, one file per paper. A claim names a measurement, which is a function
//! here, with its parameters. The resulting values are compared with the bound that the paper states. The last verdict
//! is recorded in the file, so that a change is noticed. A claim that is not reproduced stays, with the reason.
//!
//! | module | holds |
//! |---|---|
//! | [`claim`] | papers, claims and figures, from the files |
//! | [`bound`] | bounds, and whether numbers keep them |
//! | [`measure`] | measurements, and their parameters |
//! | [`context`] | shared state of measurements: machines, results that several need |
//! | [`drawing`] | the data of a figure |
//! | [`error`] | errors |
//! | `main_paper`, `intergroup`, `locality`, `gather`, `thesis` | the measurements, one module per paper |

pub mod bound;
pub mod claim;
pub mod context;
pub mod drawing;
pub mod error;
mod gather;
mod intergroup;
mod locality;
mod main_paper;
pub mod measure;
mod thesis;

pub use bound::Bound;
pub use claim::{Claim, Figure, Paper, Verdict};
pub use context::Context;
pub use drawing::{Axis, Drawing};
pub use error::PapersError;
pub use measure::{Draw, Measure, Parameters, Values};

/// Source of a paper: the text of its claims, its measurements and its drawings.
pub(crate) type Source = (&'static str, &'static [Measure], &'static [Draw]);

/// Sources of all papers, in the order in which they are shown.
static SOURCES: &[Source] = &[
    (include_str!("../../papers/main.toml"), main_paper::MEASURES, main_paper::DRAWINGS),
    (include_str!("../../papers/intergroup.toml"), intergroup::MEASURES, intergroup::DRAWINGS),
    (include_str!("../../papers/locality.toml"), locality::MEASURES, locality::DRAWINGS),
    (include_str!("../../papers/gather.toml"), gather::MEASURES, gather::DRAWINGS),
    (include_str!("../../papers/thesis.toml"), thesis::MEASURES, thesis::DRAWINGS),
];

/// Returns all papers, checked.
///
/// # Errors
/// A file does not have the form that [`claim`] describes.
pub fn papers() -> Result<Vec<Paper>, PapersError> {
    SOURCES.iter().map(|source| Paper::parse(*source)).collect()
}
