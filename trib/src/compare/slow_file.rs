//! A slow file system for a comparison: the preloaded library `slow_file.c`, and the calls and bytes that it counts.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::build;
use crate::Failure;
use crate::cli::slow_file::{SlowFileOptions, SlowOne};
use crate::launcher::preload;

/// Environment variable by which the preloaded library gets its numbers.
pub const FILE: &str = "TRIB_COMPARE_FILE";

/// Number of bytes of a clock in the memory that processes share: the time, then calls, bytes read, bytes written.
const CLOCK: usize = 32;

/// Slow file system, which lasts until this value is dropped.
#[derive(Debug)]
pub struct SlowFile {
    options: SlowFileOptions,
    library: String,
    directory: PathBuf,
    /// Folder of the clocks, which all hosts share.
    clocks: TempDir,
}

/// Totals of the reads and writes of files on the slow file system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileTotals {
    /// Number of calls; a call that covers stripes of several servers counts for each.
    pub calls: u64,
    /// Number of bytes that were read.
    pub read: u64,
    /// Number of bytes that were written.
    pub written: u64,
}

impl SlowFile {
    /// Creates the slow file system of the options for the files below `directory`; none if no rate is given. `clocks`
    /// is a directory for the clocks, which all hosts share.
    ///
    /// # Errors
    /// The library does not compile; `clocks` cannot be written; a slow server that is not there.
    pub fn new(options: &SlowFileOptions, directory: &Path, clocks: &Path) -> Result<Option<Self>, Failure> {
        if options.file_rate.is_none() {
            return Ok(None);
        }
        if let (Some(servers), Some(SlowOne { number, .. })) = (options.file_servers, options.file_slow)
            && u64::from(number) >= servers
        {
            let last = servers - 1;
            return Err(Failure::new(format!("file-slow: server {number} of {servers}; allowed: 0 to {last}")));
        }
        let directory = directory.canonicalize()?;
        let clocks = tempfile::Builder::new().prefix("trib-clocks-").tempdir_in(clocks)?;
        let named = |path: &Path| {
            let fits = path.to_str().filter(|path| !path.contains([':', '\n']) && path.len() < 4096);
            fits.map(str::to_string).ok_or_else(|| {
                Failure::new(format!("directory: {}; allowed: a path in UTF-8 without a colon", path.display()))
            })
        };
        named(&directory)?;
        named(clocks.path())?;
        let library = preload::word(&build::slow_file()?)?;
        Ok(Some(Self { options: options.clone(), library, directory, clocks }))
    }

    /// Returns the path of the library that is preloaded, before all others.
    pub fn library(&self) -> &str {
        &self.library
    }

    /// Returns name and value of the environment variable of the ranks.
    pub fn variable(&self) -> (String, String) {
        let SlowFileOptions { file_rate, file_latency, file_servers, file_slow } = &self.options;
        let (rate, servers) = (file_rate.unwrap_or_default(), file_servers.unwrap_or_default());
        let latency = file_latency.unwrap_or_default() / 1e6;
        let (slow, factor) = file_slow.map_or((-1, 1.0), |slow| (i64::from(slow.number), slow.factor));
        let (clocks, files) = (self.clocks.path().display(), self.directory.display());
        (FILE.to_string(), format!("{rate} {latency} {servers} {slow} {factor} {clocks}:{files}"))
    }

    /// Returns the reads and writes of all hosts so far.
    ///
    /// # Errors
    /// The clocks cannot be read.
    pub fn totals(&self) -> Result<FileTotals, Failure> {
        let mut totals = FileTotals::default();
        for entry in std::fs::read_dir(self.clocks.path())? {
            for clock in std::fs::read(entry?.path())?.chunks_exact(CLOCK) {
                let word = |at: usize| clock[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
                totals.calls += word(8);
                totals.read += word(16);
                totals.written += word(24);
            }
        }
        Ok(totals)
    }
}
