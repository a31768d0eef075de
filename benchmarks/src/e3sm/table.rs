//! Reads the tables that define the history files of all cases: the benchmark's definitions, in its order.
//!
//! A line is an item, whose fields are separated by tabs; `#` begins a comment line. `h0:` or `h1:` before an item
//! means that only this history file has the item.
//!
//! | line | fields |
//! |---|---|
//! | `dimension` | name; length: a number, `unlimited`, or `Dk[i]` of decomposition k, possibly `+1` |
//! | `attribute` | of the file: name, type, value |
//! | `variable` | name; type, `real` for the type the user chooses; decomposition, `-` for rank 0 alone; dimensions |
//! | (empty) | of the last variable: name, type, value; `real` follows the variable's type |
//!
//! Types of attributes are `text` (with `\n`, `\t` and `\\`), or numbers separated by commas.

use tributary_netcdf::{Format, Schema, Type, UNLIMITED, Values, VariableId};

use crate::error::PatternError;

use super::content::{E3smCase, ElementType, History};

const F_CASE: &str = include_str!("tables/f_case.tsv");
const G_CASE: &str = include_str!("tables/g_case.tsv");
const I_CASE: &str = include_str!("tables/i_case.tsv");

/// The owner of a variable: the ranks that write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableOwner {
    /// Rank 0 writes the whole variable.
    Root,
    /// All ranks write their elements, by the decomposition with this number (from 0).
    Decomposed(usize),
}

/// Returns the NetCDF definitions of a history file over decompositions with these dimensions, and the owner of each
/// variable. The file is a CDF-5, as the benchmark's.
///
/// # Errors
/// The decompositions lack a dimension, or the format cannot hold it.
pub(super) fn schema(
    case: E3smCase,
    history: History,
    dims: &[Vec<u64>],
    element: ElementType,
) -> Result<(Schema, Vec<VariableOwner>), PatternError> {
    let (name, table) = match case {
        E3smCase::F => ("f_case.tsv", F_CASE),
        E3smCase::G => ("g_case.tsv", G_CASE),
        E3smCase::I => ("i_case.tsv", I_CASE),
    };
    let mut reader = TableReader { schema: Schema::new(Format::Cdf5), owners: Vec::new(), dims, element, kept: false };
    for (line, number) in table.lines().zip(1..) {
        let (only, item) = match line.split_once(':') {
            Some(("h0", item)) => (Some(History::H0), item),
            Some(("h1", item)) => (Some(History::H1), item),
            _ => (None, line),
        };
        let fields: Vec<&str> = item.split('\t').collect();
        if line.starts_with('#') || !reader.keeps(fields[0], only.is_none_or(|only| only == history)) {
            continue;
        }
        let known = reader.item(&fields)?;
        known.ok_or_else(|| PatternError::input(name, format!("line {number}"), "is no item of a table"))?;
    }
    Ok((reader.schema, reader.owners))
}

/// The state of reading a table of definitions line by line.
struct TableReader<'a> {
    schema: Schema,
    owners: Vec<VariableOwner>,
    dims: &'a [Vec<u64>],
    element: ElementType,
    /// True if the variable that was read last is in this history file.
    kept: bool,
}

