//! A NetCDF file that all ranks write together: first defined, then filled by queued requests and collective flushes.

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

/// An open NetCDF file: in define mode until [`Dataset::end_define`], in data mode afterwards.
///
/// All ranks must call *collective* methods, in the same order on each rank; all get the same error or none. All other
/// methods are local: an error is on this rank only. If it can occur on some ranks only, pass it through
/// [`Dataset::agree`] before the next collective call.
pub struct Dataset {
    file: File,
    schema: Schema,
    alignment: Alignment,
    filled: bool,
    /// Layout of the file; None in define mode.
    layout: Option<Layout>,
    queue: Queue,
    /// Number of records in the file: the maximum over ranks after the last collective call.
    records: u64,
    /// Number of records in the file after the queued requests are written, as far as this rank knows.
    records_asked: u64,
    /// Offset of the first byte behind all bytes that any rank has written.
    end: u64,
    header: HeaderState,
}

/// State of the header: the part that is not in the file yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderState {
    Missing,
    Written,
}

impl Dataset {
    /// Creates the empty file `path`, in define mode; truncates an existing one. Collective.
    ///
    /// # Errors
    /// The hints are wrong, or the file cannot be created.
    pub fn create(endpoint: Endpoint, path: impl Into<PathBuf>, format: Format, hints: Hints) -> Result<Self> {
        Self::create_with(endpoint, path, Schema::new(format), hints)
    }

    /// Creates the file as [`Dataset::create`] does, with the definitions of `schema`. Collective.
    ///
    /// # Errors
    /// The errors of [`Dataset::create`].
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
            header: HeaderState::Missing,
        })
    }

    /// Sets the alignment of data and records. Local, with the same value on all ranks; in define mode.
    ///
    /// # Errors
    /// The file is in data mode.
    pub fn set_alignment(&mut self, alignment: Alignment) -> Result<()> {
        self.defining()?;
        self.alignment = alignment;
        Ok(())
    }

    /// Decides whether [`Dataset::end_define`] writes fill values to fixed-size variables; off by default, as in
    /// PnetCDF. Records are never filled automatically; see [`Dataset::fill_record`]. Local, with the same value on
    /// all ranks; in define mode.
    ///
    /// # Errors
    /// The file is in data mode.
    pub fn set_fill(&mut self, filled: bool) -> Result<()> {
        self.defining()?;
        self.filled = filled;
        Ok(())
    }

    /// Defines a dimension in define mode: see [`Schema::define_dimension`].
    ///
    /// # Errors
    /// The file is in data mode; or an error of the schema.
    pub fn define_dimension(&mut self, name: &str, length: u64) -> Result<DimensionId> {
        self.defining()?.define_dimension(name, length)
    }

    /// Defines a variable in define mode: see [`Schema::define_variable`].
    ///
    /// # Errors
    /// The file is in data mode; or an error of the schema.
    pub fn define_variable(&mut self, name: &str, kind: Type, dimensions: &[DimensionId]) -> Result<VariableId> {
        self.defining()?.define_variable(name, kind, dimensions)
    }

    /// Sets an attribute of a variable in define mode: see [`Schema::put_attribute`].
    ///
    /// # Errors
    /// The file is in data mode; or an error of the schema.
    pub fn put_attribute(&mut self, variable: VariableId, name: &str, values: impl Into<Values>) -> Result<()> {
        self.defining()?.put_attribute(variable, name, values)
    }

    /// Sets an attribute of the file in define mode: see [`Schema::put_global_attribute`].
    ///
    /// # Errors
    /// The file is in data mode; or an error of the schema.
    pub fn put_global_attribute(&mut self, name: &str, values: impl Into<Values>) -> Result<()> {
        self.defining()?.put_global_attribute(name, values)
    }

    /// Ends define mode. Collective. Without fill nothing is written here, and the first flush writes the header.
    /// With fill, one collective write writes the header and the fill values, and its report is returned. Costs one
    /// agreement.
    ///
    /// # Errors
    /// The file is in data mode, sizes or offsets are beyond the format, or definitions differ between ranks; or an
    /// error of the engine.
    pub fn end_define(&mut self) -> Result<Option<CallReport>> {
        let laid = self.defining().map(drop).and_then(|()| self.schema.layout(self.alignment));
        let laid = laid.and_then(|layout| Ok((fill::digest(&layout.header(0)?), layout)));
        // The header's offsets contain the alignment, so it is enough to compare the header's bytes.
        let hash = laid.as_ref().map_or(0, |(hash, _)| hash ^ u64::from(self.filled));
        let mut words = [hash, hash];
        let (_, layout) = self.agree_with(laid, &[Min, Max], &mut words)?;
        if words[0] != words[1] {
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

    /// Closes the file and returns the endpoint. Collective. Ends define mode if necessary. If no rank has written the last
    /// variables, the file still gets its full length.
    ///
    /// # Errors
    /// There are requests that no [`Dataset::wait_all`] has written (the file is closed without them); or an error of
    /// the engine.
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
        if self.header == HeaderState::Missing || self.end < full {
            // Writing the last byte makes the file as long as its header says.
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

    /// Makes the ranks' outcomes the same: the error of the lowest failing rank, if any. Collective.
    ///
    /// # Errors
    /// The agreed error.
    pub fn agree<T>(&mut self, outcome: Result<T>) -> Result<T> {
        self.file.agree(outcome)
    }

    /// Returns the dimensions, variables and attributes defined so far.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the layout of the file; only in data mode.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// Returns the number of records in the file, without those of queued requests; the same on all ranks.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the engine's file, for its statistics: fan-in, driver, aggregators, topology.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    fn rank(&mut self) -> u64 {
        self.file.endpoint().rank() as u64
    }

    /// Returns this rank's share of work that ranks divide: its index, and the number of shares.
    fn share(&mut self) -> (u64, u64) {
        (self.rank(), self.file.endpoint().ranks() as u64)
    }

    fn defining(&mut self) -> Result<&mut Schema> {
        match self.layout {
            None => Ok(&mut self.schema),
            Some(_) => Err(Error::argument("definition", "after end_define", "definitions before it")),
        }
    }

    fn data_mode(&self) -> Result<&Layout> {
        self.layout.as_ref().ok_or_else(|| Error::argument("data", "before end_define", "data after it"))
    }
}
