//! Hints of the user that cost time, with the expected time without each.

use tributary::drivers::USUAL_WINDOW;

use super::account::{Account, Changed};
use super::advice::Advice;
use super::estimate::Amount;
use super::file_speed::FileSpeed;
use super::kinds::Kind;
use super::sentences::NOTABLE;
use crate::numbers::{brief as time, counted};

/// Name of the rules in [`Advice::about`].
pub const ABOUT: &str = "costly_hint";
/// A hint costs if the calls would take less than this share of their time without it.
const COSTS: f64 = 0.8;
/// Seconds in which a host finds and copies a piece of a rank.
const PIECE: f64 = 20e-9;
/// Minimum number of rounds of a call for advice about the size of its windows.
const ROUNDS: u64 = 4;

/// Returns advice about each hint that was given and costs time.
pub fn advice(account: &Account) -> Vec<Advice> {
    let given = |key: &str| account.hints.iter().find(|hint| hint.key == key && hint.is_given());
    let costs = |hint: &Changed, how: &str, kinds: &[&Kind], expected: f64| {
        let (calls, took) = (kinds.iter().map(|kind| kind.count as u64).sum(), seconds(kinds));
        (expected < COSTS * took && took - expected >= NOTABLE).then(|| {
            let Changed { key, value, source, .. } = hint;
            let source = source.as_deref().unwrap_or_default();
            let says = format!(
                "{key}={value} of {source} costs: {how}. Without it {} would take about {} instead of {} (an estimate).",
                counted(calls, "call"),
                time(expected),
                time(took)
            );
            Advice { about: ABOUT, call: None, says }
        })
    };
    let mut advice = Vec::new();
    if let Some(hint) = given("trib_shared_memory").filter(|hint| hint.value == "disable")
        && account.ranks > account.nodes
    {
        let kinds = of_path(account, "exchange");
        let how = "ranks of one host send each other messages";
        advice.extend(costs(hint, how, &kinds, in_memory(account, &kinds)));
    }
    if let Some(hint) = given("cb_buffer_size") {
        let is_small = account.in_force.cb_buffer_size.is_some_and(|size| size < USUAL_WINDOW);
        let kinds: Vec<&Kind> = account.kinds.iter().filter(|kind| is_small && kind.rounds >= ROUNDS).collect();
        let most = kinds.iter().map(|kind| kind.rounds).max().unwrap_or(0);
        let how = format!("a call takes up to {}", counted(most, "round"));
        advice.extend(costs(hint, &how, &kinds, in_usual_windows(account, &kinds)));
    }
    if let Some(hint) = given("cb_nodes") {
        let few = |kind: &&Kind| (1..account.nodes).contains(&kind.aggregators) && is_limited_by_exchange(kind);
        let kinds: Vec<&Kind> = of_path(account, "exchange").into_iter().filter(few).collect();
        let of_hosts = |kind: &Kind| kind.aggregators as f64 / account.nodes as f64;
        let expected = kinds.iter().map(|kind| kind.seconds.total * of_hosts(kind)).sum();
        let how = "fewer hosts than there are exchange the data";
        advice.extend(costs(hint, how, &kinds, expected));
    }
    for (key, direction) in [("romio_cb_write", "write"), ("romio_cb_read", "read")] {
        let Some(hint) = given(key).filter(|hint| hint.value == "disable") else { continue };
        let all = of_path(account, "direct");
        let kinds: Vec<&Kind> = all.into_iter().filter(|kind| kind.direction == direction).collect();
        let how = "each piece is a call on the file of its own";
        advice.extend(costs(hint, how, &kinds, in_memory(account, &kinds)));
    }
    advice
}

fn of_path<'a>(account: &'a Account, path: &str) -> Vec<&'a Kind> {
    account.kinds.iter().filter(|kind| kind.path == path && kind.bytes > 0).collect()
}

fn seconds(kinds: &[&Kind]) -> f64 {
    kinds.iter().map(|kind| kind.seconds.total).sum()
}

fn bytes(kinds: &[&Kind]) -> u64 {
    kinds.iter().map(|kind| kind.bytes * kind.count as u64).sum()
}

fn is_limited_by_exchange(kind: &Kind) -> bool {
    let exchange = kind.seconds.data + kind.seconds.placement;
    exchange > kind.seconds.io && exchange > 0.5 * kind.seconds.total
}

/// Returns the expected seconds of calls through the memory of hosts, or through aggregators between hosts.
fn in_memory(account: &Account, kinds: &[&Kind]) -> f64 {
    let calls: usize = kinds.iter().map(|kind| kind.count).sum();
    let calls = (calls * account.ranks) as u64;
    account.estimate(Amount { calls, bytes: bytes(kinds), seconds: seconds(kinds) }).each_seconds
        + of_pieces(account, kinds)
}

fn of_pieces(account: &Account, kinds: &[&Kind]) -> f64 {
    let pieces: u64 = kinds.iter().map(|kind| kind.requests * kind.count as u64).sum();
    PIECE * pieces as f64 / account.nodes.max(1) as f64
}

/// Returns the expected seconds of calls with windows of the usual size: the time of their bytes, and that of fewer rounds.
fn in_usual_windows(account: &Account, kinds: &[&Kind]) -> f64 {
    let usual = FileSpeed::usual(&account.driver);
    let expected = |kind: &&Kind| {
        let rounds = kind.rounds as f64;
        let file = usual.byte_seconds * (kind.bytes * kind.count as u64) as f64 / account.nodes.max(1) as f64;
        let of_rounds = (kind.seconds.total - file).max(0.0);
        let window = account.in_force.cb_buffer_size.unwrap_or(USUAL_WINDOW);
        let fewer = (rounds * window as f64 / USUAL_WINDOW as f64).ceil();
        file.min(kind.seconds.total) + of_rounds * (fewer / rounds)
    };
    kinds.iter().map(expected).sum::<f64>() + of_pieces(account, kinds)
}
