//! The definitions of a file: dimensions, variables and attributes, which are made before any data is written.

use tributary::{Error, Result};

use crate::alignment::Alignment;
use crate::format::{Format, Type};
use crate::layout::Layout;
use crate::name;
use crate::values::Values;

/// Length that makes a dimension the unlimited one, along which records are appended.
pub const UNLIMITED: u64 = 0;

/// Name of the attribute whose value unwritten elements have.
pub const FILL_VALUE: &str = "_FillValue";

/// The number of a dimension, from 0 in the order of definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DimensionId(pub usize);

/// The number of a variable, from 0 in the order of definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(pub usize);

/// A dimension of a file: a name and a length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension {
    /// Name of the dimension.
    pub name: String,
    /// Number of elements, or [`UNLIMITED`].
    pub length: u64,
}

/// An attribute of a variable or of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Name of the attribute.
    pub name: String,
    /// Values of the attribute.
    pub values: Values,
}

/// A variable of a file: an array of values of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Name of the variable.
    pub name: String,
    /// Type of the variable's elements.
    pub kind: Type,
    /// Dimensions of the variable, slowest first; empty for a scalar.
    pub dimensions: Vec<DimensionId>,
    /// Attributes of the variable.
    pub attributes: Vec<Attribute>,
}

impl Variable {
    /// Returns the values of the attribute with this name; None if there is no such attribute.
    pub fn attribute(&self, name: &str) -> Option<&Values> {
        self.attributes.iter().find(|attribute| attribute.name == name).map(|attribute| &attribute.values)
    }

    /// Returns the value of elements that nobody has written, if the file is filled: that of the attribute
    /// `_FillValue`, or else the type's default.
    pub fn fill_value(&self) -> Vec<u8> {
        self.attribute(FILL_VALUE).map_or_else(|| self.kind.default_fill(), |values| values.bytes().to_vec())
    }
}

/// The definitions of a file. Knows nothing of ranks, and does not access a file.
///
/// ```
/// use tributary_netcdf::{Alignment, Format, Schema, Type, UNLIMITED};
///
/// let mut schema = Schema::new(Format::Cdf2);
/// let time = schema.define_dimension("time", UNLIMITED)?;
/// let column = schema.define_dimension("column", 866)?;
/// let area = schema.define_variable("area", Type::Double, &[column])?;
/// let heat = schema.define_variable("heat", Type::Float, &[time, column])?;
/// schema.put_attribute(heat, "units", "W/m2")?;
///
/// let layout = schema.layout(Alignment::PACKED)?;
/// assert_eq!(layout.begin(heat), layout.begin(area) + 866 * 8);
/// assert_eq!(layout.record_size(), 866 * 4);
/// // Columns 10 to 14 of record 2.
/// let extents = layout.extents(heat, &[2, 10], &[1, 5])?;
/// assert_eq!(extents.span(), Some((layout.begin(heat) + 2 * 866 * 4 + 40, layout.begin(heat) + 2 * 866 * 4 + 60)));
/// # Ok::<(), tributary::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    format: Format,
    /// True if a dimension of length 0 is the unlimited one.
    has_records: bool,
    dimensions: Vec<Dimension>,
    variables: Vec<Variable>,
    attributes: Vec<Attribute>,
}

impl Schema {
    /// Creates a schema without definitions.
    pub fn new(format: Format) -> Self {
        Self { format, has_records: true, dimensions: Vec::new(), variables: Vec::new(), attributes: Vec::new() }
    }

    /// Creates a schema without definitions, for a file without records. Any number of its dimensions may have length
    /// 0: such a dimension is empty, and a variable over it is a fixed-size variable of 0 bytes. Other programs take
    /// an empty dimension for the unlimited one, which has length 0 in the file too. Use this only for files whose
    /// readers allow that, such as the decomposition maps of E3SM-IO.
    pub fn without_records(format: Format) -> Self {
        Self { has_records: false, ..Self::new(format) }
    }

    /// Defines a dimension of `length` elements, or [`UNLIMITED`].
    ///
    /// # Errors
    /// The name is not allowed or is taken, there is an unlimited dimension already, or the length is beyond the
    /// format.
    pub fn define_dimension(&mut self, name: &str, length: u64) -> Result<DimensionId> {
        let name = name::checked("dimension", name)?;
        if self.dimension_id(&name).is_some() {
            return Err(taken("dimension", &name));
        }
        if length == UNLIMITED && self.unlimited().is_some() {
            return Err(Error::argument(format!("length of dimension {name}"), "unlimited", "one unlimited dimension"));
        }
        let longest = self.format.longest_dimension();
        if length > longest {
            let allowed = format!("up to {longest} in {}", self.format);
            return Err(Error::argument(format!("length of dimension {name}"), length, allowed));
        }
        self.dimensions.push(Dimension { name, length });
        Ok(DimensionId(self.dimensions.len() - 1))
    }

