//! A NetCDF file that all ranks write together: defined, then filled by queued requests and collective flushes.

use std::path::PathBuf;

use tributary::access::{BufferLayout, Extents};
use tributary::schedule::ReduceOp::{Max, Min};
use tributary::{CallReport, Endpoint, Error, File, Hints, Mode, Result};

use crate::alignment::Alignment;
use crate::fill::{self, Filled};
use crate::format::{Format, Type};
use crate::layout::Layout;
use crate::queue::Queue;
use crate::schema::{DimensionId, Schema, VariableId};
use crate::values::Values;

mod flush;
mod put;

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
}
