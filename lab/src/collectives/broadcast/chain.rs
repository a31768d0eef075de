//! Chain broadcast: every rank passes the message to the next.
//!
//! p - 1 messages of m bytes one after the other: (p - 1)(t_s + m t_w) (Hasanov, thesis, 2.3.1.2, equation 2.3).

use crate::collectives::in_place::{InOrder, InPlace, Part, in_place, or_before};
use tributary::schedule::{Builder, OpId, Span};

/// Chain broadcast (see the module).
pub static CHAIN: InPlace = in_place!(Broadcast {
    name: "chain",
    about: "every rank passes the message to the next",
    source: "Hasanov, thesis, 2.3.1.2, equation 2.3",
    cost: "(p - 1)(t_s + m t_w)",
    append: append,
    time: |rates, ranks, bytes, _| (ranks - 1.0) * rates.message(bytes),
});

fn append(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    along(part, &[part.message], builder, before)
}

/// Sends the segments of the message along the chain of ranks, each segment as soon as it has arrived.
pub(super) fn along(part: &Part<'_>, segments: &[Span], builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    let me = group.me();
    let mut order = InOrder::new(before);
    let mut arrived = Vec::new();
    for &segment in segments {
        let here = if me > 0 { group.receive(builder, me - 1, segment, before) } else { None };
        if me + 1 < group.size() {
            let after = order.after(builder, here).to_vec();
            group.send(builder, me + 1, segment, &after);
        }
        arrived.extend(here);
    }
    if me + 1 < group.size() { order.last() } else { or_before(arrived, before) }
}
