//! A diary: what one rank did in the calls on a file, and when. It is kept only where somebody asks for it.

use std::pin::pin;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::collectives::gather;
use crate::engine::api::file::File;
use crate::engine::api::finish_call::CallTotals;
use crate::engine::api::report::{Clock, Seconds};
use crate::engine::plan::Direction;
use crate::error::Result;

/// Calls, and windows, that the diaries of all ranks have room for together.
const ROOM: usize = 1 << 14;
/// Calls, and windows, that one rank keeps at most.
const MOST: usize = 512;

/// What one rank did in the calls on a file. Times are its own, in seconds; they count from the end of the open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Diary {
    /// Collective calls.
    pub calls: u64,
    /// Extents of these calls.
    pub requests: u64,
    /// Bytes of these calls.
    pub bytes: u64,
    /// Time by phase, of this rank alone.
    pub seconds: Seconds,
    /// Windows that it owned as an aggregator.
    pub windows: u64,
    /// Bytes of the file that these windows cover.
    pub covered: u64,
    /// (ranks that a window had data of, number of such windows), ascending.
    pub fan_in: Vec<(u32, u64)>,
    /// The first calls.
    pub visits: Vec<Visited>,
    /// The first windows.
    pub rounds: Vec<Round>,
}

/// One call of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Visited {
    /// Whether it is a read.
    pub read: bool,
    /// When the rank came to it.
    pub start: f64,
    /// When it left.
    pub end: f64,
}

/// One window of an aggregator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The call, from 0 on.
    pub call: u64,
    /// The round of the call, as all ranks number them.
    pub round: u64,
    /// Ranks that it had data of, itself included.
    pub ranks: u32,
    /// Bytes of the file that the window covers.
    pub bytes: u64,
    /// From the beginning of the exchange to its end.
    pub exchange: (f64, f64),
    /// From the beginning of the write or read of the file to its end; the same twice where there was none.
    pub io: (f64, f64),
}

/// A round of an aggregator, as it is timed.
#[derive(Debug, Clone, Copy)]
pub struct Exchanged {
    /// The round.
    pub round: u64,
    /// Ranks with data.
    pub ranks: u32,
    /// Bytes of the file that its window covers.
    pub bytes: u64,
    /// Its beginning.
    pub begin: Instant,
    /// Its end.
    pub end: Instant,
}

/// A diary that is being kept.
#[derive(Debug)]
pub struct Keeping {
    opened: Instant,
    most: usize,
    diary: Diary,
    /// Whether all ranks keep one, so that they can be gathered.
    common: bool,
    /// Whether it began with an earlier open of the file.
    continued: bool,
}

impl Keeping {
    /// Starts, on one of so many ranks.
    pub fn new(ranks: usize) -> Self {
        let most = (ROOM / ranks.max(1)).clamp(1, MOST);
        Self { opened: Instant::now(), most, diary: Diary::default(), common: false, continued: false }
    }

    fn at(&self, time: Instant) -> f64 {
        time.saturating_duration_since(self.opened).as_secs_f64()
    }

    /// Takes the phases of a call that is about to end.
    pub fn phases(&mut self, clock: &Clock, done: &CallTotals) {
        let CallTotals { counts, outcome, .. } = done;
        self.own(Seconds {
            flatten: clock.flatten.spent.as_secs_f64(),
            metadata: clock.metadata.spent.as_secs_f64(),
            data: counts.exchange.as_secs_f64(),
            placement: counts.placement.as_secs_f64(),
            io: outcome.busy.as_secs_f64(),
            agreement: clock.agreement.spent.as_secs_f64(),
            total: 0.0,
        });
        self.diary.windows += counts.windows;
        self.diary.covered += counts.rounds.iter().flatten().map(|round| round.bytes).sum::<u64>();
        // Windows go to the file in the order in which they were filled.
        let mut written = outcome.times.iter();
        for Exchanged { round, ranks, bytes, begin, end } in counts.rounds.iter().flatten() {
            if self.diary.rounds.len() == self.most {
                break;
            }
            let exchange = (self.at(*begin), self.at(*end));
            let io = written.next().map_or((exchange.1, exchange.1), |&(begin, end)| (self.at(begin), self.at(end)));
            self.diary.rounds.push(Round {
                call: self.diary.calls,
                round: *round,
                ranks: *ranks,
                bytes: *bytes,
                exchange,
                io,
            });
        }
    }

    /// Adds time of this rank in some phases of a call.
    pub fn own(&mut self, seconds: Seconds) {
        self.diary.seconds += seconds;
    }

    /// Takes a call that has ended.
    pub fn call(&mut self, direction: Direction, (requests, bytes): (u64, u64), started: Instant) {
        let (start, end) = (self.at(started), self.at(Instant::now()));
        self.diary.calls += 1;
        self.diary.requests += requests;
        self.diary.bytes += bytes;
        self.diary.seconds.total += end - start;
        if self.diary.visits.len() < self.most {
            self.diary.visits.push(Visited { read: direction == Direction::Read, start, end });
        }
    }
}

impl File {
    /// Keeps a diary of this rank's calls from here on. Local, but all ranks do so, or none. A call costs some clock readings
    /// more; memory is bounded.
    pub fn keep_diary(&mut self) {
        let keeping = Keeping { common: true, ..Keeping::new(self.endpoint.ranks()) };
        self.diary = Some(Box::new(keeping));
    }

    /// Takes a diary of [`File::keep_diary`], for another open of the same file ([`File::continue_diary`]). Local.
    pub fn take_diary(&mut self) -> Option<Box<Keeping>> {
        self.diary.take_if(|diary| diary.common)
    }

    /// Goes on with a diary of an earlier open of the file, if there is one. Local.
    pub fn continue_diary(&mut self, kept: Option<Box<Keeping>>) {
        if let Some(mut kept) = kept {
            kept.continued = true;
            self.diary = Some(kept);
        }
    }

    /// Whether all ranks keep a diary, by [`File::keep_diary`].
    pub fn keeps_diary(&self) -> bool {
        self.diary.as_ref().is_some_and(|diary| diary.common)
    }

    /// Takes time of this rank in some phases of a call, if a diary is kept.
    pub(in crate::engine) fn spent(&mut self, seconds: Seconds) {
        if let Some(diary) = &mut self.diary {
            diary.own(seconds);
        }
    }

    /// This rank's diary so far, if one is kept. Local.
    fn own_diary(&self) -> Option<Diary> {
        let mut diary = self.diary.as_ref()?.diary.clone();
        diary.fan_in = self.fan_in_counts().collect();
        Some(diary)
    }

    /// The diary for the capture of this open: one that began with it. Local.
    pub(in crate::engine) fn diary_of_this_open(&self) -> Option<Diary> {
        self.own_diary().filter(|_| self.diary.as_ref().is_some_and(|diary| !diary.continued))
    }

    /// The diaries of all ranks, on rank 0; nothing on the others. Collective: all ranks have called [`File::keep_diary`]. Costs a
    /// gather of at most some 100 KB a rank, and of 2 MB in all or a few hundred bytes a rank.
    ///
    /// # Errors
    /// Those of the fabric; an operation was dropped before its end.
    pub fn diaries(&mut self) -> Result<Vec<Diary>> {
        self.usable()?;
        let waiting = self.endpoint.waiting().clone();
        waiting.complete(pin!(async {
            let own = serde_json::to_vec(&self.own_diary()).unwrap_or_default();
            let all = gather(&mut self.endpoint, 0, &own).await?;
            Ok(all.iter().map(|told| serde_json::from_slice(told).unwrap_or_default()).collect())
        }))
    }
}
