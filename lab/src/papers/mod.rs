//! The papers' results as claims: what a paper says, how it is measured here, and whether it is found.
//!
//! The claims are data, `lab/papers/*.toml`, a file a paper. A claim names a measurement of its paper, which is a
//! function here, with its parameters; what comes out is held to the bound that the paper's words give. What was found
//! last is written beside it, so that any change of verdict is seen. A claim that the model does not reproduce stays, with
//! the reason.
//!
//! | module | holds |
//! |---|---|
//! | [`claim`] | papers, claims, figures: what the files say |
//! | [`bound`] | bounds, and whether numbers keep them |
//! | [`measure`] | measurements, and their parameters |
//! | [`context`] | what measurements share: machines, results that several need |
//! | [`drawing`] | the data of a figure |
//! | [`error`] | what can go wrong |
//! | `main_paper`, `intergroup`, `locality`, `gather`, `thesis` | the measurements, a module a paper |

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

/// A paper: the text of its claims, its measurements, its drawings.
pub(crate) type Source = (&'static str, &'static [Measure], &'static [Draw]);

/// In the order in which they are shown.
static SOURCES: &[Source] = &[
    (include_str!("../../papers/main.toml"), main_paper::MEASURES, main_paper::DRAWINGS),
    (include_str!("../../papers/intergroup.toml"), intergroup::MEASURES, intergroup::DRAWINGS),
    (include_str!("../../papers/locality.toml"), locality::MEASURES, locality::DRAWINGS),
    (include_str!("../../papers/gather.toml"), gather::MEASURES, gather::DRAWINGS),
    (include_str!("../../papers/thesis.toml"), thesis::MEASURES, thesis::DRAWINGS),
];

/// All papers, checked.
///
/// # Errors
/// A file that is not what [`claim`] describes.
pub fn papers() -> Result<Vec<Paper>, PapersError> {
    SOURCES.iter().map(|source| Paper::parse(*source)).collect()
}
