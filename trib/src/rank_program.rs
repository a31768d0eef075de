//! Program that every rank runs in a replay, on any fabric: write all calls, read all calls, or both.

use std::path::Path;
use std::pin::pin;

use tributary::collectives::agree;
use tributary::hints::DriverName;
use tributary::{Endpoint, Error, File, Hints, Mode};
use tributary_benchmarks::{NetcdfCase, Pattern, write_case};

use crate::buffers::{self, BufferContents, PreparedAccess};
use crate::calls::Calls;
use crate::cli::replay::{FileFormat, MemoryLayout};

/// Task of a replay; the same on all ranks.
pub struct ReplayTask<'a> {
    /// Pattern to replay.
    pub pattern: &'a dyn Pattern,
    /// Path of the file.
    pub path: &'a Path,
    /// Hints for the file.
    pub hints: &'a Hints,
    /// Layout of each rank's memory; by default the pattern's.
    pub buffer: Option<MemoryLayout>,
    /// Format of the file.
    pub format: FileFormat,
    /// Calls to make: writes, reads or both.
    pub calls: Wished,
    /// True if bytes that are read are compared with the pattern.
    pub compared: bool,
}

/// Calls that a task makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wished {
    /// Writes only.
    Write,
    /// Writes, then reads of the same bytes.
    WriteAndRead,
    /// Reads only.
    Read,
}

/// Result of a replay; the same on all ranks.
pub struct RunOutcome {
    /// Collective calls that were made.
    pub done: Done,
    /// Number of nodes, as found or pretended.
    pub nodes: usize,
    /// Name of the file-system driver.
    pub driver: DriverName,
}

/// Collective calls that were made, by direction.
pub enum Done {
    /// Writes only.
    Wrote(Calls),
    /// Writes, then reads of the same bytes.
    ReadBack(Calls, Box<Read>),
    /// Reads only.
    Read(Read),
}

impl Done {
    /// Returns the writes, or the reads if nothing was written.
    pub fn calls(&self) -> &Calls {
        match self {
            Self::Wrote(calls) | Self::ReadBack(calls, _) | Self::Read(Read { calls, .. }) => calls,
        }
    }

    /// Returns the writes, or the reads if nothing was written, and drops the rest.
    pub fn into_calls(self) -> Calls {
        match self {
            Self::Wrote(calls) | Self::ReadBack(calls, _) | Self::Read(Read { calls, .. }) => calls,
        }
    }

    /// Returns true if anything was written.
    pub fn wrote(&self) -> bool {
        !matches!(self, Self::Read(_))
    }

    /// Returns the result of reading, if anything was read.
    pub fn read(&self) -> Option<&Read> {
        match self {
            Self::Wrote(_) => None,
            Self::ReadBack(_, read) => Some(read),
            Self::Read(read) => Some(read),
        }
    }
}

/// Result of reading.
pub struct Read {
    /// Sums over the reads.
    pub calls: Calls,
    /// If the bytes were compared: `Ok` if every rank read the pattern's bytes, or the difference on the lowest rank
    /// that did not.
    pub right: Option<Result<(), String>>,
}

