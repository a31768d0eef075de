//! Waits for the futures of a rank: polls them, and yields or sleeps between polls, longer while nothing happens. Also
//! handles failures that the ranks cannot agree on: a panic, a damaged message, an error of MPI itself.
//!
//! A collective call with an agreed error returns the same error on every rank. If one rank fails and the others do not know, they
//! wait for messages that this rank no longer sends. So this rank stops the fabric, that is, the communication of all ranks
//! ([`FailureHandling`]). On MPI that ends the job; among threads it makes every other rank's next call fail with the same error.
//! With the hint `trib_on_failure=return`, the rank returns the error instead; then the others may wait for ever.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use super::Idle;
use super::execute::until_mpi_thread;
use super::shared::Watch;
use crate::error::{Error, Result};
use crate::topology::Rank;
use crate::world::jobs;

/// How one rank waits for its futures. Clones share one state, so that waiting does not borrow the endpoint.
#[derive(Clone)]
pub struct Waiting(Arc<State>);

/// State of the waiting of one rank. One thread at a time polls, not always the same thread.
struct State {
    idle: Arc<dyn Idle>,
    /// Counter of progress. A wait in which it does not change has made no progress.
    events: AtomicU64,
    /// Encoded message that the rank waits for ([`Pending`]), or 0.
    pending: AtomicU64,
    /// Counter in shared memory that the last polled future waits for, if any.
    watched: Mutex<Option<Watch>>,
    is_watched: AtomicBool,
    /// True if the future may block, because [`Waiting::wait`] polls it.
    blocking: AtomicBool,
    /// Number of polls of futures whose caller decides how to wait ([`Waiting::call`]).
    polls: AtomicU64,
    failure: FailureHandling,
}

impl State {
    fn watch(&self, watch: Option<Watch>) {
        *self.watched.lock().unwrap_or_else(PoisonError::into_inner) = watch;
        self.is_watched.store(watch.is_some(), Ordering::Relaxed);
    }

    fn take_watched(&self) -> Option<Watch> {
        if !self.is_watched.load(Ordering::Relaxed) {
            return None;
        }
        self.is_watched.store(false, Ordering::Relaxed);
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A message that a rank waits to receive or to be received, and the number of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// Rank that sends or receives the message.
    pub peer: Rank,
    /// True if this rank sends the message to `peer`.
    pub is_sent: bool,
    /// Number of other messages that the rank waits for.
    pub more: usize,
}

impl Pending {
    /// Encodes the message as a number that is never 0: 32 bits of the rank, one of the direction, 31 of the number of
    /// messages.
    fn pack(self) -> u64 {
        self.peer as u64 | u64::from(self.is_sent) << 32 | (self.more as u64 + 1) << 33
    }

    fn unpack(packed: u64) -> Option<Self> {
        let more = (packed >> 33).checked_sub(1)? as usize;
        Some(Self { peer: packed as u32 as Rank, is_sent: packed >> 32 & 1 == 1, more })
    }
}

/// Number of idle polls of one wait, for [`Waiting::idle`].
pub struct Quiet {
    rounds: u32,
    seen: u64,
}

impl Waiting {
    pub(super) fn new(idle: Arc<dyn Idle>, failure: FailureHandling) -> Self {
        let (events, pending, watched, is_watched, blocking, polls) = Default::default();
        Self(Arc::new(State { idle, events, pending, watched, is_watched, blocking, polls, failure }))
    }

