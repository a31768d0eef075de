//! Hints: all options of the library, with the same names in code, environment and files.
//!
//! The table in `rows.rs` is the only list of hints. It generates the struct, its defaults, the text form and
//! `docs/reference/hints.md`. A text is `key=value`, separated by `;` or newlines, with `#` comments to the end of the line:
//!
//! ```
//! use tributary::Hints;
//! let hints = Hints::parse("cb_nodes=4; cb_buffer_size=4MiB  # small machine\n trib_kernel=pairwise")?;
//! assert_eq!(hints.cb_buffer_size, Some(4 << 20));
//! # Ok::<(), tributary::Error>(())
//! ```
//!
//! Unknown keys are ignored, as MPI requires ([`Hints::unknown_keys`] returns them); an unknown key that begins with `trib_`
//! is an error. In descending precedence: arguments of the call, the environment variable `TRIB_HINTS`, the file that
//! `TRIB_HINTS_FILE` names, the defaults.
//! [`Environment`] adds hints for other MPI libraries: ROMIO's file of hints, Cray's hints by file name, variables of Intel and
//! Open MPI. The caller must pass the same hints on all ranks; [`crate::File::open`] checks this.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;

use tributary_base::wire::{Output, Wire};

use crate::drivers::placement::distinct;
use crate::drivers::{DriverHints, USUAL_WINDOW};
use crate::error::{Error, Result};
use crate::exchange::{BALANCED, Kernel};
use crate::schedule::{Throttle, ThrottleMode};

mod environment;
mod file_hints;
mod foreign;
pub mod internals;
mod names;
mod rows;
mod site;
mod values;

pub use environment::Environment;
pub use file_hints::{FileHints, HintSource, Unused};
pub use names::{DriverName, KernelHint, Limit, OnFailure, Overlap, PlacementHint, RankListHint, Switch};
pub use rows::Hints;
pub use site::{Log, Site};
pub(crate) use values::{SIZES, size};

use rows::{KEYS, Key};

/// Prefix of the keys that only this library has.
const OURS: &str = "trib_";

/// Maximum size of a file of hints, in bytes: enough for a list of a million ranks.
const LONGEST_FILE: u64 = 16 << 20;

/// A row of the table of hints, as text: key, value and documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintRow {
    /// Key of the hint.
    pub key: &'static str,
    /// The value in force, as text that [`Hints::set`] takes.
    pub value: String,
    /// Default value, as text in the same form.
    pub default: String,
    /// Unit of a value that is a number; empty for other values.
    pub unit: &'static str,
    /// The allowed values.
    pub allowed: &'static str,
    /// Description of the hint's effect.
    pub meaning: &'static str,
    /// Reason why a user sets the hint, in one sentence.
    pub when: &'static str,
}

