//! The plan of one collective call: what all ranks agree on before they exchange, and which path they take.

pub(in crate::engine) mod duplicate_reads;
pub(in crate::engine) mod flatten;
pub mod planning;

use crate::access::{BufferLayout, Extent, Extents};
use crate::collectives::allgather::LOCALITY_BRUCK;
use crate::collectives::intergroup::{TwoGroups, intergroup_allreduce};
use crate::collectives::{agree, allgather, allreduce, broadcast_error};
use crate::drivers::{Domains, Written};
use crate::engine::api::report::Path;
use crate::engine::api::setup::Setup;
use crate::engine::metadata::{Announced, announce};
use crate::engine::opening::large;
use crate::engine::plan::flatten::{ListsToSend, flatten};
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::hints::{Hints, Overlap, Switch};
use crate::schedule::ReduceOp::{self, Max, Min, Sum};
use crate::topology::Rank;

/// Parts of the range in which bytes are counted for domains by density.
pub const HISTOGRAM: usize = 1024;

/// Why ranges that overlap are exchanged.
pub const OVERLAP: &str = "the ranges of ranks overlap";

/// What one collective call moves, over all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreed {
    /// Lowest offset.
    pub start: u64,
    /// Highest end, or that of the file where a read goes beyond it.
    pub end: u64,
    /// Bytes.
    pub bytes: u64,
    /// Extents, as the ranks gave them.
    pub requests: u64,
    /// Whether the lengths of the ranks' ranges add up to no more than the whole: if not, ranges overlap; if so, they may
    /// all the same, and leave a gap elsewhere.
    pub disjoint: bool,
    /// How far every rank's access lies behind that of its plan, if that is all that is new of any.
    pub moved: Option<i64>,
}

/// What a rank's access is to that of the plan it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// Another one.
    No,
    /// The same, so many bytes further on.
    Moved(i64),
    /// Nothing, as it was then: wherever the others have moved.
    Nothing,
}

impl Again {
    /// Whether it is one again, and from where to where it may have moved, for the agreement: unsigned, in order.
    pub fn lanes(self) -> [u64; 3] {
        let biased = |by: i64| by as u64 ^ (1 << 63);
        match self {
            Self::No => [0, 0, 0],
            Self::Moved(by) => [1, biased(by), biased(by)],
            Self::Nothing => [1, u64::MAX, 0],
        }
    }

    /// What all ranks have agreed on.
    pub fn agreed(again: u64, lowest: u64, highest: u64) -> Option<i64> {
        let moved = |by: u64| (by ^ (1 << 63)) as i64;
        // Where no rank has anything, nothing has moved.
        let moved = if lowest > highest { Some(0) } else { (lowest == highest).then(|| moved(lowest)) };
        moved.filter(|_| again == 1)
    }
}

/// Agrees on ranges and sizes, with one allreduce of scalars: 2 ceil(log2 p) (t_s + 80 t_w); with dedicated I/O ranks, by
/// exchanges between the two groups. A rank whose arguments are bad makes the call fail on all. `checked` is the end of the
/// file, where this rank has looked and it matters, or else `u64::MAX`. Collective.
///
/// # Errors
/// The lowest rank's error, on every rank.
pub async fn agree_on_ranges(
    endpoint: &mut Endpoint,
    io: Option<&TwoGroups>,
    file: &Extents,
    checked: Result<u64>,
    again: Again,
) -> Result<Agreed> {
    const OPS: [ReduceOp; 10] = [Min, Max, Sum, Sum, Sum, Min, Min, Max, Min, Min];
    let (start, end) = file.span().unwrap_or((u64::MAX, 0));
    let failed = if checked.is_err() { endpoint.rank() as u64 } else { u64::MAX };
    let span = end.saturating_sub(start);
    let limit = checked.as_ref().map_or(u64::MAX, |limit| *limit);
    let [again, lowest, highest] = again.lanes();
    let mut lanes = [start, end, file.bytes(), file.count(), span, again, lowest, highest, limit, failed];
    match io {
        None => allreduce(endpoint, &OPS, &mut lanes).await?,
        Some(groups) => intergroup_allreduce(endpoint, groups, &OPS, &mut lanes).await?,
    }
    let [start, end, bytes, requests, spans, again, lowest, highest, limit, failed] = lanes;
    if failed != u64::MAX {
        return Err(broadcast_error(endpoint, failed as Rank, checked.err().as_ref()).await?);
    }
    let disjoint = spans <= end.saturating_sub(start);
    let moved = Again::agreed(again, lowest, highest);
    Ok(Agreed { start, end: end.min(limit), bytes, requests, disjoint, moved })
}

/// Which way a call moves bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the file.
    Write,
    /// From it.
    Read,
}

