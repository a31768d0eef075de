//! Runs every target on a bounded number of inputs: damaged good ones, and any bytes. Memory is counted too: it must
//! stay in proportion to the input.

#[allow(dead_code, reason = "each test program uses what it needs")]
#[path = "../../testing/src/damage.rs"]
mod damage;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use damage::{damage, damaged};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tributary_fuzz::{TARGETS, Target};

/// Number of inputs for each target, unless TRIB_FUZZ_CASES sets another.
const CASES: u32 = 3000;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// An allocator that counts the bytes that each thread holds.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn count(change: isize) {
    let held = HELD.get() + change;
    HELD.set(held);
    MOST.set(MOST.get().max(held));
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Returns the maximum number of bytes that were held at a time, beyond the bytes held before.
fn most_held(run: impl FnOnce()) -> usize {
    let before = HELD.get();
    MOST.set(before);
    run();
    (MOST.get() - before) as usize
}

fn hold(target: &Target, bytes: &[u8]) {
    let most = most_held(|| (target.check)(bytes));
    let (base, each) = target.memory;
    let allowed = base + each * bytes.len();
    assert!(
        most <= allowed,
        "{}: {most} bytes of memory for {} of input; allowed: {allowed}",
        target.name,
        bytes.len()
    );
}

fn run(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of that name");
    let seeds = (target.seeds)();
    seeds.iter().for_each(|seed| hold(target, seed));
    hold(target, &[]);
    let cases = std::env::var("TRIB_FUZZ_CASES").map_or(CASES, |cases| cases.parse().expect("a number of cases"));
    let input = (prop::sample::select(seeds), prop::collection::vec(damage(), 0..4));
    let input = input.prop_map(|(seed, all)| damaged(&seed, &all));
    let any = prop::collection::vec(any::<u8>(), 0..300);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&prop_oneof![5 => input, 1 => any], |bytes| {
        hold(target, &bytes);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{name}: {failure}"));
}

macro_rules! every {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })+

        #[test]
        fn no_target_is_left_out() {
            assert!(TARGETS.iter().map(|target| target.name).eq([$(stringify!($name)),+]));
        }
    };
}

every!(extents lists maps traces hints opening machine);
