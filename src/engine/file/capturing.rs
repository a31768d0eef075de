//! Stores the capture when a file is closed.

use std::path::PathBuf;
use std::sync::Arc;

use tributary_base::wire;

use crate::access::{BufferLayout, Direction, Extent, Extents};
use crate::collectives::{allgather, broadcast};
use crate::drivers::{Mode, SystemFiles};
use crate::engine::file::File;
use crate::engine::file::opening::FirstAgreement;
use crate::engine::file::setup::Setup;
use crate::engine::file::transfer::Asked;
use crate::engine::io::terms::FileTerms;
use crate::engine::trace::Observers;
use crate::engine::trace::capture::layout::{Header, PartEntry, front, front_len};
use crate::engine::trace::capture::recording::{Finished, Recording};
use crate::engine::trace::timeline::RankTimeline;
use crate::error::{Error, Result};
use crate::fabric::{Endpoint, mpi};
use crate::hints::Hints;
use crate::topology::{Rank, Topology};
use crate::world::clock;

/// The recorded calls of a file that is being closed. The writer no longer needs the file.
pub struct CaptureWriter {
    recording: Recording,
    timeline: RankTimeline,
    header: Header,
}

/// Rank 0 prints why the capture of `file` is not stored. The program continues.
fn complain(rank: Rank, file: &str, why: &str) {
    if rank == 0 {
        crate::say(format_args!("no capture of {file}: {why}"));
    }
}

/// Returns the node of every rank, as (node, number of consecutive ranks on it).
fn runs_of_nodes(topology: &Topology) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for node in (0..topology.ranks()).map(|rank| topology.node_of(rank)) {
        match runs.last_mut() {
            Some((last, ranks)) if *last == node => *ranks += 1,
            _ => runs.push((node, 1)),
        }
    }
    runs
}

impl CaptureWriter {
    /// Removes the recording from a file that is being closed, and returns it for the capture. `None` if calls are not
    /// captured. O(ranks).
    pub fn from_closing(observers: &mut Observers, setup: &Setup) -> Option<Self> {
        let (mut recording, timeline) = observers.take_recorded()?;
        let Setup { file, driver_name, exchange, .. } = setup;
        let FileTerms { path, mode, topology, layout, hints, .. } = &**file;
        let mode = match mode {
            Mode::Create => "create",
            Mode::Update => "update",
            Mode::Read => "read",
        };
        let elapsed = clock::since(recording.opened());
        let now = clock::date();
        let program = std::env::args_os().next().unwrap_or_default();
        let header = Header {
            file: path.display().to_string(),
            mode: mode.to_string(),
            program: program.to_string_lossy().into_owned(),
            library: env!("CARGO_PKG_VERSION").to_string(),
            mpi: mpi::is_running().then(mpi::name),
            job: tributary_base::job(),
            started: clock::age_of_process().map(|age| now.saturating_sub(age).as_secs_f64()),
            opened: now.saturating_sub(elapsed).as_secs_f64(),
            seconds: elapsed.as_secs_f64(),
            ranks: topology.ranks(),
            nodes: runs_of_nodes(topology),
            driver: driver_name.to_string(),
            unit: layout.unit,
            factor: layout.factor,
            aggregators: exchange.roles.aggregators.to_vec(),
            hints: hints.table().into_iter().map(|row| (row.key.to_string(), row.value)).collect(),
            asked: recording.asked.take(),
            not_captured: recording.not_captured.take(),
        };
        Some(Self { recording, timeline, header })
    }

    /// Stores the capture, and returns the endpoint even if this fails. Collective. Costs an allgather of 32 bytes per
    /// rank, a broadcast, and a collective write of the blocks.
    pub async fn store(self, endpoint: Endpoint) -> Result<Endpoint> {
        let Self { recording, timeline, header } = self;
        let (rank, file, target) = (endpoint.rank(), header.file.clone(), recording.target());
        let finished = recording.finish(Some(timeline));
        let mut endpoint = endpoint;
        let (parts, path) = place(&mut endpoint, &header, &finished, || {
            target.create(file.as_ref()).map_err(|cause| cause.to_string())
        })
        .await?;
        let path = match path {
            Ok(path) => path,
            Err(why) => {
                complain(rank, &file, &format!("{}: {why}", target.directory.display()));
                return Ok(endpoint);
            }
        };
        say_when_full(rank, &file, &parts.index, target.limit);
        // On rank 0: gives the capture its final name, or removes the file after an error.
        let end = |outcome: Result<()>| {
            let named = outcome.map_err(|why| why.to_string()).and_then(|()| {
                target.publish(&path, file.as_ref()).map_err(|cause| format!("{}: {cause}", target.directory.display()))
            });
            if let Err(why) = named {
                let _ = std::fs::remove_file(&path);
                complain(rank, &file, &why);
            }
        };
        let (hints, mut first_agreement) = (Hints::default(), FirstAgreement::none());
        let opened =
            Setup::open(&mut endpoint, &SystemFiles, path.clone(), Mode::Update, hints, None, &mut first_agreement)
                .await;
        let setup = match opened {
            Ok(Some(setup)) => setup,
            Ok(None) => return Ok(endpoint),
            Err(why) => {
                if rank == 0 {
                    end(Err(why));
                }
                return Ok(endpoint);
            }
        };
        let mut capture = File::from_setup(endpoint, setup, Arc::new(SystemFiles), None);
        let written = match parts.bytes(rank, &header, finished) {
            Ok((extents, bytes)) => {
                let mut asked = Asked::write(&extents, &BufferLayout::Contiguous, bytes[..].into());
                capture.transfer_async(&mut asked).await
            }
            Err(error) => capture.transfer_async(&mut Asked::refusal(Direction::Write, error)).await,
        };
        let closed = capture.shut(Ok(())).await;
        if rank == 0 {
            end(written.and(closed));
        }
        Ok(capture.endpoint)
    }
}

