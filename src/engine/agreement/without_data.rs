//! First agreements of calls without data (sync, close, a change of the size), which detect ranks that are in different
//! calls. Also the error that all ranks return if a first agreement fails.

use std::path::Path;

use super::contribution::Contribution;
use super::first::FirstPart;
use super::footprint::Footprint;
use crate::collectives::{broadcast, broadcast_error};
use crate::engine::direction::Direction;
use crate::engine::facts::agreed::Agreed;
use crate::engine::facts::calls::{CallFault, CallKind, CallKinds, CallsDiffer};
use crate::engine::facts::{Amount, Facts};
use crate::engine::file::{File, FileState};
use crate::error::{About, Error, Result};
use crate::fabric::Endpoint;
use crate::topology::Rank;

impl File {
    /// Returns the name of a call in messages: the caller's own name for it (for example the MPI function), or the name
    /// of `kind`.
    pub(in crate::engine) fn name(&self, kind: CallKind) -> &'static str {
        self.called.unwrap_or(kind.name())
    }

    /// Makes the first agreement of a call without data. `checked` is this rank's error, and `all` an amount that is
    /// merged like the amounts of writes and reads. Collective: one agreement.
    ///
    /// # Errors
    /// The same on every rank: ranks are in different calls, or the error of the lowest rank that has one. Errors of
    /// the message transport.
    pub(in crate::engine) async fn agree_without_data(
        &mut self,
        kind: CallKind,
        checked: Result<()>,
        all: Amount,
    ) -> Result<Agreed> {
        let (name, rank, team) = (self.name(kind), self.endpoint.rank(), self.team());
        self.observers.begin(self.endpoint.waiting(), name);
        let facts = Facts { all, ..Facts::without_data(kind, rank) };
        let contribution = Contribution::new(facts, Footprint::unknown(0));
        let (setup, mut error, direction) = (&self.setup, checked.err(), Direction::Write);
        let (arena, storage, mut agreed) = (None, None, Agreed::default());
        let mut own = FirstPart { setup, rank, direction, contribution, arena, storage, error: &mut error };
        let came = own.agree(&mut self.endpoint, &team, &mut agreed).await;
        self.observers.end();
        came?;
        match agreed.failed {
            Some(fault) => Err(self.agreed_error(fault, error, name).await?),
            None => Ok(agreed),
        }
    }

    /// Returns the error that all ranks report after a failed first agreement. `own` is this rank's error; this rank is
    /// in the call `name`. Collective: one broadcast, or two if ranks are in different calls.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub(in crate::engine) async fn agreed_error(
        &mut self,
        fault: CallFault,
        own: Option<Error>,
        name: &'static str,
    ) -> Result<Error> {
        match fault {
            CallFault::OfRank(rank) => broadcast_error(&mut self.endpoint, rank, own.as_ref()).await,
            CallFault::Mixed(calls) => self.calls_differ(calls, name).await,
        }
    }

    /// Two ranks broadcast the names of their calls. If one of them closes the file, no rank can use the file any more.
    async fn calls_differ(&mut self, calls: CallKinds, name: &'static str) -> Result<Error> {
        let damaged = || Error::Internal { rank: 0, what: "calls that differ are the same".to_string() };
        let CallsDiffer { one, other, closes } = calls.differ().ok_or_else(damaged)?;
        if one.max(other) >= self.endpoint.ranks() {
            return Err(Error::Internal { rank: 0, what: "a rank that is not there is in another call".to_string() });
        }
        if let Some(rank) = closes {
            self.state = FileState::ClosedBy(rank);
        }
        calls_differ(&mut self.endpoint, [one, other], name, &self.setup.path).await
    }
}

/// Returns the error for ranks that are in different calls on the file at `path`. `one` and `other` are two such ranks;
/// this rank is in the call `name`. Collective: two broadcasts.
///
/// # Errors
/// Errors of the message transport.
pub async fn calls_differ(endpoint: &mut Endpoint, [one, other]: [Rank; 2], name: &str, path: &Path) -> Result<Error> {
    let mut calls = [(one.max(other), String::new()), (one.min(other), String::new())];
    for (rank, call) in &mut calls {
        let told = broadcast(endpoint, *rank, name.as_bytes()).await?;
        *call = String::from_utf8_lossy(&told).into_owned();
    }
    let [(higher, its), (lower, other)] = calls;
    let path = path.display();
    let what = format!(
        "rank {higher} is in {its}, rank {lower} in {other} of {path}; all ranks must make the same collective call"
    );
    Ok(Error::state(what).about(About::Call))
}
