//! Measurements: functions from parameters to named numbers.

use serde::de::DeserializeOwned;

use super::context::Context;
use super::drawing::Drawing;
use super::error::PapersError;

/// Named numbers, in the order in which they are shown.
pub type Values = Vec<(String, f64)>;

/// A measurement that claims refer to.
#[derive(Debug)]
pub struct Measure {
    /// Its name in claims.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// Measures.
    pub run: fn(&Parameters, &Context) -> Result<Values, PapersError>,
}

/// A drawing that figures refer to.
#[derive(Debug)]
pub struct Draw {
    /// Its name in figures.
    pub name: &'static str,
    /// Measures the data of the drawing.
    pub run: fn(&Parameters, &Context) -> Result<Drawing, PapersError>,
}

/// The parameters of a claim's measurement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters(pub(super) toml::Table);

impl Parameters {
    /// All parameters, as a struct of the measurement, which should deny unknown fields.
    ///
    /// # Errors
    /// A parameter is missing, unknown or of another type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, PapersError> {
        self.0.clone().try_into().map_err(|error: toml::de::Error| PapersError::new(error.message()))
    }
}
