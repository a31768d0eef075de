//! Tests damaged machine files: nothing panics, and every error is one line.

use proptest::prelude::*;
use tributary_lab::sim::Machine;
use tributary_testing::damage::{damage, damaged, one_line};

const MACHINE: &str = include_str!("../../machines/cori-knl.toml");

/// Checks that the undamaged inputs are accepted.
#[test]
fn whole_inputs_are_taken() {
    Machine::parse("machine", MACHINE).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn machines(all in prop::collection::vec(damage(), 1..4)) {
        let bytes = damaged(MACHINE.as_bytes(), &all);
        one_line(Machine::parse("machine", &String::from_utf8_lossy(&bytes)));
    }
}
