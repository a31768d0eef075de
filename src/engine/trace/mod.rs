//! Observes and reports the calls on an open file. [`Observers`] are the clock, the stall watchdog, and the capture with its
//! timeline. A call reports its begin, its stages and its end to them. They change nothing in the call, and use no other
//! module of the engine.
//!
//! | module | holds |
//! |---|---|
//! | [`path`] | the path of a call's bytes and its reason, as reports print them |
//! | [`clock`], [`counts`] | the times of the phases of a call, and its totals on one rank |
//! | [`report`] | the totals of a call over all ranks |
//! | [`timeline`] | the times of one rank's windows |
//! | [`capture`] | the capture of every call: the format, and what reads it |
//! | [`watchdog`] | the warning about a rank that waits long |

pub mod capture;
pub(in crate::engine) mod clock;
pub(in crate::engine) mod counts;
pub mod path;
pub mod report;
pub mod timeline;
pub mod watchdog;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use crate::access::{BufferLayout, Direction, Extents};
use crate::engine::trace::capture::independent::{IndependentCalls, NotCaptured};
use crate::engine::trace::capture::layout::Asked;
use crate::engine::trace::capture::recording::Recording;
use crate::engine::trace::capture::target::CaptureTarget;
use crate::engine::trace::clock::{Clock, Lap};
use crate::engine::trace::counts::CallTotals;
use crate::engine::trace::report::CallReport;
use crate::engine::trace::timeline::{RankTimeline, TimelineWriter};
use crate::engine::trace::watchdog::{CallStage, StallWatchdog};
use crate::error::Error;
use crate::fabric::Waiting;
use crate::hints::{FileHints, HintSource, Unused};
use crate::topology::Rank;
use crate::world;

/// The observers of the calls on an open file.
pub struct Observers {
    /// Stopwatch of the phases of the current call.
    pub clock: Clock,
    /// The stall watchdog, to which the rounds of an exchange report their stage.
    pub watchdog: Arc<StallWatchdog>,
    /// Number of rounds of this aggregator with each fan-in.
    pub fan_in: BTreeMap<u32, u64>,
    /// The calls and times that this rank records, if calls are captured.
    recorded: Option<Box<Recorded>>,
}

/// The calls and times that a rank records for a capture.
struct Recorded {
    calls: Recording,
    timeline: TimelineWriter,
}

impl Observers {
    /// Returns the observers on rank `rank` of `ranks`. With a `target`, they record the calls for a capture.
    pub fn new(
        watchdog: Arc<StallWatchdog>,
        target: Option<&'static CaptureTarget>,
        (rank, ranks): (Rank, usize),
    ) -> Self {
        let recorded = |target| {
            let calls = Recording::new(target, rank, ranks);
            Box::new(Recorded { calls, timeline: TimelineWriter::new(ranks) })
        };
        Self { clock: Clock::start(), watchdog, fan_in: BTreeMap::new(), recorded: target.map(recorded) }
    }

    /// Starts the clock of the call `name`, and shows the call to other ranks.
    #[inline]
    pub fn start(&mut self, name: &'static str) {
        self.clock = Clock::start();
        self.watchdog.show(name);
    }

    /// Notes that the rank has moved its bytes before the first agreement.
    pub fn moved_early(&mut self) {
        self.clock.lap(Lap::Elsewhere);
    }

    /// Notes that the ranks have agreed, and move their bytes now.
    pub fn move_bytes(&mut self) {
        self.clock.lap(Lap::Agreement);
    }

    /// Notes that the rank has moved its bytes. If the ranks still have to agree on the outcome, begins the wait for
    /// them.
    pub fn moved(&mut self, own: &CallTotals, agrees: bool) {
        self.clock.lap(Lap::Elsewhere);
        if let Some(recorded) = &mut self.recorded {
            recorded.timeline.phases(&self.clock, own);
        }
        if agrees {
            self.stage(CallStage::End);
        }
    }

    /// Begins the first wait for other ranks in the call `name`. `waiting` shows whether the call blocks.
    #[inline]
    pub fn begin(&self, waiting: &Waiting, name: &'static str) {
        self.watchdog.begin_in(waiting, name);
    }

    /// Begins a wait in another stage of the call.
    pub fn stage(&self, stage: CallStage) {
        self.watchdog.go_on(stage);
    }

    /// Shows other ranks that the call has ended; `failed` is true after an error.
    #[inline]
    pub fn left(&self, failed: bool) {
        self.watchdog.leave(failed);
    }

    /// Ends the current wait.
    #[inline]
    pub fn end(&self) {
        self.watchdog.end();
    }

    /// Returns the start time of a call, if calls are recorded.
    pub fn starts(&self) -> Option<Instant> {
        self.recorded.is_some().then(world::clock::now)
    }

    /// Records a call that has ended.
    pub fn record(
        &mut self,
        direction: Direction,
        access: (&Extents, &BufferLayout),
        started: Option<Instant>,
        outcome: Result<&CallReport, &Error>,
    ) {
        if let (Some(started), Some(recorded)) = (started, &mut self.recorded) {
            recorded.calls.add(direction, access, started, outcome);
            recorded.timeline.call(started);
        }
    }

    /// Returns true if the rounds of an exchange must be timed.
    pub fn has_timeline(&self) -> bool {
        self.recorded.is_some()
    }

    /// Adds the numbers of rounds with each fan-in.
    pub fn add_fan_in(&mut self, rounds: BTreeMap<u32, u64>) {
        for (fan_in, times) in rounds {
            *self.fan_in.entry(fan_in).or_default() += times;
        }
    }

    /// Stores the sources of the hints in force, and the `unused` hints with the reasons, if calls are recorded.
    pub fn describe_hints(&mut self, asked: &FileHints, unused: Vec<Unused>) {
        if let Some(recorded) = &mut self.recorded {
            let source = |(key, source): (&str, &HintSource)| (key.to_string(), source.to_string());
            recorded.calls.asked = Some(Asked { sources: asked.used().map(source).collect(), unused });
        }
    }

    /// Stores the calls of this rank that are not recorded, if calls are recorded.
    pub fn describe_not_captured(&mut self, others: NotCaptured, independent: Vec<IndependentCalls>) {
        if let Some(recorded) = &mut self.recorded {
            (recorded.calls.not_captured, recorded.calls.independent) = (Some(others), independent);
        }
    }

    /// Ends the recording of a file that is being closed. Returns its calls and its timeline, if calls were recorded.
    pub fn take_recorded(&mut self) -> Option<(Recording, RankTimeline)> {
        let Recorded { calls, timeline } = *self.recorded.take()?;
        Some((calls, timeline.finished(self.fan_in.iter().map(|(&fan_in, &times)| (fan_in, times)))))
    }
}
