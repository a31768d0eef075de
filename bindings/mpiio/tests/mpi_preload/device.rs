//! Tests buffers in device memory, with a library that stands in for a GPU's runtime: a program prints and writes the
//! same as with memory of the host.

use std::path::PathBuf;

use crate::common::launch::{Launch, Outcome};
use crate::common::matrix::{Setting, same, with_library};
use crate::common::programs::{Build, compile};

const RANKS: usize = 3;
const CALLS: [&str; 6] = ["write_all", "write_at_all", "iwrite_at_all", "read_at_all", "read_all", "read_at_all_begin"];

/// Compiles the stand-in for a runtime, under the name of the runtime's library.
fn runtime(macro_name: &str, name: &'static str) -> PathBuf {
    let options = ["-shared", "-fPIC", macro_name].map(String::from).to_vec();
    Build { name: Some(name), options, ..Build::default() }.compile("gpu.c")
}

fn cuda() -> PathBuf {
    runtime("-DRUNTIME_CUDA", "libcuda.so.1")
}

fn device(library: &str, what: &str) -> Launch {
    Launch::new(RANKS, &compile("device.c")).arg(library).arg(what).env("TRIB_TEST_HIP", "60032830")
}

fn program(library: &std::path::Path, what: &str) -> Launch {
    device(&library.display().to_string(), what)
}

/// Checks a program with device memory on all ranks, and on one of them.
fn as_on_the_host(library: &std::path::Path, version: &str, settings: &[Setting]) {
    let plain = program(library, "host").run();
    for what in ["all", "one"] {
        let launch = program(library, what).env("TRIB_TEST_HIP", version);
        with_library(&launch, settings, &CALLS, |outcome, how| {
            same(outcome, &plain, &format!("{what} in device memory, {how}"));
            let passed: Vec<_> = outcome.reports.iter().flat_map(|report| &report.passed_through).collect();
            assert!(passed.is_empty(), "{passed:?}");
        });
    }
}

#[test]
fn memory_of_cuda() {
    as_on_the_host(&cuda(), "", &Setting::few());
}

/// HIP's kinds of memory have other numbers since HIP 6.
#[test]
fn memory_of_hip() {
    let hip = runtime("-DRUNTIME_HIP", "libamdhip64.so.6");
    as_on_the_host(&hip, "50422803", &[]);
    as_on_the_host(&hip, "60032830", &[]);
}

/// The runtime is loaded from the start, as if the program were linked with it: its functions are global.
#[test]
fn a_runtime_that_was_there_from_the_start() {
    let cuda = cuda();
    let plain = program(&cuda, "host").run();
    let with = device("-", "all").with_library().also_preload(&cuda).run();
    same(&with, &plain, "preloaded");
}

fn said_by_all(outcome: &Outcome, said: &str) {
    let all: String = (0..RANKS).map(|rank| format!("rank {rank}\n{said}")).collect();
    assert_eq!(outcome.stdout, all, "{}", outcome.stderr);
}

/// Hints for calls by messages and through shared memory: each path has its own code at the end.
const WAYS: [&str; 3] = [
    "trib_shared_memory=disable; cb_nodes=2; cb_buffer_size=4096; trib_tiny_call=0; romio_cb_write=enable; romio_cb_read=enable",
    "romio_cb_write=enable; romio_cb_read=enable",
    "romio_cb_write=disable; romio_cb_read=disable",
];

#[test]
fn copies_fail_on_one_rank() {
    for way in WAYS {
        let outcome = program(&cuda(), "fails").with_library().hints(way).run();
        said_by_all(&outcome, &"write: ERR_IO\nread: ERR_IO\n".repeat(2));
        let words = [
            "write from CUDA memory",
            "read into CUDA memory",
            "cuMemcpyDtoH returned 700",
            "cuMemcpyHtoD returned 700",
        ];
        for words in words {
            assert!(outcome.stderr.contains(words), "{words}: {}", outcome.stderr);
        }
    }
}

#[test]
fn no_memory_for_a_copy_on_one_rank() {
    let outcome = program(&cuda(), "memory").with_library().run();
    said_by_all(&outcome, "write: ERR_NO_MEM\nread: ERR_NO_MEM\n");
}

#[test]
fn what_the_file_does_not_have_stays_as_it_was() {
    for way in WAYS {
        let outcome = program(&cuda(), "end").with_library().hints(way).run();
        said_by_all(&outcome, "as it should be\n");
    }
}
