//! Tests collective calls of the program and of the library, which have no order between them.

use super::is_ok;

#[test]
fn a_collective_of_the_program_before_or_after_the_first_call_of_a_file() {
    for kind in ["ibarrier", "iallreduce", "ibcast", "iallgather"] {
        for on in ["world", "dup"] {
            is_ok("nbc_order.c", 4, &[kind, on], &[]);
        }
    }
}

#[test]
fn the_close_of_one_file_before_or_after_the_first_call_of_another() {
    is_ok("idle_order.c", 4, &[], &["trib_shared_memory=disable"]);
}
