//! What is in force for an open file.

use crate::drivers::Layout;
use crate::engine::setup::Setup;
use crate::hints::{DriverName, Hints};
use crate::topology::{Rank, Topology};

/// What is in force for an open file: what its hints say, and what was found or chosen when it was opened.
#[derive(Debug, Clone)]
pub struct Settings<'a> {
    /// The hints of the file.
    pub hints: &'a Hints,
    /// The storage driver.
    pub driver: DriverName,
    /// The layout of the file on its file system: stripes or blocks.
    pub layout: Layout,
    /// Maximum size of a window in bytes: the part of the file that an aggregator holds in one round. A stripe may be
    /// larger.
    pub window: u64,
    /// The ranks that are aggregators, in ascending order.
    pub aggregators: &'a [Rank],
    /// The ranks and their nodes.
    pub topology: &'a Topology,
    /// True if collective calls go through memory that all ranks share, without messages.
    pub shares_memory: bool,
    /// Why the ranks of a host share no memory although the hints allow it, as far as this rank knows. `None` if they
    /// share memory, or the hints do not allow it.
    pub without_shared_memory: Option<&'a str>,
    /// Why collective writes leave no bytes behind although the hint `trib_write_behind` asks for it. `None` if they do,
    /// or if the hint does not ask for it.
    pub without_write_behind: Option<&'static str>,
}

impl<'a> Settings<'a> {
    pub(super) fn of(setup: &'a Setup) -> Self {
        Self {
            hints: &setup.hints,
            driver: setup.driver_name,
            layout: setup.layout,
            window: setup.windows.memory,
            aggregators: &setup.exchange.roles.aggregators,
            topology: &setup.topology,
            shares_memory: setup.shares_memory,
            without_shared_memory: setup.groups.hosts.as_ref().and_then(|hosts| hosts.refusal()),
            without_write_behind: setup.no_write_behind,
        }
    }
}
