//! Tests captures: the file that TRIB_CAPTURE asks for has what ranks wrote and read.
//!
//! A process reads the variable once, so each test runs itself again as a program with the variable set.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tributary::engine::{Capture, Direction, binding};
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Error, Extent, Extents, File, Hints, Mode};
use tributary_testing::mounted::Mounted;

const RANKS: usize = 6;
const STEPS: u64 = 5;

/// Returns the extents that `rank` writes in a step: irregular pieces, in turns with the other ranks; the last rank
/// writes nothing.
fn pieces(rank: u64, step: u64) -> Extents {
    if rank as usize == RANKS - 1 {
        return Extents::empty();
    }
    let pieces =
        (0..50u64).map(|i| Extent { offset: step * 100_000 + i * 600 + rank * 100, len: 1 + (i * i + rank) % 90 });
    Extents::from_list(pieces).unwrap()
}

/// Returns the layout of memory in a step: odd ranks have gaps.
fn memory(rank: u64, bytes: u64) -> BufferLayout {
    match rank % 2 {
        0 => BufferLayout::Contiguous,
        _ if bytes == 0 => BufferLayout::Contiguous,
        _ => BufferLayout::Extents(
            Extents::from_list([(8, 10), (30, bytes - 10)].map(|(offset, len)| Extent { offset, len })).unwrap(),
        ),
    }
}

/// Runs the program that is captured: it writes steps, reads the first one, then makes a call that fails.
fn write_steps(path: &Path, hints: &Hints) {
    let outcomes = threads::run(RANKS, |transport| {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank() as u64;
        let mut file = File::open(endpoint, path, Mode::Create, hints.clone())?;
        for step in 0..STEPS {
            let extents = pieces(rank, step);
            let buffer = vec![rank as u8 + 1; extents.bytes() as usize + 20];
            file.write_all(&extents, &memory(rank, extents.bytes()), &buffer)?;
        }
        let first = pieces(rank, 0);
        let mut back = vec![0; first.bytes() as usize];
        file.read_all(&first, &BufferLayout::Contiguous, &mut back)?;
        assert!(back.iter().all(|byte| *byte == rank as u8 + 1));
        if rank == 2 {
            binding::refuse(&mut file, Direction::Write, Error::argument("step", "bad", "good"));
        } else {
            assert!(file.write_all(&Extents::empty(), &BufferLayout::Contiguous, &[]).is_err());
        }
        let endpoint = file.close()?;
        // The endpoint serves the next file, whatever became of the capture.
        File::open(endpoint, path.with_extension("next"), Mode::Create, Hints::default())?.close()?;
        Ok::<_, Error>(())
    });
    outcomes.unwrap().into_iter().for_each(|outcome| outcome.unwrap());
}

/// Runs a part of this program with the variables set.
fn run(test: &str, directory: &Path, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &format!("capture::{test}"), "--ignored", "--nocapture"])
        .env("CAPTURED_FILE", directory.join("out"));
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Names of paths, and hints for them: through shared memory, by messages.
const WAYS: [(&str, &str); 3] = [
    ("shared", "trib_shared_memory=enable"),
    ("messages", "trib_shared_memory=disable; trib_tiny_call=0; romio_cb_write=enable; romio_cb_read=enable"),
    ("direct", "trib_shared_memory=disable; romio_cb_write=disable; romio_cb_read=disable"),
];

#[test]
#[ignore = "run by the tests below, with TRIB_CAPTURE"]
fn program() {
    let path = PathBuf::from(std::env::var_os("CAPTURED_FILE").unwrap());
    let hints = Hints::from_env().unwrap();
    write_steps(&path, &hints);
}

#[test]
fn a_capture_has_what_the_ranks_wrote_and_read() {
    for (way, hints) in WAYS {
        let directory = tempfile::tempdir().unwrap();
        let captures = directory.path().join("captures");
        run("program", directory.path(), &[("TRIB_CAPTURE", captures.to_str().unwrap()), ("TRIB_HINTS", hints)]);
        let capture = Capture::open(captures.join("out.tribcap")).unwrap();
        check(&capture, way);
        let next = Capture::open(captures.join("out.next.tribcap")).unwrap();
        assert_eq!((next.calls(), next.calls_made()), (0, 0), "{way}");
    }
}

