//! Additions to the registry of collective algorithms: when to use an algorithm, and the example on which it is drawn.
//! (A kernel's row in its registry has both.)

use tributary::Rank;

use super::catalogue::{Entry, What};

/// Example on which an algorithm is drawn.
#[derive(Clone, Copy)]
pub struct Example {
    /// Number of ranks.
    pub ranks: usize,
    /// Number of ranks on a node.
    pub ranks_per_node: usize,
    /// Root of the operation.
    pub root: Rank,
    /// Relative sizes of the blocks, by rank; empty if all are 1.
    pub weights: &'static [u64],
    /// Receivers of an exchange.
    pub aggregators: Aggregators,
}

/// Aggregators (receivers) of an exchange.
#[derive(Clone, Copy)]
pub enum Aggregators {
    /// The lowest rank of every node.
    PerNode,
    /// This number of the lowest ranks.
    Lowest(usize),
}

/// Note on an algorithm: the example on which it is drawn, and when to use it.
struct Note {
    /// Name of the operation, or several names between bars.
    operations: &'static str,
    name: &'static str,
    when: &'static str,
    example: Example,
}

/// Example of two nodes with four ranks each.
const EIGHT: Example =
    Example { ranks: 8, ranks_per_node: 4, root: 0, weights: &[], aggregators: Aggregators::PerNode };
/// Example of three nodes with four ranks each: no power of two.
const TWELVE: Example = Example { ranks: 12, ..EIGHT };
/// Example 2.1 of Bienz et al. 2022: four nodes with four ranks each.
const SIXTEEN: Example = Example { ranks: 16, ..EIGHT };
/// Example of two nodes with two ranks each.
const FOUR: Example = Example { ranks: 4, ranks_per_node: 2, ..EIGHT };
/// Example of figure 2 of the paper on irregular gather and scatter: root 9, some blocks empty.
const IRREGULAR: Example =
    Example { ranks: 11, ranks_per_node: 4, root: 9, weights: &[3, 1, 0, 0, 2, 7, 1, 4, 0, 2, 5], ..EIGHT };
/// Example with blocks of different sizes in both groups.
const TWO_SIDES: Example = Example { weights: &[1, 4, 0, 2, 1, 3, 1, 0, 5, 1, 2, 4], ..TWELVE };
/// Example of figure 1 of the main paper: 8 ranks, the first four of them aggregators.
const LOW: Example = Example { aggregators: Aggregators::Lowest(4), ..EIGHT };

/// Returns a row of [`NOTES`].
const fn note(operations: &'static str, name: &'static str, example: Example, when: &'static str) -> Note {
    Note { operations, name, when, example }
}

