//! Binomial reduction.
//!
//! Ranks are counted from the root. In step k, a rank with bit k set sends its partial result to the rank without that
//! bit, which combines, and is finished. Every step has its own receive buffer, so messages may arrive in any order.
//!
//! Cost: `p - 1` messages of m bytes in ceil(log2 p) steps; time ceil(log2 p)(t_s + m t_w + m t_c) (Hasanov, thesis, 2.3.2.1, equation
//! 2.15).

use crate::collectives::blocks::{children, lowest_bit};
use crate::collectives::in_place::{InPlace, Part, in_place, or_before};
use tributary::schedule::{Builder, OpId};

/// Binomial reduction (see the module).
pub static BINOMIAL: InPlace = in_place!(Reduce {
    name: "binomial",
    about: "up a binomial tree, the nearest first",
    source: "Hasanov, thesis, 2.3.2.1, equation 2.15",
    cost: "ceil(log2 p)(t_s + m t_w + m t_c)",
    append: reduce,
    time: |rates, ranks, bytes, _| ranks.log2().ceil() * rates.combined(bytes),
});

/// Adds a reduction to a schedule: in step k, a rank with bit k set sends its partial result to the rank without that
/// bit, which combines the two; the sender is then finished. Every step has its own receive buffer, so messages may
/// arrive in any order. p - 1 messages of m bytes: ceil(log2 p)(t_s + m t_w + m t_c).
fn reduce(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    let (me, size) = (group.me(), group.size());
    let mut last = before.to_vec();
    for (step, child) in children(me, size).enumerate() {
        let place = step as u64 * part.message.len;
        let combined = part.receive_and_combine(builder, &group, child, (part.message, place), (before, &last));
        last = or_before(combined.into_iter().collect(), &last);
    }
    let parent = me.checked_sub(lowest_bit(me, size));
    let sent = parent.and_then(|parent| group.send(builder, parent, part.message, &last));
    or_before(sent.into_iter().collect(), &last)
}
