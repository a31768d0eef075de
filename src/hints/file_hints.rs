//! The hints requested for one file: those in force with their sources, and those that are not used.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::foreign::cray::Specification;
use super::{Hints, find, foreign, meant};
use crate::error::{Error, Result};

/// The source of a hint, for messages: `TRIB_HINTS`, `ROMIO_HINTS=/etc/hints, line 3`, `MPI_Info of MPI_File_open`.
pub type Source = Cow<'static, str>;

/// A hint that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) source: Source,
}

/// A hint that was given and is not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unused {
    /// The key.
    pub key: String,
    /// The value, as it was given.
    pub value: String,
    /// The source.
    pub source: Source,
    /// Why the hint is not used.
    pub why: String,
}

/// The hints of one file. Made by [`super::Environment::file_hints`], or empty by [`Default`]. [`FileHints::program`] adds the program's
/// own. All methods are local.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileHints {
    hints: Hints,
    /// The hints in force; each key once.
    used: Vec<Given>,
    unused: Vec<Unused>,
    /// The keys that the program cannot change, with their sources.
    above: Vec<(String, Source)>,
    /// The latest hint of the program for each key.
    program: Vec<Given>,
}

impl Given {
    pub(super) fn new(key: &str, value: &str, source: impl Into<Source>) -> Self {
        Self { key: key.to_string(), value: value.trim().to_string(), source: source.into() }
    }

    pub(super) fn because(self, why: impl Into<String>) -> Unused {
        let Self { key, value, source } = self;
        Unused { key, value, source, why: why.into() }
    }
}

impl std::fmt::Display for Unused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { key, value, source, why } = self;
        // A line of a file that is none has the file's name in place of a key, and no value.
        if key == super::site::NAME {
            return write!(f, "{source}: {why}");
        }
        let is = if key.is_empty() { "" } else { "=" };
        write!(f, "{key}{is}{value} of {source}: {why}")
    }
}

impl FileHints {
    /// The hints in force.
    pub fn hints(&self) -> &Hints {
        &self.hints
    }

    /// Sets a hint of the program for this file; it overrides an earlier one. A key that [`super::Environment`] does not let
    /// the program change stays as it is. A key of the library above is only kept: nobody expects this library to use it.
    ///
    /// # Errors
    /// As [`Hints::set`]; the hint is then among those that are not used, and all others are unchanged.
    pub fn program(&mut self, key: &str, value: &str, source: impl Into<Source>) -> Result<()> {
        let given = Given::new(key, value, source);
        self.program.retain(|before| before.key != key);
        self.program.push(given.clone());
        if foreign::why_not(key) == foreign::ABOVE {
            return Ok(());
        }
        if let Some((_, by)) = self.above.iter().find(|(above, _)| above == key) {
            let why = format!("overruled by {by}");
            self.leave_out(given.because(why));
            return Ok(());
        }
        // The program's earlier hint is no longer in force.
        self.used.retain(|before| before.key != key || !self.program.iter().any(|own| own.source == before.source));
        self.take(given)
    }

    /// Sets the hints of a text in the form of [`Hints::apply`], each as [`FileHints::program`] does.
    ///
    /// # Errors
    /// As [`Hints::apply`].
    pub fn text(&mut self, text: &str) -> Result<()> {
        // Check the whole text first: a text with an error changes nothing.
        Hints::default().apply(text)?;
        for (key, value) in super::pairs(text).filter_map(|(_, pair)| pair.ok()) {
            self.program(key, value, "the program")?;
        }
        Ok(())
    }

    /// The latest value of each key that the program has set, used or not.
    pub fn programs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.program.iter().map(|given| (given.key.as_str(), given.value.as_str()))
    }

    /// The keys of the given hints in force, with their sources.
    pub fn used(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.used.iter().map(|given| (given.key.as_str(), &given.source))
    }

    /// The hints that were given and are not used, in the order in which they were given.
    pub fn unused(&self) -> &[Unused] {
        &self.unused
    }

    /// The given hints in force that have no effect, for the reason that `why(key)` returns.
    pub fn without_effect<'a>(
        &'a self,
        why: impl Fn(&str) -> Option<String> + 'a,
    ) -> impl Iterator<Item = Unused> + 'a {
        self.used.iter().filter_map(move |given| why(&given.key).map(|why| given.clone().because(why)))
    }

    /// Sets a hint that the program cannot change.
    pub(super) fn take_above(&mut self, given: Given) -> Result<()> {
        self.above.retain(|(key, _)| *key != given.key);
        self.above.push((given.key.clone(), given.source.clone()));
        self.take(given)
    }

    /// Sets a hint; it overrides an earlier one.
    ///
    /// # Errors
    /// As [`Hints::set`].
    pub(super) fn take(&mut self, given: Given) -> Result<()> {
        if find(&given.key).is_none() && !given.key.starts_with(super::OURS) {
            let why = match (foreign::why_not(&given.key), meant(&given.key)) {
                (foreign::UNKNOWN, Some(meant)) => format!("unknown key; did you mean {meant}?"),
                (why, _) => why.to_string(),
            };
            self.leave_out(given.because(why));
            return Ok(());
        }
        if let Err(error) = self.hints.set(&given.key, &given.value) {
            let why = match &error {
                Error::Hint { allowed, .. } => format!("not allowed; allowed: {allowed}"),
                other => other.to_string(),
            };
            self.leave_out(given.because(why));
            return Err(error);
        }
        if let Some(at) = self.used.iter().position(|before| before.key == given.key) {
            let before = self.used.remove(at);
            let why = format!("overruled by {}", given.source);
            self.leave_out(before.because(why));
        }
        self.used.push(given);
        Ok(())
    }

    /// Takes the hints of the first line whose pattern is all of `name`, but not those whose keys are given already.
    pub(super) fn take_first_below(&mut self, lines: &[(Specification, Source)], name: &str) {
        let first = lines.iter().find(|(specification, _)| specification.is_for(name));
        for (key, value, source) in first.iter().flat_map(|(specification, source)| {
            specification.hints.iter().map(move |(key, value)| (key, value, source))
        }) {
            self.take_below(Given::new(key, value, source.clone()));
        }
    }

    /// Takes a hint unless its key is given already. One that is not allowed is left out.
    fn take_below(&mut self, given: Given) {
        if let Some(source) = self.source_of(&given.key) {
            let why = format!("overruled by {source}");
            self.leave_out(given.because(why));
            return;
        }
        if let Err(error) = Hints::default().set(&given.key, &given.value) {
            self.leave_out(given.because(error.to_string()));
            return;
        }
        // It has just been seen to be allowed.
        let _ = self.take(given);
    }

    /// Where a key that is in force was given.
    fn source_of(&self, key: &str) -> Option<&Source> {
        self.used.iter().find(|given| given.key == key).map(|given| &given.source)
    }

    /// Takes down that a hint is not used. What a program gives again and again is told once.
    pub(super) fn leave_out(&mut self, unused: Unused) {
        self.unused
            .retain(|told| (&told.key, &told.source, &told.value) != (&unused.key, &unused.source, &unused.value));
        self.unused.push(unused);
    }
}