impl Hints {
    /// Sets one hint. Keys of other libraries are ignored.
    ///
    /// # Errors
    /// [`Error::Hint`] for a value that is not allowed, [`Error::UnknownHint`] for an unknown key that begins with `trib_`. Nothing
    /// is changed then.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match find(key) {
            Some(row) if (row.set)(self, value.trim()) => Ok(()),
            Some(row) => Err(Error::hint(key, value.trim(), (row.allowed)())),
            None if key.starts_with(OURS) => Err(unknown_with(key)),
            None => Ok(()),
        }
    }

    /// Sets all hints of a text. If a key occurs twice, the last value counts.
    ///
    /// # Errors
    /// The errors of [`Hints::set`], and [`Error::Argument`] for a part that is not `key=value`; nothing is changed then.
    pub fn apply(&mut self, text: &str) -> Result<()> {
        let mut changed = self.clone();
        for (_, pair) in pairs(text) {
            let (key, value) =
                pair.map_err(|part| Error::argument("hints", part, "key=value, separated by ; or newlines"))?;
            changed.set(key, value)?;
        }
        *self = changed;
        Ok(())
    }

    /// Parses the hints of a text. Hints that the text does not set have their defaults.
    ///
    /// # Errors
    /// The errors of [`Hints::apply`].
    pub fn parse(text: &str) -> Result<Self> {
        let mut hints = Self::default();
        hints.apply(text)?;
        Ok(hints)
    }

    /// Returns an error for each key of a text that is a hint of no known library, with a similar key. [`Hints::parse`] ignores
    /// unknown keys, as MPI requires; a program that takes hints from its user can show these errors.
    ///
    /// ```
    /// # use tributary::Hints;
    /// let unknown: Vec<String> = Hints::unknown_keys("cb_node=2").map(|error| error.to_string()).collect();
    /// assert_eq!(unknown, ["hint cb_node does not exist; did you mean cb_nodes?"]);
    /// ```
    pub fn unknown_keys(text: &str) -> impl Iterator<Item = Error> {
        let keys = pairs(text).filter_map(|(_, pair)| Some(pair.ok()?.0));
        keys.filter(|key| find(key).is_none() && foreign::why_not(key) == foreign::UNKNOWN).map(unknown_with)
    }

    /// Reads the hints of a file. Hints that the file does not set have their defaults.
    ///
    /// # Errors
    /// The errors of [`Hints::apply`], and [`Error::Argument`] when the file cannot be read or is longer than 16 MiB.
    pub fn from_file(path: &Path) -> Result<Self> {
        Self::parse(&read_text("file of hints", path)?)
    }

    /// Reads the hints from the environment: `TRIB_HINTS`, the file that `TRIB_HINTS_FILE` names, and defaults, in
    /// descending precedence. The caller sets the arguments of a call in the result. A program with more rights than
    /// its user (set-user-ID) gets the defaults.
    ///
    /// # Errors
    /// The errors of [`Hints::from_file`].
    pub fn from_env() -> Result<Self> {
        Self::from_variables(|name| crate::variable(name).filter(|value| !value.is_empty()))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let mut hints = match variable("TRIB_HINTS_FILE") {
            Some(path) => Self::from_file(Path::new(&path))?,
            None => Self::default(),
        };
        if let Some(text) = variable("TRIB_HINTS") {
            let text =
                text.into_string().map_err(|text| Error::argument("TRIB_HINTS", text.display(), "UTF-8 text"))?;
            hints.apply(&text)?;
        }
        Ok(hints)
    }

    /// Returns the hints that differ from their defaults, as text that [`Hints::parse`] takes.
    pub fn to_text(&self) -> String {
        let default = Self::default();
        if *self == default {
            return String::new();
        }
        let values = KEYS.iter().map(|row| (row.key, (row.get)(self), (row.get)(&default)));
        values
            .filter(|(_, value, default)| value != default)
            .map(|(key, value, _)| format!("{key}={value}\n"))
            .collect()
    }

    /// Returns the value of the hint `key` as text for [`Hints::set`]; `None` if there is no such hint.
    pub fn get(&self, key: &str) -> Option<String> {
        find(key).map(|row| (row.get)(self))
    }

    /// Returns true if a hint has no effect unless ranks exchange data by messages.
    pub fn is_only_of_exchanges(key: &str) -> bool {
        find(key).is_some_and(|row| row.only_exchanged)
    }

    /// Returns all hints with their values, in the order of the documentation.
    pub fn table(&self) -> Vec<HintRow> {
        let default = Self::default();
        let row = |row: &Key| HintRow {
            key: row.key,
            value: (row.get)(self),
            default: (row.get)(&default),
            unit: row.unit,
            allowed: (row.allowed)(),
            meaning: row.meaning.trim(),
            when: row.when,
        };
        KEYS.iter().map(row).collect()
    }

    /// Returns the hints that concern a file-system driver, with windows of [`USUAL_WINDOW`] by default.
    pub fn for_driver(&self) -> DriverHints {
        DriverHints {
            striping_unit: self.striping_unit,
            striping_factor: self.striping_factor,
            start_iodevice: self.start_iodevice,
            overstriping_ratio: self.overstriping_ratio,
            cb_nodes: self.cb_nodes,
            cb_config_list: self.cb_config_list,
            cb_buffer_size: self.cb_buffer_size.unwrap_or(USUAL_WINDOW),
            direct_write: match self.direct_write {
                Switch::Enable => Some(true),
                Switch::Disable => Some(false),
                Switch::Automatic => None,
            },
            announces_writes: self.announce_writes,
            placement: self.placement.clone(),
        }
    }

    /// Returns the kernel that exchanges metadata (the ranks' access lists).
    pub fn metadata_kernel(&self) -> KernelHint {
        self.kernel_meta.unwrap_or(self.kernel)
    }

    /// Returns the kernel that exchanges the bytes of the file.
    pub fn data_kernel(&self) -> KernelHint {
        self.kernel_data.unwrap_or(self.kernel)
    }

    /// Returns the limit on outstanding messages in the metadata phase.
    pub fn metadata_limit(&self) -> Limit {
        self.limit_meta.unwrap_or(self.limit)
    }

    /// Returns the limit on outstanding messages in the data phase.
    pub fn data_limit(&self) -> Limit {
        self.limit_data.unwrap_or(self.limit)
    }

    /// Returns the throttle of the metadata phase; for `auto`, the throttle of the flat kernel.
    pub fn throttle_meta(&self) -> Throttle {
        self.throttle(self.metadata_kernel(), self.metadata_limit())
    }

    /// Returns the throttle of the data phase; for `auto`, the throttle of the flat kernel.
    pub fn throttle_data(&self) -> Throttle {
        self.throttle(self.data_kernel(), self.data_limit())
    }

    /// Returns the throttle of `kernel` if the hint about the limit says `limit`.
    pub fn throttle(&self, kernel: KernelHint, limit: Limit) -> Throttle {
        let kernel = self.outermost(kernel);
        kernel.throttle(match (limit, self.throttle_mode) {
            (Limit::None, _) => Throttle::NONE,
            (Limit::At(limit), mode) => Throttle { limit: Some(limit), mode: mode.unwrap_or(ThrottleMode::Batch) },
            (Limit::Default, mode) => kernel.default_throttle(mode.unwrap_or(ThrottleMode::Sliding)),
        })
    }

    /// Returns the kernel between senders and aggregators; for `auto`, the flat kernel.
    pub fn outermost(&self, hint: KernelHint) -> &'static Kernel {
        match hint {
            KernelHint::Auto => &BALANCED,
            KernelHint::Flat(kernel) => kernel,
            KernelHint::TwoLayer => self.two_layer_outer,
        }
    }

    /// Checks that the hints are consistent with each other and with the number of ranks. Call it before use.
    ///
    /// # Errors
    /// [`Error::Hint`] for a field with a value that its text form does not allow; a rank list that is no permutation; a placement
    /// with a rank that is listed twice or does not exist; a number of aggregators that contradicts a list of them; a throttle
    /// other than 1 for a coupled kernel.
    pub fn check(&self, ranks: usize) -> Result<()> {
        if *self == Self::default() {
            return Ok(());
        }
        for row in KEYS {
            let value = (row.get)(self);
            if !(row.set)(&mut self.clone(), &value) {
                return Err(Error::hint(row.key, value, (row.allowed)()));
            }
        }
        for (key, kernel, own) in [
            ("trib_throttle_meta", self.metadata_kernel(), self.limit_meta),
            ("trib_throttle_data", self.data_kernel(), self.limit_data),
        ] {
            let (kernel, limit) = (self.outermost(kernel), own.unwrap_or(self.limit));
            if kernel.coupled && !matches!(limit, Limit::Default | Limit::At(1)) {
                let key = if own.is_some() { key } else { "trib_throttle" };
                let value = (Limit::CODEC.print)(&limit);
                let why =
                    format!("default|1, because {kernel} finishes a step's send and receive before the next step");
                return Err(Error::hint(key, value, why));
            }
        }
        if let RankListHint::Explicit(list) = &self.rank_list {
            distinct("trib_rank_list", list, ranks)?;
            if list.len() != ranks {
                let value = format!("a list of {} ranks", list.len());
                return Err(Error::hint("trib_rank_list", value, format!("each of the {ranks} ranks once")));
            }
        }
        if let PlacementHint::List(list) = &self.placement {
            distinct("trib_placement", list, ranks)?;
            if let Some(count) = self.cb_nodes.filter(|&count| count != list.len()) {
                let allowed = format!("auto|{}, because trib_placement lists so many ranks", list.len());
                return Err(Error::hint("cb_nodes", count, allowed));
            }
        }
        Ok(())
    }
}

