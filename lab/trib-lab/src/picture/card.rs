//! Draws the picture of a pattern: the file, the memory of some ranks, and a legend.

use tributary_benchmarks::Pattern;

use super::memory::Lane;
use super::sheet::{LEFT, RIGHT, Sheet};
use super::strip::{Cell, Strip};
use crate::cli::patterns::Drawing;
use trib::numbers::grouped;
use trib::picture::ink::{self, DARK, GREY, NOBODY, block, ribbon, words};

/// Returns the picture of a pattern as SVG.
pub fn card(pattern: &dyn Pattern, drawing: &Drawing, strip: &Strip, lanes: &[Lane]) -> String {
    let mut sheet = Sheet::new(format!("{}: who writes what", pattern.name()), &pattern.describe());
    file(&mut sheet, drawing, strip, pattern.steps() > 1);
    memory(&mut sheet, strip, lanes, pattern.steps() > 1);
    legend(&mut sheet, pattern, drawing, strip);
    sheet.finish()
}

/// Draws the file as rows, and under each row the aggregators of its stripes.
fn file(sheet: &mut Sheet, drawing: &Drawing, strip: &Strip, many: bool) {
    let (row, stripe) = (strip.row(), drawing.stripe.unwrap_or(strip.row()));
    let whole = strip.to - strip.from == strip.size;
    let ends = || format!(", bytes {} to {} of {}", grouped(strip.from), grouped(strip.to), grouped(strip.size));
    let part = if whole { String::new() } else { ends() };
    sheet.heading(format!("The file{part}: {} bytes a row, {} a cell", grouped(row), grouped(strip.cell)));
    if strip.cells.iter().any(|cell| cell.ranks() > 1) {
        sheet.add(ink::hatching());
    }
    let scale = (RIGHT - LEFT) / row as f64;
    let mut start = strip.from;
    for cells in strip.cells.chunks(strip.columns as usize) {
        let y = sheet.y;
        sheet.add(words(LEFT - 8.0, y + 12.0, 10, "end", GREY, grouped(start)));
        let width = strip.cell as f64 * scale;
        let mut column = 0;
        for same in cells.chunk_by(looks_as) {
            run(sheet, LEFT + column as f64 * width, same.len() as f64 * width, &same[0], many);
            column += same.len();
        }
        let end = (start + row).min(strip.to);
        bands(sheet, (start, end), stripe, drawing.aggregators(), scale);
        start = end;
        sheet.y += 34.0;
    }
}

/// Returns true if two cells look the same. A cell of several ranks shows only the number of ranks.
fn looks_as(a: &Cell, b: &Cell) -> bool {
    a.overlap == b.overlap && a.ranks() == b.ranks() && (a.ranks() > 1 || a.owners == b.owners)
}

/// Draws adjoining cells that look the same as one.
fn run(sheet: &mut Sheet, x: f64, width: f64, cell: &Cell, many: bool) {
    let y = sheet.y;
    let (fill, opacity, on, label) = match (cell.ranks(), &*cell.owners) {
        (_, []) => return sheet.add(block(x, y, width, 16.0, NOBODY, 1.0)),
        (1, [owner, rest @ ..]) => {
            let calls = rest.last().map_or(owner.step.to_string(), |last| format!("{}-{}", owner.step, last.step));
            let label = if many { format!("{}·{calls}", owner.rank) } else { owner.rank.to_string() };
            let on = if owner.step.is_multiple_of(2) { ink::on_rank(owner.rank) } else { DARK };
            (ink::of_rank(owner.rank), tint(owner.step), on, label)
        }
        (ranks, _) => (ink::SEVERAL, 1.0, DARK, format!("{ranks} ranks")),
    };
    sheet.add(block(x, y, width, 16.0, fill, opacity));
    if width > 6.0 * label.chars().count() as f64 {
        sheet.add(words(x + width / 2.0, y + 11.5, 9, "middle", on, label));
    }
    if cell.overlap {
        sheet.add(block(x, y + 12.5, width, 4.0, DARK, 1.0));
    }
}

/// Returns the opacity of the bytes of a call; it alternates from call to call.
fn tint(step: usize) -> f64 {
    if step.is_multiple_of(2) { 1.0 } else { 0.5 }
}

