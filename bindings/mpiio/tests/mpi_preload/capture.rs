//! Tests captures of programs under the library.

use std::path::Path;

use tributary::engine::Capture;

use crate::common::launch::Launch;
use crate::common::programs::compile;

const RANKS: usize = 3;

fn launch(directory: &Path) -> Launch {
    Launch::new(RANKS, &compile("hints.c")).with_library().env("TRIB_CAPTURE", directory.display().to_string())
}

/// The program writes four numbers a rank, twice.
#[test]
fn a_program_is_captured() {
    for hints in ["", "trib_shared_memory=disable; trib_tiny_call=0"] {
        let directory = tempfile::tempdir().unwrap();
        let outcome = launch(directory.path()).hints(hints).run();
        assert!(!outcome.stderr.contains("capture"), "{}", outcome.stderr);
        let capture = Capture::open(directory.path().join("out.nc.tribcap")).unwrap();
        assert_eq!((capture.header().ranks, capture.calls()), (RANKS, 2), "{hints}");
        let asked = capture.header().asked.clone().unwrap();
        let unused = asked.unused.iter().any(|all| all.key == "shade" && all.source.starts_with("MPI_Info"));
        let source = asked.sources.get("cb_buffer_size").map(String::as_str);
        assert!(unused && source == Some("MPI_Info of MPI_File_open"), "{asked:?}");
        for rank in 0..RANKS {
            for call in capture.rank(rank).unwrap() {
                let extents: Vec<_> = call.file.iter().map(|extent| (extent.offset, extent.len)).collect();
                assert_eq!(extents, [(rank as u64 * 16, 16)], "{hints}");
            }
        }
    }
}

/// A file that ranks write by themselves has a capture, too: how often, how much and how long, and how the calls become
/// collective.
#[test]
fn independent_calls_are_counted_in_a_capture() {
    for (small, has_writes) in [("2000", true), ("0", false)] {
        let directory = tempfile::tempdir().unwrap();
        let launch = Launch::new(RANKS, &compile("independent.c")).with_library();
        let outcome = launch.env("TRIB_CAPTURE", directory.path().display().to_string()).arg(small).run();
        let capture = Capture::open(directory.path().join("file.tribcap")).unwrap();
        assert_eq!((capture.header().ranks, capture.calls()), (RANKS, 0), "{}", outcome.stderr);
        let independent = capture.independent().unwrap();
        let write = independent.iter().find(|all| all.function == "write_at");
        assert_eq!(write.is_some(), has_writes, "{independent:?}");
        if let Some(write) = write {
            assert_eq!((write.calls, write.bytes), (RANKS as u64 * 2000, RANKS as u64 * 2000 * 4096), "{write:?}");
            assert!(write.microseconds > 0 && write.sizes == [4096; 3], "{write:?}");
        }
        let others = capture.header().not_captured.clone().unwrap();
        assert!(others.how.iter().any(|how| how.contains("end in _all")) && others.left.is_empty(), "{others:?}");
    }
}

/// If one rank does not ask for a capture, there is none, the program works as before, and one line says why.
#[test]
fn ranks_that_differ_have_no_capture() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = launch(directory.path()).arg("1:TRIB_CAPTURE=/somewhere/else").run();
    let line = "tributary: no capture: TRIB_CAPTURE is not the same on all ranks";
    assert_eq!(outcome.stderr.matches(line).count(), 1, "{}", outcome.stderr);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    assert_eq!(outcome.stdout.matches("SUCCESS").count(), 2 * RANKS, "{}", outcome.stdout);
}