    /// Polls `future` until it is done, and idles while there is no progress.
    pub fn wait<T>(&self, mut future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> T {
        let mut context = Context::from_waker(Waker::noop());
        let mut quiet = self.quiet();
        loop {
            let outer = self.0.blocking.load(Ordering::Relaxed);
            self.0.blocking.store(true, Ordering::Relaxed);
            let polled = future.as_mut().poll(&mut context);
            self.0.blocking.store(outer, Ordering::Relaxed);
            if let Poll::Ready(value) = polled {
                return value;
            }
            self.idle(&mut quiet);
        }
    }

    /// Sets the counter in shared memory that the polled future waits for.
    pub(super) fn watch(&self, watch: Option<Watch>) {
        self.0.watch(watch);
    }

    /// Returns true if the polled future may block.
    pub(crate) fn may_block(&self) -> bool {
        self.0.blocking.load(Ordering::Relaxed)
    }

    /// Begins a wait: see [`Waiting::idle`].
    pub fn quiet(&self) -> Quiet {
        Quiet { rounds: 0, seen: self.0.events.load(Ordering::Relaxed) }
    }

    /// Yields the core or sleeps, after a poll of this endpoint's future has returned `Pending`; longer after many
    /// polls without progress. For callers that poll several futures themselves.
    pub fn idle(&self, quiet: &mut Quiet) {
        let events = self.0.events.load(Ordering::Relaxed);
        quiet.rounds = if events == quiet.seen { quiet.rounds.saturating_add(1) } else { 0 };
        quiet.seen = events;
        match self.0.take_watched() {
            // SAFETY: the future that waits for the counter is alive, and with it the endpoint that holds the mapping.
            Some(watch) => unsafe { watch.wait(quiet.rounds.saturating_sub(1)) },
            None => self.0.idle.idle(quiet.rounds),
        }
    }

    /// Waits for a collective call. Stops the fabric if the call panics, or fails without the other ranks' knowledge
    /// ([`FailureHandling`]).
    ///
    /// # Errors
    /// The errors of the call.
    pub fn complete<T>(&self, call: Pin<&mut (impl Future<Output = Result<T>> + ?Sized)>) -> Result<T> {
        let _guard = self.0.failure.on_panic();
        let outcome = self.wait(call);
        self.0.failure.settle(outcome)
    }

    /// Completes a call like [`Waiting::complete`], if the call is part of a longer future, whose caller decides how to
    /// wait.
    ///
    /// # Errors
    /// The errors of the call.
    pub async fn call<T>(&self, mut call: Pin<&mut (impl Future<Output = Result<T>> + ?Sized)>) -> Result<T> {
        let outcome = std::future::poll_fn(|context| {
            self.0.polls.store(self.polls() + 1, Ordering::Relaxed);
            let _guard = self.0.failure.on_panic();
            call.as_mut().poll(context)
        });
        let outcome = outcome.await;
        if outcome.is_err() {
            // Stopping the fabric calls MPI.
            until_mpi_thread().await;
        }
        self.0.failure.settle(outcome)
    }

    /// Returns the number of polls of calls whose caller decides how to wait ([`Waiting::call`]). Any thread may call
    /// it.
    pub(crate) fn polls(&self) -> u64 {
        self.0.polls.load(Ordering::Relaxed)
    }

    /// Returns the handling of failures on this rank.
    pub fn failure(&self) -> &FailureHandling {
        &self.0.failure
    }

    /// Returns the handle by which helper threads wake this rank.
    pub fn waker(&self) -> Arc<dyn Idle> {
        self.0.idle.clone()
    }

    /// Sets the message that the polled future waits for.
    #[inline]
    pub(super) fn set_pending(&self, pending: Option<Pending>) {
        self.0.pending.store(pending.map_or(0, Pending::pack), Ordering::Relaxed);
    }

    /// Returns the message that this rank waits for, if it is known, and a number that changes with any progress. Any
    /// thread may call it.
    pub fn pending(&self) -> (Option<Pending>, u64) {
        (Pending::unpack(self.0.pending.load(Ordering::Relaxed)), self.0.events.load(Ordering::Relaxed))
    }

    /// Counts progress, so that the current wait polls more often for a time.
    pub fn event(&self) {
        // No atomic increment is needed: one thread at a time polls.
        self.0.events.store(self.0.events.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// Returns control to the caller once: pending at the first poll, done at the second.
pub async fn pause() {
    let mut first = true;
    std::future::poll_fn(move |_| if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }).await;
}

/// A function that stops the communication of all ranks. It may not return.
pub type Stop = Box<dyn Fn(&Error) + Send + Sync>;

/// Handles the failures of one endpoint.
pub struct FailureHandling {
    rank: Rank,
    stop: Stop,
    returns: AtomicBool,
}

impl FailureHandling {
    pub(super) fn new(rank: Rank, stop: Stop) -> Self {
        Self { rank, stop, returns: AtomicBool::new(false) }
    }

    /// Sets whether a failure that is not agreed is returned (hint `trib_on_failure=return`) instead of stopping the
    /// fabric. Local.
    pub fn set_returning(&self, returns: bool) {
        self.returns.store(returns, Ordering::Relaxed);
    }

    /// Returns the value of [`FailureHandling::set_returning`].
    pub fn returns(&self) -> bool {
        self.returns.load(Ordering::Relaxed)
    }

    /// Returns the outcome of a collective call. Stops the fabric first if the other ranks do not know of the failure.
    ///
    /// # Errors
    /// The error of the outcome.
    pub fn settle<T>(&self, outcome: Result<T>) -> Result<T> {
        if let Err(error) = &outcome
            && error.is_unagreed()
            && !self.returns()
        {
            (self.stop)(error);
        }
        outcome
    }

    /// Returns a guard that stops the fabric if a panic drops it, because the other ranks wait for this one.
    #[must_use]
    pub fn on_panic(&self) -> OnPanic<'_> {
        OnPanic(self)
    }
}

/// The guard of [`FailureHandling::on_panic`].
pub struct OnPanic<'a>(&'a FailureHandling);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        let Self(failure) = self;
        if jobs::is_panicking() && !failure.returns() {
            (failure.stop)(&Error::internal(failure.rank, "the rank panicked in a collective call"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn what_is_pending_is_packed_whole() {
        for (peer, is_sent, more) in [(0, false, 0), (0, true, 0), (4_294_967_295, true, 0), (7, false, 1_000_000)] {
            let pending = Pending { peer, is_sent, more };
            assert_eq!(Pending::unpack(pending.pack()), Some(pending));
        }
        assert_eq!(Pending::unpack(0), None);
    }

    fn counting() -> (Arc<AtomicU32>, FailureHandling) {
        let stopped = Arc::new(AtomicU32::new(0));
        let count = stopped.clone();
        let stop = move |_: &Error| {
            count.fetch_add(1, Ordering::Relaxed);
        };
        (stopped, FailureHandling::new(0, Box::new(stop)))
    }

    #[test]
    fn only_an_unagreed_error_stops_the_fabric() {
        let (stopped, failure) = counting();
        let broken = Error::fabric("broken");
        assert!(failure.settle::<()>(Err(Error::argument("count", -1, "0 or more"))).is_err());
        assert_eq!(failure.settle(Ok(7)), Ok(7));
        let agreed = broken.clone().agreed();
        assert_eq!(failure.settle::<()>(Err(agreed)), Err(broken.clone()));
        assert_eq!(stopped.load(Ordering::Relaxed), 0);
        assert_eq!(failure.settle::<()>(Err(broken.clone())), Err(broken.clone()));
        assert_eq!(stopped.load(Ordering::Relaxed), 1);
        failure.set_returning(true);
        assert_eq!(failure.settle::<()>(Err(broken.clone())), Err(broken));
        assert_eq!(stopped.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_panic_stops_the_fabric() {
        let (stopped, failure) = counting();
        let call = || {
            let _guard = failure.on_panic();
            panic!("in the middle");
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err());
        assert_eq!(stopped.load(Ordering::Relaxed), 1);
        drop(failure.on_panic());
        assert_eq!(stopped.load(Ordering::Relaxed), 1);
    }
}
