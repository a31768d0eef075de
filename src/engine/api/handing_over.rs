//! Dedicated I/O ranks (hint `trib_io_ranks`): compute ranks send their bytes to ranks that only aggregate, and continue
//! computing while those write. The outcome of a write is agreed at the next call on the file, or at its sync or close.
//!
//! A compute rank's call takes only as long as the exchange. An I/O rank returns with at most `trib_write_buffers` windows not
//! yet written; if there are more, it waits for one to be written before it takes the next. Compute ranks and I/O ranks agree
//! on ranges and sums by exchanges between the two groups ([`crate::collectives::intergroup`]).

use std::pin::pin;

use crate::access::Extents;
use crate::engine::api::file::File;
use crate::engine::api::finish_call::{CallTotals, finish_call};
use crate::engine::api::report::{CallReport, Clock, Seconds};
use crate::engine::plan::Agreed;
use crate::error::{Error, Result};
use crate::topology::Rank;

/// A write that I/O ranks have received and not finished.
pub struct HandedOver {
    agreed: Agreed,
    done: CallTotals,
    clock: Clock,
}

impl File {
    /// The I/O ranks, ascending; empty without the hint `trib_io_ranks`.
    pub fn io_ranks(&self) -> &[Rank] {
        self.setup.io.as_ref().map_or(&[], |groups| groups.b())
    }

    /// Waits until I/O ranks have finished the last write, and returns its report; `None` if no write is unfinished.
    /// Collective.
    ///
    /// # Errors
    /// The write's error of the lowest rank that has one, on every rank; an operation was dropped before its end.
    pub fn complete_write(&mut self) -> Result<Option<CallReport>> {
        if self.handed_over.is_none() {
            return self.usable().map(|()| None);
        }
        let waiting = self.endpoint.waiting().clone();
        waiting.wait(pin!(self.complete_write_async()))
    }

    /// As [`File::complete_write`], as a future that the program polls. Collective.
    ///
    /// # Errors
    /// As [`File::complete_write`].
    pub async fn complete_write_async(&mut self) -> Result<Option<CallReport>> {
        self.usable()?;
        if self.handed_over.is_none() {
            return Ok(None);
        }
        let waiting = self.endpoint.waiting().clone();
        waiting.call(pin!(self.finish_write())).await
    }

    /// Finishes an earlier write before another call. Only its error counts.
    pub(in crate::engine) async fn complete(&mut self) -> Result<()> {
        self.finish_write().await.map(drop)
    }

    async fn finish_write(&mut self) -> Result<Option<CallReport>> {
        let Some(HandedOver { agreed, mut done, mut clock }) = self.handed_over.take() else {
            return Ok(None);
        };
        clock.elsewhere.lap();
        self.settle(&mut done).await;
        clock.elsewhere.lap();
        finish_call(&mut self.endpoint, agreed, done, clock, (self.diary.as_deref_mut(), self.cached.as_mut()))
            .await
            .map(Some)
    }

    /// Defers the end of a write. The report has the numbers that every rank knows now.
    pub(in crate::engine) fn hand_over(&mut self, agreed: Agreed, done: CallTotals, clock: Clock) -> CallReport {
        let report = CallReport {
            path: done.path,
            why: format!("{}: handed over, to be complete at the next call", done.why).into(),
            auto: done.auto,
            plan_reused: done.reused,
            aggregators: done.aggregators,
            requests: agreed.requests,
            bytes: agreed.bytes,
            bytes_written: 0,
            bytes_read: 0,
            rounds: 0,
            metadata_bytes: 0,
            metadata_messages: 0,
            data_messages: 0,
            in_memory: 0,
            seconds: Seconds::default(),
        };
        self.handed_over = Some(HandedOver { agreed, done, clock });
        report
    }

    /// Checks that this rank has no data if it is an I/O rank.
    ///
    /// # Errors
    /// Data on an I/O rank.
    pub(in crate::engine) fn may_have_data(&self, file: &Extents) -> Result<()> {
        let rank = self.endpoint.rank();
        if file.count() > 0 && self.io_ranks().binary_search(&rank).is_ok() {
            let given =
                format!("{} bytes on rank {rank}, one of the trib_io_ranks={}", file.bytes(), self.io_ranks().len());
            return Err(Error::argument("access", given, "no data on I/O ranks"));
        }
        Ok(())
    }
}