impl Wire for Hints {
    const SIZE: Option<usize> = None;

    fn encode(&self, to: &mut impl Output) {
        self.to_text().encode(to);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Self::parse(&String::decode(from)?).ok()
    }
}

/// A key and its value, or the text that is no such pair.
type KeyValue<'a> = std::result::Result<(&'a str, &'a str), &'a str>;

/// Splits a text into pairs of key and value, with line numbers from 1.
fn pairs(text: &str) -> impl Iterator<Item = (usize, KeyValue<'_>)> {
    let parts = lines(text).flat_map(|(number, line)| line.split(';').map(move |part| (number, part.trim())));
    parts.filter(|(_, part)| !part.is_empty()).map(|(line, part)| (line, pair(part)))
}

/// Returns the non-empty lines of a text, without comments, with line numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.zip(1..).filter(|(line, _)| !line.is_empty()).map(|(line, number)| (number, line))
}

fn pair(part: &str) -> KeyValue<'_> {
    part.split_once('=').map(|(key, value)| (key.trim(), value.trim())).ok_or(part)
}

/// Reads a file of hints. `what` names the file in errors.
fn read_text(what: &str, path: &Path) -> Result<String> {
    text_of(path)
        .map_err(|cause| Error::argument(what, format!("{}: {cause}", path.display()), "a text file that can be read"))
}

