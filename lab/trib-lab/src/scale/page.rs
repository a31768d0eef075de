//! The table and the pictures of `lab/docs/scale.md`, from rows that `trib-lab scale --json` printed.

use std::collections::BTreeMap;

use serde_json::Value;
use trib::numbers::grouped;
use tributary_lab::papers::{CurveAxis, Drawing};

use crate::generated;
use crate::reproduce::plot::draw;

const ROWS: &str = "benchmarks/results/scale.jsonl";
const PAGE: &str = "lab/docs/scale.md";
/// Beginning of the table's first line.
const HEAD: &str = "| machine, program |";
/// Machines, and the titles of their pictures.
const MACHINES: [(&str, &str); 2] = [
    ("cori-knl", "A collective write on Cori, 64 ranks of a node, by program"),
    ("hosts-lab", "A collective write on hosts with links and files of 25 MB/s, by program"),
];

fn rows() -> Vec<Value> {
    let text = std::fs::read_to_string(generated::at_root(ROWS)).unwrap();
    text.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn table(rows: &[Value]) -> String {
    let mut text = format!(
        "{HEAD} ranks | path | aggregators | windows | write, s | of the floor | open, s | messages | MB between hosts | KB a rank |\n\
         |---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
    );
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap();
        let report = &row["reports"][0];
        text += &format!(
            "| {}, {} | {} | {} | {} | {} | {:.4} | {:.2} | {:.4} | {} | {} | {} |\n",
            row["machine"].as_str().unwrap(),
            row["program"].as_str().unwrap(),
            grouped(row["ranks"].as_u64().unwrap()),
            report["path"].as_str().unwrap(),
            report["aggregators"],
            report["rounds"],
            number("calls"),
            number("of_the_floor"),
            number("open"),
            grouped(row["messages"].as_u64().unwrap()),
            grouped(row["between_hosts"].as_u64().unwrap() / 1_000_000),
            grouped(row["memory_of_a_rank"].as_u64().unwrap() / 1_000),
        );
    }
    text
}

#[test]
fn the_table_is_current() {
    let page = std::fs::read_to_string(generated::at_root(PAGE)).unwrap();
    let (before, rest) = page.split_once(HEAD).expect("a table");
    let after = rest.find("\n\n").map_or("", |end| &rest[end + 1..]);
    generated::assert_current(PAGE, &format!("{before}{}{after}", table(&rows())), ROWS);
}

#[test]
fn the_pictures_are_current() {
    for (machine, title) in MACHINES {
        let mut curves: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        for row in rows().iter().filter(|row| row["machine"] == machine) {
            let point = (row["ranks"].as_f64().unwrap(), row["calls"].as_f64().unwrap());
            curves.entry(row["program"].as_str().unwrap().to_string()).or_default().push(point);
        }
        let (x, y) = (CurveAxis::log("ranks"), CurveAxis::log("seconds of the write"));
        let drawing = Drawing::Curves { x, y, curves: curves.into_iter().collect() };
        let picture = draw(title, &drawing).unwrap() + "\n";
        generated::assert_current(&format!("lab/docs/scale-{machine}.svg"), &picture, ROWS);
    }
}
