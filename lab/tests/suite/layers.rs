//! Checks the order of the laboratory's modules: each uses only those before it in the list.

use std::path::Path;

use tributary_testing::layers::{Folder, hold_modules};

const FOLDERS: &[Folder] = &[
    ("src", "crate::", "mpi sim machines runs collectives hsumma timing tune forecast papers advice", &[]),
    (
        "trib-lab/src",
        "crate::",
        "cli document machines hosts picture patterns lists map import compare tune advise explain hsumma algorithms guidelines \
            kernels sim reproduce scale figures",
        &[],
    ),
];

#[test]
fn modules_know_those_below_them_only() {
    hold_modules(Path::new(env!("CARGO_MANIFEST_DIR")), FOLDERS);
}
