//! Makes `lab/docs/algorithms.md`, a page for each operation and the pictures from the registries and the counted
//! schedules. Only tests use this module: they compare the checked-in files with the result, or write them.

use std::fmt::Write;

use crate::picture::messages::multiple;
use trib::numbers::counted;
use tributary_lab::collectives::Rates;

use super::case::AlgorithmCase;
use super::catalogue::{self, EXCHANGE, Entry};
use super::counts::{Counts, time};
use super::{notes, show};
use crate::generated;

/// Number of ranks of the case in the tables; nodes have 4.
const RANKS: usize = 16;
const PER_NODE: usize = 4;
/// Number of bytes of a block or message in the tables. Every algorithm splits it into whole words.
const UNIT: u64 = 1024;

const GENERATED: &str =
    "<!-- Generated from the registries and trib-lab/src/algorithms/; regenerate with: lab/generate -->\n\n";

const HEAD: &str = "\
# Algorithms

Every collective algorithm of the laboratory and every exchange kernel, on a page for each operation: what it does, what it costs, when to
use it. An algorithm is a pure function that returns a schedule (`lab/src/collectives/`, `src/exchange/`, one file each). The pictures and
numbers on the pages are made from these schedules. `trib-lab algorithms` lists them, with `--ranks` for any number of ranks.
`trib-lab algorithms show NAME --operation OPERATION -o F.svg` draws one.

**Costs.** t_s is the time to start a message, t_w the time of a byte of it, t_c the time to combine a byte. There are p ranks. m is the
number of bytes of a block, or of the message of a broadcast or reduction.

**Pictures.** Ranks are rows, grouped by node. Message rounds (here: rounds) are columns. A rank has one port: in a round it sends one
message and receives one, and every message takes one round, whatever its size. Grey messages stay inside a node, red ones go to another
node. The bars between the rounds show which bytes each rank has. A segmented message has four segments; linear_synchronized sends a quarter
of a block first.

**Tables** count 16 ranks on 4 nodes, with rank 0 as root and blocks of equal size. *Short* and *long* are times in the same one-port model,
in units of t_s, for m t_w = t_s / 100 and for m t_w = 100 t_s. Combining takes no time, and all messages are equally fast.
";

/// Text of the page about the exchange.
const KERNELS: &str = "\
Every rank sends m bytes to each of 4 aggregators, one on a node, at most one message at a time, so that the order shows.
two_layer has one local aggregator a node and merges for the balanced kernel. The pictures of the flat kernels have the 8
ranks and the 4 lowest of them as aggregators of the main paper's figure 1. \"The main paper\" is Q. Kang, R. Ross, R. Latham,
S. Lee, A. Agrawal, A. Choudhary, W.-k. Liao, *Improving All-to-Many Personalized Communication in Two-Phase I/O*.
";

/// Name and meaning of every operation.
static OPERATIONS: &[(&str, &str)] = &[
    ("allgather", "Every rank gets the blocks of all ranks."),
    ("gather", "The root gets the blocks of all ranks."),
    ("scatter", "Every rank gets its block, which the root has."),
    ("broadcast", "Every rank gets the root's message."),
    ("reduce", "The root gets the messages of all ranks, combined element by element."),
    ("allreduce", "Every rank gets the messages of all ranks, combined element by element."),
    (
        "intergroup_allgather",
        "Every rank of two groups gets the blocks of all ranks of the *other* group. For example, the groups are I/O \
         ranks and computing ranks. Here the last node is the smaller group.",
    ),
    (
        "exchange",
        "All-to-many: every rank has a block for each aggregator. The kernels of the metadata and data phases of a \
         collective write; a read runs them backwards.",
    ),
];

/// Returns the meaning of an operation.
fn meaning(operation: &str) -> &'static str {
    let (_, meaning) = OPERATIONS.iter().find(|(name, _)| *name == operation).expect("an operation of OPERATIONS");
    meaning
}

/// Returns the entries of an operation.
fn entries(operation: &str) -> Vec<Entry> {
    catalogue::all().into_iter().filter(|entry| entry.operation == operation).collect()
}

/// Returns the page that leads to the pages of the operations.
fn index() -> String {
    let mut page = format!("{GENERATED}{HEAD}\n| operation | result | algorithms |\n|---|---|---|\n");
    for operation in catalogue::operations() {
        let link = |entry: &Entry| format!("[{}](algorithms/{operation}.md#{})", entry.name, anchor(entry));
        let names: Vec<_> = entries(operation).iter().map(link).collect();
        // Writing to a string does not fail.
        let _ = writeln!(
            page,
            "| [{operation}](algorithms/{operation}.md) | {} | {} |",
            meaning(operation),
            names.join(", ")
        );
    }
    page
}

/// Returns the page of an operation.
fn page(operation: &str) -> String {
    let mut page = format!("{GENERATED}# {operation}\n\n{}\n", meaning(operation));
    if operation == EXCHANGE {
        let _ = write!(page, "\n{KERNELS}");
    }
    page.push_str("\n[Algorithms](../algorithms.md) explains costs, pictures and tables.\n");
    page.push_str("\n| | rounds | messages | bytes | between nodes | bytes | short | long |\n");
    page.push_str("|---|--:|--:|--:|--:|--:|--:|--:|\n");
    let entries = entries(operation);
    entries.iter().for_each(|entry| comparison(&mut page, entry));
    entries.iter().for_each(|entry| section(&mut page, entry));
    page
}

/// Returns the anchor of a section's heading.
fn anchor(entry: &Entry) -> String {
    format!("{}-{}", entry.operation, entry.name)
}

/// Adds one row to the table of an operation.
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

/// Adds the section of one algorithm.
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
        "\n## {operation}: {name}\n\n{}.\n\n![{operation}, {name}: messages by round]({file}.svg)",
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
fn the_pages_in_docs_are_current() {
    assert_current("lab/docs/algorithms.md", &index());
    let mut expected = Vec::new();
    for operation in catalogue::operations() {
        expected.push(format!("{operation}.md"));
        assert_current(&format!("lab/docs/algorithms/{operation}.md"), &page(operation));
    }
    for entry in catalogue::all() {
        let drawn = show::draw(&entry, &notes::example(&entry)).unwrap();
        expected.push(format!("{}.svg", anchor(&entry)));
        assert_current(&format!("lab/docs/algorithms/{}.svg", anchor(&entry)), &drawn);
    }
    generated::assert_no_others("lab/docs/algorithms", expected, "the registry");
}
