//! Target: files with the costs of messages on a machine, in JSON.

use tributary::exchange::cost::Costs;
use tributary::machine::{FIGURES, FileCosts, Known, Machine, parse};

use crate::one_line;

fn machine(costs: Costs) -> Machine {
    let between = "ranks of one node".to_string();
    Machine { fabric: "threads".to_string(), ranks: 16, nodes: 4, between, costs, built_in: vec!["walk_seconds"] }
}

pub fn check(bytes: &[u8]) {
    let Some(known) = one_line(parse("machine", bytes)) else { return };
    if let Some(files) = known.files {
        let text = files.text();
        assert_eq!(parse("again", text.as_bytes()), Ok(Known { messages: None, files: Some(files) }), "{text}");
    }
    let Some(mut costs) = known.messages else { return };
    let text = machine(costs).text();
    assert_eq!(parse("again", text.as_bytes()), Ok(Known { messages: Some(costs), files: None }), "{text}");
    for figure in FIGURES {
        assert!((0.0..f64::INFINITY).contains((figure.of)(&mut costs)), "{}", figure.name);
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let files = FileCosts { call_seconds: 5e-3, byte_seconds: 1e-8 };
    vec![machine(Costs::CLUSTER).text().into_bytes(), files.text().into_bytes()]
}
