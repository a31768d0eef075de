//! What every rank of a replay does, on any fabric: write all calls, read all calls, or one after the other.

use std::path::Path;
use std::pin::pin;

use tributary::collectives::agree;
use tributary::hints::DriverName;
use tributary::{Endpoint, Error, File, Hints, Mode};
use tributary_benchmarks::{NetcdfCase, Pattern, write_case};

use crate::buffers::{self, Bytes, Prepared};
use crate::calls::Calls;
use crate::cli::replay::{Format, How, Wanted};

/// What is to be done; the same on all ranks.
pub struct Task<'a> {
    /// What.
    pub pattern: &'a dyn Pattern,
    /// Where.
    pub path: &'a Path,
    /// How.
    pub hints: &'a Hints,
    /// The options of how.
    pub how: &'a How,
    /// The options of what comes of it.
    pub wanted: &'a Wanted,
}

/// What a run showed; the same on all ranks.
pub struct Outcome {
    /// The collective calls.
    pub done: Done,
    /// Nodes, as found or pretended.
    pub nodes: usize,
    /// The driver.
    pub driver: DriverName,
}

/// The collective calls, by direction.
pub enum Done {
    /// Only writes.
    Wrote(Calls),
    /// Writes, and then reads of what was written.
    ReadBack(Calls, Read),
    /// Only reads.
    Read(Read),
}

impl Done {
    /// The writes; the reads where nothing was written.
    pub fn calls(&self) -> &Calls {
        match self {
            Self::Wrote(calls) | Self::ReadBack(calls, _) | Self::Read(Read { calls, .. }) => calls,
        }
    }

    /// Whether anything was written.
    pub fn wrote(&self) -> bool {
        !matches!(self, Self::Read(_))
    }

    /// The reads.
    pub fn read(&self) -> Option<&Read> {
        match self {
            Self::Wrote(_) => None,
            Self::ReadBack(_, read) | Self::Read(read) => Some(read),
        }
    }
}

/// What came of reading.
pub struct Read {
    /// The calls.
    pub calls: Calls,
    /// Whether every rank got what the pattern says, if that was asked; else what the lowest rank that did not got.
    pub right: Option<Result<(), String>>,
}

