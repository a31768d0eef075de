//! The bodies of the calls that make no transfer: sync, the size of the file, agreements for the caller, the close.

use std::collections::BTreeMap;
use std::pin::pin;

use tributary_base::wire::varint::Varints;
use tributary_base::wire::{Wire, to_bytes};

use crate::access::Extents;
use crate::collectives::{agree, allreduce, broadcast, gather};
use crate::engine::agreement::with_others;
use crate::engine::facts::Amount;
use crate::engine::facts::calls::CallKind;
use crate::engine::file::File;
use crate::engine::file::capturing::CaptureWriter;
use crate::engine::record::report::FanIn;
use crate::error::{About, Error, Result};
use crate::fabric::{Endpoint, pool};
use crate::schedule::ReduceOp;

impl File {
    /// The body of [`File::sync`]. Collective.
    pub(super) async fn synced(&mut self) -> Result<()> {
        let synced = self.handle.sync(&self.setup);
        let synced = self.handle.keep_error(synced);
        self.handle.note_others_bytes();
        self.agree_without_data(CallKind::Sync, synced, Amount::NONE).await?;
        self.handle.all_have_synced();
        Ok(())
    }

    /// The body of [`File::agree`] on a rank with the outcome `own`. Collective.
    pub(super) async fn agreed(&mut self, own: Result<()>) -> Result<()> {
        self.agree_without_data(CallKind::Agreement, own, Amount::NONE).await.map(drop)
    }

    /// The body of [`File::fan_in`]: adds the numbers of all ranks. Collective.
    pub(super) async fn added_fan_in(&mut self) -> Result<FanIn> {
        self.agree_without_data(CallKind::FanIn, Ok(()), Amount::NONE).await?;
        let counts = self.observers.fan_in.iter();
        let own: Vec<u8> =
            counts.flat_map(|(fan_in, times)| to_bytes(&Varints([u64::from(*fan_in), *times]))).collect();
        let all = gather(&mut self.endpoint, 0, &own).await?.concat();
        let all = broadcast(&mut self.endpoint, 0, &all).await?;
        let mut rest = &all[..];
        let mut counts = BTreeMap::<u32, u64>::new();
        while let Some(Varints([fan_in, times])) = Wire::decode(&mut rest) {
            *counts.entry(fan_in as u32).or_default() += times;
        }
        Ok(FanIn::of(counts))
    }

    /// The body of [`File::set_len`] on a rank that has `checked` the length. Collective.
    pub(super) async fn change_len(&mut self, checked: Result<u64>) -> Result<()> {
        // Checks that the length is not beyond 2^63 - 1.
        let checked = checked.and_then(|len| Extents::contiguous(len, 0).map(|_| len));
        // The agreement merges the lowest and the highest length of all ranks as if they were a range of data.
        let amount = |&len: &u64| Amount { start: len, end: len, ..Amount::NONE };
        let all = checked.as_ref().map_or(Amount::NONE, amount);
        let (len, checked) = (checked.as_ref().copied().unwrap_or_default(), checked.map(drop));
        self.handle.write_left_bytes();
        let Amount { start, end, .. } = self.agree_without_data(CallKind::SetLen, checked, all).await?.all;
        if start != end {
            return Err(self.lens_differ(len, [start, end]).await?);
        }
        let set = if self.endpoint.rank() == 0 { self.handle.set_len(&self.setup, len) } else { Ok(()) };
        self.handle.note_others_bytes();
        // The end of earlier writes means nothing any more.
        self.handle.all_have_synced();
        agree(&mut self.endpoint, set).await
    }

    /// Returns the error of ranks with different lengths; `lens` are the lowest and the highest. Collective: an
    /// allreduce.
    async fn lens_differ(&mut self, own: u64, lens: [u64; 2]) -> Result<Error> {
        let rank = self.endpoint.rank() as u64;
        let mut ranks = lens.map(|len| if len == own { rank } else { u64::MAX });
        allreduce(&mut self.endpoint, &[ReduceOp::Min; 2], &mut ranks).await?;
        let mut given = [(ranks[0], lens[0]), (ranks[1], lens[1])];
        given.sort_unstable();
        let [(lower, its), (higher, other)] = given;
        let given = format!("{other} on rank {higher}, {its} on rank {lower}");
        let differ = Error::argument("length of the file", given, "the same on all ranks");
        Ok(differ.about(About::FileSize))
    }

    /// The body of [`File::close`], which also agrees on `own`, the outcome of something that the caller closed. Collective.
    ///
    /// # Errors
    /// The errors of [`File::close`], or the `own` error of the lowest rank, on every rank.
    pub(super) async fn closed(mut self, own: Result<()>) -> Result<Endpoint> {
        let capture = CaptureWriter::from_closing(&mut self.observers, &self.setup);
        self.shut(own).await?;
        match capture {
            Some(capture) => Box::pin(capture.store(self.endpoint)).await,
            None => Ok(self.endpoint),
        }
    }

    /// Closes the handles like [`File::closed`], and keeps the endpoint. Collective.
    pub(super) async fn shut(&mut self, own: Result<()>) -> Result<()> {
        let waiting = self.endpoint.waiting().clone();
        let closed = self.handle.close(&self.setup);
        if let Err(unusable) = self.usable() {
            closed.err().iter().for_each(|error| crate::say(format_args!("{error}; no call has returned this error")));
            return Err(unusable);
        }
        let closed = self.handle.keep_error(closed.and(own));
        let closed = waiting.call(pin!(self.agree_without_data(CallKind::Close, closed, Amount::NONE))).await;
        match (closed, &self.handle.behind) {
            // All ranks have this error of one rank. No later call returns the others.
            (Err(error @ Error::Io { .. }), Some(behind)) => {
                let left = std::iter::from_fn(|| behind.take_error());
                Err(waiting.call(pin!(with_others(&mut self.endpoint, error, left.collect()))).await?)
            }
            (closed, _) => closed.map(|_| pool::advise_unused()),
        }
    }
}
