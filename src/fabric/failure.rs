//! Failures that the ranks cannot agree on: a panic, a damaged message, an error of MPI itself.
//!
//! A collective call with an agreed error returns the same error on every rank. Here, one rank fails and the others do
//! not know: they wait for messages that this rank no longer sends. So this rank stops the fabric, that is, the
//! communication of all ranks. On MPI that ends the job; among threads it makes every other rank's next call fail with
//! the same error. With the hint `trib_on_failure=return`, the rank returns the error instead; then the others may wait
//! for ever.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};
use crate::topology::Rank;
use crate::world::jobs;

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

    /// Returns the outcome of a collective call. Stops the fabric first if the call failed on this rank alone.
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
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

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
