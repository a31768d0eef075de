//! What a log of Darshan's extended tracing says, in whichever form it came.

use tributary::engine::Direction;

/// Both, in the order in which a program that checks its file has them.
pub const DIRECTIONS: [Direction; 2] = [Direction::Write, Direction::Read];

/// Which calls were recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Module {
    /// Those of MPI-IO: what ranks asked for.
    Mpiio,
    /// Those of the file system: what ranks, or aggregators, wrote and read.
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
    /// Its first byte in the file.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// When it began: seconds from the start of the job.
    pub start: f64,
    /// When it ended, likewise.
    pub end: f64,
}

impl Segment {
    /// A segment of recorded numbers.
    ///
    /// # Errors
    /// Bytes before 0 or beyond 2^63 - 1; times that are none.
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

    /// One past its last byte.
    pub fn until(&self) -> u64 {
        self.offset + self.len
    }
}

/// The longest job, in seconds: 30 years.
const LATEST: f64 = 1e9;

/// What one rank did to one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Where it was recorded.
    pub module: Module,
    /// The file.
    pub file: String,
    /// The rank.
    pub rank: usize,
    /// The host of the rank.
    pub host: String,
    /// The type of the file system; empty if it is not said.
    pub file_system: String,
    /// Stripe size in bytes and number of stripes, of a Lustre file.
    pub stripes: Option<(u64, u32)>,
    /// Its writes, in their order.
    pub writes: Vec<Segment>,
    /// Its reads, in their order.
    pub reads: Vec<Segment>,
}

impl Trace {
    /// Its segments in one direction.
    pub fn segments(&self, direction: Direction) -> &[Segment] {
        match direction {
            Direction::Write => &self.writes,
            Direction::Read => &self.reads,
        }
    }
}

/// A log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log {
    /// The version of its format.
    pub version: String,
    /// The command line of the program.
    pub program: String,
    /// When the job started: seconds since 1970.
    pub started: f64,
    /// Its ranks, if it says how many.
    pub ranks: Option<usize>,
    /// Whether it says that it has not recorded all.
    pub incomplete: bool,
    /// One for each module, file and rank.
    pub traces: Vec<Trace>,
}
