//! Tests time steps: the same access at another offset of the file reuses the plan of the step before.

use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extent, Extents, File, Mode};
use tributary_testing::settings::{DRIVERS, KERNELS, hints};
use tributary_testing::watchdog::Watchdog;

const RANKS: usize = 6;
const COMMON: &str = "romio_cb_write=enable;romio_cb_read=enable;trib_tiny_call=0;trib_ranks_per_node=3;cb_nodes=3;\
                      nc_num_aggrs_per_node=2;striping_unit=512;striping_factor=2;cb_buffer_size=1024";
/// Number of bytes: every driver may move a plan by multiples of it. (2 servers, 3 aggregators, stripes of 512
/// bytes.)
const PERIOD: u64 = 2 * 3 * 512;
/// Number of pieces of a step: the first rank has none; the others take turns, in pieces of different lengths, with
/// holes.
const PIECES: u64 = 90;

/// Returns this rank's extents in a step that begins at `base`.
fn extents(rank: usize, base: u64) -> Extents {
    let pieces = (0..PIECES).filter(|piece| rank > 0 && *piece as usize % (RANKS - 1) == rank - 1);
    Extents::from_list(pieces.map(|piece| Extent { offset: base + piece * 40, len: 7 + piece % 30 })).unwrap()
}

fn byte(step: usize, offset: u64) -> u8 {
    (step as u64 * 101 + offset * 7 + offset / 251) as u8
}

fn bytes(step: usize, extents: &Extents) -> Vec<u8> {
    extents.iter().flat_map(|extent| (extent.offset..extent.end()).map(move |offset| byte(step, offset))).collect()
}

/// Returns offsets of steps that are written in this order, and for each whether it must reuse the plan of the first.
fn steps(driver: &str) -> [(u64, bool); 6] {
    let any = ["posix", "nfs"].contains(&driver);
    [
        (8 * PERIOD, false),
        (10 * PERIOD, true),
        (13 * PERIOD, true),
        (2 * PERIOD, true),
        (20 * PERIOD + 13, any),
        (0, any),
    ]
}

fn run(endpoint: &mut Option<Endpoint>, path: &std::path::Path, driver: &str, kernels: &str) {
    let hints = hints(&[COMMON, kernels, &format!("trib_driver={driver}")]);
    let mut file = File::open(endpoint.take().unwrap(), path, Mode::Create, hints).unwrap();
    let rank = file.endpoint().rank();
    let what = format!("{driver}, {kernels}");
    for (step, (base, is_reused)) in steps(driver).into_iter().enumerate() {
        let extents = extents(rank, base);
        let report = file.write_all(&extents, &BufferLayout::Contiguous, &bytes(step, &extents)).unwrap();
        assert_eq!(report.plan_reused, is_reused, "{what}: write {step}");
    }
    file.sync().unwrap();
    let whole = std::fs::read(path).unwrap();
    for (step, (base, _)) in steps(driver).into_iter().enumerate() {
        let is_right = |offset: u64| whole[offset as usize] == byte(step, offset);
        let wrong = extents(rank, base).iter().flat_map(|extent| extent.offset..extent.end()).find(|&at| !is_right(at));
        assert_eq!(wrong, None, "{what}: in the file of step {step}, which begins at {base}");
    }
    // Backwards: the kept plan is that of the last step.
    for (step, (base, _)) in steps(driver).into_iter().enumerate().rev() {
        let extents = extents(rank, base);
        let due = bytes(step, &extents);
        let mut read = vec![0; due.len()];
        let report = file.read_all(&extents, &BufferLayout::Contiguous, &mut read).unwrap();
        assert_eq!(report.bytes as usize, due.len(), "{what}: read {step}");
        let differs = read.iter().zip(&due).position(|(read, due)| read != due);
        assert_eq!(differs, None, "{what}: other bytes of step {step}");
    }
    // The file ends inside a step: bytes of the buffer beyond the end are not changed.
    let last = extents(rank, 20 * PERIOD + 13 + 1600);
    let mut read = vec![77; last.bytes() as usize];
    let report = file.read_all(&last, &BufferLayout::Contiguous, &mut read).unwrap();
    assert!(report.bytes < last.bytes() || rank == 0, "{what}");
    assert!(report.call.bytes > 0, "{what}");
    // One rank has another step than the others.
    let odd = extents(rank, if rank == 2 { 30 * PERIOD } else { 40 * PERIOD });
    let report = file.write_all(&odd, &BufferLayout::Contiguous, &bytes(9, &odd)).unwrap();
    assert!(!report.plan_reused, "{what}: ranks have moved by different ways");
    let mut read = vec![0; odd.bytes() as usize];
    file.read_all(&odd, &BufferLayout::Contiguous, &mut read).unwrap();
    assert!(read == bytes(9, &odd), "{what}: other bytes where ranks have moved by different ways");
    *endpoint = Some(file.close().unwrap());
}

