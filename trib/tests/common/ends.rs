//! Tests every option of every command with extreme numbers: the command ends by itself, with little time and memory,
//! and each error is one line.
//!
//! Commands and options are those that `--help` lists, so a new one is tested too. All options with a value are given
//! numbers, also those that expect none.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::extremes::{CAPTURE, COMMANDS, NAME, PROGRAM};
use tributary_testing::small;

/// Limits of a run: memory in KiB, length of files in KiB or half of that, and seconds of processor time, which do not
/// depend on what else runs.
const LIMITS: &str = "ulimit -v 4194304; ulimit -f 1048576; ulimit -t 20";

const EXTREMES: [&str; 6] = ["0", "-1", "2147483648", "4611686018427387904", "18446744073709551615", "nan"];

/// Extreme values for options with several numbers, as `XxYxZ` or `MIN..MAX`.
const JOINED: [&str; 6] = [
    "0x0",
    "4294967295x4294967295",
    "18446744073709551615x18446744073709551615",
    "2147483648x2147483648x2147483648",
    "18446744073709551615x2x2x2",
    "0..18446744073709551615",
];

/// Pattern with which options that all patterns share are tested.
const COMMON_PATTERN: &str = "ior";

pub fn run(directory: &Path, arguments: &[String]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{LIMITS}; exec \"$0\" \"$@\""), PROGRAM]).args(arguments);
    command.env_remove("TRIB_HINTS").env_remove("TRIB_HINTS_FILE").env("TMPDIR", directory);
    command.current_dir(directory).output().unwrap()
}

pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

/// Contents of `--help` of a command.
#[derive(Default)]
struct Help {
    commands: Vec<String>,
    patterns: Vec<String>,
    options: Vec<Flag>,
}

/// Option with a value.
struct Flag {
    name: String,
    /// True if the value is several numbers.
    is_joined: bool,
    /// True if the option belongs to one pattern only.
    is_own: bool,
}

fn help(directory: &Path, path: &[String]) -> Help {
    let output = run(directory, &[path, &["--help".to_string()]].concat());
    assert!(output.status.success(), "{path:?} --help: {}", String::from_utf8_lossy(&output.stderr));
    let (mut help, mut section) = (Help::default(), String::new());
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        if !line.starts_with(' ') {
            section = line.trim_end_matches(':').to_string();
        }
        let item = line.trim_start();
        let first = item.split_whitespace().next().unwrap_or_default();
        let is_named = line.starts_with("  ") && !line.starts_with("   ");
        match section.as_str() {
            commands if is_named && commands.starts_with("Commands") => help.commands.push(first.to_string()),
            "Patterns" if is_named => help.patterns.push(first.to_string()),
            "Examples" | "Example" => {}
            _ if item.starts_with('-') && line.find('-') <= Some(8) => {
                let long = item.split_whitespace().find(|word| word.starts_with("--"));
                let value = item.split("  ").next().and_then(|option| option.split_once('<'));
                if let (Some(long), Some((_, value))) = (long, value) {
                    let is_joined = value.contains('x') || value.contains("..");
                    let name = long.to_string();
                    help.options.push(Flag { name, is_joined, is_own: section == "Parameters" });
                }
            }
            _ => {}
        }
    }
    help
}

/// Returns the paths of all commands without subcommands, with their help.
fn leaves(directory: &Path, path: &[String]) -> Vec<(Vec<String>, Help)> {
    let help = help(directory, path);
    let below: Vec<Vec<String>> =
        help.commands.iter().map(|name| [path, std::slice::from_ref(name)].concat()).collect();
    let mut all: Vec<_> = below.iter().flat_map(|path| leaves(directory, path)).collect();
    if all.is_empty() || !help.options.is_empty() {
        all.push((path.to_vec(), help));
    }
    all
}

/// Returns the command lines that test one command: its options one after the other, each with every extreme.
fn runs(directory: &Path, path: &[String], help: &Help, patterns: &[Vec<String>]) -> Vec<Vec<String>> {
    let name = path.join(" ");
    let base = COMMANDS.iter().find(|(known, _)| *known == name);
    let base = base.unwrap_or_else(|| panic!("{NAME} {name}: no row of COMMANDS says how to make it do little")).1;
    let base = words(&base.replace("DIR", &directory.display().to_string()).replace("CAPTURE", CAPTURE));
    if help.patterns.is_empty() {
        return with_extremes(&[path, &base].concat(), help.options.iter());
    }
    let mut all = Vec::new();
    let mut tried = BTreeSet::new();
    for pattern in patterns.iter().filter(|pattern| tried.insert(pattern[0].clone())) {
        let with_pattern = [path, &pattern[..1]].concat();
        let options = self::help(directory, &with_pattern).options;
        let meant = options.iter().filter(|option| option.is_own || pattern[0] == COMMON_PATTERN);
        let has_ranks = pattern[0] == "wrf" || base.iter().any(|word| word == "--ranks");
        let ranks = if has_ranks { Vec::new() } else { words("--ranks 4") };
        all.extend(with_extremes(&[path, pattern, &base, &ranks].concat(), meant));
    }
    all
}

/// Returns the command line with each option at each extreme, in place of a value that it may have there.
fn with_extremes<'a>(line: &[String], options: impl Iterator<Item = &'a Flag>) -> Vec<Vec<String>> {
    let with = |option: &str, value: &str| {
        let mut line = line.to_vec();
        if let Some(at) = line.iter().position(|word| word == option) {
            line.drain(at..at + 2);
        }
        line.push(format!("{option}={value}"));
        line
    };
    let values = |option: &Flag| EXTREMES.iter().chain(if option.is_joined { &JOINED[..] } else { &[] });
    options.flat_map(|option| values(option).map(|value| with(&option.name, value)).collect::<Vec<_>>()).collect()
}

/// Returns what is wrong with how a run ended; none if all is right.
pub fn objection(output: &Output) -> Option<String> {
    let said = String::from_utf8_lossy(&output.stderr);
    let lines = said.trim_end().lines().filter(|line| line.starts_with(&format!("{NAME}: "))).count();
    match output.status.code() {
        None => Some(format!("{}: {said}", output.status)),
        Some(_) if said.contains("panicked") || said.contains("internal error") => Some(said.into_owned()),
        Some(0) => None,
        Some(1 | 2) if lines == 1 && said.trim_end().lines().count() == 1 => None,
        Some(code) => Some(format!("exit code {code}: {said}")),
    }
}

/// Tests every option of every command of the program in a directory that has the files of [`COMMANDS`]; at least
/// `least` runs.
pub fn every_option(directory: &Path, least: usize) {
    let mut patterns = small::patterns(directory);
    std::fs::write(directory.join("trace.dat"), small::trace()).unwrap();
    patterns.push(vec!["wrf".into(), "--trace".into(), directory.join("trace.dat").display().to_string()]);
    let leaves = leaves(directory, &[]);
    let all: Vec<_> = leaves
        .iter()
        .filter(|(path, _)| !path.is_empty())
        .flat_map(|(path, help)| runs(directory, path, help, &patterns))
        .collect();
    assert!(all.len() > least, "{} runs: the help is not read any more", all.len());
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |cores| cores.get()) {
            scope.spawn(|| {
                while let Some(line) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(why) = objection(&run(directory, line)) {
                        failures.lock().unwrap().push(format!("{NAME} {}\n    {why}", line.join(" ")));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} runs:\n{}", failures.len(), all.len(), failures.join("\n"));
}
