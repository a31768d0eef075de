//! Runs random programs in virtual time until one is wrong: `chaos [--programs N | --seconds S] [--seed S] [--ranks R]`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tributary_testing::chaos::{Program, judge, shrink};

fn main() -> ExitCode {
    let (mut programs, mut seconds, mut seed, mut ranks) = (None, None, 0_u64, 12);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().and_then(|value| value.parse::<u64>().ok());
        match (word.as_str(), value) {
            ("--programs", Some(value)) => programs = Some(value),
            ("--seconds", Some(value)) => seconds = Some(value),
            ("--seed", Some(value)) => seed = value,
            ("--ranks", Some(value)) => ranks = value as usize,
            _ => {
                eprintln!("error: {word}; allowed: --programs N, --seconds S, --seed S, --ranks R");
                return ExitCode::from(2);
            }
        }
    }
    let begin = Instant::now();
    let (mut passed, mut digest, mut turns) = (0_u64, 0_u64, 0_u64);
    for number in 0.. {
        let is_over = match (programs, seconds) {
            (Some(programs), _) => number >= programs,
            (None, seconds) => begin.elapsed() >= Duration::from_secs(seconds.unwrap_or(10)),
        };
        if is_over {
            break;
        }
        let program = Program::of(seed + number, ranks);
        let verdict = judge(&program);
        digest = (digest.rotate_left(5) ^ verdict.digest).wrapping_mul(0x517c_c1b7_2722_0a95);
        turns += verdict.turns;
        if let Some(wrong) = verdict.wrong {
            println!("seed {}: {wrong}", program.seed);
            let least = shrink(&program);
            println!("shrunk: {}\n{}", judge(&least).wrong.unwrap_or_default(), serde_json::to_string(&least).unwrap_or_default());
            println!("{passed} passed, 1 failed");
            return ExitCode::FAILURE;
        }
        passed += 1;
    }
    let rate = passed as f64 / begin.elapsed().as_secs_f64();
    println!("{passed} passed, 0 failed; digest {digest:016x}; {rate:.0} programs a second, {turns} turns");
    ExitCode::SUCCESS
}
