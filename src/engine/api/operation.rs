//! A collective operation in flight: started, tested, waited for.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::error::{Error, Result};
use crate::fabric::Waiting;

/// A collective operation in flight. It goes on only inside [`Operation::test`] and [`Operation::wait`].
///
/// With several operations in flight, on several files, wait for them in the same order on every rank, or test them in
/// turn: waiting for one does not move the others.
///
/// Dropped before its end, it leaves the file fit for closing only: every later call on this rank
/// is an error. Other ranks are not told; those that still wait for this rank's part go on waiting, as with any collective
/// call that not all ranks make. Windows that are complete by then may be in the file.
#[must_use = "an operation goes on only when it is tested or waited for"]
pub struct Operation<'a, T> {
    /// Gone once it is done.
    future: Option<Pin<Box<dyn Future<Output = Result<T>> + 'a>>>,
    waiting: Waiting,
}

impl<'a, T> Operation<'a, T> {
    /// An operation that `future` carries out ([`Waiting::call`]).
    pub(in crate::engine) fn new(future: Pin<Box<dyn Future<Output = Result<T>> + 'a>>, waiting: Waiting) -> Self {
        Self { future: Some(future), waiting }
    }

    /// Goes on as far as it can without waiting for other ranks or for buffers; the outcome, once, when it is done.
    pub fn test(&mut self) -> Option<Result<T>> {
        match self.future.as_mut()?.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => {
                self.future = None;
                Some(outcome)
            }
            Poll::Pending => None,
        }
    }

    /// Goes on to the end, giving the core away while there is nothing to do.
    ///
    /// # Errors
    /// The operation's; or its outcome has been given by [`Operation::test`] already.
    pub fn wait(mut self) -> Result<T> {
        match &mut self.future {
            Some(future) => self.waiting.wait(future.as_mut()),
            None => Err(Error::argument("operation", "it is over", "an operation that test has not finished")),
        }
    }
}
