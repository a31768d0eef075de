//! Checks the dependency order of the workspace's crates, of the modules of the library and of the crates below it,
//! and of the modules of larger folders.
//!
//! All lists are ordered from the bottom up: each item may depend only on those before it. Exceptions are listed with the
//! reason. A list of exceptions may only get shorter.

use std::path::Path;

use tributary_testing::layers::{Exception, Folder, hold_crates, hold_modules};

/// Order of the crates, from the bottom up.
const CRATES: &str = "tributary-base tributary-abi tributary-drivers tributary tributary-netcdf tributary-benchmarks \
    tributary-testing tributary-bindings tributary-mpiio tributary-gio tributary-c trib tributary-benches";

/// Exceptions to the order of crates. (They are dependencies of tests: Cargo refuses other circles.)
const CRATES_AGAINST: &[Exception] = &[
    ("tributary", "tributary-benchmarks", "the library's tests write the access patterns of real codes"),
    ("tributary", "tributary-testing", "what its tests share with others writes files by the library"),
    ("tributary-netcdf", "tributary-testing", "the same"),
    ("tributary-benchmarks", "tributary-testing", "the same, and it writes the patterns"),
];

/// Folders of modules: the folder, the path before a module's name in code, the order, and the exceptions.
const FOLDERS: &[Folder] = &[
    (
        "src",
        "crate::",
        "access device schedule fabric collectives exchange hints machine engine",
        &[(
            "fabric",
            "collectives",
            "before ranks share memory they agree on it by messages (shared/combine, shared/group, shared/hosts)",
        )],
    ),
    ("base/src", "crate::", "fingerprint rank wire error extent topology say variables", &[]),
    // No driver knows the registry.
    (
        "drivers/src",
        "crate::",
        "size_limit storage direct system hints placement domains driver lov posix gpfs lustre registry hostile",
        &[],
    ),
    (
        "src/engine",
        "crate::engine::",
        "direction policy storage watchdog facts lists two_layer metadata roles record capture shared setup plan data \
            staging handle observers file agreement ways call api",
        &[(
            "policy",
            "facts",
            "the table of paths, which looks at what was agreed, stands beside the thresholds, which facts use",
        )],
    ),
    (
        "bindings/mpiio/src",
        "crate::",
        "abi counts datatype supported next error_handler channel view pointer hints job backend open_file report unopened entry \
            files pending calls exports",
        &[
            ("backend", "unopened", "a backend opens itself"),
            ("open_file", "calls", "keeps the split call"),
            ("open_file", "pending", "keeps the queue"),
            ("pending", "calls", "ends an attempt"),
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

#[test]
fn crates_know_those_below_them_only() {
    hold_crates(Path::new(env!("CARGO_MANIFEST_DIR")), CRATES, CRATES_AGAINST);
}

#[test]
fn modules_know_those_below_them_only() {
    hold_modules(Path::new(env!("CARGO_MANIFEST_DIR")), FOLDERS);
}