impl Direction {
    /// `write` or `read`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// Chooses the path and says why. Pure: the same on all ranks.
///
/// The rule of `automatic`: an exchange moves every byte twice and costs a message for each (rank, aggregator) and
/// round; it pays where requests are small or interleave. Ranges that do not overlap, with [`large`] requests on average, go
/// directly. (A write then makes sure of it: [`truly_disjoint`].)
pub fn choose_path(agreed: &Agreed, setup: &Setup, direction: Direction) -> (Path, String) {
    let hints = &setup.hints;
    let (switch, key) = match direction {
        Direction::Write => (hints.cb_write, "romio_cb_write"),
        Direction::Read => (hints.cb_read, "romio_cb_read"),
    };
    if agreed.bytes == 0 {
        return (Path::Nothing, "no rank has data".to_string());
    }
    if agreed.end <= agreed.start {
        return (Path::Nothing, "the file ends before the first byte".to_string());
    }
    if hints.io_ranks > 0 {
        return (Path::Exchange, format!("trib_io_ranks={}", hints.io_ranks));
    }
    if hints.no_indep_rw {
        return (Path::Exchange, "romio_no_indep_rw=true".to_string());
    }
    if direction == Direction::Write && hints.overlap == Overlap::RankOrder {
        // Nothing here proves that ranges do not overlap.
        return (Path::Exchange, "trib_overlap=rank_order".to_string());
    }
    let mean = agreed.bytes / agreed.requests.max(1);
    let large = large(setup);
    if agreed.bytes <= hints.tiny_call && switch != Switch::Disable {
        return (Path::Exchange, format!("{} bytes in all: the first aggregator takes them", agreed.bytes));
    }
    match switch {
        Switch::Enable => (Path::Exchange, format!("{key}=enable")),
        Switch::Disable => (Path::Direct, format!("{key}=disable")),
        Switch::Automatic if mean < large => {
            (Path::Exchange, format!("requests of {mean} bytes on average; {large} and more go directly"))
        }
        Switch::Automatic if !agreed.disjoint => (Path::Exchange, OVERLAP.to_string()),
        Switch::Automatic => {
            (Path::Direct, format!("requests of {mean} bytes on average in ranges that do not overlap"))
        }
    }
}

/// Whether no two ranks' ranges overlap, beyond doubt: [`Agreed::disjoint`] is fooled by a gap elsewhere. Collective; an
/// allgather of 16 bytes a rank, for calls of large requests only.
///
/// # Errors
/// The fabric's.
pub async fn truly_disjoint(endpoint: &mut Endpoint, setup: &Setup, file: &Extents) -> Result<bool> {
    let (start, end) = file.span().unwrap_or((NO_RANGE, NO_RANGE));
    let own = [start.to_le_bytes(), end.to_le_bytes()].concat();
    let all = allgather(endpoint, &setup.topology, &LOCALITY_BRUCK, &own).await?;
    let number = |bytes: [u8; 8]| u64::from_le_bytes(bytes);
    let mut ranges: Vec<_> = all
        .as_chunks::<16>()
        .0
        .iter()
        .map(|pair| {
            let (start, end) = pair.split_at(8);
            (number(start.try_into().unwrap_or_default()), number(end.try_into().unwrap_or_default()))
        })
        .collect();
    ranges.sort_unstable();
    Ok(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0))
}

/// What stands for the range of a rank without data: behind all others.
const NO_RANGE: u64 = u64::MAX;

/// Everything about a call that the same call again can use again.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The file, divided.
    pub domains: Domains,
    /// What this rank sends, or wants.
    pub outgoing: Vec<ListsToSend>,
    /// What this rank was told.
    pub announced: Announced,
}

impl Plan {
    /// Divides the file, flattens the access, and tells the aggregators, which are to make so many windows. Collective.
    ///
    /// # Errors
    /// The fabric's; or an aggregator has no memory for a round, on all ranks.
    pub async fn make(
        endpoint: &mut Endpoint,
        setup: &Setup,
        agreed: &Agreed,
        file: &Extents,
        layout: &BufferLayout,
        new_windows: usize,
        clock: &mut crate::engine::api::report::Clock,
    ) -> Result<Self> {
        let roles = setup.roles(agreed.bytes);
        let mut histogram = Vec::new();
        if setup.driver.wants_histogram() && roles.aggregators.len() > 1 {
            histogram = count_bytes(file, agreed);
            clock.flatten.lap();
            allreduce(endpoint, &[Sum; HISTOGRAM], &mut histogram).await?;
        }
        let written = Written { start: agreed.start, end: agreed.end, histogram: &histogram };
        let domains = setup.driver.domains(&setup.layout, roles.aggregators.len(), written, &setup.driver_hints);
        clock.agreement.lap();
        let outgoing = flatten(file, layout, &domains, agreed.end);
        clock.flatten.lap();
        let announced = announce(endpoint, &roles.metadata, &roles.data, &domains, &outgoing).await;
        // Lists that cannot be read are an error that can be agreed: all have exchanged. A broken exchange is not.
        let announced = match announced {
            Err(error) if endpoint.waiting().failure().is_alone(&error) && !matches!(error, Error::Codec { .. }) => {
                return Err(error);
            }
            announced => {
                let rank = endpoint.rank();
                let enough = announced.and_then(|own| has_memory(rank, &own, &setup.hints, new_windows).map(|()| own));
                agree(endpoint, enough).await?
            }
        };
        clock.metadata.lap();
        Ok(Self { domains, outgoing, announced })
    }
}