/// Draws the stripes of a part of the file, which the aggregators own round-robin.
fn bands(sheet: &mut Sheet, (start, end): (u64, u64), stripe: u64, aggregators: u64, scale: f64) {
    let greys = ["#afb8c1", "#d8dee4"];
    let mut at = start;
    while at < end {
        let aggregator = at / stripe % aggregators;
        let next = (at / stripe + 1).saturating_mul(stripe).min(end);
        let (x, width) = (LEFT + (at - start) as f64 * scale, (next - at) as f64 * scale);
        // One band for each stripe, as long as they are wide enough to be seen.
        if width > 1.5 {
            sheet.add(block(x, sheet.y + 17.0, width, 10.0, greys[(at / stripe % 2) as usize], 1.0));
        }
        if width > 16.0 {
            sheet.add(words(x + width / 2.0, sheet.y + 25.0, 8, "middle", DARK, format!("A{aggregator}")));
        }
        at = next;
    }
}

/// Draws the memory of some ranks, and its positions in the file.
fn memory(sheet: &mut Sheet, strip: &Strip, lanes: &[Lane], many: bool) {
    sheet.heading(match many {
        true => "Memory of the first ranks (above) and its positions in the file (below), in the first call",
        false => "Memory of the first ranks (above) and its positions in the file (below)",
    });
    let longest = lanes.iter().map(|lane| lane.span.1 - lane.span.0).max().unwrap_or(1);
    let (to_memory, to_file) = (RIGHT - LEFT, (RIGHT - LEFT) / (strip.to - strip.from) as f64);
    for lane in lanes {
        let (y, colour) = (sheet.y, ink::of_rank(lane.rank));
        sheet.add(words(LEFT - 8.0, y + 10.0, 10, "end", DARK, format!("rank {}", lane.rank)));
        let memory = to_memory / longest as f64;
        let span = (lane.span.1 - lane.span.0) as f64 * memory;
        sheet.add(block(LEFT, y, span, 12.0, NOBODY, 1.0));
        sheet.add(block(LEFT, y + 40.0, RIGHT - LEFT, 8.0, NOBODY, 1.0));
        for piece in &lane.pieces {
            let x = LEFT + (piece.memory - lane.span.0) as f64 * memory;
            let below = LEFT + (piece.offset - strip.from) as f64 * to_file;
            let (width, wide) = (piece.len as f64 * memory, piece.len as f64 * to_file);
            sheet.add(ribbon((x, x + width), (below, below + wide), (y + 12.0, y + 40.0), colour));
            sheet.add(block(x, y, width, 12.0, colour, 1.0));
            sheet.add(block(below, y + 40.0, wide, 8.0, colour, 1.0));
        }
        if lane.pieces.len() < lane.count {
            let more = format!("the first {} of {} pieces", lane.pieces.len(), grouped(lane.count as u64));
            sheet.add(words(RIGHT, y + 30.0, 9, "end", GREY, more));
        }
        sheet.y += 60.0;
    }
    sheet.y -= 12.0;
}

/// Draws the legend.
fn legend(sheet: &mut Sheet, pattern: &dyn Pattern, drawing: &Drawing, strip: &Strip) {
    sheet.y += 18.0;
    let mut x = 24.0;
    for rank in 0..pattern.ranks().min(8) {
        sheet.add(block(x, sheet.y, 14.0, 14.0, ink::of_rank(rank), 1.0));
        let label = format!("rank {rank}");
        sheet.add(words(x + 18.0, sheet.y + 11.0, 10, "start", DARK, label));
        x += 66.0;
    }
    if pattern.ranks() > 8 {
        let last = pattern.ranks() - 1;
        sheet.add(words(x, sheet.y + 11.0, 10, "start", DARK, format!("to {last}, colours repeat")));
        x += 120.0;
    }
    sheet.add(block(x, sheet.y, 14.0, 14.0, NOBODY, 1.0));
    sheet.add(words(x + 18.0, sheet.y + 11.0, 10, "start", DARK, "no rank (header, holes, gaps in memory)"));
    sheet.y += 30.0;
    let (stripe, aggregators) = (drawing.stripe.unwrap_or(strip.row()), drawing.aggregators());
    let mut notes =
        format!("A0, A1, ...: aggregators; stripes of {} bytes, round-robin over {aggregators}", grouped(stripe));
    if pattern.steps() > 1 {
        notes.push_str(&format!("; r·c: rank r in call c of {}, every second call paler", pattern.steps()));
    }
    let of_several = strip.cells.iter().filter(|cell| cell.ranks() > 1).count();
    if of_several > 0 {
        let all = strip.cells.len();
        notes.push_str(&format!(
            "; hatched: bytes of several ranks in a cell, here in {} of {} cells; a smaller part (--from, --bytes) has smaller cells",
            grouped(of_several as u64),
            grouped(all as u64)
        ));
    }
    if strip.cells.iter().any(|cell| cell.overlap) {
        notes.push_str("; a dark line below a cell: several ranks write it, and it keeps the bytes of the highest rank, whose colour it has");
    }
    sheet.notes(&notes);
}
