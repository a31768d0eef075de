//! Tables of the fastest collectives, in JSON.

use tributary::collectives::Operation;
use tributary::tuned::{Entry, Table};

use crate::one_line;

pub fn check(bytes: &[u8]) {
    let Some(table) = one_line(Table::parse("table", bytes)) else { return };
    let text = table.text();
    assert_eq!(Table::parse("again", text.as_bytes()).as_ref(), Ok(&table), "{text}");
    for entry in &table.entries {
        assert!((1..=entry.ranks).contains(&entry.groups) && entry.segment > 0 && entry.seconds >= 0.0);
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
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
    vec![Table::new("threads", vec![entry(8, "binomial"), entry(1 << 20, "flat")]).text().into_bytes()]
}
