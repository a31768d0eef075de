//! Makes the chart of the README from the ratios of real programs in `benchmarks/results/`: on one host, on several, and on
//! several with slow links and files.

use svg::Document;
use svg::node::element::{Circle, Line, Rectangle, Style, Text, Title};

use crate::generated;
use trib::picture::ink::at;

const NAME: &str = "docs/performance.svg";
/// Files of measurements, and the names of their series.
const SERIES: [(&str, &str); 3] = [
    ("benchmarks/results/programs-1-host.tsv", "16 ranks on one host"),
    ("benchmarks/results/programs-4-hosts.tsv", "4 emulated hosts"),
    ("benchmarks/results/programs-network-and-file.tsv", "the same with slow links and files"),
];
/// Classes of the series in the style sheet.
const CLASSES: [&str; SERIES.len()] = ["first", "second", "third"];
const LEFT: f64 = 260.0;
const RIGHT: f64 = 700.0;
const TOP: f64 = 72.0;
const LINE: f64 = 20.0;
/// Ratios at the ends of the axis, which is logarithmic.
const ENDS: (f64, f64) = (0.5, 8.0);
/// Style sheet of the chart, for light and dark pages.
const STYLE: &str = ".page{fill:#ffffff}text{font:13px Helvetica,Arial,sans-serif;fill:#1f2328}.grid{stroke:#d0d7de}.even{stroke:#57606a}\
    .first{fill:#0072b2}.second{fill:#d55e00}.third{fill:#009e73}\
    @media(prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#e6edf3}.grid{stroke:#3d444d}.even{stroke:#9198a1}\
    .first{fill:#56b4e9}.second{fill:#ff9248}.third{fill:#2fc79a}}";

/// Returns by program the time of ROMIO's best hints over that of Tributary, in the order of the file.
fn ratios(table: &str) -> Vec<(&str, f64)> {
    let mut lines =
        table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let place = head.iter().position(|name| *name == "best_over_ours").expect("a column best_over_ours");
    lines.map(|cells| (cells[0], cells[place].parse().expect("a ratio"))).collect()
}

/// Returns the horizontal position of a ratio on the axis.
fn place(ratio: f64) -> f64 {
    assert!((ENDS.0..=ENDS.1).contains(&ratio), "a ratio of {ratio}; allowed: {ENDS:?}");
    LEFT + (RIGHT - LEFT) * (ratio / ENDS.0).ln() / (ENDS.1 / ENDS.0).ln()
}

fn words(x: f64, y: f64, anchor: &str, text: impl Into<String>) -> Text {
    Text::new(text.into()).set("x", at(x)).set("y", at(y)).set("text-anchor", anchor)
}

fn dot(x: f64, y: f64, series: usize) -> Circle {
    Circle::new().set("class", CLASSES[series]).set("cx", at(x)).set("cy", at(y)).set("r", 5)
}

/// Draws a row for each program of the first table, and a dot for each table.
fn chart(tables: &[String; SERIES.len()]) -> String {
    let rows = tables.each_ref().map(|table| ratios(table));
    let bottom = TOP + LINE * rows[0].len() as f64;
    let title = "Time of ROMIO with its best hints over that of Tributary, by program";
    let mut whole = Document::new().set("viewBox", format!("0 0 720 {}", at(bottom + 30.0)));
    whole = whole.add(Title::new(title)).add(Style::new(STYLE));
    whole = whole.add(Rectangle::new().set("class", "page").set("width", "100%").set("height", "100%"));
    for (series, (_, name)) in SERIES.iter().enumerate() {
        let x = 60.0 + 190.0 * series as f64;
        whole = whole.add(dot(x, 16.0, series)).add(words(x + 12.0, 20.0, "start", *name));
    }
    whole =
        whole.add(words(LEFT, 44.0, "start", "ROMIO's time / ours: right of 1, Tributary is faster; left of 1, ROMIO"));
    for ratio in [0.5, 1.0, 2.0, 4.0, 8.0] {
        let (x, class) = (place(ratio), if ratio == 1.0 { "even" } else { "grid" });
        let line = Line::new().set("x1", at(x)).set("x2", at(x)).set("y1", at(TOP - 8.0)).set("y2", at(bottom));
        whole = whole.add(line.set("class", class)).add(words(x, bottom + 20.0, "middle", ratio.to_string()));
    }
    for (row, (name, _)) in rows[0].iter().enumerate() {
        let y = TOP + LINE * (row as f64 + 0.5);
        whole = whole.add(words(LEFT - 12.0, y + 4.0, "end", *name));
        for (series, rows) in rows.iter().enumerate() {
            let found = rows.iter().find(|(other, _)| other == name);
            whole = found.iter().fold(whole, |whole, (_, ratio)| whole.add(dot(place(*ratio), y, series)));
        }
    }
    format!("{whole}\n")
}

#[test]
fn the_chart_is_current() {
    let tables = SERIES.map(|(file, _)| std::fs::read_to_string(generated::at_root(file)).unwrap());
    generated::assert_current(NAME, &chart(&tables), &SERIES.map(|(file, _)| file).join(", "));
}
