//! Experiments of section V: the code that writes, the machine, the nodes, and the exchanged messages.

use std::sync::Arc;

use crate::forecast::{FileDivision, MessageCounts, MetadataForm, SharedFile};
use serde::Deserialize;
use tributary::access::Extents;
use tributary::{Hints, Topology};

use crate::papers::{Context, PapersError};
use tributary_benchmarks::e3sm::{E3sm, ElementType, GeneratorOptions};
use tributary_benchmarks::{Btio, BtioOptions, Flash, FlashOptions, Pattern, PatternError};

/// Ranks of the production run whose requests are dealt to the ranks of an experiment.
pub(super) const E3SM_RANKS: usize = 21_600;

/// Application that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Code {
    E3sm,
    Flash,
    Btio,
}

/// Machine on which the application writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Site {
    Cori,
    Summit,
}

/// One experiment of section V.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Experiment {
    pub(super) code: Code,
    pub(super) site: Site,
    pub(super) nodes: usize,
}

/// Experiment with the counts of its messages.
pub(super) struct Counted {
    pub(super) topology: Topology,
    pub(super) census: Arc<MessageCounts>,
}

impl Experiment {
    /// Returns the name of the simulated machine.
    pub(super) fn machine(self) -> &'static str {
        match self.site {
            Site::Cori => "cori-knl",
            Site::Summit => "summit",
        }
    }

    pub(super) fn ranks(self) -> usize {
        self.nodes * self.ranks_per_node()
    }

    fn ranks_per_node(self) -> usize {
        match self.site {
            Site::Cori => 64,
            Site::Summit => 42,
        }
    }

    /// Returns the key under which results of this experiment are kept.
    pub(super) fn key(self) -> String {
        format!("main {:?} on {:?}, {} nodes", self.code, self.site, self.nodes)
    }

    /// Returns the hints for the division of section V: on Lustre 64 stripes of 1 MiB, a stripe a round, aggregators 64
    /// i; on GPFS an aggregator a node and windows of 16 MiB. Throttles are batches (section IV.B).
    pub(super) fn hints(self, more: &str) -> Result<Hints, PapersError> {
        let driver = match self.site {
            Site::Cori => {
                "trib_driver=lustre; striping_unit=1M; striping_factor=64; cb_buffer_size=1M; \
                 trib_placement=stride:64"
            }
            Site::Summit => "trib_driver=gpfs; cb_buffer_size=16M; cb_config_list=*:1",
        };
        Ok(Hints::parse(&format!("{driver}; trib_throttle_mode=batch; {more}"))?)
    }

    /// Returns the number of rounds to simulate: as many as keep the whole figure within minutes.
    fn sample(self) -> usize {
        match (self.code, self.nodes) {
            // These writes have few rounds, in which nearly every rank sends to hundreds of aggregators: one is
            // simulated.
            (Code::E3sm, 512) | (Code::Btio, 672) => 1,
            (Code::E3sm, _) | (Code::Btio, 168) => 2,
            (Code::Flash, _) => 24,
            (Code::Btio, _) => 16,
        }
    }

    pub(super) fn pattern(self) -> Result<Box<dyn Pattern>, PapersError> {
        let ranks = self.ranks();
        Ok(match self.code {
            Code::E3sm => Box::new(E3sm::generated(E3SM_RANKS, GeneratorOptions::default(), ElementType::Float)?),
            Code::Flash => Box::new(Flash::new(ranks, FlashOptions::default())?),
            Code::Btio => Box::new(Btio::new(ranks, BtioOptions { grid: 1024, iterations: 1 })?),
        })
    }

    pub(super) fn topology(self) -> Result<Topology, PapersError> {
        Ok(Topology::blocks(self.ranks(), self.ranks_per_node())?)
    }

    pub(super) fn division(self, range: (u64, u64)) -> Result<FileDivision, PapersError> {
        let file = SharedFile::of(&self.topology()?, &self.hints("")?, range)?;
        Ok(FileDivision { file, sample: self.sample(), lists: MetadataForm::Pairs })
    }

    /// Returns the counts of the experiment's messages; computes them once.
    pub(super) fn counted(self, context: &Context) -> Result<Arc<Counted>, PapersError> {
        context.once(&self.key(), || {
            let (topology, pattern) = (self.topology()?, self.pattern()?);
            let range = (0, pattern.totals().file_size);
            let division = self.division(range)?;
            if self.code == Code::E3sm {
                let all = production(context)?;
                let own = |census: &&MessageCounts| census.file().aggregators == division.file.aggregators;
                let census = all.iter().find(own);
                let census = census.ok_or_else(|| PapersError::new(format!("{}: not counted", self.key())))?;
                return Ok(Counted { topology, census: Arc::new(census.folded(self.ranks())?) });
            }
            let access = |rank| -> Result<Extents, PatternError> { Ok(pattern.rank_access(rank, 0)?.file) };
            let census = MessageCounts::gather(self.ranks(), division, access, || ())?;
            Ok(Counted { topology, census: Arc::new(census) })
        })
    }
}

/// Returns the requests of E3SM's production run, rank by rank, for each division of the file: three passes over 1.36
/// billion requests, two minutes of a core. Experiments deal its ranks to theirs.
fn production(context: &Context) -> Result<Arc<Vec<MessageCounts>>, PapersError> {
    context.once("main E3SM, production run", || {
        let settings = [(Site::Cori, 64), (Site::Summit, 128), (Site::Summit, 512)];
        let settings = settings.map(|(site, nodes)| Experiment { code: Code::E3sm, site, nodes });
        let pattern = settings[0].pattern()?;
        let range = (0, pattern.totals().file_size);
        let divisions = settings.iter().map(|setting| setting.division(range)).collect::<Result<Vec<_>, _>>()?;
        let access = |rank| -> Result<Extents, PatternError> { Ok(pattern.rank_access(rank, 0)?.file) };
        Ok(MessageCounts::gather_all(E3SM_RANKS, divisions, |rank| rank, access, || ())?)
    })
}
