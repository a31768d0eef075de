//! The planner of exchanges: chooses the aggregators and the windows of a call, and learns from earlier calls.

use crate::access::{AccessStats, Direction};
use crate::drivers::{Domains, Driver, DriverHints, Layout, Written};
use crate::engine::choose::cost::Movers;
use crate::engine::choose::layers::Touched;
use crate::engine::choose::learned::{CallTimes, Learned, Paces, probe_then_divide};
use crate::engine::choose::windows::{ExchangeWindows, LARGEST_OPEN, WindowPlanner};
use crate::engine::choose::{MESSAGE_NANOS, WINDOWS_AHEAD};
use crate::engine::exchange::roles::Roles;
use crate::engine::trace::path::Layering;
use crate::error::Result;
use crate::exchange::cost::Costs;
use crate::hints::Hints;
use crate::topology::{Rank, Topology};

/// The part of a plan that follows from the settings of the file and the agreed statistics of a call: the same on all ranks.
pub struct Division<'a> {
    /// The aggregators of the call, and the routes of messages to them.
    pub roles: &'a Roles,
    /// File domains: the parts of the file that belong to each aggregator.
    pub domains: Domains,
    /// Layers of the call's messages.
    pub layers: Layering,
    /// Number of windows of an aggregator that are in memory at a time.
    pub open_windows: usize,
}

/// Plans the exchanges of a file: it divides the file between the aggregators. Equal on all ranks, except the roles.
pub struct ExchangePlanner {
    /// Storage driver of the file.
    pub driver: Box<dyn Driver>,
    /// Aggregators, and the routes of messages to them.
    pub roles: Roles,
    /// Aggregators and routes of tiny calls: the first aggregator only.
    tiny: Roles,
    driver_hints: DriverHints,
    layout: Layout,
    /// Planner of windows in shared memory. They get as much memory as the windows of an aggregator.
    pub windows: WindowPlanner,
    ranks: usize,
    nodes: usize,
    /// Maximum number of bytes of a tiny call.
    tiny_call: u64,
    /// Size of windows and number of open windows that hints set.
    window: Option<u64>,
    open: Option<usize>,
    /// True if the planner learns nothing from calls.
    is_fixed: bool,
    /// True if no bytes are buffered, so that the times of writes are the times of the file.
    is_timed: bool,
}

impl ExchangePlanner {
    /// Returns the planner of a file. Local.
    ///
    /// # Errors
    /// Bad hints.
    pub fn new(
        rank: Rank,
        topology: &Topology,
        layout: Layout,
        driver: Box<dyn Driver>,
        hints: &Hints,
        costs: Costs,
    ) -> Result<Self> {
        let aggregators = driver.aggregators(topology, &layout, &hints.for_driver())?;
        let first = aggregators.iter().copied().take(1).collect();
        let window = hints.cb_buffer_size.unwrap_or_else(|| driver.usual_window(topology.ranks()));
        let driver_hints = DriverHints { cb_buffer_size: window, ..hints.for_driver() };
        let counter = |aggregators: usize| {
            let any = Written { start: 0, end: 1, bytes: 1, histogram: &[] };
            Touched::new(&driver.domains(&layout, aggregators, any, &driver_hints))
        };
        let roles = Roles::new(rank, topology, counter(aggregators.len()), aggregators.into(), hints, costs)?;
        let tiny = Roles::new(rank, topology, counter(1), first, hints, costs)?;
        Ok(Self {
            windows: WindowPlanner {
                memory: window,
                // As much as the windows of an aggregator take.
                memory_if_slow: hints.cb_buffer_size.unwrap_or(window.saturating_mul(LARGEST_OPEN)),
                lock_unit: driver.lock_unit(&layout),
                direct_from: layout.direct_from,
            },
            driver,
            roles,
            tiny,
            driver_hints,
            layout,
            ranks: topology.ranks(),
            nodes: topology.nodes(),
            tiny_call: hints.tiny_call,
            window: hints.cb_buffer_size,
            open: hints.write_buffers,
            is_fixed: hints.aggregators_fixed,
            is_timed: hints.write_behind == Some(0),
        })
    }

    /// Returns the aggregators of a call with `bytes` bytes over all ranks.
    pub fn roles(&self, bytes: u64) -> &Roles {
        if bytes <= self.tiny_call { &self.tiny } else { &self.roles }
    }

