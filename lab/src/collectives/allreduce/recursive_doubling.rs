//! Recursive doubling allreduce: in step k, partners whose numbers differ in bit k exchange what they have and combine.
//!
//! log2 p steps of p messages of m bytes: log2 p (t_s + m t_w + m t_c) for a power of two (Hasanov, thesis, 2.3.2.2,
//! equation 2.18). For other numbers, the extra members send to a partner first and get the result at the end:
//! 2 (t_s + m t_w) + m t_c more than floor(log2 p) steps.

use crate::collectives::Group;
use crate::collectives::Rates;
use crate::collectives::fold::Fold;
use crate::collectives::in_place::{InPlace, Part, in_place, or_before};
use tributary::schedule::{Builder, OpId};

/// Recursive doubling allreduce (see the module).
pub static RECURSIVE_DOUBLING: InPlace = in_place!(Allreduce {
    name: "recursive_doubling",
    about: "partners at doubling distance exchange and combine",
    source: "Hasanov, thesis, 2.3.2.2, equation 2.18",
    cost: "log2 p (t_s + m t_w + m t_c); 2 (t_s + m t_w) + m t_c more if p is no power of two",
    append: append,
    time: time,
});

fn append(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = &part.group;
    let fold = Fold::new(group.size());
    let partner = fold.partner(group.me());
    let Some(cores) = fold.cores(group) else {
        let core = partner.unwrap_or_default();
        let given = or_before(group.send(builder, core, part.message, before).into_iter().collect(), before);
        let result = group.receive(builder, core, part.message, &given);
        return or_before(result.into_iter().collect(), &given);
    };
    let mut last = before.to_vec();
    if let Some(extra) = partner {
        let combined = part.receive_and_combine(builder, group, extra, (part.message, 0), (&last, &[]));
        last = or_before(combined.into_iter().collect(), &last);
    }
    last = doubling(part, &cores, builder, last);
    let result = partner.and_then(|extra| group.send(builder, extra, part.message, &last));
    or_before(result.into_iter().collect(), &last)
}

fn doubling(part: &Part<'_>, cores: &Group, builder: &mut Builder, mut last: Vec<OpId>) -> Vec<OpId> {
    for step in 0..cores.size().ilog2() {
        let partner = cores.me() ^ (1 << step);
        let sent: Vec<_> = cores.send(builder, partner, part.message, &last).into_iter().collect();
        let combined = part.receive_and_combine(builder, cores, partner, (part.message, 0), (&last, &sent));
        last = or_before(combined.into_iter().collect(), &last);
    }
    last
}

/// Returns the time in seconds by equation 2.18; for a number of ranks that is no power of two, as the module says.
fn time(rates: &Rates, ranks: f64, bytes: f64, _segments: f64) -> f64 {
    let steps = ranks.log2();
    let folded = if steps.fract() == 0.0 { 0.0 } else { rates.combined(bytes) + rates.message(bytes) };
    steps.floor() * rates.combined(bytes) + folded
}
