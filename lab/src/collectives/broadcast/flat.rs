//! Flat tree broadcast: the root sends the message to one rank after the other.
//!
//! p - 1 messages of m bytes, all through the root's port: (p - 1)(t_s + m t_w) (Hasanov, thesis, 2.3.1.2, equation
//! 2.2).

use crate::collectives::in_place::{InPlace, Part, in_place, or_before};
use tributary::schedule::{Builder, OpId};

/// Flat tree broadcast (see the module).
pub static FLAT: InPlace = in_place!(Broadcast {
    name: "flat",
    about: "the root sends the message to one rank after the other",
    source: "Hasanov, thesis, 2.3.1.2, equation 2.2",
    cost: "(p - 1)(t_s + m t_w)",
    append: append,
    time: |rates, ranks, bytes, _| (ranks - 1.0) * rates.message(bytes),
});

fn append(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    if group.me() > 0 {
        let arrived = group.receive(builder, 0, part.message, before);
        return or_before(arrived.into_iter().collect(), before);
    }
    for member in 1..group.size() {
        group.send(builder, member, part.message, before);
    }
    before.to_vec()
}
