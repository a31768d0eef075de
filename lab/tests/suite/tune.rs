//! Collectives measured on threads.

use std::pin::pin;

use crate::watchdog::Watchdog;
use tributary::Endpoint;
use tributary::fabric::threads;
use tributary::tuned::candidate::OPERATIONS;
use tributary::tuned::{Entry, Table};
use tributary_lab::tune::{Plan, Rule, best, tune};

/// All ranks measure alike, and what is best of it is a table that is read back.
#[test]
fn what_is_measured_becomes_a_table() {
    let _watchdog = Watchdog::new("what_is_measured_becomes_a_table", 120);
    let rule = Rule { least: 2, most: 3, ..Rule::default() };
    let plan = Plan { operations: OPERATIONS.to_vec(), sizes: vec![8, 4096], quick: true, rule };
    let all = threads::run(4, |transport| {
        let mut endpoint = Endpoint::new(transport);
        let waiting = endpoint.waiting().clone();
        let mut heard = Vec::new();
        let measured = waiting.wait(pin!(tune(&mut endpoint, &plan, |done, of, _| heard.push((done, of)))));
        (measured.unwrap(), heard)
    })
    .unwrap();
    assert!(all.iter().all(|(measured, _)| *measured == all[0].0));
    let (measured, heard) = &all[0];
    assert!(heard.iter().copied().eq((0..=measured.len()).map(|done| (done, measured.len()))));
    assert!(measured.iter().all(|entry| (2..=3).contains(&entry.repetitions) && entry.seconds > 0.0));
    let entries = best(measured);
    assert_eq!(entries.len(), 5 * 2);
    for entry in &entries {
        let same = |other: &&Entry| (other.operation, other.bytes) == (entry.operation, entry.bytes);
        assert!(measured.iter().filter(same).all(|other| other.seconds >= entry.seconds));
    }
    let table = Table::new("threads", entries);
    assert_eq!(Table::parse("t", table.text().as_bytes()).unwrap().entries.len(), 10);
}