impl Task<'_> {
    /// Does it. Collective; the same error on all ranks or none.
    ///
    /// # Errors
    /// The engine's, or the pattern's on the lowest rank that has one.
    pub fn run(&self, mut endpoint: Endpoint) -> Result<Outcome, Error> {
        if self.wanted.read_only.is_some() {
            let first = self.first(&mut endpoint, Bytes::Read)?;
            let (read, shown) = self.read(endpoint, first)?;
            return Ok(shown.with(Done::Read(read)));
        }
        let first = self.first(&mut endpoint, Bytes::Written)?;
        let (written, shown, mut endpoint) = self.write(endpoint, first)?;
        if !self.wanted.read {
            return Ok(shown.with(Done::Wrote(written)));
        }
        let first = self.first(&mut endpoint, Bytes::Read)?;
        let (read, _) = self.read(endpoint, first)?;
        Ok(shown.with(Done::ReadBack(written, read)))
    }

    /// The first call's memory: a pattern that cannot be met on some rank is met before there is a file. Collective.
    fn first(&self, endpoint: &mut Endpoint, bytes: Bytes) -> Result<Prepared, Error> {
        let first = self.prepare(endpoint.rank(), 0, bytes);
        endpoint.waiting().clone().wait(pin!(agree(endpoint, first)))
    }

    fn prepare(&self, rank: usize, step: usize, bytes: Bytes) -> Result<Prepared, Error> {
        let failed = |error| Error::argument(format!("rank {rank}, call {step}"), error, "a whole pattern");
        buffers::prepare(self.pattern, rank, step, self.how.buffer, bytes).map_err(failed)
    }

    /// One collective write a step.
    fn write(&self, endpoint: Endpoint, first: Prepared) -> Result<(Calls, Shown, Endpoint), Error> {
        if let Some(case) = self.netcdf() {
            return self.write_netcdf(endpoint, case);
        }
        let file = File::open(endpoint, self.path, Mode::Create, self.hints.clone())?;
        let (shown, mut calls) = (Shown::of(&file), Calls::default());
        let mut file = self.steps(file, first, Bytes::Written, |file, Prepared { access, buffer }, _| {
            let call = file.write_all(&access.file, &access.layout, &buffer)?;
            calls.add(call.bytes_written, call);
            Ok(())
        })?;
        calls.fan_in = file.fan_in()?;
        Ok((calls, shown, file.close()?))
    }

    /// The pattern as a NetCDF file, if that is asked for.
    fn netcdf(&self) -> Option<&dyn NetcdfCase> {
        self.pattern.netcdf().filter(|_| self.how.format == Format::Netcdf)
    }

    /// The same through the PnetCDF-like writer: one flush a step.
    fn write_netcdf(&self, endpoint: Endpoint, case: &dyn NetcdfCase) -> Result<(Calls, Shown, Endpoint), Error> {
        let (written, endpoint) = write_case(endpoint, case, self.path, self.hints)?;
        let mut calls = Calls::default();
        calls.fan_in = written.fan_in;
        written.calls.into_iter().for_each(|call| calls.add(call.bytes_written, call));
        Ok((calls, Shown { nodes: written.nodes, driver: written.driver }, endpoint))
    }

    /// One collective read a step.
    fn read(&self, endpoint: Endpoint, first: Prepared) -> Result<(Read, Shown), Error> {
        let rank = endpoint.rank();
        let file = File::open(endpoint, self.path, Mode::Read, self.hints.clone())?;
        let (shown, mut calls, mut wrong) = (Shown::of(&file), Calls::default(), None);
        let mut file = self.steps(file, first, Bytes::Read, |file, expected, step| {
            let mut buffer = expected.inverted();
            let read = file.read_all(&expected.access.file, &expected.access.layout, &mut buffer)?;
            calls.add(read.call.bytes_read, read.call);
            if wrong.is_none() {
                let asked = expected.access.file.bytes();
                let short = (read.bytes < asked).then(|| format!("the file has {} of {asked} bytes", read.bytes));
                let what = short.or_else(|| expected.difference(&buffer));
                wrong = what.map(|what| format!("rank {rank}, call {step}: {what}"));
            }
            Ok(())
        })?;
        calls.fan_in = file.fan_in()?;
        let asked = self.wanted.verify || self.wanted.read;
        let right = asked.then(|| agreed(&mut file, wrong)).transpose()?;
        file.close()?;
        Ok((Read { calls, right }, shown))
    }

    /// All steps on an open file.
    fn steps(
        &self,
        mut file: File,
        first: Prepared,
        bytes: Bytes,
        mut step: impl FnMut(&mut File, Prepared, usize) -> Result<(), Error>,
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

/// What an open file shows.
struct Shown {
    nodes: usize,
    driver: DriverName,
}

impl Shown {
    fn of(file: &File) -> Self {
        Self { nodes: file.topology().nodes(), driver: file.driver() }
    }

    fn with(self, done: Done) -> Outcome {
        Outcome { done, nodes: self.nodes, driver: self.driver }
    }
}

/// What the lowest rank with a difference found, on every rank. Collective.
fn agreed(file: &mut File, wrong: Option<String>) -> Result<Result<(), String>, Error> {
    const DIFFERENCE: u32 = 0;
    match file.agree(wrong.map_or(Ok(()), |found| Err(Error::refused(DIFFERENCE, found)))) {
        Ok(()) => Ok(Ok(())),
        Err(Error::Refused { reason: DIFFERENCE, why }) => Ok(Err(why)),
        Err(error) => Err(error),
    }
}
