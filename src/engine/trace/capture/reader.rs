//! Reads a capture.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::engine::trace::capture::block::{self, Call};
use crate::engine::trace::capture::independent::{self, IndependentCalls};
use crate::engine::trace::capture::layout::{Header, PartEntry, read_front};
use crate::engine::trace::report::CallReport;
use crate::engine::trace::timeline::RankTimeline;
use crate::error::{Error, FileOperation, Result};
use crate::topology::{Rank, Topology};

/// An open capture: header and index in memory, the rest in the file.
///
/// ```no_run
/// let capture = tributary::engine::Capture::open("restart.nc.tribcap")?;
/// println!("{} ranks, {} calls", capture.header().ranks, capture.calls());
/// for call in capture.rank(0)? {
///     println!("{} extents, {} bytes", call.file.count(), call.file.bytes());
/// }
/// # Ok::<(), tributary::Error>(())
/// ```
#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    file: File,
    header: Header,
    reports: PartEntry,
    ranks: Vec<PartEntry>,
}

/// The outcome of one collective call, as rank 0 recorded it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallOutcome {
    /// Number of the call on the file, from 0.
    pub call: u64,
    /// Direction of the call: `write` or `read`.
    pub direction: String,
    /// Report of the call, if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<CallReport>,
    /// Text of the error, if the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Capture {
    /// Opens a capture and reads its header and index. Local. O(ranks).
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Argument`] for a file that cannot be opened or is no capture, is cut or damaged, or has
    /// another version.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let io = |operation: FileOperation, cause: &std::io::Error| Error::io(0, operation, &path, None, cause);
        let file = File::open(&path).map_err(|cause| {
            Error::argument(
                "capture",
                format!("{}: {cause}", path.display()),
                "a capture; to make one: trib run --capture -- mpiexec -n 4 ./program",
            )
        })?;
        let len = file.metadata().map_err(|cause| io(FileOperation::Stat, &cause))?.len();
        let read = |offset, len| read_at(&file, &path, offset, len);
        let (header, index) = read_front(len, read)?.map_err(|wrong| no_capture(&path, &wrong))?;
        let covered: usize = header.nodes.iter().map(|(_, ranks)| *ranks).sum();
        if header.ranks == 0 || covered != header.ranks {
            return Err(no_capture(&path, &format!("{} ranks, of which {covered} have a node", header.ranks)));
        }
        let (reports, ranks) = (index[0], index[1..].to_vec());
        Ok(Self { path, file, header, reports, ranks })
    }

    /// Returns the header: facts about the captured file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the path of the capture.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the nodes of the ranks.
    ///
    /// # Errors
    /// Returns no error in practice: [`Capture::open`] has checked the nodes.
    pub fn topology(&self) -> Result<Topology> {
        let labels: Vec<usize> =
            self.header.nodes.iter().flat_map(|&(node, ranks)| std::iter::repeat_n(node, ranks)).collect();
        Topology::listed(&labels)
    }

    /// Returns the number of calls that the capture holds for every rank: the first calls on the file.
    pub fn calls(&self) -> u64 {
        self.ranks.iter().map(|entry| entry.recorded).min().unwrap_or(0)
    }

    /// Returns the number of calls that the program made on the file, also the calls that the limit kept out of the
    /// capture.
    pub fn calls_made(&self) -> u64 {
        self.ranks.iter().map(|entry| u64::from(entry.made)).max().unwrap_or(0)
    }

    /// Returns the length of a rank's block in bytes.
    pub fn encoded_len(&self, rank: Rank) -> u64 {
        self.ranks[rank].len
    }

    /// Returns the calls of a rank, [`Capture::calls`] of them. O(encoded bytes).
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Argument`] for a rank that is not there, or a damaged block.
    pub fn rank(&self, rank: Rank) -> Result<Vec<Call>> {
        self.rank_and_timeline(rank).map(|(calls, _)| calls)
    }

    /// Returns the calls of a rank like [`Capture::rank`], and the rank's timeline, if the capture has one.
    ///
    /// # Errors
    /// The same errors as [`Capture::rank`].
    pub fn rank_and_timeline(&self, rank: Rank) -> Result<(Vec<Call>, Option<RankTimeline>)> {
        let entry = self.ranks.get(rank);
        let entry =
            entry.ok_or_else(|| Error::argument("rank of the capture", rank, format!("below {}", self.ranks.len())))?;
        let block = self.part(entry, &format!("the block of rank {rank}"))?;
        let (mut calls, timeline) = block::decode_all(&block.into())
            .map_err(|cause| no_capture(&self.path, &format!("damaged block of rank {rank}: {cause}")))?;
        calls.truncate(self.calls() as usize);
        Ok((calls, timeline))
    }

    /// Returns the independent calls of all ranks, by function; none if the capture does not have them. O(encoded bytes).
    ///
    /// # Errors
    /// The same errors as [`Capture::rank`].
    pub fn independent(&self) -> Result<Vec<IndependentCalls>> {
        let mut sums = Vec::new();
        for (rank, entry) in self.ranks.iter().enumerate() {
            let block = self.part(entry, &format!("the block of rank {rank}"))?;
            let of_rank = block::decode_independent(&block.into())
                .map_err(|cause| no_capture(&self.path, &format!("damaged block of rank {rank}: {cause}")))?;
            independent::add(&mut sums, of_rank);
        }
        Ok(sums)
    }

    /// Returns the outcome of each call. O(calls).
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Argument`] for damaged reports.
    pub fn outcomes(&self) -> Result<Vec<CallOutcome>> {
        let reports = self.part(&self.reports, "the reports")?;
        let lines = serde_json::Deserializer::from_slice(&reports).into_iter::<CallOutcome>();
        let outcomes: std::result::Result<Vec<_>, _> = lines.take(self.calls() as usize).collect();
        outcomes.map_err(|cause| no_capture(&self.path, &format!("damaged reports: {cause}")))
    }

    fn part(&self, entry: &PartEntry, what: &str) -> Result<Vec<u8>> {
        let bytes = read_at(&self.file, &self.path, entry.offset, entry.len)?;
        if crc32fast::hash(&bytes) != entry.checksum {
            return Err(no_capture(&self.path, &format!("damaged: {what} has another checksum")));
        }
        Ok(bytes)
    }
}

fn read_at(file: &File, path: &Path, offset: u64, len: u64) -> Result<Vec<u8>> {
    // At most the length of the file (`layout::read_front`), which may be larger than memory.
    let mut bytes = Vec::new();
    let no_memory = |_| Error::NoMemory { rank: 0, bytes: len, what: format!("a part of {}", path.display()) };
    bytes.try_reserve_exact(usize::try_from(len).unwrap_or(usize::MAX)).map_err(no_memory)?;
    bytes.resize(len as usize, 0);
    file.read_exact_at(&mut bytes, offset).map_err(|cause| Error::io(0, FileOperation::Read, path, offset, &cause))?;
    Ok(bytes)
}

fn no_capture(path: &Path, wrong: &str) -> Error {
    Error::argument(
        format!("capture {}", path.display()),
        wrong,
        "a whole capture that TRIB_CAPTURE has made; run the program again, to its MPI_File_close",
    )
}
