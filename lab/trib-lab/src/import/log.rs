//! Contents of a log of Darshan's extended tracing, in whichever form it came.

use tributary::engine::Direction;

/// Both directions, in the order of a program that writes and then checks its file.
pub const DIRECTIONS: [Direction; 2] = [Direction::Write, Direction::Read];

/// Darshan module that recorded the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Module {
    /// Calls of MPI-IO: the requests of the ranks.
    Mpiio,
    /// Calls of the file system: what ranks, or aggregators, wrote and read.
    Posix,
}

impl std::fmt::Display for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Mpiio => "DXT_MPIIO",
            Self::Posix => "DXT_POSIX",
        })
    }
}

/// One recorded write or read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// First byte of the segment in the file.
    pub offset: u64,
    /// Length of the segment in bytes.
    pub len: u64,
    /// Time when the operation began, in seconds from the start of the job.
    pub start: f64,
    /// Time when the operation ended, in seconds from the start of the job.
    pub end: f64,
}

impl Segment {
    /// Creates a segment from recorded numbers.
    ///
    /// # Errors
    /// Bytes before 0 or beyond 2^63 - 1; invalid times.
    pub fn new(offset: i128, len: i128, (start, end): (f64, f64)) -> Result<Self, String> {
        let most = i128::from(i64::MAX);
        for (what, value) in [("offset", offset), ("length", len), ("end", offset.saturating_add(len))] {
            if !(0..=most).contains(&value) {
                return Err(format!("{what} {value}; allowed: 0 to 2^63 - 1"));
            }
        }
        if !(start.is_finite() && end.is_finite() && start >= 0.0 && end >= start && end <= LATEST) {
            return Err(format!("from {start} to {end} seconds; allowed: an end after a start, 0 to {LATEST:e}"));
        }
        Ok(Self { offset: offset as u64, len: len as u64, start, end })
    }

    /// Returns one past the segment's last byte.
    pub fn until(&self) -> u64 {
        self.offset + self.len
    }
}

/// Maximum duration of a job, in seconds: 30 years.
const LATEST: f64 = 1e9;

/// Recorded accesses of one rank to one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Module that recorded the accesses.
    pub module: Module,
    /// Name of the file.
    pub file: String,
    /// Number of the rank.
    pub rank: usize,
    /// Host of the rank.
    pub host: String,
    /// Type of the file system; empty if the log does not have it.
    pub file_system: String,
    /// Stripe size in bytes and number of stripes of a Lustre file.
    pub stripes: Option<(u64, u32)>,
    /// Writes of the rank, in their order.
    pub writes: Vec<Segment>,
    /// Reads of the rank, in their order.
    pub reads: Vec<Segment>,
}

impl Trace {
    /// Returns the rank's writes or reads.
    pub fn segments(&self, direction: Direction) -> &[Segment] {
        match direction {
            Direction::Write => &self.writes,
            Direction::Read => &self.reads,
        }
    }
}

/// Contents of a log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log {
    /// Version of the log's format.
    pub version: String,
    /// Command line of the traced program.
    pub program: String,
    /// Time when the job started, in seconds since 1970.
    pub started: f64,
    /// Number of ranks of the job, if the log has it.
    pub ranks: Option<usize>,
    /// True if the log says that it is incomplete.
    pub incomplete: bool,
    /// Traces: one for each module, file and rank.
    pub traces: Vec<Trace>,
}
