//! A NetCDF file that all ranks write together: defined, then filled by queued requests and collective flushes.

use std::path::PathBuf;
use std::pin::pin;

use tributary::access::{BufferLayout, Extents};
use tributary::collectives::{allreduce, tell};
use tributary::schedule::ReduceOp::{Max, Min};
use tributary::{CallReport, Endpoint, Error, File, Hints, Mode, Result};

use crate::alignment::Alignment;
use crate::fill::{self, Filled};
use crate::format::{Format, Type};
use crate::layout::Layout;
use crate::queue::Queue;
use crate::schema::{DimensionId, Schema, VariableId};
use crate::value::Value;
use crate::values::Values;

/// An open file: in define mode until [`Dataset::end_define`], in data mode from there on.
///
/// *Collective* methods are called by all ranks, in the same order on each; all get the same error or none. All others are
/// local: an error there is this rank's alone, and a program that can meet one on some ranks only passes it through
/// [`Dataset::agree`] before the next collective call.
pub struct Dataset {
    file: File,
    schema: Schema,
    alignment: Alignment,
    filled: bool,
    /// In data mode.
    layout: Option<Layout>,
    queue: Queue,
    /// Records of the file: the most of any rank, as of the last collective call.
    records: u64,
    /// Records of the file when the queued requests are written, as far as this rank knows.
    records_asked: u64,
    /// One past the last byte that any rank has written.
    end: u64,
    header: Header,
}

/// What of the header is not in the file yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Header {
    Missing,
    Written,
}

impl Dataset {
    /// Makes the file `path`, empty, in define mode; an existing one is replaced. Collective.
    ///
    /// # Errors
    /// Bad hints, or the file cannot be made.
    pub fn create(endpoint: Endpoint, path: impl Into<PathBuf>, format: Format, hints: Hints) -> Result<Self> {
        Self::create_with(endpoint, path, Schema::new(format), hints)
    }

    /// As [`Dataset::create`], with definitions that are made already. Collective.
    ///
    /// # Errors
    /// As [`Dataset::create`].
    pub fn create_with(endpoint: Endpoint, path: impl Into<PathBuf>, schema: Schema, hints: Hints) -> Result<Self> {
        let file = File::open(endpoint, path, Mode::Create, hints)?;
        Ok(Self {
            file,
            schema,
            alignment: Alignment::default(),
            filled: false,
            layout: None,
            queue: Queue::default(),
            records: 0,
            records_asked: 0,
            end: 0,
            header: Header::Missing,
        })
    }

    /// Where data and records may begin; the same on all ranks. Define mode.
    ///
    /// # Errors
    /// Data mode.
    pub fn set_alignment(&mut self, alignment: Alignment) -> Result<()> {
        self.defining()?;
        self.alignment = alignment;
        Ok(())
    }

    /// Whether fixed-size variables are filled when definitions end: off, as in PnetCDF, unless set. Records are never
    /// filled by themselves; see [`Dataset::fill_record`]. Define mode.
    ///
    /// # Errors
    /// Data mode.
    pub fn set_fill(&mut self, filled: bool) -> Result<()> {
        self.defining()?;
        self.filled = filled;
        Ok(())
    }

    /// See [`Schema::define_dimension`]. Define mode.
    ///
    /// # Errors
    /// Data mode, or the schema's.
    pub fn define_dimension(&mut self, name: &str, length: u64) -> Result<DimensionId> {
        self.defining()?.define_dimension(name, length)
    }

    /// See [`Schema::define_variable`]. Define mode.
    ///
    /// # Errors
    /// Data mode, or the schema's.
    pub fn define_variable(&mut self, name: &str, kind: Type, dimensions: &[DimensionId]) -> Result<VariableId> {
        self.defining()?.define_variable(name, kind, dimensions)
    }

    /// See [`Schema::put_attribute`]. Define mode.
    ///
    /// # Errors
    /// Data mode, or the schema's.
    pub fn put_attribute(&mut self, variable: VariableId, name: &str, values: impl Into<Values>) -> Result<()> {
        self.defining()?.put_attribute(variable, name, values)
    }

