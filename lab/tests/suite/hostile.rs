//! Damaged machine files and tuned tables: nothing panics, and what is refused is refused in one line.

use crate::damage::{damage, damaged, one_line};
use proptest::prelude::*;
use tributary::collectives::Operation;
use tributary::tuned::{Entry, Table};
use tributary_lab::sim::Machine;

const MACHINE: &str = include_str!("../../machines/cori-knl.toml");

fn table() -> Table {
    let entry = |bytes, name: &str| Entry {
        operation: Operation::Broadcast,
        ranks: 16,
        bytes,
        groups: 4,
        inner: name.to_string(),
        outer: name.to_string(),
        segment: 1024,
        seconds: 1.25e-5,
        error: 0.025,
        repetitions: 12,
    };
    Table::new("threads", vec![entry(8, "binomial"), entry(1 << 20, "flat")])
}

/// What is damaged is good.
#[test]
fn whole_inputs_are_taken() {
    Machine::parse("machine", MACHINE).unwrap();
    Table::parse("table", table().text().as_bytes()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn machines(all in prop::collection::vec(damage(), 1..4)) {
        let bytes = damaged(MACHINE.as_bytes(), &all);
        one_line(Machine::parse("machine", &String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn tables(all in prop::collection::vec(damage(), 1..4)) {
        one_line(Table::parse("table", &damaged(table().text().as_bytes(), &all)));
    }
}
