//! Tests offsets beyond 4 GiB, and ranks that have nothing to write or to read.

use crate::common::launch::Launch;
use crate::common::matrix::{Setting, same_as_without};
use crate::common::programs::compile;

const RANKS: usize = 3;
const CALLS: [&str; 4] = ["write_all", "write_at_all", "read_all", "read_at_all"];

fn launch(source: &str) -> Launch {
    Launch::new(RANKS, &compile(source))
}

/// The file is sparse, and the program removes it after checking it.
#[test]
fn files_beyond_4_gib() {
    same_as_without(&launch("far.c"), &Setting::few(), &CALLS);
}

#[test]
fn ranks_without_data() {
    same_as_without(&launch("empty.c"), &Setting::few(), &CALLS);
}

/// A rank that moves no bytes needs no position in the file: ROMIO reports one before its beginning with some
/// datatype engines.
#[test]
fn a_rank_whose_view_holds_nothing() {
    same_as_without(&launch("nothing.c").arg("nothing"), &Setting::few(), &["write_all", "read_all"]);
}
