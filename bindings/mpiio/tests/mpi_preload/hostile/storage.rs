//! Tests reads and writes of the file that move fewer bytes than asked for, that are interrupted, and that fail.

use tributary_testing::fault_sweep::{Heard, RANKS, Small, WAYS, said, written};

use super::failing::small;

/// Every call, or every third, is short; every second, or every third, is interrupted. The program does not notice.
#[test]
fn short_and_interrupted_calls_are_made_again() {
    for way in WAYS {
        for fault in ["short:-1:1", "short:-1:3", "interrupted:-1:2", "interrupted:-1:3"] {
            let ended = small(way, fault);
            let what = format!("{fault}, `{way}`");
            assert_eq!(ended.failed(&what), [""; 0], "{what}\n{}", ended.stderr);
            assert!(ended.file == written(), "{what}: other bytes in the file");
            let has_moved = ended.calls().values().any(|calls| *calls > 0);
            assert!(has_moved, "{what}: no rank has read or written\n{}", ended.stderr);
        }
    }
}

/// Names of the calls that return the result of a write: of a call in two parts, the second.
const WRITES: [&str; 3] = ["write_all", "wait", "end"];

fn due(class: &str) -> Vec<String> {
    WRITES.map(|call| format!("{call}: {class}")).to_vec()
}

/// Checks that all ranks get the class of the error, and that all later calls succeed.
fn fails(kind: &str, due: &[String]) {
    let due: Vec<&str> = due.iter().map(String::as_str).collect();
    Small(&small).fails_with(kind, &WAYS, 2, &due, Heard::Always);
}

#[test]
fn a_write_fails_on_one_rank() {
    fails("write", &due("ERR_IO"));
}

#[test]
fn a_write_finds_no_space_on_one_rank() {
    fails("space", &due("ERR_NO_SPACE"));
}

#[test]
fn a_read_fails_on_one_rank() {
    fails("read", &["read_at_all: ERR_IO, other bytes".to_string(), "read_at_all: ERR_IO".to_string()]);
}

/// A rank that is killed in the middle of a write ends the job; a rank that is stopped for a second does not.
#[test]
fn a_rank_ends_or_stops_in_a_write() {
    for way in &WAYS[..1] {
        let mut ends = 0;
        for rank in 0..RANKS {
            let killed = small(way, &format!("kill:{rank}:1"));
            if killed.success {
                // Not every rank writes.
                killed.came_before("kill", 1, way);
                continue;
            }
            assert!(said(&killed.stdout).len() < RANKS, "{way}: {}{}", killed.stdout, killed.stderr);
            ends += 1;
            let stopped = small(way, &format!("stop:{rank}:1"));
            assert_eq!(stopped.failed(way), [""; 0], "{way}: {}", stopped.stderr);
            assert!(stopped.file == written(), "{way}: other bytes in the file");
        }
        assert!(ends > 0, "{way}: no rank writes");
    }
}
