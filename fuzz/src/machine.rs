//! Target: files with the costs of messages on a machine, in JSON.

use tributary::exchange::cost::Costs;
use tributary::machine::{FIGURES, Machine, parse};

use crate::one_line;

fn machine(costs: Costs) -> Machine {
    let between = "ranks of one node".to_string();
    Machine { fabric: "threads".to_string(), ranks: 16, nodes: 4, between, costs, built_in: vec!["walk_seconds"] }
}

pub fn check(bytes: &[u8]) {
    let Some(mut costs) = one_line(parse("machine", bytes)) else { return };
    let text = machine(costs).text();
    assert_eq!(parse("again", text.as_bytes()), Ok(costs), "{text}");
    for figure in FIGURES {
        assert!((0.0..f64::INFINITY).contains((figure.of)(&mut costs)), "{}", figure.name);
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    vec![machine(Costs::CLUSTER).text().into_bytes()]
}
