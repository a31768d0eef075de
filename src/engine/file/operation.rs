//! Non-blocking collective operations.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::error::{Error, Result};
use crate::fabric::Waiting;

/// A non-blocking collective operation. It makes progress only inside [`Operation::test`] and [`Operation::wait`].
///
/// With operations in flight on several files, wait for them in the same order on every rank, or test all of them: a
/// wait for one operation does not advance the others.
///
/// If an operation is dropped before its end, the file can only be closed: every later call on this rank is an error.
/// Other ranks do not know this, and may wait for ever for this rank's part. Complete windows may be in the file.
#[must_use = "an operation makes progress only when it is tested or waited for"]
pub struct Operation<'a, T> {
    /// The running call; `None` after its end.
    future: Option<Pin<Box<dyn Future<Output = Result<T>> + 'a>>>,
    waiting: Waiting,
}

impl<'a, T> Operation<'a, T> {
    /// Returns the operation that runs `future` ([`Waiting::call`]).
    pub(super) fn new(future: Pin<Box<dyn Future<Output = Result<T>> + 'a>>, waiting: Waiting) -> Self {
        Self { future: Some(future), waiting }
    }

    /// Makes all progress that is possible without waiting for other ranks or buffers. Returns the outcome once, at the
    /// end of the operation; otherwise `None`.
    pub fn test(&mut self) -> Option<Result<T>> {
        match self.future.as_mut()?.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => {
                self.future = None;
                Some(outcome)
            }
            Poll::Pending => None,
        }
    }

    /// Waits for the end of the operation; yields the core or sleeps while there is nothing to do.
    ///
    /// # Errors
    /// The error of the operation; an error of state if [`Operation::test`] has already returned the outcome.
    pub fn wait(mut self) -> Result<T> {
        match &mut self.future {
            Some(future) => self.waiting.wait(future.as_mut()),
            None => Err(Error::state("the operation has ended already; do not test it again")),
        }
    }
}