    /// See [`Schema::put_global_attribute`]. Define mode.
    ///
    /// # Errors
    /// Data mode, or the schema's.
    pub fn put_global_attribute(&mut self, name: &str, values: impl Into<Values>) -> Result<()> {
        self.defining()?.put_global_attribute(name, values)
    }

    /// Ends define mode. Collective. Without fill the header travels with the first flush, so that nothing is written
    /// here; with fill, header and fill values are one collective write, whose report is returned. Costs one agreement.
    ///
    /// # Errors
    /// Data mode, sizes or offsets beyond the format, definitions that differ between ranks, or the engine's.
    pub fn end_define(&mut self) -> Result<Option<CallReport>> {
        let laid = self.defining().map(drop).and_then(|()| self.schema.layout(self.alignment));
        let laid = laid.and_then(|layout| Ok((fill::digest(&layout.header(0)?), layout)));
        // Alignment is in the header's offsets, so its bytes are all there is to compare.
        let hash = laid.as_ref().map_or(0, |(hash, _)| hash ^ u64::from(self.filled));
        let mut lanes = [hash, hash];
        let (_, layout) = self.agree_with(laid, &[Min, Max], &mut lanes)?;
        if lanes[0] != lanes[1] {
            return Err(Error::argument("definitions", "differ between ranks", "the same on every rank"));
        }
        self.end = layout.header_bytes();
        let share = self.share();
        let filled = if self.filled { fill::fixed(&self.schema, &layout, share) } else { Ok(Filled::default()) };
        self.layout = Some(layout);
        if !self.filled {
            return Ok(None);
        }
        self.flush(filled.map(Filled::into_access)).map(Some)
    }

    /// Queues one part of a variable: `count` elements from `start` on along each dimension, `values` in row-major order.
    /// Local; the values are converted and copied here. Data mode.
    ///
    /// # Errors
    /// Define mode, a part that leaves the variable, another number of values, a value beyond the variable's type (see
    /// [`Value`]); nothing is queued then.
    pub fn iput_vara<V: Value>(
        &mut self,
        variable: VariableId,
        start: &[u64],
        count: &[u64],
        values: &[V],
    ) -> Result<()> {
        let extents = self.data_mode()?.extents(variable, start, count)?;
        self.queue_values(variable, extents, values)
    }

    /// Queues many parts of a variable as one request: (start, count) each, `values` of one part after the other. Local;
    /// allocates nothing for each part, and packs them as they come.
    ///
    /// # Errors
    /// As [`Dataset::iput_vara`].
    pub fn iput_varn<V, S, C>(
        &mut self,
        variable: VariableId,
        parts: impl IntoIterator<Item = (S, C)>,
        values: &[V],
    ) -> Result<()>
    where
        V: Value,
        S: AsRef<[u64]>,
        C: AsRef<[u64]>,
    {
        let extents = self.data_mode()?.extents_of_all(variable, parts)?;
        self.queue_values(variable, extents, values)
    }

    /// As [`Dataset::iput_vara`] with the elements as they lie in the file: text, or big-endian numbers of the variable's
    /// type. Local.
    ///
    /// # Errors
    /// As [`Dataset::iput_vara`], but for conversion.
    pub fn iput_vara_external(
        &mut self,
        variable: VariableId,
        start: &[u64],
        count: &[u64],
        bytes: &[u8],
    ) -> Result<()> {
        let extents = self.data_mode()?.extents(variable, start, count)?;
        self.queue_bytes(variable, extents, bytes)
    }

    /// As [`Dataset::iput_varn`] with the elements as they lie in the file. Local.
    ///
    /// # Errors
    /// As [`Dataset::iput_vara_external`].
    pub fn iput_varn_external<S, C>(
        &mut self,
        variable: VariableId,
        parts: impl IntoIterator<Item = (S, C)>,
        bytes: &[u8],
    ) -> Result<()>
    where
        S: AsRef<[u64]>,
        C: AsRef<[u64]>,
    {
        let extents = self.data_mode()?.extents_of_all(variable, parts)?;
        self.queue_bytes(variable, extents, bytes)
    }

