//! Dedicated I/O mode (hint `trib_io_ranks`): compute ranks hand their bytes over to ranks that only aggregate, and go on
//! computing while those write. What came of a write is agreed at the next call on the file, at its sync or its close.
//!
//! A compute rank's call takes the exchange only: its last message is matched when an I/O rank has taken it. An I/O rank has at
//! most `trib_write_buffers` windows behind it when its call returns; for more, it takes the next when one is written.
//! Compute ranks (p) and I/O ranks (q) tell each other ranges and sums by intergroup exchanges: each gets what the other
//! group has, and then the fold of its own group's, which only the other group could make.

use std::pin::pin;

use crate::access::Extents;
use crate::engine::api::file::File;
use crate::engine::api::finish_call::{CallTotals, finish_call};
use crate::engine::api::report::{CallReport, Clock, Seconds};
use crate::engine::plan::Agreed;
use crate::error::{Error, Result};
use crate::topology::Rank;

/// A write whose bytes are with the I/O ranks.
pub struct HandedOver {
    agreed: Agreed,
    done: CallTotals,
    clock: Clock,
}

impl File {
    /// The ranks that only aggregate, ascending; none without the hint `trib_io_ranks`.
    pub fn io_ranks(&self) -> &[Rank] {
        self.setup.io.as_ref().map_or(&[], |groups| groups.b())
    }

    /// Waits until the last write is in the file, where it was handed over to I/O ranks, and tells what it did; nothing if
    /// there is none. Collective.
    ///
    /// # Errors
    /// The write's, of the lowest rank that has one, on every rank; or an operation was dropped in the middle.
    pub fn complete_write(&mut self) -> Result<Option<CallReport>> {
        if self.handed_over.is_none() {
            return self.usable().map(|()| None);
        }
        let waiting = self.endpoint.waiting().clone();
        waiting.wait(pin!(self.complete_write_async()))
    }

    /// As [`File::complete_write`], for a program that polls futures by itself. Collective.
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

    /// The same where only its error counts: before every other call.
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
        finish_call(&mut self.endpoint, agreed, done, clock).await.map(Some)
    }

    /// Leaves a write to end later. The report has what is known of it on every rank.
    pub(in crate::engine) fn hand_over(&mut self, agreed: Agreed, done: CallTotals, clock: Clock) -> CallReport {
        let report = CallReport {
            path: done.path,
            why: format!("{}: handed over, to be complete at the next call", done.why).into(),
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

    /// I/O ranks only aggregate.
    ///
    /// # Errors
    /// Data on one of them.
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
