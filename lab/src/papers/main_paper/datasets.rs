//! Table I and the arithmetic of section V: requests, bytes, rounds, and the number of ranks that send into a window.

use serde::Deserialize;

use crate::papers::{Context, PapersError, Parameters, Values};
use tributary_benchmarks::{
    Btio, BtioOptions, ClosedForm, Division, E3sm, ElementType, Flash, FlashOptions, GeneratorOptions, Pattern,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dataset {
    dataset: Name,
    ranks: usize,
    #[serde(default)]
    division: Option<File>,
    #[serde(default)]
    per: Option<Per>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Name {
    E3smF,
    /// The 24 unknowns of the FLASH checkpoint.
    Flash,
    Btio,
}

/// Division of a file in the paper.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum File {
    /// Lustre: 64 stripes of 1 MiB (section V).
    Lustre,
    /// GPFS: windows of 16 MiB, one aggregator for 42 ranks.
    Gpfs,
}

/// Divisor of a count.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Per {
    Rank,
    RootOfRanks,
}

impl Dataset {
    fn division(&self) -> Result<Division, PapersError> {
        match self.division {
            Some(File::Lustre) => Ok(Division::Stripes { stripe: 1 << 20, aggregators: 64 }),
            Some(File::Gpfs) => Ok(Division::Ranges { window: 16 << 20, aggregators: self.ranks as u64 / 42 }),
            None => Err(PapersError::new("division is missing; allowed: lustre, gpfs")),
        }
    }

    /// Returns the closed form of the dataset's numbers; without a division, only numbers that do not depend on it are
    /// valid.
    fn form(&self) -> Result<ClosedForm, PapersError> {
        let division = self.division().unwrap_or(Division::Stripes { stripe: 1 << 20, aggregators: 64 });
        Ok(match self.dataset {
            Name::E3smF => {
                E3sm::generated(self.ranks, GeneratorOptions::default(), ElementType::Float)?.closed_form(division)
            }
            Name::Flash => Flash::new(self.ranks, FlashOptions::default())?.unknowns_form(division),
            Name::Btio => Btio::new(self.ranks, BtioOptions { grid: 1024, iterations: 1 })?.closed_form(division),
        })
    }

    fn value(&self, name: &str, value: f64) -> Values {
        let ranks = self.ranks as f64;
        let by = match self.per {
            None => 1.0,
            Some(Per::Rank) => ranks,
            Some(Per::RootOfRanks) => ranks.sqrt(),
        };
        vec![(name.to_string(), value / by)]
    }
}

/// Counts the requests of a collective write.
pub(super) fn requests(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let dataset: Dataset = with.read()?;
    Ok(dataset.value("requests", dataset.form()?.requests as f64))
}

/// Counts the bytes of a collective write, in GiB.
pub(super) fn bytes(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let dataset: Dataset = with.read()?;
    Ok(dataset.value("bytes", dataset.form()?.bytes as f64 / f64::from(1u32 << 30)))
}

/// Counts the rounds of a collective write: the windows of each aggregator that the bytes fill.
pub(super) fn rounds(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let dataset: Dataset = with.read()?;
    let division = dataset.division()?;
    let rounds = dataset.form()?.bytes.div_ceil(division.window() * division.aggregators());
    Ok(dataset.value("rounds", rounds as f64))
}

/// Computes the maximum number of ranks that send into one window.
pub(super) fn senders(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let dataset: Dataset = with.read()?;
    dataset.division()?;
    let senders = dataset.form()?.data_fan_in.ok_or_else(|| PapersError::new("the dataset has no closed form"))?;
    Ok(dataset.value("senders", senders as f64))
}
