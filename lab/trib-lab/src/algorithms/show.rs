//! `trib-lab algorithms show`: draws the messages of one algorithm, round by round.

use crate::picture::messages::{self, Diagram, Message};
use crate::picture::write_or_say;
use trib::Failure;
use tributary_lab::timing::{Step, one_port_steps};

use super::case::AlgorithmCase;
use super::catalogue::{self, Entry, What};
use super::counts::{Counts, ROUNDS, Traffic, endless};
use super::holdings;
use super::notes::{self, Example};
use crate::cli::algorithms::ShowOptions;

/// Maximum number of rounds in a picture.
const MOST_ROUNDS: usize = 40;
/// Maximum number of ranks in a picture.
const MOST_RANKS: usize = 32;
const _: () = assert!(MOST_RANKS <= holdings::MOST_RANKS);

/// Draws an algorithm, and prints the picture or writes it to a file.
pub fn run(options: &ShowOptions) -> Result<(), Failure> {
    let entry = catalogue::find(&options.name, options.operation.as_deref())?;
    let mut example = notes::example(&entry);
    if options.ranks.is_some() || options.root.is_some() {
        // The example's weights are for its own number of ranks.
        let ranks = options.ranks.unwrap_or(example.ranks);
        let weights = if ranks == example.ranks { example.weights } else { &[] };
        let root = options.root.unwrap_or(if example.root < ranks { example.root } else { 0 });
        example = Example { ranks, root, weights, ..example };
    }
    example.ranks_per_node = options.ranks_per_node.unwrap_or(example.ranks_per_node);
    let drawn = draw(&entry, &example)?;
    write_or_say(options.output.as_deref(), &drawn, || format!("{}: {}", entry.operation, entry.name))
}

/// Returns the picture of an algorithm on an example, as SVG. The same arguments give the same text.
///
/// # Errors
/// Zero ranks or ranks per node, a root that is no rank, more ranks or rounds than can be drawn.
pub fn draw(entry: &Entry, example: &Example) -> Result<String, Failure> {
    if example.ranks > MOST_RANKS {
        return Err(Failure::new(format!("ranks: {}; allowed: 1 to {MOST_RANKS} in a picture", example.ranks)));
    }
    // Divisible by the number of ranks, by words of 8 bytes and by segments.
    let case = AlgorithmCase::of(entry, example, 32 * example.ranks as u64)?;
    let counts = Counts::of(entry, &case)?;
    let rounds = counts.rounds as usize;
    if rounds > MOST_ROUNDS {
        let what = format!("{rounds} rounds on {} ranks", example.ranks);
        return Err(Failure::new(format!("ranks: {what}; allowed: up to {MOST_ROUNDS} rounds in a picture")));
    }
    let schedules = case.schedules(entry);
    let steps = one_port_steps(schedules.clone(), &ROUNDS).ok_or_else(|| endless(entry))?;
    let contents = case.contents(entry);
    let (marked, mark) = case.marked(entry);
    let message = |step: &Step| match *step {
        Step::Message { begin, from: (from, op), to: (to, _), .. } => {
            let bytes = schedules[from].ops()[op as usize].span.len;
            Some(Message { round: begin as usize, from, to, bytes })
        }
        Step::Local { .. } => None,
    };
    Ok(messages::card(&Diagram {
        title: format!("{}: {}", entry.operation, entry.name),
        subject: format!("{}. {}", capital(entry.about), summary(entry, &case, &counts)),
        topology: &case.topology,
        rounds,
        messages: steps.iter().filter_map(message).collect(),
        bars: holdings::by_round(&contents, &schedules, &steps, rounds),
        length: contents.shown.iter().flatten().map(|(first, end)| end - first).max().unwrap_or(0),
        unit: case.unit,
        marked,
        mark,
        meaning: meaning(entry, contents.combines),
    }))
}

/// Returns `text` with a capital first letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Returns the text under the title: the case that is drawn, and its counts.
fn summary(entry: &Entry, case: &AlgorithmCase, counts: &Counts) -> String {
    let Traffic { messages, bytes } = counts.all;
    let nodes = trib::numbers::counted(case.topology.nodes() as u64, "node");
    let even = case.sizes.iter().all(|&size| size == case.unit);
    let what = match entry.what {
        What::Collective(_) if entry.is_of_one_message() => "a message of m bytes",
        What::Collective(_) if even => "blocks of m bytes",
        What::Collective(_) => "blocks of different sizes, m the unit",
        What::Flat(_) | What::TwoLayer => "m bytes from every rank to every aggregator, one message at a time",
    };
    let mut words = format!(
        "{} on {nodes}, {what}: {}, {}, {} in all",
        trib::numbers::counted(case.ranks() as u64, "rank"),
        trib::numbers::counted(counts.rounds, "round"),
        trib::numbers::counted(messages, "message"),
        messages::multiple(bytes, case.unit),
    );
    if case.topology.nodes() > 1 {
        let Traffic { messages, bytes } = counts.between;
        let messages = trib::numbers::counted(messages, "message");
        words += &format!("; between nodes {messages}, {}", messages::multiple(bytes, case.unit));
    }
    words + "."
}

/// Returns the text that says what a bar of the picture means.
fn meaning(entry: &Entry, combines: bool) -> &'static str {
    match entry.what {
        What::Flat(_) | What::TwoLayer => {
            "Bars: the blocks for an aggregator that are there, in rank order, in the colours of the ranks they are from."
        }
        What::Collective(_) if combines => {
            "Bars: the message; the darker, the more ranks' words are combined in it: of all of them at the darkest."
        }
        What::Collective(_) if entry.is_of_one_message() => "Bars: how much of the message a rank has.",
        What::Collective(_) => {
            "Bars: the blocks that a rank has or has had, in rank order, in the colours of their ranks."
        }
    }
}
