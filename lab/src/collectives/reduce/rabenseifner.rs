//! Rabenseifner's reduction: every rank combines one block of all ranks' words, and the root gathers the blocks.
//!
//! Reduce-scatter by recursive halving, gather by a binomial tree. For long messages.
//!
//! For a power of two it takes 2 log2 p t_s + 2 (p - 1)/p m t_w + (p - 1)/p m t_c (Hasanov, thesis, 2.3.2.1, equation
//! 2.16), in p log2 p + p - 1 messages, (p - 1) m and log2 p m/2 bytes in all. For other numbers of ranks, each of the
//! first pairs combines first, half of the words on either rank, and the odd rank sends its half: 2 t_s + m t_w + m/2
//! t_c more than for the next lower power of two, 3 messages a pair.

use crate::collectives::Group;
use crate::collectives::Rates;
use crate::collectives::blocks::{Cut, gather, halving_reduce_scatter};
use crate::collectives::fold::Fold;
use crate::collectives::in_place::{InPlace, Part, in_place, or_before};
use tributary::schedule::{Builder, OpId};

/// Rabenseifner's reduction (see the module).
pub static RABENSEIFNER: InPlace = in_place!(Reduce {
    name: "rabenseifner",
    about: "recursive halving reduce-scatter, then a binomial gather",
    source: "Hasanov, thesis, 2.3.2.1, equation 2.16",
    cost: "2 log2 p t_s + 2 (p - 1)/p m t_w + (p - 1)/p m t_c; 2 t_s + m t_w + m/2 t_c more off powers of two",
    append: append,
    time: time,
});

fn append(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    let halved = fold_halves(part, &group, builder, before);
    let Some(cores) = Fold::new(group.size()).cores(&group) else { return halved };
    let cut = Cut::new(part.message, cores.size());
    let scattered = halving_reduce_scatter(part, &cores, &cut, builder, &halved);
    gather(&cores, &cut, builder, &scattered)
}

/// Combines the words of every pair of the fold on the pair's even member: each member combines half, and the odd
/// member sends its half.
pub(in crate::collectives) fn fold_halves(
    part: &Part<'_>,
    group: &Group,
    builder: &mut Builder,
    before: &[OpId],
) -> Vec<OpId> {
    let me = group.me();
    let Some(partner) = Fold::new(group.size()).partner(me) else { return before.to_vec() };
    let cut = Cut::new(part.message, 2);
    let halves = [cut.span(0, 1), cut.span(1, 2)];
    let (kept, given) = (halves[me % 2], halves[1 - me % 2]);
    let sent = group.send(builder, partner, given, before);
    let combined = part.receive_and_combine(builder, group, partner, (kept, 0), (before, &[]));
    let moved = if me % 2 == 1 {
        group.send(builder, partner, kept, &or_before(combined.into_iter().collect(), before))
    } else {
        group.receive(builder, partner, given, &or_before(sent.into_iter().collect(), before))
    };
    or_before([sent, combined, moved].into_iter().flatten().collect(), before)
}

/// Returns the time in seconds by equation 2.16; for a number of ranks that is no power of two, as the module says.
fn time(rates: &Rates, ranks: f64, bytes: f64, _segments: f64) -> f64 {
    let steps = ranks.log2().floor();
    let cores = steps.exp2();
    let moved = (cores - 1.0) / cores * bytes;
    let folded = if cores < ranks { rates.combined(bytes / 2.0) + rates.message(bytes / 2.0) } else { 0.0 };
    2.0 * (steps * rates.startup + moved * rates.byte) + moved * rates.combine + folded
}
