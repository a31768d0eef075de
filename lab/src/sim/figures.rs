//! Reads the numbers of a machine file, each with its unit and source.

use std::collections::BTreeMap;

use serde::Serialize;
use toml::{Table, Value};

use tributary::error::{Error, Result};

/// Kind of source of a number in a machine file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Quoted from a publication.
    Quoted,
    /// Fitted to published measurements.
    Fitted,
    /// Assumed by us, without a source.
    Assumed,
}

/// One number of a machine file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Value as written in the file, in [`Figure::unit`].
    pub value: f64,
    /// Unit as written in the file.
    pub unit: String,
    /// Kind of source of the number.
    pub origin: Origin,
    /// The publication, the data of the fit, or the reason of the assumption.
    pub note: String,
}

/// Units of time in a machine file, each with its factor to picoseconds.
const TIME: &[(&str, f64)] = &[("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12)];
const SIZE: &[(&str, f64)] = &[("B", 1.0), ("KiB", 1024.0), ("MiB", 1024.0 * 1024.0)];
const COUNT: &[(&str, f64)] = &[("1", 1.0)];

/// Reader of a machine file that finds numbers by their path (`host.send`) and records which paths were read.
pub(super) struct Figures<'a> {
    machine: &'a str,
    table: &'a Table,
    pub(super) read: BTreeMap<String, Figure>,
}

impl<'a> Figures<'a> {
    pub(super) fn new(machine: &'a str, table: &'a Table) -> Self {
        Self { machine, table, read: BTreeMap::new() }
    }

    /// Returns the time at `path`, in picoseconds.
    pub(super) fn time(&mut self, path: &str) -> Result<f64> {
        self.scaled(path, TIME)
    }

    /// Returns the time of a byte at `path`, in picoseconds: the file gives the time, or a rate in GB/s.
    pub(super) fn byte(&mut self, path: &str) -> Result<f64> {
        let figure = self.figure(path)?;
        let picoseconds = match figure.unit.as_str() {
            "ns/B" => figure.value * 1e3,
            "GB/s" if figure.value > 0.0 => 1e3 / figure.value,
            "GB/s" => return Err(self.error(path, figure.value, "a rate above 0")),
            unit => return Err(self.error(&format!("{path}.unit"), unit, "ns/B|GB/s")),
        };
        self.keep(path, figure, picoseconds)
    }

    /// Returns the number of bytes at `path`.
    pub(super) fn size(&mut self, path: &str) -> Result<f64> {
        self.scaled(path, SIZE)
    }

    /// Returns the number without unit at `path`.
    pub(super) fn count(&mut self, path: &str) -> Result<f64> {
        self.scaled(path, COUNT)
    }

    /// Returns the text at `path`.
    pub(super) fn text(&self, path: &str) -> Result<&'a str> {
        let text = self.value(path).and_then(Value::as_str);
        text.ok_or_else(|| self.error(path, "missing", "a text"))
    }

    /// Returns true if the file has a value under this path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.value(path).is_some()
    }

    /// Returns an error if the file has keys that were not read. `plain` are the keys that are not figures.
    pub(super) fn nothing_else(&self, plain: &[&str]) -> Result<()> {
        let mut unknown = Vec::new();
        leaves("", self.table, &mut unknown);
        unknown.retain(|path| !self.read.contains_key(path) && !plain.contains(&path.as_str()));
        match unknown.first() {
            Some(path) => Err(self.error(path, "unknown key", "the keys of lab/docs/simulator.md")),
            None => Ok(()),
        }
    }

    fn scaled(&mut self, path: &str, units: &[(&str, f64)]) -> Result<f64> {
        let figure = self.figure(path)?;
        let Some((_, scale)) = units.iter().find(|(unit, _)| *unit == figure.unit) else {
            let allowed: Vec<_> = units.iter().map(|(unit, _)| *unit).collect();
            return Err(self.error(&format!("{path}.unit"), &figure.unit, allowed.join("|")));
        };
        let scaled = figure.value * scale;
        self.keep(path, figure, scaled)
    }

    fn keep(&mut self, path: &str, figure: Figure, scaled: f64) -> Result<f64> {
        if !(scaled.is_finite() && scaled >= 0.0) {
            return Err(self.error(path, format!("{} {}", figure.value, figure.unit), "0 or more"));
        }
        self.read.insert(path.to_string(), figure);
        Ok(scaled)
    }

    fn figure(&self, path: &str) -> Result<Figure> {
        let Some(value) = self.value(path) else { return Err(self.error(path, "missing", "a figure")) };
        let shape = "{ value = NUMBER, unit = \"...\", quoted|fitted|assumed = \"source\" }";
        let fields = value.as_table().ok_or_else(|| self.error(path, value, shape))?;
        let number = |value: &Value| value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
        let origins = [("quoted", Origin::Quoted), ("fitted", Origin::Fitted), ("assumed", Origin::Assumed)];
        let origin = origins.into_iter().find_map(|(key, origin)| Some((origin, fields.get(key)?.as_str()?)));
        let (Some(value), Some(unit), Some((origin, note)), 3) =
            (fields.get("value").and_then(number), fields.get("unit").and_then(Value::as_str), origin, fields.len())
        else {
            return Err(self.error(path, value, shape));
        };
        Ok(Figure { value, unit: unit.to_string(), origin, note: note.to_string() })
    }

    fn value(&self, path: &str) -> Option<&'a Value> {
        let mut keys = path.split('.');
        let first = self.table.get(keys.next()?)?;
        keys.try_fold(first, |value, key| value.as_table()?.get(key))
    }

    pub(super) fn error(&self, path: &str, value: impl ToString, allowed: impl ToString) -> Error {
        Error::argument(format!("machine {}: {path}", self.machine), value, allowed)
    }
}

/// Collects the paths of all figures and plain values of a table.
fn leaves(above: &str, table: &Table, paths: &mut Vec<String>) {
    for (key, value) in table {
        let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match value.as_table() {
            Some(below) if !below.contains_key("value") => leaves(&path, below, paths),
            _ => paths.push(path),
        }
    }
}
