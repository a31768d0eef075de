//! Predicts the path of a planned write, by the rules that a real call follows.

use crate::access::{Direction, Extents, Tiling};
use crate::drivers::{Driver, Layout};
use crate::engine::agree::calls::CallForm;
use crate::engine::agree::first::{Contribution, OwnVote, VoteTerms, contribution, decided, takes_small};
use crate::engine::choose::rules::{Decision, Rules};
use crate::engine::choose::windows::WindowPlanner;
use crate::engine::exchange::kept_plans::AccessShift;
use crate::engine::exchange::planner::ExchangePlanner;
use crate::engine::file::setup::{may_be_by_host, shares_memory_on_nodes};
use crate::engine::trace::counts::Outcome;
use crate::engine::trace::path::{Path, Reason};
use crate::error::Result;
use crate::exchange::cost::Costs;
use crate::hints::Hints;
use crate::topology::{Rank, Topology};

/// Predicts the path of a write. The hosts of the ranks are the nodes of a topology. All functions are local.
pub struct PredictedPath {
    topology: Topology,
    hints: Hints,
    /// True if all ranks share memory.
    shares_memory: bool,
    votes: VoteTerms,
    windows: WindowPlanner,
    /// Merged contribution of the nodes whose ranks have all been added.
    all: Option<Contribution<'static>>,
    /// The node of the last rank that was added, and the merged contribution of the ranks of this node so far.
    node: Option<(usize, Contribution<'static>)>,
}

impl PredictedPath {
    /// Starts a prediction without ranks.
    ///
    /// # Errors
    /// Bad hints.
    pub fn new(topology: Topology, layout: Layout, driver: Box<dyn Driver>, hints: Hints) -> Result<Self> {
        hints.check(topology.ranks())?;
        let exchange = ExchangePlanner::new(0, &topology, layout, driver, &hints, Costs::CLUSTER)?;
        let (nodes, windows) = (topology.nodes(), exchange.windows);
        let (shares_memory, in_nodes) = shares_memory_on_nodes(&hints, topology.ranks(), nodes);
        let by_host = in_nodes && may_be_by_host(nodes, &hints, windows.lock_unit);
        let votes = VoteTerms::new(Tiling::from_key(0), by_host, &hints, &exchange, &layout);
        Ok(Self { topology, hints, shares_memory, votes, windows, all: None, node: None })
    }

    fn rules(&self) -> Rules<'_> {
        let Self { hints, windows, shares_memory, topology, .. } = self;
        let (in_memory, ranks) = (*shares_memory, topology.ranks() as u64);
        Rules { hints, windows, direction: Direction::Write, in_memory, ranks, slow_call: None }
    }

    /// Returns true if all ranks share memory: then ranks never exchange data by messages.
    pub fn shares_memory(&self) -> bool {
        self.shares_memory
    }

    /// Adds the extents that a rank writes. Add each rank once, and the ranks of a node one after the other. O(extents)
    /// at most.
    pub fn add(&mut self, rank: Rank, file: &Extents) {
        let rules = self.rules();
        let early = rules.can_write_before_agreement(file, true);
        let early = early.then(|| Outcome { bytes: file.bytes(), ..Outcome::default() });
        let node = self.topology.node_of(rank);
        let host = Some((node, self.topology.ranks_on(node) == 1)).filter(|_| !self.shares_memory);
        let (extents, early, reuse) = ((file, file), early.as_ref(), (AccessShift::No, 0));
        let (failed, form) = (false, CallForm::Blocking);
        let access = OwnVote { rank, host, extents, early, reuse, failed, form };
        let own = contribution(&self.votes, rules, access, None);
        match &mut self.node {
            Some((same, all)) if *same == node => all.merge(&own),
            _ => {
                self.close_node();
                self.node = Some((node, own));
            }
        }
    }

    fn close_node(&mut self) {
        let Some((_, of_node)) = self.node.take() else { return };
        match &mut self.all {
            Some(all) => all.merge(&of_node),
            None => self.all = Some(of_node),
        }
    }

