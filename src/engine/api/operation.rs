//! Non-blocking collective operations.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::error::{Error, Result};
use crate::fabric::Waiting;

/// A non-blocking collective operation. It makes progress only inside [`Operation::test`] and [`Operation::wait`].
///
/// With several operations in flight, on several files, wait for them in the same order on every rank, or test them in turn:
/// waiting for one does not progress the others.
///
/// If it is dropped before its end, the file can only be closed: every later call on this rank is an error. Other ranks do not
/// learn of it, and may wait for ever for this rank's part, as in any collective call that not all ranks make. Windows that
/// are complete by then may be in the file.
#[must_use = "an operation makes progress only when it is tested or waited for"]
pub struct Operation<'a, T> {
    /// `None` once it is done.
    future: Option<Pin<Box<dyn Future<Output = Result<T>> + 'a>>>,
    waiting: Waiting,
}

impl<'a, T> Operation<'a, T> {
    /// The operation that `future` carries out ([`Waiting::call`]).
    pub(in crate::engine) fn new(future: Pin<Box<dyn Future<Output = Result<T>> + 'a>>, waiting: Waiting) -> Self {
        Self { future: Some(future), waiting }
    }

    /// Makes all progress that is possible without waiting for other ranks or for buffers. Returns the outcome when the
    /// operation is done, once; `None` before and after.
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
    /// That of the operation; [`Operation::test`] has already returned the outcome.
    pub fn wait(mut self) -> Result<T> {
        match &mut self.future {
            Some(future) => self.waiting.wait(future.as_mut()),
            None => Err(Error::state("the operation has ended already; do not test it again")),
        }
    }
}
