//! The costs of a file system that estimates assume: measured in a folder, seen in a capture, or usual for its kind.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use tributary::engine::capture::IndependentCalls;
use tributary::machine::FileCosts;

use super::kinds::Kind;
use crate::Failure;
use crate::numbers::brief as time;

/// Number of bytes of a small and of a large write of a measurement, and the least and the largest number of writes of each.
const SMALL: usize = 4 << 10;
const LARGE: usize = 8 << 20;
const WRITES: [usize; 2] = [5, 64];
/// Minimum number of seconds of a byte: no host writes 1 TB/s.
const LEAST_BYTE: f64 = 1e-12;
/// Minimum number of bytes and seconds of calls that show what a byte of the file takes.
const SHOWN: (u64, f64) = (8 << 20, 5e-3);

/// The bytes of a call with more rounds than this may have small windows.
const FEW_ROUNDS: u64 = 16;
/// Calls of this number of bytes, or of fewer, take no longer for their bytes.
const SMALL_CALL: u64 = 16 << 10;
/// A small call that takes longer than this number of seconds does not end in memory.
const SLOW_SMALL: f64 = 100e-6;

/// Seconds of a call on a file, and of each byte of a host.
#[derive(Debug, Clone, Serialize)]
pub struct FileSpeed {
    /// Seconds of a call, without its bytes.
    pub call_seconds: f64,
    /// Seconds of a byte.
    pub byte_seconds: f64,
    /// Where the costs come from, as text.
    pub from: String,
}

impl FileSpeed {
    /// Returns the usual costs of the file system of a driver: 0.2 GB/s over NFS, 1 GB/s a host of a parallel file system, and
    /// 2 GB/s into the memory of a host.
    pub fn usual(driver: &str) -> Self {
        let (call_seconds, byte_seconds) = match driver {
            "nfs" => (1e-3, 5e-9),
            "lustre" | "gpfs" => (300e-6, 1e-9),
            _ => (5e-6, 0.5e-9),
        };
        let from =
            "assumed, and too fast for a slower file system: trib explain --measure FOLDER measures it".to_string();
        Self { call_seconds, byte_seconds, from }
    }

    /// Takes the time of a byte from collective calls on the same file that joined the pieces of `nodes` hosts, if they show it.
    pub fn see(&mut self, kinds: &[Kind], nodes: usize) {
        let joined = kinds.iter().filter(|kind| kind.path != "direct" && kind.rounds <= FEW_ROUNDS);
        let (bytes, io) =
            joined.fold((0, 0.0), |(bytes, io), kind| (bytes + kind.bytes * kind.count as u64, io + kind.seconds.io));
        if bytes >= SHOWN.0 && io >= SHOWN.1 {
            self.byte_seconds = io * nodes as f64 / bytes as f64;
            self.from = "as in the collective calls on this file".to_string();
        }
    }

    /// Takes the time of a call from independent calls that are small and took clearly longer than one that ends in memory. Such a
    /// file system is taken to be a parallel one.
    pub fn see_small(&mut self, all: &[IndependentCalls]) {
        let small = all.iter().filter(|calls| calls.sizes[2] <= SMALL_CALL);
        let (calls, micros) = small.fold((0, 0), |(calls, micros), of| (calls + of.calls, micros + of.microseconds));
        let seconds = micros as f64 / 1e6 / calls.max(1) as f64;
        if seconds > SLOW_SMALL && seconds > self.call_seconds {
            let byte_seconds = Self::usual("lustre").byte_seconds.max(self.byte_seconds);
            let from = format!("the first as in small calls on this file; the second {}", self.from);
            *self = Self { call_seconds: seconds, byte_seconds, from };
        }
    }

    /// Measures writes to a new file in `folder`, which it removes: 40 MiB and some pages; up to 512 MiB as long as they take less
    /// than `most`.
    ///
    /// # Errors
    /// The file cannot be made or written.
    pub fn measured(folder: &Path, most: Duration) -> Result<Self, Failure> {
        let fail = |cause: std::io::Error| {
            let shown = folder.display();
            Failure::new(format!("measure: {shown}: {cause}; allowed: a folder in which files can be written"))
        };
        let file = tempfile::Builder::new().prefix(".trib-measure-").tempfile_in(folder).map_err(fail)?;
        let (data, begin) = (vec![1; LARGE], Instant::now());
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..WRITES[1] {
            if round >= WRITES[0] && begin.elapsed() > most {
                break;
            }
            // Between the pieces are gaps.
            let mut at = (2 * round * (SMALL + LARGE)) as u64;
            for (size, times) in [SMALL, LARGE].into_iter().zip(&mut times) {
                let start = Instant::now();
                file.as_file().write_all_at(&data[..size], at).map_err(fail)?;
                times.push(start.elapsed().as_secs_f64());
                at += 2 * size as u64;
            }
        }
        let [small, large] = times.map(|mut times| {
            // The first writes pay for what the file system keeps of a file.
            times.remove(0);
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        let byte_seconds = ((large - small) / (LARGE - SMALL) as f64).max(LEAST_BYTE);
        // A processor with other work may make large writes slow; no call is free.
        let call_seconds = (small - SMALL as f64 * byte_seconds).max(small / 2.0);
        Ok(Self { call_seconds, byte_seconds, from: format!("measured in {}", folder.display()) })
    }

    /// Returns the text of a file for the hint `trib_machine`.
    pub fn file(&self) -> String {
        // More digits would only be noise.
        let short = |seconds: f64| format!("{seconds:.2e}").parse().unwrap_or(seconds);
        FileCosts { call_seconds: short(self.call_seconds), byte_seconds: short(self.byte_seconds) }.text()
    }

    /// Returns the costs as text.
    pub fn text(&self) -> String {
        let rate = 1e-6 / self.byte_seconds.max(1e-12);
        format!("a call on the file takes {} and a host moves {rate:.0} MB/s ({})", time(self.call_seconds), self.from)
    }
}
