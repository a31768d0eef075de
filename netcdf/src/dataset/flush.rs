//! Flushes the queued requests: writes the requests of all ranks and the new part of the header with one collective
//! write.

use std::pin::pin;

use tributary::access::{BufferLayout, Extents};
use tributary::collectives::{allreduce, broadcast_error};
use tributary::schedule::ReduceOp::{self, Max, Min};
use tributary::{CallReport, Result};

use super::{Dataset, HeaderState};
use crate::fill::{self, Filled};
use crate::schema::VariableId;

impl Dataset {
    /// Writes all queued requests of all variables and ranks, and the new part of the header, with one collective
    /// write. Collective; a rank without requests calls this too. Costs one agreement besides the write. After an
    /// error the requests are dropped, and some of their bytes may be in the file.
    ///
    /// # Errors
    /// The file is in define mode; or an error of the engine.
    pub fn wait_all(&mut self) -> Result<CallReport> {
        let queue = std::mem::take(&mut self.queue);
        let access = self.data_mode().map(drop).and_then(|()| queue.take());
        self.flush(access)
    }

    /// Writes the fill value to every element of one record of a variable, at once and without the queued requests.
    /// Collective, with the same arguments on all ranks.
    ///
    /// # Errors
    /// The file is in define mode, the variable has no records, or the record is beyond the format; or an error of
    /// the engine.
    pub fn fill_record(&mut self, variable: VariableId, record: u64) -> Result<CallReport> {
        let share = self.share();
        let filled = self.data_mode().and_then(|layout| fill::record(&self.schema, layout, variable, record, share));
        let asked = std::mem::replace(&mut self.records_asked, if filled.is_ok() { record + 1 } else { 0 });
        let report = self.flush(filled.map(Filled::into_access));
        self.records_asked = asked.max(self.records);
        report
    }

    /// Does one collective write: an access of each rank and, from rank 0, the new part of the header.
    pub(super) fn flush(&mut self, access: Result<(Extents, BufferLayout, Vec<u8>)>) -> Result<CallReport> {
        let access = access.and_then(|access| {
            // Checked before any rank writes: the format must be able to count the records.
            self.data_mode()?.records(self.records_asked)?;
            Ok(access)
        });
        let end = access.as_ref().ok().and_then(|(extents, ..)| extents.span()).map_or(0, |(_, end)| end);
        let mut words = [self.records_asked.max(self.records), end.max(self.end)];
        let agreed = self.agree_with(access, &[Max, Max], &mut words);
        // The requests are dropped even if the write fails.
        self.records_asked = self.records;
        let (extents, layout, mut buffer) = agreed?;
        let [records, end] = words;
        let news = if self.rank() == 0 { self.news(records)? } else { None };
        let (extents, layout) = match news {
            Some((at, bytes)) => in_front(at, &bytes, &extents, layout, &mut buffer)?,
            None => (extents, layout),
        };
        let report = self.file.write_all(&extents, &layout, &buffer)?;
        (self.records, self.records_asked, self.end, self.header) = (records, records, end, HeaderState::Written);
        Ok(report)
    }

    /// Returns offset and bytes of the part of the header that is not in the file yet: the whole header, or the
    /// number of records.
    fn news(&self, records: u64) -> Result<Option<(u64, Vec<u8>)>> {
        let layout = self.data_mode()?;
        Ok(match self.header {
            HeaderState::Missing => Some((0, layout.header(records)?)),
            HeaderState::Written if records > self.records => Some(layout.records(records)?),
            HeaderState::Written => None,
        })
    }

    /// Makes the outcome the same on all ranks, and combines numbers of all ranks, with one allreduce.
    pub(super) fn agree_with<T, const N: usize>(
        &mut self,
        outcome: Result<T>,
        ops: &[ReduceOp; N],
        words: &mut [u64; N],
    ) -> Result<T> {
        let endpoint = self.file.endpoint();
        let waiting = endpoint.waiting().clone();
        let failed = if outcome.is_err() { endpoint.rank() as u64 } else { u64::MAX };
        let mut all: Vec<u64> = std::iter::once(failed).chain(words.iter().copied()).collect();
        let ops: Vec<_> = std::iter::once(Min).chain(ops.iter().copied()).collect();
        waiting.wait(pin!(async {
            allreduce(endpoint, &ops, &mut all).await?;
            words.copy_from_slice(&all[1..]);
            match (all[0], outcome) {
                (u64::MAX, Ok(value)) => Ok(value),
                (rank, outcome) => Err(broadcast_error(endpoint, rank as usize, outcome.err().as_ref()).await?),
            }
        }))
    }
}

/// Prepends `bytes` at offset `at`, which is below the access.
fn in_front(
    at: u64,
    bytes: &[u8],
    extents: &Extents,
    layout: BufferLayout,
    buffer: &mut Vec<u8>,
) -> Result<(Extents, BufferLayout)> {
    let mut file = Extents::contiguous(at, bytes.len() as u64)?;
    file.push(extents)?;
    let mut memory = Extents::contiguous(buffer.len() as u64, bytes.len() as u64)?;
    match layout {
        BufferLayout::Contiguous => memory.push(&Extents::contiguous(0, extents.bytes())?)?,
        BufferLayout::Extents(own) => memory.push(&own)?,
    }
    buffer.extend_from_slice(bytes);
    Ok((file, BufferLayout::Extents(memory)))
}
