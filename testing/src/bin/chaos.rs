//! Runs random programs in virtual time until one is wrong: `chaos [--programs N] [--seconds S] [--seed S] [--ranks R]`, where the
//! first limit that is reached ends the run; or one program again, and shows what its ranks see:
//! `chaos --file tests/chaos/found/N.json`.
//!
//! The last line says how many have passed and failed, and the digest of all events: the same seed and number give the same digest.
//! A program that is wrong is shrunk and written to `tests/chaos/found`, where it is a test.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tributary_testing::chaos::{judge_and_show, run_many, write_as_test};

/// Number of programs after which the number of those that have passed is shown again.
const TOLD: u64 = 1000;

fn main() -> ExitCode {
    let (mut programs, mut seconds, mut seed, mut ranks) = (None, None, 0_u64, 12);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--file" {
            return again(&words.next().unwrap_or_default());
        }
        let value = words.next().and_then(|value| value.parse::<u64>().ok());
        match (word.as_str(), value) {
            ("--programs", Some(value)) => programs = Some(value),
            ("--seconds", Some(value)) => seconds = Some(value),
            ("--seed", Some(value)) => seed = value,
            ("--ranks", Some(value @ 1..=12)) => ranks = value as usize,
            _ => {
                eprintln!(
                    "error: argument {word}; allowed: --programs N, --seconds N, --seed N, --ranks N with N from 1 to 12"
                );
                return ExitCode::from(2);
            }
        }
    }
    let begin = Instant::now();
    let limit = seconds.or(programs.is_none().then_some(10)).map(Duration::from_secs);
    let last = programs.map_or(u64::MAX, |programs| seed.saturating_add(programs));
    let shows = std::io::stderr().is_terminal();
    let tell = |done: u64| {
        if shows && done.is_multiple_of(TOLD) {
            eprint!("\r{done} programs");
        }
    };
    let summary = run_many(seed..last, ranks, || limit.is_some_and(|limit| begin.elapsed() >= limit), tell);
    if shows {
        eprint!("\r");
    }
    let rate = summary.passed as f64 / begin.elapsed().as_secs_f64();
    let end = format!("digest {:016x}; {rate:.0} programs a second, {} turns", summary.digest, summary.turns);
    let Some((program, wrong)) = summary.failed else {
        println!("{} passed, 0 failed; {end}", summary.passed);
        return ExitCode::SUCCESS;
    };
    println!("seed {}: {wrong}", program.seed);
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/chaos/found");
    match write_as_test(&program, &found) {
        Ok((path, wrong, text)) => println!("shrunk: {wrong}\n{text}\nwritten as a test to {}", path.display()),
        Err(cause) => eprintln!("error: it cannot be written to {}: {cause}", found.display()),
    }
    println!("{} passed, 1 failed; {end}", summary.passed);
    ExitCode::FAILURE
}

/// Runs the program of a file, and prints what its ranks see.
fn again(path: &str) -> ExitCode {
    let program = std::fs::read_to_string(path).map_err(|cause| cause.to_string());
    let program = program.and_then(|text| serde_json::from_str(&text).map_err(|wrong| wrong.to_string()));
    match program {
        Err(why) => {
            eprintln!("error: --file {path}: {why}; allowed: a program that chaos has written");
            ExitCode::from(2)
        }
        Ok(program) => {
            let finding = judge_and_show(&program);
            println!("{}", finding.wrong.as_deref().unwrap_or("right"));
            if finding.wrong.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
    }
}
