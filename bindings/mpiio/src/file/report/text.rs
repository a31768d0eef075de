//! The sentences of a report's table, and the table itself.

use std::collections::BTreeMap;

use tributary::engine::{ExpectedSeconds, Limit, LimitedBy, Seconds};

use super::{Engine, Report};
use crate::file::counts::{LeftToMpi, Moved, Ran};
use crate::file::deletions::DeletionsInVain;
use crate::file::failures::FailedCalls;
use crate::mpi::interposition;

impl Report {
    /// Returns the table.
    pub(super) fn text(&self) -> String {
        let mut rows =
            vec![("tributary", self.file.clone()), ("library", format!("{}, {}", self.version, self.library))];
        rows.extend(interposition::is_component().then(|| ("loaded as", self.loaded.to_string())));
        rows.extend(self.engine.iter().flat_map(|engine| engine.rows(self.exchanged)));
        rows.extend(self.not_taken.iter().map(|why| ("left to MPI", why.clone())));
        let ran = |(call, ran): (&String, &Ran)| ("accelerated", format!("{} {call}, {} bytes", ran.calls, ran.bytes));
        rows.extend(self.accelerated.iter().map(ran));
        let left = |all: &LeftToMpi| ("passed through", left_text(all));
        rows.extend(self.passed_through.iter().map(left));
        rows.extend(self.could_be_collective.iter().map(|gain| ("to gain", gain.text())));
        rows.extend(self.failed.iter().map(|failed| ("failed", failed_text(failed))));
        rows.extend((self.past_cache > 0).then(|| ("past the cache", past_cache_text(self.past_cache))));
        rows.extend(self.deletions_in_vain.iter().map(|vain| ("deleted in vain", deleted_text(vain))));
        let added =
            |hint: &str| format!("{hint}: PnetCDF calls MPI-IO in place of GIO, which this library does not see");
        rows.extend(self.hint_added.map(|hint| ("hint added", added(hint))));
        rows.extend(self.hints_not_used.iter().map(|unused| ("hint not used", unused.to_string())));
        let path = |(path, calls): (&String, &u64)| ("path", format!("{calls} {} {path}", plural(*calls, "call")));
        rows.extend(self.paths_in_words.iter().map(path));
        if self.engine.as_ref().is_some_and(|engine| engine.nodes > 1) && !self.accelerated.is_empty() {
            rows.push(("between hosts", format!("{} bytes", self.traffic.between_hosts)));
        }
        if self.exchanged {
            rows.push(("plans used again", self.plans_reused.to_string()));
        }
        if !self.accelerated.is_empty() {
            rows.push(("seconds", times(&self.seconds)));
            // A limit is not worth a line if the calls took less time than this.
            let limit = self.limit.iter().filter(|_| self.seconds.total >= 1e-3);
            rows.extend(limit.map(|limit| ("limit", limit_text(limit))));
            rows.extend(self.expected.map(|expected| ("expected", expected_text(expected))));
            rows.extend(self.speed().map(|speed| ("speed", speed)));
        }
        rows.extend(others_text(&self.other_calls).map(|text| ("other calls", text)));
        bordered(&rows, columns(std::env::var("COLUMNS").ok().as_deref()))
    }

    /// Returns the bytes of all accelerated calls divided by their seconds, as text; None if there were no such
    /// calls.
    fn speed(&self) -> Option<String> {
        let bytes: u64 = self.accelerated.values().map(|ran| ran.bytes).sum();
        // The seconds of several files are those of all ranks together.
        if self.files.is_some() {
            return None;
        }
        let rate = bytes as f64 / f64::from(1 << 20) / self.seconds.total;
        let digits = if rate < 10.0 { 2 } else { 0 };
        (bytes > 0 && self.seconds.total > 0.0).then(|| format!("{rate:.digits$} MiB/s"))
    }
}

