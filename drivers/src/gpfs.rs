//! The driver for GPFS (IBM Storage Scale): equal ranges of whole blocks; the two lowest ranks of every node are
//! aggregators. (Main paper, figure 2 (b), has the lowest.) GPFS locks blocks, so no block has two aggregators.

use std::io;
use std::path::Path;

use tributary_base::{Extent, Rank, Result, Topology};

use crate::domains::Domains;
use crate::driver::{Driver, Layout, Written, window};
use crate::hints::{DriverHints, Placement};
use crate::placement;
use crate::storage::{FileSystem, OpenStorage, Storage};

/// Type that statfs(2) returns for GPFS.
const MAGIC: u32 = FileSystem::GPFS;

/// Block size if the file system does not return one, in bytes. ROMIO uses the same.
const BLOCK: u64 = 1 << 20;

/// Numbers of the hints on a range of a file: gpfsAccessRange_t and gpfsFreeRange_t.
const ACCESS_RANGE: i32 = 1001;
const FREE_RANGE: i32 = 1002;
/// Version of the structures of `gpfs_fcntl`.
const VERSION: i32 = 1;
/// Size of `gpfsFcntlHeader_t`, in bytes.
const HEAD: i32 = 16;

/// Returns the bytes of a hint on a range for `gpfs_fcntl`, in the byte order of the machine: `gpfsFcntlHeader_t`
/// (total length, version, two numbers for the answer), then `gpfsAccessRange_t` or `gpfsFreeRange_t` (length, type,
/// start and length of the range; in the first also whether the access is for writing, and four bytes of padding).
/// Source: gpfs_fcntl.h of IBM.
fn advice(kind: i32, range: Extent) -> Vec<u8> {
    let writes = if kind == ACCESS_RANGE { &[1, 0][..] } else { &[] };
    let len = 24 + 4 * writes.len() as i32;
    let numbers = |numbers: &[i32]| numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<_>>();
    let range = [range.offset, range.len].map(u64::to_ne_bytes).concat();
    [numbers(&[HEAD + len, VERSION, 0, 0, len, kind]), range, numbers(writes)].concat()
}

pub struct Gpfs;

impl Driver for Gpfs {
    fn magic(&self) -> Option<u32> {
        Some(MAGIC)
    }

    /// Takes the block size from the hint `striping_unit`, or else from the file system if it is GPFS, or else 1 MiB.
    fn layout(&self, files: &dyn OpenStorage, path: &Path, _: &dyn Storage, hints: &DriverHints) -> Result<Layout> {
        let own = match files.file_system(path) {
            Some(FileSystem { magic: MAGIC, block, .. }) if block > 0 => block,
            _ => BLOCK,
        };
        Ok(Layout { direct_from: hints.direct_from(false), ..Layout::of(hints.striping_unit.unwrap_or(own), 1) })
    }

    /// Chooses two aggregators on every node, because one rank that receives and places all bytes of a node is slower
    /// than the node's port. Chooses one if there is one node, or if a placement is hinted, which may have no room
    /// for more.
    fn aggregators(&self, topology: &Topology, _: &Layout, hints: &DriverHints) -> Result<Vec<Rank>> {
        let usual = if topology.nodes() > 1 && hints.placement == Placement::Default { 2 } else { 1 };
        placement::choose(topology, hints, placement::per_node(topology, hints, usual))
    }

    /// Announces that this node accesses the range for writing, so that the node gets the lock of the whole range at
    /// once.
    fn will_write(&self, file: &dyn Storage, range: Extent) -> io::Result<()> {
        file.control().advise_gpfs(&mut advice(ACCESS_RANGE, range))
    }

    /// Announces that this node no longer accesses the range, so that its bytes go to the servers.
    fn has_written(&self, file: &dyn Storage, range: Extent) {
        // A hint: without it GPFS does the same later.
        let _ = file.control().advise_gpfs(&mut advice(FREE_RANGE, range));
    }

    /// Returns the block size, in bytes, because GPFS locks blocks.
    fn lock_unit(&self, layout: &Layout) -> u64 {
        layout.unit
    }

    /// Returns the block size, in bytes: domains that move by whole blocks lock the same blocks.
    fn period(&self, layout: &Layout, _: usize) -> u64 {
        layout.unit
    }

    fn domains(&self, layout: &Layout, aggregators: usize, written: Written<'_>, hints: &DriverHints) -> Domains {
        Domains::equal_blocks(written.start, written.end, layout.unit, aggregators, window(layout, hints))
    }
}
