//! `trib-lab picture`: draws as SVG which rank owns which bytes. It uses only the interface of patterns, so any pattern
//! can be drawn. An exchange, which has no file, is drawn as a matrix of messages.
//!
//! | module | holds |
//! |---|---|
//! | `strip` | the file as cells |
//! | `memory` | a rank's memory, and the positions of its pieces in the file |
//! | `card` | the picture of a pattern: strips, memory, legend |
//! | `matrix` | one round of an exchange, binned |
//! | `round` | its picture: matrix, fan-in, legend |
//! | [`mod@messages`] | the messages of an algorithm, round by round, and the data of each rank |
//! | `grid` | its rows and columns |
//! | `sheet` | the card on which pictures are drawn |
//!
//! Axes, colours, rectangles and text are in [`trib::picture`].

mod card;
mod grid;
mod matrix;
mod memory;
pub mod messages;
mod round;
mod sheet;
mod strip;

use std::path::Path;

use tributary_benchmarks::Pattern;
use tributary_benchmarks::wrf::Trace;

use crate::cli::patterns::{Drawing, PictureOptions};
use trib::source::Subject;
use trib::{Failure, exchange, say};

/// Draws the picture that the options ask for, and prints or writes it.
pub fn run(options: &PictureOptions) -> Result<(), Failure> {
    let subject = options.pattern.subject(options.drawing.ranks)?;
    let picture = draw(&subject, &options.drawing)?;
    write_or_say(options.output.as_deref(), &picture, || match &subject {
        Subject::File(pattern) => pattern.describe(),
        Subject::Exchange(trace) => exchange::describe(trace),
    })
}

/// Writes a picture to a file and prints a line about it; or, without a file, prints the picture.
///
/// # Errors
/// The file cannot be written.
pub fn write_or_say(path: Option<&Path>, picture: &str, what: impl FnOnce() -> String) -> Result<(), Failure> {
    let Some(path) = path else { return say(picture.trim_end()) };
    let fail = |cause| Failure::new(format!("{}: {cause}", path.display()));
    std::fs::write(path, picture).map_err(fail)?;
    say(format!("{}: {}", path.display(), what()))
}

/// Returns the picture of a pattern or of a round of an exchange, as SVG. The same arguments give the same text.
///
/// # Errors
/// A pattern that is too large to draw or fails; a round that does not exist or has no messages; options for files with
/// an exchange, or the other way round.
pub fn draw(subject: &Subject, drawing: &Drawing) -> Result<String, Failure> {
    match subject {
        Subject::File(pattern) => file(&**pattern, drawing),
        Subject::Exchange(trace) => messages(trace, drawing),
    }
}

fn file(pattern: &dyn Pattern, drawing: &Drawing) -> Result<String, Failure> {
    if drawing.round.is_some() {
        let name = pattern.name();
        return Err(Failure::new(format!("--round: {name} writes a file and is not an exchange; allowed: wrf")));
    }
    let strip = strip::Strip::of(pattern, drawing.from, drawing.bytes, drawing.row)?;
    let lanes = memory::lanes(pattern, &strip)?;
    Ok(card::card(pattern, drawing, &strip, &lanes))
}

fn messages(trace: &Trace, drawing: &Drawing) -> Result<String, Failure> {
    if let Some(option) = drawing.of_a_file() {
        let what = "wrf is an exchange without a file";
        return Err(Failure::new(format!("{option}: {what}; allowed: --round, --ranks, --output")));
    }
    let matrix = matrix::Matrix::of(trace, drawing.round)?;
    Ok(round::card(trace, &matrix))
}
