//! Damaged inputs of every kind: cut, flipped, overwritten with the ends of the numbers, extended. Nothing panics, and what
//! is refused is refused in one line that names the input.
//!
//! A size that a damaged input gives must not be allocated before it is known to fit: an abort of the allocator fails here
//! too. (Hints are in the tests of `tributary::hints`, rows of `trib compare` in those of `trib`.)

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tributary::sim::Machine;
use tributary::tune::Table;
use tributary_benchmarks::e3sm::{DecompositionMap, Generator, map_file};
use tributary_benchmarks::list::{Lists, write_binary};
use tributary_benchmarks::wrf::Trace;
use tributary_benchmarks::{E3smF, ElementType, GeneratorOptions, List, Pattern};

/// One change of an input. Places are parts of its length.
#[derive(Debug, Clone)]
enum Damage {
    /// Ends here.
    Cut(prop::sample::Index),
    /// One bit is another.
    Flip(prop::sample::Index, u8),
    /// A number at the ends of its range, in 4 or 8 bytes, either end first.
    Number(prop::sample::Index, u64, bool, bool),
    /// A number at the ends of its range, in digits, in place of the digits that are there.
    Digits(prop::sample::Index, &'static str),
    /// A part of it comes twice.
    Again(prop::sample::Index, prop::sample::Index),
    /// Other bytes behind it.
    Extend(Vec<u8>),
}

const NUMBERS: [u64; 7] = [0, 1, i32::MAX as u64, u32::MAX as u64, 1 << 62, i64::MAX as u64, u64::MAX];
const DIGITS: [&str; 9] = [
    "0",
    "-1",
    "2147483648",
    "4611686018427387904",
    "9223372036854775807",
    "18446744073709551615",
    "1e999",
    "nan",
    "inf",
];

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        index().prop_map(Damage::Cut),
        (index(), 0_u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        (index(), prop::sample::select(&NUMBERS[..]), any::<bool>(), any::<bool>())
            .prop_map(|(at, number, long, little)| Damage::Number(at, number, long, little)),
        (index(), prop::sample::select(&DIGITS[..])).prop_map(|(at, digits)| Damage::Digits(at, digits)),
        (index(), index()).prop_map(|(from, to)| Damage::Again(from, to)),
        prop::collection::vec(any::<u8>(), 1..40).prop_map(Damage::Extend),
    ]
}

fn damaged(good: &[u8], all: &[Damage]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for damage in all.iter().filter(|_| !good.is_empty()) {
        if bytes.is_empty() {
            break;
        }
        let length = bytes.len();
        match damage {
            Damage::Cut(at) => bytes.truncate(at.index(length)),
            Damage::Flip(at, bit) => bytes[at.index(length)] ^= 1 << bit,
            Damage::Number(at, number, long, little) => {
                let width = if *long { 8 } else { 4 };
                let ends = if *little {
                    number.to_le_bytes()[..width].to_vec()
                } else {
                    number.to_be_bytes()[8 - width..].to_vec()
                };
                // On a boundary of words, where numbers are.
                let at = at.index(length) / 4 * 4;
                bytes.splice(at..length.min(at + width), ends);
            }
            Damage::Digits(at, digits) => {
                let begin = (at.index(length)..length).find(|&at| bytes[at].is_ascii_digit()).unwrap_or(0);
                let end = (begin..length).find(|&at| !bytes[at].is_ascii_digit()).unwrap_or(length);
                bytes.splice(begin..end, digits.bytes());
            }
            Damage::Again(from, to) => {
                let (from, to) = (from.index(length), to.index(length));
                let part = bytes[from.min(to)..from.max(to)].to_vec();
                bytes.extend(part);
            }
            Damage::Extend(more) => bytes.extend(more),
        }
    }
    bytes
}

/// # Panics
/// When an error is not one line.
fn one_line<T>(outcome: Result<T, impl std::fmt::Display>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(error) => {
            let said = error.to_string();
            assert!(!said.is_empty() && !said.trim_end().contains('\n'), "{said}");
            None
        }
    }
}

/// All that a user does with lists, but writing the file.
fn use_lists(bytes: Vec<u8>) {
    let Some(lists) = one_line(Lists::from_bytes("lists", bytes)) else { return };
    let list = List::new(lists);
    list.describe();
    list.totals();
    for rank in 0..list.ranks().min(8) {
        one_line(list.rank_access(rank, 0));
    }
}

fn use_trace(bytes: &[u8]) {
    let Some(trace) = one_line(Trace::from_bytes("trace", bytes)) else { return };
    trace.fan_in();
    one_line(trace.folded(3));
    assert!(trace.ranks() > 0 && trace.bytes() >= trace.largest());
}

fn use_map(bytes: Vec<u8>) {
    let Some(map) = one_line(DecompositionMap::from_bytes("map", bytes)) else { return };
    let Some(case) = one_line(E3smF::new(Arc::new(map), ElementType::Double)) else { return };
    for rank in 0..case.ranks().min(8) {
        one_line(case.rank_access(rank, 0));
    }
}

fn data(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn binary_lists() -> Vec<u8> {
    let lists = List::new(Lists::from_bytes("lists", data("example_lists.txt")).unwrap());
    let mut bytes = Vec::new();
    write_binary(&mut bytes, lists.ranks(), &mut |rank| Ok(lists.rank_access(rank, 0)?.file)).unwrap();
    bytes
}

fn map() -> Vec<u8> {
    let options = GeneratorOptions { columns_per_rank: 3, groups: 2, seed: 3 };
    map_file::to_map(&Generator::new(3, options).unwrap()).unwrap()
}

const MACHINE: &str = include_str!("../../machines/cori-knl.toml");

/// What is damaged is good.
#[test]
fn whole_inputs_are_taken() {
    for lists in [data("example_lists.txt"), binary_lists()] {
        Lists::from_bytes("lists", lists).unwrap();
    }
    Trace::from_bytes("trace", &data("example_trace.dat")).unwrap();
    DecompositionMap::from_bytes("map", map()).unwrap();
    Machine::parse("machine", MACHINE).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn lists_of_text(all in prop::collection::vec(damage(), 1..4)) {
        use_lists(damaged(&data("example_lists.txt"), &all));
    }

    #[test]
    fn lists_in_binary(all in prop::collection::vec(damage(), 1..4)) {
        use_lists(damaged(&binary_lists(), &all));
    }

    #[test]
    fn traces(all in prop::collection::vec(damage(), 1..4)) {
        use_trace(&damaged(&data("example_trace.dat"), &all));
    }

    #[test]
    fn maps(all in prop::collection::vec(damage(), 1..4)) {
        use_map(damaged(&map(), &all));
    }

    #[test]
    fn machines_and_tables(all in prop::collection::vec(damage(), 1..4)) {
        let bytes = damaged(MACHINE.as_bytes(), &all);
        one_line(Machine::parse("machine", &String::from_utf8_lossy(&bytes)));
        one_line(Table::parse("table", &bytes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Damage inside, where the trace is, and outside, where gzip is.
    #[test]
    fn compressed_traces(
        inside in prop::collection::vec(damage(), 0..3),
        outside in prop::collection::vec(damage(), 0..3),
    ) {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&damaged(&data("example_trace.dat"), &inside)).unwrap();
        use_trace(&damaged(&gzip.finish().unwrap(), &outside));
    }
}
