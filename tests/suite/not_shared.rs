//! Tests hosts that do not share the directory of a file, and each have a file of this name.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tributary::drivers::{FileSystem, Mode, OpenStorage, Storage, SystemFiles};
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extents, File, Hints};
use tributary_testing::watchdog::Watchdog;

const RANKS: usize = 4;

/// A storage that opens the files of one host.
struct OfHost(PathBuf);

impl OpenStorage for OfHost {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Storage>> {
        SystemFiles.open(&self.0.join(path), mode)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        SystemFiles.create(&self.0.join(path))
    }

    fn file_system(&self, path: &Path) -> Option<FileSystem> {
        SystemFiles.file_system(&self.0.join(path))
    }
}

/// The ranks of the second host write nothing into their own file, and all ranks get an error.
#[test]
fn another_file_of_the_same_name_is_an_error_on_all_ranks() {
    let _watchdog = Watchdog::new("another_file_of_the_same_name_is_an_error_on_all_ranks", 60);
    let directory = tempfile::tempdir().unwrap();
    let hosts = ["first", "second"].map(|host| directory.path().join(host));
    for host in &hosts {
        std::fs::create_dir(host).unwrap();
        std::fs::write(host.join("file"), "old").unwrap();
    }
    let hints = Hints::parse("cb_nodes=4; romio_cb_write=enable; trib_tiny_call=0").unwrap();
    let errors = threads::run(RANKS, |transport| {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank();
        let files = Arc::new(OfHost(hosts[rank / 2].clone()));
        let mut file = File::open_on(endpoint, "file", Mode::Update, hints.clone(), files).unwrap();
        let mine = Extents::strided(rank as u64 * 5000, 5000, 20_000, 20).unwrap();
        file.write_all(&mine, &BufferLayout::Contiguous, &vec![1; 100_000]).unwrap_err().to_string()
    })
    .unwrap();
    assert!(errors.iter().all(|error| error.contains("they do not share the directory")), "{errors:?}");
    assert_eq!(std::fs::read(hosts[1].join("file")).unwrap(), b"old");
}

/// Copies of a file on the hosts' disks can be read.
#[test]
fn copies_on_each_host_are_read() {
    let _watchdog = Watchdog::new("copies_on_each_host_are_read", 60);
    let directory = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..400_000).map(|at| (at / 7) as u8).collect();
    let hosts = ["first", "second"].map(|host| directory.path().join(host));
    for host in &hosts {
        std::fs::create_dir(host).unwrap();
        std::fs::write(host.join("file"), &bytes).unwrap();
    }
    let hints = Hints::parse("cb_nodes=4; romio_cb_read=enable; trib_tiny_call=0").unwrap();
    threads::run(RANKS, |transport| {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank();
        let files = Arc::new(OfHost(hosts[rank / 2].clone()));
        let mut file = File::open_on(endpoint, "file", Mode::Read, hints.clone(), files).unwrap();
        let mine = Extents::strided(rank as u64 * 5000, 5000, 20_000, 20).unwrap();
        let mut read = vec![0; 100_000];
        file.read_all(&mine, &BufferLayout::Contiguous, &mut read).unwrap();
        let due: Vec<u8> =
            mine.iter().flat_map(|extent| extent.offset..extent.end()).map(|at| bytes[at as usize]).collect();
        assert!(read == due);
        file.close().unwrap();
    })
    .unwrap();
}
