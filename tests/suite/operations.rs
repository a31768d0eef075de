//! Tests non-blocking operations with ranks as threads.

use std::time::Instant;

use tributary::engine::{Direction, Operation, binding};
use tributary::{BufferLayout, CallReport, Error, Extents, File, Hints, Mode};
use tributary_testing::interleaved::Interleaved;
use tributary_testing::settings::{DRIVERS, KERNELS, hints};
use tributary_testing::watchdog::on_threads;

const RANKS: usize = 8;
const COMMON: &str = "romio_cb_write=enable;trib_tiny_call=0;trib_ranks_per_node=3;nc_num_aggrs_per_node=2;striping_unit=512;\
                      striping_factor=3;cb_buffer_size=1024";

fn full() -> Interleaved {
    Interleaved::full(RANKS, 24, 150)
}

fn settings() -> impl Iterator<Item = (String, Hints)> {
    let with = |(name, kernels): (&'static str, &'static str)| {
        DRIVERS.map(|driver| {
            let hints = hints(&[COMMON, kernels, &format!("trib_driver={driver}")]);
            (format!("{name}, {driver}"), hints)
        })
    };
    KERNELS.iter().copied().flat_map(with)
}

/// Calls `test` until the operation has ended; returns its report.
fn test_to_the_end(mut operation: Operation<'_, CallReport>) -> CallReport {
    loop {
        if let Some(outcome) = operation.test() {
            return outcome.unwrap();
        }
        std::thread::yield_now();
    }
}

#[test]
fn testing_writes_what_waiting_writes() {
    on_threads("testing_writes_what_waiting_writes", RANKS, |mut endpoint, directory| {
        let rank = endpoint.rank();
        let path = directory.join("file");
        for (what, hints) in settings() {
            let mut file = File::open(endpoint, &path, Mode::Create, hints).unwrap();
            let waited = full().write(&mut file, 1).unwrap();
            let (extents, buffer) = full().part(rank, 2);
            // Half of the ranks wait, half of them test.
            let operation = file.start_write_all(&extents, &BufferLayout::Contiguous, &buffer);
            let tested = if rank % 2 == 0 { test_to_the_end(operation) } else { operation.wait().unwrap() };
            assert_eq!((tested.bytes_written, tested.rounds), (waited.bytes_written, waited.rounds), "{what}");
            endpoint = file.close().unwrap();
            if rank == 0 {
                full().check_whole(&path, 2, &what);
            }
        }
    });
}

/// One program uses two files, whose operations advance in turn; even ranks begin with one, odd ranks with the other.
#[test]
fn two_files_at_once() {
    on_threads("two_files_at_once", RANKS, |mut endpoint, directory| {
        let rank = endpoint.rank();
        let paths = ["one", "two"].map(|name| directory.join(name));
        let patterns = [full(), Interleaved::with_holes(RANKS, 16, 99)];
        for (k, (what, hints)) in settings().enumerate() {
            let second = endpoint.duplicate().unwrap();
            let other = settings().nth((k + 4) % settings().count()).unwrap().1;
            let mut files = [
                File::open(endpoint, &paths[0], Mode::Create, hints).unwrap(),
                File::open(second, &paths[1], Mode::Create, other).unwrap(),
            ];
            let parts = patterns.map(|pattern| pattern.part(rank, 7));
            let [one, two] = &mut files;
            let mut operations = [
                Some(one.start_write_all(&parts[0].0, &BufferLayout::Contiguous, &parts[0].1)),
                Some(two.start_write_all(&parts[1].0, &BufferLayout::Contiguous, &parts[1].1)),
            ];
            let mut turn = rank;
            while operations.iter().any(Option::is_some) {
                let slot = &mut operations[turn % 2];
                if let Some(outcome) = slot.as_mut().and_then(Operation::test) {
                    assert_eq!(outcome.unwrap().bytes_written, patterns[turn % 2].bytes(), "{what}");
                    *slot = None;
                }
                turn += 1;
                std::thread::yield_now();
            }
            drop(operations);
            let [one, two] = files;
            two.close().unwrap();
            endpoint = one.close().unwrap();
            if rank == 0 {
                (0..2).for_each(|i| patterns[i].check_whole(&paths[i], 7, &what));
            }
        }
    });
}

fn assert_dropped(outcome: Option<Error>) {
    let text = outcome.expect("an operation was dropped").to_string();
    assert!(text.contains("dropped before its end") && text.contains("close"), "{text}");
}

