//! Measurements: functions from parameters to numbers with names.

use serde::de::DeserializeOwned;

use super::context::Context;
use super::drawing::Drawing;
use super::error::PapersError;

/// Numbers with names, in the order in which they are shown; one number is one entry.
pub type Values = Vec<(String, f64)>;

/// A measurement that claims name.
#[derive(Debug)]
pub struct Measure {
    /// As claims name it.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Measures.
    pub run: fn(&Parameters, &Context) -> Result<Values, PapersError>,
}

/// A drawing that figures name.
#[derive(Debug)]
pub struct Draw {
    /// As figures name it.
    pub name: &'static str,
    /// Measures what is drawn.
    pub run: fn(&Parameters, &Context) -> Result<Drawing, PapersError>,
}

/// The parameters that a claim gives to its measurement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters(pub(super) toml::Table);

impl Parameters {
    /// All of them, as a struct of the measurement, which should deny unknown fields.
    ///
    /// # Errors
    /// One that is missing, unknown or of another type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, PapersError> {
        self.0.clone().try_into().map_err(|error: toml::de::Error| PapersError::new(error.message()))
    }
}