    /// Divides the file between the aggregators of a call, and chooses the layers of messages. `histogram` is the sum
    /// over all ranks of [`count_bytes`](crate::engine::exchange::plan::count_bytes) if
    /// [`ExchangePlanner::needs_histogram`] returns true, or else empty. `learned` was learned from earlier calls. The
    /// same on all ranks. Local.
    pub fn divide(&self, amount: &AccessStats, histogram: &[u64], learned: &Learned) -> Division<'_> {
        let AccessStats { start, end, bytes, .. } = *amount;
        let roles = self.roles(bytes);
        let written = Written { start: start.min(end), end, bytes, histogram };
        let divide = |senders| {
            let aggregators = roles.aggregators.len();
            let ExchangeWindows { window, open } = self.windows(amount, (senders, aggregators), learned.paces);
            let hints = DriverHints { cb_buffer_size: window, ..self.driver_hints.clone() };
            let equal = self.driver.domains(&self.layout, aggregators, written, &hints);
            (equal.in_shares(&learned.shares, self.layout.unit), open)
        };
        let (mut domains, mut open_windows) = divide(self.ranks);
        let layers = roles.choose(amount, &domains, learned.connected);
        if self.senders(layers) < self.ranks {
            (domains, open_windows) = divide(self.senders(layers));
        }
        Division { roles, domains, layers, open_windows }
    }

    /// Returns true if the driver divides the bytes of the call by density.
    pub fn needs_histogram(&self, amount: &AccessStats) -> bool {
        self.driver.wants_histogram() && self.roles(amount.bytes).aggregators.len() > 1
    }

    /// Returns true if a plan for `bytes` bytes fits an access that lies `by` bytes farther in the file.
    pub fn fits(&self, by: i64, bytes: u64) -> bool {
        let aggregators = self.roles(bytes).aggregators.len();
        by.unsigned_abs().is_multiple_of(self.driver.period(&self.layout, aggregators))
    }

    /// Returns the windows of an exchange of `amount` from `senders` ranks to `aggregators` aggregators; their size follows
    /// from the amount, from the `paces` of an earlier call, or from a hint.
    fn windows(
        &self,
        amount: &AccessStats,
        (senders, aggregators): (usize, usize),
        paces: Option<Paces>,
    ) -> ExchangeWindows {
        // Direct I/O needs large windows: what is less than `direct_from` bytes at both ends of a window is not direct.
        let several = if self.layout.direct_from.is_some() { WINDOWS_AHEAD } else { 1 };
        let unit = self.windows.unit().saturating_mul(several);
        let learned = paces.map(|paces| (paces, self.window_nanos(senders)));
        let windows = match self.window {
            Some(window) => ExchangeWindows { window, open: 2 },
            None => ExchangeWindows::of(amount, (senders, aggregators), (self.windows.memory, unit), learned),
        };
        ExchangeWindows { open: self.open.unwrap_or(windows.open), ..windows }
    }

    /// Returns the number of ranks that send to aggregators, with these layers of messages.
    fn senders(&self, layers: Layering) -> usize {
        let layered = layers.layered.data && layers.local > 0;
        if layered { self.ranks.min(layers.local * self.nodes) } else { self.ranks }
    }

    /// Returns the time that the messages of a window take if every sender has one, in nanoseconds.
    fn window_nanos(&self, senders: usize) -> u64 {
        (MESSAGE_NANOS as f64 * senders as f64 / self.roles.core()) as u64
    }

    /// Returns those who can move the bytes of a call of `amount` between hosts, and the windows of aggregators that are not
    /// layered.
    pub fn movers(&self, amount: &AccessStats, learned: Option<Paces>) -> Movers {
        let aggregators = self.roles(amount.bytes).aggregators.len();
        let ExchangeWindows { window, .. } = self.windows(amount, (self.ranks, aggregators), learned);
        Movers { local: self.ranks.div_ceil(self.nodes), aggregators, window }
    }

    /// Returns true if calls may be made in another way because of the times of earlier calls.
    pub fn learns(&self) -> bool {
        !self.is_fixed && self.is_timed
    }

    /// Learns from an exchange of `amount` with these layers of messages, which took `took`, unless the hints forbid it.
    /// Returns true if something changed: the same on all ranks. The next file on the same file system begins with the new
    /// values. Local.
    pub fn learn(&self, learned: &mut Learned, amount: &AccessStats, layers: Layering, took: &CallTimes) -> bool {
        let (aggregators, senders) = (&self.roles(amount.bytes).aggregators, self.senders(layers));
        if self.is_fixed || aggregators.len() != self.roles.aggregators.len() {
            return false;
        }
        let windows = |paces| self.windows(amount, (senders, aggregators.len()), paces);
        let windows = self.window.is_none().then(|| (windows, self.window_nanos(senders)));
        let is_new = learned.connect(layers.layered.data);
        let was_timed = learned.timed;
        learned.learn(took, amount.bytes, aggregators, windows) || is_new || learned.timed != was_timed
    }

    /// Returns the two parts in which a write of `left` without a kept plan is exchanged: the times of the first part
    /// divide the second. `None` for one part: earlier calls have shown these times, or they would change nothing. The
    /// same on all ranks. Local.
    pub fn probe_then_divide(
        &self,
        learned: &Learned,
        left: &AccessStats,
        direction: Direction,
    ) -> Option<[AccessStats; 2]> {
        let divides = direction == Direction::Write && !self.is_fixed && !self.driver.is_striped();
        let is_new = !learned.timed && self.is_timed;
        let aggregators = self.roles(left.bytes).aggregators.len();
        (divides && is_new).then(|| probe_then_divide(left, aggregators, self.layout.unit))?
    }
}
