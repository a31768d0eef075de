//! Section V: compares the kernels, and checks the text's statements about their times.

use crate::forecast::Parts;
use serde::Deserialize;

use super::setting::{Code, Experiment, Site};
use crate::papers::{Context, Drawing, PapersError, Parameters, Values};

/// Phase of a column whose seconds are measured.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ColumnPart {
    Metadata,
    Data,
    /// Metadata and data together.
    Communication,
    /// Whole write: communication, computing and file I/O.
    Total,
}

impl ColumnPart {
    fn of(self, parts: &Parts) -> f64 {
        match self {
            Self::Metadata => parts.metadata,
            Self::Data => parts.data,
            Self::Communication => parts.metadata + parts.data,
            Self::Total => parts.total,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartSeconds {
    code: Code,
    site: Site,
    nodes: usize,
    part: ColumnPart,
    kernels: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartRatio {
    code: Code,
    site: Site,
    nodes: usize,
    part: ColumnPart,
    slow: Vec<String>,
    fast: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scaling {
    code: Code,
    site: Site,
    nodes: Vec<usize>,
    part: ColumnPart,
    kernel: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchanged {
    code: Code,
    site: Site,
    nodes: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Drawn {
    code: Code,
    site: Site,
    nodes: usize,
    /// True if the engine's bars stand beside the others.
    #[serde(default)]
    engine: bool,
}

/// Measures the seconds of one phase in some columns of figure 5.
pub(super) fn seconds(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let PartSeconds { code, site, nodes, part, kernels } = with.read()?;
    let setting = Experiment { code, site, nodes };
    kernels.into_iter().map(|kernel| Ok((kernel.clone(), part.of(&setting.column(&kernel, context)?)))).collect()
}

/// Measures a ratio of seconds in one phase: the fastest of the columns `slow` over the slowest of the columns `fast`.
pub(super) fn ratio(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let PartRatio { code, site, nodes, part, slow, fast } = with.read()?;
    let setting = Experiment { code, site, nodes };
    let of = |kernels: &[String], start: f64, choose: fn(f64, f64) -> f64| {
        kernels.iter().try_fold(start, |chosen, kernel| {
            Ok::<_, PapersError>(choose(chosen, part.of(&setting.column(kernel, context)?)))
        })
    };
    let (over, under) = (of(&slow, f64::INFINITY, f64::min)?, of(&fast, 0.0, f64::max)?);
    Ok(vec![(format!("{} / {}", slow.join(", "), fast.join(", ")), over / under)])
}

/// Measures the seconds of one phase in a column of figure 5, on several numbers of nodes.
pub(super) fn scaling(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let Scaling { code, site, nodes, part, kernel } = with.read()?;
    let of = |nodes| {
        let parts = Experiment { code, site, nodes }.column(&kernel, context)?;
        Ok((format!("{nodes} nodes"), part.of(&parts)))
    };
    nodes.into_iter().map(of).collect()
}

/// Counts the ranks that send metadata to an aggregator, on average.
pub(super) fn metadata_fan_in(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let Exchanged { code, site, nodes } = with.read()?;
    let counted = Experiment { code, site, nodes }.counted(context)?;
    Ok(vec![("ranks".to_string(), counted.census.fan_in().0)])
}

/// Draws stacked bars of all columns.
pub(super) fn draw(with: &Parameters, context: &Context) -> Result<Drawing, PapersError> {
    let Drawn { code, site, nodes, engine } = with.read()?;
    let setting = Experiment { code, site, nodes };
    let bar = |name: String, parts: Parts| (name, vec![parts.metadata, parts.data, parts.file + parts.other]);
    let mut bars = Vec::new();
    for kernel in setting.columns() {
        bars.push(bar(kernel.to_string(), setting.column(kernel, context)?));
        if engine {
            bars.push(bar(format!("{kernel}, engine"), setting.engine_column(kernel, context)?));
        }
    }
    let parts = ["metadata", "data", "other"].map(str::to_string).to_vec();
    Ok(Drawing::Bars { unit: "s".to_string(), parts, bars })
}
