//! Holds the hints for one file: the hints in force with their sources, and the hints that are not used with the
//! reasons.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::foreign::cray::Specification;
use super::{Hints, find, foreign, meant};
use crate::error::{Error, Result};

/// The source of a hint, for messages: `TRIB_HINTS`, `ROMIO_HINTS=/etc/hints, line 3`, `MPI_Info of MPI_File_open`.
pub type HintSource = Cow<'static, str>;

/// A hint as text, with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) source: HintSource,
}

/// A hint that was set but is not used, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unused {
    /// Key of the hint.
    pub key: String,
    /// Value of the hint, as in the source.
    pub value: String,
    /// Source in which the hint was set.
    pub source: HintSource,
    /// Reason why the hint is not used.
    pub why: String,
}

/// The hints of one file. [`super::Environment::file_hints`] creates it from the environment; [`Default`] has no
/// hints. [`FileHints::program`] adds hints of the program. All methods are local.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileHints {
    hints: Hints,
    /// Hints in force, as text; each key occurs once.
    used: Vec<Given>,
    unused: Vec<Unused>,
    /// Keys that the program cannot change, with their sources.
    above: Vec<(String, HintSource)>,
    /// The latest hint of the program for each key.
    program: Vec<Given>,
    /// Keys of the hints in force that the site has set.
    of_site: Vec<String>,
}

impl Given {
    pub(super) fn new(key: &str, value: &str, source: impl Into<HintSource>) -> Self {
        Self { key: key.to_string(), value: value.trim().to_string(), source: source.into() }
    }

    pub(super) fn because(self, why: impl Into<String>) -> Unused {
        let Self { key, value, source } = self;
        Unused { key, value, source, why: why.into() }
    }
}

impl Unused {
    /// Returns true if no known library has the hint's key.
    pub fn is_of_no_library(&self) -> bool {
        find(&self.key).is_none() && foreign::why_not(&self.key) == foreign::UNKNOWN
    }
}

impl std::fmt::Display for Unused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { key, value, source, why } = self;
        // A line that is no hint has the file's name as its key, and no value.
        if key == super::site::NAME {
            return write!(f, "{source}: {why}");
        }
        let is = if key.is_empty() { "" } else { "=" };
        write!(f, "{key}{is}{value} of {source}: {why}")
    }
}

impl FileHints {
    /// Returns the hints in force.
    pub fn hints(&self) -> &Hints {
        &self.hints
    }

    /// Sets a hint of the program for this file, and overrides an earlier one of the same key. A key that the program
    /// cannot change ([`super::Environment`]) keeps its value. A key of a library above, such as PnetCDF, is only
    /// stored.
    ///
    /// # Errors
    /// The errors of [`Hints::set`]; the hint is then one of the hints that are not used, and all others are unchanged.
    pub fn program(&mut self, key: &str, value: &str, source: impl Into<HintSource>) -> Result<()> {
        let given = Given::new(key, value, source);
        if foreign::why_not(key) == foreign::ABOVE {
            self.store(given);
            return Ok(());
        }
        self.set(given)
    }

    /// Stores a hint of the program, whether it is used or not.
    fn store(&mut self, given: Given) {
        self.program.retain(|before| before.key != given.key);
        self.program.push(given);
    }

    /// Sets a hint that the program means for this library, like [`FileHints::program`].
    fn set(&mut self, given: Given) -> Result<()> {
        self.store(given.clone());
        let key = given.key.clone();
        let given = foreign::translated(given);
        if let Some((_, by)) = self.above.iter().find(|(above, _)| *above == given.key) {
            let why = format!("overruled by {by}");
            self.leave_out(given.because(why));
            return Ok(());
        }
        // The program's earlier hint is no longer in force.
        let of_program = |before: &Given| self.program.iter().any(|own| own.source == before.source);
        self.used.retain(|before| before.key != key || !of_program(before));
        self.take(given)
    }

    /// Sets the hints of a text in the form of [`Hints::apply`], each like [`FileHints::program`]. All keys are meant for
    /// this library, also keys that a library above, such as PnetCDF, has too.
    ///
    /// # Errors
    /// The errors of [`Hints::apply`].
    pub fn text(&mut self, text: &str) -> Result<()> {
        // Check the whole text first: a text with an error changes nothing.
        Hints::default().apply(text)?;
        for (key, value) in super::pairs(text).filter_map(|(_, pair)| pair.ok()) {
            self.set(Given::new(key, value, "the program"))?;
        }
        Ok(())
    }

    /// Returns the latest value of each key that the program has set, used or not.
    pub fn programs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.program.iter().map(|given| (given.key.as_str(), given.value.as_str()))
    }

    /// Returns the keys of the hints in force that a source has set, with the sources.
    pub fn used(&self) -> impl Iterator<Item = (&str, &HintSource)> {
        self.used.iter().map(|given| (given.key.as_str(), &given.source))
    }

    /// Returns the hints that are not used, in the order in which they were set.
    pub fn unused(&self) -> &[Unused] {
        &self.unused
    }

    /// Returns the hints in force that have no effect: those for whose key `why` returns a reason. Excludes the site's hints,
    /// because the user has not set them.
    pub fn without_effect<'a>(
        &'a self,
        why: impl Fn(&str) -> Option<String> + 'a,
    ) -> impl Iterator<Item = Unused> + 'a {
        let own = self.used.iter().filter(|given| !self.of_site.contains(&given.key));
        own.filter_map(move |given| why(&given.key).map(|why| given.clone().because(why)))
    }

    /// Sets a hint that the program cannot change.
    pub(super) fn take_above(&mut self, given: Given) -> Result<()> {
        self.above.retain(|(key, _)| *key != given.key);
        self.above.push((given.key.clone(), given.source.clone()));
        self.take(given)
    }

    /// Sets a hint, and overrides an earlier one of the same key.
    ///
    /// # Errors
    /// The errors of [`Hints::set`].
    pub(super) fn take(&mut self, given: Given) -> Result<()> {
        let given = foreign::translated(given);
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
            if self.of_site.contains(&before.key) {
                self.of_site.retain(|key| *key != before.key);
            } else {
                let why = format!("overruled by {}", given.source);
                self.leave_out(before.because(why));
            }
        }
        self.used.push(given);
        Ok(())
    }

    /// Sets the hints of the first line whose pattern matches the whole `name`, except keys that are already set.
    pub(super) fn take_first_below(&mut self, lines: &[(Specification, HintSource)], name: &str) {
        let first = lines.iter().find(|(specification, _)| specification.is_for(name));
        for (key, value, source) in first.iter().flat_map(|(specification, source)| {
            specification.hints.iter().map(move |(key, value)| (key, value, source))
        }) {
            self.take_below(Given::new(key, value, source.clone()));
        }
    }

    /// Sets a hint of the site unless its key is already set. Skips a hint that is not allowed.
    fn take_below(&mut self, given: Given) {
        // The user has not set the site's hint, and so does not miss it.
        if self.used.iter().any(|used| used.key == given.key) {
            return;
        }
        if let Err(error) = Hints::default().set(&given.key, &given.value) {
            self.leave_out(given.because(error.to_string()));
            return;
        }
        self.of_site.push(given.key.clone());
        // The value was checked just before.
        let _ = self.take(given);
    }

    /// Records that a hint is not used. A hint that the program repeats is recorded once.
    pub(super) fn leave_out(&mut self, unused: Unused) {
        self.unused
            .retain(|known| (&known.key, &known.source, &known.value) != (&unused.key, &unused.source, &unused.value));
        self.unused.push(unused);
    }
}