/// Whether this aggregator has memory for a round: for its messages, as many bytes as a window has, and for so many windows
/// that are not there yet. While a round goes on it is too late to say so: other ranks send already.
fn has_memory(rank: Rank, announced: &Announced, hints: &Hints, new_windows: usize) -> Result<()> {
    let incoming = announced.incoming.iter().fold(0u64, |sum, (_, list)| sum.saturating_add(list.summary().bytes));
    let window = incoming.min(hints.cb_buffer_size).max(1);
    let windows = incoming.div_ceil(window).min(new_windows as u64);
    let bytes = window.saturating_mul(windows.saturating_add(1));
    let tried = usize::try_from(bytes).map(|bytes| Vec::<u8>::new().try_reserve_exact(bytes));
    if matches!(tried, Ok(Ok(()))) {
        return Ok(());
    }
    let what = "windows and their messages; a smaller cb_buffer_size needs less".to_string();
    Err(Error::NoMemory { rank, bytes, what })
}

/// How many bytes of `file` lie in each of [`HISTOGRAM`] equal parts of the agreed range. O(extents + parts touched).
pub fn count_bytes(file: &Extents, agreed: &Agreed) -> Vec<u64> {
    let width = (agreed.end - agreed.start).div_ceil(HISTOGRAM as u64).max(1);
    let mut parts = vec![0; HISTOGRAM];
    // Most extents lie in the part of the one before: no division for those.
    let (mut part, mut from, mut until) = (0, 0, 0);
    for mut extent in file.iter() {
        extent.len = extent.len.min(agreed.end.saturating_sub(extent.offset));
        while extent.len > 0 {
            if extent.offset < from || extent.offset >= until {
                part = ((extent.offset - agreed.start) / width) as usize;
                from = agreed.start + part as u64 * width;
                until = from + width;
            }
            let len = extent.len.min(until - extent.offset);
            parts[part] += len;
            extent = Extent { offset: extent.offset + len, len: extent.len - len };
        }
    }
    parts
}

/// A plan and what it is the plan of.
pub struct Cached {
    file: Extents,
    layout: BufferLayout,
    /// The end that was agreed.
    end: u64,
    plan: std::sync::Arc<Plan>,
}

impl Cached {
    /// Keeps a plan.
    pub fn new(file: &Extents, layout: &BufferLayout, end: u64, plan: std::sync::Arc<Plan>) -> Self {
        Self { file: file.clone(), layout: layout.clone(), end, plan }
    }

    /// What that access is to the one of this plan. O(encoded size of the access).
    pub fn again(&self, file: &Extents, layout: &BufferLayout) -> Again {
        match file.moved_from(&self.file).filter(|_| self.layout == *layout) {
            None => Again::No,
            Some(_) if file.count() == 0 => Again::Nothing,
            Some(by) => Again::Moved(by),
        }
    }

    /// The plan and how far its windows are to be moved, if all ranks have it, and may move it (`setup`).
    pub fn plan(&self, agreed: &Agreed, setup: &Setup) -> Option<(std::sync::Arc<Plan>, i64)> {
        let by = agreed.moved?;
        let aggregators = setup.roles(agreed.bytes).aggregators.len();
        let is_whole = by.unsigned_abs().is_multiple_of(setup.driver.period(&setup.layout, aggregators));
        let is_it = is_whole && agreed.end == self.end.wrapping_add(by as u64);
        is_it.then(|| (self.plan.clone(), by))
    }
}

/// An error of this rank's arguments, found before anything is sent.
pub fn check_access(file: &Extents, layout: &BufferLayout, buffer: usize) -> Result<()> {
    layout.check(file.bytes(), buffer)?;
    match file.span() {
        Some((_, end)) if end > i64::MAX as u64 => Err(Error::argument("extent end", end, "2^63 - 1 or less")),
        _ => Ok(()),
    }
}
