//! Binary tree broadcast: member i passes the message to members 2 i + 1 and 2 i + 2.
//!
//! p - 1 messages of m bytes; a level takes two of them: 2 (log2(p + 1) - 1)(t_s + m t_w) for a full tree
//! (Hasanov, thesis, 2.3.1.2, equation 2.5).

use crate::collectives::in_place::{InPlace, Part, in_place, or_before};
use tributary::schedule::{Builder, OpId};

/// Binary tree broadcast (see the module).
pub static BINARY: InPlace = in_place!(Broadcast {
    name: "binary",
    about: "down a complete binary tree",
    source: "Hasanov, thesis, 2.3.1.2, equation 2.5",
    cost: "2 (log2(p + 1) - 1)(t_s + m t_w)",
    append: append,
    time: |rates, ranks, bytes, _| 2.0 * ((ranks + 1.0).log2() - 1.0) * rates.message(bytes),
});

fn append(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    let me = group.me();
    let arrived = if me > 0 { group.receive(builder, (me - 1) / 2, part.message, before) } else { None };
    let here = or_before(arrived.into_iter().collect(), before);
    for child in (2 * me + 1..=2 * me + 2).take_while(|&child| child < group.size()) {
        group.send(builder, child, part.message, &here);
    }
    here
}