/// A capture gets its name only when it is complete; a part of it that could be written is removed.
#[test]
fn a_full_disk_leaves_no_part_of_a_capture() {
    let Some(disk) = Mounted::tmpfs("a_full_disk_leaves_no_part_of_a_capture", "4k") else { return };
    let directory = tempfile::tempdir().unwrap();
    let output = run("program", directory.path(), &[("TRIB_CAPTURE", disk.path().to_str().unwrap())]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&format!("tributary: no capture of {}: ", directory.path().join("out").display())), "{said}");
    let names = std::fs::read_dir(disk.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name == "out.tribcap" || name.ends_with("unfinished")), "{names:?}");
}

/// Checks that each rank has a timeline, and that aggregators' windows include every successful call if bytes went by
/// messages.
fn check_diaries(capture: &Capture, way: &str) {
    let timelines: Vec<_> = (0..RANKS).map(|rank| capture.rank_and_timeline(rank).unwrap().1.unwrap()).collect();
    assert!(timelines.iter().all(|timeline| timeline.seconds.total > 0.0), "{way}");
    let rounds = || timelines.iter().flat_map(|timeline| &timeline.rounds);
    let calls: std::collections::BTreeSet<u64> = rounds().map(|round| round.call).collect();
    let expected: Vec<u64> = if way == "messages" { (0..=STEPS).collect() } else { Vec::new() };
    assert_eq!(calls.into_iter().collect::<Vec<_>>(), expected, "{way}");
    for round in rounds() {
        assert_eq!(round.ranks as usize, RANKS - 1, "{way}: {round:?}");
        assert!(round.exchange.0 < round.exchange.1 && round.io.0 < round.io.1, "{way}: {round:?}");
        // A write goes to the file when its window is full, a read comes from there before.
        let (first, second) = if round.call < STEPS { (round.exchange, round.io) } else { (round.io, round.exchange) };
        assert!(first.0 < second.0 && first.1 <= second.1, "{way}: {round:?}");
    }
    for timeline in &timelines {
        assert_eq!(timeline.windows, timeline.rounds.len() as u64, "{way}");
        assert_eq!(timeline.covered, timeline.rounds.iter().map(|round| round.bytes).sum::<u64>(), "{way}");
        assert_eq!(timeline.fan_in.iter().map(|(_, windows)| windows).sum::<u64>(), timeline.windows, "{way}");
    }
}

fn check(capture: &Capture, way: &str) {
    let header = capture.header();
    assert_eq!((header.ranks, header.mode.as_str(), header.driver.as_str()), (RANKS, "create", "posix"), "{way}");
    assert!(header.file.ends_with("/out") && header.hints.len() > 20, "{way}: {header:?}");
    assert_eq!((capture.calls(), capture.calls_made()), (STEPS + 2, STEPS + 2), "{way}");
    assert_eq!(capture.topology().unwrap().ranks(), RANKS);
    let list = |extents: &Extents| extents.iter().collect::<Vec<_>>();
    for rank in 0..RANKS {
        let calls = capture.rank(rank).unwrap();
        for (step, call) in (0..STEPS).zip(&calls) {
            let extents = pieces(rank as u64, step);
            assert_eq!(
                (list(&call.file), call.direction, call.failed),
                (list(&extents), Direction::Write, false),
                "{way}"
            );
            match (&call.memory, memory(rank as u64, extents.bytes())) {
                (BufferLayout::Contiguous, BufferLayout::Contiguous) => {}
                (BufferLayout::Extents(captured), BufferLayout::Extents(given)) => {
                    assert_eq!(list(captured), list(&given))
                }
                (captured, given) => panic!("{way}, rank {rank}: {captured:?} for {given:?}"),
            }
        }
        let [read, failed] = &calls[STEPS as usize..] else { panic!("{way}: {} calls", calls.len()) };
        assert_eq!((list(&read.file), read.direction), (list(&pieces(rank as u64, 0)), Direction::Read), "{way}");
        assert!(failed.failed && failed.file.count() == 0, "{way}");
        assert!(calls.windows(2).all(|pair| pair[0].start + pair[0].took <= pair[1].start), "{way}: in sequence");
        // Fifty irregular pieces, kept once: steps refer to them.
        assert!(capture.encoded_len(rank) < 600, "{way}, rank {rank}: {} bytes", capture.encoded_len(rank));
    }
    check_diaries(capture, way);
    let outcomes = capture.outcomes().unwrap();
    let bytes: u64 = (0..RANKS as u64).map(|rank| pieces(rank, 0).bytes()).sum();
    for (number, outcome) in (0..).zip(&outcomes[..STEPS as usize]) {
        let report = outcome.report.as_ref().unwrap();
        assert_eq!((outcome.call, outcome.direction.as_str(), report.bytes), (number, "write", bytes), "{way}");
    }
    assert!(outcomes[STEPS as usize + 1].error.as_ref().unwrap().contains("allowed: good"), "{way}");
}