fn text_of(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let length = std::fs::File::open(path)?.take(LONGEST_FILE + 1).read_to_string(&mut text)?;
    if length as u64 > LONGEST_FILE {
        return Err(std::io::Error::other(format!("more than {LONGEST_FILE} bytes")));
    }
    Ok(text)
}

fn find(key: &str) -> Option<&'static Key> {
    KEYS.iter().find(|row| row.key == key)
}

/// Returns the error for a key that is not a hint of this library, with a similar key.
pub fn unknown(key: &str) -> Error {
    Error::argument("hint", key, format!("a key of this library; {}", advice(key)))
}

/// Returns the error for an unknown or removed key, with advice.
fn unknown_with(key: &str) -> Error {
    Error::unknown_hint(key, advice(key))
}

/// Returns text that names similar known keys, or all keys.
fn advice(key: &str) -> String {
    let all = || KEYS.iter().map(|row| row.key);
    let ours = || all().filter(|known| known.starts_with(OURS));
    let longer: Vec<_> = ours().filter(|known| known.starts_with(&format!("{key}_"))).collect();
    match meant(key) {
        _ if !longer.is_empty() => format!("did you mean {}?", longer.join(" or ")),
        Some(known) => format!("did you mean {known}?"),
        None if key.starts_with(OURS) => format!("known keys: {}", ours().collect::<Vec<_>>().join(", ")),
        None => "`trib hints` lists all keys".to_string(),
    }
}

/// Returns the known word that is most similar to `word`, if at most 3 letters, and less than a third of all
/// letters, differ.
pub fn similar<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let closest = known.into_iter().map(|known| (edits(word, known), known)).min();
    closest.filter(|&(edits, known)| edits <= 3 && 3 * edits < known.len()).map(|(_, known)| known)
}

/// Returns the key of a hint, of this library or another, that is similar to `key`.
pub(crate) fn meant(key: &str) -> Option<&'static str> {
    similar(key, KEYS.iter().map(|row| row.key).chain(foreign::names()))
}

/// Returns the Levenshtein distance of `a` and `b`, in letters. O(|a| |b|).
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
