//! The hot loops that are timed and whose instructions are counted, with accesses of real codes.
//!
//! There is only one rank, so it never waits, and its file discards all bytes. So only the library's work for one rank is
//! measured, and nothing of the operating system.

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use tributary::access::{Packed, Walk};
use tributary::fabric::threads;
use tributary::storage::{OpenStorage, Storage};
use tributary::{BufferLayout, Endpoint, Extent, Extents, File, Hints, Mode};

/// A function that calls a loop as often as it likes, and returns the time that the calls took.
pub type Caller<'a> = &'a (dyn Fn(&mut dyn FnMut()) -> Duration + Sync);

/// A hot loop: its name, and the function that runs it.
pub struct Loop {
    /// Name of the loop in limits and benchmarks.
    pub name: &'static str,
    /// Function that prepares the loop's input and runs the loop.
    pub run: fn(Caller<'_>) -> Duration,
}

/// All hot loops.
pub const LOOPS: &[Loop] = &[
    Loop { name: "take_list", run: take_list },
    Loop { name: "pack_list", run: pack_list },
    Loop { name: "walk_both_sides", run: walk_both_sides },
    Loop { name: "write_pieces_with_holes", run: write_pieces_with_holes },
    Loop { name: "write_pieces_that_tile", run: write_pieces_that_tile },
    Loop { name: "write_own", run: write_own },
    Loop { name: "read_pieces", run: read_pieces },
    Loop { name: "write_8_bytes", run: write_8_bytes },
];

/// An irregular list as in E3SM's F case: pieces of 8 to 32 bytes, up to 48 bytes apart.
static PIECES: LazyLock<Extents> = LazyLock::new(|| {
    let (mut random, mut end) = (1u64, 0);
    let mut below = |limit: u64| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (random >> 33) % limit
    };
    let pieces = (0..100_000).map(|_| {
        let piece = Extent { offset: end + 8 * (1 + below(6)), len: 8 * (1 + below(4)) };
        end = piece.end();
        piece
    });
    Extents::from_extents(pieces.collect::<Vec<_>>()).unwrap()
});

/// A cell of BTIO, class A, on 4 ranks: rows of 32 points of 40 bytes.
static CELL: LazyLock<Extents> =
    LazyLock::new(|| Extents::subarray(0, 40, &[64, 64, 64], &[32, 32, 32], &[0, 0, 0]).unwrap());

/// Returns the layout of points of 40 bytes, as in BTIO, each followed by a gap of 8 bytes.
fn points(bytes: u64) -> BufferLayout {
    BufferLayout::Extents(Extents::strided(0, 40, 48, bytes / 40).unwrap())
}

/// Converts an application's arrays of offsets and lengths.
fn take_list(call: Caller<'_>) -> Duration {
    let (offsets, lengths): (Vec<i64>, Vec<i64>) =
        PIECES.iter().map(|extent| (extent.offset as i64, extent.len as i64)).unzip();
    call(&mut || drop(black_box(Extents::from_arrays(&offsets, &lengths, 0).unwrap())))
}

/// Encodes a list for a message between nodes.
fn pack_list(call: Caller<'_>) -> Duration {
    call(&mut || drop(black_box(PIECES.iter().collect::<Packed>())))
}

/// Walks file extents and memory extents together, window by window.
fn walk_both_sides(call: Caller<'_>) -> Duration {
    let (file, layout) = (&*CELL, points(CELL.bytes()));
    call(&mut || {
        let mut walk = Walk::new(file, &layout);
        let mut sum = 0;
        while let Some(at) = walk.position() {
            walk.visit_before((at | 0xf_ffff) + 1, |piece| sum += piece.offset ^ piece.memory);
        }
        black_box(sum);
    })
}

/// Runs a write that places pieces in windows which track them by bits, because other ranks' bytes are missing.
fn write_pieces_with_holes(call: Caller<'_>) -> Duration {
    written(&PIECES, &BufferLayout::Contiguous, "romio_cb_write=enable", call)
}

/// Runs a write that places pieces in windows which know by a sum that they are full.
fn write_pieces_that_tile(call: Caller<'_>) -> Duration {
    let mut end = 0;
    let pieces = PIECES.iter().map(|Extent { len, .. }| {
        end += len + 8;
        Extent { offset: end - len, len }
    });
    let layout = BufferLayout::Extents(Extents::from_extents(pieces).unwrap());
    let file = Extents::contiguous(0, PIECES.bytes()).unwrap();
    written(&file, &layout, "romio_cb_write=enable", call)
}

/// Runs a write in which the rank packs its memory and writes its own bytes.
fn write_own(call: Caller<'_>) -> Duration {
    written(&CELL, &points(CELL.bytes()), "romio_cb_write=disable", call)
}

/// Runs a read that takes pieces out of windows.
fn read_pieces(call: Caller<'_>) -> Duration {
    let mut buffer = vec![0; PIECES.bytes() as usize];
    on_a_file("romio_cb_read=enable", &mut |file| {
        call(&mut || drop(file.read_all(&PIECES, &BufferLayout::Contiguous, &mut buffer).unwrap()))
    })
}

/// Runs a collective write of only 8 bytes.
fn write_8_bytes(call: Caller<'_>) -> Duration {
    written(&Extents::contiguous(0, 8).unwrap(), &BufferLayout::Contiguous, "", call)
}

/// Runs a collective write with these extents and this layout of memory.
fn written(extents: &Extents, layout: &BufferLayout, hints: &str, call: Caller<'_>) -> Duration {
    let bytes = match layout {
        BufferLayout::Contiguous => extents.bytes(),
        BufferLayout::Extents(memory) => memory.span().map_or(0, |(_, end)| end),
    };
    let buffer = vec![7; bytes as usize];
    on_a_file(hints, &mut |file| call(&mut || drop(file.write_all(extents, layout, &buffer).unwrap())))
}

/// Runs `calls` on a file of one rank in shared-memory mode.
fn on_a_file(hints: &str, calls: &mut (dyn FnMut(&mut File) -> Duration + Send)) -> Duration {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let hints = Hints::parse(&format!("trib_shared_memory=enable;{hints}")).unwrap();
    let calls = Mutex::new(calls);
    let took = threads::run(1, |transport| {
        let files = Arc::new(Nowhere);
        let mut file = File::open_on(Endpoint::new(transport), &path, Mode::Create, hints.clone(), files).unwrap();
        // There is one rank, so holes are read and written back.
        file.set_sole_writer(true);
        let took = (calls.lock().unwrap())(&mut file);
        file.close().unwrap();
        took
    });
    took.unwrap()[0]
}

/// A file that discards writes, and whose reads return bytes at any offset.
struct Nowhere;

impl OpenStorage for Nowhere {
    fn open(&self, _: &Path, _: Mode) -> io::Result<Box<dyn Storage>> {
        Ok(Box::new(Self))
    }

    fn create(&self, _: &Path) -> io::Result<Box<dyn Storage>> {
        Ok(Box::new(Self))
    }
}

impl Storage for Nowhere {
    fn write_at(&self, bytes: &[u8], _: u64) -> io::Result<usize> {
        Ok(black_box(bytes).len())
    }

    fn read_at(&self, bytes: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(black_box(bytes).len())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(1 << 40)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
