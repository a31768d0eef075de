//! Rabenseifner's allreduce: every rank combines one block of all ranks' words, and all gather the blocks.
//!
//! Reduce-scatter by recursive halving, allgather by recursive doubling. For long messages.
//!
//! For a power of two it takes 2 log2 p t_s + 2 (p - 1)/p m t_w + (p - 1)/p m t_c (Hasanov, thesis, 2.3.2.2, equation
//! 2.19), in 2 p log2 p messages and 2 (p - 1) m bytes in all. For other numbers of ranks, pairs are folded as in the
//! reduction, and the odd ranks get the result at the end: 3 t_s + 2 m t_w + m/2 t_c more than for the next lower power
//! of two.

use crate::collectives::Rates;
use crate::collectives::blocks::{Cut, OWN, doubling_allgather, halving_reduce_scatter};
use crate::collectives::fold::Fold;
use crate::collectives::in_place::{InPlace, Part, in_place, or_before};
use crate::collectives::reduce;
use tributary::schedule::{Builder, OpId};

/// Rabenseifner's allreduce (see the module).
pub static RABENSEIFNER: InPlace = in_place!(Allreduce {
    name: "rabenseifner",
    about: "recursive halving reduce-scatter, then a recursive doubling allgather",
    source: "Hasanov, thesis, 2.3.2.2, equation 2.19",
    cost: "2 log2 p t_s + 2 (p - 1)/p m t_w + (p - 1)/p m t_c; 3 t_s + 2 m t_w + m/2 t_c more off powers of two",
    append: append,
    time: time,
});

fn append(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = &part.group;
    let fold = Fold::new(group.size());
    let partner = fold.partner(group.me());
    let halved = reduce::fold_halves(part, group, builder, before);
    let Some(cores) = fold.cores(group) else {
        let result = partner.and_then(|core| group.receive(builder, core, part.message, &halved));
        return or_before(result.into_iter().collect(), &halved);
    };
    let cut = Cut::new(part.message, cores.size());
    let scattered = halving_reduce_scatter(part, &cores, &cut, builder, &halved);
    let here = doubling_allgather(&cores, &cut, OWN, builder, &scattered);
    let result = partner.and_then(|extra| group.send(builder, extra, part.message, &here));
    or_before(result.into_iter().collect(), &here)
}

/// Returns the time in seconds by equation 2.19; for a number of ranks that is no power of two, as the module says.
fn time(rates: &Rates, ranks: f64, bytes: f64, segments: f64) -> f64 {
    let unfold = if ranks.log2().fract() == 0.0 { 0.0 } else { rates.message(bytes) };
    (reduce::RABENSEIFNER.time)(rates, ranks, bytes, segments) + unfold
}