/// Notes on all collective algorithms, in the order of the registries. Formatted by hand.
#[rustfmt::skip]
static NOTES: &[Note] = &[
    note("allgather", "ring", EIGHT,
        "Long blocks: every byte moves between neighbours only, one message in and one out at a time, received in \
         place. Not for many ranks with short blocks: the startups grow with p."),
    note("allgather", "recursive_doubling", EIGHT,
        "Short and medium blocks where p is a power of two: the fewest startups, and nothing is copied but a rank's \
         own block. For other p, bruck."),
    note("allgather", "dissemination", EIGHT,
        "Any p, if copies cost more than startups: all blocks arrive in place, at the price of a second message where \
        blocks wrap around the end of the rank order."),
    note("allgather", "bruck", SIXTEEN,
        "Short blocks and any p: the fewest startups there can be. Where nodes are far apart, nearly every message \
         leaves its node: then locality_bruck."),
    note("allgather", "hierarchical", TWELVE,
        "Nodes with one slow link: only one rank of a node communicates with other nodes, and bytes leave a node once for \
        each receiving node. Inside the node everything passes through the leader."),
    note("allgather", "multi_lane", TWELVE,
        "Medium and long blocks on nodes whose ranks together get more bandwidth out than one alone: all of them \
         carry an equal share."),
    note("allgather", "locality_bruck", SIXTEEN,
        "Short blocks on many nodes: a rank sends log_q of the number of nodes messages off its node, and few bytes. \
         The engine agrees on ranges and nodes by it."),
    note("gather|scatter", "linear", IRREGULAR,
        "Long blocks, few ranks: each byte travels once, but the root pays a startup for every rank."),
    note("gather|scatter", "binomial", IRREGULAR,
        "Short blocks of about the same size. A large block far from the root is passed on at every level."),
    note("gather", "ordered_tree", IRREGULAR,
        "Blocks of any sizes, above all of very different ones: few startups, and a transfer time linear in the sum \
         of all blocks. Sizes may be known to their owners alone; the tree is good for any number of gathers."),
    note("gather|scatter", "ordered_tree_threshold", IRREGULAR,
        "As the ordered tree, where some blocks or subtrees are so long that passing them on costs more than a \
         startup at the root. Drawn with a threshold of 4m."),
    note("gather|scatter", "linear_synchronized", EIGHT,
        "Long blocks and many ranks, where blocks that come before the receiver waits for them would fill its memory. \
         The messages without bytes say that a receiver waits."),
    note("gather|scatter", "minimum_spanning_tree", IRREGULAR,
        "As binomial; its ranges are halves even if p is not a power of two."),
    note("gather", "hierarchical", TWELVE,
        "Nodes: one message of each passes between them. Any two gathers make such a hierarchy."),
    note("scatter", "ordered_tree", IRREGULAR,
        "Blocks of any sizes, above all of very different ones; the tree of a gather with the same sizes serves \
         again."),
    note("scatter", "hierarchical", TWELVE,
        "Nodes: one message of each passes between them. Any two scatters make such a hierarchy."),
    note("broadcast", "flat", EIGHT,
        "Two or three ranks, or as a reference for trees. The root pays a startup for every rank."),
    note("broadcast", "chain", EIGHT,
        "Not useful by itself: it is pipeline with a single segment, the reference for segments."),
    note("broadcast", "pipeline", EIGHT,
        "Very long messages, many segments: every link carries the message once, and each rank waits only for the first \
        segment."),
    note("broadcast", "binary", EIGHT,
        "Medium messages where a rank should serve two others at most. In the one-port model binomial is never \
         slower."),
    note("broadcast", "split_binary", EIGHT,
        "Medium to long messages: a binary tree's startups, but half the bytes on every link of it."),
    note("broadcast", "binomial", EIGHT,
        "Short messages: the fewest rounds there can be. The engine broadcasts hints and errors with it."),
    note("broadcast", "scatter_ring_allgather", EIGHT,
        "Long messages: no rank moves more than about twice the message, and after the scatter neighbours only talk. \
         The startups grow with p."),
    note("broadcast", "scatter_recursive_doubling_allgather", EIGHT,
        "Medium to long messages, p a power of two: the bytes of the ring with logarithmic startups."),
    note("broadcast", "hierarchical", TWELVE,
        "Nodes: the message enters each of them once. Any two broadcasts make such a hierarchy, of any number of \
         groups and levels; algorithms with p in their startups gain most, at about sqrt(p) groups."),
    note("reduce", "flat", EIGHT,
        "Two or three ranks. The root receives and combines everything."),
    note("reduce", "segmented_flat", FOUR,
        "As flat, where the root has memory for a segment only and not for a message."),
    note("reduce", "chain", EIGHT,
        "Not useful by itself: it is pipeline with a single segment."),
    note("reduce", "pipeline", EIGHT,
        "Very long messages, many segments: every rank combines one segment while the next is on its way."),
    note("reduce", "binary", EIGHT,
        "Medium to long messages in segments: a shorter way for the first segment than the pipeline's, two messages \
         in for every rank."),
    note("reduce", "binomial", EIGHT,
        "Short messages: the fewest rounds there can be."),
    note("reduce", "in_order_binary", EIGHT,
        "Operators whose operands must be combined in rank order."),
    note("reduce", "rabenseifner", EIGHT,
        "Long messages: bytes and combining are divided among all ranks; logarithmic startups."),
    note("reduce", "hierarchical", TWELVE,
        "Nodes: one message leaves each of them but the root's. Any two reductions make such a hierarchy, of any \
         number of groups and levels."),
    note("allreduce", "linear", EIGHT,
        "Two or three ranks. Everything passes through one of them."),
    note("allreduce", "non_overlapping", EIGHT,
        "Operators whose order of operands counts, and every rank must get the same bits: one rank combines last. \
         What the engine agrees with."),
    note("allreduce", "recursive_doubling", EIGHT,
        "Short messages: half the rounds of a reduction and a broadcast."),
    note("allreduce", "ring", EIGHT,
        "Very long messages, any p: the fewest bytes there can be, between neighbours only. The startups grow with p."),
    note("allreduce", "segmented_ring", FOUR,
        "As the ring, where combining takes time: a segment is on its way while the one before is combined."),
    note("allreduce", "rabenseifner", EIGHT,
        "Medium and long messages: the bytes of the ring with logarithmic startups; best where p is a power of two."),
    note("allreduce", "hierarchical", SIXTEEN,
        "Nodes: only the rounds among nodes leave them, though every rank sends its whole message there. Any two \
         allreduces make such a hierarchy, of any number of groups and levels."),
    note("intergroup_allgather", "allgather", TWELVE,
        "Equal blocks: transfer time within that of one block of the smaller group of the least there can be."),
    note("intergroup_allgather", "allgatherv", TWO_SIDES,
        "Blocks of any sizes: every rank gets an equal part of the other group's bytes first, however they are cut."),
    note("intergroup_allgather", "two_step", TWELVE,
        "Equal blocks, where the ranks of a subgroup are near each other: the larger group gathers inside its \
         subgroups before it gathers across them."),
    note("intergroup_allgather", "root_gathering", TWELVE,
        "To compare with what libraries do: everything passes through one root of each group."),
];

