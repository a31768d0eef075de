//! What every rank of a replay does, on any fabric.

use std::path::Path;
use std::pin::pin;

use tributary::collectives::agree;
use tributary::hints::DriverName;
use tributary::{Endpoint, Error, File, Hints, Mode};
use tributary_benchmarks::Pattern;

use crate::buffers::{Prepared, prepare};
use crate::calls::Calls;
use crate::cli::replay::{How, Wanted};

/// What is to be done; the same on all ranks.
pub struct Task<'a> {
    /// What.
    pub pattern: &'a dyn Pattern,
    /// Where.
    pub path: &'a Path,
    /// How.
    pub hints: &'a Hints,
    /// The options of how.
    pub how: &'a How,
    /// The options of what comes of it.
    pub wanted: &'a Wanted,
}

/// What a run showed; the same on all ranks.
pub struct Outcome {
    /// The collective writes.
    pub written: Calls,
    /// Nodes, as found or pretended.
    pub nodes: usize,
    /// The driver.
    pub driver: DriverName,
}

impl Task<'_> {
    /// Does it. Collective; the same error on all ranks or none.
    ///
    /// # Errors
    /// The engine's, or the pattern's on the lowest rank that has one.
    pub fn run(&self, mut endpoint: Endpoint) -> Result<Outcome, Error> {
        // A pattern that cannot be met on some rank is met before there is a file.
        let first = self.prepare(endpoint.rank(), 0);
        let first = endpoint.waiting().clone().wait(pin!(agree(&mut endpoint, first)))?;
        let (outcome, _) = self.write(endpoint, first)?;
        Ok(outcome)
    }

    fn prepare(&self, rank: usize, step: usize) -> Result<Prepared, Error> {
        let failed = |error| Error::argument(format!("rank {rank}, call {step}"), error, "a whole pattern");
        prepare(self.pattern, rank, step, self.how.buffer).map_err(failed)
    }

    /// One collective write a step.
    fn write(&self, endpoint: Endpoint, first: Prepared) -> Result<(Outcome, Endpoint), Error> {
        let rank = endpoint.rank();
        let mut file = File::open(endpoint, self.path, Mode::Create, self.hints.clone())?;
        let (mut written, mut first) = (Calls::default(), Some(first));
        for step in 0..self.pattern.steps() {
            let Prepared { access, buffer } = match first.take() {
                Some(first) => first,
                None => file.agree(self.prepare(rank, step))?,
            };
            written.add(file.write_all(&access.file, &access.layout, &buffer)?);
        }
        written.fan_in = file.fan_in()?;
        let outcome = Outcome { written, nodes: file.topology().nodes(), driver: file.driver() };
        Ok((outcome, file.close()?))
    }
}
