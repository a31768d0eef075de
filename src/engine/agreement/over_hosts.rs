//! The first agreement of a collective call of ranks that exchange messages.
//!
//! The contributions of ranks ([`contribution`](super::contribution)) are merged on their way to rank 0: facts, and
//! small data ([`small`](super::small)), which rank 0 then writes. So a call with little data ends with this one
//! agreement, and so does a call whose ranks have all written their own large pieces. Any other call continues with the
//! result of the agreement.

use std::sync::Arc;

use super::contribution::Contribution;
use super::footprint::Footprint;
use super::small::SmallData;
use crate::access::{BufferLayout, Extents, WriteAccess};
use crate::collectives::combine::{Combine, combine_over_hosts};
use crate::engine::direction::Direction;
use crate::engine::facts::Facts;
use crate::engine::facts::agreed::Agreed;
use crate::engine::facts::calls::CallKinds;
use crate::engine::facts::reuse::AccessShift;
use crate::engine::facts::words::{get, message};
use crate::engine::file::File;
use crate::engine::policy::paths::Way;
use crate::engine::setup::Setup;
use crate::engine::storage::Storage;
use crate::engine::storage::window_queue::Outcome;
use crate::error::{Error, Result};
use crate::hints::Switch;
use crate::topology::Rank;

impl File {
    /// Makes the first agreement of a write. `early` is the outcome if this rank has written its bytes already. Also
    /// returns this rank's own error. Collective.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub(in crate::engine) async fn agree_over_hosts_to_write(
        &mut self,
        WriteAccess { file, layout, source }: WriteAccess<'_>,
        checked: Result<()>,
        early: Option<&Outcome>,
    ) -> Result<(Agreed, Option<Error>)> {
        let may_be_small = self.setup.takes_small();
        let mut contribution = self.contribution(file, layout, early, Direction::Write);
        if may_be_small && checked.is_ok() && early.is_none() {
            let data = SmallData::from_access(self.endpoint.rank(), file, layout, source);
            data.into_iter().for_each(|data| contribution.bring(data));
        }
        let small = (may_be_small && self.endpoint.rank() == 0).then(|| self.handle.storage(&self.setup));
        self.agree_over_hosts(contribution, checked, small, Direction::Write).await
    }

    /// Makes the first agreement of a read, like [`File::agree_over_hosts_to_write`]. `checked` is the end of the file
    /// in bytes, or `u64::MAX` if this rank has not looked for it.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub(in crate::engine) async fn agree_over_hosts_to_read(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        checked: Result<u64>,
        early: Option<&Outcome>,
    ) -> Result<(Agreed, Option<Error>)> {
        let mut contribution = self.contribution(file, layout, early, Direction::Read);
        contribution.facts.limit = checked.as_ref().map_or(u64::MAX, |limit| *limit);
        self.agree_over_hosts(contribution, checked.map(drop), None, Direction::Read).await
    }

    /// Returns this rank's contribution, without data.
    fn contribution(
        &self,
        file: &Extents,
        layout: &BufferLayout,
        early: Option<&Outcome>,
        direction: Direction,
    ) -> Contribution {
        let rest = if early.is_some() { &Extents::empty() } else { file };
        let again = self.again(rest, layout);
        let mut facts = Facts::from_access((file, file), again, early, Some(self.setup.tiling));
        facts.calls = CallKinds::new(direction.into(), self.endpoint.rank());
        facts.is_sole = self.is_sole_writer();
        Contribution::new(facts, self.footprint(file, direction))
    }

    /// Returns this rank's footprint; unknown if its host may not write or read without other hosts.
    fn footprint(&self, file: &Extents, direction: Direction) -> Footprint {
        let Some(hosts) = &self.setup.hosts else { return Footprint::unknown(0) };
        self.setup.footprint((hosts.host(), hosts.here().is_none()), file, direction)
    }

    /// Returns how an access relates to the access of the cached plan, and about how many windows of the file the
    /// access touches (the plan may not fit on another rank).
    fn again(&self, file: &Extents, layout: &BufferLayout) -> (AccessShift, u64) {
        let touched = || self.setup.roles.touched(file);
        let (again, plan) = self.plans.again(file, layout);
        (again, plan.map_or_else(touched, |plan| plan.touched(touched)))
    }

    /// Makes the first agreement of a call without data, like [`File::agree_over_hosts_to_write`].
    ///
    /// # Errors
    /// Errors of the message transport.
    pub(super) async fn agree_over_hosts_without_data(
        &mut self,
        facts: Facts,
        checked: Result<()>,
    ) -> Result<(Agreed, Option<Error>)> {
        self.agree_over_hosts(Contribution::new(facts, Footprint::unknown(0)), checked, None, Direction::Write).await
    }

    async fn agree_over_hosts(
        &mut self,
        mut contribution: Contribution,
        checked: Result<()>,
        small: Option<Result<Arc<dyn Storage>>>,
        direction: Direction,
    ) -> Result<(Agreed, Option<Error>)> {
        let rank = self.endpoint.rank();
        let Some(hosts) = self.setup.hosts.clone() else {
            return Err(Error::Internal { rank, what: "no hosts to agree over".to_string() });
        };
        if checked.is_err() {
            contribution.facts.fail(rank);
        }
        let setup = &self.setup;
        let mut bringing = CallToCombine { setup, rank, direction, contribution, small, error: checked.err() };
        let answer = combine_over_hosts(&mut self.endpoint, &hosts, &mut bringing).await?;
        Ok((get(&answer), bringing.error))
    }
}

