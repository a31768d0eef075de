//! Checks the order of the modules in larger folders, from the bottom up: each may use only those before it. Exceptions
//! are listed with the reason; a list of exceptions may only get shorter. (Cargo refuses circles of crates.)

use std::path::Path;

use tributary_testing::layers::{Folder, hold_modules};
use tributary_testing::seams::{Seam, hold_seams};

/// Folders of modules: the folder, the path before a module's name in code, the order, and the exceptions.
const FOLDERS: &[Folder] = &[
    (
        "src",
        "crate::",
        "world access device schedule fabric collectives exchange hints machine engine",
        &[(
            "fabric",
            "collectives",
            "before ranks share memory they agree on it by messages (shared/combine, shared/group, shared/hosts)",
        )],
    ),
    // No driver knows the registry.
    (
        "drivers/src",
        "crate::",
        "storage mounts direct system hints placement domains driver lov posix gpfs nfs lustre registry hostile",
        &[],
    ),
    (
        "src/engine",
        "crate::engine::",
        "policy storage watchdog facts lists two_layer metadata roles record capture shared setup plan staging handle \
            observers data agreement through_windows file",
        &[(
            "policy",
            "facts",
            "the table of paths, which looks at what was agreed, stands beside the thresholds, which facts use",
        )],
    ),
    (
        "bindings/mpiio/src",
        "crate::",
        "abi failures counts deletions datatype ranks_here door next error_handler open_watch offer channel view pointer hints own_handle sieving job single_rank \
            backend arguments files report entry pending calls exports component",
        &[
            ("backend", "files", "an attempt counts its calls"),
            ("files", "pending", "keeps the queue and the split call"),
            ("next", "component", "the next function of a component is ompio's"),
            ("entry", "component", "ompio shows the hints of a file that was opened"),
            ("pending", "component", "Open MPI raises the error of a request of a component"),
            ("calls", "component", "Open MPI advances the calls in flight of a component"),
        ],
    ),
    (
        "trib/src",
        "crate::",
        "generated numbers limits rest launcher cli calls buffers rank_program verify report exchange source listing picture hints \
            variables manual plan_only output text parallel capture explain agreement compare doctor run replay main",
        &[("cli", "source", "the parameters of a pattern")],
    ),
];

/// What the engine asks of the place where it runs. Nothing else in `src` makes these calls, or keeps state of the process
/// ([`STATE`]), so that another world can be put in their place.
const SEAMS: &[Seam] = &[
    ("src/world/clock.rs", &["Instant::now", "SystemTime::now"]),
    ("src/world/jobs.rs", &["Builder::new().name", "thread::panicking", "available_parallelism", "Select::new"]),
    (
        "src/world/waits.rs",
        &["thread::yield_now", "thread::sleep", "thread::park", "thread::current", "spin_loop", "Condvar", "SYS_futex"],
    ),
    ("src/world/process.rs", &["thread_local!"]),
    (
        "src/engine/storage/calls.rs",
        &[
            ".write_at(",
            ".write_parts_at(",
            ".read_at(",
            ".next_data(",
            "files.open(",
            ".sync()",
            "control().settle",
            "control().see_other_hosts",
            "control().end",
            "control().hold",
            "control().is_held",
            "control().lock_range",
            "control().at_once",
            "control().writes_later",
            "control().identity",
            "control().open_direct",
        ],
    ),
];

/// Macros of `src/world/process.rs` that declare state, and types of statics that are constants.
const STATE: (&[&str], &[&str]) = (&["per_process", "own_state", "per_thread"], &["Kernel", "&[&Kernel]", "Extents"]);

#[test]
fn the_world_is_asked_in_one_place() {
    hold_seams(Path::new(env!("CARGO_MANIFEST_DIR")), "src", SEAMS, STATE.0, STATE.1);
}

#[test]
fn modules_know_those_below_them_only() {
    hold_modules(Path::new(env!("CARGO_MANIFEST_DIR")), FOLDERS);
}
