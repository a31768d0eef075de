//! Pattern `wrf`: the recorded exchange of WRF.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tributary_benchmarks::wrf::Trace;

use super::{Parameters, Subject};
use crate::Failure;

/// WRF: the messages of a real all-to-many exchange, replayed without a file
#[derive(Args)]
pub struct WrfSource {
    /// The trace, plain or gzip; must be given.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

impl Parameters for WrfSource {
    const NAME: &'static str = "wrf";
    const CODE: &'static str = "\
The messages of the data phase, recorded while the Weather Research and Forecasting model wrote through PnetCDF on 8 nodes \
of 128 ranks: 253 rounds to 32 aggregators. No file is written: each round's messages go through the data kernel with its \
throttle, and each is checked where it arrives. On fewer ranks the trace is folded: consecutive ranks become one, what a \
pair exchanges in a round one message. The recorded trace, trace_1024p_253n.dat.gz, is the user's to give; the example and \
the picture use benchmarks/data/example_trace.dat, a small synthetic one (32 ranks, 4 aggregators, 3 rounds of one array).";
    const ORIGIN: &'static str = "the trace of 1,024 ranks published with the all-to-many benchmarks of WRF-IO";
    const FORMULAS: &'static [(&'static str, &'static str)] = &[
        ("requests", "the trace's messages"),
        ("bytes", "the trace's bytes, whatever the number of ranks"),
        ("data fan-in", "the trace's peers of a receiver in a round"),
    ];
    const EXAMPLE: &'static str = "--trace benchmarks/data/example_trace.dat --ranks 16 --kernel balanced";
    const PICTURE: &'static str = "--trace benchmarks/data/example_trace.dat --round 1";

    fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure> {
        let path = self.trace.as_ref().ok_or_else(|| Failure::missing("--trace FILE"))?;
        let trace = Trace::open(path)?;
        Ok(Subject::Exchange(Arc::new(match ranks.filter(|&ranks| ranks != trace.ranks()) {
            Some(ranks) => trace.folded(ranks)?,
            None => trace,
        })))
    }
}
