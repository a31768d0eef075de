//! The end of a collective call: all ranks agree on its outcome.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tributary_base::wire;
use tributary_base::wire::frame::Encoder;

use crate::access::Direction;
use crate::collectives::team::{Combine, Team};
use crate::engine::agree::facts::Agreed;
use crate::engine::choose::cost::FileWork;
use crate::engine::choose::learned::{CallTimes, FileTimes};
use crate::engine::choose::rules::Decision;
use crate::engine::shared::arena::TURN;
use crate::engine::shared::window_writer::WindowWriter;
use crate::engine::trace::clock::{Clock, Lap};
use crate::engine::trace::counts::CallTotals;
use crate::engine::trace::path::Path;
use crate::engine::trace::report::{CallReport, ExpectedSeconds, Seconds};
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::topology::Rank;

/// The outcome of a call on one rank, or on all ranks of a team. Numbers are sums over ranks, except `rounds` and
/// times, which are maxima.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallOutcome {
    /// Lowest rank with an error; `None` without an error.
    pub failed: Option<Rank>,
    /// Number of bytes written or read.
    pub transferred: u64,
    /// Number of calls on the file that wrote windows.
    pub calls: u64,
    /// Sum of the times of writes and reads of windows in microseconds; several may be made at the same time.
    pub spent: u64,
    /// Number of bytes of metadata messages.
    pub metadata_bytes: u64,
    /// Number of metadata messages.
    pub metadata_messages: u64,
    /// Number of data messages.
    pub data_messages: u64,
    /// Number of bytes that went through shared memory instead of messages.
    pub in_memory: u64,
    /// Number of bytes of messages from one host to another.
    pub between_hosts: u64,
    /// Largest number of windows that one rank has.
    pub rounds: u64,
    /// Times in microseconds: flatten, metadata, data, placement, I/O, agreement, wait for I/O, total.
    pub micros: [u64; 8],
    /// Times in the file, if aggregators wrote or read.
    pub file_times: FileTimes,
    /// True if the windows must be refilled, by one rank after the other.
    pub must_redo: bool,
    /// Value of the signal that counts turns of ranks.
    pub turn: u32,
}

wire::fields!(struct CallOutcome {
    failed, transferred, calls, spent, metadata_bytes, metadata_messages, data_messages, in_memory, between_hosts, rounds, micros,
    file_times, must_redo, turn,
});

/// Index of the time of I/O in [`CallOutcome::micros`].
const IO: usize = 4;
/// Index of the time that a rank waited for I/O, in [`CallOutcome::micros`].
const WAIT: usize = 6;

impl CallOutcome {
    /// Returns this rank's outcome, `rank`, at the end of a call.
    pub fn new(rank: Rank, done: &CallTotals, clock: &Clock) -> Self {
        let CallTotals { metadata, in_memory, counts, outcome, .. } = done;
        let times = [
            clock.spent(Lap::Flatten),
            clock.spent(Lap::Metadata),
            counts.exchange,
            counts.placement,
            outcome.busy,
            clock.spent(Lap::Agreement),
            // Only an aggregator has a worker for its I/O; any other rank waits during its I/O.
            if counts.windows > 0 { outcome.waited } else { outcome.busy },
            clock.total(),
        ];
        Self {
            failed: outcome.error.as_ref().map(|_| rank),
            transferred: outcome.bytes,
            calls: outcome.calls,
            spent: outcome.spent.as_micros() as u64,
            metadata_bytes: metadata.bytes,
            metadata_messages: metadata.messages,
            data_messages: counts.traffic.messages,
            in_memory: in_memory + counts.in_memory,
            between_hosts: metadata.between_hosts + counts.traffic.between_hosts,
            rounds: counts.windows,
            micros: times.map(|time| time.as_micros() as u64),
            file_times: FileTimes::of(rank, outcome.busy.as_micros() as u64),
            must_redo: false,
            turn: 0,
        }
    }

    /// Returns the outcome of all ranks, if the call is over with its first agreement. `total` is the time of the call.
    pub fn at_once(agreed: &Agreed, total: Duration) -> Self {
        let (io, total) = (agreed.micros, total.as_micros() as u64);
        let micros = [0, 0, 0, 0, io, total.saturating_sub(io), io, total];
        Self { transferred: agreed.shape.transferred, micros, ..Self::default() }
    }

    /// Merges the outcome of other ranks.
    fn merge(&mut self, other: &Self) {
        self.failed = self.failed.into_iter().chain(other.failed).min();
        self.transferred += other.transferred;
        self.calls += other.calls;
        self.spent += other.spent;
        self.metadata_bytes += other.metadata_bytes;
        self.metadata_messages += other.metadata_messages;
        self.data_messages += other.data_messages;
        self.in_memory += other.in_memory;
        self.between_hosts += other.between_hosts;
        self.rounds = self.rounds.max(other.rounds);
        self.file_times.merge(&other.file_times);
        self.micros.iter_mut().zip(other.micros).for_each(|(most, own)| *most = own.max(*most));
    }

    /// Returns the time of file I/O.
    pub fn io(&self) -> Duration {
        Duration::from_micros(self.micros[IO])
    }