fn row(operation: &str, name: &str) -> Option<&'static Note> {
    NOTES.iter().find(|note| note.operations.split('|').any(|it| it == operation) && note.name == name)
}

/// Returns the advice when to use a collective algorithm; empty if there is no note.
pub fn when(operation: &str, name: &str) -> &'static str {
    row(operation, name).map_or("", |note| note.when)
}

/// Returns the example on which an algorithm is drawn.
pub fn example(entry: &Entry) -> Example {
    match entry.what {
        What::Collective(_) => row(entry.operation, entry.name).map_or(EIGHT, |note| note.example),
        What::Flat(_) => LOW,
        What::TwoLayer => TWELVE,
    }
}

/// Returns the number of bytes of a segment, a multiple of 8: a quarter of a message or block, half of a block of the
/// segmented ring. The threshold of the ordered tree is four blocks.
pub fn segment(entry: &Entry, ranks: usize, unit: u64) -> u64 {
    let pieces = if entry.name == "segmented_ring" { 2 * ranks as u64 } else { 4 };
    let bytes = if entry.name.starts_with("ordered_tree") { 4 * unit } else { unit / pieces };
    bytes.next_multiple_of(8).max(8)
}

#[cfg(test)]
mod tests {
    use super::super::catalogue;
    use super::*;

    #[test]
    fn every_algorithm_has_a_note_and_every_note_an_algorithm() {
        let all = catalogue::all();
        for entry in &all {
            let (operation, name) = (entry.operation, entry.name);
            assert!(
                !entry.when.is_empty(),
                "{operation} {name}: trib-lab/src/algorithms/notes.rs does not say when to use it"
            );
            assert!(!entry.cost.is_empty() && !entry.about.is_empty(), "{operation} {name}: no cost, or no words");
        }
        let is_known = |operation, name| all.iter().any(|entry| entry.operation == operation && entry.name == name);
        let known = |note: &Note| note.operations.split('|').all(|operation| is_known(operation, note.name));
        assert!(NOTES.iter().all(known));
    }
}
