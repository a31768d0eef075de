//! Independent writes and reads of one rank, and the size of the file.
//!
//! These calls do not cache. Every later call of any rank sees the bytes that a call has written, if the caller orders
//! the two calls (by a barrier or a collective call). On file systems whose clients cache independently
//! ([`handle`](super::super::handle)), a rank of another host sees them after a collective call or [`File::sync`].

use std::pin::pin;

use crate::access::{BufferLayout, Extents, Sink, Source};
use crate::collectives::{agree, allreduce};
use crate::device;
use crate::engine::facts::Amount;
use crate::engine::facts::calls::CallKind;
use crate::engine::file::File;
use crate::engine::staging::{ReadTarget, stage_write};
use crate::engine::storage::window_queue::Outcome;
use crate::error::{About, Error, Result};
use crate::schedule::ReduceOp;

impl File {
    /// Writes `bytes` at byte `offset` of the file and returns their number. Local: no message is sent, and the calling
    /// thread does the I/O.
    ///
    /// # Errors
    /// An end beyond 2^63 - 1, a file opened for reading, an error of the system; an operation was dropped before its
    /// end. Some of the bytes may then be in the file.
    pub fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<u64> {
        self.write_at_from(offset, bytes.into())
    }

    /// Writes like [`File::write_at`], from `source`, which may be device memory. Local.
    ///
    /// # Errors
    /// The same errors as [`File::write_at`]; device memory that cannot be copied.
    pub fn write_at_from(&mut self, offset: u64, source: Source<'_>) -> Result<u64> {
        self.usable()?;
        self.handle.check_writable(&self.setup, "write", offset)?;
        let len = source.span() as u64;
        check_range(offset, len)?;
        if len == 0 {
            return Ok(0);
        }
        let mut staged = Vec::new();
        if device::may_be() {
            let file = (self.endpoint.rank(), &*self.setup.path);
            stage_write(file, &BufferLayout::Contiguous, len, source, &mut staged)?;
        }
        let bytes = if staged.is_empty() { source.piece(0, len) } else { &staged };
        self.handle.write_at(&self.setup, bytes, offset)
    }

    /// Reads into `bytes` from byte `offset` of the file on. Returns the number of bytes before the end of the file;
    /// the rest of `bytes` is unchanged. Local, like [`File::write_at`].
    ///
    /// # Errors
    /// The same errors as [`File::write_at`]; the contents of `bytes` are then undefined.
    pub fn read_at(&mut self, offset: u64, bytes: &mut [u8]) -> Result<u64> {
        self.read_at_into(offset, bytes.into())
    }

    /// Reads like [`File::read_at`], into `sink`, which may be device memory. Local.
    ///
    /// # Errors
    /// The same errors as [`File::read_at`]; device memory that cannot be copied.
    pub fn read_at_into(&mut self, offset: u64, sink: Sink<'_>) -> Result<u64> {
        self.usable()?;
        let len = sink.span() as u64;
        let file = Extents::contiguous(offset, len)?;
        if len == 0 {
            return Ok(0);
        }
        let mut target = ReadTarget::new(&BufferLayout::Contiguous, sink);
        if device::may_be() {
            target.stage(self.endpoint.rank(), len)?;
        }
        let bytes = self.handle.read_at(&self.setup, target.memory().sink.piece(0, len), offset)?;
        let mut outcome = Outcome { bytes, ..Outcome::default() };
        target.copy_to_device((self.endpoint.rank(), &self.setup.path), &file, &mut outcome);
        outcome.error.map_or(Ok(outcome.bytes), Err)
    }

    /// Returns the size of the file in bytes, as the system reports it to this rank now. Local.
    ///
    /// # Errors
    /// A device or a pipe, which has no size; an error of the system; an operation was dropped before its end.
    pub fn size(&mut self) -> Result<u64> {
        self.usable()?;
        match self.handle.size(&self.setup)? {
            u64::MAX => Err(Error::state("the file is a device or a pipe, which has no size; use a regular file")),
            size => Ok(size),
        }
    }

    /// Sets the size of the file to `len` bytes: truncates a longer file, extends a shorter file with zeros.
    /// Collective, with the same length on all ranks: rank 0 sets it when all ranks have called, and all ranks return
    /// after that. Costs two agreements.
    ///
    /// # Errors
    /// The same on every rank: different lengths, a length beyond 2^63 - 1, a file opened for reading, an error of the
    /// system on rank 0; an operation was dropped before its end.
    pub fn set_len(&mut self, len: u64) -> Result<()> {
        self.set_len_after(Ok(len))
    }

    /// Sets the size like [`File::set_len`], for a caller that has already checked the length. Collective.
    ///
    /// # Errors
    /// The same errors as [`File::set_len`], or the `checked` error of the lowest rank, on every rank.
    pub fn set_len_after(&mut self, checked: Result<u64>) -> Result<()> {
        self.usable()?;
        let waiting = self.endpoint.waiting().clone();
        waiting.complete(pin!(self.change_len(checked)))
    }

    async fn change_len(&mut self, checked: Result<u64>) -> Result<()> {
        let checked = checked.and_then(|len| check_range(len, 0).map(|()| len));
        // The agreement merges the lowest and the highest length of all ranks as if they were a range of data.
        let amount = |&len: &u64| Amount { start: len, end: len, ..Amount::NONE };
        let all = checked.as_ref().map_or(Amount::NONE, amount);
        let (len, checked) = (checked.as_ref().copied().unwrap_or_default(), checked.map(drop));
        let Amount { start, end, .. } = self.agree_without_data(CallKind::SetLen, checked, all).await?.all;
        if start != end {
            return Err(self.lens_differ(len, [start, end]).await?);
        }
        let set = if self.endpoint.rank() == 0 { self.handle.set_len(&self.setup, len) } else { Ok(()) };
        self.handle.note_others_bytes();
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
}

/// Checks that the end is not beyond 2^63 - 1.
fn check_range(offset: u64, len: u64) -> Result<()> {
    Extents::contiguous(offset, len).map(|_| ())
}
