//! Advice: which hints a write would gain by on a machine, found by simulating candidates.
//!
//! Candidates are tried in stages, each on top of the best so far: how many aggregators and stripes, how large stripes
//! and windows are, the kernel and throttle of the data, and those of the metadata. All kernels write the same bytes.
//!
//! | module | holds |
//! |---|---|
//! | [`candidates`] | what is tried in a stage |
//! | [`search`] | the stages, one after the other |
//! | [`dialects`] | hints as users of other libraries write them |

pub mod candidates;
pub mod dialects;
pub mod search;

pub use candidates::{Setting, Stage};
pub use search::{Advice, Trial, advise};
