//! GPFS (IBM Storage Scale): equal ranges of whole blocks, the two lowest ranks of every node. (Main paper, figure 2 (b), has
//! the lowest.) Locks are handed out by block, so no block has two aggregators.

use std::io;
use std::path::Path;

use tributary_base::{Extent, Rank, Result, Topology};

use crate::domains::Domains;
use crate::driver::{Driver, Layout, Written, window};
use crate::hints::{DriverHints, Placement};
use crate::placement;
use crate::storage::{FileSystem, OpenStorage, Storage};

/// `f_type` of `statfs`: "GPFS".
const MAGIC: u32 = 0x4750_4653;

/// The block size where the file system does not tell one, in bytes. ROMIO takes the same.
const BLOCK: u64 = 1 << 20;

/// The types of a hint on a range of a file, in its structure.
const ACCESS_RANGE: i32 = 1001;
const FREE_RANGE: i32 = 1002;
/// The version of the structures.
const VERSION: i32 = 1;
/// Bytes of `gpfsFcntlHeader_t`.
const HEAD: i32 = 16;

/// Returns a hint on a range as `gpfs_fcntl` takes it, in the byte order of the machine: `gpfsFcntlHeader_t` (its
/// length with what follows, version, two numbers for the answer), then `gpfsAccessRange_t` or `gpfsFreeRange_t` (its
/// length, type, start and length of the range; of the first whether it is for writing, and four bytes that fill it
/// up). Source: gpfs_fcntl.h of IBM.
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

    /// The block size is the hint `striping_unit`, or else that of the file system where it is GPFS, or else 1 MiB.
    fn layout(&self, files: &dyn OpenStorage, path: &Path, _: &dyn Storage, hints: &DriverHints) -> Result<Layout> {
        let own = match files.file_system(path) {
            Some(FileSystem { magic: MAGIC, block }) if block > 0 => block,
            _ => BLOCK,
        };
        Ok(Layout { direct_from: hints.direct_from(false), ..Layout::of(hints.striping_unit.unwrap_or(own), 1) })
    }

    /// Two on every node, for one rank that receives and places all bytes of a node is slower than the node's port. One where
    /// there is one node, or where a placement is hinted: it may have no room for more.
    fn aggregators(&self, topology: &Topology, _: &Layout, hints: &DriverHints) -> Result<Vec<Rank>> {
        let usual = if topology.nodes() > 1 && hints.placement == Placement::Default { 2 } else { 1 };
        placement::choose(topology, hints, placement::per_node(topology, hints, usual))
    }

    /// That this node accesses the range for writing, so that it gets the lock of all of it at once.
    fn will_write(&self, file: &dyn Storage, range: Extent) -> io::Result<()> {
        file.advise_gpfs(&mut advice(ACCESS_RANGE, range))
    }

    /// That it accesses the range no more, so that its bytes go to the servers.
    fn has_written(&self, file: &dyn Storage, range: Extent) {
        // A hint: without it GPFS does the same later.
        let _ = file.advise_gpfs(&mut advice(FREE_RANGE, range));
    }

    /// Returns a block.
    fn lock_unit(&self, layout: &Layout) -> u64 {
        layout.unit
    }

    /// Returns a block.
    fn period(&self, layout: &Layout, _: usize) -> u64 {
        layout.unit
    }

    fn domains(&self, layout: &Layout, aggregators: usize, written: Written<'_>, hints: &DriverHints) -> Domains {
        Domains::equal_blocks(written.start, written.end, layout.unit, aggregators, window(layout, hints))
    }
}
