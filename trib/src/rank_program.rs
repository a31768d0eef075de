//! What every rank of a replay does, on any fabric.

use std::path::Path;

use tributary::engine::FanIn;
use tributary::hints::DriverName;
use tributary::{CallReport, Endpoint, Error, File, Hints, Mode};
use tributary_benchmarks::Pattern;

/// What a run showed; the same on all ranks.
pub struct Outcome {
    /// The collective call.
    pub call: CallReport,
    /// Senders per aggregator and round.
    pub fan_in: FanIn,
    /// Nodes, as found or pretended.
    pub nodes: usize,
    /// The driver.
    pub driver: DriverName,
}

/// Writes the pattern collectively. Collective; the same error on all ranks or none.
///
/// # Errors
/// The engine's, or the pattern's on the lowest rank that has one.
pub fn write(endpoint: Endpoint, pattern: &dyn Pattern, path: &Path, hints: &Hints) -> Result<Outcome, Error> {
    let rank = endpoint.rank();
    let access = pattern.rank_access(rank, 0).and_then(|access| {
        let mut buffer = vec![0; access.file.bytes() as usize];
        pattern.fill(rank, 0, &mut buffer)?;
        Ok((access, buffer))
    });
    let mut file = File::open(endpoint, path, Mode::Create, hints.clone())?;
    let access = access.map_err(|error| Error::argument(format!("rank {rank}"), error, "a whole pattern"));
    let (access, buffer) = file.agree(access)?;
    let call = file.write_all(&access.file, &access.layout, &buffer)?;
    let outcome = Outcome { fan_in: file.fan_in()?, nodes: file.topology().nodes(), driver: file.driver(), call };
    file.close()?;
    Ok(outcome)
}