    /// Writes all queued requests of all variables and ranks, and what of the header is new, in one collective write.
    /// Collective; a rank without requests calls it too. Costs one agreement beside the write. On an error the requests
    /// are gone, and part of them may be in the file.
    ///
    /// # Errors
    /// Define mode, or the engine's.
    pub fn wait_all(&mut self) -> Result<CallReport> {
        let queue = std::mem::take(&mut self.queue);
        let access = self.data_mode().map(drop).and_then(|()| queue.take());
        self.flush(access)
    }

    /// Writes the fill value to every element of one record of a variable, at once and without the queued requests.
    /// Collective, with the same arguments on all ranks.
    ///
    /// # Errors
    /// Define mode, a variable without records, a record beyond the format, or the engine's.
    pub fn fill_record(&mut self, variable: VariableId, record: u64) -> Result<CallReport> {
        let share = self.share();
        let filled = self.data_mode().and_then(|layout| fill::record(&self.schema, layout, variable, record, share));
        let asked = std::mem::replace(&mut self.records_asked, if filled.is_ok() { record + 1 } else { 0 });
        let report = self.flush(filled.map(Filled::into_access));
        self.records_asked = asked.max(self.records);
        report
    }

    /// Closes the file and gives the endpoint back. Collective. Ends define mode if need be; a file whose last variables
    /// nobody has written gets its full length.
    ///
    /// # Errors
    /// Requests that no [`Dataset::wait_all`] has written (the file is closed without them), or the engine's.
    pub fn close(mut self) -> Result<Endpoint> {
        if self.layout.is_none() {
            self.end_define()?;
        }
        let waiting = match self.queue.is_empty() {
            true => Ok(()),
            false => Err(Error::argument("close", "requests are queued", "wait_all before it")),
        };
        let waiting = self.file.agree(waiting);
        self.records_asked = self.records;
        let full = self.layout.as_ref().and_then(|layout| layout.file_bytes(self.records)).unwrap_or(0);
        if self.header == Header::Missing || self.end < full {
            // One byte where nobody has written makes the file as long as its header says.
            let short = self.rank() == 0 && self.end < full;
            let last = if short { Extents::contiguous(full - 1, 1) } else { Ok(Extents::empty()) };
            self.flush(last.map(|extents| {
                let byte = vec![0; extents.bytes() as usize];
                (extents, BufferLayout::Contiguous, byte)
            }))?;
        }
        let endpoint = self.file.close()?;
        waiting.map(|()| endpoint)
    }

    /// Makes an outcome of each rank the same on all: the error of the lowest rank that has one. Collective.
    ///
    /// # Errors
    /// The agreed error.
    pub fn agree<T>(&mut self, outcome: Result<T>) -> Result<T> {
        self.file.agree(outcome)
    }