impl TableReader<'_> {
    /// Returns true if this history file has an item. It has the attributes of a variable if it has the variable.
    fn keeps(&mut self, keyword: &str, here: bool) -> bool {
        match keyword {
            "variable" => {
                self.kept = here;
                here
            }
            "" => self.kept,
            _ => here,
        }
    }

    /// Reads one item; `None` if the line is not an item.
    fn item(&mut self, fields: &[&str]) -> Result<Option<()>, PatternError> {
        match *fields {
            ["dimension", name, length] => {
                let Some(length) = self.length(length) else { return Ok(None) };
                self.schema.define_dimension(name, length)?;
            }
            ["attribute", name, kind, value] => {
                let Some(values) = values(kind, value, self.element) else { return Ok(None) };
                self.schema.put_global_attribute(name, values)?;
            }
            ["variable", name, kind, decomposition, dimensions] => {
                return self.variable(name, kind, decomposition, dimensions);
            }
            ["", name, kind, value] => {
                let Some(values) = values(kind, value, self.element) else { return Ok(None) };
                self.schema.put_attribute(VariableId(self.owners.len().saturating_sub(1)), name, values)?;
            }
            _ => return Ok(None),
        }
        Ok(Some(()))
    }

    fn length(&self, text: &str) -> Option<u64> {
        if text == "unlimited" {
            return Some(UNLIMITED);
        }
        let Some(place) = text.strip_prefix('D') else { return text.parse().ok() };
        let (place, more) = match place.strip_suffix("+1") {
            Some(place) => (place, 1),
            None => (place, 0),
        };
        let (which, dimension) = place.strip_suffix(']')?.split_once('[')?;
        let dims = self.dims.get(which.parse::<usize>().ok()?.checked_sub(1)?)?;
        dims.get(dimension.parse::<usize>().ok()?)?.checked_add(more)
    }

    fn variable(
        &mut self,
        name: &str,
        kind: &str,
        decomposition: &str,
        dimensions: &str,
    ) -> Result<Option<()>, PatternError> {
        let kind = match kind {
            "real" => self.element.kind(),
            "char" => Type::Char,
            "int" => Type::Int,
            "double" => Type::Double,
            _ => return Ok(None),
        };
        let owner = match decomposition.strip_prefix('D').map(str::parse::<usize>) {
            Some(Ok(which)) if (1..=self.dims.len()).contains(&which) => VariableOwner::Decomposed(which - 1),
            None if decomposition == "-" => VariableOwner::Root,
            _ => return Ok(None),
        };
        let names = dimensions.split(',').filter(|&name| name != "-");
        let ids: Option<Vec<_>> = names.map(|name| self.schema.dimension_id(name)).collect();
        let Some(ids) = ids else { return Ok(None) };
        self.schema.define_variable(name, kind, &ids)?;
        self.owners.push(owner);
        Ok(Some(()))
    }
}

/// Parses the values of an attribute; None if they do not have the type `kind`.
fn values(kind: &str, value: &str, element: ElementType) -> Option<Values> {
    fn numbers<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
        text.split(',').map(|number| number.parse().ok()).collect()
    }
    Some(match kind {
        "text" => Values::from(unescaped(value)?.as_str()),
        "int" => Values::from(&numbers::<i32>(value)?[..]),
        "float" => Values::from(&numbers::<f32>(value)?[..]),
        "double" => Values::from(&numbers::<f64>(value)?[..]),
        "real" => match element {
            ElementType::Float => Values::from(value.parse::<f32>().ok()?),
            ElementType::Double => Values::from(f64::from(value.parse::<f32>().ok()?)),
        },
        _ => return None,
    })
}

fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        out.push(match character {
            '\\' => match characters.next()? {
                'n' => '\n',
                't' => '\t',
                '\\' => '\\',
                _ => return None,
            },
            other => other,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_every_table_is_an_item() {
        let cases = [
            (E3smCase::F, History::H0, 414, 3),
            (E3smCase::F, History::H1, 51, 3),
            (E3smCase::G, History::H0, 52, 6),
            (E3smCase::I, History::H0, 560, 5),
            (E3smCase::I, History::H1, 552, 5),
        ];
        for (case, history, variables, decompositions) in cases {
            let dims = vec![vec![7, 8]; decompositions];
            let (schema, owners) = schema(case, history, &dims, ElementType::Float).unwrap();
            assert_eq!((schema.variables().len(), owners.len()), (variables, variables), "{case:?} {history:?}");
        }
    }

    #[test]
    fn values_are_read_as_their_type() {
        let double = ElementType::Double;
        assert_eq!(values("text", "a\\n\\tb\\\\", double).unwrap().bytes(), b"a\n\tb\\");
        assert_eq!(values("int", "1,-2", double).unwrap().bytes(), [0, 0, 0, 1, 255, 255, 255, 254]);
        // The fill value of the fields is a float, also where the file holds doubles.
        assert_eq!(values("real", "1e36", double).unwrap().bytes(), f64::from(1e36f32).to_be_bytes());
        assert_eq!(values("real", "1e36", ElementType::Float).unwrap().bytes(), 1e36f32.to_be_bytes());
        assert!(values("int", "x", double).is_none() && values("text", "\\q", double).is_none());
        assert!(values("words", "x", double).is_none());
    }
}
