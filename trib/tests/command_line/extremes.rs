//! Tests every command with the extreme values of `../common/ends.rs`, and numbers in files.

use crate::ends::{every_option, objection, run, words};

pub const NAME: &str = "trib";
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_trib");

/// Path of a capture, for commands that take one.
pub const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../benchmarks/captures/ior-write.tribcap");

/// Commands, each with options with which it does little. `DIR` stands for a directory of its own, `CAPTURE` for a
/// capture.
pub const COMMANDS: &[(&str, &str)] = &[
    ("run", "--dry-run -- true"),
    ("doctor", ""),
    ("replay", ""),
    ("hints", ""),
    ("compare", "-- true"),
    ("capture info", "CAPTURE"),
    ("capture export", "CAPTURE"),
    ("capture merge", "CAPTURE CAPTURE --output DIR/merged"),
    ("explain", "CAPTURE"),
];

#[test]
fn every_option_of_every_command_at_the_ends_of_the_numbers() {
    let directory = tempfile::tempdir().unwrap();
    every_option(directory.path(), 300);
}

/// Tests extreme numbers in files, which no option sets.
#[test]
fn numbers_in_files_and_hints_at_the_ends() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("long.txt", "ranks 1\nrank 0\n0 4611686018427387904\n");
    write("far.txt", "ranks 1\nrank 0\n9223372036854775806 1\n");
    write("many.txt", "ranks 9223372036854775807\nrank 0\n0 1\n");
    let list = |name: &str| format!("replay list --lists {name}");
    for (line, says) in [
        (list("long.txt"), "list: 4611686018427387904 bytes in 1 requests in 1 call(s): needs "),
        (list("far.txt"), ""),
        (list("many.txt"), "rank 1 of 9223372036854775807 is missing"),
        ("replay ior --ranks 4 --hint cb_buffer_size=4611686018427387904".to_string(), ""),
        ("replay ior --ranks 4 --hint trib_write_buffers=18446744073709551615".to_string(), ""),
        ("replay ior --ranks 4 --hint cb_nodes=18446744073709551615".to_string(), ""),
        ("replay ior --ranks 4 --hint nc_num_aggrs_per_node=18446744073709551615 --kernel two_layer".to_string(), ""),
        ("replay ior --ranks 4 --hint striping_unit=4611686018427387904 --driver lustre".to_string(), ""),
        ("replay ior --ranks 4 --plan-only --hint striping_unit=4611686018427387904 --driver lustre".to_string(), ""),
    ] {
        let output = run(directory.path(), &words(&line));
        assert_eq!(objection(&output), None, "{NAME} {line}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(says), "{NAME} {line}: {said}");
    }
}