    /// Defines a variable over `dimensions`, slowest first. The unlimited dimension may only be the first: the variable is
    /// a record variable then.
    ///
    /// # Errors
    /// The name is not allowed or is taken, the format lacks the type, or a dimension does not exist or is not at its
    /// place.
    pub fn define_variable(&mut self, name: &str, kind: Type, dimensions: &[DimensionId]) -> Result<VariableId> {
        let name = name::checked("variable", name)?;
        if self.variable_id(&name).is_some() {
            return Err(taken("variable", &name));
        }
        self.format.check(kind, &format!("variable {name}"))?;
        for (place, id) in dimensions.iter().enumerate() {
            let Some(dimension) = self.dimensions.get(id.0) else {
                let allowed = format!("{} defined dimensions", self.dimensions.len());
                return Err(Error::argument(format!("dimension {place} of variable {name}"), id.0, allowed));
            };
            if place > 0 && self.is_unlimited(*id) {
                let what = format!("dimension {place} of variable {name}");
                return Err(Error::argument(what, &dimension.name, "the unlimited dimension as the first"));
            }
        }
        self.variables.push(Variable { name, kind, dimensions: dimensions.to_vec(), attributes: Vec::new() });
        Ok(VariableId(self.variables.len() - 1))
    }

    /// Sets an attribute of a variable; replaces one of the same name.
    ///
    /// # Errors
    /// The name is not allowed, the format lacks the type, a `_FillValue` is not one value of the variable's type, or
    /// the variable does not exist.
    pub fn put_attribute(&mut self, variable: VariableId, name: &str, values: impl Into<Values>) -> Result<()> {
        let values = values.into();
        let attribute = attribute(self.format, name, values)?;
        let known = self.variables.len();
        let Some(variable) = self.variables.get_mut(variable.0) else {
            return Err(Error::argument("variable", variable.0, format!("{known} defined variables")));
        };
        if attribute.name == FILL_VALUE && (attribute.values.kind(), attribute.values.count()) != (variable.kind, 1) {
            let given = format!("{} value(s) of type {}", attribute.values.count(), attribute.values.kind());
            let what = format!("{FILL_VALUE} of variable {}", variable.name);
            return Err(Error::argument(what, given, format!("one of type {}", variable.kind)));
        }
        put(&mut variable.attributes, attribute);
        Ok(())
    }

    /// Sets an attribute of the file; replaces one of the same name.
    ///
    /// # Errors
    /// The name is not allowed, or the format lacks the type.
    pub fn put_global_attribute(&mut self, name: &str, values: impl Into<Values>) -> Result<()> {
        put(&mut self.attributes, attribute(self.format, name, values.into())?);
        Ok(())
    }

    /// Computes the positions of all variables in the file.
    ///
    /// # Errors
    /// Sizes or offsets are beyond the format.
    pub fn layout(&self, alignment: Alignment) -> Result<Layout> {
        Layout::new(self, alignment)
    }

    /// Returns the format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the dimensions, as defined.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Returns the variables, as defined.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Returns the attributes of the file.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// Returns the number of the dimension with this name.
    pub fn dimension_id(&self, name: &str) -> Option<DimensionId> {
        self.dimensions.iter().position(|dimension| dimension.name == name).map(DimensionId)
    }

    /// Returns the number of the variable with this name.
    pub fn variable_id(&self, name: &str) -> Option<VariableId> {
        self.variables.iter().position(|variable| variable.name == name).map(VariableId)
    }

    /// Returns the number of the unlimited dimension, if there is one.
    pub fn unlimited(&self) -> Option<DimensionId> {
        (0..self.dimensions.len()).map(DimensionId).find(|id| self.is_unlimited(*id))
    }

    fn is_unlimited(&self, id: DimensionId) -> bool {
        self.has_records && self.dimensions[id.0].length == UNLIMITED
    }

    /// Returns true if a variable is a record variable.
    pub(crate) fn is_record(&self, variable: &Variable) -> bool {
        variable.dimensions.first().is_some_and(|first| self.is_unlimited(*first))
    }

    /// Returns the lengths of a variable's dimensions; the unlimited one has the length [`UNLIMITED`].
    pub(crate) fn shape(&self, variable: &Variable) -> Vec<u64> {
        variable.dimensions.iter().map(|id| self.dimensions[id.0].length).collect()
    }
}

fn taken(what: &str, name: &str) -> Error {
    Error::argument(format!("name of {what}"), format!("{name:?} is defined already"), "every name once")
}

fn attribute(format: Format, name: &str, values: Values) -> Result<Attribute> {
    let name = name::checked("attribute", name)?;
    format.check(values.kind(), &format!("attribute {name}"))?;
    if values.count() > format.longest_dimension() {
        let allowed = format!("up to {} in {format}", format.longest_dimension());
        return Err(Error::argument(format!("values of attribute {name}"), values.count(), allowed));
    }
    Ok(Attribute { name, values })
}

fn put(all: &mut Vec<Attribute>, attribute: Attribute) {
    match all.iter_mut().find(|other| other.name == attribute.name) {
        Some(other) => *other = attribute,
        None => all.push(attribute),
    }
}
