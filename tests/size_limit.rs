//! Tests a file-size limit. A limit that is set while a file is open is an error on all ranks, and not the end of the
//! process. A limit that is set before also applies to shared memory, without which the ranks then work. (There is
//! only one test, because the limit applies to the process.)

use std::sync::Barrier;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tributary::engine::Path;
use tributary::error::IoClass;
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Error, Extents, File, Hints, Mode};

const LIMIT: u64 = 1 << 20;

/// Makes two writes of 64 bytes; the limit is set between them, and the second lies behind it.
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

/// Writes a file of 6 MiB, below the limit; the memory that ranks would share is above it.
fn no_room_to_share(hints: &str) {
    const PIECE: u64 = 1 << 10;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let hints = Hints::parse(hints).unwrap();
    let (soft, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, 16 << 20, hard).unwrap();
    threads::run(4, |transport| {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank() as u64;
        let mut file = File::open(endpoint, &path, Mode::Create, hints.clone()).unwrap();
        let extents = Extents::strided(rank * PIECE, PIECE, 4 * PIECE as i64, 1536).unwrap();
        let bytes: Vec<u8> = (0..extents.bytes()).map(|at| (at * 7 + rank) as u8).collect();
        let report = file.write_all(&extents, &BufferLayout::Contiguous, &bytes).unwrap();
        assert_eq!((report.path, report.bytes_written), (Path::Exchange, 6 << 20));
        let mut back = vec![0; bytes.len()];
        file.read_all(&extents, &BufferLayout::Contiguous, &mut back).unwrap();
        assert!(back == bytes);
        file.close().unwrap();
    })
    .unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, soft, hard).unwrap();
}

#[test]
fn a_limit_that_comes_late_or_early() {
    for hints in ["trib_shared_memory=enable", "trib_shared_memory=enable;trib_ranks_per_node=2"] {
        no_room_to_share(hints);
    }
    for hints in
        ["trib_shared_memory=disable;romio_cb_write=enable", "trib_shared_memory=enable", "romio_cb_write=disable"]
    {
        too_large(hints);
    }
}