impl Engine {
    /// Returns the rows of the report about the engine. `exchanged` is true if any call exchanged data by messages:
    /// only then there are rows about kernels and aggregators.
    fn rows(&self, exchanged: bool) -> Vec<(&'static str, String)> {
        let Self { ranks, nodes, driver, aggregators, components, .. } = self;
        let hosts = if *nodes == 1 { "host" } else { "hosts" };
        let mut rows = vec![("ranks", format!("{ranks} on {nodes} {hosts}, driver {driver}"))];
        if *components > 1 {
            let taken = format!(
                "the library uses the one with most stripes of {components} in the composite layout for the whole file"
            );
            rows.push(("component", taken));
        }
        rows.extend(self.no_shared_memory.iter().map(|why| ("shared memory", format!("none: {why}"))));
        if exchanged {
            rows.extend([
                ("aggregators", aggregators.to_string() + &self.window.map_or(String::new(), windows)),
                ("metadata", format!("{}, throttle {}", self.kernel_meta, self.throttle_meta)),
                ("data", format!("{}, throttle {}", self.kernel_data, self.throttle_data)),
            ]);
            rows.extend(self.learned.iter().map(|learned| ("learned", learned.to_string())));
        }
        rows
    }
}

/// Returns the size of windows, as text that follows the number of aggregators.
fn windows(bytes: u64) -> String {
    format!(", windows of {:.0} KiB", (bytes as f64 / 1024.0).max(1.0))
}

/// Returns text about failed calls.
fn failed_text(FailedCalls { calls, first }: &FailedCalls) -> String {
    let first =
        first.as_ref().map_or(String::new(), |first| format!("; the first error that was not printed: {first}"));
    format!("{calls} {}{first}", plural(*calls, "call"))
}

/// Returns `word`, with an `s` unless `count` is 1.
pub(super) fn plural(count: u64, word: &str) -> String {
    if count == 1 { word.to_string() } else { format!("{word}s") }
}

/// Maximum width of a report, in columns, unless the variable COLUMNS is set. A longer word makes the report wider.
const COLUMNS: usize = 110;
/// Minimum width that COLUMNS may set.
const NARROWEST: usize = 60;
/// Number of columns that the border and the space between the two columns take.
const BESIDE: usize = 7;

/// Returns the maximum width of a report for this value of COLUMNS. `trib run` sets it for the ranks, which have no terminal.
fn columns(named: Option<&str>) -> usize {
    let named = named.and_then(|columns| columns.trim().parse().ok()).filter(|&columns| columns > 0);
    named.map_or(COLUMNS, |columns: usize| columns.max(NARROWEST))
}

/// Splits a line at blanks into parts of at most `width` columns. A longer word stays whole, so that the name of a
/// file can be copied.
fn folded(line: &str, width: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    for word in line.split(' ') {
        match parts.last_mut() {
            Some(part) if part.is_empty() => part.push_str(word),
            Some(part) if part.chars().count() + 1 + word.chars().count() <= width => *part += &format!(" {word}"),
            _ => parts.push(word.to_string()),
        }
    }
    parts
}

/// Returns a table of two columns in a border, folded at `width` columns. A value may have several lines, as a file's name may.
fn bordered(rows: &[(&str, String)], width: usize) -> String {
    let first = rows.iter().map(|(what, _)| what.len()).max().unwrap_or(0);
    let width = width.saturating_sub(first + BESIDE);
    let lines = rows.iter().flat_map(|(_, value)| value.lines()).flat_map(|line| folded(line, width));
    let second = lines.map(|line| line.chars().count()).max().unwrap_or(0);
    let line = "─".repeat(first + second + 5);
    let mut text = format!("┌{line}┐\n");
    for (what, value) in rows {
        for (number, value) in value.lines().flat_map(|line| folded(line, width)).enumerate() {
            let what = if number == 0 { *what } else { "" };
            text += &format!("│ {what:first$}   {value:second$} │\n");
        }
    }
    text + &format!("└{line}┘")
}

/// Returns the total seconds, and the seconds of each phase that took any, as text. Each number is the maximum over
/// the ranks.
fn times(seconds: &Seconds) -> String {
    let &Seconds { flatten, metadata, data, placement, io, agreement, total, .. } = seconds;
    let phases = [
        ("flatten", flatten),
        ("metadata", metadata),
        ("data", data),
        ("placement", placement),
        ("i/o", io),
        ("agreement", agreement),
    ];
    // A shorter time would be printed as 0.
    let taken = phases.into_iter().filter(|(_, seconds)| *seconds >= 5e-5);
    let taken: Vec<String> = taken.map(|(phase, seconds)| format!("{phase} {seconds:.4}")).collect();
    let all = if taken.is_empty() { String::new() } else { format!(": {}", taken.join(", ")) };
    format!("{total:.4} in all{all}")
}

