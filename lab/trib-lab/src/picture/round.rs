//! Draws the picture of one round of an exchange: the matrix of bytes by sender and receiver, and the fan-in of the
//! receivers.

use tributary_benchmarks::wrf::Trace;

use super::matrix::{Matrix, ReceiverRow};
use super::sheet::{LEFT, RIGHT, Sheet};
use trib::exchange::describe;
use trib::numbers::grouped;
use trib::picture::ink::{DARK, GREY, NOBODY, block, words};

/// Right edge of the matrix, and left edge of the strip of the fan-in, in pixels.
const EDGE: f64 = 730.0;
const STRIP: f64 = 752.0;
/// Colours of bytes and of the fan-in, from the palette of Okabe and Ito.
const BYTES: &str = "#0072b2";
const FAN_IN: &str = "#e69f00";
/// Number of shades of the colour of bytes.
const SHADES: u64 = 5;

/// Returns the picture of a round as SVG.
pub fn card(trace: &Trace, matrix: &Matrix) -> String {
    let mut sheet = Sheet::new("wrf: who sends how much to whom".to_string(), &describe(trace));
    let (round, rounds) = (matrix.round, trace.rounds());
    let (messages, bytes) = (grouped(matrix.messages), grouped(matrix.bytes()));
    sheet.heading(format!("Round {round} of 0 to {}: {messages} messages, {bytes} bytes", rounds - 1));
    sheet.y += 12.0;
    let names = [(LEFT - 8.0, "end", "receiver"), (LEFT, "start", "from sender"), (STRIP, "start", "fan-in: senders")];
    for (x, anchor, name) in names {
        sheet.add(words(x, sheet.y, 10, anchor, GREY, name));
    }
    sheet.y += 6.0;
    let height = (320.0 / matrix.rows.len() as f64).clamp(10.0, 30.0);
    let most = matrix.rows.iter().map(|row| row.fan_in).max().unwrap_or(1);
    for row in &matrix.rows {
        line(&mut sheet, matrix, row, height, most);
    }
    senders(&mut sheet, matrix);
    legend(&mut sheet, matrix);
    sheet.finish()
}

/// Draws a row of the matrix, and its fan-in.
fn line(sheet: &mut Sheet, matrix: &Matrix, row: &ReceiverRow, height: f64, most: usize) {
    let (y, middle) = (sheet.y, sheet.y + height / 2.0 + 3.5);
    sheet.add(words(LEFT - 8.0, middle, 10, "end", DARK, ranks(row.receivers)));
    sheet.add(block(LEFT, y, EDGE - LEFT, height, NOBODY, 1.0));
    let width = (EDGE - LEFT) / matrix.columns.len() as f64;
    for (column, &bytes) in row.bytes.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
        let shade = shade(bytes, matrix.largest()) as f64 / SHADES as f64;
        sheet.add(block(LEFT + column as f64 * width, y, width, height, BYTES, shade));
    }
    let long = (RIGHT - STRIP) * row.fan_in as f64 / most.max(1) as f64;
    sheet.add(block(STRIP, y, long, height, FAN_IN, 1.0));
    sheet.add(words(STRIP + 5.0, middle, 10, "start", DARK, grouped(row.fan_in as u64)));
    sheet.y += height;
}

/// Returns the shade of a cell, from 1 for the fewest bytes to [`SHADES`] for the most.
fn shade(bytes: u64, largest: u64) -> u64 {
    (u128::from(bytes) * u128::from(SHADES)).div_ceil(u128::from(largest)) as u64
}

/// Draws the senders below the columns.
fn senders(sheet: &mut Sheet, matrix: &Matrix) {
    let count = matrix.columns.len();
    let width = (EDGE - LEFT) / count as f64;
    let every = if count > 32 { 4 } else { 1 };
    for (column, senders) in matrix.columns.iter().enumerate().step_by(every) {
        let x = LEFT + (column as f64 + 0.5) * width;
        sheet.add(words(x, sheet.y + 11.0, 9, "middle", GREY, senders.start.to_string()));
    }
    sheet.y += 14.0;
}

/// Draws the legend.
fn legend(sheet: &mut Sheet, matrix: &Matrix) {
    sheet.y += 16.0;
    let mut x = 24.0;
    let mut swatch = |sheet: &mut Sheet, colour, opacity, label: String| {
        sheet.add(block(x, sheet.y, 14.0, 14.0, colour, opacity));
        sheet.add(words(x + 18.0, sheet.y + 11.0, 10, "start", DARK, &*label));
        x += 34.0 + 5.6 * label.len() as f64;
    };
    swatch(sheet, NOBODY, 1.0, "nothing".to_string());
    for shade in 1..=SHADES {
        let most = u128::from(matrix.largest()) * u128::from(shade) / u128::from(SHADES);
        swatch(sheet, BYTES, shade as f64 / SHADES as f64, format!("to {}", grouped(most as u64)));
    }
    swatch(sheet, FAN_IN, 1.0, "fan-in: ranks that send to a receiver".to_string());
    sheet.y += 30.0;
    let mut notes =
        "Shades: bytes of a cell, up to the number given. Ranks that receive nothing in the round have no row."
            .to_string();
    if matrix.columns.iter().any(|senders| senders.len() > 1) {
        notes.push_str(
            " Neighbouring senders share a column, which has the number of its first and the sum of their bytes.",
        );
    }
    if matrix.rows.iter().any(|row| row.receivers.0 != row.receivers.1) {
        notes.push_str(" Neighbouring receivers share a row: the sum of their bytes, the largest of their fan-ins.");
    }
    sheet.notes(&notes);
}

/// Returns the text that names the ranks of a row.
fn ranks((first, last): (usize, usize)) -> String {
    if first == last { format!("rank {first}") } else { format!("{first} to {last}") }
}
