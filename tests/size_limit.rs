//! A file-size limit that is set while a file is open is an error on all ranks, and not the end of the process. (There is only
//! one test, because the limit applies to the process.)

use std::sync::Barrier;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tributary::error::IoClass;
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Error, Extents, File, Hints, Mode};

const LIMIT: u64 = 1 << 20;

/// Writes of 64 bytes, the second behind the limit, which is set in between.
fn too_large(hints: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let hints = Hints::parse(hints).unwrap();
    let (soft, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    let barrier = Barrier::new(2);
    threads::run(2, |transport| {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank() as u64;
        let mut file = File::open(endpoint, &path, Mode::Create, hints.clone()).unwrap();
        let mut write = |offset: u64| {
            let extents = Extents::strided(offset + 8 * rank, 8, 16, 4).unwrap();
            file.write_all(&extents, &BufferLayout::Contiguous, &[7; 32])
        };
        write(0).unwrap();
        if barrier.wait().is_leader() {
            setrlimit(Resource::RLIMIT_FSIZE, LIMIT, hard).unwrap();
        }
        barrier.wait();
        let error = write(LIMIT).unwrap_err();
        assert!(matches!(error, Error::Io { class: IoClass::TooLarge, .. }), "{error}");
        write(64).unwrap();
        file.close().unwrap();
    })
    .unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, soft, hard).unwrap();
}

#[test]
fn a_limit_that_comes_late() {
    for hints in
        ["trib_shared_memory=disable;romio_cb_write=enable", "trib_shared_memory=enable", "romio_cb_write=disable"]
    {
        too_large(hints);
    }
}
