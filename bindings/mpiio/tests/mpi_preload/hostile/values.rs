//! Tests absurd values of hints. In an info, the program gets the same result as without the library; in the
//! environment, an error that is the same on all ranks, or none. The program does not crash, and no rank hangs.

use tributary_testing::fault_sweep::{RANKS, said, written};

use super::failing::small;
use crate::common::launch::Launch;
use crate::common::matrix::same;
use crate::common::programs::compile;

/// Hints with absurd values. In an info `\n` repeats the character before it n times.
const HINTS: [&str; 27] = [
    "cb_nodes=0",
    "cb_nodes=-1",
    "cb_nodes=4294967297",
    "cb_nodes=99999999999999999999999999",
    "cb_nodes=many",
    "cb_nodes= ",
    "cb_nodes=2.5",
    "cb_nodes=0x10",
    "cb_buffer_size=0",
    "cb_buffer_size=-4096",
    "cb_buffer_size=1",
    "cb_buffer_size=9223372036854775807",
    "cb_buffer_size=big",
    "striping_unit=0",
    "striping_unit=-1",
    "striping_unit=18446744073709551615",
    "striping_factor=-7",
    "romio_cb_write=perhaps",
    "romio_cb_read=ENABLE",
    "romio_ds_write=ünïcödé→",
    "cb_config_list=*:*:*,,:",
    "trib_kernel_data=fastest",
    "trib_no_such_key=1",
    "trib_placement=list:7,9,-1",
    "trib_ranks_per_node=1000000",
    "colour\\90=blue",
    "some_key=x\\900",
];

/// Hints for the environment only: in an info ROMIO and OMPIO divide by zero, ask for as much memory in
/// MPI_File_open, or read other bytes.
const TOO_MUCH_FOR_MPI: [&str; 7] = [
    "cb_buffer_size=1",
    "cb_nodes=0",
    "cb_nodes=0x10",
    "cb_buffer_size=0",
    "cb_buffer_size=-4096",
    "cb_buffer_size=9223372036854775807",
    "cb_buffer_size=big",
];

/// MPI's results for these hints are the same with the library.
#[test]
fn in_an_info() {
    let launch = Launch::new(RANKS, &compile("values.c"));
    let hints = HINTS.iter().filter(|hint| !TOO_MUCH_FOR_MPI.contains(hint));
    let launch = hints.fold(launch, |launch, hint| launch.arg(*hint));
    let plain = launch.run();
    same(&launch.clone().with_library().run(), &plain, "bad infos");
    let way = "trib_shared_memory=disable; trib_tiny_call=0; romio_cb_write=enable; romio_cb_read=enable";
    same(&launch.with_library().hints(way).run(), &plain, "bad infos, by messages");
}

/// If a hint is not allowed, the first collective call returns an error on all ranks, and MPI runs the later calls.
/// Otherwise the hint is allowed, or is not one of this library.
#[test]
fn in_the_environment() {
    let mut refused = 0;
    for hint in HINTS.map(|hint| hint.replace('\\', "")) {
        let ended = small(&hint, "none:0:0");
        let failed = ended.failed(&hint);
        if failed.is_empty() {
            continue;
        }
        assert_eq!(failed.len(), 1, "{hint}: {failed:?}\n{}", ended.stderr);
        let is_first = ["iwrite_at_all: ", "wait: "].iter().any(|call| failed[0].starts_with(call));
        assert!(is_first, "{hint}: {failed:?}");
        assert_eq!(said(&ended.stdout).len(), RANKS);
        assert!(ended.file == written(), "{hint}: other bytes");
        let told =
            ended.stderr.lines().filter(|line| line.starts_with("tributary: ") && !line.starts_with("tributary: {"));
        assert_eq!(told.count(), 1, "{hint}: {}", ended.stderr);
        refused += 1;
    }
    assert!((10..HINTS.len()).contains(&refused), "{refused} of {} were refused", HINTS.len());
}