impl ReplayTask<'_> {
    /// Runs the task, and returns the endpoint for another one. Collective; the same error on all ranks or none.
    ///
    /// # Errors
    /// Errors of the engine, or the pattern's error on the lowest failing rank.
    pub fn run(&self, mut endpoint: Endpoint) -> Result<(RunOutcome, Endpoint), Error> {
        if self.calls == Wished::Read {
            let first = self.first(&mut endpoint, BufferContents::Read)?;
            let (read, shown, endpoint) = self.read(endpoint, first)?;
            return Ok((shown.with(Done::Read(read)), endpoint));
        }
        let first = self.first(&mut endpoint, BufferContents::Written)?;
        let (written, shown, mut endpoint) = self.write(endpoint, first)?;
        if self.calls == Wished::Write {
            return Ok((shown.with(Done::Wrote(written)), endpoint));
        }
        let first = self.first(&mut endpoint, BufferContents::Read)?;
        let (read, _, endpoint) = self.read(endpoint, first)?;
        Ok((shown.with(Done::ReadBack(written, Box::new(read))), endpoint))
    }

    /// Returns the memory of the first call. The memory is prepared before the file is opened, so that an error of the
    /// pattern leaves no file. Collective.
    fn first(&self, endpoint: &mut Endpoint, bytes: BufferContents) -> Result<PreparedAccess, Error> {
        let first = self.prepare(endpoint.rank(), 0, bytes);
        endpoint.waiting().clone().wait(pin!(agree(endpoint, first)))
    }

    fn prepare(&self, rank: usize, step: usize, bytes: BufferContents) -> Result<PreparedAccess, Error> {
        let failed = |error| {
            Error::argument(format!("rank {rank}, call {step}"), error, "a pattern that every rank can generate")
        };
        buffers::prepare(self.pattern, rank, step, self.buffer, bytes).map_err(failed)
    }

    /// Writes with one collective call per step.
    fn write(&self, endpoint: Endpoint, first: PreparedAccess) -> Result<(Calls, Shown, Endpoint), Error> {
        if let Some(case) = self.netcdf() {
            return self.write_netcdf(endpoint, case);
        }
        let file = File::open(endpoint, self.path, Mode::Create, self.hints.clone())?;
        let (shown, mut calls) = (Shown::from_file(&file), Calls::default());
        let mut file =
            self.steps(file, first, BufferContents::Written, |file, PreparedAccess { access, buffer }, _| {
                let call = file.write_all(&access.file, &access.layout, &buffer)?;
                calls.add(call);
                Ok(())
            })?;
        calls.fan_in = file.fan_in()?;
        Ok((calls, shown, file.close()?))
    }

    /// Returns the pattern as a NetCDF file, if the options ask for that format.
    fn netcdf(&self) -> Option<&dyn NetcdfCase> {
        self.pattern.netcdf().filter(|_| self.format == FileFormat::Netcdf)
    }

    /// Writes through the NetCDF writer, with one flush per step.
    fn write_netcdf(&self, endpoint: Endpoint, case: &dyn NetcdfCase) -> Result<(Calls, Shown, Endpoint), Error> {
        let (written, endpoint) = write_case(endpoint, case, self.path, self.hints)?;
        let mut calls = Calls::default();
        calls.fan_in = written.fan_in;
        written.calls.into_iter().for_each(|call| calls.add(call));
        Ok((calls, Shown { nodes: written.nodes, driver: written.driver }, endpoint))
    }

    /// Reads with one collective call per step.
    fn read(&self, endpoint: Endpoint, first: PreparedAccess) -> Result<(Read, Shown, Endpoint), Error> {
        let rank = endpoint.rank();
        let file = File::open(endpoint, self.path, Mode::Read, self.hints.clone())?;
        let (shown, mut calls, mut wrong) = (Shown::from_file(&file), Calls::default(), None);
        let mut file = self.steps(file, first, BufferContents::Read, |file, expected, step| {
            let mut buffer = expected.inverted();
            let read = file.read_all(&expected.access.file, &expected.access.layout, &mut buffer)?;
            calls.add(read.call);
            if wrong.is_none() {
                let asked = expected.access.file.bytes();
                let short = (read.bytes < asked).then(|| format!("the file has {} of {asked} bytes", read.bytes));
                let what = short.or_else(|| expected.difference(&buffer));
                wrong = what.map(|what| format!("rank {rank}, call {step}: {what}"));
            }
            Ok(())
        })?;
        calls.fan_in = file.fan_in()?;
        let right = self.compared.then(|| agreed(&mut file, wrong)).transpose()?;
        Ok((Read { calls, right }, shown, file.close()?))
    }

    /// Runs all steps on an open file.
    fn steps(
        &self,
        mut file: File,
        first: PreparedAccess,
        bytes: BufferContents,
        mut step: impl FnMut(&mut File, PreparedAccess, usize) -> Result<(), Error>,
    ) -> Result<File, Error> {
        let (rank, mut first) = (file.endpoint().rank(), Some(first));
        for number in 0..self.pattern.steps() {
            let prepared = match first.take() {
                Some(first) => first,
                None => file.agree(self.prepare(rank, number, bytes))?,
            };
            step(&mut file, prepared, number)?;
        }
        Ok(file)
    }
}

/// Settings of an open file that the results show.
struct Shown {
    nodes: usize,
    driver: DriverName,
}

impl Shown {
    fn from_file(file: &File) -> Self {
        Self { nodes: file.settings().topology.nodes(), driver: file.settings().driver }
    }

    fn with(self, done: Done) -> RunOutcome {
        RunOutcome { done, nodes: self.nodes, driver: self.driver }
    }
}

/// Returns the difference that the lowest failing rank found, on every rank. Collective.
fn agreed(file: &mut File, wrong: Option<String>) -> Result<Result<(), String>, Error> {
    const DIFFERENCE: u32 = 0;
    match file.agree(wrong.map_or(Ok(()), |found| Err(Error::refused(DIFFERENCE, found)))) {
        Ok(()) => Ok(Ok(())),
        Err(Error::Refused { reason: DIFFERENCE, why, .. }) => Ok(Err(why)),
        Err(error) => Err(error),
    }
}
