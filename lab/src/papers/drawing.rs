//! The data of a figure, as it is drawn and written as JSON.

use serde::Serialize;

/// What is drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Drawing {
    /// Bars, each a stack of parts.
    Bars {
        /// Of all values.
        unit: String,
        /// Names of the parts, from below.
        parts: Vec<String>,
        /// Name of each bar, and its parts.
        bars: Vec<(String, Vec<f64>)>,
    },
    /// Curves, or points that are joined.
    Curves {
        /// The axis from left to right.
        x: CurveAxis,
        /// The axis upwards.
        y: CurveAxis,
        /// Name of each curve, and its points by ascending x.
        curves: Vec<(String, Vec<(f64, f64)>)>,
    },
}

/// An axis of curves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CurveAxis {
    /// What, and its unit.
    pub label: String,
    /// Whether it is logarithmic.
    pub log: bool,
}

impl CurveAxis {
    /// A linear axis.
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_string(), log: false }
    }

    /// A logarithmic axis.
    pub fn log(label: &str) -> Self {
        Self { label: label.to_string(), log: true }
    }
}