    /// Returns the path of the write of the ranks that were added, and the reason for it.
    pub fn path(mut self) -> (Path, Reason) {
        self.close_node();
        let Some(all) = &self.all else { return (Path::Nothing, Reason::NoData) };
        let (votes, rules) = (&self.votes, self.rules());
        let Decision { path, reason, .. } = decided(votes, all, rules, takes_small(votes, rules)).decision;
        (path, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::BufferLayout;
    use crate::drivers::{DriverName, driver};
    use crate::fabric::{Endpoint, threads};
    use crate::{File, Mode};

    const RANKS: usize = 4;

    type Files<'a> = &'a (dyn Fn(Rank) -> Extents + Sync);

    fn predicted(hints: &str, unit: u64, per_node: usize, file: impl Fn(Rank) -> Extents) -> (Path, Reason) {
        let name = if unit > 1 { DriverName::Lustre } else { DriverName::Posix };
        let topology = Topology::blocks(RANKS, per_node).unwrap();
        let layout = Layout::of(unit, 1);
        let mut all =
            PredictedPath::new(topology, layout, driver(name, "x".as_ref()), Hints::parse(hints).unwrap()).unwrap();
        (0..RANKS).for_each(|rank| all.add(rank, &file(rank)));
        all.path()
    }

    fn strided(len: u64, count: u64) -> impl Fn(Rank) -> Extents + Sync {
        move |rank| Extents::strided(rank as u64 * len, len, RANKS as i64 * len as i64, count).unwrap()
    }

    #[test]
    fn ranks_of_one_node_exchange_only_if_the_hints_say_so() {
        let path = |hints, per_node, file: &dyn Fn(Rank) -> Extents| predicted(hints, 1 << 20, per_node, file).0;
        assert_eq!(path("", RANKS, &strided(64, 1 << 12)), Path::Windows);
        assert_eq!(path("trib_shared_memory=disable", RANKS, &strided(64, 1 << 12)), Path::Exchange);
        assert_eq!(path("", 2, &strided(64, 1 << 12)), Path::Exchange);
        assert_eq!(path("romio_cb_write=disable", 2, &strided(64, 1 << 12)), Path::Direct);
        assert_eq!(path("", 2, &|_| Extents::empty()), Path::Nothing);
    }

    /// Returns extents of a rank, in a MiB that belongs to the rank's node.
    fn apart(rank: Rank) -> Extents {
        let (node, member) = (rank as u64 / 2, rank as u64 % 2);
        Extents::strided((node << 20) + member * 64, 64, 128, 1 << 10).unwrap()
    }

    #[test]
    fn hosts_that_hold_no_bytes_of_each_other_do_not_exchange() {
        assert_eq!(predicted("", 1, 2, apart), (Path::Hosts, Reason::HostsApart));
        assert_eq!(predicted("trib_host_domains=disable", 1, 2, apart).0, Path::Exchange);
        assert_eq!(predicted("", 1 << 20, 2, apart).0, Path::Exchange, "hosts would share a stripe");
    }

    #[test]
    fn a_run_takes_the_path_that_was_predicted() {
        let nodes = "trib_driver=posix; trib_shared_memory=enable; trib_ranks_per_node=2";
        let single = "trib_driver=posix; trib_ranks_per_node=1";
        let cases: [(&str, usize, Files<'_>, Path); 6] = [
            (single, 1, &strided(8, 4), Path::Root),
            (single, 1, &strided(64, 1 << 12), Path::Exchange),
            (single, 1, &strided(1 << 20, 2), Path::Independent),
            (nodes, 2, &strided(64, 1 << 12), Path::Exchange),
            (nodes, 2, &apart, Path::Hosts),
            ("trib_driver=posix; trib_shared_memory=enable", RANKS, &strided(64, 1 << 12), Path::Windows),
        ];
        for (hints, per_node, file, expected) in cases {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("file");
            threads::run(RANKS, |transport| {
                let endpoint = Endpoint::new(transport);
                let extents = file(endpoint.rank());
                let mut made = File::open(endpoint, &path, Mode::Create, Hints::parse(hints).unwrap()).unwrap();
                let data = vec![7u8; extents.bytes() as usize];
                let report = made.write_all(&extents, &BufferLayout::Contiguous, &data).unwrap();
                assert_eq!(report.path, expected, "{hints}: {}", report.why());
                made.close().unwrap();
            })
            .unwrap();
            assert_eq!(predicted(hints, 1, per_node, file).0, expected, "{hints}");
        }
    }
}
