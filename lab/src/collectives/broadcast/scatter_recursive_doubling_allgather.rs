//! Scatter-recursive-doubling-allgather broadcast: the message is scattered in blocks by a binomial tree and gathered
//! by exchanges at doubling distance.
//!
//! A block that a member has from the scatter is not sent to it again: fewer than p (log2 p + 1) messages, and (p - 1)
//! m bytes in all, which is the minimum. For messages of medium length. For a power of two: 2 log2 p t_s + 2 (p - 1)/p
//! m t_w (Hasanov, thesis, 2.3.1.2, equation 2.9). For other numbers, the extra members get the whole message from a
//! partner at the end: t_s + m t_w more than floor(log2 p) steps, which is within the thesis' 2 ceil(log2 p) steps.

use crate::collectives::Rates;
use crate::collectives::blocks::{Cut, SCATTERED, doubling_allgather, scatter};
use crate::collectives::fold::Fold;
use crate::collectives::in_place::{InPlace, Part, in_place, or_before};
use tributary::schedule::{Builder, OpId};

/// Scatter-recursive-doubling-allgather broadcast (see the module).
pub static SCATTER_RECURSIVE_DOUBLING_ALLGATHER: InPlace = in_place!(Broadcast {
    name: "scatter_recursive_doubling_allgather",
    about: "binomial scatter of blocks, then a recursive doubling allgather",
    source: "Hasanov, thesis, 2.3.1.2, equation 2.9",
    cost: "2 log2 p t_s + 2 (p - 1)/p m t_w; t_s + m t_w more if p is no power of two",
    append: append,
    time: time,
});

fn append(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    let fold = Fold::new(group.size());
    let partner = fold.partner(group.me());
    let Some(cores) = fold.cores(&group) else {
        let arrived = partner.and_then(|core| group.receive(builder, core, part.message, before));
        return or_before(arrived.into_iter().collect(), before);
    };
    let cut = Cut::new(part.message, cores.size());
    let scattered = scatter(&cores, &cut, builder, before);
    let here = doubling_allgather(&cores, &cut, SCATTERED, builder, &scattered);
    if let Some(extra) = partner {
        group.send(builder, extra, part.message, &here);
    }
    here
}

/// Returns the time in seconds by equation 2.9; for a number of ranks that is no power of two, as the module says.
fn time(rates: &Rates, ranks: f64, bytes: f64, _segments: f64) -> f64 {
    let steps = ranks.log2().floor();
    let cores = steps.exp2();
    let folded = if cores < ranks { rates.message(bytes) } else { 0.0 };
    2.0 * (steps * rates.startup + (cores - 1.0) / cores * bytes * rates.byte) + folded
}
