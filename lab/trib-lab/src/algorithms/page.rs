//! `lab/docs/algorithms.md` and its pictures, from the registries and the counted schedules. Only tests use it: they compare
//! the checked-in files with it, or write them.

use std::fmt::Write;

use crate::picture::messages::multiple;
use trib::numbers::counted;
use tributary_lab::collectives::Rates;

use super::case::AlgorithmCase;
use super::catalogue::{self, EXCHANGE, Entry};
use super::counts::{Counts, time};
use super::{notes, show};
use crate::generated;

/// The case of the tables: 16 ranks on nodes of 4.
const RANKS: usize = 16;
const PER_NODE: usize = 4;
/// Bytes of a block or message there. Every algorithm splits it into whole words.
const UNIT: u64 = 1024;

const HEAD: &str = "\
<!-- Generated from the registries and trib-lab/src/algorithms/; regenerate with: lab/generate -->

# Algorithms

Every collective algorithm of the laboratory and every exchange kernel: what it does, what it costs, when to use it. An
algorithm is a pure function that returns a schedule (`lab/src/collectives/`, `src/exchange/`, one file each). The pictures and numbers
here are made from these schedules. `trib-lab algorithms` lists them, with `--ranks` for any number of ranks.
`trib-lab algorithms show NAME --operation OPERATION -o F.svg` draws one, for other ranks too.

**Costs.** t_s is the time to start a message, t_w the time of a byte of it, t_c the time to combine a byte. There are p ranks. m is the
number of bytes of a block, or of the message of a broadcast or reduction.

**Pictures.** Ranks are rows, grouped by node. Message rounds (here: rounds) are columns. A rank has one port: in a round it
sends one message and receives one, and every message takes one round, whatever its size. Grey messages stay inside a node, red ones
leave it. The bars between show what every rank has. A message in segments has four of them; linear_synchronized sends a quarter of a
block first.

**Tables** count 16 ranks on 4 nodes, with rank 0 as root and blocks of equal size. *Short* and *long* are times in the same
one-port model, in units of t_s, for m t_w = t_s / 100 and for m t_w = 100 t_s. Combining takes no time, and no message is
slower than another. What leaves a node is counted apart.
";

/// The text about the exchange.
const KERNELS: &str = "\
Every rank sends m bytes to each of 4 aggregators, one on a node, at most one message at a time, so that the order shows.
two_layer has one local aggregator a node and merges for the balanced kernel. The pictures of the flat kernels have the 8
ranks and the 4 lowest of them as aggregators of the main paper's figure 1. \"The main paper\" is Q. Kang, R. Ross, R. Latham,
S. Lee, A. Agrawal, A. Choudhary, W.-k. Liao, *Improving All-to-Many Personalized Communication in Two-Phase I/O*.
";

/// The meanings of the operations.
static OPERATIONS: &[(&str, &str)] = &[
    ("allgather", "Every rank gets the blocks of all ranks."),
    ("gather", "The root gets the blocks of all ranks."),
    ("scatter", "Every rank gets its block, which the root has."),
    ("broadcast", "Every rank gets the root's message."),
    ("reduce", "The root gets the messages of all ranks, combined word by word."),
    ("allreduce", "Every rank gets the messages of all ranks, combined word by word."),
    (
        "intergroup_allgather",
        "Every rank of two groups gets the blocks of all ranks of the *other* group. Here the last node is a group of its \
         own, the smaller one: I/O ranks, say, and those that compute.",
    ),
    (
        "exchange",
        "All-to-many: every rank has a block for each aggregator. The kernels of the metadata and data phases of a \
         collective write; a read runs them backwards.",
    ),
];

/// The meaning of an operation.
fn meaning(operation: &str) -> &'static str {
    let (_, meaning) = OPERATIONS.iter().find(|(name, _)| *name == operation).expect("an operation of OPERATIONS");
    meaning
}

