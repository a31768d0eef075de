//! The validator of schedules finds every kind of fault.

use std::collections::BTreeSet;

use tributary::Rank;
use tributary::schedule::{Buffer, Builder, OpId, Progress, Schedule, SendMode, Span};
use tributary_testing::validate::{Delivery, Evidence, Violation, run, run_blocking};

fn swap(rank: Rank, send_first: bool) -> Schedule {
    let mut builder = Builder::default();
    let send = Span::new(Buffer::Send, 0, 4);
    let receive = Span::new(Buffer::Receive, 0, 4);
    if send_first {
        let first = builder.send(1 - rank, SendMode::Standard, send, &[]);
        builder.receive(1 - rank, receive, &[first]);
    } else {
        let first = builder.receive(1 - rank, receive, &[]);
        builder.send(1 - rank, SendMode::Standard, send, &[first]);
    }
    builder.finish()
}

fn deliver(from: Rank) -> Delivery {
    Delivery { from, from_offset: 0, to: 1 - from, to_offset: 0, len: 4 }
}

#[test]
fn two_ranks_that_both_send_first_deadlock() {
    let both = vec![swap(0, true), swap(1, true)];
    assert!(matches!(run(both, &[]), Err(Violation::Deadlock { rank: 0, .. })));
    let evidence = run(vec![swap(0, true), swap(1, false)], &[deliver(0), deliver(1)]).unwrap();
    assert_eq!(evidence, Evidence { messages: 2, peak_sends: 1, peak_receives: 1, blocked: 2, polled: 0 });
}

/// Rank 0 sends twice; rank 1 answers after the second message.
#[test]
fn blocking_on_the_wrong_message_deadlocks() {
    let bytes = |buffer, offset| Span::new(buffer, offset, 4);
    let both = || {
        let mut asks = Builder::default();
        asks.receive(1, bytes(Buffer::Receive, 0), &[]);
        let first = asks.send(1, SendMode::Standard, bytes(Buffer::Send, 0), &[]);
        asks.send(1, SendMode::Standard, bytes(Buffer::Send, 4), &[first]);
        let mut answers = Builder::default();
        let first = answers.receive(0, bytes(Buffer::Receive, 0), &[]);
        let second = answers.receive(0, bytes(Buffer::Receive, 4), &[first]);
        answers.send(0, SendMode::Standard, bytes(Buffer::Send, 0), &[second]);
        vec![asks.finish(), answers.finish()]
    };
    let wanted = [deliver(0), Delivery { from_offset: 4, to_offset: 4, ..deliver(0) }, deliver(1)];
    let evidence = run(both(), &wanted).unwrap();
    assert!(evidence.blocked > 0, "{evidence:?}");
    let first_in_flight = |_: &Progress, in_flight: &BTreeSet<OpId>| in_flight.first().copied();
    let deadlock = run_blocking(both(), &wanted, first_in_flight);
    assert!(matches!(deadlock, Err(Violation::Deadlock { rank: 0, .. })), "{deadlock:?}");
}

#[test]
fn missing_doubled_and_surplus_bytes_are_found() {
    let good = || vec![swap(0, true), swap(1, false)];
    assert!(matches!(run(good(), &[deliver(0)]), Err(Violation::Surplus { rank: 0, .. })));
    let shifted = Delivery { from_offset: 1, len: 3, ..deliver(0) };
    assert!(matches!(run(good(), &[shifted, deliver(1)]), Err(Violation::Missing(_))));
    let mut builder = Builder::default();
    let (from, to) = (Span::new(Buffer::Send, 0, 4), Span::new(Buffer::Receive, 2, 4));
    builder.copy(from, to, &[]);
    builder.copy(from, Span::new(Buffer::Receive, 5, 4), &[]);
    assert!(matches!(run(vec![builder.finish()], &[]), Err(Violation::Twice { offset: 5, .. })));
    let mut builder = Builder::default();
    builder.copy(Span::new(Buffer::Stage(0), 0, 1), to, &[]);
    assert!(matches!(run(vec![builder.finish()], &[]), Err(Violation::Unwritten { .. })));
}
