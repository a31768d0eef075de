//! Finds out what the engine's own choices lose, in virtual time: `regret [--beds N] [--ranks N] [--seed S] [--show]`. Prints a
//! line for each program on each of N beds that the seed chooses, with `--show` also the path of each call, and at the end the median
//! and the worst.

use std::io::Write;
use std::process::ExitCode;

use tributary_testing::regret::{Regret, beds, programs, sample};

fn main() -> ExitCode {
    let (mut count, mut ranks, mut seed, mut shows) = (usize::MAX, 16, 1, false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--show" {
            shows = true;
            continue;
        }
        let value = words.next().and_then(|value| value.parse::<u64>().ok());
        match (word.as_str(), value) {
            ("--beds", Some(value)) if value > 0 => count = value as usize,
            ("--ranks", Some(value)) if value.isqrt().pow(2) == value && value >= 16 => ranks = value as usize,
            ("--seed", Some(value)) => seed = value,
            _ => {
                eprintln!(
                    "error: argument {word}; allowed: --beds N from 1 on, --seed N, --ranks N with N a square from 16 on"
                );
                return ExitCode::from(2);
            }
        }
    }
    let programs = programs(ranks);
    let mut all = Vec::new();
    println!("regret\tdefaults, s\tbest, s\tprogram\tbed\tfastest way");
    for bed in sample(beds(), count, seed) {
        for program in &programs {
            let regret = Regret::of(bed, program);
            let (way, best) = &regret.best;
            let way = if way.is_empty() { "the defaults" } else { way };
            let seconds = [&regret.defaults, best].map(|taken| taken.time.as_secs_f64());
            println!("{:.3}\t{:.4}\t{:.4}\t{}\t{bed}\t{way}", regret.times(), seconds[0], seconds[1], regret.program);
            if shows {
                println!("    defaults: {}\n    fastest:  {}", regret.defaults.paths.join(", "), best.paths.join(", "));
            }
            let _ = std::io::stdout().flush();
            all.push(regret.times());
        }
    }
    all.sort_by(f64::total_cmp);
    let part = |of: f64| all.iter().filter(|&&times| times <= of).count() as f64 / all.len() as f64 * 100.0;
    println!(
        "{} cases: median {:.3}, worst {:.3}; {:.0} % up to 1.05, {:.0} % up to 1.3",
        all.len(),
        all[all.len() / 2],
        all[all.len() - 1],
        part(1.05),
        part(1.3)
    );
    ExitCode::SUCCESS
}
