//! What a file holds: dimensions, variables and attributes, as they are defined before any data is written.

use tributary::{Error, Result};

use crate::alignment::Alignment;
use crate::format::{Format, Type};
use crate::layout::Layout;
use crate::name;
use crate::values::Values;

/// The length that makes a dimension the unlimited one, along which records are appended.
pub const UNLIMITED: u64 = 0;

/// The attribute that says what elements hold that nobody has written.
pub const FILL_VALUE: &str = "_FillValue";

/// A dimension, by the order of definition from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DimensionId(pub usize);

/// A variable, by the order of definition from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(pub usize);

/// A dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// Its length in elements, or [`UNLIMITED`].
    pub length: u64,
}

/// An attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub values: Values,
}

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub kind: Type,
    /// Its dimensions, slowest first; none for a scalar.
    pub dimensions: Vec<DimensionId>,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
}

impl Variable {
    /// Returns the attribute of this name.
    pub fn attribute(&self, name: &str) -> Option<&Values> {
        self.attributes.iter().find(|attribute| attribute.name == name).map(|attribute| &attribute.values)
    }

    /// What elements that nobody has written hold when the file is filled: `_FillValue`, or the type's own value.
    pub fn fill_value(&self) -> Vec<u8> {
        self.attribute(FILL_VALUE).map_or_else(|| self.kind.default_fill(), |values| values.bytes().to_vec())
    }
}

/// The definitions of a file. Pure: knows no ranks and touches no file.
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
    /// Nothing defined yet.
    pub fn new(format: Format) -> Self {
        Self { format, has_records: true, dimensions: Vec::new(), variables: Vec::new(), attributes: Vec::new() }
    }

    /// Nothing defined yet, for a file without records. Any number of its dimensions may have length 0: such a dimension is
    /// empty, and a variable over it is a fixed-size variable of 0 bytes. Other programs take an empty dimension for the
    /// unlimited one, which has length 0 in the file too. Use it only for files whose readers allow that, such as the
    /// decomposition maps of E3SM-IO.
    pub fn without_records(format: Format) -> Self {
        Self { has_records: false, ..Self::new(format) }
    }

    /// Defines a dimension of `length` elements, or [`UNLIMITED`].
    ///
    /// # Errors
    /// A name that is not allowed or taken, a second unlimited dimension, a length beyond the format.
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
    /// A name that is not allowed or taken, a type that the format lacks, a dimension that is not there or not in its place.
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

    /// Gives a variable an attribute, in place of one of the same name.
    ///
    /// # Errors
    /// A name that is not allowed, a type that the format lacks, a `_FillValue` that is not one value of the variable's
    /// type, a variable that is not there.
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

    /// Gives the file an attribute, in place of one of the same name.
    ///
    /// # Errors
    /// A name that is not allowed, a type that the format lacks.
    pub fn put_global_attribute(&mut self, name: &str, values: impl Into<Values>) -> Result<()> {
        put(&mut self.attributes, attribute(self.format, name, values.into())?);
        Ok(())
    }

    /// Where everything lies in the file.
    ///
    /// # Errors
    /// Sizes or offsets beyond the format.
    pub fn layout(&self, alignment: Alignment) -> Result<Layout> {
        Layout::new(self, alignment)
    }

    /// Returns the format.
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

    /// Returns the dimension of this name.
    pub fn dimension_id(&self, name: &str) -> Option<DimensionId> {
        self.dimensions.iter().position(|dimension| dimension.name == name).map(DimensionId)
    }

    /// Returns the variable of this name.
    pub fn variable_id(&self, name: &str) -> Option<VariableId> {
        self.variables.iter().position(|variable| variable.name == name).map(VariableId)
    }

    /// Returns the unlimited dimension.
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

    /// Returns the lengths of a variable's dimensions, [`UNLIMITED`] among them.
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
