//! Tests every command with the extreme values of `../../../trib/tests/common/ends.rs`, and numbers in files.

use crate::ends::{every_option, objection, run, words};

pub const NAME: &str = "trib-lab";
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_trib-lab");

/// Path of a capture, for commands that take one.
pub const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/captures/ior-write.tribcap");

/// Commands, each with options with which it does little. `DIR` stands for a directory of its own, `CAPTURE` for a
/// capture.
pub const COMMANDS: &[(&str, &str)] = &[
    ("advise", "CAPTURE --machine summit"),
    ("explain", "CAPTURE --machine summit"),
    ("patterns", "--ranks 4"),
    ("picture", "--ranks 4 --output DIR/p.svg"),
    ("lists", "--ranks 4 --output DIR/l"),
    ("map", "--ranks 4 --output DIR/m.nc"),
    ("import", "DIR/dxt.txt --output DIR/imported"),
    ("compare", "--list"),
    ("hosts", "2 -- true"),
    ("tune machine", "--ranks 2"),
    ("algorithms", "--ranks 4"),
    ("algorithms show", "ring"),
    ("tune kernels", "--machine summit --nodes 1 --pattern flash"),
    ("hsumma", "--ranks 4 --n 16 --block 4"),
    ("sim all-to-many", "--machine cori-knl --ranks 8 --receivers 2 --message 8"),
    ("sim write", "--ranks 4"),
    ("sim machines", ""),
    ("sim throttles", "--help"),
    ("sim fit", "DIR/measurements.csv"),
    ("sim validate", "--quick --repetitions 1 --rounds 0"),
    ("scale", "--program ior --ranks 4 --machine summit --json"),
    ("bench sim", "--json --help"),
    ("reproduce", "--list"),
    ("figures", "--help"),
    ("guidelines", ""),
];

#[test]
fn every_option_of_every_command_at_the_ends_of_the_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let input = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cori_all_to_many.csv");
    std::fs::copy(input, directory.path().join("measurements.csv")).unwrap();
    let input = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/darshan_dxt.txt");
    std::fs::copy(input, directory.path().join("dxt.txt")).unwrap();
    every_option(directory.path(), 500);
}

/// Tests extreme numbers in files, which no option sets.
#[test]
fn numbers_in_files_and_hints_at_the_ends() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    let header = "ranks_per_node,ranks,receivers,kernel,iterations,end_to_end_s\n";
    write("receivers.csv", &format!("{header}64,512,2147483647,isend,2,0.08\n"));
    write("ranks.csv", &format!("{header}64,2147483647,8,isend,2,0.08\n"));
    write("iterations.csv", &format!("{header}64,16777216,16777216,isend,4294967295,0.08\n"));
    write("seconds.csv", &format!("{header}64,512,8,isend,2,inf\n"));
    let fit = |name: &str| format!("sim fit {name}");
    for (line, says) in [
        (fit("receivers.csv"), "receivers.csv: line 2: receivers: 2147483647; allowed: 512 or fewer"),
        (fit("ranks.csv"), "ranks.csv: line 2: ranks: 2147483647; allowed: 16777216 or fewer"),
        (fit("iterations.csv"), "iterations.csv: line 2: messages: "),
        (fit("seconds.csv"), "seconds.csv: line 2: end_to_end_s: `inf`; allowed: a number above 0"),
        ("sim write ior --ranks 4 --hint cb_buffer_size=1".to_string(), ""),
        ("hsumma --ranks 18446744073709551615".to_string(), "allowed: 1 to 32768"),
        ("hsumma --ranks 1 --groups 1x1 --n 4294967296".to_string(), "n: 4294967296: needs more than 2^64 bytes"),
    ] {
        let output = run(directory.path(), &words(&line));
        assert_eq!(objection(&output), None, "{NAME} {line}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(says), "{NAME} {line}: {said}");
    }
}
