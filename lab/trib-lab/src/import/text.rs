//! Reads the text that `darshan-dxt-parser` prints: lines of `#` that describe a rank's trace of a file, then a line
//! for each segment.
//!
//! The columns of a segment are module, rank, `write` or `read`, number, offset, length, start and end in seconds.
//! Later columns (servers, threads) differ by version and are ignored.

use std::io::BufRead;

use super::log::{Log, Module, Segment, Trace};

/// State of reading: the log so far.
#[derive(Default)]
struct Reader {
    log: Log,
    module: Option<Module>,
    /// Numbers of segments that the current trace announces: writes, reads.
    announced: (usize, usize),
    seen: bool,
}

/// Reads a log.
///
/// # Errors
/// The mistake in the text, with its line number.
pub fn read(input: impl BufRead) -> Result<Log, String> {
    let mut reader = Reader::default();
    for (number, line) in (1..).zip(input.split(b'\n')) {
        let line = line.map_err(|cause| cause.to_string())?;
        let line = String::from_utf8_lossy(&line);
        reader.line(line.trim_end()).map_err(|wrong| format!("line {number}: {wrong}"))?;
    }
    reader.whole().map_err(|wrong| format!("at its end: {wrong}"))?;
    match reader.seen {
        true => Ok(reader.log),
        false => {
            Err("no text of a Darshan log; allowed: what `darshan-dxt-parser LOG` prints, or PyDarshan's records"
                .into())
        }
    }
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        match line.strip_prefix('#').map(str::trim) {
            Some(about) => self.about(about),
            None if line.is_empty() => Ok(()),
            None => self.segment(line),
        }
    }

    fn about(&mut self, about: &str) -> Result<(), String> {
        if let Some(trace) = about.strip_prefix("DXT, ") {
            return self.describe(trace);
        }
        if let Some(stripes) =
            about.strip_prefix("[Component ").and_then(|_| pair(about, "stripe_size: ", "stripe_count: "))
        {
            // If a file has several layouts, the last one extends to its end.
            self.current()?.stripes = Some(stripes);
        } else if let Some(version) = about.strip_prefix("darshan log version:") {
            (self.seen, self.log.version) = (true, version.trim().to_string());
        } else if let Some(program) = about.strip_prefix("exe:") {
            self.log.program = program.trim().to_string();
        } else if let Some(ranks) = about.strip_prefix("nprocs:") {
            let ranks = ranks.trim();
            self.log.ranks = Some(ranks.parse().map_err(|_| format!("nprocs: {ranks}; allowed: 1 or more"))?);
        } else if let Some(started) = about.strip_prefix("start_time:") {
            self.log.started = started.trim().parse().ok().filter(|it: &f64| it.is_finite()).unwrap_or(0.0);
        } else if about == "DXT_MPIIO module data" {
            self.module = Some(Module::Mpiio);
        } else if about == "DXT_POSIX module data" {
            self.module = Some(Module::Posix);
        }
        self.log.incomplete |= about.starts_with("*WARNING*") && about.contains("incomplete");
        Ok(())
    }

    /// Reads a line of the description of a trace.
    fn describe(&mut self, about: &str) -> Result<(), String> {
        if let Some(file) = about.strip_prefix("file_id: ").and_then(|rest| Some(rest.split_once(", file_name: ")?.1)) {
            self.whole()?;
            let module = self.module.ok_or("a trace before `DXT_... module data`; allowed: after it")?;
            let (rank, host, file_system) = (usize::MAX, String::new(), String::new());
            let (file, writes, reads) = (file.to_string(), Vec::new(), Vec::new());
            self.log.traces.push(Trace { module, file, rank, host, file_system, stripes: None, writes, reads });
            (self.announced, self.seen) = ((0, 0), true);
        } else if let Some(rest) = about.strip_prefix("rank: ") {
            let (rank, host) = rest.split_once(", hostname: ").unwrap_or((rest, ""));
            let trace = self.current()?;
            trace.rank = rank.parse().map_err(|_| format!("rank: {rank}; allowed: 0 or more"))?;
            trace.host = host.to_string();
        } else if about.starts_with("write_count: ") {
            self.current()?;
            let announced = pair(about, "write_count: ", "read_count: ");
            self.announced = announced.ok_or_else(|| format!("{about}; allowed: write_count: N, read_count: N"))?;
        } else if let Some((_, file_system)) = about.rsplit_once(", fs_type: ") {
            self.current()?.file_system = file_system.to_string();
        } else if let Some(stripes) = pair(about, "stripe_size: ", "stripe_count: ") {
            self.current()?.stripes = Some(stripes);
        }
        Ok(())
    }

    fn segment(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split_whitespace();
        let module = match words.next() {
            Some("X_MPIIO") => Module::Mpiio,
            Some("X_POSIX") => Module::Posix,
            _ => {
                return Err(
                    "no line of darshan-dxt-parser; allowed: X_MPIIO, X_POSIX, or one that begins with #".into()
                );
            }
        };
        let mut word = |what: &str| words.next().ok_or_else(|| format!("cut before its {what}; allowed: a whole line"));
        let (rank, direction, index) = (word("rank")?, word("direction")?, word("number")?);
        let (offset, len) = (bytes("offset", word("offset")?)?, bytes("length", word("length")?)?);
        let times = (seconds(word("start")?)?, seconds(word("end")?)?);
        let segment = Segment::new(offset, len, times)?;
        let trace = self.current()?;
        if module != trace.module || rank.parse() != Ok(trace.rank) {
            let (rank_of, module_of) = (trace.rank, trace.module);
            return Err(format!("a segment of rank {rank}; allowed: those of rank {rank_of} in {module_of}"));
        }
        let list = match direction {
            "write" => &mut trace.writes,
            "read" => &mut trace.reads,
            _ => return Err(format!("{direction}; allowed: write, read")),
        };
        if index.parse() != Ok(list.len()) {
            return Err(format!("{direction} {index}; allowed: {}, the next", list.len()));
        }
        list.push(segment);
        Ok(())
    }

    fn current(&mut self) -> Result<&mut Trace, String> {
        self.log.traces.last_mut().ok_or_else(|| "no `# DXT, file_id` before it; allowed: a whole text".to_string())
    }

    /// Checks that the last trace has a rank, and as many segments as it announced.
    fn whole(&self) -> Result<(), String> {
        let Some(trace) = self.log.traces.last() else { return Ok(()) };
        let (found, (writes, reads)) = ((trace.writes.len(), trace.reads.len()), self.announced);
        match (trace.rank, found == self.announced) {
            (usize::MAX, _) => Err(format!("cut: the trace of {} has no rank", trace.file)),
            (_, true) => Ok(()),
            (rank, false) => Err(format!(
                "cut: rank {rank} has {} writes and {} reads of {}; allowed: {writes} and {reads}, as it says",
                found.0, found.1, trace.file
            )),
        }
    }
}

/// Returns the two numbers that stand in `text` behind the names `one` and `other`.
fn pair<A: std::str::FromStr, B: std::str::FromStr>(text: &str, one: &str, other: &str) -> Option<(A, B)> {
    let number = |name: &str| text.split_once(name).and_then(|(_, rest)| rest.split([',', ' ']).next());
    Some((number(one)?.parse().ok()?, number(other)?.parse().ok()?))
}

fn bytes(what: &str, word: &str) -> Result<i128, String> {
    word.parse().map_err(|_| format!("{what} {word}; allowed: 0 to 2^63 - 1"))
}

fn seconds(word: &str) -> Result<f64, String> {
    word.parse().map_err(|_| format!("time {word}; allowed: seconds"))
}
