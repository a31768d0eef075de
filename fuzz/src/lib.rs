//! Fuzz targets for everything that comes from files, variables and other ranks. A target is a module with two
//! functions: `check`, which takes any bytes and checks that the result is what the rest of the library relies on;
//! and `seeds`, which returns good inputs to begin from.
//!
//! | target | takes |
//! |---|---|
//! | [`extents`] | encoded lists of extents: metadata messages between ranks |
//! | [`lists`] | files of lists of extents, in text and in binary |
//! | [`maps`] | E3SM's decomposition maps |
//! | [`traces`] | WRF's traces, compressed or not |
//! | [`hints`] | texts of hints: ours, ROMIO's, Cray's |
//! | [`opening`] | messages of the opening of a call |
//! | [`machine`] | files of what messages cost |
//!
//! With coverage, for any time (nightly; or stable with `--sanitizer none`): `cargo fuzz run extents`. Without, a
//! bounded number of damaged and arbitrary inputs for each target: `cargo test`, in `.ci/run`; `TRIB_FUZZ_CASES` sets
//! the number. To run an input that was found: `cargo run --bin extents -- FILE`.

pub mod extents;
pub mod hints;
pub mod lists;
pub mod machine;
pub mod maps;
pub mod opening;
pub mod traces;

/// A fuzz target.
pub struct Target {
    pub name: &'static str,
    /// Function that checks an input; panics if something is wrong.
    pub check: fn(&[u8]),
    /// Function that returns good inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Maximum number of bytes of memory at a time: a constant, and a number for each byte of the input.
    pub memory: (usize, usize),
}

macro_rules! targets {
    ($($name:ident: $memory:expr;)+) => {
        /// All fuzz targets.
        pub const TARGETS: &[Target] = &[$(
            Target { name: stringify!($name), check: $name::check, seeds: $name::seeds, memory: $memory },
        )+];
    };
}

targets! {
    extents: (64 << 10, 200);
    lists: (64 << 10, 200);
    maps: (256 << 10, 400);
    // Compressed bytes are unpacked: deflate makes a thousand of one.
    traces: (64 << 10, 60_000);
    hints: (64 << 10, 1_000);
    opening: (64 << 10, 40);
    machine: (256 << 10, 400);
}

/// Makes the program of a target: with cargo-fuzz the fuzzing loop; without it, a program that checks the inputs it
/// is given, for example inputs that cargo-fuzz has found.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::$name::check(bytes));

        #[cfg(not(fuzzing))]
        fn main() {
            $crate::replay($crate::$name::check);
        }
    };
}

/// Runs a target on the files that are the program's arguments, without cargo-fuzz.
///
/// # Panics
/// Panics if a file cannot be read, and if a check fails.
pub fn replay(check: fn(&[u8])) {
    let files: Vec<_> = std::env::args_os().skip(1).collect();
    assert!(!files.is_empty(), "usage: TARGET FILE...");
    for file in files {
        let bytes = std::fs::read(&file).unwrap_or_else(|cause| panic!("{}: {cause}", file.display()));
        check(&bytes);
        println!("{}: holds", file.display());
    }
}

/// Returns the value; None after an error, which must print as one line.
///
/// # Panics
/// Panics if the error is not one line.
fn one_line<T>(outcome: Result<T, impl std::fmt::Display>) -> Option<T> {
    outcome
        .map_err(|error| {
            let said = error.to_string();
            assert!(!said.is_empty() && said.trim_end().lines().count() == 1, "not one line: {said:?}");
        })
        .ok()
}

/// Iterates over the bytes as little-endian numbers of 8 bytes each.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
}
