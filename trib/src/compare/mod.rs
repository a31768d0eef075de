//! `trib compare`: with the library and without it.
//!
//! | module | holds |
//! |---|---|
//! | [`from_results`] | figures of what was measured on a cluster |

mod from_results;

use crate::Failure;
use crate::cli::compare::CompareOptions;

/// Draws what was measured.
pub fn run(options: &CompareOptions) -> Result<(), Failure> {
    from_results::run(&options.from, options.output.as_deref())
}
