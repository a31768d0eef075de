//! How a rank waits for its futures: it polls, and gives the core away in between, the longer, the longer nothing happens.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use super::failure::Failure;
use super::shared::Watch;
use super::transport::Idle;
use crate::error::Result;

/// How a rank waits for its futures; shared with them, so that waiting borrows nothing.
#[derive(Clone)]
pub struct Waiting(Arc<State>);

/// One thread at a time polls; which, may change.
struct State {
    idle: Arc<dyn Idle>,
    /// Counts whatever happened, so that a wait knows how long nothing has.
    events: AtomicU64,
    /// The word that the future which was polled last waits for, if it is one in shared memory.
    watched: Mutex<Option<Watch>>,
    is_watched: AtomicBool,
    /// Whether whoever polls waits for the end: then the future may block.
    blocking: AtomicBool,
    failure: Failure,
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

/// How long nothing has happened in a wait.
pub struct Quiet {
    rounds: u32,
    seen: u64,
}

impl Waiting {
    pub(super) fn new(idle: Arc<dyn Idle>, failure: Failure) -> Self {
        let (events, watched, is_watched, blocking) = Default::default();
        Self(Arc::new(State { idle, events, watched, is_watched, blocking, failure }))
    }

    /// Polls `future` until it is done, idling while nothing happens.
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

    /// Says which word the future waits for that is polled, if it is one in shared memory.
    pub(super) fn watch(&self, watch: Option<Watch>) {
        self.0.watch(watch);
    }

    /// Whether whoever polls waits for the end.
    pub(super) fn may_block(&self) -> bool {
        self.0.blocking.load(Ordering::Relaxed)
    }

    /// A wait begins: see [`Waiting::idle`].
    pub fn quiet(&self) -> Quiet {
        Quiet { rounds: 0, seen: self.0.events.load(Ordering::Relaxed) }
    }

    /// Gives the core away for a while, after a poll of this endpoint's future has found it not done: the longer, the longer
    /// nothing has happened. For those who poll by themselves, because they look after more than one future.
    pub fn idle(&self, quiet: &mut Quiet) {
        let events = self.0.events.load(Ordering::Relaxed);
        quiet.rounds = if events == quiet.seen { quiet.rounds.saturating_add(1) } else { 0 };
        quiet.seen = events;
        match self.0.take_watched() {
            // SAFETY: the future that waits for the word is alive, and with it the endpoint that holds the mapping.
            Some(watch) => unsafe { watch.wait(quiet.rounds.saturating_sub(1)) },
            None => self.0.idle.idle(quiet.rounds),
        }
    }

    /// Waits for a collective call, and stops the fabric if it fails on this rank alone, or panics ([`Failure`]).
    ///
    /// # Errors
    /// The call's.
    pub fn complete<T>(&self, call: Pin<&mut (impl Future<Output = Result<T>> + ?Sized)>) -> Result<T> {
        self.0.failure.begin();
        let _guard = self.0.failure.on_panic();
        let outcome = self.wait(call);
        self.0.failure.settle(outcome)
    }

    /// As [`Waiting::complete`], for a call that is part of a longer future: whoever polls that one decides how to wait.
    ///
    /// # Errors
    /// The call's.
    pub async fn call<T>(&self, mut call: Pin<&mut (impl Future<Output = Result<T>> + ?Sized)>) -> Result<T> {
        self.0.failure.begin();
        let outcome = std::future::poll_fn(|context| {
            let _guard = self.0.failure.on_panic();
            call.as_mut().poll(context)
        });
        self.0.failure.settle(outcome.await)
    }

    /// How this rank fails.
    pub fn failure(&self) -> &Failure {
        &self.0.failure
    }

    /// What ends an idle rank's sleep; helper threads keep it.
    pub fn waker(&self) -> Arc<dyn Idle> {
        self.0.idle.clone()
    }

    /// Something happened.
    pub fn event(&self) {
        // Not a read, change and write in one: one thread at a time polls.
        self.0.events.store(self.0.events.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// Is not done at the first poll, and done at the second: in between, the caller can look at other things.
pub async fn pause() {
    let mut first = true;
    std::future::poll_fn(move |_| if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }).await;
}
