//! Data of a figure, which is drawn and written as JSON.

use serde::Serialize;

/// Data of a drawing, by kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Drawing {
    /// Bars, each a stack of parts.
    Bars {
        /// Unit of all values.
        unit: String,
        /// Names of the parts of a bar, from below.
        parts: Vec<String>,
        /// Name of each bar, and the values of its parts.
        bars: Vec<(String, Vec<f64>)>,
    },
    /// Curves, or points that are joined.
    Curves {
        /// Horizontal axis.
        x: Axis,
        /// Vertical axis.
        y: Axis,
        /// Name of each curve, and the points of the curve by ascending x.
        curves: Vec<(String, Vec<(f64, f64)>)>,
    },
}

/// Axis of a drawing with curves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// Text at the axis: quantity and unit.
    pub label: String,
    /// True if the axis is logarithmic.
    pub log: bool,
}

impl Axis {
    /// Returns a linear axis.
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_string(), log: false }
    }

    /// Returns a logarithmic axis.
    pub fn log(label: &str) -> Self {
        Self { label: label.to_string(), log: true }
    }
}