/// An operation is dropped before its end: each further call fails at once, on every rank where it was dropped. The
/// file can be closed, and other files still work.
#[test]
fn an_operation_dropped_in_the_middle() {
    on_threads("an_operation_dropped_in_the_middle", RANKS, |mut endpoint, directory| {
        let rank = endpoint.rank();
        for (n, (what, hints)) in settings().enumerate() {
            let second = endpoint.duplicate().unwrap();
            let path = directory.join(format!("dropped {n}"));
            let mut file = File::open(second, &path, Mode::Create, hints.clone()).unwrap();
            let (extents, buffer) = full().part(rank, 1);
            full().write(&mut file, 1).unwrap();
            let mut operation = file.start_write_all(&extents, &BufferLayout::Contiguous, &buffer);
            // Dropped at different places on different ranks, on some before the first test: it counts as dropped on all.
            let done = (0..(rank + n) % 4).any(|_| operation.test().is_some());
            drop(operation);
            if !done {
                assert_dropped(full().write(&mut file, 2).err());
                assert_dropped(file.sync().err());
                assert_dropped(file.fan_in().err());
                assert_dropped(file.close().err());
            }
            let other = directory.join("other");
            let mut file = File::open(endpoint, &other, Mode::Create, hints).unwrap();
            full().write(&mut file, 3).unwrap();
            endpoint = file.close().unwrap();
            if rank == 0 {
                full().check_whole(&other, 3, &what);
            }
        }
    });
}

/// A thousand ranks write one file.
#[test]
fn a_thousand_and_twenty_four_ranks() {
    const MANY: usize = 1024;
    let pattern = Interleaved::full(MANY, 16, 40);
    for (name, kernels) in [
        ("balanced", "trib_kernel_meta=balanced;trib_kernel_data=balanced"),
        ("two_layer", "trib_kernel_meta=two_layer;trib_kernel_data=two_layer;nc_num_aggrs_per_node=2"),
    ] {
        on_threads("a_thousand_and_twenty_four_ranks", MANY, |endpoint, directory| {
            let rank = endpoint.rank();
            let common =
                "romio_cb_write=enable;trib_tiny_call=0;trib_ranks_per_node=64;trib_driver=posix;cb_buffer_size=16KiB";
            let path = directory.join("file");
            let mut file = File::open(endpoint, &path, Mode::Create, hints(&[common, kernels])).unwrap();
            let start = Instant::now();
            let report = pattern.write(&mut file, 1).unwrap();
            let time = start.elapsed();
            assert_eq!((file.settings().topology.nodes(), file.settings().aggregators.len()), (16, 16));
            file.close().unwrap();
            if rank == 0 {
                assert_eq!(report.bytes_written, pattern.bytes());
                assert!(report.rounds > 1, "{} rounds", report.rounds);
                pattern.check_whole(&path, 1, name);
                let (bytes, messages) = (report.bytes, report.metadata_messages + report.data_messages);
                eprintln!("{name}: {MANY} ranks, {bytes} bytes, {messages} messages in {time:?}");
            }
        });
    }
}

#[test]
fn a_refused_call_fails_on_every_rank_and_the_next_one_goes_well() {
    on_threads("refuse", RANKS, |endpoint, directory| {
        let rank = endpoint.rank();
        let mut file = File::open(endpoint, directory.join("f"), Mode::Create, hints(&[COMMON])).unwrap();
        let own = Extents::strided(rank as u64 * 10, 10, 10 * RANKS as i64, 30).unwrap();
        let mut buffer = vec![rank as u8; 300];
        for refusing in [vec![3], vec![6, 5], (0..RANKS).collect()] {
            let first = *refusing.iter().min().unwrap();
            let refused = |rank: usize| Error::argument("count", format!("-{rank}"), "0 or more");
            let told = refused(first).of_rank(first);
            for reads in [false, true] {
                let error = match (refusing.contains(&rank), reads) {
                    (true, _) => binding::refuse(
                        &mut file,
                        if reads { Direction::Read } else { Direction::Write },
                        refused(rank),
                    ),
                    (false, false) => file.write_all(&own, &BufferLayout::Contiguous, &buffer).unwrap_err(),
                    (false, true) => file.read_all(&own, &BufferLayout::Contiguous, &mut buffer).unwrap_err(),
                };
                assert_eq!(error, told);
            }
        }
        let report = file.write_all(&own, &BufferLayout::Contiguous, &buffer).unwrap();
        assert_eq!(report.bytes_written, 300 * RANKS as u64);
        file.close().unwrap();
    });
}

/// Two ranges overlap, and a gap compensates for the overlap in the sums: only an exchange of all ranges detects
/// this.
#[test]
fn the_allgather_finds_ranges_that_overlap() {
    on_threads("allgather", RANKS, |endpoint, directory| {
        let rank = endpoint.rank() as u64;
        let hints = hints(&["trib_direct_min=64;trib_tiny_call=0"]);
        let mut file = File::open(endpoint, directory.join("f"), Mode::Create, hints).unwrap();
        for (gap, path) in [(0, "direct"), (50, "exchange")] {
            let start = rank * 200 - if rank == 1 { gap } else { 0 };
            let own = Extents::contiguous(start, if rank == 3 { 0 } else { 200 }).unwrap();
            let buffer = vec![rank as u8; own.bytes() as usize];
            let report = file.write_all(&own, &BufferLayout::Contiguous, &buffer).unwrap();
            assert_eq!(report.path.to_string(), path, "{}", report.why());
        }
        file.close().unwrap();
    });
}
