//! What comes from files, variables and other ranks, taken apart. A target is a module with two functions: `check`, which takes
//! any bytes and holds what comes of them to what the rest of the library relies on; and `seeds`, good inputs to begin from.
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
//! With coverage, for as long as one likes (nightly; or stable with `--sanitizer none`): `cargo fuzz run extents`. Without, a
//! bounded number of damaged and arbitrary inputs for each: `cargo test`, in `.ci/run`; `TRIB_FUZZ_CASES` says how many. An
//! input that was found: `cargo run --bin extents -- FILE`.

pub mod extents;
pub mod hints;
pub mod lists;
pub mod machine;
pub mod maps;
pub mod opening;
pub mod traces;

/// A target.
pub struct Target {
    pub name: &'static str,
    /// Panics where something does not hold.
    pub check: fn(&[u8]),
    /// Good inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// The most bytes of memory at a time: so many, and so many for each byte of the input.
    pub memory: (usize, usize),
}

macro_rules! targets {
    ($($name:ident: $memory:expr;)+) => {
        /// All.
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

/// The program of a target: with cargo-fuzz its loop; without, the inputs that are named, as those that it has found.
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

/// What a target's program does without cargo-fuzz.
///
/// # Panics
/// Where a file cannot be read, and where something does not hold.
pub fn replay(check: fn(&[u8])) {
    let files: Vec<_> = std::env::args_os().skip(1).collect();
    assert!(!files.is_empty(), "usage: TARGET FILE...");
    for file in files {
        let bytes = std::fs::read(&file).unwrap_or_else(|cause| panic!("{}: {cause}", file.display()));
        check(&bytes);
        println!("{}: holds", file.display());
    }
}

/// Returns the value; an error must be one line.
///
/// # Panics
/// When it is not.
fn one_line<T>(outcome: Result<T, impl std::fmt::Display>) -> Option<T> {
    outcome
        .map_err(|error| {
            let said = error.to_string();
            assert!(!said.is_empty() && said.trim_end().lines().count() == 1, "not one line: {said:?}");
        })
        .ok()
}

/// Returns the numbers of 8 bytes each.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
}
