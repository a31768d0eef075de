//! Counts the instructions of the hot loops, and fails if one takes more than its limit: this guards speed without
//! depending on time.
//!
//!     cargo run --release -p tributary-benches             # compares with benches/instructions.txt
//!     cargo run --release -p tributary-benches -- --renew  # writes that file
//!
//! Valgrind's callgrind runs this program again for each loop, and counts only its second call, inside
//! [`tributary_counted`]. Two runs give the same count. Counts depend on the processor architecture and, by a few per cent,
//! on the compiler.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use tributary_benches::LOOPS;

/// Path of the file of reference counts: lines of architecture, loop, instructions.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.txt");
/// Number of per cent by which a count may exceed the count in the file: compilers, and memory copies of other
/// processors, differ a little.
const MARGIN_PER_CENT: u64 = 15;
const RENEW: &str = "cargo run --release -p tributary-benches -- --renew";

type Counts = BTreeMap<String, u64>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["--once", name] => once(name),
        [] => count_all().and_then(|counts| compare(&counts)),
        ["--renew"] => count_all().and_then(|counts| renew(&counts)),
        _ => Err(format!("arguments {arguments:?} are not known; allowed: --renew")),
    };
    outcome.err().map_or(ExitCode::SUCCESS, |error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

/// Calls `call`. Callgrind finds this function by name and counts only while it runs.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn tributary_counted(call: &mut &mut dyn FnMut()) {
    call();
}

/// Runs a loop twice; only the second run is counted.
fn once(name: &str) -> Result<(), String> {
    let hot = LOOPS.iter().find(|hot| hot.name == name).ok_or_else(|| format!("no loop {name}"))?;
    (hot.run)(&|mut call| {
        call();
        tributary_counted(&mut call);
        Duration::ZERO
    });
    Ok(())
}

fn count_all() -> Result<Counts, String> {
    if cfg!(debug_assertions) {
        return Err("this is a debug build; allowed: cargo run --release -p tributary-benches".to_string());
    }
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    LOOPS.iter().map(|hot| Ok((hot.name.to_string(), count(hot.name, directory.path())?))).collect()
}

fn count(name: &str, directory: &Path) -> Result<u64, String> {
    let profile = directory.join(name);
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--quiet", "--toggle-collect=tributary_counted"]);
    valgrind.arg(format!("--callgrind-out-file={}", profile.display())).arg(program).args(["--once", name]);
    let done = valgrind.output().map_err(|error| {
        format!(
            "valgrind cannot be run ({error}); it counts the instructions (Debian, Ubuntu: apt-get install valgrind)"
        )
    })?;
    let said = || String::from_utf8_lossy(&done.stderr).into_owned();
    if !done.status.success() {
        return Err(format!("{name} under valgrind: {}\n{}", done.status, said()));
    }
    let profile = std::fs::read_to_string(&profile).map_err(|error| format!("{name}: {error}"))?;
    let total = profile.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    total.filter(|count| *count > 0).ok_or_else(|| format!("{name}: callgrind counted nothing\n{}", said()))
}

fn compare(counts: &Counts) -> Result<(), String> {
    let kept = kept()?;
    let mut errors = Vec::new();
    for (name, &count) in counts {
        let Some(&before) = kept.get(&key(name)) else {
            errors.push(format!("{name}: {count} instructions, and no count of {} for it", std::env::consts::ARCH));
            continue;
        };
        let limit = before + before * MARGIN_PER_CENT / 100;
        let change = (count as f64 / before as f64 - 1.0) * 100.0;
        println!("{name:<28} {count:>12} instructions, {change:+6.1} %, limit {limit:>12}");
        if count > limit {
            errors.push(format!(
                "{name}: {count} instructions; limit {limit}, which is {MARGIN_PER_CENT} % above {before}"
            ));
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    let way_out = format!("make it faster again; or, if the change is worth it, renew {FILE}: {RENEW}");
    Err(format!("{}\n{way_out}", errors.join("\n")))
}

/// Writes the counts of this architecture into the file; counts of other architectures stay as they are.
fn renew(counts: &Counts) -> Result<(), String> {
    let mut all = kept().unwrap_or_default();
    let own = format!("{} ", std::env::consts::ARCH);
    all.retain(|key, _| !key.starts_with(&own));
    all.extend(counts.iter().map(|(name, count)| (key(name), *count)));
    let head = format!("# Instructions of the hot loops; limits are {MARGIN_PER_CENT} % above. Renewed by: {RENEW}\n");
    let lines: String = all.iter().map(|(key, count)| format!("{key} {count}\n")).collect();
    print!("{lines}");
    std::fs::write(FILE, head + &lines).map_err(|error| format!("{FILE}: {error}"))
}

fn key(name: &str) -> String {
    format!("{} {name}", std::env::consts::ARCH)
}

fn kept() -> Result<Counts, String> {
    let text = std::fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}; make it with {RENEW}"))?;
    let line = |line: &str| {
        let (key, count) = line.rsplit_once(' ')?;
        Some((key.to_string(), count.parse().ok()?))
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|text| line(text).ok_or_else(|| format!("{FILE}: {text:?} is not architecture, loop, instructions")))
        .collect()
}