    /// Returns the times of the call: of the exchange, in the file, and in all.
    pub fn took(&self) -> CallTimes {
        let [.., wait, total] = self.micros;
        CallTimes { exchange: total.saturating_sub(wait), file: self.file_times, total }
    }

    /// Returns the mean work of those who wrote windows: aggregators, or hosts. `None` if none did, or if the calls took no
    /// time that can be measured.
    pub fn work(&self) -> Option<FileWork> {
        let (writers, busy) = (self.file_times.count as f64, self.file_times.sum as f64);
        let in_flight = (self.spent as f64 / busy).max(1.0);
        let work = FileWork {
            rounds: self.calls as f64 / in_flight / writers,
            bytes: self.transferred as f64 / writers,
            nanos: busy * 1000.0 / writers,
        };
        (self.calls > 0 && busy > 0.0).then_some(work)
    }

    /// Returns the report of a call with this outcome of all ranks. `own` are this rank's totals, if bytes moved after the
    /// first agreement.
    pub fn report(
        &self,
        direction: Direction,
        agreed: &Agreed,
        aggregators: usize,
        own: Option<&CallTotals>,
    ) -> CallReport {
        let Decision { path, reason, windows } = agreed.decision;
        let (bytes_written, bytes_read) = match direction {
            Direction::Write => (self.transferred, 0),
            Direction::Read => (0, self.transferred),
        };
        CallReport {
            path,
            reason,
            auto: own.and_then(|own| own.auto),
            text: None,
            plan_reused: own.is_some_and(|own| own.reused),
            aggregators,
            requests: agreed.shape.all.requests,
            bytes: agreed.shape.all.bytes,
            bytes_written,
            bytes_read,
            rounds: if path == Path::Windows { windows.count() } else { self.rounds },
            metadata_bytes: self.metadata_bytes,
            metadata_messages: self.metadata_messages,
            data_messages: self.data_messages,
            in_memory: self.in_memory,
            between_hosts: self.between_hosts,
            seconds: self.seconds(),
            expected: agreed.shape.apart.filter(|expected| expected.exchange > 0).map(|expected| {
                let seconds = |micros: u64| micros as f64 / 1e6;
                let took = self.seconds().total;
                ExpectedSeconds { exchange: seconds(expected.exchange), hosts: seconds(expected.hosts), took }
            }),
        }
    }

    /// Returns the times in seconds.
    fn seconds(&self) -> Seconds {
        let [flatten, metadata, data, placement, io, agreement, wait, total] =
            self.micros.map(|micros| micros as f64 / 1e6);
        Seconds { flatten, metadata, data, placement, io, agreement, wait, total }
    }
}

/// Agrees on the outcome of a call. `own` is this rank's outcome. In a write through windows, the last rank to arrive
/// writes the remaining windows by its `writer`. Collective over the team: one agreement.
///
/// # Errors
/// Errors of the message transport.
pub async fn agree_on_outcome(
    endpoint: &mut Endpoint,
    team: &Team,
    own: CallOutcome,
    writer: Option<&WindowWriter>,
) -> Result<CallOutcome> {
    let rank = endpoint.rank();
    let answer = team.combine(endpoint, &mut ClosingVote { rank, own, writer }).await?;
    let damaged = || Error::internal(rank, "an outcome cannot be decoded");
    wire::take(&mut &answer[..]).ok_or_else(damaged)
}

/// This rank's part in the agreement at the end of a call.
struct ClosingVote<'a> {
    rank: Rank,
    own: CallOutcome,
    writer: Option<&'a WindowWriter>,
}

impl Combine for ClosingVote<'_> {
    fn merge(&mut self, other: &[u8]) {
        let damaged = || CallOutcome { failed: Some(self.rank), ..CallOutcome::default() };
        let other = wire::take(&mut &*other).unwrap_or_else(damaged);
        self.own.merge(&other);
    }

    fn encode(&self, _others: &[&[u8]], out: &mut Encoder<'_>) {
        out.put(&self.own);
    }

    fn decide(&mut self, others: &[&[u8]], out: &mut Encoder<'_>) {
        if let Some(writer) = self.writer {
            close_windows(writer, &mut self.own);
        }
        self.encode(others, out);
    }
}

/// Writes the remaining windows, and adds their counts to the outcome of all ranks. If the windows must be refilled,
/// resets them.
fn close_windows(writer: &WindowWriter, all: &mut CallOutcome) {
    writer.try_write();
    let arena = &writer.arena;
    let failed = arena.call().failed.load(Ordering::Acquire);
    all.failed = (failed != 0).then(|| failed as Rank - 1);
    all.transferred = arena.call().written.load(Ordering::Acquire);
    all.calls = arena.call().calls.load(Ordering::Acquire);
    all.spent = arena.call().spent.load(Ordering::Acquire);
    // One rank at a time writes. Others may fill windows meanwhile, which is not measured.
    all.micros[IO] = arena.call().busy.load(Ordering::Acquire);
    all.micros[WAIT] = all.micros[IO];
    all.must_redo = arena.call().is_repeated.load(Ordering::SeqCst) != 0;
    all.turn = arena.signal(TURN).get();
    if all.must_redo {
        // The memory is reserved already, so this cannot fail.
        let _ = arena.prepare(&writer.windows);
    }
}
