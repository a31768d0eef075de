//! Root gathering, as MPI libraries do it: a root in each group gathers, the roots exchange, and each broadcasts in its
//! group.
//!
//! Kang et al. 2019 (see `allgather`), section 3.1, describe MPICH's: the gathers of both groups run in parallel; then
//! A's full message goes to B's root and is broadcast there; then B's full message goes to A's root and is broadcast.
//! Gathers are binomial if all blocks of a group are equal, otherwise linear; broadcasts are a scatter and a ring
//! allgather, a factor of two above the best.
//!
//! Transfer time max((p - 1) k_A, (q - 1) k_B) t_w, and about 3 (p k_A + q k_B) t_w: equation 2. The paper's startups
//! are logarithmic; this ring has p + q. At most p + q + p^2 + q^2 messages. The roots keep a copy of their group's
//! message. It is the baseline of the other algorithms and not meant for use.

use super::Pair;
use super::exchange::Side;
use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::collectives::blocks::{below, children, lowest_bit};
use crate::collectives::broadcast::SCATTER_RING_ALLGATHER;
use crate::collectives::in_place::{Part, WordOps, finished_broadcast};
use tributary::schedule::{Action, Buffer, Builder, OpId, Schedule, SendMode, Span, Throttle};

/// Buffer for the gathered blocks of the rank's own group.
const GATHERED: Buffer = Buffer::Stage(0);
/// Maximum number of receives that a root has outstanding.
const OUTSTANDING: u32 = 32;

/// Intergroup allgather by root gathering, the baseline (see the module).
pub static ROOT_GATHERING: Algorithm = Algorithm {
    operation: Operation::IntergroupAllgather,
    name: "root_gathering",
    about: "gather to one root a group, exchange between the roots, broadcast in both groups: the baseline",
    source: "Kang et al. 2019, section 3.1, equation 2",
    cost: "(p + q + 2 ceil(log2 p) + ceil(log2 q)) t_s + (max(p k_A, q k_B) + 3 p k_A + 3 q k_B) t_w for p >= q",
    irregular: true,
    schedule,
};

fn schedule(problem: &Problem<'_>) -> Schedule {
    let Some(side) = Side::of(problem) else { return Schedule::default() };
    let mut builder = Builder::default();
    let mut here = gather(&side, &mut builder);
    let (is_root, root) = (side.group.me() == 0, side.other[0]);
    let gives_first = problem.groups.is_some_and(|groups| groups.b()[0] == root);
    let gathered = Span::new(GATHERED, 0, side.own.total());
    if is_root && gives_first && gathered.len > 0 {
        here = vec![builder.send(root, SendMode::Standard, gathered, &here)];
    }
    if is_root && side.received().len > 0 {
        here.push(builder.receive(root, side.received(), &here));
    }
    let message = side.received();
    let words = WordOps::All(problem.with);
    let part = Part { group: side.group.clone(), root: 0, message, words, segment: problem.segment };
    let here = finished_broadcast(&SCATTER_RING_ALLGATHER, &part, &mut builder, &here);
    if is_root && !gives_first && gathered.len > 0 {
        builder.send(root, SendMode::Standard, gathered, &here);
    }
    builder.finish()
}

/// Gathers the blocks of the own group at the group's first rank. Returns the operations after which the blocks are
/// there and sent on.
fn gather(side: &Side<'_>, builder: &mut Builder) -> Vec<OpId> {
    let tree = Tree::of(side);
    let me = side.group.me();
    let run = |from: usize| {
        let at = side.own.begin(from) - side.own.begin(me);
        Span::new(GATHERED, at, side.own.begin(tree.end(from)) - side.own.begin(from))
    };
    let chain: Vec<_> = (tree.children(me).into_iter())
        .map(|child| (Action::Receive { from: side.group.rank_of(child) }, run(child)))
        .filter(|(_, span)| span.len > 0)
        .collect();
    let own = Span::new(Buffer::Send, 0, side.own.bytes(me, 1));
    let passes = me == 0 || !chain.is_empty();
    let mut here = Vec::new();
    if passes && own.len > 0 {
        here.push(builder.copy(own, Span { buffer: GATHERED, ..own }, &[]));
    }
    here.extend(builder.chain(&chain, Throttle::sliding(OUTSTANDING), &[]));
    let all = if passes { run(me) } else { own };
    let sent = tree.parent(me).and_then(|parent| side.group.send(builder, parent, all, &here));
    here.extend(sent);
    here
}

/// Tree of a gather to member 0. Each member gathers a range of neighbours.
struct Tree {
    size: usize,
    is_binomial: bool,
}

impl Tree {
    fn of(side: &Side<'_>) -> Self {
        let size = side.group.size();
        let is_binomial = (1..size).all(|member| side.own.bytes(member, 1) == side.own.bytes(0, 1));
        Self { size, is_binomial }
    }

    fn children(&self, me: usize) -> Vec<usize> {
        match me {
            _ if self.is_binomial => children(me, self.size).collect(),
            0 => (1..self.size).collect(),
            _ => Vec::new(),
        }
    }

    fn parent(&self, me: usize) -> Option<usize> {
        if self.is_binomial { me.checked_sub(lowest_bit(me, self.size)) } else { (me > 0).then_some(0) }
    }

    /// Returns the end of the range `me..end` of members whose blocks member `me` gathers.
    fn end(&self, me: usize) -> usize {
        match me {
            _ if self.is_binomial => below(me, self.size),
            0 => self.size,
            _ => me + 1,
        }
    }
}

/// Returns the time of root gathering for equal blocks as implemented here: equation 2, stage by stage, with this
/// ring's startups. Exact in the one-port model for powers of two whose messages are multiples of 8 p and 8 q bytes.
pub fn time(rates: &Rates, pair: &Pair) -> f64 {
    let Pair { p, q, k_a, k_b } = *pair;
    let gather = |ranks: f64, block: f64| ranks.log2().ceil() * rates.startup + (ranks - 1.0) * block * rates.byte;
    let pass = |to: f64, message: f64| rates.message(message) + (SCATTER_RING_ALLGATHER.time)(rates, to, message, 1.0);
    gather(p, k_a).max(gather(q, k_b)) + pass(q, p * k_a) + pass(p, q * k_b)
}

/// Returns the improvement over root gathering that an algorithm of optimal transfer time M has for many ranks:
/// equation 5, (M + 3 p k_A + 3 q k_B) / M.
pub fn improvement(pair: &Pair) -> f64 {
    let (a, b) = (pair.p * pair.k_a, pair.q * pair.k_b);
    (a.max(b) + 3.0 * (a + b)) / a.max(b)
}
