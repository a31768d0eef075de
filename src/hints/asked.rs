//! What is asked of one file: the hints in force, where each came from, and which were given and are not used.

use std::borrow::Cow;

use serde::Serialize;

use super::{Hints, elsewhere, find};
use crate::error::{Error, Result};

/// Where a hint was given, for people: `TRIB_HINTS`, `ROMIO_HINTS=/etc/hints, line 3`, `MPI_Info of MPI_File_open`.
pub type Source = Cow<'static, str>;

/// A hint that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) source: Source,
}

/// A hint that was given and is not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unused {
    /// Its key.
    pub key: String,
    /// Its value, as it was given.
    pub value: String,
    /// Where it was given.
    pub source: Source,
    /// Why it is not used.
    pub why: String,
}

/// The hints of one file.
///
/// Made by [`super::Environment::asked`], or empty by [`Default`]; the program's own come over it by [`Asked::program`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    hints: Hints,
    /// What is in force; each key once.
    used: Vec<Given>,
    unused: Vec<Unused>,
    /// Keys that the program cannot change, and whose they are.
    above: Vec<(String, Source)>,
    /// The program's, by what it called last; each key once.
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

impl Asked {
    /// The hints in force.
    pub fn hints(&self) -> &Hints {
        &self.hints
    }

    /// Takes what the program asks for with the file, over what it asked for before. A key of
    /// [`super::Environment`] that the program cannot change stays as it is.
    ///
    /// # Errors
    /// As [`Hints::set`]; the hint is then among those that are not used, and the file's others are as they were.
    pub fn program(&mut self, key: &str, value: &str, source: impl Into<Source>) -> Result<()> {
        let given = Given::new(key, value, source);
        self.program.retain(|before| before.key != key);
        self.program.push(given.clone());
        if let Some((_, by)) = self.above.iter().find(|(above, _)| above == key) {
            let why = format!("overruled by {by}");
            self.leave_out(given.because(why));
            return Ok(());
        }
        // What the program asked for before was in force until now.
        self.used.retain(|before| before.key != key || !self.program.iter().any(|own| own.source == before.source));
        self.take(given)
    }

    /// Takes the hints of a text in the form of [`Hints::apply`], as [`Asked::program`] does each.
    ///
    /// # Errors
    /// As [`Hints::apply`].
    pub fn text(&mut self, text: &str) -> Result<()> {
        // The whole of it first: a text with an error changes nothing.
        Hints::default().apply(text)?;
        for (key, value) in super::pairs(text).filter_map(|(_, pair)| pair.ok()) {
            self.program(key, value, "the program")?;
        }
        Ok(())
    }

    /// All that the program asked for, used or not, by key: the latest value of each.
    pub fn programs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.program.iter().map(|given| (given.key.as_str(), given.value.as_str()))
    }

    /// The hints that were given and are not used, in the order in which they were given.
    pub fn unused(&self) -> &[Unused] {
        &self.unused
    }

    /// The hints that are in force because they were given, as if they were not used because of `why(key)`, where it says so.
    pub fn without_effect<'a>(
        &'a self,
        why: impl Fn(&str) -> Option<String> + 'a,
    ) -> impl Iterator<Item = Unused> + 'a {
        self.used.iter().filter_map(move |given| why(&given.key).map(|why| given.clone().because(why)))
    }

    /// Takes a hint that no program can change.
    pub(super) fn take_above(&mut self, given: Given) -> Result<()> {
        self.above.retain(|(key, _)| *key != given.key);
        self.above.push((given.key.clone(), given.source.clone()));
        self.take(given)
    }

    /// Takes a hint over what was given before.
    ///
    /// # Errors
    /// As [`Hints::set`].
    pub(super) fn take(&mut self, given: Given) -> Result<()> {
        if find(&given.key).is_none() && !given.key.starts_with(super::OURS) {
            let why = elsewhere::why_not(&given.key);
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

    /// Where a key that is in force was given.
    pub(super) fn source_of(&self, key: &str) -> Option<&Source> {
        self.used.iter().find(|given| given.key == key).map(|given| &given.source)
    }

    /// Takes down that a hint is not used. What a program gives again and again is told once.
    pub(super) fn leave_out(&mut self, unused: Unused) {
        self.unused
            .retain(|told| (&told.key, &told.source, &told.value) != (&unused.key, &unused.source, &unused.value));
        self.unused.push(unused);
    }
}
