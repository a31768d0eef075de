//! `trib-lab figures`: the main paper's figures 4 and 5 for a machine, from the rows that the job scripts of
//! `lab/batch` wrote.
//!
//! | module | holds |
//! |---|---|
//! | `rows` | the lines of the results, read and checked |
//! | `summary` | the median of the runs of a row |
//! | `panels` | rows as bars and curves |
//! | `page` | figures and numbers as one HTML page |
//! | `table` | the numbers for a terminal |

mod page;
mod panels;
mod rows;
mod summary;
mod table;

use std::path::Path;

use trib::{Failure, say};

use crate::reproduce::{plot, write};
use panels::Figure;

/// Reads the rows of a directory, prints their medians, and writes the figures (an SVG each) and a page into `output`,
/// by default the directory itself.
///
/// # Errors
/// No rows; a row that the job scripts cannot have written, with file and line; rows of several machines; a file that
/// cannot be written.
pub fn run(from: &Path, output: Option<&Path>) -> Result<(), Failure> {
    let read = rows::read(from)?;
    let medians = summary::medians(&read.rows);
    // The table is printed first, so that a full disk loses nothing.
    say(table::text(&read, &medians))?;
    let output = output.unwrap_or(from);
    std::fs::create_dir_all(output).map_err(|cause| Failure::new(format!("{}: {cause}", output.display())))?;
    let drawn = drawn(&read.machine, &medians)?;
    for (figure, svg) in &drawn {
        write(&output.join(format!("{}.svg", figure.name)), svg)?;
    }
    let page = output.join("figures.html");
    write(&page, &page::html(&read, &medians, &drawn))?;
    say(format!("{} figures; all on one page: {}", drawn.len(), page.display()))
}

/// Returns the figures of a machine, each with its SVG.
fn drawn(machine: &str, medians: &[summary::Median]) -> Result<Vec<(Figure, String)>, Failure> {
    let draw = |figure: Figure| match plot::draw(&figure.title, &figure.drawing) {
        Ok(svg) => Ok((figure, svg)),
        Err(problem) => Err(Failure::new(format!("{}: {problem}", figure.name))),
    };
    panels::of(machine, medians).into_iter().map(draw).collect()
}

/// Returns the page with all results. For tests, because it writes no file.
#[cfg(test)]
fn all(read: &rows::Results) -> Result<String, Failure> {
    let medians = summary::medians(&read.rows);
    Ok(table::text(read, &medians) + &page::html(read, &medians, &drawn(&read.machine, &medians)?))
}
