//! `trib picture`: who owns what, as SVG. Drawn from what every pattern says of each rank, so any pattern can be drawn.
//!
//! | module | holds |
//! |---|---|
//! | [`strip`] | the file as cells |
//! | [`memory`] | a rank's memory and where its pieces go |
//! | [`card`] | the picture: title, strips, legend |
//! | [`ink`] | colours, rectangles, words |

mod card;
mod ink;
mod memory;
mod strip;

use tributary_benchmarks::Pattern;

use crate::cli::patterns::{Drawing, PictureOptions};
use crate::{Failure, say};

/// Draws.
pub fn run(options: &PictureOptions) -> Result<(), Failure> {
    let pattern = options.pattern.subject(options.drawing.ranks)?.into_file("picture")?;
    let picture = draw(&*pattern, &options.drawing)?;
    match &options.output {
        None => say(picture.trim_end()),
        Some(path) => {
            let fail = |cause| Failure::new(format!("{}: {cause}", path.display()));
            std::fs::write(path, picture).map_err(fail)?;
            say(format!("{}: {}", path.display(), pattern.describe()))
        }
    }
}

/// The picture of a pattern, as SVG. The same arguments give the same text.
///
/// # Errors
/// A pattern too large to draw, or one whose extents cannot be had.
pub fn draw(pattern: &dyn Pattern, drawing: &Drawing) -> Result<String, Failure> {
    let strip = strip::Strip::of(pattern, drawing.from, drawing.bytes, drawing.row)?;
    let lanes = memory::lanes(pattern, &strip)?;
    Ok(card::card(pattern, drawing, &strip, &lanes))
}
