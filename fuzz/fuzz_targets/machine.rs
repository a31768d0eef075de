#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tributary_fuzz::machine::check(bytes));

/// Without cargo-fuzz: the inputs that are named, as those that it has found.
#[cfg(not(fuzzing))]
fn main() {
    tributary_fuzz::replay(tributary_fuzz::machine::check);
}
