//! Makes the chart of the README from the short table of docs/performance.md: the write of each pattern, on one host
//! and on several.

use svg::Document;
use svg::node::element::{Circle, Line, Rectangle, Style, Text, Title};

use crate::generated;
use trib::picture::ink::at;

const PAGE: &str = "docs/performance.md";
const NAME: &str = "docs/performance.svg";
/// Titles of the table's columns, and their names in the chart.
const COLUMNS: [(&str, &str); 2] = [
    ("MPICH 4.0.2 (ch3:sock), 16 ranks, /dev/shm (tmpfs)", "16 ranks on one host"),
    ("MPICH 4.0.2 (ch3:sock), hosts of 4, 16 ranks, /dev/shm (tmpfs)", "the same on 4 emulated hosts"),
];
const LEFT: f64 = 160.0;
const RIGHT: f64 = 700.0;
const TOP: f64 = 72.0;
const LINE: f64 = 20.0;
/// Ratios at the ends of the axis, which is logarithmic.
const ENDS: (f64, f64) = (0.25, 8.0);
/// Style sheet of the chart, for light and dark pages.
const STYLE: &str = ".page{fill:#ffffff}text{font:13px Helvetica,Arial,sans-serif;fill:#1f2328}.grid{stroke:#d0d7de}.even{stroke:#57606a}\
    .first{fill:#0072b2}.second{fill:#d55e00}\
    @media(prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#e6edf3}.grid{stroke:#3d444d}.even{stroke:#9198a1}\
    .first{fill:#56b4e9}.second{fill:#ff9248}}";

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// Returns, by pattern, the time of the best hints divided by ours for the write, for each column that has it.
fn ratios(page: &str) -> Vec<(&str, [Option<f64>; COLUMNS.len()])> {
    let mut lines = page
        .lines()
        .skip_while(|line| !line.starts_with("| peer's time / ours"))
        .take_while(|line| line.starts_with('|'));
    let head = cells(lines.next().expect("the short table"));
    let places = COLUMNS.map(|(title, _)| head.iter().position(|cell| *cell == title).expect(title));
    let best = |cell: &str| cell.split(';').next()?.split(',').nth(1)?.trim().parse().ok();
    lines
        .skip(1)
        .map(cells)
        .take_while(|row| row[0] != "geometric mean")
        .map(|row| (row[0], places.map(|place| best(row[place]))))
        .filter(|(_, ratios)| ratios.iter().any(Option::is_some))
        .collect()
}

/// Returns the horizontal position of a ratio on the axis.
fn place(ratio: f64) -> f64 {
    assert!((ENDS.0..=ENDS.1).contains(&ratio), "a ratio of {ratio}; allowed: {ENDS:?}");
    LEFT + (RIGHT - LEFT) * (ratio / ENDS.0).ln() / (ENDS.1 / ENDS.0).ln()
}

fn words(x: f64, y: f64, anchor: &str, text: impl Into<String>) -> Text {
    Text::new(text.into()).set("x", at(x)).set("y", at(y)).set("text-anchor", anchor)
}

fn dot(x: f64, y: f64, column: usize) -> Circle {
    Circle::new().set("class", ["first", "second"][column]).set("cx", at(x)).set("cy", at(y)).set("r", 5)
}

fn chart(page: &str) -> String {
    let rows = ratios(page);
    let bottom = TOP + LINE * rows.len() as f64;
    let title = "Time of ROMIO with its best hints over that of Tributary, by pattern";
    let mut whole = Document::new().set("viewBox", format!("0 0 720 {}", at(bottom + 30.0)));
    whole = whole.add(Title::new(title)).add(Style::new(STYLE));
    whole = whole.add(Rectangle::new().set("class", "page").set("width", "100%").set("height", "100%"));
    for (column, (_, name)) in COLUMNS.iter().enumerate() {
        let x = LEFT + 230.0 * column as f64;
        whole = whole.add(dot(x, 16.0, column)).add(words(x + 12.0, 20.0, "start", *name));
    }
    whole =
        whole.add(words(LEFT, 44.0, "start", "ROMIO's time / ours: right of 1, Tributary is faster; left of 1, ROMIO"));
    for ratio in [0.25, 0.5, 1.0, 2.0, 4.0, 8.0] {
        let (x, class) = (place(ratio), if ratio == 1.0 { "even" } else { "grid" });
        let line = Line::new().set("x1", at(x)).set("x2", at(x)).set("y1", at(TOP - 8.0)).set("y2", at(bottom));
        whole = whole.add(line.set("class", class)).add(words(x, bottom + 20.0, "middle", ratio.to_string()));
    }
    for (row, (name, ratios)) in rows.iter().enumerate() {
        let y = TOP + LINE * (row as f64 + 0.5);
        whole = whole.add(words(LEFT - 12.0, y + 4.0, "end", *name));
        for (column, ratio) in ratios.iter().enumerate() {
            whole = ratio.iter().fold(whole, |whole, ratio| whole.add(dot(place(*ratio), y, column)));
        }
    }
    format!("{whole}\n")
}

#[test]
fn the_chart_is_current() {
    let page = std::fs::read_to_string(generated::at_root(PAGE)).unwrap();
    generated::assert_current(NAME, &chart(&page), "the short table of docs/performance.md");
}