    /// The definitions so far.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Where everything lies; data mode only.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// Records in the file, those of queued requests not counted; the same on all ranks.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The file below, for its statistics: fan-in, driver, aggregators, topology.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    fn rank(&mut self) -> u64 {
        self.file.endpoint().rank() as u64
    }

    /// This rank's share of work that any rank could do: which part, of how many.
    fn share(&mut self) -> (u64, u64) {
        (self.rank(), self.file.endpoint().ranks() as u64)
    }

    fn defining(&mut self) -> Result<&mut Schema> {
        match self.layout {
            None => Ok(&mut self.schema),
            Some(_) => Err(Error::argument("definition", "behind end_define", "definitions before it")),
        }
    }

    fn data_mode(&self) -> Result<&Layout> {
        self.layout.as_ref().ok_or_else(|| Error::argument("data", "before end_define", "data behind it"))
    }

    fn queue_values<V: Value>(&mut self, variable: VariableId, extents: Extents, values: &[V]) -> Result<()> {
        let target = &self.schema.variables()[variable.0];
        let elements = extents.bytes() / target.kind.size();
        if values.len() as u64 != elements {
            let what = format!("values for variable {}", target.name);
            return Err(Error::argument(what, values.len(), format!("{elements}, as the part has elements")));
        }
        let before = self.queue.data.len();
        if let Err(at) = V::encode(values, target.kind, self.schema.format(), &mut self.queue.data) {
            self.queue.data.truncate(before);
            let what = format!("value {at} for variable {}", target.name);
            let allowed = format!("what a {} holds", target.kind);
            return Err(Error::argument(what, "is out of range", allowed));
        }
        self.queue_extents(variable, extents, before);
        Ok(())
    }

    fn queue_bytes(&mut self, variable: VariableId, extents: Extents, bytes: &[u8]) -> Result<()> {
        if bytes.len() as u64 != extents.bytes() {
            let what = format!("bytes for variable {}", self.schema.variables()[variable.0].name);
            return Err(Error::argument(what, bytes.len(), format!("{}, as the part has", extents.bytes())));
        }
        let before = self.queue.data.len();
        self.queue.data.extend_from_slice(bytes);
        self.queue_extents(variable, extents, before);
        Ok(())
    }

    /// Queues extents whose bytes are in the queue from `memory` on.
    fn queue_extents(&mut self, variable: VariableId, extents: Extents, memory: usize) {
        let records = self.layout.as_ref().map_or(0, |layout| layout.records_of(variable, &extents));
        self.records_asked = self.records_asked.max(records);
        self.queue.push(extents, memory as u64);
    }

    /// One collective write: an access of each rank, and from rank 0 what of the header is new.
    fn flush(&mut self, access: Result<(Extents, BufferLayout, Vec<u8>)>) -> Result<CallReport> {
        let access = access.and_then(|access| {
            // Before any rank writes: the format must be able to count the records.
            self.data_mode()?.records(self.records_asked)?;
            Ok(access)
        });
        let end = access.as_ref().ok().and_then(|(extents, ..)| extents.span()).map_or(0, |(_, end)| end);
        let mut lanes = [self.records_asked.max(self.records), end.max(self.end)];
        let agreed = self.agree_with(access, &[Max, Max], &mut lanes);
        // Whatever becomes of the write: those requests are gone.
        self.records_asked = self.records;
        let (extents, layout, mut buffer) = agreed?;
        let [records, end] = lanes;
        let news = if self.rank() == 0 { self.news(records)? } else { None };
        let (extents, layout) = match news {
            Some((at, bytes)) => in_front(at, &bytes, &extents, layout, &mut buffer)?,
            None => (extents, layout),
        };
        let report = self.file.write_all(&extents, &layout, &buffer)?;
        (self.records, self.records_asked, self.end, self.header) = (records, records, end, Header::Written);
        Ok(report)
    }

    /// The bytes of the header that are not in the file: all of it, or the number of records.
    fn news(&self, records: u64) -> Result<Option<(u64, Vec<u8>)>> {
        let layout = self.data_mode()?;
        Ok(match self.header {
            Header::Missing => Some((0, layout.header(records)?)),
            Header::Written if records > self.records => Some(layout.records(records)?),
            Header::Written => None,
        })
    }

    /// Agrees on an outcome and, at the same time, on numbers: one allreduce.
    fn agree_with<T, const N: usize>(
        &mut self,
        outcome: Result<T>,
        ops: &[tributary::schedule::ReduceOp; N],
        lanes: &mut [u64; N],
    ) -> Result<T> {
        let endpoint = self.file.endpoint();
        let waiting = endpoint.waiting().clone();
        let failed = if outcome.is_err() { endpoint.rank() as u64 } else { u64::MAX };
        let mut all: Vec<u64> = std::iter::once(failed).chain(lanes.iter().copied()).collect();
        let ops: Vec<_> = std::iter::once(Min).chain(ops.iter().copied()).collect();
        waiting.wait(pin!(async {
            allreduce(endpoint, &ops, &mut all).await?;
            lanes.copy_from_slice(&all[1..]);
            match (all[0], outcome) {
                (u64::MAX, Ok(value)) => Ok(value),
                (rank, outcome) => Err(tell(endpoint, rank as usize, outcome.err().as_ref()).await?),
            }
        }))
    }
}

/// An access with `bytes` for offset `at` in front of it, which lies below all of it.
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