/// Offsets and lengths of the parts of a capture.
struct Parts {
    /// Length of the front (preamble, header and index) in bytes.
    front: u64,
    /// The entry of the reports, then one entry a rank.
    index: Vec<PartEntry>,
}

/// Computes the offset of every part of the capture, and creates the capture's file on rank 0. Collective.
async fn place(
    endpoint: &mut Endpoint,
    header: &Header,
    finished: &Finished,
    create: impl FnOnce() -> std::result::Result<PathBuf, String>,
) -> Result<(Parts, std::result::Result<PathBuf, String>)> {
    let rank = endpoint.rank();
    let Finished { block, recorded, made, reports } = finished;
    let front = if rank == 0 { front_len(header, endpoint.ranks() + 1)? } else { 0 };
    let checksums = u64::from(crc32fast::hash(block)) | u64::from(crc32fast::hash(reports.as_bytes())) << 32;
    let own = [block.len() as u64, *recorded, *made, checksums, front, reports.len() as u64];
    let own: Vec<u8> = own.iter().flat_map(|word| word.to_le_bytes()).collect();
    let all = allgather(endpoint, &own).await?;
    let word = |rank: usize, index: usize| {
        let at = rank * own.len() + index * 8;
        u64::from_le_bytes(all[at..at + 8].try_into().unwrap_or_default())
    };
    let front = word(0, 4);
    let mut end = front;
    let mut entry = |len, recorded, made, checksum| {
        let offset = end;
        end += len;
        PartEntry { offset, len, recorded, made, checksum }
    };
    let mut index = vec![entry(word(0, 5), word(0, 1), word(0, 2) as u32, (word(0, 3) >> 32) as u32)];
    for rank in 0..endpoint.ranks() {
        index.push(entry(word(rank, 0), word(rank, 1), word(rank, 2) as u32, word(rank, 3) as u32));
    }
    let path = if rank == 0 { wire::to_bytes(&create()) } else { Vec::new() };
    let path = broadcast(endpoint, 0, &path).await?;
    let path = wire::from_bytes(&path).unwrap_or_else(|| Err("its name cannot be decoded".to_string()));
    Ok((Parts { front, index }, path))
}

impl Parts {
    /// Returns the bytes that this rank writes, and their offset.
    fn bytes(&self, rank: Rank, header: &Header, finished: Finished) -> Result<(Extents, Vec<u8>)> {
        let own = self.index[rank + 1];
        let own = Extent { offset: own.offset, len: own.len };
        if rank != 0 {
            return Ok((Extents::from_list([own])?, finished.block));
        }
        let mut bytes = front(header, &self.index)?;
        if bytes.len() as u64 != self.front {
            return Err(Error::internal(rank, "the header of a capture has another length"));
        }
        bytes.extend_from_slice(finished.reports.as_bytes());
        bytes.extend_from_slice(&finished.block);
        let before = Extent { offset: 0, len: own.offset };
        Ok((Extents::from_list([before, own])?, bytes))
    }
}

/// Prints a line if the capture does not have all calls.
fn say_when_full(rank: Rank, file: &str, index: &[PartEntry], limit: u64) {
    let recorded = index[1..].iter().map(|entry| entry.recorded).min().unwrap_or(0);
    let made = index[1..].iter().map(|entry| u64::from(entry.made)).max().unwrap_or(0);
    if rank == 0 && recorded < made {
        crate::say(format_args!(
            "the capture of {file} has only the first {recorded} of {made} calls, because the limit in TRIB_CAPTURE is {limit} bytes"
        ));
    }
}
