//! Measurements that claims name: functions from parameters to named numbers.

use serde::de::DeserializeOwned;

use super::context::Context;
use super::drawing::Drawing;
use super::error::PapersError;

/// Names and values of a measurement, in the order in which they are shown.
pub type Values = Vec<(String, f64)>;

/// Measurement that claims refer to by name.
#[derive(Debug)]
pub struct Measure {
    /// Name of the measurement in claims.
    pub name: &'static str,
    /// Description of the measurement in one line.
    pub about: &'static str,
    /// Function that measures.
    pub run: fn(&Parameters, &Context) -> Result<Values, PapersError>,
}

/// Drawing that figures refer to by name.
#[derive(Debug)]
pub struct Draw {
    /// Name of the drawing in figures.
    pub name: &'static str,
    /// Function that measures the data of the drawing.
    pub run: fn(&Parameters, &Context) -> Result<Drawing, PapersError>,
}

/// Parameters of a claim's measurement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters(pub(super) toml::Table);

impl Parameters {
    /// Reads all parameters into the struct of the measurement, which should deny unknown fields.
    ///
    /// # Errors
    /// A parameter is missing, unknown or of another type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, PapersError> {
        self.0.clone().try_into().map_err(|error: toml::de::Error| PapersError::new(error.message()))
    }
}
