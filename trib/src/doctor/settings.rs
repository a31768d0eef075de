//! Variables that are set, hints in force, and hints that are ignored.

use std::path::Path;

use serde::Serialize;
use tributary::hints::{Environment, Unused, check_keys};

use crate::variables;

/// Settings that reach a file.
#[derive(Debug, Default, Serialize)]
pub struct Settings {
    /// The variables of this library that are set, and LD_PRELOAD.
    pub variables: Vec<(String, String)>,
    /// The hints that were given and are in force.
    pub hints: Vec<Hint>,
    /// Those that are not, and why.
    pub hints_ignored: Vec<Unused>,
}

/// A hint in force.
#[derive(Debug, Serialize)]
pub struct Hint {
    pub key: String,
    pub value: String,
    /// Where it was given.
    pub source: String,
}

impl Settings {
    /// Those of a file of this name, with hints of the command line.
    pub fn of(path: &Path, options: &[String], problems: &mut Vec<String>) -> Self {
        problems.extend(variables::unknown());
        let variables = variables::set();
        let given = Environment::of_process().map(|environment| environment.file_hints(&path.display().to_string()));
        let given = given.and_then(|mut given| {
            options.iter().try_for_each(|text| check_keys(text).and_then(|()| given.text(text)))?;
            Ok(given)
        });
        let given = match given {
            Ok(given) => given,
            Err(error) => {
                problems.push(error.to_string());
                return Self { variables, ..Self::default() };
            }
        };
        let hint = |(key, source): (&str, &tributary::hints::Source)| Hint {
            key: key.to_string(),
            value: given.hints().get(key).unwrap_or_default(),
            source: source.to_string(),
        };
        Self { variables, hints: given.used().map(hint).collect(), hints_ignored: given.unused().to_vec() }
    }
}
