//! Tests that repeated calls allocate nothing, on no rank and on no other thread, if ranks share memory.
//!
//! There is only one test, because the allocator counts for the whole process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extent, Extents, File, Hints, Mode};

const RANKS: usize = 2;
/// Number of calls in a row; the next constant is the number of rows. Chance decides which rank writes a window, so
/// memory that a rank keeps exists only after the rank has written one. An allocation of every call occurs in every
/// row.
const CALLS: usize = 10;
const ROWS: usize = 5;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, with a count of allocations.
struct Counting;

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A test case: the calls that a rank repeats.
struct Case {
    name: &'static str,
    file: fn(u64) -> Extents,
    memory: fn(&Extents) -> BufferLayout,
}

fn contiguous(_: &Extents) -> BufferLayout {
    BufferLayout::Contiguous
}

/// Returns a layout of memory in which each 16 bytes of the data are 24 bytes apart.
fn scattered(file: &Extents) -> BufferLayout {
    BufferLayout::Extents(Extents::strided(0, 16, 24, file.bytes() / 16).unwrap())
}

/// Returns pieces of 16, 32 or 48 bytes without a stride, which belong to rank 0 and to rank 1 in turn.
fn irregular(rank: u64) -> Extents {
    let mut end = 0;
    let pieces = (0..20_000u64).map(|i| {
        let len = 16 * (1 + i * i % 7 % 3);
        end += len;
        (i, Extent { offset: end - len, len })
    });
    let own: Vec<_> = pieces.filter(|(i, _)| i % RANKS as u64 == rank).map(|(_, extent)| extent).collect();
    Extents::from_extents(own).unwrap()
}

const CASES: &[Case] = &[
    Case { name: "8 bytes", file: |rank| Extents::contiguous(8 * rank, 8).unwrap(), memory: contiguous },
    Case { name: "8 bytes of all ranks", file: |_| Extents::contiguous(0, 8).unwrap(), memory: contiguous },
    Case { name: "few small pieces", file: |rank| Extents::strided(16 * rank, 16, 32, 20).unwrap(), memory: scattered },
    Case {
        name: "many small pieces",
        file: |rank| Extents::strided(16 * rank, 16, 32, 80_000).unwrap(),
        memory: contiguous,
    },
    Case { name: "irregular pieces", file: irregular, memory: contiguous },
    Case { name: "irregular pieces of scattered memory", file: irregular, memory: scattered },
    Case {
        name: "pieces with holes",
        file: |rank| Extents::strided(16 * rank, 16, 40, 20_000).unwrap(),
        memory: scattered,
    },
    Case {
        name: "ranks that overlap",
        file: |rank| Extents::strided(4 * rank, 16, 32, 20_000).unwrap(),
        memory: contiguous,
    },
    Case {
        name: "large pieces",
        file: |rank| Extents::strided(rank << 16, 1 << 16, 1 << 17, 20).unwrap(),
        memory: contiguous,
    },
    Case {
        name: "large pieces of scattered memory",
        file: |rank| Extents::strided(rank << 16, 1 << 16, 1 << 17, 20).unwrap(),
        memory: scattered,
    },
];

/// Returns the minimum number of allocations of the whole process in a row of calls: (writes, reads).
fn count(case: &Case) -> (u64, u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let hints = Hints::parse("trib_shared_memory=enable").unwrap();
    let barrier = Barrier::new(RANKS);
    // Between the barriers no rank does anything else.
    let row = |call: &mut dyn FnMut()| {
        barrier.wait();
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        barrier.wait();
        (0..CALLS).for_each(|_| call());
        barrier.wait();
        let after = ALLOCATIONS.load(Ordering::SeqCst);
        barrier.wait();
        after - before
    };
    let least = |call: &mut dyn FnMut()| (0..ROWS).map(|_| row(call)).min().unwrap();
    let all = threads::run(RANKS, |transport| {
        let endpoint = Endpoint::new(transport);
        let (extents, hints) = ((case.file)(endpoint.rank() as u64), hints.clone());
        let layout = (case.memory)(&extents);
        let mut buffer = vec![7; 2 * extents.bytes() as usize];
        let mut file = File::open(endpoint, &path, Mode::Create, hints).unwrap();
        let writes = least(&mut || drop(file.write_all(&extents, &layout, &buffer).unwrap()));
        let reads = least(&mut || drop(file.read_all(&extents, &layout, &mut buffer).unwrap()));
        file.close().unwrap();
        (writes, reads)
    });
    all.unwrap()[0]
}

#[test]
fn a_repeated_call_allocates_nothing() {
    let before = ALLOCATIONS.load(Ordering::SeqCst);
    drop(std::hint::black_box(Box::new(1)));
    assert!(ALLOCATIONS.load(Ordering::SeqCst) > before, "allocations are not counted");
    let counts: Vec<_> = CASES.iter().map(|case| (case.name, count(case))).collect();
    let wrong: Vec<_> = counts.iter().filter(|(_, count)| *count != (0, 0)).collect();
    assert!(wrong.is_empty(), "(writes, reads) of {CALLS} calls on {RANKS} ranks allocate: {wrong:?}");
}
