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