fn page() -> String {
    let mut page = HEAD.to_string();
    let (operations, all) = (catalogue::operations(), catalogue::all());
    let of = |operation: &str| all.iter().filter(|entry| entry.operation == operation).collect::<Vec<_>>();
    page.push_str("\n| operation | algorithms |\n|---|---|\n");
    for operation in &operations {
        let names: Vec<_> =
            of(operation).into_iter().map(|entry| format!("[{}](#{})", entry.name, anchor(entry))).collect();
        // Writing to a string does not fail.
        let _ = writeln!(page, "| [{operation}](#{operation}) | {} |", names.join(", "));
    }
    for operation in &operations {
        let _ = writeln!(page, "\n## {operation}\n\n{}", meaning(operation));
        if *operation == EXCHANGE {
            let _ = write!(page, "\n{KERNELS}");
        }
        page.push_str("\n| | rounds | messages | bytes | between nodes | bytes | short | long |\n");
        page.push_str("|---|--:|--:|--:|--:|--:|--:|--:|\n");
        of(operation).into_iter().for_each(|entry| comparison(&mut page, entry));
        of(operation).into_iter().for_each(|entry| section(&mut page, entry));
    }
    page
}

/// The anchor of a section's heading.
fn anchor(entry: &Entry) -> String {
    format!("{}-{}", entry.operation, entry.name)
}

/// One row of a table of an operation.
fn comparison(page: &mut String, entry: &Entry) {
    let case = AlgorithmCase::even(entry, RANKS, PER_NODE, UNIT).unwrap();
    let Counts { rounds, all, between } = Counts::of(entry, &case).unwrap();
    let (bytes, apart) = (multiple(all.bytes, UNIT), multiple(between.bytes, UNIT));
    let [short, long] = [0.01, 100.0].map(|byte| {
        let rates = Rates { startup: 1.0, byte: byte / UNIT as f64, combine: 0.0 };
        time(entry, &case, &rates).unwrap()
    });
    let _ = writeln!(
        page,
        "| [{}](#{}) | {rounds} | {} | {bytes} | {} | {apart} | {short:.1} | {long:.0} |",
        entry.name,
        anchor(entry),
        all.messages,
        between.messages,
    );
}

/// One algorithm.
fn section(page: &mut String, entry: &Entry) {
    let Entry { operation, name, about, source, cost, .. } = entry;
    let file = anchor(entry);
    let case = AlgorithmCase::even(entry, RANKS, PER_NODE, UNIT).unwrap();
    let Counts { rounds, all, between } = Counts::of(entry, &case).unwrap();
    let counts = format!(
        "{}, {}, {} in all; between nodes {}, {}",
        counted(rounds, "round"),
        counted(all.messages, "message"),
        multiple(all.bytes, UNIT),
        counted(between.messages, "message"),
        multiple(between.bytes, UNIT),
    );
    let _ = writeln!(
        page,
        "\n### {operation}: {name}\n\n{}.\n\n![{operation}, {name}: messages by round](algorithms/{file}.svg)",
        show::capital(about)
    );
    let cell = |text: &str| text.replace('|', "\\|");
    let _ = writeln!(
        page,
        "\n| | |\n|---|---|\n| cost | {} |\n| {RANKS} ranks on nodes of {PER_NODE} | {counts} |",
        cell(cost)
    );
    let _ = writeln!(page, "| when to use it | {} |\n| source | {} |", cell(entry.when), cell(source));
}

fn assert_current(name: &str, expected: &str) {
    generated::assert_current(name, expected, "the registry");
}

#[test]
fn the_page_in_docs_is_current() {
    assert_current("lab/docs/algorithms.md", &page());
}

#[test]
fn the_pictures_in_docs_are_current() {
    let mut expected = Vec::new();
    for entry in catalogue::all() {
        let drawn = show::draw(&entry, &notes::example(&entry)).unwrap();
        expected.push(format!("{}.svg", anchor(&entry)));
        assert_current(&format!("lab/docs/algorithms/{}.svg", anchor(&entry)), &drawn);
    }
    generated::assert_no_others("lab/docs/algorithms", expected, "the registry");
}
