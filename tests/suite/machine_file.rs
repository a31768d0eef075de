//! Tests the file with the costs of messages that a hint names: it decides which kernels are chosen, and never makes
//! a program fail.

use crate::auto_kernels;
use tributary::engine::Path;
use tributary::exchange::cost::Costs;
use tributary::fabric::threads;
use tributary::machine::Machine;
use tributary::{BufferLayout, Endpoint, Extents, File, Hints, Mode};

/// Returns the text of a machine file in which a message costs `seconds` seconds.
fn text(seconds: f64) -> String {
    let costs = Costs { eager: seconds, rendezvous: seconds, round_trip: seconds, ..Costs::CLUSTER };
    let between = "ranks of different nodes".to_string();
    Machine { fabric: "mpi".into(), ranks: 48, nodes: 2, between, costs, built_in: Vec::new() }.text()
}

/// Returns the reasons for the paths of a write and a read.
fn reasons(hints: &str) -> Vec<String> {
    auto_kernels::reasons(hints, 1)
}

/// Writes a file with this text in `directory`, and returns the hint that names the file.
fn hint(directory: &tempfile::TempDir, name: &str, text: &[u8]) -> String {
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    format!("trib_machine={}", path.display())
}

#[test]
fn the_costs_in_the_file_decide() {
    let directory = tempfile::tempdir().unwrap();
    let free = Costs { copy_byte: 1e-6, ..Costs::CLUSTER };
    let free = Costs { eager: 0.0, eager_byte: 0.0, rendezvous: 0.0, round_trip: 0.0, walk: 0.0, ..free };
    let machine =
        Machine { fabric: "mpi".into(), ranks: 2, nodes: 1, between: "".into(), costs: free, built_in: vec![] };
    for (name, text, is_layered) in [("dear", text(1.0), true), ("free", machine.text(), false)] {
        for why in reasons(&format!("trib_ranks_per_node=24; {}", hint(&directory, name, text.as_bytes()))) {
            assert_eq!(why.contains("two_layer"), is_layered, "{name}: {why}");
        }
    }
}

/// Calls work as without the file. Ranks that chose different kernels would wait for each other.
#[test]
fn a_file_that_cannot_be_used_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let good = text(1.0);
    let without = reasons("trib_ranks_per_node=24");
    let cases = [
        ("empty", String::new()),
        ("cut", good[..good.len() / 2].to_string()),
        ("version", good.replace("\"version\": 1", "\"version\": 7")),
        ("missing", good.replace("\"visit_seconds\"", "\"visit\"")),
        ("negative", good.replace("\"eager_seconds\": 1e0", "\"eager_seconds\": -1e0")),
        ("infinite", good.replace("\"eager_seconds\": 1e0", "\"eager_seconds\": 1e999")),
    ];
    for (name, text) in &cases {
        assert_ne!(*text, good, "{name}");
        assert_eq!(reasons(&format!("trib_ranks_per_node=24; {}", hint(&directory, name, text.as_bytes()))), without);
    }
    assert_eq!(reasons("trib_ranks_per_node=24; trib_machine=no/such/file"), without);
}

#[test]
fn ranks_still_share_memory_and_sweep() {
    let directory = tempfile::tempdir().unwrap();
    let machine = hint(&directory, "machine.json", text(1.0).as_bytes());
    for (more, shares) in [("trib_shared_memory=enable", true), ("trib_shared_memory=disable", false)] {
        let hints = Hints::parse(&format!("{machine}; {more}; trib_tiny_call=0; romio_cb_write=enable")).unwrap();
        let path = directory.path().join("data");
        threads::run(4, |transport| {
            let (rank, bytes) = (transport.rank() as u64, [7; 640]);
            let access = Extents::strided(rank * 64, 64, 256, 10).unwrap();
            let mut file = File::open(Endpoint::new(transport), &path, Mode::Create, hints.clone()).unwrap();
            let report = file.write_all(&access, &BufferLayout::Contiguous, &bytes).unwrap();
            assert_eq!(report.path == Path::Slots, shares, "{:?}", report.path);
            file.close().unwrap();
        })
        .unwrap();
    }
}