#[test]
fn a_limit_is_kept_and_said() {
    let directory = tempfile::tempdir().unwrap();
    let captures = directory.path().join("captures");
    let value = format!("{};limit=12k", captures.display());
    let output = run("program", directory.path(), &[("TRIB_CAPTURE", &value)]);
    let capture = Capture::open(captures.join("out.tribcap")).unwrap();
    assert!(capture.calls() < STEPS, "{} calls", capture.calls());
    assert_eq!(capture.calls_made(), STEPS + 2);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&format!("has only the first {} of {} calls", capture.calls(), STEPS + 2)), "{said}");
    (0..RANKS).for_each(|rank| assert_eq!(capture.rank(rank).unwrap().len() as u64, capture.calls()));
}

/// If the directory cannot be created, or the value is not allowed, a line says so, and the program goes on.
#[test]
fn a_program_does_not_fail_with_its_capture() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a-file");
    std::fs::write(&file, "in the way").unwrap();
    let output = run("program", directory.path(), &[("TRIB_CAPTURE", file.to_str().unwrap())]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.matches("tributary: no capture of").count(), 2, "a line a file: {said}");
    let captures = directory.path().join("captures");
    for bad in [";limit=a lot", ";size=1G"] {
        let value = format!("{}{bad}", captures.display());
        let said =
            String::from_utf8_lossy(&run("program", directory.path(), &[("TRIB_CAPTURE", &value)]).stderr).into_owned();
        let line = format!("tributary: no capture: TRIB_CAPTURE: {value}; allowed: ");
        assert_eq!(said.matches(&line).count(), 1, "a line a process: {said}");
        assert!(!captures.exists());
    }
}

#[test]
fn a_damaged_capture_is_one_clear_error() {
    let directory = tempfile::tempdir().unwrap();
    let captures = directory.path().join("captures");
    run("program", directory.path(), &[("TRIB_CAPTURE", captures.to_str().unwrap())]);
    let path = captures.join("out.tribcap");
    let whole = std::fs::read(&path).unwrap();
    let read_all = |bytes: &[u8]| -> tributary::Result<()> {
        std::fs::write(&path, bytes).unwrap();
        let capture = Capture::open(&path)?;
        capture.outcomes()?;
        (0..capture.header().ranks).try_for_each(|rank| capture.rank(rank).map(drop))
    };
    read_all(&whole).unwrap();
    for cut in (0..whole.len()).step_by(7) {
        assert!(read_all(&whole[..cut]).is_err(), "cut to {cut} bytes");
    }
    for at in (0..whole.len()).step_by(11) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        assert!(read_all(&damaged).is_err(), "byte {at} changed");
    }
    let mut version = whole.clone();
    version[8] = 9;
    assert!(read_all(&version).unwrap_err().to_string().contains("version 9"), "{}", read_all(&version).unwrap_err());
    assert!(
        read_all(b"CDF\x01 is no capture, however long it may be").unwrap_err().to_string().contains("does not begin")
    );
}

/// Reads a capture that Tributary 0.1.0 made of `packages/tests/strided.c` on two ranks: later versions read it too
/// (`docs/reference/abi.md`).
#[test]
fn a_capture_of_0_1_0_is_read() {
    let capture = Capture::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/0.1.0.tribcap")).unwrap();
    let header = capture.header();
    let names = [&*header.file, &header.mode, &header.program, &header.library, header.mpi.as_deref().unwrap()];
    assert_eq!(names, ["/scratch/data", "update", "./strided", "0.1.0", "MPICH Version: 4.0.2"]);
    assert_eq!((header.ranks, &*header.driver, capture.calls(), capture.calls_made()), (2, "posix", 2, 2));
    for rank in 0..2 {
        let integers = || (0..1000).map(|i| Extent { offset: 8 * i + 4 * rank as u64, len: 4 });
        let calls = capture.rank(rank).unwrap();
        assert_eq!(calls.len(), 2);
        for (call, direction) in calls.iter().zip([Direction::Write, Direction::Read]) {
            assert_eq!((call.direction, call.failed), (direction, false), "rank {rank}");
            assert!(call.file.iter().eq(integers()), "rank {rank}: {:?}", call.file);
            assert_eq!(call.memory, BufferLayout::Contiguous);
        }
    }
    let outcomes = capture.outcomes().unwrap();
    let whys = outcomes.iter().map(|outcome| outcome.report.as_ref().unwrap().why().to_string());
    assert_eq!(whys.collect::<Vec<_>>(), ["small requests"; 2]);
}
