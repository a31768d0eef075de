//! Papers, claims and figures, from `lab/papers/*.toml`.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Source;
use super::bound::Bound;
use super::context::Context;
use super::drawing::Drawing;
use super::error::PapersError;
use super::measure::{Draw, Measure, Parameters, Values};

/// Paper and the claims that are checked here.
#[derive(Debug)]
pub struct Paper {
    /// Name of the paper on the command line.
    pub id: String,
    /// Title of the paper.
    pub title: String,
    /// Authors of the paper.
    pub authors: String,
    /// Journal or conference of the paper.
    pub venue: String,
    /// Year of publication.
    pub year: u32,
    /// Claims of the paper, in the order of the file.
    pub claims: Vec<Claim>,
    /// Figures of the paper, in the order of the file.
    pub figures: Vec<Figure>,
}

/// One claim of a paper.
#[derive(Debug)]
pub struct Claim {
    /// Identifier of the claim, unique in the paper.
    pub id: String,
    /// Position in the paper: section, and sentence, figure or table cell.
    pub place: String,
    /// The claim in our words.
    pub says: String,
    /// Measurement that checks the claim.
    pub measure: &'static Measure,
    /// Parameters of the measurement.
    pub with: Parameters,
    /// Unit of the measured values.
    pub unit: String,
    /// Bound that the claim sets on the values.
    pub expect: Bound,
    /// Recorded verdict: whether the last check reproduced the claim.
    pub verdict: Verdict,
    /// Reason why the claim is not reproduced.
    pub reason: Option<String>,
    /// Note on how the claim was simulated.
    pub note: Option<String>,
    /// True if the claim is in the quick subset.
    pub quick: bool,
    /// Approximate processor time of the measurement in seconds, for estimates. If claims share a measurement, the
    /// time counts for the first.
    pub seconds: f64,
}

/// Figure of a paper that is drawn here.
#[derive(Debug)]
pub struct Figure {
    /// Identifier of the figure, unique in the paper.
    pub id: String,
    /// Number of the figure in the paper.
    pub place: String,
    /// Title of the figure.
    pub title: String,
    /// Approximate processor time of the measurement in seconds, for estimates.
    pub seconds: f64,
    draw: &'static Draw,
    with: Parameters,
}

/// Result of a check: whether the measured values confirm a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum Verdict {
    /// The values keep the bound.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The values do not keep the bound.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "not reproduced",
        })
    }
}

impl Claim {
    /// Measures the values of the claim, and returns them with the verdict.
    ///
    /// # Errors
    /// Errors of the measurement.
    pub fn check(&self, context: &Context) -> Result<(Values, Verdict), PapersError> {
        let values = (self.measure.run)(&self.with, context).map_err(|error| error.within(&self.id))?;
        let verdict = if self.expect.holds(&values) { Verdict::Reproduced } else { Verdict::NotReproduced };
        Ok((values, verdict))
    }
}

impl Figure {
    /// Measures the data of the drawing.
    ///
    /// # Errors
    /// Errors of the measurement.
    pub fn drawing(&self, context: &Context) -> Result<Drawing, PapersError> {
        (self.draw.run)(&self.with, context).map_err(|error| error.within(&self.id))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    paper: Head,
    #[serde(default)]
    claim: Vec<RawClaim>,
    #[serde(default)]
    figure: Vec<RawFigure>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    id: String,
    title: String,
    authors: String,
    venue: String,
    year: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaim {
    id: String,
    #[serde(rename = "where")]
    place: String,
    says: String,
    measure: String,
    #[serde(default)]
    with: toml::Table,
    unit: String,
    expect: Bound,
    verdict: Verdict,
    reason: Option<String>,
    note: Option<String>,
    #[serde(default)]
    quick: bool,
    seconds: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFigure {
    id: String,
    #[serde(rename = "where")]
    place: String,
    title: String,
    draw: String,
    #[serde(default)]
    with: toml::Table,
    #[serde(default = "short")]
    seconds: f64,
}

/// Default processor time in seconds of figures, and of claims in the quick subset. Other claims have `LONG`.
const SHORT: f64 = 0.1;
const LONG: f64 = 2.0;

fn short() -> f64 {
    SHORT
}

impl Paper {
    pub(super) fn parse((text, measures, drawings): Source) -> Result<Self, PapersError> {
        let file: File = toml::from_str(text).map_err(PapersError::new)?;
        let Head { id, title, authors, venue, year } = file.paper;
        let within = |error: PapersError| error.within(&id);
        let claims = file.claim.into_iter().map(|raw| raw.claim(measures)).collect::<Result<Vec<_>, _>>();
        let figures = file.figure.into_iter().map(|raw| raw.figure(drawings)).collect::<Result<Vec<_>, _>>();
        let (claims, figures) = (claims.map_err(within)?, figures.map_err(within)?);
        let mut seen = HashSet::new();
        let ids = claims.iter().map(|claim| &claim.id).chain(figures.iter().map(|figure| &figure.id));
        if let Some(twice) = ids.into_iter().find(|id| !seen.insert(*id)) {
            return Err(PapersError::new(format!("{id}: {twice} is a duplicate")));
        }
        Ok(Self { id, title, authors, venue, year, claims, figures })
    }
}

impl RawClaim {
    fn claim(self, measures: &'static [Measure]) -> Result<Claim, PapersError> {
        let id = self.id;
        let failed = |problem: String| PapersError::new(format!("{id}: {problem}"));
        let known = || measures.iter().map(|measure| measure.name).collect::<Vec<_>>().join("|");
        let measure = measures.iter().find(|measure| measure.name == self.measure);
        let measure = measure.ok_or_else(|| failed(format!("measure {}; allowed: {}", self.measure, known())))?;
        match (self.verdict, &self.reason) {
            (Verdict::NotReproduced, None) => {
                return Err(failed("a claim that is not reproduced needs a reason".into()));
            }
            (Verdict::Reproduced, Some(_)) => return Err(failed("a claim that is reproduced needs no reason".into())),
            _ => {}
        }
        let with = Parameters(self.with);
        let (place, says, unit, expect) = (self.place, self.says, self.unit, self.expect);
        let (verdict, reason, note, quick) = (self.verdict, self.reason, self.note, self.quick);
        let seconds = self.seconds.unwrap_or(if quick { SHORT } else { LONG });
        Ok(Claim { id, place, says, measure, with, unit, expect, verdict, reason, note, quick, seconds })
    }
}

impl RawFigure {
    fn figure(self, drawings: &'static [Draw]) -> Result<Figure, PapersError> {
        let known = || drawings.iter().map(|draw| draw.name).collect::<Vec<_>>().join("|");
        let draw = drawings.iter().find(|draw| draw.name == self.draw);
        let draw =
            draw.ok_or_else(|| PapersError::new(format!("{}: drawing {}; allowed: {}", self.id, self.draw, known())))?;
        Ok(Figure {
            id: self.id,
            place: self.place,
            title: self.title,
            seconds: self.seconds,
            draw,
            with: Parameters(self.with),
        })
    }
}