impl Setup {
    /// Returns true if rank 0 may write small data of all ranks.
    pub(super) fn takes_small(&self) -> bool {
        let Self { hints, roles, .. } = self;
        hints.tiny_call > 0 && hints.cb_write != Switch::Disable && roles.aggregators.first() == Some(&0)
    }

    /// Returns the footprint of a rank; unknown if its host may not write or read without other hosts. A rank that
    /// `is_alone` on its host shares windows with nobody: its footprint is known only if its pieces are large enough to
    /// be written or read directly.
    pub(super) fn footprint(&self, (host, is_alone): (usize, bool), file: &Extents, direction: Direction) -> Footprint {
        let is_left = is_alone && file.count() > 0 && !self.rules(direction).is_direct(file);
        if !self.by_host || is_left {
            return Footprint::unknown(host);
        }
        // If the hint enables host domains, two hosts must not access the same block of the file system.
        let unit = match self.hints.host_domains {
            Switch::Enable => self.layout.unit.max(self.window_terms().1),
            Switch::Automatic | Switch::Disable => 1,
        };
        Footprint::from_extents(host, file, unit)
    }
}

/// This rank's part in the first agreement over hosts.
struct CallToCombine<'a> {
    setup: &'a Setup,
    rank: Rank,
    direction: Direction,
    contribution: Contribution,
    /// On rank 0: the handle of the file (or the error of opening it), if small data may be written.
    small: Option<Result<Arc<dyn Storage>>>,
    error: Option<Error>,
}

impl Combine for CallToCombine<'_> {
    fn body(&self) -> Vec<u8> {
        self.contribution.body()
    }

    fn merge(&mut self, body: &[u8]) {
        self.contribution.merge(Contribution::from(body));
    }

    fn decide(&mut self) -> Vec<u8> {
        let (setup, data) = (self.setup, &self.contribution.data);
        let mut agreed = self.contribution.agreed(setup.tiling, self.direction);
        agreed.came_along &= self.small.is_some();
        setup.decide(&mut agreed, setup.rules(self.direction));
        let is_small = agreed.failed.is_none() && agreed.decision.way == Way::Root;
        if let Some(storage) = self.small.take().filter(|_| is_small) {
            let written = agreed.write_along(&storage, (self.rank, &setup.path), |storage, all| {
                data.write(storage, all).and_then(|()| setup.pass_on(storage))
            });
            self.error = written.err();
        }
        message(&agreed)
    }
}