#[test]
fn a_step_uses_the_plan_of_the_step_before() {
    let _watchdog = Watchdog::new("a_step_uses_the_plan_of_the_step_before", 120);
    let directory = tempfile::tempdir().unwrap();
    threads::run(RANKS, |transport| {
        let mut endpoint = Some(Endpoint::new(transport));
        for driver in DRIVERS {
            for (_, kernels) in KERNELS.iter().copied() {
                run(&mut endpoint, &directory.path().join("steps"), driver, kernels);
            }
        }
    })
    .unwrap();
}

/// Returns the extents of a rank in one of several views, which have pieces of different lengths in different turns.
fn in_view(view: u64, rank: usize, base: u64) -> Extents {
    let (len, ranks) = (3 + view, RANKS as u64);
    let first = (rank as u64 + view) % ranks;
    Extents::strided(base + first * len, len, (ranks * len) as i64, 40).unwrap()
}

/// Writes `rounds` steps of each view in turn, and checks the bytes. Returns, for each call, true if it reused a
/// plan.
fn in_turns(
    endpoint: Endpoint,
    path: &std::path::Path,
    driver: &str,
    views: u64,
    rounds: u64,
) -> (Endpoint, Vec<bool>) {
    let mut file =
        File::open(endpoint, path, Mode::Create, hints(&[COMMON, &format!("trib_driver={driver}")])).unwrap();
    let rank = file.endpoint().rank();
    let calls: Vec<_> = (0..rounds).flat_map(|round| (0..views).map(move |view| (round, view))).collect();
    let access = |(round, view): (u64, u64)| in_view(view, rank, (round * views + view) * 4 * PERIOD);
    let mut reused = Vec::new();
    for (step, &call) in calls.iter().enumerate() {
        let extents = access(call);
        let report = file.write_all(&extents, &BufferLayout::Contiguous, &bytes(step, &extents)).unwrap();
        reused.push(report.plan_reused);
    }
    for (step, &call) in calls.iter().enumerate().rev() {
        let extents = access(call);
        let mut read = vec![0; extents.bytes() as usize];
        file.read_all(&extents, &BufferLayout::Contiguous, &mut read).unwrap();
        assert!(read == bytes(step, &extents), "{driver}: other bytes in view {} of {views}", call.1);
    }
    (file.close().unwrap(), reused)
}

#[test]
fn views_that_take_turns_each_keep_their_plan() {
    let _watchdog = Watchdog::new("views_that_take_turns_each_keep_their_plan", 120);
    let directory = tempfile::tempdir().unwrap();
    threads::run(RANKS, |transport| {
        let mut endpoint = Some(Endpoint::new(transport));
        for driver in DRIVERS {
            // 16 plans are kept at most: of 17 views that take turns, the one that is due has always gone.
            for (views, rounds) in [(2, 3), (5, 2), (17, 2)] {
                let path = directory.path().join("views");
                let (again, reused) = in_turns(endpoint.take().unwrap(), &path, driver, views, rounds);
                endpoint = Some(again);
                let due: Vec<_> = (0..rounds * views).map(|call| views < 17 && call >= views).collect();
                assert_eq!(reused, due, "{driver}: {views} views");
            }
        }
    })
    .unwrap();
}
