//! `trib-lab import`: makes a capture from the records of Darshan's extended tracing (DXT) about a file.
//!
//! | module | holds |
//! |---|---|
//! | `log` | what a log says, in whichever form it came |
//! | `text` | the text that `darshan-dxt-parser` prints |
//! | `json` | the records of PyDarshan, as JSON |
//! | `windows` | which segments are taken for one call |
//! | `calls` | the capture: header, and the calls of each rank |

mod calls;
mod json;
mod log;
mod text;
mod windows;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

use tributary::engine::capture::write;

use self::log::{Log, Module};
use self::windows::{Window, windows};
use crate::cli::import::{ImportOptions, TraceModule};
use trib::numbers::{counted, grouped};
use trib::{Failure, say};

/// Writes the capture of one file of a log.
pub fn run(options: &ImportOptions) -> Result<(), Failure> {
    let log = read(options)?;
    let (file, module) = chosen(&log, options)?;
    let of_file = || log.traces.iter().filter(|trace| trace.file == file && trace.module == module);
    let mut calls: Vec<Window> = Vec::new();
    for direction in log::DIRECTIONS {
        let segments =
            of_file().flat_map(|trace| trace.segments(direction).iter().map(|segment| (trace.rank, *segment)));
        let of_direction = windows(direction, segments.collect(), options.gap);
        calls.extend(of_direction.map_err(|wrong| Failure::new(format!("{file}: {wrong}")))?);
    }
    if calls.is_empty() {
        return Err(Failure::new(format!(
            "{file}: {module} has no byte of it; allowed: a file that was written or read"
        )));
    }
    calls.sort_by(|one, other| one.start.total_cmp(&other.start));
    let header = calls::header(&log, &file, module, &calls)?;
    let outcomes = calls::outcomes(module, &calls);
    let mut of_rank = |rank| calls::of_rank(rank, &calls);
    write(&options.output, &header, &outcomes, &mut of_rank)?;
    let segments: usize = calls.iter().map(|call| call.segments.len()).sum();
    let incomplete = if log.incomplete { "; the log says that its trace is incomplete" } else { "" };
    say(format!(
        "{}: {} of {file} by {}, {} of {module}{incomplete}",
        options.output.display(),
        counted(calls.len() as u64, "call"),
        counted(header.ranks as u64, "rank"),
        counted(segments as u64, "segment"),
    ))
}

/// Reads the log. A log that begins with a brace is JSON.
fn read(options: &ImportOptions) -> Result<Log, Failure> {
    let shown = options.log.display();
    let about = |wrong: String| Failure::new(format!("{shown}: {wrong}"));
    let file = std::fs::File::open(&options.log).map_err(|cause| about(cause.to_string()))?;
    let mut input = BufReader::new(file);
    let first = input.fill_buf().map_err(|cause| about(cause.to_string()))?;
    let is_json = first.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let log = if is_json { json::read(input) } else { text::read(input) }.map_err(about)?;
    match log.traces.is_empty() {
        true => Err(about("it has no trace of a file; allowed: a log that was made with DXT_ENABLE_IO_TRACE=1".into())),
        false => Ok(log),
    }
}

/// Returns the file and the module that the options ask for. If both modules recorded the file, MPI-IO is taken, which
/// has the requests of the ranks.
fn chosen(log: &Log, options: &ImportOptions) -> Result<(String, Module), Failure> {
    let asked = options.module.map(|module| match module {
        TraceModule::Mpiio => Module::Mpiio,
        TraceModule::Posix => Module::Posix,
    });
    let mut files: BTreeMap<&str, (Module, u64)> = BTreeMap::new();
    for trace in log.traces.iter().filter(|trace| asked.is_none_or(|asked| trace.module == asked)) {
        let bytes: u64 = trace.writes.iter().chain(&trace.reads).map(|segment| segment.len).sum();
        let known = files.entry(&trace.file).or_insert((trace.module, 0));
        match trace.module.cmp(&known.0) {
            std::cmp::Ordering::Less => *known = (trace.module, bytes),
            std::cmp::Ordering::Equal => known.1 = known.1.saturating_add(bytes),
            std::cmp::Ordering::Greater => {}
        }
    }
    let listed = || {
        let mut all: Vec<_> = files.iter().collect();
        all.sort_by_key(|(_, (module, bytes))| (*module, std::cmp::Reverse(*bytes)));
        let one =
            |(file, (module, bytes)): &(&&str, &(Module, u64))| format!("{file} ({module}, {} bytes)", grouped(*bytes));
        all.iter().take(MOST_LISTED).map(one).collect::<Vec<_>>().join(", ")
            + if all.len() > MOST_LISTED { ", ..." } else { "" }
    };
    match (&options.file, files.len()) {
        (_, 0) => Err(Failure::new("--module: the log has no trace of it; allowed: mpiio or posix, as the log has")),
        (Some(file), _) => match files.get(file.as_str()) {
            Some((module, _)) => Ok((file.clone(), *module)),
            None => Err(Failure::new(format!("--file {file}: not in the log; allowed: {}", listed()))),
        },
        (None, 1) => files
            .iter()
            .next()
            .map(|(file, known)| (file.to_string(), known.0))
            .ok_or_else(|| Failure::missing("--file")),
        (None, count) => Err(Failure::new(format!("--file is missing: the log has {count} files: {}", listed()))),
    }
}

/// Maximum number of files that an error lists: files of MPI-IO first, and those with the most bytes.
const MOST_LISTED: usize = 10;