/// Returns calls that MPI ran, as text.
fn left_text(LeftToMpi { call, why, calls, moved }: &LeftToMpi) -> String {
    let Some(Moved { bytes, seconds, sizes: [least, median, largest] }) = moved else {
        return format!("{calls} {call}: {why}");
    };
    let sizes = match least == largest {
        true => format!("{least} each"),
        false => format!("of {least} to {largest}, median {median}"),
    };
    format!("{calls} {call}: {why}, {bytes} bytes, {sizes}; {seconds:.4} s of all ranks together")
}

/// Returns the seconds of functions that neither read nor write, as text; None if they took no time.
fn others_text(others: &BTreeMap<String, f64>) -> Option<String> {
    let mut others: Vec<_> = others.iter().map(|(call, seconds)| (&**call, *seconds)).collect();
    others.sort_by(|one, other| other.1.total_cmp(&one.1));
    let all: f64 = others.iter().map(|(_, seconds)| seconds).sum();
    // A shorter time would be printed as 0.
    let taken = others.iter().filter(|(_, seconds)| *seconds >= 5e-5);
    let taken: Vec<String> = taken.map(|(call, seconds)| format!("{call} {seconds:.4}")).collect();
    (!taken.is_empty()).then(|| format!("{all:.4} s: {}", taken.join(", ")))
}

/// Returns the number of independent calls past the cache, as text.
fn past_cache_text(calls: u64) -> String {
    format!("{calls} independent {}, which ranks on all hosts see at once", plural(calls, "call"))
}

/// Returns the deletions that found no file, with advice, as text.
fn deleted_text(&DeletionsInVain { calls, ranks }: &DeletionsInVain) -> String {
    format!("{calls} MPI_File_delete of {ranks} ranks found no file; each asks the file system: let one rank delete")
}

/// Returns the expected times, as text.
fn expected_text(ExpectedSeconds { exchange, hosts, took }: ExpectedSeconds) -> String {
    format!("{exchange:.4} through aggregators, {hosts:.4} each host its own part; these calls took {took:.4}")
}

/// Returns the limit of the calls' speed, as text.
fn limit_text(limit: &Limit) -> String {
    let Limit { by, file, exchange, of_the_longer } = limit;
    let by = match by {
        LimitedBy::File => "file",
        LimitedBy::Exchange => "exchange",
    };
    format!("the {by}: i/o {file:.4}, exchange {exchange:.4}; calls took {of_the_longer:.2} times as long as the {by}")
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, NARROWEST, Seconds, bordered, columns, limit_text, times};

    #[test]
    fn columns_are_aligned_in_a_border() {
        let rows = [("tributary", "/scratch/år.nc".to_string()), ("seconds", "1\n23".to_string())];
        let expected = "\
┌────────────────────────────┐
│ tributary   /scratch/år.nc │
│ seconds     1              │
│             23             │
└────────────────────────────┘";
        assert_eq!(bordered(&rows, COLUMNS), expected);
    }

    #[test]
    fn phases_without_time_are_left_out() {
        let seconds = Seconds { io: 0.25, agreement: 4e-5, total: 0.5, ..Seconds::default() };
        assert_eq!(times(&seconds), "0.5000 in all: i/o 0.2500");
        assert_eq!(times(&Seconds::default()), "0.0000 in all");
    }

    #[test]
    fn a_limit_is_a_line() {
        let seconds = Seconds { io: 0.35, wait: 0.15, total: 0.4, ..Seconds::default() };
        let text = seconds.limit().as_ref().map(limit_text);
        assert_eq!(
            text.as_deref(),
            Some("the file: i/o 0.3500, exchange 0.2500; calls took 1.14 times as long as the file")
        );
    }

    #[test]
    fn long_lines_are_folded_at_blanks() {
        let name = format!("/scratch/{}.nc", "x".repeat(120));
        let rows = [("hint not used", "a word ".repeat(40).trim().to_string()), ("speed", "1 MiB/s".to_string())];
        for width in [COLUMNS, 80, NARROWEST] {
            let text = bordered(&rows, width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert_eq!(text.split_whitespace().filter(|word| *word == "word").count(), 40, "{text}");
        }
        let text = bordered(&[("tributary", name.clone()), ("speed", "1 MiB/s".to_string())], COLUMNS);
        assert!(text.contains(&name), "{text}");
    }

    #[test]
    fn the_width_is_that_of_columns() {
        for (named, due) in
            [(None, COLUMNS), (Some("80"), 80), (Some("1"), NARROWEST), (Some("wide"), COLUMNS), (Some("0"), COLUMNS)]
        {
            assert_eq!(columns(named), due, "{named:?}");
        }
    }
}
