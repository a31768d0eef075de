//! Simulates a column of figure 5 or a point of figure 4: a write with one choice of kernels.

use std::sync::Arc;

use crate::forecast::{CollectiveWrite, CollectiveWriteOptions, Parts};
use crate::sim;

use super::setting::{Experiment, Site};
use crate::papers::{Context, PapersError};

/// Kernels of the columns of figure 5.
const COLUMNS: [&str; 6] = ["ascending_issend", SPREAD_OUT, "balanced", "pairwise", "two_layer", HYBRID];
const SPREAD_OUT: &str = "spread_out";

/// Name of the column whose metadata is sent by the balanced algorithm and whose data by ROMIO's (section V.C).
const HYBRID: &str = "hybrid";

fn kernels(metadata: &str, data: &str) -> String {
    format!("trib_kernel_meta={metadata}; trib_kernel_data={data}")
}

fn under(throttle: u32) -> String {
    format!("{}; trib_throttle_meta={throttle}; trib_throttle_data={throttle}", kernels("balanced", "balanced"))
}

impl Experiment {
    /// Returns the columns of this setting's panel. Where the aggregators are spread evenly over the ranks, both
    /// spread-out algorithms are the same and stand once, as in the paper.
    pub(super) fn columns(self) -> impl Iterator<Item = &'static str> {
        let evenly = self.site == Site::Summit || self.nodes == 64;
        COLUMNS.into_iter().filter(move |&column| column != SPREAD_OUT || !evenly)
    }

    /// Returns the times of a column's write, for the aggregator that ends last. A hybrid has the metadata time of one
    /// kernel and the data time of the other: all ranks agree between the phases.
    pub(super) fn column(self, kernel: &str, context: &Context) -> Result<Parts, PapersError> {
        if kernel != HYBRID {
            return Ok(*self.parts(&kernels(kernel, kernel), context)?);
        }
        let metadata = self.column("balanced", context)?.metadata;
        let rest = self.column("ascending_issend", context)?;
        Ok(Parts { metadata, total: rest.total - rest.metadata + metadata, ..rest })
    }

    /// Returns the times of a column's write by the engine.
    pub(super) fn engine_column(self, kernel: &str, context: &Context) -> Result<Parts, PapersError> {
        let (metadata, data) = if kernel == HYBRID { ("balanced", "ascending_issend") } else { (kernel, kernel) };
        self.by_engine(&kernels(metadata, data), context)
    }

    /// Returns the times with the balanced algorithm under a throttle.
    pub(super) fn throttled(self, throttle: u32, context: &Context) -> Result<Parts, PapersError> {
        Ok(*self.parts(&under(throttle), context)?)
    }

    /// Returns the times of the engine with the balanced algorithm under a throttle.
    pub(super) fn engine_throttled(self, throttle: u32, context: &Context) -> Result<Parts, PapersError> {
        self.by_engine(&under(throttle), context)
    }

    /// Simulates the write with the hints in the text `hints`. Each text is simulated once.
    fn parts(self, hints: &str, context: &Context) -> Result<Arc<Parts>, PapersError> {
        context.once(&format!("{}: {hints}", self.key()), || {
            let (machine, counted) = (context.machine(self.machine())?, self.counted(context)?);
            let options = CollectiveWriteOptions {
                topology: counted.topology.clone(),
                hints: self.hints(hints)?,
                io: true,
                write_behind: false,
                blocks: true,
                empty_steps: true,
            };
            let workload = CollectiveWrite::new(&machine, options, counted.census.clone())?;
            if workload.is_in_lockstep() {
                return Ok(workload.in_lockstep(&machine, || ()).last);
            }
            let outcome = sim::run(&machine, &counted.topology, &workload, 0, |_| ())?;
            Ok(workload.outcome(&outcome.phases).last)
        })
    }
}
